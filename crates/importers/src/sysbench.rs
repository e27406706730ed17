//! (pure) sysbench 0.4 to 1.1: what it prints of a test of files, memory, processors or a database.
//!
//! Its sizes and rates are of 2^20 bytes in every version: `Mb/sec` of 0.4 and 0.5 is a size that
//! was divided by 1024 again and again (`sb_print_value_size`), their `MB/sec` of memory and of
//! `prepare` has 1024 * 1024 bytes (`sb_memory.c`, `sb_fileio.c`), and since 1.0 it is written MiB.
//! Waits are in ms. What it prints while it runs (`--report-interval`) is no result.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, ToolResult};

mod lines;
mod run;

use lines::{bytes, number};
use run::SysbenchRun;

/// See [`Importer`].
pub const SYSBENCH: Importer = Importer {
    name: "sysbench",
    about: "All that sysbench 0.4, 0.5, 1.0 and 1.1 print",
    forms: &[
        Form {
            bring: "sysbench fileio ... prepare, and run",
            recorded: &["0.4.12", "0.5", "1.0.20", "1.1.0"],
            read: "rates, IOPS, latencies and their histogram, and the rate of `prepare` since 0.5",
            not_read: "`--report-checkpoints`, and what `--report-interval` prints",
        },
        Form {
            bring: "sysbench oltp_read_write ... run, and the other scripts of a database",
            recorded: &["0.4.12", "0.5", "1.0.20", "1.1.0"],
            read: "transactions and queries per second, errors, latencies and their histogram",
            not_read: "the same",
        },
        Form {
            bring: "sysbench memory ... run",
            recorded: &["0.4.12", "0.5", "1.0.20", "1.1.0"],
            read: "the rate, operations per second and latencies",
            not_read: "the same",
        },
        Form {
            bring: "sysbench cpu, threads, mutex ... run",
            recorded: &["0.4.12", "0.5", "1.0.20", "1.1.0"],
            read: "events per second, or the time of all of them, and latencies",
            not_read: "the same",
        },
    ],
    words: &[
        "sysbench",
        "Extra file open flags",
        "reads/s",
        "writes/s",
        "fsyncs/s",
        "events per second",
        "Threads started",
        "Threads fairness",
        "Running the test with following options",
        "total number of events",
    ],
    mark: "line `Running the test with following options:`",
    parse,
    knows,
};

/// With which the output of a run begins, below its version.
const BEGIN: &str = "Running the test with following options:";

fn knows(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| line == BEGIN || version(line).is_some())
}

/// `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)`, and up to 0.5 `sysbench 0.4.12:
/// multi-threaded system evaluation benchmark`; a line that was typed is none.
fn version(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("sysbench ")?;
    let is_one = rest.starts_with(|c: char| c.is_ascii_digit())
        && (rest.contains("(using ") || rest.contains("multi-threaded system evaluation"));
    let end = rest.find([' ', ':', '\u{ff1a}'])?;
    rest.get(..end).filter(|_| is_one)
}

/// Those whose lines are known.
fn is_read(version: &str) -> bool {
    ["0.4", "0.5", "1.0", "1.1"].iter().any(|known| {
        version
            .strip_prefix(known)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    })
}

/// One result for each run and each `prepare` that says how fast it was.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut run: Option<SysbenchRun> = None;
    let mut known = String::new();
    let mut failed = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim) else { continue };
        let begins = version(line).or((line == BEGIN).then_some(""));
        if begins.is_some() && run.is_some() {
            return Err("a run of it has no last line".to_owned());
        }
        if let Some(version) = version(line) {
            if !is_read(version) {
                return Err(format!(
                    "what sysbench {version} prints is not known here; run 0.4, 0.5, 1.0 or 1.1 \
                     (apt-get install sysbench)"
                ));
            }
            version.clone_into(&mut known);
        } else if line == BEGIN {
            run = Some(SysbenchRun::new(std::mem::take(&mut known)));
        } else if let Some(open) = &mut run {
            if open.line(line)? {
                all.extend(run.take().map(SysbenchRun::said).transpose()?);
            }
        } else if let Some(why) = line.strip_prefix("FATAL: ") {
            failed = Some(why.to_owned());
        } else if !known.is_empty() {
            all.extend(prepared(line, &known)?);
        }
    }
    match (run, all.is_empty(), failed) {
        (Some(_), ..) => Err("it was cut short: a run of it has no last line".to_owned()),
        (None, true, Some(why)) => Err(format!("it failed: {why}")),
        (None, true, None) => Err("there is no run of sysbench's in it: bring what `sysbench ... \
                                   run` prints, all of it"
            .to_owned()),
        (None, false, _) => Ok(all),
    }
}

