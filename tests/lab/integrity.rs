//! Disks that lie, and a program that is told nothing but the path: what it was given wrong it must
//! find, name by what happened to it, and tell what passes from what stays; and claim nothing else.
//!
//! `BRICKYARD_LONG` goes through more draws, and drops true millionths of writes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::disk::{beside_a_guest, usable};
use crate::liar::{Liar, Lie, Name, Rule, Told, Truth};
use crate::run::{brickyard, draw, parse};

mod counted;
mod every;
mod flushed;
mod generations;
mod power_cut;
mod verified;

/// The checksum of a block, in bits.
const CHECKSUM: Range<u64> = 64 * 8..96 * 8;
const BLOCK_BYTES: u64 = 4096;
/// `block-size` in all runs.
pub const REQUEST_BYTES: u64 = 64 << 10;
/// Of two streams.
pub const BLOCKS: u64 = 2 * (4 << 20) / BLOCK_BYTES;

/// What both the truth and the program can tell of a wrong block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    offset: u64,
    kind: String,
    lasting: String,
    /// The truth's number, or the program's path.
    file: String,
}

/// Which kind the program should find, by the table of `pattern::judge`.
fn kind(told: &Told, through_memory: bool) -> &'static str {
    let whose = |name: Name| (name.campaign, name.file, name.offset);
    match (told.lie, told.bears) {
        (Lie::Spoil | Lie::ErrorOnce, _) => "unreadable",
        (Lie::Flip | Lie::FlipOnce, _) if CHECKSUM.contains(&told.at) => "checksum-field",
        (Lie::Flip | Lie::FlipOnce, _) => "bit-flip",
        (Lie::Tear, _) => "torn",
        // The first sector says whose it is.
        (Lie::SwapSectors, _) if told.at == 0 => "misdirected",
        (Lie::Garble | Lie::SwapSectors, _) => "foreign",
        _ if told.zeros => "unwritten",
        (_, Some(bears)) if bears.campaign != told.meant.campaign => "foreign",
        (_, Some(bears)) if whose(bears) == whose(told.meant) => "stale",
        // It is there twice, on the disk or in memory; not when it was right the second time.
        (_, Some(_)) if told.at_home_too && (told.stands || through_memory) => "duplicated",
        (_, Some(_)) => "misdirected",
        (_, None) => "foreign",
    }
}

/// What a reader should find who was given what was met.
pub fn expected(truth: &Truth, through_memory: bool) -> Vec<Fault> {
    let met = truth.told.iter().filter(|told| told.met > 0 && !is_witness(told, truth));
    met.map(|told| Fault {
        offset: match told.lie {
            // All of a request fails; when its blocks are read by themselves none does.
            Lie::ErrorOnce => told.meant.offset / REQUEST_BYTES * REQUEST_BYTES,
            _ => told.meant.offset,
        },
        kind: kind(beneath(told, truth), through_memory).to_owned(),
        lasting: match told.lie.is_transient() {
            true if through_memory => "in-memory".to_owned(),
            true => "transient".to_owned(),
            false => "persistent".to_owned(),
        },
        file: told.meant.file.to_string(),
    })
    .collect()
}

/// What a reader finds where a write was lost: what lies there, with whatever was done to it.
///
/// The story: once in some hundred draws the second generation of a block was torn and its third
/// lost. The truth said `stale`, of a block that was still half of one and half of the other. A bit
/// that was flipped in what lies there does not hide which generation that is (row 10 of the
/// table); the truth said `bit-flip` then, once in some hundred draws.
fn beneath<'a>(told: &'a Told, truth: &'a Truth) -> &'a Told {
    let before = truth.told.iter().take_while(|it| !std::ptr::eq(*it, told));
    let last = before.filter(|it| it.place == told.place).last();
    let stays = |it: &&Told| {
        matches!(it.lie, Lie::Tear | Lie::Spoil)
            && told.bears.is_none_or(|bears| bears.generation == it.meant.generation)
    };
    last.filter(|_| told.lie == Lie::Drop).filter(stays).unwrap_or(told)
}

/// Whether a block was read only as the place that another wrong block names, to tell how that came
/// about, and was written over before it was read for itself. Whatever is found wrong is read
/// several times more, so it was met once.
///
/// The story: once in some hundred draws a stream that wrote its next generation lagged so far
/// behind the other that the second half of a swap was overwritten before its turn; the truth said
/// that it had been met, and nobody had asked for it.
fn is_witness(told: &Told, truth: &Truth) -> bool {
    let place = |name: &Name| (name.campaign, name.file, name.offset);
    let names_it =
        |it: &Told| it.met > 0 && it.bears.as_ref().map(place) == Some(place(&told.meant));
    told.lie.takes_two() && !told.stands && told.met == 1 && truth.told.iter().any(names_it)
}

/// What the program found in all trials; its counts must be those of what it lists.
pub fn found(document: &Value) -> Vec<Fault> {
    let trials = document["trials"].as_array().expect("trials are an array");
    let mut all = Vec::new();
    for integrity in trials.iter().map(|trial| &trial["integrity"]).filter(|it| it.is_object()) {
        let faults: Vec<Fault> =
            integrity["faults"].as_array().expect("faults").iter().map(fault).collect();
        let mut counts = BTreeMap::<&str, u64>::new();
        for fault in &faults {
            *counts.entry(&fault.kind).or_default() += 1;
        }
        let unreadable = counts.remove("unreadable").unwrap_or(0);
        assert_eq!(integrity["unreadable"].as_u64(), Some(unreadable), "{integrity:#}");
        assert_eq!(integrity["wrong"], serde_json::to_value(counts).expect("counts"));
        all.extend(faults);
    }
    all
}

