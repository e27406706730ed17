//! (pure) Tables for an issue or a wiki, in GitHub's Markdown.

use super::cells::{self, Group, Row};
use super::{Input, hexdump, integrity, operations, reported, words};
use crate::analysis::Severity;
use crate::stats::Estimate;
use crate::value;

/// Prints answer, findings and a table for each group.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let campaign = input.campaign;
    let mut text = format!(
        "# Storage of {}\n\n{}, {}. Brickyard {}, campaign {}, seed {}.\n",
        escaped(&campaign.host),
        escaped(&campaign.plan),
        words::date(campaign.started_unix_ns),
        escaped(&campaign.version),
        campaign.id,
        campaign.seed,
    );
    for sentence in &input.answer {
        text.push_str(&format!("\n{}\n", escaped(sentence)));
    }
    if !input.findings.is_empty() {
        text.push_str("\n## Findings\n\n");
    }
    for finding in &input.findings {
        let severity = match finding.severity {
            Severity::Info => "",
            Severity::Warning => "**Warning:** ",
            Severity::Error => "**Error:** ",
        };
        text.push_str(&format!("- {severity}{}\n", escaped(&finding.claim)));
    }
    integrity(input, &mut text);
    for group in cells::groups(input) {
        if reported::are_in(&group) {
            of_others(input, &group, &mut text);
        }
        if operations::are_in(&group) {
            of_operations(&group, &mut text);
        } else if !reported::are_all(&group) {
            table(&group, &mut text);
        }
    }
    text.push_str("\nFigures: mean \u{b1} half the 95 % interval over n replicates.\n");
    // Four spaces make code, in which nothing but a line end means anything.
    let command = words::command(campaign).replace(['\n', '\r'], " ");
    text.push_str(&format!("\nRepeat it:\n\n    {command}\n"));
    Ok(text)
}

