//! The control groups that a process is in, in both versions of the kernel's interface.

use crate::inventory;
use crate::sys::Host;

/// Where the limits of one controller lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The unified hierarchy of version 2.
    pub unified: bool,
    /// Folders of the groups: the process's own first, the root last. One when it is in the root.
    pub folders: Vec<String>,
}

/// A path with more levels than this is not a group's.
const MOST_LEVELS: usize = 64;

/// The groups of process `pid` in which `controller` (of version 1, such as `blkio`) or `unified`
/// (of version 2, such as `io`) may set limits; `None` when none is mounted.
pub fn groups_of(host: &Host, pid: u32, controller: &str, unified: &str) -> Option<Groups> {
    let mounts = inventory::mounts(host).ok()?;
    let text = host.read(format!("/proc/{pid}/cgroup")).ok()?;
    let has = |list: &str, name: &str| list.split(',').any(|one| one == name);
    // hierarchy-ID:controller-list:path, cgroups(7).
    let path = |of: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let mine = fields.next().is_some_and(of);
            fields.next().filter(|_| mine).map(str::to_owned)
        })
    };
    let first = mounts
        .iter()
        .rfind(|mount| mount.filesystem == "cgroup" && has(&mount.super_options, controller));
    if let Some(mount) = first {
        let path = path(&|names| has(names, controller)).unwrap_or_default();
        return Some(Groups { unified: false, folders: levels(host, &mount.point, &path) });
    }
    let second = mounts.iter().rfind(|mount| {
        let root = format!("{}/cgroup.controllers", mount.point);
        mount.filesystem == "cgroup2"
            && host.read(root).is_ok_and(|text| text.split_whitespace().any(|one| one == unified))
    })?;
    let path = path(&str::is_empty).unwrap_or_default();
    Some(Groups { unified: true, folders: levels(host, &second.point, &path) })
}

/// From the group of `path` up to the root of the mount. In a container the path may be the host's,
/// which is not there: its own root is then all that can be seen.
fn levels(host: &Host, point: &str, path: &str) -> Vec<String> {
    let mut path = path.trim_matches('/');
    if !host.exists(format!("{point}/{path}")) {
        path = "";
    }
    let mut folders = Vec::new();
    while !path.is_empty() && folders.len() < MOST_LEVELS {
        folders.push(format!("{point}/{path}"));
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    folders.push(point.to_owned());
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    const FIRST: &str = "\
/proc/self/mountinfo:
    20 1 0:20 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
    21 1 0:21 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
    22 1 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
/proc/7/cgroup:
    3:cpu,cpuacct:/shells/7
    2:blkio:/
    0::/
/sys/fs/cgroup/cpu/shells/7/cpu.stat = nr_periods 0
";

    #[test]
    fn every_level_up_to_the_root_is_a_group() {
        let host = Recording::unpack(FIRST).host();
        let recording = Recording::unpack(FIRST);
        let found = groups_of(&recording.host(), 7, "cpu", "cpu").unwrap();
        assert!(!found.unified);
        let cpu = "/sys/fs/cgroup/cpu";
        assert_eq!(found.folders, [format!("{cpu}/shells/7"), format!("{cpu}/shells"), cpu.into()]);
        let io = groups_of(&recording.host(), 7, "blkio", "io").unwrap();
        assert_eq!(io.folders, ["/sys/fs/cgroup/blkio"]);
        assert_eq!(groups_of(&host, 8, "cpu", "cpu"), None, "no such process");
    }

    #[test]
    fn version_2_has_one_tree_for_all() {
        let text = "\
/proc/self/mountinfo:
    22 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
/proc/7/cgroup = 0::/user.slice/a.scope
/sys/fs/cgroup/cgroup.controllers = cpu io memory
/sys/fs/cgroup/user.slice/a.scope/io.max = 8:0 rbps=1
";
        let recording = Recording::unpack(text);
        let found = groups_of(&recording.host(), 7, "blkio", "io").unwrap();
        assert!(found.unified);
        assert_eq!(found.folders.len(), 3);
        assert_eq!(groups_of(&recording.host(), 7, "cpuset", "cpuset"), None, "not handed on");
    }
}
