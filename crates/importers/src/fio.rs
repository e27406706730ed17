//! (pure) What fio prints: with `--output-format=json` (see [`documents`]), and for people (see
//! [`text`]).
//!
//! Figures are named as fio measures them: `latency_ns` from submission to completion (`lat_ns`),
//! `submission_latency_ns` until the kernel took it (`slat_ns`), and `completion_latency_ns` from
//! then on (`clat_ns`). Of a trial that reads and writes each direction has its own, as fio prints
//! no sum of both, but for `mixed`, which is one where it was asked for (`unified_rw_reporting`).

use super::{Form, Importer, ToolResult};

mod printed;
mod options;
mod entries;
mod bins;
mod snapshots;
mod documents;
mod terse;
mod text;
pub mod log;
#[cfg(test)]
mod tests;

/// See [`Importer`].
pub const FIO: Importer = Importer {
    name: "fio",
    about: "What fio 2 and 3 print, for people or as JSON (--output-format=json)",
    forms: &[
        Form {
            bring: "--output-format=json, or json+",
            recorded: &["2.1.4", "2.2.10", "2.15", "2.21", "3.1", "3.19", "3.33", "3.42"],
            read: "rates, IOPS, latencies, their percentiles and bins, of each direction; of \
                   several machines (--client) each, and their sum",
            not_read: "how busy disks were",
        },
        Form {
            bring: "--minimal, or --output-format=terse, of format 2 to 5",
            recorded: &["2.0.15", "2.15", "3.33", "3.42"],
            read: "rates, IOPS, latencies and their percentiles, of each direction",
            not_read: "how busy disks were; snapshots (--status-interval)",
        },
        Form {
            bring: "what it prints for people",
            recorded: &["2.0.15", "2.1.9", "2.2.10", "2.21", "3.1", "3.25", "3.33", "3.42"],
            read: "rates, IOPS, latencies and their percentiles, of each direction",
            not_read: "",
        },
        Form {
            bring: "fio --version; tail -v -n +1 *.log, of write_bw_log, write_iops_log, \
                    write_lat_log and write_hist_log",
            recorded: &["2.15", "2.21", "3.1", "3.33", "3.42"],
            read: "rates, IOPS and latencies over time, and histograms of latencies",
            not_read: "logs without their names; log_window_value=both, log_unix_epoch=1, \
                       per_job_logs=0",
        },
    ],
    words: &["fio", "ioengine", "iodepth", "clat", "slat", "BW=", "runt=", "IOPS=", "numjobs"],
    mark: "line `NAME: (groupid=0, jobs=1): err= 0` and no JSON with `fio version`",
    parse,
    knows,
};

/// Whether a text looks like what fio prints, whole or not.
fn knows(text: &str) -> bool {
    documents::knows(text) || terse::knows(text) || text::knows(text) || log::knows(text)
}

/// One result for each job, or for each group of jobs with `group_reporting`, in the order of each
/// form. fio prints a run in several forms at once where it was asked to
/// (`--output-format=normal,json`): that is one result.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    if documents::knows(text) {
        all = documents::parse(text)?;
    }
    if terse::knows(text) {
        all = printed::join(all, terse::parse(text)?)?;
    }
    if text::knows(text) {
        all = printed::join(all, text::parse(text)?)?;
    }
    let mut all: Vec<ToolResult> = all.into_iter().map(|printed| printed.said).collect();
    if log::knows(text) {
        all.extend(log::parse(text)?);
    }
    match all.is_empty() {
        true => Err(NOTHING.to_owned()),
        false => Ok(all),
    }
}

const NOTHING: &str = "there is no JSON document of fio's in it, and no line of fields, and no \
                       entry of a job";

/// Of a job that ended with an error of that number.
fn failed(job: &str, number: i64) -> String {
    let error = std::io::Error::from_raw_os_error(i32::try_from(number).unwrap_or(0));
    format!("its job {job} failed: {error}")
}

/// Of a job that ended without one.
fn no_io(job: &str) -> String {
    format!("its job {job} completed no I/O")
}

/// What fio calls all directions as one.
const MIXED: &str = "mixed";

/// How long flushes took.
const SYNC: &str = "sync_latency_ns";

/// How a percentile is called in the name of a figure; `None` of those that are not kept.
fn percentile_of(percent: f64) -> Option<&'static str> {
    let known = [(50.0, "p50"), (90.0, "p90"), (95.0, "p95"), (99.0, "p99"), (99.9, "p999")];
    known.into_iter().find(|(known, _)| *known == percent).map(|(_, name)| name)
}
