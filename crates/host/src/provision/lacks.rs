//! What this machine lacks for a layout: parts of its kernel, and programs.
//!
//! Looks and changes nothing; a module that can be loaded counts as there. The kernel is asked
//! first, as no package helps where it has no such file system.

use crate::sys::{Host, command};
use facts::layout::filesystem::FilesystemKind;
use facts::layout::{Layout, Volumes};

/// The first thing that is missing, as a sentence without its end.
pub fn first(layout: &Layout, host: &Host) -> Option<String> {
    let kind = facts::layout::filesystem::kind(&layout.filesystem)?;
    of_volumes(layout, host)
        .or_else(|| of_filesystem(kind, host))
        .or_else(|| of_disks(layout, host))
        .or_else(|| programs(layout, kind).find_map(|(name, package)| not_installed(name, package)))
}

fn not_installed(name: &str, package: &str) -> Option<String> {
    let missing = command::find(name).is_none();
    missing.then(|| format!("{name} is not installed: apt install {package}"))
}

fn programs(
    layout: &Layout,
    kind: &FilesystemKind,
) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    let mut all = vec![("wipefs", "util-linux"), ("mount", "mount"), ("umount", "mount")];
    match layout.volumes() {
        Volumes::Md => all.push(("mdadm", "mdadm")),
        Volumes::Lvm => all.extend([("vgcreate", "lvm2"), ("dmsetup", "dmsetup")]),
        Volumes::Zfs => all.push(("zfs", "zfsutils-linux")),
        Volumes::None | Volumes::Btrfs => {}
    }
    all.extend(kind.mkfs.first().map(|mkfs| (*mkfs, kind.package)));
    if layout.snapshot == "btrfs" {
        all.push(("btrfs", "btrfs-progs"));
    }
    if layout.precondition == "discard" {
        all.push(("blkdiscard", "util-linux"));
    }
    let check = kind.check.ok().and_then(|words| words.first()).filter(|_| layout.fsck);
    all.extend(check.map(|program| (*program, kind.package)));
    if layout.fsck || layout.fstrim {
        all.push(("blockdev", "util-linux"));
    }
    if layout.fstrim {
        all.push(("fstrim", "util-linux"));
    }
    all.into_iter()
}

fn of_volumes(layout: &Layout, host: &Host) -> Option<String> {
    let lacks = |what: &str, config: &str| Some(format!("this kernel has no {what} ({config})"));
    match layout.volumes() {
        Volumes::Md => {
            if !host.exists("/proc/mdstat") && !has_module(host, "md-mod") {
                return lacks("md", "CONFIG_MD");
            }
            let levels = [Some(layout.raid.as_str()), facts::layout::level::nested(&layout.raid)];
            levels.into_iter().flatten().find_map(|level| {
                let (module, config) = personality(level);
                let text = host.read("/proc/mdstat").unwrap_or_default();
                let loaded =
                    text.lines().next().unwrap_or_default().contains(&format!("[{level}]"));
                match loaded || has_module(host, module) {
                    true => None,
                    false => lacks(&format!("{level} of md"), config),
                }
            })
        }
        Volumes::Lvm => {
            let misc = host.read("/proc/misc").unwrap_or_default();
            match misc.contains("device-mapper") || has_module(host, "dm-mod") {
                false => lacks("device mapper", "CONFIG_BLK_DEV_DM"),
                true if layout.snapshot == "lvm" && !can_snapshot(host) => {
                    lacks("snapshots of the device mapper", "CONFIG_DM_SNAPSHOT")
                }
                true => None,
            }
        }
        Volumes::None | Volumes::Btrfs | Volumes::Zfs => None,
    }
}

/// Where the kernel does not list its modules, making the snapshot shows it.
fn can_snapshot(host: &Host) -> bool {
    lists(host).next().is_none() || has_module(host, "dm-snapshot")
}

/// The module of a level (the outer one of a nested one), and the kernel's setting for it.
fn personality(level: &str) -> (&'static str, &'static str) {
    match level {
        "raid0" | "raid50" | "raid60" => ("raid0", "CONFIG_MD_RAID0"),
        "raid1" => ("raid1", "CONFIG_MD_RAID1"),
        "raid10" => ("raid10", "CONFIG_MD_RAID10"),
        _ => ("raid456", "CONFIG_MD_RAID456"),
    }
}

fn of_filesystem(kind: &FilesystemKind, host: &Host) -> Option<String> {
    let there = is_registered(host, kind.name) || has_module(host, kind.module);
    (!there).then(|| match kind.config {
        "" => format!("this kernel has no module {}: apt install {0}-dkms", kind.module),
        config => format!("this kernel has no {} (CONFIG_{config})", kind.name),
    })
}

/// Whether the kernel knows the kind now; see filesystems(5).
pub fn is_registered(host: &Host, name: &str) -> bool {
    let text = host.read("/proc/filesystems").unwrap_or_default();
    text.lines().any(|line| line.split_ascii_whitespace().last() == Some(name))
}

