//! A machine of which people pasted what programs print: what was pasted, and what that leaves
//! unknown. `recording/pasted.rs` makes files of such texts, one of which says what is told here.

use serde::{Deserialize, Serialize};

use super::{Read, Reading, Subsystem};
use crate::sys::Host;
use facts::inventory::server::{Server, Thing, Unread};

/// The file of the tree that says so.
pub const PLACE: &str = "/.brickyard/pasted.json";

/// One text that was pasted: which command printed it, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PastedText {
    /// The command, or the kind of its output.
    pub command: String,
    /// In which file.
    pub file: String,
    /// Where it begins there, from 1.
    pub line: u64,
}

/// What was pasted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pasted {
    /// In order.
    pub sources: Vec<PastedText>,
    /// What could not be known.
    pub unread: Vec<Unread>,
    /// Whether anything tells of processors, and so of nodes.
    pub processors: bool,
}

/// The texts that an inventory was made from.
pub const TEXTS: Subsystem = Subsystem {
    name: "texts",
    about: "Outputs of commands that the inventory was made from, with `--root` of such a text",
    read: Read::Part {
        title: "Made from what was pasted",
        facts: &[
            ("file", "The file that it stands in"),
            ("line", "The line that it begins at, from 1"),
        ],
        identity: "",
        moving: &["file", "line"],
        private: &[],
        things,
    },
};

fn things(reading: &mut Reading<'_>) -> Vec<Thing> {
    let sources = pasted(reading.host()).map_or_else(Vec::new, |pasted| pasted.sources);
    let thing = |source: PastedText| {
        let mut thing = Thing::new(source.command);
        thing.add("file", Some(source.file), String::clone);
        thing.add("line", Some(source.line), |line| format!("line {line}"));
        thing
    };
    sources.into_iter().map(thing).collect()
}

/// What was pasted; `None` of a machine that was read itself.
pub fn pasted(host: &Host) -> Option<Pasted> {
    if host.is_live() {
        return None;
    }
    serde_json::from_str(&host.read(PLACE).ok()?).ok()
}

/// Takes out what readers conclude from files that are not there: no text told of them, which says
/// nothing of the machine.
pub fn own_up(host: &Host, server: &mut Server) {
    let Some(pasted) = pasted(host) else { return };
    server.unread = pasted.unread;
    if !pasted.processors {
        server.processors.nodes.clear();
        server.machine.numa_nodes = 0;
    }
}
