//! What lies behind the directories of a trial that this machine serves to itself by NFS.
//!
//! Then the evidence of a disk's trial is there as well: which devices, what the server's threads
//! had them read, which limits are set for these. Of other directories this adds nothing.

use crate::counters::bounds::{self, Bound};
use crate::counters::{Probe, nfs_server};
use crate::inventory::{Target, served};
use crate::measurement::{Ceiling, Evidence};
use crate::sys::Host;

/// The directories that the mounts of a trial show; none when another machine serves them, or
/// nobody.
#[derive(Debug)]
pub struct Behind(Vec<Target>);

impl Behind {
    /// Looks for them.
    pub fn of(host: &Host, targets: &[Target]) -> Behind {
        Behind(served::behind(host, targets))
    }

    /// Adds the names of their devices to those that are watched.
    pub fn watch(&self, watched: &mut Vec<String>) {
        watched.extend(self.0.iter().flat_map(Target::device_names));
        watched.sort();
        watched.dedup();
    }

    /// Has the server counted as well.
    pub fn probe(&self, host: &Host, probe: Probe) -> Probe {
        let Some(on) = self.evidence(Evidence::default()).served else { return probe };
        probe.with_server(host, &on.devices)
    }

    /// What is set for the server's threads on its devices.
    pub fn bounds(&self, host: &Host) -> Vec<Bound> {
        let pid = if self.0.is_empty() { None } else { nfs_server::pid(host) };
        pid.map_or(Vec::new(), |pid| bounds::on(host, pid, &self.0))
    }

    /// What is known of a trial beforehand, with the server's side.
    pub fn evidence(&self, evidence: Evidence) -> Evidence {
        evidence.served_by(&self.0)
    }
}

/// What TCP can carry between this machine and the servers of these mounts, by the interface on the
/// way; `None` when they are several ways, or nobody knows.
pub fn wire(host: &Host, targets: &[Target]) -> Option<Ceiling> {
    let mut names: Vec<String> = Vec::new();
    for target in targets.iter().filter(|target| target.filesystem.starts_with("nfs")) {
        let mut options = target.mount_options.split(',');
        let server = options.find_map(|option| option.strip_prefix("addr="))?.parse().ok()?;
        let name = crate::sys::link::towards(server)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let [name] = &names[..] else { return None };
    let capacity = crate::inventory::server::interface::capacity(host, name)?;
    Some(Ceiling {
        bytes_per_s: Some(capacity.bytes_per_s),
        why: format!("{name} ({})", capacity.derivation),
        ..Ceiling::default()
    })
}
