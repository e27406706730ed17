//! Settings of the machines at the other end of network trials.
//!
//! A run asks for them over a talk of their own that lasts as long as it does: between two trials
//! only what differs is changed there, and all is put back when the talk ends. [`serving`] is the
//! end that is asked.

use std::collections::BTreeMap;

use base::value;
use engines::fleet::PeerAddress;
use engines::fleet::setting::{InForce, SettingsCaller, Unset, listed};
use experiment::knob::{self, Settings};
use experiment::measurement::{Note, Outcome};
use host::sys::Error;

pub mod serving;

/// The machines that a run has asked for settings, by how the plan names them.
#[derive(Debug)]
pub struct Peers {
    /// The number of the campaign.
    campaign: u64,
    asking: BTreeMap<String, SettingsCaller>,
}

impl Peers {
    /// Nobody has been asked yet.
    pub fn new(campaign: u64) -> Peers {
        Peers { campaign, asking: BTreeMap::new() }
    }

    /// Has the other end of the next trial set what the trial asks of it, and put back what earlier
    /// ones asked. Gives what the record must say.
    ///
    /// # Errors
    /// When it is not exactly so: then the trial must not be measured.
    pub fn set(&mut self, settings: &Settings) -> Result<Vec<Note>, Outcome> {
        let Some(there) = settings.get(knob::PEER) else { return Ok(Vec::new()) };
        let asked = settings.asked_of_peer();
        let nothing = asked.iter().next().is_none();
        let asking = match self.asking.get_mut(there) {
            Some(asking) => asking,
            None if nothing => return Ok(Vec::new()),
            None => {
                let address = PeerAddress::parse(there).map_err(Outcome::Skipped)?;
                let begun = SettingsCaller::begin(&address, self.campaign).map_err(|error| {
                    let hint = error.hint.as_ref().map(|hint| format!(" ({hint})"));
                    Outcome::Failed(format!("{error}{}", hint.unwrap_or_default()))
                })?;
                self.asking.entry(there.to_owned()).or_insert(begun)
            }
        };
        match asking.set(&asked) {
            Ok(InForce { mut notes, values }) => {
                if !values.is_empty() {
                    let card = asked.get(knob::NETWORK_INTERFACE);
                    let card = card.map(|card| format!("; its interface is {card}"));
                    let text = format!(
                        "the other machine, {there}, had set and read back {}{}",
                        listed(&values),
                        card.unwrap_or_default()
                    );
                    notes.insert(0, Note::new("peer-settings", text));
                }
                Ok(notes)
            }
            Err(Unset::Refused(why)) => Err(Outcome::Skipped(why)),
            Err(Unset::Lost(error)) => {
                self.asking.remove(there);
                Err(Outcome::Failed(error.to_string()))
            }
        }
    }

    /// After a trial: whether what was set for it was in force to its end. Gives what the record
    /// must say.
    ///
    /// # Errors
    /// When that is not known, as the other end was lost: what was measured is no figure then.
    pub fn after(&mut self, settings: &Settings) -> Result<Vec<Note>, String> {
        let there = settings.get(knob::PEER).unwrap_or_default();
        let Some(asking) = self.asking.get_mut(there) else { return Ok(Vec::new()) };
        asking.look().map_err(|unset| {
            self.asking.remove(there);
            match unset {
                Unset::Refused(why) => why,
                Unset::Lost(error) => {
                    format!("{error}; whether its settings were in force to the end is not known")
                }
            }
        })
    }

    /// Has everything put back; says what is not, or is not known to be.
    pub fn restore(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for (there, mut asking) in std::mem::take(&mut self.asking) {
            match asking.back() {
                Ok(more) => {
                    left.extend(
                        more.into_iter().map(|it| format!("on the other machine, {there}: {it}")),
                    );
                }
                Err(Unset::Refused(why)) => left.push(why),
                Err(Unset::Lost(error)) => {
                    left.push(format!("{error}; it puts its settings back by itself"));
                }
            }
        }
        left
    }
}

/// What trials with these settings would have set on other machines, one a line, each once. What is
/// in force there is not known before.
pub fn lines<'a>(cells: impl Iterator<Item = &'a Settings>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for settings in cells {
        let Some(there) = settings.get(knob::PEER) else { continue };
        let asked = settings.asked_of_peer();
        let card = asked.get(knob::NETWORK_INTERFACE);
        for (name, value) in asked.iter().filter(|(name, _)| *name != knob::NETWORK_INTERFACE.name)
        {
            let is_of_card =
                knob::find(name).is_some_and(|it| matches!(it.apply, knob::Apply::Interface(_)));
            let on = card.filter(|_| is_of_card).map(|card| format!(" on its {card}"));
            let line = format!(
                "{name}={}: set{} by {there} on its own machine, and put back there; what is in \
                 force there now is not looked at",
                value::setting(value),
                on.unwrap_or_default()
            );
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Asks each machine that is to change settings for some of these trials, once for each set of
/// them, whether it does, and changes nothing.
///
/// # Errors
/// When it does not, with what to type there.
pub fn check<'a>(cells: impl Iterator<Item = &'a Settings>) -> Result<(), Error> {
    let mut asking: BTreeMap<&str, SettingsCaller> = BTreeMap::new();
    let mut known: Vec<(&str, Settings)> = Vec::new();
    for settings in cells {
        let Some(there) = settings.get(knob::PEER) else { continue };
        let one = (there, settings.asked_of_peer());
        if one.1.iter().next().is_none() || known.contains(&one) {
            continue;
        }
        let with = match asking.entry(there) {
            std::collections::btree_map::Entry::Occupied(with) => with.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let address =
                    PeerAddress::parse(there).map_err(|why| Error::new("cannot send", why))?;
                free.insert(SettingsCaller::begin(&address, 0)?)
            }
        };
        with.check(&one.1).map_err(|unset| match unset {
            Unset::Refused(why) => Error::new("cannot change settings at the other end", why),
            Unset::Lost(error) => error,
        })?;
        known.push(one);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    #[test]
    fn what_would_be_set_there_is_told_each_once_and_by_its_interface() {
        let cell = |more: &[(&str, &str)]| {
            settings("net", &[&[("peer", "10.0.0.2"), ("gro", "false")], more].concat())
        };
        let there = [("settings-at", "both"), ("peer-interface", "eth7")];
        let cells = [
            cell(&there),
            cell(&[&there[..], &[("tcp-buffer-max", "256KiB")]].concat()),
            cell(&[("settings-at", "here")]),
            settings("file", &[]),
        ];
        let lines = lines(cells.iter());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("gro=no: set on its eth7 by 10.0.0.2"), "{lines:?}");
        assert!(lines[1].starts_with("tcp-buffer-max=256 KiB: set by 10.0.0.2"), "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("is not looked at")), "{lines:?}");
    }
}
