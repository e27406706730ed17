//! Numbers the formulae: what the store caches of them is computed anew when any of them changed.
//!
//! The number is a hash of the source of every module that decides what a figure is, so that
//! nobody has to remember to raise it. It is the same on every machine.

#![expect(clippy::disallowed_methods, reason = "no part of the program")]

use std::path::{Path, PathBuf};

/// What decides the columns and cells that `brickyard query` shows of a trial, and what is kept of
/// one for a report, of whose types the bytes themselves say nothing.
const FORMULAE: [&str; 9] = [
    "../base/src/value",
    "../base/src/stats",
    "../facts/src/inventory",
    "../facts/src/counters",
    "../facts/src/layout",
    "../experiment/src/knob",
    "../experiment/src/plan",
    "../experiment/src/measurement",
    "src/derived",
];

fn main() {
    // FNV-1a (RFC 9923): a few lines, and the same for every compiler.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for module in FORMULAE {
        let module = Path::new(module);
        let mut files = files(module);
        files.push(module.with_extension("rs"));
        println!("cargo::rerun-if-changed={}", module.display());
        println!("cargo::rerun-if-changed={}.rs", module.display());
        files.sort();
        for path in files {
            let text = std::fs::read(&path).unwrap_or_else(|why| panic!("{path:?}: {why}"));
            for byte in path.as_os_str().as_encoded_bytes().iter().chain(&text) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    // SQLite's integers have a sign.
    println!("cargo::rustc-env=BRICKYARD_FORMULAE={}", hash >> 1);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let nested = paths.map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    nested.flatten().collect()
}
