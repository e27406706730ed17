//! md arrays of ours, stopped.

use super::{COMMAND_MAX, Now};
use crate::journal::fate::Fate;
use crate::sys::block;
use facts::identity::Identity;

/// Whether two UUIDs are the same, however they are cut: mdadm writes colons where others write
/// hyphens.
pub fn same_uuid(one: &str, other: &str) -> bool {
    let bare = |text: &str| -> String {
        text.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_ascii_lowercase()
    };
    bare(one).len() == 32 && bare(one) == bare(other)
}

/// Stops the array of this UUID if all its members lie on our disks. One that lies on arrays (RAID
/// 50 and 60) has its superblock taken from them: the next array of the same disks would show it
/// again, and udev would assemble it.
pub(super) fn undo(now: &Now<'_>, uuid: &str, members: &[Identity]) -> Fate {
    let disks = now.names(members);
    let mut stopped = false;
    for name in now.host.list("/sys/block") {
        let is_array = now.host.exists(format!("/sys/block/{name}/md"));
        if !is_array || !now.lies_on(&name, &disks) {
            continue;
        }
        match is_of(now, &name, uuid) {
            Some(true) => {}
            Some(false) => continue,
            None => {
                let what = format!("cannot tell whose array {name} is");
                let error = crate::sys::Error::new(what, "mdadm does not tell its UUID");
                return Fate::Failed(error.hint(format!("mdadm --detail /dev/{name}")));
            }
        }
        if now.dry {
            return Fate::WouldRemove;
        }
        let below = now.host.list(format!("/sys/block/{name}/slaves"));
        let node = block::node(&name).display().to_string();
        if let Err(error) = now.run(&["mdadm", "--stop", &node], COMMAND_MAX) {
            return Fate::Failed(error);
        }
        for lower in below.iter().filter(|one| now.host.exists(format!("/sys/block/{one}/md"))) {
            let node = block::node(lower).display().to_string();
            if let Err(error) = now.run(&["wipefs", "--all", "--quiet", &node], COMMAND_MAX) {
                return Fate::Failed(error);
            }
        }
        stopped = true;
    }
    if stopped { Fate::Removed } else { Fate::Gone }
}

/// Whether it is the array of this UUID; `None` when nobody can say.
fn is_of(now: &Now<'_>, name: &str, uuid: &str) -> Option<bool> {
    if let Some(held) = now.host.word(format!("/sys/block/{name}/md/uuid")) {
        return Some(same_uuid(&held, uuid));
    }
    let node = block::node(name).display().to_string();
    let text = now.run(&["mdadm", "--detail", "--export", &node], COMMAND_MAX).ok()?;
    let held = text.lines().find_map(|line| line.strip_prefix("MD_UUID="))?;
    Some(same_uuid(held, uuid))
}
