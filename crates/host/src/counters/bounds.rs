//! Limits that are set before the first byte moves: what control groups allow, which CPUs.
//!
//! Only what the files say, with the file; whether a limit binds is the business of `measurement`.
//! See Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst and
//! Documentation/scheduler/sched-bwc.rst.

use super::groups;
use crate::sys::Host;
use facts::counters::bounds::{Bound, Bounded};
use facts::inventory::Target;

/// A device as limits name it: its kernel name, and its number such as `8:0`.
type Numbered = (String, String);

/// Everything that is set for the process `pid` on the devices of `targets`. What threads of ZFS
/// read and write for it is nobody's in particular, and no group's limit holds for it.
pub fn on(host: &Host, pid: u32, targets: &[Target]) -> Vec<Bound> {
    let mut devices: Vec<Numbered> = Vec::new();
    let limited = targets.iter().filter(|target| target.pool.is_none());
    for device in limited.flat_map(|target| &target.devices) {
        if devices.iter().all(|(name, _)| *name != device.name) {
            devices.push((device.name.clone(), device.number.clone()));
        }
    }
    bounds(host, pid, &devices)
}

/// Everything that is set for the process `pid` on `devices`; what cannot be read is left out.
fn bounds(host: &Host, pid: u32, devices: &[Numbered]) -> Vec<Bound> {
    let mut bounds = io(host, pid, devices);
    bounds.extend(cpu(host, pid));
    bounds
}

/// The CPUs that the process `pid` may run on, as its affinity and its cpuset leave them; empty
/// when that cannot be read.
pub fn allowed_cpus(host: &Host, pid: u32) -> Vec<u32> {
    let text = host.read(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| cpu_list(list.trim())).unwrap_or_default()
}

/// No machine has more: a longer list is nonsense.
const MOST_CPUS: u32 = 1 << 16;

/// `0-3,8`, as in cpuset(7).
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if last >= MOST_CPUS || first > last {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Files of version 1, and what each bounds.
const FIRST: [(&str, Bounded); 4] = [
    ("blkio.throttle.read_bps_device", Bounded::ReadBytes),
    ("blkio.throttle.write_bps_device", Bounded::WriteBytes),
    ("blkio.throttle.read_iops_device", Bounded::ReadOps),
    ("blkio.throttle.write_iops_device", Bounded::WriteOps),
];

/// Words of io.max in version 2.
const SECOND: [(&str, Bounded); 4] = [
    ("rbps", Bounded::ReadBytes),
    ("wbps", Bounded::WriteBytes),
    ("riops", Bounded::ReadOps),
    ("wiops", Bounded::WriteOps),
];

fn io(host: &Host, pid: u32, devices: &[Numbered]) -> Vec<Bound> {
    let Some(groups) = groups::groups_of(host, pid, "blkio", "io") else { return Vec::new() };
    let mut bounds = Vec::new();
    for (level, folder) in groups.folders.iter().enumerate() {
        if groups.unified {
            let path = format!("{folder}/io.max");
            let text = host.read(&path).unwrap_or_default();
            bounds.extend(io_max(&text, devices, &path));
            continue;
        }
        // Version 1 has no hierarchy here: a group's limits are its own. What kernel threads write
        // back is the root's.
        let root = level + 1 == groups.folders.len();
        for (file, what) in FIRST {
            let written = matches!(what, Bounded::WriteBytes | Bounded::WriteOps);
            if level == 0 || (root && written) {
                let path = format!("{folder}/{file}");
                let text = host.read(&path).unwrap_or_default();
                bounds.extend(throttle(&text, what, devices, &path));
            }
        }
    }
    bounds
}

fn named<'a>(devices: &'a [Numbered], number: &str) -> Option<&'a str> {
    devices.iter().find(|(_, own)| own == number).map(|(name, _)| name.as_str())
}

/// Lines `8:0 1048576`; no line, no limit.
fn throttle(text: &str, what: Bounded, devices: &[Numbered], path: &str) -> Vec<Bound> {
    let bound = |line: &str| {
        let mut words = line.split_whitespace();
        let device = named(devices, words.next()?)?;
        let most = words.next()?.parse::<u64>().ok().filter(|most| *most > 0)? as f64;
        let from = format!("{path} says {}", line.trim());
        Some(Bound { what, device: Some(device.to_owned()), most, from })
    };
    text.lines().filter_map(bound).collect()
}

/// Lines `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn io_max(text: &str, devices: &[Numbered], path: &str) -> Vec<Bound> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let device = named(devices, words.next()?)?.to_owned();
        let bounds: Vec<Bound> = words
            .filter_map(|word| {
                let (key, value) = word.split_once('=')?;
                let (_, what) = SECOND.iter().find(|(name, _)| *name == key)?;
                let most = value.parse::<u64>().ok().filter(|most| *most > 0)? as f64;
                let from = format!("{path} says {word} of {device}");
                Some(Bound { what: *what, device: Some(device.clone()), most, from })
            })
            .collect();
        Some(bounds)
    };
    text.lines().filter_map(of_line).flatten().collect()
}

