//! Superblocks of ours, wiped from whole disks; nobody else's.

use std::path::Path;
use std::time::Duration;

use super::{BUSY_MAX, COMMAND_MAX, LOOK_EVERY, Now, node_of};
use crate::journal::fate::Fate;
use crate::sys::{Error, block, clock};
use facts::identity::Identity;

/// One signature on a disk that wipefs(8) sees: its kind, and the UUID and label that it bears.
#[derive(Debug, PartialEq, Eq)]
pub struct DiskSignature {
    kind: String,
    marks: Vec<String>,
}

pub(super) fn undo(now: &Now<'_>, disk: &Identity, mark: &str) -> Fate {
    let node = match node_of(now, disk) {
        Ok(node) => node,
        Err(fate) => return fate,
    };
    match look(now, &node) {
        Err(error) => Fate::Failed(error),
        Ok(found) if found.is_empty() => Fate::Gone,
        Ok(found) => match found.iter().find(|one| !one.is_marked(mark)) {
            Some(other) => Fate::ChangedByOthers(other.to_string(), "nothing".into()),
            None if now.dry => Fate::WouldRemove,
            None => wipe(now, &node).map_or_else(Fate::Failed, |()| Fate::Removed),
        },
    }
}

pub(super) fn wipe(now: &Now<'_>, node: &Path) -> Result<(), Error> {
    // A mkfs that was killed with us holds it until the kernel is through with its writes.
    let begun_ns = clock::monotonic_ns();
    while block::is_held(node) {
        if Duration::from_nanos(clock::monotonic_ns() - begun_ns) > BUSY_MAX {
            let what = format!("cannot wipe {}", node.display());
            return Err(Error::new(what, "somebody uses it").hint("lsblk; then brickyard undo"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let name = node.display().to_string();
    // Without --force it opens the disk for itself (O_EXCL), and leaves one that is in use alone.
    now.run(&["wipefs", "--all", "--quiet", &name], COMMAND_MAX)?;
    block::flush(node)?;
    match look(now, node)?.first() {
        None => Ok(()),
        Some(left) => Err(Error::new(format!("cannot wipe {name}"), format!("it holds {left}"))),
    }
}

pub(super) fn look(now: &Now<'_>, node: &Path) -> Result<Vec<DiskSignature>, Error> {
    let name = node.display().to_string();
    let text = now.run(&["wipefs", "--json", "--output", "TYPE,UUID,LABEL", &name], COMMAND_MAX)?;
    let mut found = parse(&text).ok_or_else(|| {
        Error::new(format!("cannot look into {name}"), "wipefs prints what is not understood")
    })?;
    for one in found.iter_mut().filter(|one| one.marks.is_empty()) {
        // An external log of XFS has the UUID of its file system, which only blkid tells.
        let log = ["blkid", "--probe", "--match-tag", "LOGUUID", "--output", "value", &name];
        one.marks.extend(now.run(&log, COMMAND_MAX).ok().map(|text| text.trim().to_owned()));
    }
    Ok(found)
}

/// What `wipefs --json` prints; nothing at all stands for an empty list.
pub fn parse(text: &str) -> Option<Vec<DiskSignature>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let document: serde_json::Value = serde_json::from_str(text).ok()?;
    let one = |row: &serde_json::Value| {
        let word = |key: &str| Some(row.get(key)?.as_str()?.to_owned());
        let marks = [word("uuid"), word("label")].into_iter().flatten().collect();
        Some(DiskSignature { kind: word("type")?, marks })
    };
    document.get("signatures")?.as_array()?.iter().map(one).collect()
}

impl DiskSignature {
    pub(super) fn is_marked(&self, mark: &str) -> bool {
        self.marks.iter().any(|held| held == mark || super::same_uuid(held, mark))
    }

    /// Whether it is one of these kinds.
    pub(super) fn is_of(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind.as_str())
    }
}

impl std::fmt::Display for DiskSignature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.marks.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "28286680-4404-430b-b260-bd3e14170301";
    // wipefs of util-linux 2.38 on an ext4; a member of an array; an external log of XFS.
    const TEXT: &str = r#"{
   "signatures": [
      {
         "type": "ext4",
         "uuid": "28286680-4404-430b-b260-bd3e14170301",
         "label": null
      },{
         "type": "jfs",
         "uuid": "91f7a1f0-0000-4000-8000-000000000000",
         "label": "brickyard-ab12cd"
      },{
         "type": "xfs_external_log",
         "uuid": null,
         "label": null
      }
   ]
}"#;

    #[test]
    fn ours_is_known_by_uuid_or_label_and_nothing_else_is_ours() {
        let found = parse(TEXT).unwrap();
        assert!(found[0].is_marked(UUID) && !found[0].is_marked("brickyard-ab12cd"));
        assert!(found[0].is_marked("28286680:4404430b:b260bd3e:14170301"), "as mdadm writes it");
        assert!(found[1].is_marked("brickyard-ab12cd") && !found[1].is_marked(UUID));
        assert!(!found[2].is_marked(UUID) && !found[2].is_marked(""));
        assert!(!super::super::same_uuid("", "") && !super::super::same_uuid("ab", "ab"));
        assert_eq!(parse("\n"), Some(Vec::new()));
        assert_eq!(parse("{\"signatures\": []}"), Some(Vec::new()));
    }

    #[test]
    fn a_cut_answer_is_not_taken_for_an_empty_disk() {
        for end in 1..TEXT.len() {
            assert_eq!(parse(&TEXT[..end]), None, "{end}");
        }
        assert_eq!(parse("[]"), None);
        assert_eq!(parse("{\"signatures\": [{}]}"), None);
    }
}
