//! Where a control group around the load can be made, in both versions of the kernel's interface.

use super::mounts;
use crate::sys::{Error, Host};

/// A folder in which a memory group can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The folder, as a path of the machine.
    pub folder: String,
    /// The file of a group in it that holds its limit, bytes.
    pub limit: &'static str,
}

/// Finds where a memory group can be made, so that the limits that hold for us hold for it too.
///
/// In version 1 that is our own group. In version 2 a group with processes cannot hand memory on
/// to groups in it (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint"):
/// there it is the nearest above us that does.
///
/// # Errors
/// When the kernel has no memory groups, they are not mounted, or none hands memory on.
pub fn memory(host: &Host) -> Result<Parent, Error> {
    let mounts = mounts(host)?;
    let ours = host.read("/proc/self/cgroup")?;
    let words = |text: &str, word: &str| text.split(',').any(|one| one == word);
    let first = mounts
        .iter()
        .rfind(|mount| mount.filesystem == "cgroup" && words(&mount.super_options, "memory"));
    if let Some(mount) = first {
        let path = ours.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let memory = fields.next().is_some_and(|names| words(names, "memory"));
            fields.next().filter(|_| memory)
        });
        let own = format!("{}{}", mount.point, path.unwrap_or_default());
        let own = own.trim_end_matches('/');
        // In a container the path may be the host's, which is not there.
        let there = host.exists(format!("{own}/memory.limit_in_bytes"));
        let folder = if there { own } else { mount.point.as_str() };
        return Ok(Parent { folder: folder.to_owned(), limit: "memory.limit_in_bytes" });
    }
    let second = mounts.iter().rfind(|mount| mount.filesystem == "cgroup2").ok_or_else(|| {
        Error::new("cannot limit memory", "no control groups are mounted here")
            .hint("mount -t cgroup2 none /sys/fs/cgroup")
    })?;
    let path = ours.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let mut path = path.trim_end_matches('/');
    loop {
        // Not our own, unless it is the root, for which the rule does not hold.
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
        let folder = format!("{}{path}", second.point);
        let hands_on = host.read(format!("{folder}/cgroup.subtree_control")).unwrap_or_default();
        if hands_on.split_whitespace().any(|word| word == "memory") {
            return Ok(Parent { folder, limit: "memory.max" });
        }
        if path.is_empty() {
            let what = "cannot limit memory";
            let root = &second.point;
            return Err(Error::new(what, "no control group here hands the memory controller on")
                .hint(format!("echo +memory > {root}/cgroup.subtree_control")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    fn found(text: &str) -> Result<Parent, Error> {
        memory(&Recording::unpack(text).host())
    }

    const FIRST: &str = "\
/proc/self/mountinfo:
    20 1 0:20 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
    21 1 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
    22 1 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
/proc/self/cgroup:
    3:cpu:/
    2:memory:/shells/7
    0::/
";

    #[test]
    fn version_1_makes_its_group_in_ours_so_that_our_limits_hold_too() {
        let ours = "/sys/fs/cgroup/memory/shells/7/memory.limit_in_bytes = 9223372036854771712\n";
        let parent = found(&format!("{FIRST}{ours}")).unwrap();
        assert_eq!(parent.folder, "/sys/fs/cgroup/memory/shells/7");
        assert_eq!(parent.limit, "memory.limit_in_bytes");
        // In a container /proc/self/cgroup may name the host's group.
        assert_eq!(found(FIRST).unwrap().folder, "/sys/fs/cgroup/memory");
    }

    const SECOND: &str = "\
/proc/self/mountinfo:
    22 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
/proc/self/cgroup:
    0::/user.slice/user-0.slice/session-3.scope
/sys/fs/cgroup/cgroup.subtree_control = cpu io memory pids
/sys/fs/cgroup/user.slice/cgroup.subtree_control = memory pids
";

    #[test]
    fn version_2_makes_its_group_in_the_nearest_one_that_hands_memory_on() {
        let parent = found(SECOND).unwrap();
        assert_eq!(parent.folder, "/sys/fs/cgroup/user.slice");
        assert_eq!(parent.limit, "memory.max");
        let root = SECOND.replace("0::/user.slice/user-0.slice/session-3.scope", "0::/");
        assert_eq!(found(&root).unwrap().folder, "/sys/fs/cgroup");
    }

    #[test]
    fn where_no_memory_group_can_be_made_it_is_said_what_to_type() {
        let none = SECOND.replace("memory", "hugetlb");
        let error = found(&none).unwrap_err();
        assert_eq!(
            error.hint.as_deref(),
            Some("echo +memory > /sys/fs/cgroup/cgroup.subtree_control")
        );
        let unmounted = "/proc/self/mountinfo = \n/proc/self/cgroup = 0::/\n";
        assert!(found(unmounted).unwrap_err().hint.is_some());
        assert!(found("/proc/self/cgroup = 0::/\n").is_err());
    }

    #[test]
    fn cut_texts_never_panic() {
        for end in 0..SECOND.len() {
            let lines = SECOND[..end].lines().take_while(|line| line.starts_with("    "));
            let text: Vec<&str> = lines.collect();
            let _ = found(&format!("/proc/self/mountinfo:\n{}\n", text.join("\n")));
        }
        for cut in ["", ":", "::", "2:memory", "0:", "2:memory:"] {
            let _ = found(&format!("{}/proc/self/cgroup = {cut}\n", &FIRST[..150]));
        }
    }
}
