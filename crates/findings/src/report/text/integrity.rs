//! (pure) What was checked, and what was wrong.

use super::{Input, plain, wrapped};
use crate::report::hexdump;
use crate::report::integrity::{
    DRIVES_WHEN, DUMPS_MAX, IntegritySheet, PROBLEMS_MAX, lasting, rereads, sheet,
};
use base::value;
use experiment::measurement::integrity::Fault;

/// Rows of an excerpt that are shown: all 32 are in the HTML report.
const ROWS_MAX: usize = 3;
/// The widest name of a fact.
const NAME: usize = 26;

/// Appends the section; nothing when nothing was checked.
pub fn render(input: &Input<'_>, text: &mut String) {
    let Some(sheet) = sheet(input) else { return };
    text.push_str("\nIntegrity\n");
    for (what, told) in &sheet.facts {
        text.push_str(&wrapped(&format!("  {what:<NAME$} "), told));
    }
    for problem in sheet.problems.iter().take(PROBLEMS_MAX) {
        let told = format!("{}: {}: {}", problem.kind, problem.path, problem.why);
        text.push_str(&wrapped("  ! ", &told));
    }
    let more = sheet.problems.len().saturating_sub(PROBLEMS_MAX) as u64 + sheet.problems_not_kept;
    if more > 0 {
        text.push_str(&wrapped(
            "  ! ",
            &format!("and {more} more, in the store's table `problem`"),
        ));
    }
    faults(&sheet, text);
    if !sheet.drives.is_empty() {
        text.push_str(&wrapped("  ", DRIVES_WHEN));
        for drive in &sheet.drives {
            let counts: Vec<String> =
                drive.counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
            let told = format!("{}: {} ({})", drive.name, counts.join(", "), drive.source);
            text.push_str(&wrapped("    ", &told));
        }
    }
}

fn faults(sheet: &IntegritySheet<'_>, text: &mut String) {
    for (place, (trial, fault)) in sheet.faults.iter().take(DUMPS_MAX).enumerate() {
        one(place + 1, *trial, fault, text);
        if let Some(words) = sheet.counted.get(trial) {
            text.push_str(&wrapped("      counters: ", &plain(words)));
        }
    }
    let more = sheet.faults.len().saturating_sub(DUMPS_MAX) as u64 + sheet.not_kept;
    if more > 0 {
        let told = format!("and {more} more; those that were kept are in the store, table `fault`");
        text.push_str(&wrapped("  ", &told));
    }
}

fn one(number: usize, trial: u32, fault: &Fault, text: &mut String) {
    let told = format!(
        "{} in {} at {}, trial {trial} after {}: {}",
        fault.kind,
        fault.file,
        fault.offset,
        value::duration(fault.at_ns as f64),
        fault.what
    );
    text.push_str(&wrapped(&format!("  {number:>2}. "), &told));
    let again = rereads(fault);
    let again = if again.is_empty() { String::new() } else { format!(" ({again})") };
    text.push_str(&wrapped("      ", &format!("{}{again}", lasting(fault))));
    for line in hexdump::lines(fault, ROWS_MAX) {
        text.push_str(&format!("      {line}\n"));
    }
    for line in &fault.kernel {
        text.push_str(&wrapped("      kernel: ", &plain(line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use crate::report::text::WIDTH;

    #[test]
    fn faults_are_told_with_their_bytes_and_lines_stay_narrow() {
        let (campaign, records) = fixture::damaged();
        let input = Input::new(&campaign, &records);
        let text = crate::report::text::render(&input).unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let section = text.split_once("\nIntegrity\n").unwrap().1;
        assert!(section.contains("   1. bit-flip in stream-0-0 at 204800"), "{section}");
        let flipped = format!("\n{}^^\n", " ".repeat(6 + "0000032070 - ".len() + 5 * 3));
        assert!(section.contains(&flipped), "bit 3 of byte 117, the sixth of its row: {section}");
        assert!(section.contains("... and 29 more rows"), "{section}");
        assert!(section.contains("kernel: ata1.00: error: { UNC }"), "{section}");
        let beside = section.split("counters: ").nth(1).unwrap().split("\n   2. ").next().unwrap();
        let beside = beside.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(beside.starts_with("during this trial sda counted 2 more pending"), "{beside}");
        assert!(section.contains("counters: none of 2 error counters grew during this trial"));
        assert!(section.contains("sda: 8 reallocated sectors, 2 pending sectors (smartctl)"));
        // Below what was measured, and when.
        let first = &text.lines().nth(3).unwrap();
        assert!(first.starts_with("Not every byte came back"), "{text}");
    }
}
