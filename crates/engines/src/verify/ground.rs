//! What the files lie on, and where the bytes of a reading came from.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::find::Target;
use experiment::knob::Settings;
use experiment::measurement::origin::{Origin, origin};
use experiment::measurement::{Amount, Evidence, Measurement};
use facts::counters::Snapshot;
use facts::counters::errors::Counted;
use facts::inventory::{Device, is_wire};
use host::counters::Probe;
use host::counters::errors::Before;
use host::inventory;
use host::inventory::transport_of;
use host::sys::{Host, block};

/// What is known beforehand of the places that are read.
#[derive(Debug)]
pub struct ReadingEvidence {
    known: Evidence,
    host: Host,
    probe: Probe,
    before: Snapshot,
    below: Vec<Device>,
    /// Counters of errors when the reading began.
    errors: Option<Before>,
    /// All devices down to the disks, for the kernel's messages.
    pub devices: Vec<String>,
}

/// What a reading itself counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadingCounters {
    /// Bytes that the kernel delivered.
    pub delivered_bytes: u64,
    /// Reads that it did.
    pub reads: u64,
    /// Bytes of them that were in memory before.
    pub resident_bytes: u64,
    /// Whether every read went around the page cache.
    pub direct: bool,
}

impl ReadingEvidence {
    /// Looks at what the files lie on, once for each file system.
    pub fn new(host: &Host, files: &[Target]) -> ReadingEvidence {
        let mut seen = BTreeSet::new();
        let (mut targets, mut bare, mut wire) = (Vec::new(), Vec::new(), true);
        for file in files {
            if !seen.insert((file.stamp.is_device(), file.stamp.device())) {
                continue;
            }
            if let Some(number) = block::number_of(&file.path) {
                let name = device_name(host, &number);
                wire &= name.as_deref().is_some_and(|name| is_wire(&transport_of(host, name)));
                bare.extend(name);
                continue;
            }
            let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            targets.extend(inventory::target(host, folder.unwrap_or(Path::new("."))).ok());
        }
        let mut known = Evidence::on(&targets);
        let mut devices: Vec<String> =
            targets.iter().flat_map(facts::inventory::Target::device_names).collect();
        if !bare.is_empty() && (targets.is_empty() || !known.devices.is_empty()) {
            known.process_io_reliable |= targets.is_empty();
            known.remote = wire && (targets.is_empty() || known.remote);
            known.filesystem = match known.filesystem.as_str() {
                "" => "a bare device".to_owned(),
                others => format!("{others}+bare device"),
            };
            known.ceiling = None;
            known.devices.extend(bare.iter().cloned());
        }
        let mut below = inventory::devices_below(host, &bare);
        below.extend(targets.into_iter().flat_map(|target| target.devices));
        devices.extend(bare);
        devices.sort();
        devices.dedup();
        known.devices.sort();
        known.devices.dedup();
        if !known.devices.is_empty() {
            let on = known.devices.clone();
            known = known.lying_on(&below, &on);
        }
        known.file_bytes = files.iter().map(|file| file.stamp.size).sum();
        let probe = Probe::new(host, std::process::id(), &known.devices);
        let mut probe = probe.with_leaves(&known.below.leaves).with_layers(&known.below.layers);
        let before = probe.take();
        ReadingEvidence { known, host: host.clone(), probe, before, below, errors: None, devices }
    }

    /// What is counted from now on. Waits for drives, seconds at most.
    pub fn begin(&mut self) {
        self.errors = Some(Before::with_devices(&self.host, self.below.clone()));
        self.before = self.probe.take();
    }

    /// What counters of errors did since [`ReadingEvidence::begin`], and which could not be read.
    /// Waits for drives, seconds at most.
    pub fn errors(&mut self) -> (Vec<Counted>, Vec<String>) {
        self.errors.take().map(Before::and_after).unwrap_or_default()
    }

    /// Where the bytes of what was read since [`ReadingEvidence::begin`] came from.
    pub fn origin(&mut self, did: ReadingCounters) -> Origin {
        let (measurement, settings) = self.measured(did);
        origin(&measurement, &settings)
    }

    /// The evidence on that, as a measurement of nothing else, and how it was read.
    pub fn measured(&mut self, did: ReadingCounters) -> (Measurement, Settings) {
        let mut evidence = self.known.clone();
        evidence.count(&self.probe.take().since(&self.before));
        evidence.delivered =
            Amount { read_bytes: did.delivered_bytes, read_ops: did.reads, ..Amount::default() };
        evidence.resident_before_bytes = Some(did.resident_bytes);
        // Pages are dropped before each reading, so that no pass meets those of the one before.
        evidence.reread_bytes = Some(0);
        // Of other knobs nothing is true: files are of any size, and requests as they come.
        let known = json!({ "access": "read", "direct": did.direct, "cold": true });
        let settings = Settings::from_json("file", &known);
        (Measurement { evidence, ..Measurement::default() }, settings)
    }
}

/// The kernel's name of the device of that number: `sda1`.
fn device_name(host: &Host, number: &str) -> Option<String> {
    let path = host.resolve(format!("/sys/dev/block/{number}"))?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}
