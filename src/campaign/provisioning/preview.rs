//! What a plan's layouts would come to, without touching anything.

use std::collections::BTreeMap;

use base::value::{self, Value};
use experiment::knob::{Apply, KNOBS, Settings};
use experiment::plan::design::Plan;
use experiment::plan::layouts::{is_layout, layout};
use facts::inventory::disk::Disk;
use facts::layout::Layout;
use facts::layout::precondition::passes;
use host::provision;
use host::sys::Host;

use super::mount_point;

/// Assumed of a disk that is written or read through, bytes per second: a disk of 2010, or a slow
/// SSD after its cache.
pub const DISK_BYTES_PER_S: u64 = 150_000_000;
/// Assumed of an SSD that is written at random places, 4 KiB at a time, bytes per second.
const SCATTERED_BYTES_PER_S: u64 = 50_000_000;
/// So many writes per second at random places of a disk that turns: a seek and half a turn each.
const TURNING_PER_S: u64 = 120;
/// Assumed of everything else about a layout: mdadm, mkfs, mount, and unmaking them.
pub const MAKING_NS: u64 = 10_000_000_000;
/// So many layouts have their commands shown; the others are counted.
const SHOWN: usize = 12;

/// What making the layouts of a plan comes to.
#[derive(Debug, Default)]
pub struct Preview {
    /// How often a layout is made.
    pub made: u64,
    /// The disks that are destroyed, one a line.
    pub destroyed: Vec<String>,
    /// The commands of each different layout, with what it is called.
    pub layouts: Vec<(String, Vec<String>)>,
    /// Layouts whose trials are skipped, with what this machine lacks for them.
    pub skipped: Vec<String>,
    /// How long all of it takes, by [`DISK_BYTES_PER_S`] and [`MAKING_NS`].
    pub takes_ns: u64,
    /// Written before anything is measured: wear, bytes.
    pub written_bytes: u64,
    /// What is written would take some disks far longer than that.
    pub slow: Vec<String>,
}

impl Preview {
    /// Of a plan on these disks.
    pub fn for_plan(host: &Host, plan: &Plan, disks: &[Disk]) -> Preview {
        if disks.is_empty() {
            return Preview::default();
        }
        let destroyed = disks.iter().map(|disk| {
            let bytes = value::bytes(disk.size_bytes as f64);
            let (named, node) = (&disk.named, disk.node.display());
            format!("all that is on {named} ({node}, {bytes}) is destroyed")
        });
        let mut preview = Preview { destroyed: destroyed.collect(), ..Preview::default() };
        for (settings, layout, setups) in distinct(plan, disks) {
            let name = super::called(&settings);
            if let Some(lacks) = provision::lacks(&layout, host) {
                preview.skipped.push(format!("{name}: {lacks}"));
                continue;
            }
            let times = u64::from(plan.replicates) * setups.len() as u64;
            preview.made += times;
            let (takes_ns, written_bytes) = costs(&layout);
            for line in slow(host, &layout) {
                if !preview.slow.contains(&line) {
                    preview.slow.push(line);
                }
            }
            preview.takes_ns = preview.takes_ns.saturating_add(takes_ns.saturating_mul(times));
            preview.written_bytes =
                preview.written_bytes.saturating_add(written_bytes.saturating_mul(times));
            if preview.layouts.len() < SHOWN {
                preview.layouts.push((name, provision::commands(&layout, &mount_point("..."))));
            }
        }
        preview
    }

    /// In lines, for people: what is destroyed, and how.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.destroyed.clone();
        if self.destroyed.is_empty() {
            return lines;
        }
        lines.push(match self.made {
            1 => "1 layout is made".to_owned(),
            many => format!("{many} layouts are made, each unmade before the next"),
        });
        if self.written_bytes > 0 {
            let bytes = value::bytes(self.written_bytes as f64);
            lines.push(format!("preconditioning writes {bytes}: that wears flash"));
        }
        lines.extend(self.slow.iter().cloned());
        for (name, commands) in &self.layouts {
            lines.extend(commands.iter().map(|command| format!("{name}: {command}")));
        }
        lines.extend(self.skipped.iter().map(|why| format!("skipped: {why}")));
        lines
    }
}

