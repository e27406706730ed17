//! What people paste of a machine: outputs of `lspci`, `lsblk`, `mdadm --detail` and their like,
//! one after the other in one text or in several.
//!
//! Each is turned into files of the tree that the inventory reads, so that warnings and ceilings
//! are those of a machine that is read itself. What no text tells has no file there. A new kind is
//! a file beside and a line in [`KINDS`]. Nothing is read or written here.

use super::text::{Node, Tree};
use draft::Draft;
use piece::Piece;

mod disk;
mod dmidecode;
mod draft;
mod ethtool;
mod hwloc;
mod ip;
mod layout;
mod lines;
mod lsblk;
mod lscpu;
mod lspci;
mod mdadm;
mod mdstat;
mod nvme;
mod piece;
mod proc;
mod smartctl;
mod source;
mod xml;
mod zpool;

/// One kind of text that people paste: what it is called, how it is known, what reads it.
pub struct PastedKind {
    /// As people call it.
    pub name: &'static str,
    /// Programs whose name after a prompt begins it.
    pub programs: &'static [&'static str],
    /// Whether its output begins with this line; the line after it is given too.
    opens: fn(&str, &str) -> bool,
    /// Whether a JSON document is its output.
    json: fn(&serde_json::Value) -> bool,
    /// Whether a line that would begin it also goes on with it.
    goes_on: bool,
    /// What of a machine it tells.
    tells: &'static [Topic],
    /// Reads it.
    read: fn(&Piece<'_>, &mut Draft) -> Result<(), String>,
}

/// A part of a machine that some kind tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Processors, caches, nodes.
    Processors,
    /// Size and modules of the memory.
    Memory,
    /// PCI functions and their links.
    Pci,
    /// Whole disks.
    Disks,
    /// What disks say of themselves.
    Health,
    /// Arrays.
    Arrays,
    /// Network interfaces.
    Interfaces,
    /// Board and firmware.
    Firmware,
}

/// What is known of each kind, in the order in which a text is held against them.
pub const KINDS: &[&PastedKind] = &[
    &lspci::LSPCI,
    &lsblk::LSBLK,
    &smartctl::SMARTCTL,
    &nvme::LIST,
    &nvme::SMART_LOG,
    &mdadm::MDADM,
    &mdstat::MDSTAT,
    &zpool::STATUS,
    &zpool::LIST,
    &zpool::GET,
    &lscpu::LSCPU,
    &dmidecode::DMIDECODE,
    &ethtool::ETHTOOL,
    &ip::IP,
    &hwloc::HWLOC,
    &proc::MEMINFO,
    &proc::CPUINFO,
];

fn no_json(_: &serde_json::Value) -> bool {
    false
}

/// A text that somebody named, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// A file's name, for messages.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// Whether there is anything in a text that is read here.
pub fn knows(text: &str) -> bool {
    !piece::pieces(&lines::plain(text)).is_empty()
}

/// What of it that is, by name, each once.
pub fn kinds_of(text: &str) -> Vec<&'static str> {
    let plain = lines::plain(text);
    let mut names: Vec<&str> = Vec::new();
    for piece in piece::pieces(&plain) {
        if !names.contains(&piece.kind.name) {
            names.push(piece.kind.name);
        }
    }
    names
}

/// The tree of files that these texts tell of one machine.
///
/// # Errors
/// With the text, the line and the reason: what is cut or changed, and what contradicts itself.
pub fn tree(texts: &[Named<'_>]) -> Result<Tree, String> {
    let mut draft = Draft::default();
    let mut sources = Vec::new();
    for Named { name, text } in texts {
        let found = add(name, text, &mut draft, &mut sources)?;
        if !found {
            return Err(format!("{name}: {}", why_unknown(text)));
        }
    }
    into_tree(draft, &sources)
}

/// The same of what a program gathered, beside copies of files of a machine at these places: one
/// text that cannot be read is left out, and said to be.
///
/// # Errors
/// When nothing of it can be read.
pub fn gathered(texts: &[Named<'_>], copied: &[&'static str]) -> Result<Tree, String> {
    let mut draft = Draft { copied: copied.to_vec(), ..Draft::default() };
    let mut sources = Vec::new();
    for Named { name, text } in texts {
        let mut more = draft.clone();
        match add(name, text, &mut more, &mut sources) {
            Ok(_) => draft = more,
            Err(why) => draft.miss(&format!("what {name} tells"), name, &why, ""),
        }
    }
    if sources.is_empty() {
        return Err("there is no output of a command in it that is read".to_owned());
    }
    into_tree(draft, &sources)
}

/// Whether there was anything.
fn add(
    name: &str,
    text: &str,
    draft: &mut Draft,
    sources: &mut Vec<source::PastedSource>,
) -> Result<bool, String> {
    let plain = lines::plain(text);
    let pieces = piece::pieces(&plain);
    for piece in &pieces {
        let at = || format!("{name}, line {}: {}", piece.line, piece.title());
        (piece.kind.read)(piece, draft).map_err(|why| format!("{}: {why}", at()))?;
        sources.push(source::PastedSource::new(name, piece));
    }
    Ok(!pieces.is_empty())
}

fn into_tree(draft: Draft, sources: &[source::PastedSource]) -> Result<Tree, String> {
    let mut tree = Tree::default();
    for (path, node) in layout::nodes(draft, sources)? {
        tree.insert(&path, node)?;
    }
    Ok(tree)
}

/// Why a text is refused in which nothing is found.
pub fn why_unknown(text: &str) -> String {
    let words =
        ["\"blockdevices\"", "\"lscpu\"", "\"smartctl\"", "\"ifname\"", "\"critical_warning\""];
    let json = text.lines().any(|line| line.starts_with(['{', '[']));
    match json && words.iter().any(|word| text.contains(word)) {
        true => "a JSON document in it does not end, or is damaged: was it cut short?".to_owned(),
        false => unknown(),
    }
}

/// The same where nothing of it is known either.
pub fn unknown() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    format!(
        "it is no recording, and nothing that is read of what is pasted of a machine: {}",
        names.join(", ")
    )
}

fn file(text: impl Into<Vec<u8>>) -> Node {
    Node::File(text.into())
}

#[cfg(test)]
mod tests;
