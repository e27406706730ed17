//! (pure) A part of the server that tells of itself: what is printed and kept of it is what was
//! read of it, so that a new one needs no type, no page and no schema elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All that was read of one subsystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Of which: the name of its entry in the table of subsystems.
    pub name: String,
    /// As a heading: `Fibre Channel ports`.
    pub title: String,
    /// One for each port, sensor, session.
    pub things: Vec<Thing>,
}

/// One thing of a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thing {
    /// The kernel's name.
    pub name: String,
    /// What it is known by when the kernel names it anew; empty where nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub identity: String,
    /// What is known of it; what is not is left out.
    pub facts: Vec<Fact>,
}

/// One fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fact {
    /// What, with its unit last; listed in its subsystem's entry.
    pub name: String,
    /// A number, a word, or whether.
    pub value: Value,
    /// The same for people: `8 Gb/s of 16 Gb/s`.
    pub text: String,
    /// Load, wear and reboots move it: that it differs is no sign of another part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
}

impl Thing {
    /// A thing of which nothing is known yet.
    pub fn new(name: impl Into<String>) -> Thing {
        Thing { name: name.into(), ..Thing::default() }
    }

    /// Adds what was read; nothing where it was not.
    pub fn add<T: Into<Value>>(
        &mut self,
        name: &str,
        value: Option<T>,
        text: impl Fn(&T) -> String,
    ) {
        self.facts.extend(value.map(|value| {
            let text = text(&value);
            Fact { name: name.to_owned(), value: value.into(), text, moves: false }
        }));
    }

    /// By which of its facts it is known, and which of them are moved by use.
    pub fn know(&mut self, identity: &str, moving: &[&str]) {
        for fact in &mut self.facts {
            fact.moves = moving.contains(&fact.name.as_str());
            if fact.name == identity {
                self.identity = fact.value.as_str().unwrap_or_default().to_owned();
            }
        }
    }

    /// What is known of it, for people.
    pub fn texts(&self) -> Vec<String> {
        self.facts.iter().map(|fact| fact.text.clone()).collect()
    }
}
