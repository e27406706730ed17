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
}

impl Thing {
    /// A thing of which nothing is known yet.
    pub fn new(name: impl Into<String>) -> Thing {
        Thing { name: name.into(), facts: Vec::new() }
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
            Fact { name: name.to_owned(), value: value.into(), text }
        }));
    }

    /// What is known of it, for people.
    pub fn texts(&self) -> Vec<String> {
        self.facts.iter().map(|fact| fact.text.clone()).collect()
    }
}
