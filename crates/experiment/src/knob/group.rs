//! (pure) Knobs that belong together, for whoever looks one up among all.

use super::{KNOBS, Knob};

/// Some knobs under a heading.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// One word, to search by.
    pub name: &'static str,
    /// What they are about, one line.
    pub about: &'static str,
    /// The first of them in the table, where they stand together: up to the next group's first.
    first: &'static str,
    /// Others that stand elsewhere in it.
    others: &'static [&'static str],
}

const fn group(name: &'static str, first: &'static str, about: &'static str) -> Group {
    Group { name, about, first, others: &[] }
}

/// In the order of the table.
pub const GROUPS: &[Group] = &[
    Group {
        others: &["warm-up"],
        ..group("load", "access", "what is read and written, how much at once, how long")
    },
    group("checks", "verify", "data that is checked, and what survives a power cut"),
    group("names", "operation", "operations on names: create, stat, rename, remove"),
    group("replay", "warm-up", "a file server's load, played from a loadfile"),
    group("mail", "pool-files", "a mail server's small files"),
    group("network", "wire", "streams and datagrams between two ends"),
    group("database", "scale", "transactions of a database"),
    group("programs", "command", "any program, timed"),
    group("concat", "concat-with", "large files that are joined"),
    group("layout", "disks", "arrays and file systems, made anew on named disks"),
    group("machine", "read-ahead", "the block layer, the page cache, the processors"),
    Group {
        others: &["optmem-max"],
        ..group("sockets", "tcp-buffer-max", "what the kernel allows network sockets")
    },
    group("nfs", "nfs-version", "how a server's directory is mounted"),
    group("interface", "network-interface", "a network card's queues, offloads, interrupts"),
    group("label", "card", "what only a person can change; `run` stops and says what"),
    group("sim", "sim-capacity", "what is planted in the simulated server"),
];

/// All knobs in their groups, both in the order of their tables.
pub fn grouped() -> Vec<(&'static Group, Vec<&'static Knob>)> {
    let mut all: Vec<(&Group, Vec<&Knob>)> =
        GROUPS.iter().map(|group| (group, Vec::new())).collect();
    let mut place = 0;
    for knob in KNOBS.iter().copied() {
        place = GROUPS.iter().position(|group| group.first == knob.name).unwrap_or(place);
        let other = GROUPS.iter().position(|group| group.others.contains(&knob.name));
        all[other.unwrap_or(place)].1.push(knob);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_in_one_group_and_all_of_a_group_take_the_same_to_change() {
        let mut all: Vec<&str> =
            grouped().iter().flat_map(|(_, knobs)| knobs).map(|knob| knob.name).collect();
        all.sort_unstable();
        let mut known: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
        known.sort_unstable();
        assert_eq!(all, known);
        for (group, knobs) in grouped() {
            let scopes: Vec<_> = knobs.iter().map(|knob| knob.scope).collect();
            assert!(!scopes.is_empty(), "{} is empty", group.name);
            assert!(scopes.iter().all(|scope| *scope == scopes[0]), "{}: {scopes:?}", group.name);
            let line = format!("{}: {}", group.name, group.about);
            assert!(line.len() <= 66, "{line}");
        }
    }

    /// One that is added where it does not belong would be listed under the heading above it.
    #[test]
    fn knobs_are_in_the_group_that_a_reader_would_look_in() {
        for (name, group) in [
            ("block-size", "load"),
            ("warm-up", "load"),
            ("bios", "label"),
            ("loadfile", "replay"),
            ("mtu", "network"),
            ("optmem-max", "sockets"),
            ("nconnect", "nfs"),
            ("rss-queues", "interface"),
            ("swappiness", "machine"),
            ("raid", "layout"),
            ("slot", "label"),
            ("sim-bus", "sim"),
        ] {
            let all = grouped();
            let (of, _) =
                all.iter().find(|(_, knobs)| knobs.iter().any(|it| it.name == name)).unwrap();
            assert_eq!(of.name, group, "{name}");
        }
    }
}
