//! (pure) The section of integrity: what was checked, the faults, their bytes, and what the drives
//! count themselves.

use maud::{Markup, html};

use super::fold::folded;
use super::saving::saving;
use super::sql;
use super::tables::{boxed, coded};
use super::timelines::Timeline;
use crate::report::hexdump::{self, HexdumpRow, ROW_BYTES};
use crate::report::integrity::{DRIVES_WHEN, DUMPS_MAX, IntegritySheet, lasting, rereads, sheet};
use crate::report::{Input, words};
use base::value;
use experiment::measurement::integrity::Fault;
use facts::counters::errors::DRIVES;

/// Rows of the table of faults; all that were kept are in the store.
const FAULTS_MAX: usize = 200;

/// Over the table of faults.
const HEADS: [&str; 9] =
    ["", "after", "trial", "file", "offset", "kind", "what", "lasts", "read again"];

/// What was checked and came of it, and for the appendix each fault and each drive; `None` when
/// nothing was checked. `drawn` are the courses of trials with faults; `more` are not drawn.
pub fn sections(
    input: &Input<'_>,
    drawn: &[Timeline],
    more: usize,
) -> Option<(Markup, Option<Markup>)> {
    let sheet = sheet(input)?;
    let gist = value::counted(sheet.faults.len() as u64, "fault");
    let each = html! {
        @if !sheet.faults.is_empty() { (faults(&sheet, &sql::of_faults(input))) }
        @for (place, course) in drawn.iter().enumerate() { (over_time(place, course)) }
        @if more > 0 { p.quiet {
            "Faults of " (value::counted(more as u64, "more trial")) " are among the timelines."
        } }
        @if !sheet.drives.is_empty() { (drives(input, &sheet)) }
    };
    let any = !sheet.faults.is_empty() || !sheet.drives.is_empty();
    let appended = any.then(|| folded("faults", "Faults and drives", &gist, &each));
    let section = html! {
        section aria-labelledby="integrity" {
            h2 #integrity { "Integrity" }
            p.quiet {
                "Two rates, of events per bit that was read from the device. Nobody promises "
                "anything about blocks that are wrong without an error; what makers of drives "
                "promise is how rare places are that cannot be read."
            }
            div.inventory { dl { @for (what, told) in &sheet.facts {
                div { dt { (what) } dd { (coded(told)) } }
            } } }
            @if !sheet.problems.is_empty() { (problems(&sheet, &sql::of_problems(input))) }
        }
    };
    Some((section, appended))
}

fn problems(sheet: &IntegritySheet<'_>, sql: &Markup) -> Markup {
    let more = sheet.problems.len().saturating_sub(FAULTS_MAX) as u64 + sheet.problems_not_kept;
    let table = html! {
        table.faults {
            thead { tr { @for head in ["file", "kind", "why"] { th scope="col" { (head) } } } }
            tbody { @for problem in sheet.problems.iter().take(FAULTS_MAX) { tr {
                td.wraps { (problem.path) }
                td { (problem.kind) }
                td.wraps { (problem.why) }
            } } }
        }
    };
    html! {
        h3 { "Problems of files, but for their bytes" }
        (boxed("Problems of files", &table))
        (sql)
        @if more > 0 { p { (more) " more; those that were kept are in the store, table "
            code { "problem" } "." } }
    }
}

fn faults(sheet: &IntegritySheet<'_>, sql: &Markup) -> Markup {
    let more = sheet.faults.len().saturating_sub(FAULTS_MAX) as u64 + sheet.not_kept;
    let shown = sheet.faults.iter().take(FAULTS_MAX);
    let table = html! {
        table.faults {
            thead { tr {
                @for head in HEADS { th scope="col" { (head) } }
            } }
            tbody { @for (place, (trial, fault)) in shown.enumerate() {
                @let number = place + 1;
                tr {
                    th scope="row" {
                        @if number <= DUMPS_MAX { a href=(format!("#fault{number}")) { (number) } }
                        @else { (number) }
                    }
                    td.number { (words::bound(&value::duration(fault.at_ns as f64))) }
                    td.number { a href=(format!("#t{trial}")) { (trial) } }
                    td.wraps { (fault.file) }
                    td.number { (fault.offset) }
                    td { (fault.kind) }
                    td.wraps { (fault.what) }
                    td { (fault.lasting.name()) }
                    td.wraps { (rereads(fault)) }
                }
            } }
        }
    };
    html! {
        h3 { "Faults" }
        (boxed("Faults", &table))
        (sql)
        @if more > 0 { p {
            (more) " more were found; those that were kept are in the store, table "
            code { "fault" } "."
        } }
        h3 { "What was expected, and what was found" }
        p.quiet {
            "512 bytes of each of the first faults, from the sector of the first difference on; "
            "offsets are those of the file. Lines with \u{2212} were expected, lines with + found; "
            "marked bytes differ."
        }
        @for (place, (trial, fault)) in sheet.faults.iter().take(DUMPS_MAX).enumerate() {
            (one(place + 1, fault, sheet.counted.get(trial)))
        }
    }
}

