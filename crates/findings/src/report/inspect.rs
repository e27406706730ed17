//! (pure) A whole server for people and for programs: what `inspect` prints.
//!
//! The text is a tree of at most 100 columns, in the order in which a person asks; the JSON
//! document has everything, as `docs/reference/json.md` says. What is told of a part is the
//! inventory's, what its way can carry is `analysis::path`'s.

use serde::Serialize;

use crate::analysis::path::Paths;
use crate::warning::Warning;
use facts::bandwidth::Bandwidth;
use facts::inventory::server::Server;

mod machine;
mod network;
mod page;
mod pci;
mod storage;
#[cfg(test)]
mod broken;
#[cfg(test)]
mod tests;
mod verdicts;
mod zfs;

pub use page::cut;

/// What is known of a server.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Version of the program that looked.
    pub brickyard: String,
    /// What it is made of.
    pub server: Server,
    /// The ways that data takes, and the narrowest part of each.
    pub paths: Paths,
    /// What was measured; `None` when nothing was.
    pub bandwidth: Option<Bandwidth>,
    /// What holds it back or endangers it.
    pub warnings: Vec<Warning>,
}

impl Inspection {
    /// The tree for people.
    pub fn text(&self) -> String {
        let mut page = page::Page::default();
        let server = &self.server;
        machine::machine(&mut page, server);
        machine::processors(&mut page, &server.processors);
        machine::memory(&mut page, &server.memory, self.bandwidth.as_ref());
        pci::tree(&mut page, server);
        storage::disks(&mut page, server);
        storage::stacks(&mut page, server);
        zfs::zfs(&mut page, server);
        network::interfaces(&mut page, &server.interfaces);
        for part in &server.parts {
            page.title(&part.title);
            part.things.iter().for_each(|thing| page.item(1, &thing.name, &thing.texts()));
        }
        machine::settings(&mut page, &server.settings);
        verdicts::paths(&mut page, &self.paths);
        verdicts::warnings(&mut page, &self.warnings);
        verdicts::unread(&mut page, &server.unread);
        page.into_text()
    }

    /// The document for programs, indented, with a line end.
    ///
    /// # Errors
    /// Never in practice: everything in it can be serialized.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
