//! Fixtures whose files hold what no kernel writes. Nothing may panic, hang, or become a number.

#![expect(clippy::disallowed_methods, reason = "breaks fixtures")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use base::stats::testing::Random;

const FIXTURES: [&str; 6] =
    ["t610-x4", "two-socket-nvme", "sas-expander", "laptop", "qemu-nvme", "qemu-arm"];
/// What a file may hold in place of what it held.
const WORDS: [&str; 14] = [
    "18446744073709551616",
    "18446744073709551615",
    "-1",
    "1e400",
    "NaN",
    "inf",
    "0x",
    "0",
    "-0",
    "99999999999999999999999999",
    "4294967296",
    "0-4294967295",
    "0-18446744073709551615",
    "a,b-c",
];

/// What one file was before.
struct Undo {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// All regular files below a folder; links are not followed.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in folder.read_dir().unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                ahead.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn whole(random: &mut Random, below: usize) -> usize {
    ((random.uniform() * below as f64) as usize).min(below - 1)
}

fn break_one(path: &Path, random: &mut Random) -> Undo {
    let bytes = std::fs::read(path).unwrap();
    let write = |bytes: &[u8]| std::fs::write(path, bytes).unwrap();
    match whole(random, 12) {
        0 => write(b""),
        1 => write(&bytes[..whole(random, bytes.len() + 1)]),
        2 => write(&vec![b'7'; 2 << 20]),
        3 => write(&[0xff, 0xfe, 0x00, 0x80, b'\n']),
        4 => {
            std::fs::remove_file(path).unwrap();
            symlink(path, path).unwrap();
        }
        5 => {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }
        6 => std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap(),
        7 => {
            let mut other = bytes.clone();
            for _ in 0..3 {
                if !other.is_empty() {
                    let at = whole(random, other.len());
                    other[at] = whole(random, 256) as u8;
                }
            }
            write(&other);
        }
        // Every number in the file becomes another one.
        8 | 9 => {
            let word = WORDS[whole(random, WORDS.len())];
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut said = String::new();
            let mut digits = false;
            for letter in text.chars() {
                if letter.is_ascii_digit() && !digits {
                    said.push_str(word);
                }
                digits = letter.is_ascii_digit();
                if !digits {
                    said.push(letter);
                }
            }
            write(said.as_bytes());
        }
        _ => write(format!("{}\n", WORDS[whole(random, WORDS.len())]).as_bytes()),
    }
    Undo { path: path.to_owned(), bytes }
}

fn put_back(undo: Undo) {
    let Undo { path, bytes } = undo;
    let is_folder = path.symlink_metadata().is_ok_and(|kind| kind.is_dir());
    if is_folder {
        std::fs::remove_dir(&path).unwrap();
    } else {
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::write(&path, bytes).unwrap();
}

/// Numbers that no machine has: signs of a wrapped or overflown one.
fn absurd(value: &serde_json::Value, at: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let signed = at.contains("celsius") && number > -300.0;
            if !number.is_finite() || (number < 0.0 && !signed) {
                found.push(format!("{at} = {number}"));
            }
        }
        serde_json::Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, one)| absurd(one, &format!("{at}/{i}"), found));
        }
        serde_json::Value::Object(members) => {
            members.iter().for_each(|(name, one)| absurd(one, &format!("{at}/{name}"), found));
        }
        _ => {}
    }
}

/// Some hundred rounds; with BRICKYARD_LONG=1 tens of thousands. BRICKYARD_SEED repeats one.
#[test]
fn no_broken_file_breaks_the_inventory() {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1");
    let rounds = if long { 4000 } else { 30 };
    let seed = std::env::var("BRICKYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(crate::sys::clock::unix_ns);
    let mut random = Random::new(seed);
    for name in FIXTURES {
        let recording = Recording::open(name);
        let host = recording.host();
        let before = server(&host);
        let files = files(&host.path("/"));
        for round in 0..rounds {
            let count = 1 + whole(&mut random, 6);
            let chosen: std::collections::BTreeSet<usize> =
                (0..count).map(|_| whole(&mut random, files.len())).collect();
            let undo: Vec<Undo> =
                chosen.iter().map(|&file| break_one(&files[file], &mut random)).collect();
            let told: Vec<String> =
                undo.iter().map(|undo| undo.path.display().to_string()).collect();
            let begun = crate::sys::clock::thread_cpu_ns();
            let broken = std::panic::catch_unwind(|| serde_json::to_value(server(&host)).unwrap());
            let took_ns = crate::sys::clock::thread_cpu_ns() - begun;
            let what = format!("{name}, round {round} of BRICKYARD_SEED={seed}: {told:?}");
            let Ok(value) = broken else { panic!("{what}") };
            let mut found = Vec::new();
            absurd(&value, "", &mut found);
            assert!(found.is_empty(), "{found:?} from {what}");
            // Processor time: what takes for ever is found, whatever else this machine does.
            assert!(took_ns < 20_000_000_000, "{took_ns} ns: {what}");
            undo.into_iter().for_each(put_back);
        }
        assert_eq!(server(&host), before, "{name}: all was put back");
    }
}

#[test]
fn a_number_is_the_very_one_that_is_written_or_none() {
    let machine = Recording::unpack("/n = 1\n");
    let host = machine.host();
    for word in WORDS {
        std::fs::write(host.path("/n"), format!("{word}\n")).unwrap();
        let read = Reading::new(&host).number("/n", "n");
        assert_eq!(read, word.parse().ok(), "{word}");
        assert!(read.is_none_or(|number| number.to_string() == word), "{word}: {read:?}");
    }
}
