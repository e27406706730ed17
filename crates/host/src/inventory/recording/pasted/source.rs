//! What an inventory of pasted texts was made from, and what could not be known, as a file of the
//! tree.

use std::collections::BTreeSet;

use super::{KINDS, Piece, Topic};
use crate::inventory::server::pasted::{Pasted, PastedText};
use facts::inventory::server::{Unread, unread};

/// One pasted text, and which parts of a machine it tells of.
pub struct PastedSource {
    source: PastedText,
    tells: &'static [Topic],
}

impl PastedSource {
    /// Of a piece of a text.
    pub fn new(file: &str, piece: &Piece<'_>) -> PastedSource {
        let file = file.to_owned();
        let source = PastedText { command: piece.title(), file, line: piece.line as u64 };
        PastedSource { source, tells: piece.kind.tells }
    }
}

/// What is written down of these; `copied` are places of the tree whose files were there to copy.
pub fn pasted(told: &[PastedSource], mut misses: Vec<Unread>, copied: &[&str]) -> Pasted {
    let topics: BTreeSet<Topic> = told.iter().flat_map(|one| one.tells.iter().copied()).collect();
    misses.extend(TOPICS.iter().filter(|(topic, ..)| !topics.contains(topic)).map(miss));
    let never = NEVER.iter().filter(|(_, place, _)| !copied.contains(place));
    for (what, _, hint) in never {
        misses.push(Unread {
            what: (*what).to_owned(),
            place: "pasted texts".to_owned(),
            why: "nothing that is read of them tells it".to_owned(),
            hint: (*hint).to_owned(),
        });
    }
    misses.sort();
    misses.dedup();
    let processors = topics.contains(&Topic::Processors);
    let sources = told.iter().map(|one| one.source.clone()).collect();
    Pasted { sources, unread: misses, processors }
}

/// What no kind tells, and where a copy of it would be.
const NEVER: &[(&str, &str, &str)] = &[
    ("mounted file systems", MOUNTS, "brickyard inspect --record FILE, on that machine"),
    ("settings of the kernel", SETTINGS, "brickyard inspect --record FILE, on that machine"),
];

/// The copy of what is mounted.
pub const MOUNTS: &str = "proc/self/mountinfo";
/// The copy of the kernel's settings.
pub const SETTINGS: &str = "proc/sys";

/// What is not known without a text that tells it, and which does.
const TOPICS: &[(Topic, &str, &str)] = &[
    (Topic::Processors, "the processors", "lscpu"),
    (Topic::Memory, "the memory", "dmidecode and /proc/meminfo"),
    (Topic::Pci, "the PCI functions and their links", "lspci -vvv, as root"),
    (Topic::Disks, unread::DISKS, "lsblk -J -b -O"),
    (Topic::Health, "the health of the disks", "smartctl -a of each disk"),
    (Topic::Arrays, "arrays", "mdadm --detail of each, or /proc/mdstat"),
    (Topic::Interfaces, unread::INTERFACES, "ip -j -d link, and ethtool of each"),
    (Topic::Firmware, "the board and the firmware", "dmidecode, as root"),
];

fn miss((topic, what, source): &(Topic, &str, &str)) -> Unread {
    let known = KINDS.iter().filter(|kind| kind.tells.contains(topic));
    let names: Vec<&str> = known.map(|kind| kind.name).collect();
    Unread {
        what: (*what).to_owned(),
        place: names.join(", "),
        why: "none of the texts tells of them".to_owned(),
        hint: format!("add what this prints: {source}"),
    }
}