/// What was checked, and what was wrong.
fn integrity(input: &Input<'_>, text: &mut String) {
    let Some(sheet) = integrity::sheet(input) else { return };
    text.push_str("\n## Integrity\n\n");
    for (what, told) in &sheet.facts {
        text.push_str(&format!("- {}: {}\n", escaped(what), escaped(told)));
    }
    for problem in sheet.problems.iter().take(integrity::PROBLEMS_MAX) {
        let told = format!("{}: {}: {}", problem.kind, problem.path, problem.why);
        text.push_str(&format!("- {}\n", escaped(&told)));
    }
    let faults = sheet.faults.iter().take(integrity::DUMPS_MAX);
    if sheet.faults.is_empty() {
        return;
    }
    text.push_str("\n| after | trial | file | offset | kind | what | lasts | read again |\n");
    text.push_str("|---:|---:|---|---:|---|---|---|---|\n");
    for (trial, fault) in faults.clone() {
        let cells = [
            &value::duration(fault.at_ns as f64),
            &trial.to_string(),
            &fault.file,
            &fault.offset.to_string(),
            &fault.kind,
            &fault.what,
            fault.lasting.name(),
            &integrity::rereads(fault),
        ];
        text.push_str(&format!("| {} |\n", cells.map(escaped).join(" | ")));
    }
    let more = sheet.faults.len().saturating_sub(integrity::DUMPS_MAX) as u64 + sheet.not_kept;
    if more > 0 {
        text.push_str(&format!("\nAnd {more} more.\n"));
    }
    for (place, (_, fault)) in faults.enumerate() {
        let lines = hexdump::lines(fault, 4);
        if !lines.is_empty() {
            text.push_str(&format!("\nFault {}, expected (-) and found (+):\n\n", place + 1));
            lines.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
}

/// Figures that others reported.
fn of_others(input: &Input<'_>, group: &Group<'_>, text: &mut String) {
    let sheet = reported::sheet(input, group);
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    text.push_str(&format!("\n## {}\n\n", escaped(group.name)));
    text.push_str(&format!("{}\n\n{}", escaped(&sheet.source), line(&sheet.heads)));
    text.push_str(&format!("|---|{}\n", "---:|".repeat(sheet.heads.len().saturating_sub(1))));
    sheet.rows.iter().for_each(|row| text.push_str(&line(row)));
}

fn table(group: &Group<'_>, text: &mut String) {
    let written = group.rows.iter().all(|row| words::writes_only(&row.cell.settings));
    let axis = group.varying.join(", ");
    let (first, second) =
        if written { ("accepted MB/s", "durable MB/s") } else { ("MB/s", "MiB/s") };
    text.push_str(&format!("\n## {}\n\n{}\n\n", escaped(group.name), escaped(&group.common())));
    let head = ["", first, second, "IOPS", "p50", "p99", "n", "origin", "notes"];
    let named = std::iter::once(axis.as_str()).chain(head.into_iter().skip(1));
    text.push_str(&format!("| {} |\n", named.collect::<Vec<_>>().join(" | ")));
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---|---|\n");
    for row in &group.rows {
        text.push_str(&format!("| {} |\n", line(group, row, written).join(" | ")));
    }
}

/// Operations per second, and what each took.
fn of_operations(group: &Group<'_>, text: &mut String) {
    let columns = operations::columns(group);
    text.push_str(&format!("\n## {}\n\n{}\n\n", escaped(group.name), escaped(&group.common())));
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let axis = group.varying.join(", ");
    text.push_str(&format!("| {axis} | {} | n | notes |\n", heads.join(" | ")));
    text.push_str(&format!("|---|{}---:|---|\n", "---:|".repeat(heads.len())));
    for row in &group.rows {
        let mut line = vec![escaped(&group.label(row))];
        for (place, column) in columns.iter().enumerate() {
            let spread = cells::figure(row.cell, column.name).as_ref().and_then(cells::half_width);
            let spread = spread.filter(|_| place == 0).map(value::percent);
            let spread = spread.map_or(String::new(), |spread| format!(" \u{b1}{spread}"));
            line.push(format!("{}{spread}", operations::cell(row, column)));
        }
        line.push(row.cell.trials.len().to_string());
        line.push(escaped(&row.notes.iter().copied().collect::<Vec<_>>().join(", ")));
        text.push_str(&format!("| {} |\n", line.join(" | ")));
    }
}

fn line(group: &Group<'_>, row: &Row<'_>, written: bool) -> Vec<String> {
    let get = |name| cells::figure(row.cell, name);
    let mark = row.source.mark();
    let print = |estimate: Option<Estimate>, print: fn(f64) -> String| match estimate {
        None => "-".to_owned(),
        Some(estimate) => {
            let spread = cells::half_width(&estimate).map(value::percent);
            let spread = spread.map_or(String::new(), |spread| format!(" \u{b1}{spread}"));
            let mark = if mark.is_empty() { String::new() } else { format!(" ({mark})") };
            format!("{}{spread}{mark}", print(estimate.value))
        }
    };
    let megabytes: fn(f64) -> String = |per_s| value::significant(per_s / 1e6);
    let mebibytes: fn(f64) -> String = |per_s| value::significant(per_s / f64::from(1 << 20));
    let rate = get(cells::THROUGHPUT);
    let notes: Vec<&str> = row.notes.iter().copied().collect();
    vec![
        escaped(&group.label(row)),
        print(get(cells::ACCEPTED).filter(|_| written).or(rate), megabytes),
        match written {
            true => print(get(cells::DURABLE), megabytes),
            false => print(rate.map(|rate| Estimate::bare(rate.value)), mebibytes),
        },
        print(get(cells::IOPS), value::iops),
        print(get(cells::P50), value::duration),
        print(get(cells::P99), value::duration),
        row.cell.trials.len().to_string(),
        match row.source.is_device() {
            true => row.source.name().to_owned(),
            false => format!("**{}** ({})", row.source.name(), row.source.mark()),
        },
        escaped(&notes.join(", ")),
    ]
}

/// Text in which nothing is markup, on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn cached_figures_are_marked_and_rows_have_all_columns() {
        let fixture = fixture::evaluated();
        let text = render(&fixture.input()).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert!(rows.len() > 40);
        for row in &rows {
            assert_eq!(row.matches('|').count(), 10, "{row}");
        }
        let cached = rows.iter().filter(|row| row.contains("**cache** (c)"));
        for row in cached {
            assert_eq!(row.matches(" (c)").count(), 6, "{row}");
        }
        assert_eq!(text.matches("**cache** (c)").count(), 3);
    }

    #[test]
    fn faults_are_a_table_with_their_bytes_as_code() {
        let (campaign, mut records) = fixture::damaged();
        if let crate::measurement::Outcome::Done(measurement) = &mut records[0].outcome {
            measurement.integrity.as_mut().unwrap().faults[0].file = "a|b\n<img>".into();
        }
        let text = render(&Input::new(&campaign, &records)).unwrap();
        let section = text.split_once("## Integrity").unwrap().1.split_once("\n## ").unwrap().0;
        let rows = section.lines().filter(|line| line.starts_with('|'));
        assert_eq!(rows.clone().count(), 2 + 11);
        assert!(rows.clone().all(|row| row.replace("\\|", "").matches('|').count() == 9));
        assert!(section.contains("a\\|b &lt;img&gt;"), "{section}");
        assert!(section.contains("\n    0000032070 - "), "{section}");
    }

    #[test]
    fn names_cannot_break_the_table_or_become_markup() {
        assert_eq!(escaped("a|b\n<img> `x` [y](z)"), "a\\|b &lt;img&gt; \\`x\\` \\[y\\](z)");
    }
}
