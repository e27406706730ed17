//! Every parser under libFuzzer: one program, which `BRICKYARD_PARSER` tells which of them to feed.
//!
//! The parsers are the program's own table, so that a new one is fuzzed without a line here.
//! With `BRICKYARD_SEEDS=FOLDER` it writes what the parser understands into that folder instead,
//! and with `BRICKYARD_PARSER=list` it prints the names of all.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use brickyard::parsers::{PARSERS, Parser, Seeds, find};
use libfuzzer_sys::fuzz_target;

static PARSER: OnceLock<&'static Parser> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("BRICKYARD_PARSER").unwrap_or_default();
        if name == "list" {
            PARSERS.iter().for_each(|parser| println!("{}", parser.name));
            std::process::exit(0);
        }
        let Some(parser) = find(&name) else {
            eprintln!("no parser `{name}`; BRICKYARD_PARSER=list prints their names");
            std::process::exit(2);
        };
        if let Some(folder) = std::env::var_os("BRICKYARD_SEEDS") {
            plant(parser, Path::new(&folder));
            std::process::exit(0);
        }
        let _ = PARSER.set(parser);
    },
    |data: &[u8]| {
        if let Some(parser) = PARSER.get() {
            (parser.feed)(data);
        }
    }
);

/// Writes each seed of a parser as a file.
fn plant(parser: &Parser, folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    match parser.seeds {
        Seeds::Fixtures(names) => {
            names.iter().for_each(|name| read(&root.join("tests/fixtures").join(name), &mut seeds));
        }
        Seeds::Shipped(names) => names.iter().for_each(|name| read(&root.join(name), &mut seeds)),
        Seeds::Texts(texts) => seeds.extend(texts.iter().map(|text| text.as_bytes().to_vec())),
        Seeds::Made(make) => seeds = make(),
    }
    for (number, seed) in seeds.iter().enumerate() {
        let path = folder.join(format!("seed-{number:04}"));
        std::fs::write(&path, seed).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    }
}

/// A file, or every file below a folder.
fn read(path: &Path, seeds: &mut Vec<Vec<u8>>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| read(&entry.path(), seeds)),
        Err(_) => {
            let bytes = std::fs::read(path);
            seeds.push(bytes.unwrap_or_else(|why| panic!("{}: {why}", path.display())));
        }
    }
}
