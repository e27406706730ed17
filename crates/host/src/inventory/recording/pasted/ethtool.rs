//! `ethtool`, alone and with `-i`, `-g`, `-c`, `-k`: what a network interface answers.
//!
//! Of `-i` and `-S` the text does not say which interface was asked: the prompt before it does. The
//! counts of `-S` are of a time, and no part of what a machine is made of.

use serde_json::{Value, json};

use super::draft::{Draft, put};
use super::piece::Piece;
use super::{PastedKind, Topic, lines, no_json};
use crate::inventory::server::address::is_address;

/// `ethtool` and its options.
pub const ETHTOOL: PastedKind = PastedKind {
    name: "ethtool",
    programs: &["ethtool"],
    opens: |line, next| part(line, next).is_some(),
    json: no_json,
    goes_on: false,
    tells: &[Topic::Interfaces],
    read,
};

/// Which of ethtool's answers a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EthtoolSection {
    Settings,
    Driver,
    Rings,
    Coalescing,
    Features,
    Counts,
}

const HEADINGS: &[(&str, EthtoolSection)] = &[
    ("Settings for ", EthtoolSection::Settings),
    ("Ring parameters for ", EthtoolSection::Rings),
    ("Coalesce parameters for ", EthtoolSection::Coalescing),
    ("Features for ", EthtoolSection::Features),
    ("Offload parameters for ", EthtoolSection::Features),
];

fn part(line: &str, next: &str) -> Option<EthtoolSection> {
    let named = HEADINGS.iter().find(|(words, _)| {
        let rest = line.strip_prefix(words).and_then(|rest| rest.trim_end().strip_suffix(':'));
        rest.is_some_and(|name| !name.is_empty() && !name.contains(' '))
    });
    match named {
        Some((_, part)) => Some(*part),
        None if line.trim_end() == "NIC statistics:" => Some(EthtoolSection::Counts),
        None if line.starts_with("driver: ") && next.starts_with("version:") => {
            Some(EthtoolSection::Driver)
        }
        None => None,
    }
}

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut lines = piece.text.lines();
    let heading = lines.next().unwrap_or("");
    let part = part(heading, lines.next().unwrap_or("")).ok_or("its first line is cut")?;
    let told = heading.trim_end().strip_suffix(':').and_then(|it| it.rsplit(' ').next());
    let name = match part {
        EthtoolSection::Driver | EthtoolSection::Counts => piece.named(),
        _ => told,
    };
    if part == EthtoolSection::Counts {
        draft.miss(
            "errors that network cards count",
            "ethtool -S",
            "an inventory has no counts, which are of a time",
            "brickyard run records them beside each trial",
        );
        return Ok(());
    }
    let Some(name) = name else {
        draft.miss(
            "which interface has the driver that ethtool -i tells",
            "ethtool -i",
            "its text does not say which interface was asked",
            "leave the prompt with the command before it",
        );
        return Ok(());
    };
    let name = lines::name(name)?.to_owned();
    let pairs: Vec<(&str, &str)> =
        piece.text.lines().filter_map(|line| lines::pair(line, ":")).collect();
    let done = match part {
        EthtoolSection::Settings => settings(piece.text, &pairs, &name, draft),
        EthtoolSection::Driver => driver(&pairs, &name, draft),
        EthtoolSection::Rings => rings(piece.text, &name, draft),
        EthtoolSection::Coalescing => coalescing(&pairs, &name, draft),
        EthtoolSection::Features => features(&pairs, &name, draft),
        EthtoolSection::Counts => Ok(()),
    };
    done.map_err(|why| format!("of {name} {why}"))
}

/// Speed, duplex and modes. Of a line that may have lost digits nothing is taken.
fn settings(
    text: &str,
    pairs: &[(&str, &str)],
    name: &str,
    draft: &mut Draft,
) -> Result<(), String> {
    let value = |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let interface = draft.interface(name)?;
    if let Some(speed) = value("Speed") {
        let megabits = speed.strip_suffix("Mb/s").and_then(|number| number.parse::<u32>().ok());
        // The end of the word may be cut off; a port without a cable says `Unknown!`.
        if let Some(megabits) = megabits {
            interface.files.tell("speed", megabits.to_string())?;
        }
    }
    match value("Duplex") {
        Some("Full") => interface.files.tell("duplex", "full")?,
        Some("Half") => interface.files.tell("duplex", "half")?,
        _ => {}
    }
    match value("Link detected") {
        Some("yes") => interface.files.suppose("operstate", "up"),
        Some("no") => interface.files.suppose("operstate", "down"),
        _ => {}
    }
    // Ports are of cards: software has none.
    let ports = value("Supported ports").map_or("", |ports| ports.trim_matches(['[', ']', ' ']));
    if !ports.is_empty() && ports != "Not reported" {
        interface.hardware = true;
        interface.files.suppose("type", "1");
    }
    let modes: Vec<u32> = modes(text).into_iter().filter_map(mode).collect();
    if !modes.is_empty() {
        interface.answer.insert("modes".to_owned(), json!(modes));
    }
    Ok(())
}

