//! Mounts: which one a path lies on, and what kind of file system it is.

use std::path::Path;

use crate::sys::Host;
use crate::sys::filesystem::MountIdentity;
use facts::inventory::Mount;
use facts::inventory::mount::unescape;

/// All mounts of /proc/self/mountinfo; lines that are not understood are left out.
pub fn parse(text: &str) -> Vec<Mount> {
    text.split_inclusive('\n')
        // What has no line end was cut off.
        .filter_map(|line| mount(line.strip_suffix('\n')?))
        .collect()
}

fn mount(line: &str) -> Option<Mount> {
    // Optional fields stand before a lone hyphen.
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    let (major, minor) = left.get(2)?.split_once(':')?;
    Some(Mount {
        id: left.first()?.parse().ok()?,
        device: (major.parse().ok()?, minor.parse().ok()?),
        point: unescape(left.get(4)?),
        options: (*left.get(5)?).to_owned(),
        filesystem: right.next()?.to_owned(),
        source: unescape(right.next()?),
        super_options: unescape(right.next().unwrap_or("")),
    })
}

/// The mount that `path` (absolute, without links) lies on. The kernel's own answer decides where
/// it has one; else `st_dev` among the mounts above the path, as a mount may hide others; else the
/// longest mount point, the last of several on one.
pub fn of_path<'a>(mounts: &'a [Mount], path: &Path, identity: MountIdentity) -> Option<&'a Mount> {
    let by_id = mounts.iter().find(|mount| Some(mount.id) == identity.mount_id);
    if by_id.is_some() {
        return by_id;
    }
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // max_by_key takes the last of equals, which is the one mounted on top.
    above.max_by_key(|mount| {
        (Some(mount.device) == identity.device, Path::new(&mount.point).components().count())
    })
}

/// The mount that really holds the files of `mount`: through overlays to the upper directory.
/// `None` when that cannot be seen from here.
pub fn look_through<'a>(host: &Host, mounts: &'a [Mount], mount: &'a Mount) -> Option<&'a Mount> {
    // Overlays can be stacked; the kernel allows two levels (FILESYSTEM_MAX_STACK_DEPTH).
    let mut mount = mount;
    for _ in 0..4 {
        if mount.filesystem != "overlay" {
            return Some(mount);
        }
        let lower = mount.super_option("lowerdir").and_then(|dirs| dirs.split(':').next());
        // `lowerdir+=` once for each layer is how the mount API of Linux 6.5 has it.
        let lower = lower.or_else(|| mount.super_option("lowerdir+"));
        let layer = mount.super_option("upperdir").or(lower)?;
        // A container does not see its host's directories: then the path is not there, or its
        // prefix is the overlay itself.
        // A relative one is relative to where the mounting process was.
        let layer = host.resolve(Some(Path::new(layer)).filter(|layer| layer.is_absolute())?)?;
        mount = of_path(mounts, &layer, MountIdentity::default())
            .filter(|below| below.id != mount.id)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::inventory::mount::nature;

    const TEXT: &str = include_str!("../../../../tests/fixtures/proc/mountinfo");

    fn on(path: &str, identity: MountIdentity) -> String {
        let mounts = parse(TEXT);
        let mount = of_path(&mounts, Path::new(path), identity).unwrap();
        format!("{} {}", mount.filesystem, mount.point)
    }

    fn by_path(path: &str) -> String {
        on(path, MountIdentity::default())
    }

    #[test]
    fn the_longest_mount_point_wins_and_names_are_compared_whole() {
        assert_eq!(by_path("/home/x"), "ext4 /");
        assert_eq!(by_path("/srv/data/x"), "xfs /srv/data");
        assert_eq!(by_path("/srv/data2/x"), "tmpfs /srv");
        assert_eq!(by_path("/mnt/with blank/x"), "btrfs /mnt/with blank");
    }

    #[test]
    fn of_two_mounts_on_one_point_the_later_one_is_seen() {
        assert_eq!(by_path("/dev/shm"), "tmpfs /dev/shm");
        let mounts = parse(TEXT);
        let seen = of_path(&mounts, Path::new("/dev/shm"), MountIdentity::default()).unwrap();
        assert_eq!(seen.id, 30);
    }

    #[test]
    fn a_mount_that_another_hides_is_not_taken_when_the_kernel_says_which() {
        // /srv was mounted over with tmpfs after /srv/data had been mounted.
        let hidden = MountIdentity { mount_id: Some(60), device: None };
        assert_eq!(on("/srv/data/x", hidden), "tmpfs /srv");
        let by_device = MountIdentity { mount_id: None, device: Some((0, 61)) };
        assert_eq!(on("/srv/data/x", by_device), "tmpfs /srv");
    }

    #[test]
    fn the_anonymous_device_of_a_btrfs_subvolume_does_not_mislead() {
        let subvolume = MountIdentity { mount_id: None, device: Some((0, 99)) };
        assert_eq!(on("/mnt/with blank/sub/x", subvolume), "btrfs /mnt/with blank");
    }

    #[test]
    fn options_of_mount_and_file_system_are_joined() {
        let mounts = parse(TEXT);
        let root = mounts.iter().find(|mount| mount.point == "/").unwrap();
        assert_eq!(root.all_options(), "rw,relatime,discard");
        assert!(!root.read_only());
    }

    #[test]
    fn text_cut_off_anywhere_yields_only_whole_mounts() {
        let whole = parse(TEXT);
        for end in 0..TEXT.len() {
            let cut = parse(&TEXT[..end]);
            assert_eq!(cut, whole[..cut.len()]);
        }
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("\\777\\040"), "\\777 ");
    }

    #[test]
    fn what_nobody_has_looked_at_is_not_relied_on() {
        assert!(nature("xfs").process_io_reliable && !nature("xfs").remote);
        for filesystem in ["zfs", "fuse.mergerfs", "fuseblk", "nfs4", "cifs", "9p", "overlay", ""] {
            assert!(!nature(filesystem).process_io_reliable, "{filesystem}");
        }
        assert!(nature("nfs4").remote && nature("fuse.sshfs").remote && !nature("fuse").remote);
        assert!(nature("tmpfs").memory && !nature("ext4").memory);
    }
}
