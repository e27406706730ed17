//! Takes out of a recording what says whose machine it is: serial numbers, hardware addresses,
//! network addresses, identifiers of file systems, the host's name.
//!
//! Each is replaced by a stand-in that is numbered, so that equal ones stay equal and nothing of
//! the original can be computed from it. What is no text is masked by its format or left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::walk::RecordedNode;
use crate::inventory::server;

mod firmware;

/// Files whose whole text is a serial number or its like.
const SERIALS: &[&str] = &[
    "board_asset_tag",
    "board_serial",
    "board_tracer",
    "chassis_asset_tag",
    "chassis_serial",
    "product_serial",
    "product_uuid",
    "serial",
    "subsysnqn",
];
/// Files whose whole text is a world wide name or another identifier in hexadecimal digits.
const IDENTIFIERS: &[&str] =
    &["enclosure_identifier", "host_sas_address", "node_name", "sas_address", "wwid"];
/// Files that are nothing but identifiers, and that nothing else is read from.
const LEFT_OUT: &[&str] = &["eui", "nguid", "uuid", "vpd_pg83"];
/// Members of what programs say in JSON.
const MEMBERS: &[&str] =
    &["serial_number", "serial", "logical_unit_id", "wwn", "eui64", "nguid", "uuid"];
/// What makers write where there is no serial number.
const NOTHING: &[&str] = &[
    "default string",
    "n/a",
    "no asset tag",
    "none",
    "not available",
    "not provided",
    "not specified",
    "system serial number",
    "to be filled by o.e.m.",
    "unknown",
    "unspecified",
];

static HARDWARE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b[0-9a-f]{2}(?::[0-9a-f]{2}){5,19}\b").ok());
static UUID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b").ok()
});
static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b\d{1,3}(?:\.\d{1,3}){3}\b").ok());
/// Options of mounts from servers that name people and machines.
static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(addr|clientaddr|mountaddr|username|user|domain|servern|ip)=([^,\s]+)").ok()
});
static SERVER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r" (//)?([\w.@\[\]:-]+?)(:/|/)(\S*) ").ok());

/// The stand-ins that were given so far.
#[derive(Default)]
pub struct Private {
    given: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Private {
    /// Replaces what is private in all that was kept.
    pub fn mask(&mut self, kept: BTreeMap<String, RecordedNode>) -> BTreeMap<String, RecordedNode> {
        let fields = kept.into_iter().filter_map(|(path, kept)| {
            let kept = match kept {
                RecordedNode::File(bytes) => RecordedNode::File(self.field(&path, bytes)?),
                other => other,
            };
            Some((path, kept))
        });
        // Serial numbers stand in other files too: all must be known first.
        let fields: Vec<(String, RecordedNode)> = fields.collect();
        let mut masked = BTreeMap::new();
        for (path, kept) in fields {
            let kept = match kept {
                RecordedNode::File(bytes) => RecordedNode::File(match String::from_utf8(bytes) {
                    Ok(text) => self.text(&path, &text).into_bytes(),
                    Err(error) => error.into_bytes(),
                }),
                RecordedNode::Link(target) => RecordedNode::Link(self.text("", &target)),
                RecordedNode::Folder => RecordedNode::Folder,
            };
            masked.insert(self.text("", &path), kept);
        }
        masked
    }

    /// A file that is private by its name or format; `None` when it is left out.
    fn field(&mut self, path: &str, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if LEFT_OUT.contains(&name) {
            return None;
        }
        let text = || String::from_utf8_lossy(&bytes).trim().to_owned();
        match name {
            _ if SERIALS.contains(&name) => Some(line(&self.serial(&text()))),
            _ if IDENTIFIERS.contains(&name) || server::is_private(name) => {
                Some(line(&self.identifier(&text())))
            }
            "hostname" if path == "/proc/sys/kernel/hostname" => Some(line("server")),
            "vpd_pg80" => Some(self.unit_serial(bytes)),
            "id" if path.contains("/ata_device/") => Some(line(&identify(&text()))),
            "DMI" if path.starts_with("/sys/firmware/") => Some(firmware::mask(bytes, self)),
            _ if path.starts_with("/.brickyard/") => self.said(&bytes),
            _ => Some(bytes),
        }
    }

    /// Page 0x80 of a SCSI disk: four bytes, then its serial number (SPC-4, 7.8.14).
    fn unit_serial(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if let Some(rest) = bytes.get_mut(4..) {
            let text = String::from_utf8_lossy(rest).into_owned();
            let masked = text.replacen(text.trim(), &self.serial(text.trim()), 1);
            match masked.len() == rest.len() {
                true => rest.copy_from_slice(masked.as_bytes()),
                false => rest.fill(b'0'),
            }
        }
        bytes
    }

    /// What a program said in JSON; `None` when it is no JSON: nothing is known of it then.
    fn said(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        self.members(&mut value);
        serde_json::to_vec(&value).ok()
    }

    fn members(&mut self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(members) => {
                for (name, value) in members {
                    match (MEMBERS.contains(&name.as_str()), &mut *value) {
                        (true, serde_json::Value::String(text)) => *text = self.serial(text),
                        (true, other) => *other = serde_json::Value::Null,
                        (false, other) => self.members(other),
                    }
                }
            }
            serde_json::Value::Array(values) => {
                values.iter_mut().for_each(|value| self.members(value));
            }
            _ => {}
        }
    }

    /// The stand-in of a serial number, of its length.
    pub fn serial(&mut self, text: &str) -> String {
        let plain = text.trim().to_lowercase();
        let mut letters = plain.chars().filter(|c| c.is_alphanumeric());
        let first = letters.next();
        let same = letters.all(|letter| Some(letter) == first);
        if plain.len() < 2 || same || NOTHING.contains(&plain.as_str()) {
            return text.to_owned();
        }
        let length = text.chars().count();
        self.stand_in("serial", text, |number| match length {
            ..8 => format!("{number:0length$}"),
            _ => format!("SERIAL{number:0width$}", width = length - 6),
        })
    }