/// The level of each of a plan's labels; `None` where a set-up has none.
type LabelLevels = Vec<Option<Value>>;

/// Each different layout of a plan, with settings of a cell that has it, and the set-ups in which a
/// person has it made.
fn distinct(plan: &Plan, disks: &[Disk]) -> Vec<(Settings, Layout, Vec<LabelLevels>)> {
    let labels: Vec<&str> = plan.labels().iter().map(|knob| knob.name).collect();
    let layouts = KNOBS.iter().filter(|knob| is_layout(knob)).map(|knob| knob.name);
    let knobs: Vec<&str> = layouts.chain(labels.iter().copied()).collect();
    let mut seen: BTreeMap<(usize, Vec<usize>), ()> = BTreeMap::new();
    let mut found: Vec<(Settings, Layout, Vec<LabelLevels>)> = Vec::new();
    for cell in plan.cells() {
        if seen.insert((cell.load, plan.deciding(&cell, &knobs)), ()).is_some() {
            continue;
        }
        let settings = plan.settings(&cell);
        let Ok(layout) = layout(&settings, disks) else { continue };
        let setup: LabelLevels = labels.iter().map(|name| settings.named(name).cloned()).collect();
        match found.iter_mut().find(|(_, known, _)| *known == layout) {
            Some((_, _, setups)) if setups.contains(&setup) => {}
            Some((_, _, setups)) => setups.push(setup),
            None => found.push((settings, layout, vec![setup])),
        }
    }
    found
}

/// How long a layout takes to make, ns, and what is written for it, bytes.
fn costs(layout: &Layout) -> (u64, u64) {
    let largest = layout.disks.iter().map(|disk| disk.size_bytes).max().unwrap_or(0);
    let passes = passes(&layout.precondition);
    // Disks are written side by side, and an array is brought into step as fast as its disks.
    let each = layout.precondition_bytes() / layout.disks.len().max(1) as u64;
    let scattered = each / u64::from(passes.all()).max(1) * u64::from(passes.at_random);
    let synchronised = layout.volumes == "md"
        && !matches!(layout.raid.as_str(), "single" | "raid0")
        && layout.array_state != "initialising";
    let rebuilt = layout.array_state == "rebuilt";
    let bytes = each - scattered + largest * (u64::from(synchronised) + u64::from(rebuilt));
    let seconds =
        bytes as f64 / DISK_BYTES_PER_S as f64 + scattered as f64 / SCATTERED_BYTES_PER_S as f64;
    (MAKING_NS + (seconds * 1e9) as u64, layout.precondition_bytes())
}

/// Disks that turn, as they say, and are to be written at random places: how long that takes.
fn slow(host: &Host, layout: &Layout) -> Vec<String> {
    let at_random = u64::from(passes(&layout.precondition).at_random);
    let turns = |disk: &&Disk| {
        let file = format!("/sys/block/{}/queue/rotational", disk.name);
        at_random > 0 && host.word(file).as_deref() == Some("1")
    };
    let line = |disk: &Disk| {
        let writes = disk.size_bytes / 4096 * at_random;
        let takes = value::duration(writes as f64 / TURNING_PER_S as f64 * 1e9);
        format!(
            "{} says that it turns: writing it at random places takes {takes} if it does",
            disk.named
        )
    };
    layout.disks.iter().filter(turns).map(line).collect()
}

/// Settings of devices that are known only once the layout is made.
pub fn later<'a>(cells: impl Iterator<Item = &'a Settings>) -> Vec<String> {
    const OF_DEVICES: [&str; 4] = ["read-ahead", "io-scheduler", "nr-requests", "max-sectors"];
    let mut lines: Vec<String> = Vec::new();
    for settings in cells {
        for knob in KNOBS.iter().filter(|knob| matches!(knob.apply, Apply::Files(_))) {
            let value = settings.named(knob.name).filter(|value| !Value::is_as_is(value));
            let Some(value) = value.filter(|_| OF_DEVICES.contains(&knob.name)) else { continue };
            let line = format!(
                "{}={value}: written for the devices of each layout that has it, once it is made",
                knob.name
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}
