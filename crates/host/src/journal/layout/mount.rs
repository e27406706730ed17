//! Mounts of ours, unmounted: plainly, never lazily, which would leave the device in use behind a
//! path that looks free.

use std::time::Duration;

use super::{BUSY_MAX, LOOK_EVERY, Now, is_our_place, not_our_place};
use crate::journal::fate::Fate;
use crate::sys::{Host, block, clock};
use facts::identity::Identity;

/// Unmounting writes back what is dirty, which on a slow disk takes as long as it takes.
pub(super) const UNMOUNT_MAX: Duration = Duration::from_secs(3600);
/// A `mount` that was killed with us may still be at work in the kernel for so long.
const MOUNTING_MAX: Duration = Duration::from_secs(3);

/// The file system that is mounted at some path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedFilesystem {
    /// Major and minor number of its device, `8:0`; major 0 where there is no one device.
    pub number: String,
    /// Type of the file system.
    pub filesystem: String,
    /// What is mounted.
    pub source: String,
}

/// What is mounted at a path without links, on top when there are several; see
/// proc_pid_mountinfo(5).
pub fn mounted_at(host: &Host, at: &str) -> Option<MountedFilesystem> {
    let text = host.read("/proc/self/mountinfo").ok()?;
    // What has no line end was cut off.
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    lines.filter_map(|line| mounted(line, at)).next_back()
}

fn mounted(line: &str, at: &str) -> Option<MountedFilesystem> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    (unescape(left.get(4)?) == at).then_some(())?;
    let (filesystem, source) = (right.next()?.to_owned(), unescape(right.next()?));
    Some(MountedFilesystem { number: (*left.get(2)?).to_owned(), filesystem, source })
}

/// The kernel writes blank, tab, newline and backslash as `\` and three octal digits.
fn unescape(text: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.iter().fold(text.to_owned(), |text, (code, sign)| text.replace(code, sign))
}

pub(super) fn undo(now: &Now<'_>, at: &str, disks: &[Identity]) -> Fate {
    if !is_our_place(at) {
        return not_our_place(at);
    }
    if !now.same_boot {
        return Fate::EarlierBoot("nothing".into());
    }
    let begun_ns = clock::monotonic_ns();
    let mut unmounted = false;
    loop {
        let waited = Duration::from_nanos(clock::monotonic_ns() - begun_ns);
        match mounted_at(now.host, at) {
            None if unmounted => return Fate::Removed,
            None if waited < MOUNTING_MAX && !now.dry && is_being_mounted(now, disks) => {
                std::thread::sleep(LOOK_EVERY);
            }
            None => return Fate::Gone,
            Some(there) if !is_ours(now, &there, disks) => {
                let held = format!("a mount of {}", there.source);
                return Fate::ChangedByOthers(held, "nothing".into());
            }
            Some(_) if now.dry => return Fate::WouldRemove,
            Some(_) => match now.run(&["umount", at], UNMOUNT_MAX) {
                Ok(_) => unmounted = true,
                Err(error) if error.errno == Some(libc::EBUSY) => {
                    let hint = format!("see who uses it: fuser -vm {at}; then brickyard undo");
                    let why = format!("{} (tried for {} s)", error.why, BUSY_MAX.as_secs());
                    return Fate::Failed(crate::sys::Error { why, ..error }.hint(hint));
                }
                Err(error) => return Fate::Failed(error),
            },
        }
    }
}

/// Whether somebody holds one of the disks that no array or mapping holds.
fn is_being_mounted(now: &Now<'_>, disks: &[Identity]) -> bool {
    now.names(disks).iter().any(|name| {
        now.host.list(format!("/sys/class/block/{name}/holders")).is_empty()
            && block::is_held(&block::node(name))
    })
}

fn is_ours(now: &Now<'_>, there: &MountedFilesystem, disks: &[Identity]) -> bool {
    let names = now.names(disks);
    // A disk that was pulled out is no device any more, and its file system is still mounted.
    let gone = |name: &str| !now.host.exists(format!("/sys/class/block/{name}"));
    let pulled: Vec<&Identity> = disks.iter().filter(|disk| gone(&disk.name)).collect();
    if pulled.iter().any(|disk| disk.number.as_deref() == Some(there.number.as_str())) {
        return true;
    }
    if there.filesystem == "zfs" {
        // Its source is a dataset; one of a pool that is not ours, or lies elsewhere, is others'.
        let pool = there.source.split('/').next().unwrap_or_default();
        return pool.starts_with("brickyard")
            && super::pool::is_imported(now, pool, &names) == Ok(true);
    }
    if !there.number.starts_with("0:") {
        let link = format!("/sys/dev/block/{}", there.number);
        let device =
            now.host.resolve(link).and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        return device.is_some_and(|device| now.lies_on(&device, &names));
    }
    // Several devices: btrfs names one of them, bcachefs all with colons between.
    let mut sources = there.source.split(':').peekable();
    sources.peek().is_some()
        && sources.all(|source| {
            let Some(name) = kernel_name(now, source) else { return false };
            now.lies_on(&name, &names) || pulled.iter().any(|disk| disk.name == name)
        })
}

/// The kernel's name of a node, also of one that is a link into /dev/mapper.
fn kernel_name(now: &Now<'_>, source: &str) -> Option<String> {
    // `tmpfs` has a word of its own here, which is no path.
    let source = Some(source).filter(|source| source.starts_with("/dev/"))?;
    let real = now.host.resolve(source).unwrap_or_else(|| source.into());
    let name = real.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    let mapped = name.strip_prefix("mapper!").and_then(|mapped| {
        now.host.list("/sys/block").into_iter().find(|device| {
            now.host.word(format!("/sys/block/{device}/dm/name")).as_deref() == Some(mapped)
        })
    });
    Some(mapped.unwrap_or(name))
}
