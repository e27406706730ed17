//! Mounts of a server's directory, unmounted: plainly, so that what is dirty is written back.

use super::mount::{UNMOUNT_MAX, mounted_at};
use super::{Now, is_our_place, not_our_place};
use crate::journal::fate::Fate;

pub(super) fn undo(now: &Now<'_>, at: &str, source: &str) -> Fate {
    if !is_our_place(at) {
        return not_our_place(at);
    }
    if !now.same_boot {
        return Fate::EarlierBoot("nothing".into());
    }
    let mut unmounted = false;
    loop {
        match mounted_at(now.host, at) {
            None if unmounted => return Fate::Removed,
            None => return Fate::Gone,
            Some(there) if there.source != source || !there.filesystem.starts_with("nfs") => {
                let held = format!("a mount of {}", there.source);
                return Fate::ChangedByOthers(held, "nothing".into());
            }
            Some(_) if now.dry => return Fate::WouldRemove,
            Some(_) => match now.run(&["umount", at], UNMOUNT_MAX) {
                Ok(_) => unmounted = true,
                Err(error) => {
                    let hint = format!("see who uses it: fuser -vm {at}; then brickyard undo");
                    return Fate::Failed(error.hint(hint));
                }
            },
        }
    }
}
