//! How much memory may be taken for a measurement.

use crate::sys::Host;

/// An eighth of what is available to this process, bytes: to the machine (MemAvailable), and in its
/// control group and all above, whose limit kills. 0 when the machine does not tell.
pub fn bytes(host: &Host) -> u64 {
    const SHARE: u64 = 8;
    let meminfo = host.read("/proc/meminfo").unwrap_or_default();
    let machine = mem_available(&meminfo).unwrap_or(0);
    groups(host).into_iter().fold(machine, u64::min) / SHARE
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// What is left in each of our control groups that has a limit, bytes; pages of files count as
/// left, as they can be dropped.
fn groups(host: &Host) -> Vec<u64> {
    let ours = host.read("/proc/self/cgroup").unwrap_or_default();
    let mut left = Vec::new();
    for line in ours.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(names), Some(path)) = (fields.next(), fields.next()) else { continue };
        let first = names.split(',').any(|name| name == "memory");
        // The customary places; a machine that mounts them elsewhere is taken at MemAvailable.
        let (root, limit, used) = match (names, first) {
            ("", _) => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            (_, true) => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            left.extend(group(host, &format!("{root}{path}"), limit, used));
            let Some((above, _)) = path.rsplit_once('/') else { break };
            path = above;
        }
    }
    left
}

fn group(host: &Host, folder: &str, limit: &str, used: &str) -> Option<u64> {
    let number = |file: &str| host.word(format!("{folder}/{file}"))?.parse::<u64>().ok();
    // `max` is no number, and no limit.
    let limit = number(limit)?;
    let stat = host.read(format!("{folder}/memory.stat")).unwrap_or_default();
    let files = stat.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let file = matches!(name, "active_file" | "inactive_file");
        value.trim().parse::<u64>().ok().filter(|_| file)
    });
    let files = files.fold(0, u64::saturating_add);
    Some(limit.saturating_sub(number(used)?.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    const MACHINE: &str = "/proc/meminfo:\n    MemTotal: 99 kB\n    MemAvailable:    8388608 kB\n";

    fn room(text: &str) -> u64 {
        bytes(&Recording::unpack(&format!("{MACHINE}{text}")).host())
    }

    #[test]
    fn an_eighth_of_what_is_available_may_be_taken() {
        assert_eq!(room(""), 1 << 30);
        assert_eq!(bytes(&Recording::unpack("").host()), 0);
        assert_eq!(bytes(&Recording::unpack("/proc/meminfo = MemAvailable: x kB\n").host()), 0);
    }

    #[test]
    fn the_limit_of_a_control_group_above_counts_and_pages_of_files_can_be_dropped() {
        let group = "/proc/self/cgroup:\n    0::/a/b\n/sys/fs/cgroup/a/b/memory.max = max\n\
            /sys/fs/cgroup/a/b/memory.current = 5\n\
            /sys/fs/cgroup/a/memory.max = 1073741824\n\
            /sys/fs/cgroup/a/memory.current = 805306368\n\
            /sys/fs/cgroup/a/memory.stat:\n    anon 1\n    active_file 134217728\n    \
            inactive_file 134217728\n";
        assert_eq!(room(group), (512 << 20) / 8);
        let first = "/proc/self/cgroup:\n    3:cpu,cpuacct:/\n    4:memory:/job\n\
            /sys/fs/cgroup/memory/job/memory.limit_in_bytes = 8\n\
            /sys/fs/cgroup/memory/job/memory.usage_in_bytes = 99\n";
        assert_eq!(room(first), 0);
        assert_eq!(room("/proc/self/cgroup:\n    broken\n    0::\n"), 1 << 30);
    }
}