fn of_disks(layout: &Layout, host: &Host) -> Option<String> {
    if layout.precondition != "discard" {
        return None;
    }
    let cannot = layout.disks.iter().find(|disk| {
        let file = format!("/sys/block/{}/queue/discard_max_bytes", disk.name);
        host.word(file).is_none_or(|bytes| bytes == "0")
    });
    cannot.map(|disk| format!("{} cannot discard", disk.named))
}

/// Texts of the modules that this kernel can load, and of those built in; modules.dep(5).
fn lists(host: &Host) -> impl Iterator<Item = String> {
    let release = host.word("/proc/sys/kernel/osrelease").unwrap_or_default();
    let read = move |file: &str| host.read(format!("/lib/modules/{release}/{file}")).ok();
    let texts: Vec<String> =
        ["modules.dep", "modules.builtin"].into_iter().filter_map(read).collect();
    texts.into_iter()
}

/// Whether a module can be loaded, is loaded, or is built in.
fn has_module(host: &Host, module: &str) -> bool {
    let loaded = format!("/sys/module/{}", module.replace('-', "_"));
    let plain = |name: &str| name.replace('_', "-");
    host.exists(loaded)
        || lists(host).any(|text| {
            text.lines().any(|line| {
                let path = line.split(':').next().unwrap_or_default();
                let file = path.rsplit('/').next().unwrap_or_default();
                let name = file.split(".ko").next().unwrap_or_default();
                file.contains(".ko") && plain(name) == plain(module)
            })
        })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;
    use facts::layout::testing::layout;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let host = Host::at(root.path());
        (root, host)
    }

    const FILESYSTEMS: (&str, &str) = ("proc/filesystems", "nodev\tsysfs\n\text3\n\text4\n");

    #[test]
    fn a_kernel_without_a_part_is_named_with_the_setting_that_would_bring_it() {
        let (_root, host) = machine(&[FILESYSTEMS]);
        let lacks =
            |volumes: &str, raid: &str| first(&layout(volumes, raid, 8), &host).unwrap_or_default();
        assert_eq!(lacks("md", "raid5"), "this kernel has no md (CONFIG_MD)");
        assert_eq!(lacks("lvm", "raid0"), "this kernel has no device mapper (CONFIG_BLK_DEV_DM)");
        let mut plain = layout("md", "single", 1);
        plain.filesystem = "jfs".into();
        assert_eq!(first(&plain, &host).unwrap(), "this kernel has no jfs (CONFIG_JFS_FS)");
        let pool = Layout { filesystem: "zfs".into(), ..layout("zfs", "raid5", 3) };
        let lacks = first(&pool, &host).unwrap();
        assert_eq!(lacks, "this kernel has no module zfs: apt install zfs-dkms");
        plain.filesystem = "ext4".into();
        plain.precondition = "discard".into();
        assert_eq!(first(&plain, &host).unwrap(), "serial:S0 cannot discard");
    }

    #[test]
    fn modules_that_can_be_loaded_count_and_levels_are_told_apart() {
        let modules = "kernel/drivers/md/md-mod.ko.xz:\nkernel/drivers/md/raid0.ko:\n\
                       kernel/fs/jfs/jfs.ko: kernel/fs/nls/nls_base.ko\n";
        let (_root, host) = machine(&[
            FILESYSTEMS,
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("lib/modules/6.1.0/modules.dep", modules),
        ]);
        let of = |raid: &str| of_volumes(&layout("md", raid, 8), &host);
        assert_eq!(of("raid0"), None);
        assert_eq!(of("raid5").unwrap(), "this kernel has no raid5 of md (CONFIG_MD_RAID456)");
        assert_eq!(of("raid60").unwrap(), "this kernel has no raid6 of md (CONFIG_MD_RAID456)");
        assert!(has_module(&host, "jfs") && !has_module(&host, "nls_base"));
        let mdstat = ("proc/mdstat", "Personalities : [raid6] [raid5] [raid4] \nunused\n");
        let (_root, host) = machine(&[mdstat]);
        assert_eq!(of_volumes(&layout("md", "raid5", 4), &host), None);
        let raid1 = of_volumes(&layout("md", "raid1", 4), &host);
        assert_eq!(raid1.unwrap(), "this kernel has no raid1 of md (CONFIG_MD_RAID1)");
    }

    #[test]
    fn a_program_is_named_with_its_package() {
        assert_eq!(
            not_installed("mkfs.nonsense", "nonsense-tools").unwrap(),
            "mkfs.nonsense is not installed: apt install nonsense-tools"
        );
        assert_eq!(not_installed("sh", "dash"), None);
    }

    #[test]
    fn cut_lists_of_modules_do_not_panic() {
        let text = "kernel/drivers/md/md-mod.ko.xz: kernel/x.ko\n";
        for end in 0..text.len() {
            let (_root, host) = machine(&[
                ("proc/sys/kernel/osrelease", "6\n"),
                ("lib/modules/6/modules.dep", &text[..end]),
            ]);
            assert_eq!(has_module(&host, "md-mod"), end >= "kernel/drivers/md/md-mod.ko".len());
        }
    }
}
