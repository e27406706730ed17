//! (pure) Which settings a network trial asks of this machine and which of the one at its other
//! end, how the latter are said over the wire, and how what was said is read.
//!
//! Only knobs that either end of a network has are set there ([`Apply::is_of_either_end`]); files,
//! their devices and the load's control group are this machine's. What comes over the wire is a
//! name of the table and a text that the knob's own domain reads, so that no path is ever taken
//! from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    Apply, KNOBS, Knob, NETWORK_INTERFACE, PEER_INTERFACE, SETTINGS_AT, Settings, find, nearest,
};
use base::value::Value;

/// Settings as they are said over the wire: the names of knobs, and what one would type for each.
pub type Said = BTreeMap<String, String>;

/// No more of them are read: the table has 20 that could be said.
const SAID_MAX: usize = 32;
/// A longer text is none that any of them takes, bytes: a list of CPUs is the longest.
const TEXT_BYTES_MAX: usize = 1024;
/// The longest name of a network interface, bytes (IFNAMSIZ less its end, linux/if.h).
const INTERFACE_BYTES_MAX: usize = 15;

impl Settings {
    /// Settings that belong to no engine: what one machine is asked for.
    fn of_machine(values: impl Iterator<Item = (&'static Knob, Value)>) -> Settings {
        let values = values.map(|(knob, value)| (knob.name, value)).collect();
        Settings { engine: "".into(), values: Arc::new(values) }
    }

    /// Whether `knob`, when it is a setting of the machine, is one of this machine in such a trial.
    pub fn is_set_here(&self, knob: &Knob) -> bool {
        !knob.apply.is_of_either_end() || self.get(SETTINGS_AT) != "peer"
    }

    /// Whether the trial has settings of the other end's machine changed.
    pub fn is_set_at_peer(&self) -> bool {
        matches!(self.get(SETTINGS_AT), "peer" | "both")
    }

    /// The knobs that either end has and that are not left as they are, wherever they are set.
    pub fn of_either_end(&self) -> impl Iterator<Item = (&'static Knob, &Value)> {
        let all = KNOBS.iter().copied().filter(|knob| knob.apply.is_of_either_end());
        let held = all.filter_map(|knob| Some((knob, self.named(knob.name)?)));
        held.filter(|(_, value)| !value.is_as_is())
    }

    /// What the other end is asked to set, its own interface as its `network-interface`; nothing
    /// where all is set on this machine.
    pub fn asked_of_peer(&self) -> Settings {
        let asked: Vec<(&Knob, Value)> = match self.is_set_at_peer() {
            true => self.of_either_end().map(|(knob, value)| (knob, value.clone())).collect(),
            false => Vec::new(),
        };
        let of_card = asked.iter().any(|(knob, _)| matches!(knob.apply, Apply::Interface(_)));
        let card = self.named(PEER_INTERFACE.name).filter(|card| of_card && !card.is_as_is());
        let card = card.zip(find(NETWORK_INTERFACE.name)).map(|(card, knob)| (knob, card.clone()));
        Settings::of_machine(asked.into_iter().chain(card))
    }
}

/// What was asked, as it is said.
pub fn said(asked: &Settings) -> Said {
    asked.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// Reads what somebody else asks of this machine.
///
/// # Errors
/// In a sentence: what is unknown, no setting of either end, or outside of its knob's domain.
pub fn read(said: &Said) -> Result<Settings, String> {
    if said.len() > SAID_MAX {
        return Err(format!("{} settings are asked for, and {SAID_MAX} are the most", said.len()));
    }
    let values: Result<Vec<(&Knob, Value)>, String> =
        said.iter().map(|(name, text)| one(name, text)).collect();
    let mut values = values?;
    values.retain(|(_, value)| !value.is_as_is());
    Ok(Settings::of_machine(values.into_iter()))
}

fn one(name: &str, text: &str) -> Result<(&'static Knob, Value), String> {
    let Some(knob) = find(name) else {
        // A stranger's words are printed.
        let told: String = name.chars().filter(char::is_ascii_graphic).take(40).collect();
        let all = KNOBS.iter().filter(|knob| knob.apply.is_of_either_end());
        let near = nearest(&told, all.map(|knob| knob.name));
        let near = near.map(|near| format!("; `{near}` is one")).unwrap_or_default();
        return Err(format!("there is no knob `{told}`{near}"));
    };
    let names_a_card = knob.name == NETWORK_INTERFACE.name;
    if !names_a_card && !knob.apply.is_of_either_end() {
        return Err(format!("`{}` is no setting that either end of a network has", knob.name));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("{}: {} bytes are no value of it", knob.name, text.len()));
    }
    let value = knob.domain.parse(text).map_err(|why| format!("{}: {why}", knob.name))?;
    match names_a_card.then(|| check_interface(text)) {
        Some(Err(why)) => Err(why),
        _ => Ok((knob, value)),
    }
}

/// Refuses what is the name of no network interface on any machine.
///
/// # Errors
/// With what a name is like.
pub fn check_interface(name: &str) -> Result<(), String> {
    let is_one = name.len() <= INTERFACE_BYTES_MAX
        && !name.is_empty()
        && !matches!(name, "." | "..")
        && !name.contains(['/', ':']);
    match is_one {
        true => Ok(()),
        false => {
            let told: String = name.chars().take(40).collect();
            Err(format!("`{told}` is no name of a network interface, such as eth0"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::knob::testing::settings;

    fn map(all: &[(&str, &str)]) -> Said {
        all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn asked(more: &[(&str, &str)]) -> Said {
        let all = [&[("peer", "b"), ("tcp-buffer-max", "1MiB"), ("gro", "false")], more].concat();
        said(&settings("net", &all).asked_of_peer())
    }

    /// What is written here by mistake would be measured as the effect of the peer's.
    #[test]
    fn each_end_is_asked_for_what_the_trial_wants_of_it_and_for_nothing_else() {
        assert_eq!(asked(&[]), map(&[]));
        assert_eq!(asked(&[("peer-interface", "eth7")]), map(&[]), "by itself it changes nothing");
        let both =
            map(&[("gro", "false"), ("network-interface", "eth7"), ("tcp-buffer-max", "1MiB")]);
        for at in ["peer", "both"] {
            let more =
                [("settings-at", at), ("peer-interface", "eth7"), ("network-interface", "e")];
            assert_eq!(asked(&more), both, "{at}");
        }
        let here = |at: &str, name: &str| {
            let knob = find(name).expect("in the table");
            settings("net-file", &[("settings-at", at)]).is_set_here(knob)
        };
        for (at, name, expected) in [
            ("here", "tcp-buffer-max", true),
            ("both", "tcp-buffer-max", true),
            ("peer", "tcp-buffer-max", false),
            ("peer", "interface-mtu", false),
            ("peer", "cpu-governor", false),
            // Files are this machine's.
            ("peer", "read-ahead", true),
            ("peer", "drop-caches", true),
        ] {
            assert_eq!(here(at, name), expected, "{at} {name}");
        }
        let of_files = settings("file", &[("tcp-buffer-max", "1MiB")]);
        assert!(of_files.is_set_here(find("tcp-buffer-max").expect("one")));
        assert!(!of_files.is_set_at_peer() && of_files.asked_of_peer().iter().count() == 0);
    }

    #[test]
    fn what_cannot_be_asked_of_another_machine_is_refused_by_name() {
        let many: Said = (0..40).map(|n| (format!("k{n}"), String::new())).collect();
        assert!(read(&many).expect_err("too many").contains("32 are the most"));
        let long = "1,".repeat(600) + "1";
        for (name, text, word) in [
            ("tcp-bufer-max", "1MiB", "`tcp-buffer-max` is one"),
            ("\u{1b}[2Jevil", "1", "no knob `[2Jevil`"),
            ("read-ahead", "1MiB", "`read-ahead` is no setting that either end"),
            ("memory-limit", "1GiB", "`memory-limit` is no setting"),
            ("command", "reboot", "`command` is no setting"),
            ("peer", "c", "`peer` is no setting"),
            ("settings-at", "both", "`settings-at` is no setting"),
            ("interface-mtu", "1", "interface-mtu: "),
            ("interface-mtu", "9000B", "interface-mtu: "),
            ("tcp-congestion", "../../x y", "tcp-congestion: "),
            ("qdisc", "htb", "qdisc: "),
            ("rps", &long, "rps: 1201 bytes"),
            ("network-interface", "../eth0", "no name of a network interface"),
            ("network-interface", "..", "no name of a network interface"),
            ("network-interface", "a-name-of-sixteen", "no name of a network interface"),
        ] {
            let why = read(&map(&[(name, text)])).expect_err(name);
            assert!(why.contains(word) && !why.contains('\u{1b}'), "{name}={text}: {why}");
        }
    }

    /// Values as one would type them: of each knob whatever its domain takes comes back the same.
    #[test]
    fn what_is_asked_is_read_as_it_was_said() {
        for knob in KNOBS.iter().filter(|knob| knob.apply.is_of_either_end()) {
            let typed = ["4096", "1MiB", "123457B", "66us", "1ms", "true", "cubic", "fq", "0-3,8"];
            let typed = typed.iter().chain(&["performance", "1500"]);
            let values: Vec<Value> = typed.filter_map(|it| knob.domain.parse(it).ok()).collect();
            assert!(!values.is_empty(), "{}", knob.name);
            for value in values {
                let one = Settings::of_machine([(*knob, value.clone())].into_iter());
                let back = read(&said(&one));
                assert_eq!(back.as_ref(), Ok(&one), "{}={value}", knob.name);
            }
            // What is left as it is, is not asked for.
            let none = read(&map(&[(knob.name, "as-is")]));
            assert_eq!(none, Ok(Settings::of_machine(std::iter::empty())), "{}", knob.name);
        }
    }

    proptest! {
        #[test]
        fn nothing_said_panics_and_what_is_read_is_of_the_table(
            name in "[a-z-]{0,20}|interface-mtu|rps|network-interface|tcp-buffer-max",
            text in ".{0,40}",
        ) {
            if let Ok(settings) = read(&map(&[(&name, &text)])) {
                for (name, value) in settings.iter() {
                    let knob = find(name).expect("of the table");
                    prop_assert_eq!(knob.domain.parse(&value.to_string()), Ok(value.clone()));
                }
            }
        }
    }
}
