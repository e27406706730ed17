//! (pure) What disks together cannot exceed.

use super::{Ceiling, Device};

/// The sum over the disks below `on`; a bound of a kind only when every disk has one. It holds for
/// any arrangement of the disks: no array reads faster than all its members together.
pub fn together(devices: &[Device], on: &[String]) -> Option<Ceiling> {
    let mut bottoms: Vec<&Device> = Vec::new();
    let mut next: Vec<&String> = on.iter().collect();
    let mut seen: Vec<&String> = Vec::new();
    while let Some(name) = next.pop() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let device = devices.iter().find(|device| device.name == *name)?;
        let backing = device.backing.iter().flat_map(|backing| &backing.devices);
        let below: Vec<&String> = device.below.iter().chain(backing).collect();
        if below.is_empty() {
            bottoms.push(device);
        }
        next.extend(below);
    }
    bottoms.sort_by(|a, b| a.name.cmp(&b.name));
    let sum = |of: &dyn Fn(&Ceiling) -> Option<f64>| {
        bottoms.iter().map(|disk| of(disk.ceiling.as_ref()?)).sum::<Option<f64>>()
    };
    let bytes_per_s = sum(&|ceiling| ceiling.bytes_per_s);
    let data_bytes_per_s = sum(&|ceiling| ceiling.data_bytes_per_s);
    let ops_per_s = sum(&|ceiling| ceiling.ops_per_s);
    let first = bottoms.first()?;
    let why = match bottoms.len() {
        1 => format!("{}: {}", first.name, first.ceiling.as_ref()?.why),
        many => {
            let why = &first.ceiling.as_ref()?.why;
            format!("{many} disks together can do no more ({}: {why})", first.name)
        }
    };
    (bytes_per_s.is_some() || ops_per_s.is_some()).then_some(Ceiling {
        bytes_per_s,
        data_bytes_per_s,
        ops_per_s,
        why,
    })
}

/// Random operations per second of a disk of so many turns a minute, one at a time: half a turn
/// each, and no time for the arm.
pub fn turns_allow(rpm: f64) -> f64 {
    2.0 * rpm / 60.0
}

/// How many times as many a disk can do that may choose among so many in flight: it finds the next
/// after 1/(n + 1) of a turn on average, not after half a turn.
pub fn choosing_among(in_flight: f64) -> f64 {
    (in_flight + 1.0) / 2.0
}