fn one(number: usize, fault: &Fault, counted: Option<&String>) -> Markup {
    let rows = hexdump::rows(fault);
    html! {
        details.fault id=(format!("fault{number}")) open[number == 1] {
            summary { (number) ". " (fault.kind) " in " (fault.file) " at " (fault.offset) }
            p { (fault.what) }
            p.quiet { (lasting(fault)) @if !fault.rereads.is_empty() { " (" (rereads(fault)) ")" } }
            @if rows.is_empty() { p.quiet { "There are no bytes of it to show." } }
            @else { pre.hex tabindex="0" aria-label=(format!("Bytes of fault {number}")) {
                @for row in &rows { (sixteen(row)) }
            } }
            @if !fault.kernel.is_empty() {
                p.quiet { "The kernel said at that time:" }
                pre.kernel tabindex="0" { @for line in &fault.kernel { (line) "\n" } }
            }
            @if let Some(words) = counted {
                p.quiet { "What the machine counts of errors: " (words) "." }
            }
        }
    }
}

/// One line where nothing differs, two where something does.
fn sixteen(row: &HexdumpRow) -> Markup {
    let wrong = row.is_wrong();
    html! {
        (format!("{:010x} ", row.offset))
        @if wrong {
            span.sign { "\u{2212}" } (bytes(row, &row.expected, "del")) "\n           "
            span.sign { "+" } (bytes(row, &row.found, "ins")) "\n"
        } @else { " " (bytes(row, &row.found, "")) "\n" }
    }
}

/// Neighbours that differ are marked together.
fn bytes(row: &HexdumpRow, of: &[u8], mark: &str) -> Markup {
    let mut runs: Vec<(bool, Vec<String>)> = Vec::new();
    for place in 0..ROW_BYTES {
        let text = of.get(place).map_or_else(|| "  ".to_owned(), |byte| format!("{byte:02x}"));
        let differs = !mark.is_empty() && row.differs(place);
        match runs.last_mut() {
            Some((known, run)) if *known == differs => run.push(text),
            _ => runs.push((differs, vec![text])),
        }
    }
    html! { @for (differs, run) in &runs {
        " "
        @if *differs { mark class=(mark) { (run.join(" ")) } } @else { (run.join(" ")) }
    } }
}

/// A place for the course of a trial's faults.
fn over_time(place: usize, course: &Timeline) -> Markup {
    let caption = format!("faults-{place}-caption");
    let heat = course.lines.iter().any(|line| line.panel == "temperature");
    let counts: Vec<String> = course
        .lines
        .iter()
        .filter(|line| line.panel == "faults")
        .map(|line| format!("{} {}", line.v.last().copied().unwrap_or(0.0), line.name))
        .collect();
    let says = format!("Faults over time, {}: {} in all", course.label, counts.join(", "));
    html! {
        figure id=(format!("faults-{place}-figure")) aria-labelledby=(caption) {
            figcaption #(caption) {
                h3 { "Faults over time: " (course.label) }
                p.quiet {
                    "How many had been found by then"
                    @if heat { ", and under it the temperatures" }
                    ". Faults come in bursts, as one bad place spoils its neighbours: that they "
                    "stand close together or at some temperature shows no cause by itself."
                }
            }
            noscript { p.missing { "It is drawn by a script, which is off." } }
            div.plot.timeline id=(format!("faults-{place}")) role="img" data-course=(place)
                aria-label=(says) {}
            (saving(&[(&format!("faults-{place}"), "the course")]))
        }
    }
}

fn drives(input: &Input<'_>, sheet: &IntegritySheet<'_>) -> Markup {
    let has = |head: &&(&str, &str)| {
        sheet.drives.iter().flat_map(|drive| &drive.counts).any(|(word, _)| *word == head.1)
    };
    let heads: Vec<(&str, &str)> = DRIVES.iter().filter(has).copied().collect();
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "drive" }
                @for (_, head) in &heads { th.number scope="col" { (head) } }
                th scope="col" { "told by" }
            } }
            tbody { @for drive in &sheet.drives { tr {
                th scope="row" { (drive.name) }
                @for (_, head) in &heads {
                    @let count = drive.counts.iter().find(|(word, _)| word == head);
                    td.number { @if let Some((_, count)) = count { (count) } @else { "\u{2013}" } }
                }
                td { (drive.source) }
            } } }
        }
    };
    html! {
        h3 { "What the drives count themselves" }
        p.quiet { (DRIVES_WHEN) }
        (boxed("Error counters of the drives", &table))
        (sql::of_drives(input, sheet, &heads))
    }
}
