//! Whether the control groups of a process are frozen: `docker pause`, `systemctl freeze`.
//!
//! `freezer.state` of version 1 and `cgroup.events` of version 2 (Documentation/admin-guide:
//! cgroup-v1/freezer-subsystem.rst, cgroup-v2.rst). A group is frozen with any above it, which its
//! own file says in both versions; all are read, as a container may not see its own.

use super::groups;
use super::text::{lines, value_of};
use crate::sys::Host;
use crate::sys::reread::Reread;

/// The files that say so of the groups of `pid`; none where no freezer is mounted.
pub fn freezer_files(host: &Host, pid: u32) -> Vec<Reread> {
    // Any controller of version 2 leads to the tree, and the tree freezes without one.
    let unified = ["cpu", "memory", "io", "pids"];
    let found = unified.iter().find_map(|any| groups::groups_of(host, pid, "freezer", any));
    let Some(groups) = found else { return Vec::new() };
    let name = if groups.unified { "cgroup.events" } else { "freezer.state" };
    let open = |folder: &String| Reread::open(host, format!("{folder}/{name}")).ok();
    groups.folders.iter().filter_map(open).collect()
}

/// Whether such a file says that the group is frozen.
pub fn is_frozen(text: &[u8]) -> bool {
    value_of(text, "frozen") == Some(1) || lines(text).next() == Some(b"FROZEN")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    #[test]
    fn both_versions_are_read_and_a_cut_one_says_nothing() {
        for (text, frozen) in [
            (&b"populated 1\nfrozen 1\n"[..], true),
            (b"populated 1\nfrozen 0\n", false),
            (b"populated 1\nfrozen 1", false),
            (b"populated 1\n", false),
            (b"FROZEN\n", true),
            (b"FREEZING\n", false),
            (b"THAWED\n", false),
            (b"", false),
        ] {
            assert_eq!(is_frozen(text), frozen, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn the_files_of_every_level_are_found_in_both_versions() {
        let second = "\
/proc/self/mountinfo:
    22 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
/proc/7/cgroup = 0::/a
/sys/fs/cgroup/cgroup.controllers = memory pids
/sys/fs/cgroup/a/cgroup.events:
    populated 1
    frozen 1
";
        let recording = Recording::unpack(second);
        let mut files = freezer_files(&recording.host(), 7);
        assert_eq!(files.len(), 1, "the root of version 2 cannot be frozen, and has no such file");
        assert!(files[0].read().is_some_and(is_frozen));
        let first = "\
/proc/self/mountinfo:
    22 1 0:22 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
/proc/7/cgroup = 3:freezer:/b
/sys/fs/cgroup/freezer/b/freezer.state = THAWED
";
        let recording = Recording::unpack(first);
        assert_eq!(freezer_files(&recording.host(), 7).len(), 1);
        assert!(freezer_files(&recording.host(), 8).is_empty(), "no such process");
    }
}