/// `16777216 bytes written in 0.02 seconds (902.44 MiB/sec).`
fn prepared(line: &str, version: &str) -> Result<Option<ToolResult>, String> {
    let Some((bytes, rest)) = line.split_once(" bytes written in ") else { return Ok(None) };
    let Some((seconds, rest)) = rest.split_once(" seconds (") else { return Ok(None) };
    let unit = [" MiB/sec).", " MB/sec)."].into_iter().find_map(|unit| rest.strip_suffix(unit));
    let Some(rate) = unit else { return Ok(None) };
    let rate_of = number(rate, line)? * run::MIB;
    let (bytes, seconds) = (number(bytes, line)?, number(seconds, line)?);
    let least = bytes / (seconds + 0.0051);
    // What took no hundredth of a second may have been as fast as it likes.
    let most = if seconds > 0.0051 { bytes / (seconds - 0.0051) } else { f64::INFINITY };
    if rate_of <= 0.0 || rate_of < least * 0.999 || rate_of > most * 1.001 {
        return Err(format!("`{line}` has a rate that is not its bytes by its seconds"));
    }
    let (version, title) = (version.to_owned(), "prepare".to_owned());
    let mut said = ToolResult { version, title, ..ToolResult::default() };
    said.add("write_throughput_bytes_per_s", rate_of, format!("{rate} MiB/sec"));
    Ok(Some(said))
}

/// What was asked of files, as far as it says.
fn setting(known: &mut Map<String, Json>, line: &str) {
    let mut set = |knob: &str, value: Json| {
        known.insert(knob.to_owned(), value);
    };
    if let Some(mode) = mode(line) {
        let access = match mode {
            "sequential read" => "read",
            "sequential write (creation)" => "write",
            "sequential rewrite" => "rewrite",
            "random read" => "random-read",
            "random write" => "random-write",
            "random r/w" => "random-mix",
            _ => return,
        };
        set("access", access.into());
    } else if let Some(size) = line.strip_prefix("Block size ").and_then(bytes) {
        set("block-size", size.into());
    } else if let Some((files, size)) = line.split_once(" files, ")
        && let (Ok(files), Some(size)) =
            (files.parse::<u64>(), size.strip_suffix(" each").and_then(bytes))
    {
        set("files", files.into());
        set("file-size", size.into());
    } else if let Some(flags) = line.strip_prefix("Extra file open flags: ") {
        // Of 0.4 the number of O_DIRECT, decimal or hexadecimal, of 0.5 a number of its own.
        match flags.trim() {
            "16384" | "4000" | "3" => set("direct", true.into()),
            flags if flags.contains("directio") => set("direct", true.into()),
            "0" | "(none)" | "sync" | "dsync" => set("direct", false.into()),
            _ => {}
        }
    } else {
        match line {
            "Using synchronous I/O mode" => set("io-engine", "sync".into()),
            "Using asynchronous I/O mode" => set("io-engine", "aio".into()),
            "Using slow mmaped I/O mode" | "Using fast mmaped I/O mode" => {
                set("io-engine", "mmap".into());
            }
            _ => {}
        }
    }
}

/// `Doing random r/w test`.
fn mode(line: &str) -> Option<&str> {
    let mode = line.strip_prefix("Doing ")?.strip_suffix(" test")?;
    (mode.starts_with("sequential ") || mode.starts_with("random ") || mode == "mixed")
        .then_some(mode)
}

#[cfg(test)]
mod tests;