fn cpu(host: &Host, pid: u32) -> Vec<Bound> {
    let Some(groups) = groups::groups_of(host, pid, "cpu", "cpu") else { return Vec::new() };
    let quota = |folder: &String| {
        let (path, said) = if groups.unified {
            let path = format!("{folder}/cpu.max");
            let said = host.word(&path)?;
            (path, said)
        } else {
            let path = format!("{folder}/cpu.cfs_quota_us");
            let quota = host.word(&path)?;
            (path, format!("{quota} {}", host.word(format!("{folder}/cpu.cfs_period_us"))?))
        };
        let most = cpus_of(&said)?;
        let from = format!("{path} says {said} us");
        Some(Bound { what: Bounded::CpuTime, device: None, most, from })
    };
    groups.folders.iter().filter_map(quota).collect()
}

/// `50000 100000` is half a CPU; `max 100000` and `-1 100000` are no limit.
fn cpus_of(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let quota = quota.parse::<u64>().ok().filter(|quota| *quota > 0)?;
    let period = period.trim().parse::<u64>().ok().filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    const FIRST_TREE: &str = "\
/proc/self/mountinfo:
    20 1 0:20 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
    21 1 0:21 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
/proc/7/cgroup:
    3:cpu:/shells/7
    2:blkio:/job
/proc/7/status:
    Name:	brickyard
    Cpus_allowed:	f1
    Cpus_allowed_list:	0,4-7
/sys/fs/cgroup/cpu/shells/7/cpu.cfs_quota_us = 25000
/sys/fs/cgroup/cpu/shells/7/cpu.cfs_period_us = 100000
/sys/fs/cgroup/cpu/shells/cpu.cfs_quota_us = -1
/sys/fs/cgroup/cpu/shells/cpu.cfs_period_us = 100000
/sys/fs/cgroup/blkio/job/blkio.throttle.read_bps_device = 7:0 20000000
/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device = 7:0 10000000
/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device:
    7:0 120
    7:9 7
";

    fn devices() -> Vec<Numbered> {
        vec![("loop0".to_owned(), "7:0".to_owned())]
    }

    #[test]
    fn version_1_is_flat_for_io_and_deep_for_processors() {
        let recording = Recording::unpack(FIRST_TREE);
        let found = bounds(&recording.host(), 7, &devices());
        let told: Vec<(Bounded, f64)> = found.iter().map(|one| (one.what, one.most)).collect();
        let expected =
            [(Bounded::ReadBytes, 20e6), (Bounded::WriteOps, 120.0), (Bounded::CpuTime, 0.25)];
        assert_eq!(told, expected, "the root's limit on reads is not the group's: {found:?}");
        assert!(found[0].from.ends_with("job/blkio.throttle.read_bps_device says 7:0 20000000"));
        assert_eq!(allowed_cpus(&recording.host(), 7), [0, 4, 5, 6, 7]);
        assert!(allowed_cpus(&recording.host(), 8).is_empty());
    }

    #[test]
    fn version_2_limits_at_every_level() {
        let text = "\
/proc/self/mountinfo:
    22 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
/proc/7/cgroup = 0::/user.slice/a.scope
/sys/fs/cgroup/cgroup.controllers = cpu io memory
/sys/fs/cgroup/user.slice/a.scope/io.max = 7:0 rbps=2097152 wbps=max riops=max wiops=120
/sys/fs/cgroup/user.slice/io.max = 7:0 rbps=1000
/sys/fs/cgroup/user.slice/cpu.max = 150000 100000
/sys/fs/cgroup/user.slice/a.scope/cpu.max = max 100000
";
        let recording = Recording::unpack(text);
        let found = bounds(&recording.host(), 7, &devices());
        let told: Vec<f64> = found.iter().map(|one| one.most).collect();
        assert_eq!(told, [2_097_152.0, 120.0, 1000.0, 1.5]);
    }

    #[test]
    fn nonsense_is_no_limit_and_no_panic() {
        for text in ["7:0", "7:0 -5", "7:0 99999999999999999999", "x y z", "", "7:0 0", "7:0 max"] {
            assert!(throttle(text, Bounded::ReadOps, &devices(), "f").is_empty(), "{text}");
            assert!(io_max(text, &devices(), "f").is_empty(), "{text}");
        }
        assert!(io_max("7:0 rbps= =5 rbps=1e9 rbps", &devices(), "f").is_empty());
        for text in ["0-4294967295", "9-3", "a", "1-2-3", "70000"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
        for text in ["max 100000", "-1 100000", "5 0", "5", "", "99999999999999999999 1"] {
            assert_eq!(cpus_of(text), None, "{text}");
        }
        let line = "7:0 rbps=2097152 wbps=max riops=max wiops=120";
        for end in 0..line.len() {
            io_max(&line[..end], &devices(), "f");
            cpu_list(&line[..end]);
        }
    }
}