fn fault(fault: &Value) -> Fault {
    let text = |name: &str| fault[name].as_str().unwrap_or_default().to_owned();
    assert!(!text("what").is_empty(), "{fault:#}");
    Fault {
        offset: fault["offset"].as_u64().expect("an offset"),
        kind: text("kind"),
        lasting: text("lasting"),
        file: text("file"),
    }
}

/// Both must tell the same, of the same files under whatever names.
pub fn compare(what: &str, mut truth: Vec<Fault>, mut found: Vec<Fault>, told: &[Told]) {
    truth.sort();
    found.sort();
    let kinds: Vec<&str> = found.iter().map(|fault| fault.kind.as_str()).collect();
    println!("{what}: found {}", kinds.join(", "));
    let apart_from_files = |faults: &[Fault]| -> Vec<(u64, String, String)> {
        let part = |it: &Fault| (it.offset, it.kind.clone(), it.lasting.clone());
        faults.iter().map(part).collect()
    };
    let (left, right) = (apart_from_files(&found), apart_from_files(&truth));
    assert_eq!(left, right, "{what}: found, and true. The truth: {told:#?}");
    let mut names = BTreeMap::<&str, &str>::new();
    for (number, (truth, found)) in truth.iter().zip(&found).enumerate() {
        // Two files may have the same fault at the same place.
        if left.iter().filter(|it| **it == left[number]).count() == 1 {
            let name = names.entry(&truth.file).or_insert(&found.file);
            assert_eq!(*name, found.file, "{what}: file {}", truth.file);
        }
    }
}

/// Runs the program on a lying disk, told only where it is; gives its document. Its exit status is
/// 1 when it found something.
fn run(liar: &Liar, arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let name = liar.name();
    let mut all = vec!["run", arguments[0], "--dir", &name, "--replicates", "1", "--json"];
    all.extend(&arguments[1..]);
    let output = brickyard(folder.path(), &all).output().expect("the program can be started");
    let document = parse(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    let status = if found(&document).is_empty() { 0 } else { 1 };
    assert_eq!(output.status.code(), Some(status), "{said}\n{document:#}");
    document
}

/// Lies that are told once each, at blocks that are drawn from all that are written, or read.
pub fn once_each(what: &str, lies: &[Lie], blocks: Range<u64>) -> Vec<Rule> {
    let first = |lie: Lie| draw(&format!("{what}: {lie:?} at block"), blocks.start, blocks.end);
    let when = |lie: Lie| match lie {
        // Early: a stream that is told to stop does not ask each block of a request that failed.
        Lie::Spoil | Lie::ErrorOnce => blocks.start + (first(lie) - blocks.start) % (BLOCKS / 8),
        _ => first(lie),
    };
    lies.iter().map(|lie| Rule { lie: *lie, first: when(*lie), every: None }).collect()
}

/// A reading trial of files of its own on a disk that lies once in each of these ways.
fn read(what: &str, lies: &[Lie], knobs: &[&str]) {
    let liar = Liar::new(48);
    let seed = draw(&format!("{what}: seed"), 0, u64::MAX);
    // Late enough that another block is there to be taken.
    liar.arm(&once_each(what, lies, 2..BLOCKS), seed);
    let mut arguments = vec!["sequential-read", "verify=crc32c", "file-size=4MiB", "streams=2"];
    arguments.extend(["block-size=64KiB", "stop=pass", "sustained=false"]);
    arguments.extend(knobs);
    let document = run(&liar, &arguments);
    let truth = liar.confess();
    let through_memory = knobs.contains(&"direct=false");
    compare(what, expected(&truth, through_memory), found(&document), &truth.told);

    let trial = crate::run::trials(&document)[0].clone();
    let integrity = &trial["integrity"];
    let lost = truth.told.iter().filter(|told| told.lie == Lie::Spoil).count() as u64;
    let checked = Some((BLOCKS - lost) * BLOCK_BYTES);
    assert_eq!(integrity["checked_bytes"].as_u64(), checked, "{what}: {trial:#}");
    for lie in lies {
        let told = truth.told.iter().any(|told| told.lie == *lie);
        assert!(told, "{what}: {lie:?} was not told: {truth:#?}");
    }
}

pub const STAYS: &[Lie] = &[
    Lie::Drop,
    Lie::Misdirect,
    Lie::Duplicate,
    Lie::Swap,
    Lie::SwapSectors,
    Lie::Tear,
    Lie::Flip,
    Lie::Zero,
    Lie::Garble,
    Lie::Spoil,
];
pub const PASSES: &[Lie] = &[Lie::FlipOnce, Lie::ZeroOnce, Lie::MisreadOnce, Lie::ErrorOnce];

#[test]
fn what_a_disk_lies_about_to_a_reader_is_found_and_named_and_nothing_else() {
    if !usable("a reader of a lying disk", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let draws = if std::env::var_os("BRICKYARD_LONG").is_some() { 40 } else { 1 };
    for number in 0..draws {
        let engines = [
            &["io-engine=uring"][..],
            &["io-engine=aio", "queue-depth=4"],
            &["io-engine=sync", "queue-depth=1"],
        ];
        let engine = engines[draw(&format!("draw {number}: engine, which"), 0, 3) as usize];
        read(&format!("draw {number}: an honest disk"), &[], engine);
        read(&format!("draw {number}: what stays"), STAYS, engine);
        read(&format!("draw {number}: what passes"), PASSES, engine);
        // What the page cache took in stays there; an error does not get that far.
        let memory = ["io-engine=sync", "queue-depth=1", "direct=false"];
        read(&format!("draw {number}: what memory keeps"), &PASSES[..3], &memory);
    }
}