/// Speeds of the link modes that the card supports: `10000baseT/Full`, several a line.
fn modes(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let rest = match lines::pair(line, ":") {
            Some(("Supported link modes", value)) => {
                inside = true;
                value
            }
            Some(_) => {
                inside = false;
                continue;
            }
            None => line,
        };
        if inside {
            let mode = |word: &str| {
                let (speed, rest) = word.split_once("base")?;
                rest.ends_with("/Full").then(|| speed.parse::<u32>().ok())?
            };
            found.extend(rest.split_whitespace().filter_map(mode));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A mode of that speed, 10^6 bit/s, by its number in linux/ethtool.h.
fn mode(megabits: u32) -> Option<u32> {
    let known = [
        (10, 1),
        (100, 3),
        (1000, 5),
        (2500, 47),
        (5000, 48),
        (10_000, 12),
        (20_000, 22),
        (25_000, 31),
        (40_000, 24),
        (50_000, 34),
        (56_000, 28),
        (100_000, 36),
        (200_000, 62),
        (400_000, 69),
        (800_000, 93),
    ];
    known.iter().find(|(speed, _)| *speed == megabits).map(|(_, mode)| *mode)
}

fn driver(pairs: &[(&str, &str)], name: &str, draft: &mut Draft) -> Result<(), String> {
    let value = |key: &str| {
        let found = pairs.iter().find(|(name, value)| *name == key && !value.is_empty());
        found.map(|(_, value)| *value)
    };
    let interface = draft.interface(name)?;
    for (key, answer) in
        [("driver", "driver"), ("version", "version"), ("firmware-version", "firmware")]
    {
        if let Some(value) = value(key) {
            interface.answer.insert(answer.to_owned(), Value::from(value));
        }
    }
    match value("bus-info").filter(|bus| is_address(bus)) {
        Some(address) => {
            interface.hardware = true;
            interface.files.suppose("type", "1");
            put(&mut interface.function, address.to_owned(), "the PCI function")
        }
        None => Ok(()),
    }
}

/// `Pre-set maximums:` and `Current hardware settings:`, each with `RX: 4096` and `TX: 4096`.
fn rings(text: &str, name: &str, draft: &mut Draft) -> Result<(), String> {
    let mut found = [[None::<u32>; 2]; 2];
    let mut current = None;
    for line in text.split_inclusive('\n') {
        let whole = line.ends_with('\n');
        match lines::pair(line, ":") {
            Some(("Pre-set maximums", _)) => current = Some(0),
            Some(("Current hardware settings", _)) => current = Some(1),
            Some((key @ ("RX" | "TX"), value)) if whole => {
                if let Some(current) = current {
                    found[current][usize::from(key == "TX")] = value.parse().ok();
                }
            }
            _ => {}
        }
    }
    let [[rx_max, tx_max], [rx, tx]] = found;
    if let (Some(rx), Some(rx_max), Some(tx), Some(tx_max)) = (rx, rx_max, tx, tx_max) {
        if rx > rx_max || tx > tx_max {
            return Err("its rings are longer than they can be".to_owned());
        }
        let answer = &mut draft.interface(name)?.answer;
        answer.insert("rings".to_owned(), json!([rx, rx_max, tx, tx_max]));
    }
    Ok(())
}

fn coalescing(pairs: &[(&str, &str)], name: &str, draft: &mut Draft) -> Result<(), String> {
    let plain = |key: &str| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    // As a recording has it: 0 is also said of what is not supported.
    let told = pairs.iter().filter(|(key, _)| plain(key) && key.contains('-'));
    let told = told.filter_map(|(key, value)| Some((*key, value.parse::<u32>().ok()?)));
    let told: Vec<(&str, u32)> = told.filter(|(_, count)| *count > 0).collect();
    draft.interface(name)?.answer.insert("coalescing".to_owned(), json!(told));
    Ok(())
}

/// `tcp-segmentation-offload: on`, `tx-tcp-segmentation: on [fixed]`.
fn features(pairs: &[(&str, &str)], name: &str, draft: &mut Draft) -> Result<(), String> {
    let on = pairs.iter().filter(|(_, value)| *value == "on" || *value == "on [fixed]");
    let names: Vec<&str> = on.map(|(key, _)| *key).collect();
    draft.interface(name)?.answer.insert("features".to_owned(), json!(names));
    Ok(())
}
