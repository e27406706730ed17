//! File systems that are arrays themselves: btrfs (its Documentation, ch-sysfs). ZFS is read by a
//! subsystem of its own.

use crate::inventory::server::Reading;
use facts::inventory::server::Array;

/// Mounted btrfs of several devices, or with devices missing. A disk that died since it was mounted
/// is not missing for btrfs: it counts errors on it.
pub fn btrfs(reading: &mut Reading<'_>) -> Vec<Array> {
    let host = reading.host();
    let names = host.list("/sys/fs/btrfs").into_iter();
    let names = names.filter(|name| host.exists(format!("/sys/fs/btrfs/{name}/devices")));
    let names: Vec<String> = names.collect();
    let arrays = names.iter().map(|name| one_btrfs(reading, name));
    arrays.filter(|array| array.members.len() > 1 || array.missing.unwrap_or(0) > 0).collect()
}

fn one_btrfs(reading: &mut Reading<'_>, uuid: &str) -> Array {
    let host = reading.host();
    let place = format!("/sys/fs/btrfs/{uuid}");
    let what = format!("the state of the btrfs {uuid}");
    let mut word = |file: &str| reading.word(format!("{place}/{file}"), &what);
    let numbers = host.list(format!("{place}/devinfo"));
    let missing: Vec<String> = numbers
        .iter()
        .map(|number| format!("devinfo/{number}/missing"))
        .filter(|file| word(file).as_deref() == Some("1"))
        .collect();
    let errors = numbers.iter().filter_map(|number| {
        let table = word(&format!("devinfo/{number}/error_stats"))?;
        Some(errors(&table))
    });
    let errors: Vec<u64> = errors.collect();
    // A directory for each profile that data is kept in; two while a balance converts one.
    let profiles = host.list(format!("{place}/allocation/data")).into_iter();
    let profiles: Vec<String> = profiles
        .filter(|name| host.exists(format!("{place}/allocation/data/{name}/total_bytes")))
        .collect();
    let told = missing.first().cloned().unwrap_or_else(|| "devinfo".to_owned());
    Array {
        name: uuid.to_owned(),
        alias: word("label"),
        kind: "btrfs".to_owned(),
        level: (!profiles.is_empty()).then(|| profiles.join(", ")),
        members: host.list(format!("{place}/devices")),
        state: Some("mounted".to_owned()),
        // Before Linux 5.6 there is no such directory, and nobody knows.
        whole: (!numbers.is_empty()).then_some(numbers.len() as u64),
        missing: (!numbers.is_empty()).then_some(missing.len() as u64),
        errors: (!errors.is_empty()).then(|| errors.into_iter().fold(0, u64::saturating_add)),
        busy_with: word("exclusive_operation").filter(|word| word != "none"),
        place: format!("{place}/{told}"),
        said: (!missing.is_empty()).then(|| "1".to_owned()),
        ..Array::default()
    }
}

/// The sum of lines such as `write_errs 35`.
fn errors(table: &str) -> u64 {
    let counts = table.lines().filter_map(|line| {
        let (name, count) = line.split_once(' ')?;
        count.trim().parse::<u64>().ok().filter(|_| name.ends_with("_errs"))
    });
    counts.fold(0, u64::saturating_add)
}