    /// The stand-in of an identifier: what says how it is to be read and who gave it out stays, the
    /// rest of its digits becomes a number.
    fn identifier(&mut self, text: &str) -> String {
        if text.bytes().all(|byte| !byte.is_ascii_alphanumeric() || byte == b'0' || byte == b'x') {
            return text.to_owned();
        }
        let digits = |rest: &str| rest.len() >= 16 && rest.bytes().all(|b| b.is_ascii_hexdigit());
        for start in ["naa.", "eui.", "0x"] {
            let Some(rest) = text.strip_prefix(start).filter(|rest| digits(rest)) else { continue };
            let (maker, width) = (&rest[..7], rest.len() - 7);
            return self
                .stand_in("identifier", text, |number| format!("{start}{maker}{number:0width$x}"));
        }
        let kind = text.split_once('.').map_or("", |(kind, _)| kind);
        self.stand_in("identifier", text, |number| format!("{kind}.STANDIN{number:06}"))
    }

    fn stand_in(
        &mut self,
        kind: &'static str,
        text: &str,
        make: impl Fn(usize) -> String,
    ) -> String {
        let key = text.to_lowercase();
        if let Some(given) = self.given.get(&key) {
            return given.clone();
        }
        let count = self.counts.entry(kind).or_insert(0);
        *count += 1;
        let made = make(*count);
        // A stand-in that is met again, as when a recording is recorded, stays.
        self.given.insert(made.to_lowercase(), made.clone());
        self.given.insert(key, made.clone());
        made
    }

    /// What looks private in any text, and serial numbers that are known from elsewhere.
    fn text(&mut self, path: &str, text: &str) -> String {
        let mut text = self.each(&HARDWARE, text, |all, found| {
            let mut bytes = found.split(':').map(|byte| byte.chars().all(|c| c == '0'));
            let empty = bytes.all(|zero| zero) || found.chars().all(|c| "fF:".contains(c));
            let groups = found.split(':').count();
            if empty {
                return found.to_owned();
            }
            all.stand_in("hardware address", found, |number| {
                let low = [number >> 16 & 255, number >> 8 & 255, number & 255];
                let zeros = vec!["00"; groups.saturating_sub(4)].join(":");
                format!("02:{zeros}:{:02x}:{:02x}:{:02x}", low[0], low[1], low[2])
            })
        });
        text = self.each(&UUID, &text, |all, found| {
            all.stand_in("uuid", found, |number| format!("00000000-0000-4000-8000-{number:012x}"))
        });
        if path == "/proc/self/mountinfo" || path == "/proc/cmdline" {
            text = self.mounts(&text);
        }
        if path == "/proc/cmdline" || path.starts_with("/proc/net/bonding/") {
            text = self.each(&ADDRESS, &text, |all, found| {
                all.stand_in("address", found, |number| format!("192.0.2.{}", number % 256))
            });
        }
        if path == "/proc/cpuinfo" {
            let lines = text.lines().filter(|line| !line.starts_with("Serial"));
            text = lines.map(|line| format!("{line}\n")).collect();
        }
        self.words(&text)
    }

    /// Names of people and of servers in options and sources of mounts.
    fn mounts(&mut self, text: &str) -> String {
        let text = match OPTION.as_ref() {
            Some(option) => option.replace_all(text, "$1=private").into_owned(),
            None => text.to_owned(),
        };
        let Some(server) = SERVER.as_ref() else { return text };
        let lines = text.lines().map(|line| {
            let Some((before, after)) = line.split_once(" - ") else { return line.to_owned() };
            let named = |found: &Captures| match (found.get(1), &found[3]) {
                (None, "/") => found[0].to_owned(),
                (slashes, end) => {
                    format!(" {}server{end}{} ", slashes.map_or("", |_| "//"), &found[4])
                }
            };
            format!("{before} - {}", server.replace(after, named))
        });
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Words that are known to be serial numbers, wherever they stand.
    fn words(&self, text: &str) -> String {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let mut said = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.find(|c| !inside(c)).unwrap_or(rest.len());
            let gap = rest[word..].find(inside).unwrap_or(rest.len() - word);
            let (word, after) = rest.split_at(word);
            let known = Some(word).filter(|word| word.len() >= 6).and_then(|word| {
                let digits = word.bytes().filter(u8::is_ascii_digit).count();
                // A number may be a size that happens to be the same.
                let clear = digits > 0 && (digits < word.len() || word.len() >= 8);
                self.given.get(&word.to_lowercase()).filter(|_| clear)
            });
            said.push_str(known.map_or(word, String::as_str));
            said.push_str(&after[..gap]);
            rest = &after[gap..];
        }
        said
    }

    fn each(
        &mut self,
        what: &Option<Regex>,
        text: &str,
        make: impl Fn(&mut Private, &str) -> String,
    ) -> String {
        match what {
            Some(regex) => {
                regex.replace_all(text, |found: &Captures| make(self, &found[0])).into_owned()
            }
            None => text.to_owned(),
        }
    }
}

fn line(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

/// The answer of a disk to IDENTIFY DEVICE as the kernel prints it, words of four digits: without
/// the serial number (words 10 to 19) and the world wide name (108 to 111; ACS-4, 7.12.7).
fn identify(text: &str) -> String {
    let words = text.split_ascii_whitespace().enumerate().map(|(index, word)| match index {
        10..20 | 108..112 => "0000",
        _ => word,
    });
    let words: Vec<&str> = words.collect();
    words.chunks(8).map(|line| line.join(" ")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
