//! `brickyard verify --flushed LOG`: whether anything that was acknowledged before a crash is lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::{Common, kept::StoredVerification, talk};
use engines::engine::flush::check::{self, FlushCheckResult};
use engines::engine::flush::log::Log;
use engines::verify::{VerificationPart, shown};
use experiment::knob::Settings;
use experiment::measurement::integrity::{Fault, UNREADABLE};
use experiment::measurement::{Amount, Evidence, Integrity, Measurement, Verified};
use host::sys::clock;

/// So many losses are printed one by one.
const SHOWN: usize = 20;
/// What was found so far is kept so often, ns.
const TELL_NS: u64 = 2_000_000_000;

/// Reads the files that the log is about; exit status 0 when all that was acknowledged is there, 1
/// when something is not.
///
/// # Errors
/// When the log or a file that it is about cannot be opened.
pub fn run(log: &Path, no_store: bool, common: &Common) -> anyhow::Result<ExitCode> {
    let said = check::read_log(log)?;
    let talk = talk::Talk::new(common.quiet, common.plain);
    let read: Vec<PathBuf> = said.begin.files.iter().map(PathBuf::from).collect();
    let mut kept =
        StoredVerification::new(no_store, (read.clone(), read), Some(log), common, &talk)?;
    let (began_ns, began_unix_ns) = (clock::monotonic_ns(), clock::unix_ns());
    let mut told_ns = 0;
    let part = |found: &FlushCheckResult, over: bool| {
        let mut part = part(log, &said, found, over);
        part.measurement.started_unix_ns = began_unix_ns;
        part.measurement.elapsed_ns = clock::monotonic_ns().saturating_sub(began_ns);
        part
    };
    let found = check::check(&said, &mut |found| {
        let now = clock::monotonic_ns();
        if now.saturating_sub(told_ns) > TELL_NS {
            told_ns = now;
            kept.put(part(found, false), &talk);
        }
    })?;
    kept.put(part(&found, true), &talk);
    talk.end();
    talk::data(&match common.json {
        true => serde_json::to_string_pretty(&document(&said, &found))?,
        false => text(&said, &found).join("\n"),
    })?;
    kept.end(&talk);
    Ok(if found.lost > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What is kept of it: one reading, of which nobody knows what was in memory.
fn part(path: &Path, log: &Log, found: &FlushCheckResult, over: bool) -> VerificationPart {
    let begin = &log.begin;
    let checked_bytes = found.blocks * begin.block_bytes;
    let fault = |loss: &check::LostBlock| Fault {
        file: loss.file.clone(),
        offset: loss.offset,
        kind: loss.kind.clone(),
        what: format!("generation {} was acknowledged; {}", loss.acknowledged, loss.what),
        ..Fault::default()
    };
    let mut wrong = found.kinds.clone();
    let unreadable = wrong.remove(UNREADABLE).unwrap_or(0);
    let integrity = Integrity {
        checksum: begin.checksum.name().to_owned(),
        block_bytes: begin.block_bytes,
        checked_bytes: checked_bytes - unreadable * begin.block_bytes,
        unreadable_bytes: unreadable * begin.block_bytes,
        wrong,
        unreadable,
        faults: found.losses.iter().map(fault).collect(),
        ..Integrity::default()
    };
    let told = |name: &str, count: u64, what: &str| {
        (count > 0).then(|| (name.to_owned(), format!("{count} {what}")))
    };
    let facts = [
        told("acknowledged", log.writes, "writes, flushed and all"),
        told("under way, as before", found.in_flight_older, "blocks, promised to nobody"),
        told("under way, new", found.in_flight_newer, "blocks, promised to nobody"),
        told("under way, torn", found.in_flight_torn, "blocks, promised to nobody"),
        told("newer than the log", found.newer, "blocks"),
        told("torn lines of the log", log.damaged, "lines, which say nothing"),
    ];
    let files: BTreeSet<&str> = found.losses.iter().map(|loss| loss.file.as_str()).collect();
    let verified = Verified {
        against: Some(shown(path)),
        first_pass: 1,
        passes: 1,
        over,
        files: begin.files.len() as u64,
        files_read: if over { begin.files.len() as u64 } else { 0 },
        files_wrong: files.len() as u64,
        facts: facts.into_iter().flatten().collect(),
        ..Verified::default()
    };
    let evidence = Evidence {
        delivered: Amount {
            read_bytes: checked_bytes,
            read_ops: found.blocks,
            ..Amount::default()
        },
        ..Evidence::default()
    };
    let measurement = Measurement {
        notes: integrity.notes(),
        integrity: Some(integrity),
        verified: Some(verified),
        evidence,
        ..Measurement::default()
    };
    let settings = Settings::from_json("file", &json!({ "access": "read" }));
    VerificationPart { number: 1, settings, measurement }
}

fn document(log: &Log, found: &FlushCheckResult) -> serde_json::Value {
    let losses: Vec<serde_json::Value> = found.losses.iter().map(loss).collect();
    json!({
        "campaign": format!("{:016x}", log.begin.campaign),
        "files": log.begin.files,
        "acknowledged_writes": log.writes,
        "damaged_log_lines": log.damaged,
        "blocks": found.blocks,
        "lost": found.lost,
        "in_flight_older": found.in_flight_older,
        "in_flight_newer": found.in_flight_newer,
        "in_flight_torn": found.in_flight_torn,
        "newer_than_the_log": found.newer,
        "losses": losses,
    })
}

fn loss(loss: &check::LostBlock) -> serde_json::Value {
    json!({
        "file": loss.file,
        "offset": loss.offset,
        "acknowledged_generation": loss.acknowledged,
        "kind": loss.kind,
        "what": loss.what,
    })
}

fn text(log: &Log, found: &FlushCheckResult) -> Vec<String> {
    let begin = &log.begin;
    let mut lines = vec![format!(
        "{} writes were acknowledged, flushed and all, in {} files; {} blocks of {} bytes were \
         read",
        log.writes,
        begin.files.len(),
        found.blocks,
        begin.block_bytes
    )];
    lines.push(match found.lost {
        0 => "nothing that was acknowledged is lost".to_owned(),
        1 => "LOST: 1 block does not hold what was acknowledged".to_owned(),
        many => format!("LOST: {many} blocks do not hold what was acknowledged"),
    });
    for loss in found.losses.iter().take(SHOWN) {
        lines.push(format!(
            "  {} at {}: generation {} was acknowledged; {}: {}",
            loss.file, loss.offset, loss.acknowledged, loss.kind, loss.what
        ));
    }
    if found.lost > SHOWN as u64 {
        lines.push(format!(
            "  and {} more; --json shows up to {}",
            found.lost - SHOWN as u64,
            check::LOSSES_MAX
        ));
    }
    let under_way = found.in_flight_older + found.in_flight_newer + found.in_flight_torn;
    if under_way > 0 {
        lines.push(format!(
            "under way when it ended, and promised to nobody: {} blocks hold what was there \
             before, {} the new, {} neither",
            found.in_flight_older, found.in_flight_newer, found.in_flight_torn
        ));
    }
    if found.newer > 0 {
        lines.push(format!("{} blocks are newer than the log knows", found.newer));
    }
    if log.damaged > 0 {
        lines.push(format!(
            "{} lines of the log are torn and say nothing: what they told is not held against the \
             storage",
            log.damaged
        ));
    }
    for folder in folders(log) {
        lines.push(format!("the files stay; to remove them: rm -r {folder}"));
    }
    lines
}

/// The work directories that the files lie in.
fn folders(log: &Log) -> Vec<String> {
    let two_up = |file: &String| Some(Path::new(file).parent()?.parent()?.display().to_string());
    let mut folders: Vec<String> = log.begin.files.iter().filter_map(two_up).collect();
    folders.sort();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use base::hash::Checksum;
    use engines::engine::flush::log::LoggedFiles;

    #[test]
    fn what_is_lost_is_said_first_and_where_the_files_are_last() {
        let begin = LoggedFiles {
            log: 1,
            campaign: 10,
            files: vec!["/srv/a/brickyard-a/trial-00001/stream-00000.dat".into()],
            file_bytes: 4096,
            piece_bytes: 4096,
            block_bytes: 4096,
            checksum: Checksum::Crc32c,
        };
        let log = Log {
            begin,
            acknowledged: BTreeMap::new(),
            writes: 12,
            in_flight: BTreeMap::new(),
            damaged: 1,
        };
        let mut found =
            FlushCheckResult { blocks: 3, in_flight_torn: 2, ..FlushCheckResult::default() };
        let clean = text(&log, &found);
        assert_eq!(clean[1], "nothing that was acknowledged is lost");
        assert!(clean[2].ends_with("0 the new, 2 neither"), "{clean:?}");
        assert_eq!(clean[4], "the files stay; to remove them: rm -r /srv/a/brickyard-a");
        found.lost = 30;
        found.losses = (0..25)
            .map(|block| check::LostBlock {
                file: "f".into(),
                offset: block * 4096,
                acknowledged: 7,
                kind: "stale".into(),
                what: "w".into(),
            })
            .collect();
        let lost = text(&log, &found);
        assert!(lost[1].starts_with("LOST: 30 blocks"));
        assert_eq!(lost[2], "  f at 0: generation 7 was acknowledged; stale: w");
        assert!(lost[22].contains("and 10 more"));
        assert_eq!(document(&log, &found)["losses"].as_array().unwrap().len(), 25);
    }
}
