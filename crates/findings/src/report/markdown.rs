//! (pure) Tables for an issue or a wiki, in GitHub's Markdown.

use super::cells::{self, CellGroup, CellRow};
use super::nature::Nature;
use super::reach::Reach;
use super::text::effects;
use super::text::grid::Side;
use super::{Input, hexdump, integrity, operations, reported, screen, text, words};
use crate::analysis::Severity;
use crate::analysis::words::RANGES;
use base::stats::Estimate;
use base::value;
use experiment::measurement::figure_names;

/// Prints answer, findings and a table for each group.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let campaign = input.campaign;
    let mut text = format!(
        "# Storage of {}{}\n\n{}, {}. Brickyard {}, campaign {}, seed {}.\n",
        escaped(&campaign.host),
        Nature::of_campaign(campaign).tail(),
        escaped(&campaign.plan),
        words::date(campaign.started_unix_ns),
        escaped(&campaign.version),
        campaign.id,
        campaign.seed,
    );
    first(input, &mut text);
    if !input.findings.is_empty() {
        text.push_str(&format!("\n## All findings\n\n{}\n\n", RANGES));
    }
    for finding in &input.findings {
        let severity = match finding.severity {
            Severity::Info => "",
            Severity::Warning => "**Warning:** ",
            Severity::Error => "**Error:** ",
        };
        text.push_str(&format!("- {severity}{}\n", coded(&finding.claim)));
        finding.details.iter().for_each(|it| text.push_str(&format!("  {}\n", coded(it))));
        if let Some(advice) = &finding.advice {
            text.push_str(&format!("  \u{2192} {}\n", coded(advice)));
        }
        if let Some(command) = &finding.command {
            text.push_str(&format!("  \u{2192} `{command}`\n"));
        }
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
        if let Some(rest) = group.rest() {
            text.push_str(&format!("\n{}\n", coded(&rest)));
        }
    }
    effects(input, &mut text);
    lists(input, &mut text);
    text.push_str(
        "\nFigures: mean \u{b1} half the 95 % interval over n replicates, or \u{d7}\u{f7} where it \
         is wider than a factor of 2.",
    );
    text.push_str(&words::pooled(input.cells.iter()).map_or(String::new(), |it| format!(" {it}")));
    text.push('\n');
    // Four spaces make code, in which nothing but a line end means anything.
    let command = words::repeat(campaign, input.records).replace(['\n', '\r'], " ");
    text.push_str(&format!("\nRepeat it:\n\n    {command}\n"));
    Ok(text)
}

/// Whether a file is such a report, of whatever version: its first lines.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(4 << 10)]);
    let mut lines = head.lines();
    let (title, _, told) = (lines.next(), lines.next(), lines.next().unwrap_or_default());
    title.is_some_and(|title| title.starts_with("# Storage of "))
        && [". Brickyard ", ", campaign ", ", seed "].iter().all(|part| told.contains(part))
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
fn of_others(input: &Input<'_>, group: &CellGroup<'_>, text: &mut String) {
    let sheet = reported::sheet(input, group);
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    text.push_str(&format!("\n## {}\n\n", escaped(group.name)));
    text.push_str(&format!("{}\n\n{}", escaped(&sheet.source), line(&sheet.heads)));
    text.push_str(&format!("|---|{}\n", "---:|".repeat(sheet.heads.len().saturating_sub(1))));
    let rows = sheet.rows.iter().take(cells::ROWS_MAX);
    rows.for_each(|row| text.push_str(&line(row)));
}

fn table(group: &CellGroup<'_>, text: &mut String) {
    let written = group.rows.iter().all(|row| words::writes_only(&row.cell.settings));
    let axis = group.varying.join(", ");
    let (first, second) =
        if written { ("accepted MB/s", "durable MB/s") } else { ("MB/s", "MiB/s") };
    text.push_str(&format!("\n## {}\n\n{}\n\n", escaped(group.name), escaped(&group.common())));
    let head = ["", first, second, "IOPS", "p50", "p99", "n", "origin", "notes"];
    let named = std::iter::once(axis.as_str()).chain(head.into_iter().skip(1));
    text.push_str(&format!("| {} |\n", named.collect::<Vec<_>>().join(" | ")));
    text.push_str("|---|---:|---:|---:|---:|---:|---:|---|---|\n");
    for row in group.shown() {
        text.push_str(&format!("| {} |\n", line(group, row, written).join(" | ")));
    }
}

/// The first screen.
fn first(input: &Input<'_>, text: &mut String) {
    let summary = &input.summary;
    let (subject, when) = (escaped(&summary.subject), escaped(&summary.when));
    text.push_str(&format!("\n{subject}; {when}.\n"));
    if let Some(trust) = &summary.confidence {
        let advice = trust.advice.as_ref().map_or(String::new(), |it| format!(" {}", coded(it)));
        let (level, reason) = (trust.level.name(), coded(&trust.reason));
        text.push_str(&format!("\n**Confidence {level}:** {reason}{advice}\n"));
    }
    for sentence in &summary.said {
        text.push_str(&format!("\n{}\n", coded(sentence)));
    }
    if !summary.figures.is_empty() {
        text.push_str("\n| | | | 95 % interval |\n|---|---:|---|---|\n");
    }
    for figure in &summary.figures {
        let caveat = match figure.caveat.as_str() {
            "" => String::new(),
            caveat => format!("; **{}**", escaped(caveat)),
        };
        text.push_str(&format!(
            "| {} | {} | {}{caveat} | {} |\n",
            escaped(&figure.label),
            screen::told(figure),
            escaped(&figure.load),
            screen::known(figure)
        ));
    }
    if let Some(limit) = &summary.limit {
        text.push_str(&format!("| limit | {} | | |\n", escaped(&limit.text)));
    }
    if !summary.findings.is_empty() {
        text.push('\n');
    }
    for finding in &summary.findings {
        text.push_str(&format!("- {}\n", coded(&finding.text)));
        if let Some(advice) = &finding.advice {
            text.push_str(&format!("  \u{2192} {}\n", coded(advice)));
        }
        if let Some(command) = &finding.command {
            text.push_str(&format!("  \u{2192} `{command}`\n"));
        }
    }
}

/// Operations per second, and what each took.
fn of_operations(group: &CellGroup<'_>, text: &mut String) {
    let columns = operations::columns(group);
    text.push_str(&format!("\n## {}\n\n{}\n\n", escaped(group.name), escaped(&group.common())));
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let axis = group.varying.join(", ");
    text.push_str(&format!("| {axis} | {} | n | notes |\n", heads.join(" | ")));
    text.push_str(&format!("|---|{}---:|---|\n", "---:|".repeat(heads.len())));
    for row in group.shown() {
        let mut line = vec![escaped(&group.label(row))];
        for (place, column) in columns.iter().enumerate() {
            let figure = cells::figure(row.cell, column.name).filter(|_| place == 0);
            let reach = figure.as_ref().and_then(Reach::from_estimate);
            let spread = reach.map_or(String::new(), |reach| format!(" {}", reach.signed()));
            line.push(format!("{}{spread}", operations::cell(row, column)));
        }
        line.push(row.cell.trials.len().to_string());
        line.push(escaped(&row.notes.iter().copied().collect::<Vec<_>>().join(", ")));
        text.push_str(&format!("| {} |\n", line.join(" | ")));
    }
}

fn line(group: &CellGroup<'_>, row: &CellRow<'_>, written: bool) -> Vec<String> {
    let get = |name| cells::figure(row.cell, name);
    let mark = row.source.mark();
    let print = |estimate: Option<Estimate>, print: fn(f64) -> String| match estimate {
        None => "-".to_owned(),
        Some(estimate) => {
            let reach = Reach::from_estimate(&estimate);
            let spread = reach.map_or(String::new(), |reach| format!(" {}", reach.signed()));
            let mark = if mark.is_empty() { String::new() } else { format!(" ({mark})") };
            format!("{}{spread}{mark}", print(estimate.value))
        }
    };
    let megabytes: fn(f64) -> String = |per_s| value::significant(per_s / 1e6);
    let mebibytes: fn(f64) -> String = |per_s| value::significant(per_s / f64::from(1 << 20));
    let rate = get(figure_names::THROUGHPUT);
    let notes: Vec<&str> = row.notes.iter().copied().collect();
    vec![
        escaped(&group.label(row)),
        print(get(figure_names::ACCEPTED_THROUGHPUT).filter(|_| written).or(rate), megabytes),
        match written {
            true => print(get(figure_names::DURABLE_THROUGHPUT), megabytes),
            false => print(rate.map(|rate| Estimate::bare(rate.value)), mebibytes),
        },
        print(get(figure_names::IOPS), value::iops),
        print(get(figure_names::LATENCY_P50), value::duration),
        print(get(figure_names::LATENCY_P99), value::duration),
        row.cell.trials.len().to_string(),
        match row.source.is_device() {
            true => row.source.name().to_owned(),
            false => format!("**{}** ({})", row.source.name(), row.source.mark()),
        },
        escaped(&notes.join(", ")),
    ]
}

/// What each knob of a plan does.
fn effects(input: &Input<'_>, text: &mut String) {
    for of in &input.shown.effects {
        text.push_str(&format!("\n## {}\n\n", escaped(&effects::title(of))));
        let heads: Vec<&str> = effects::HEADS.iter().map(|(head, _)| *head).collect();
        text.push_str(&format!("| {} |\n|", heads.join(" | ")));
        for (_, side) in effects::HEADS {
            text.push_str(if side == Side::Right { "---:|" } else { "---|" });
        }
        text.push('\n');
        for row in effects::rows(of) {
            let row: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
    }
}

/// What is missing, and why.
fn lists(input: &Input<'_>, text: &mut String) {
    let failed = text::not_measured(input);
    let budgets = words::by_budget(&input.campaign.not_bought);
    let told = |(budget, cells): &(String, Vec<&str>)| {
        format!("`--budget {budget}`: {}", escaped(&cells.join("; ")))
    };
    let failed: Vec<String> = failed.iter().map(|line| escaped(line)).collect();
    let not_bought: Vec<String> = budgets.iter().map(told).collect();
    let left_out = words::left_out(&input.campaign.left_out);
    let left_out: Vec<String> = left_out.iter().map(|line| coded(line)).collect();
    for (head, lines) in [
        ("Not measured", failed),
        ("Left out of the plan", left_out),
        ("A longer run would add", not_bought),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("\n## {head}\n\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
        }
    }
}

/// A sentence whose `quoted` words are code; nothing else in it is markup.
pub(super) fn coded(text: &str) -> String {
    if text.matches('`').count() % 2 == 1 {
        // A name with a quote in it: nobody knows what was meant.
        return escaped(text);
    }
    let parts = text.split('`').enumerate().map(|(place, part)| match place % 2 {
        1 if part.trim().is_empty() => part.to_owned(),
        // In code nothing but a line's end means anything.
        1 => format!("`{}`", part.replace(['\n', '\r'], " ")),
        _ => escaped(part),
    });
    parts.collect()
}

/// Text in which nothing is markup, on one line.
pub(super) fn escaped(text: &str) -> String {
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
    use experiment::knob;

    #[test]
    fn cached_figures_are_marked_and_rows_have_all_columns() {
        let fixture = fixture::evaluated();
        let text = render(&fixture.input()).unwrap();
        let (_, tables) = text.split_once("\n## All findings\n").unwrap();
        let rows: Vec<&str> = tables.lines().filter(|line| line.starts_with('|')).collect();
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

    /// Findings were full of escaped quotes, which a wiki shows as they stand.
    #[test]
    fn quoted_words_are_code_and_no_name_becomes_markup() {
        assert_eq!(coded("`streams` matters: <b>"), "`streams` matters: &lt;b&gt;");
        assert_eq!(coded("in `a` <img> `b`"), "in `a` &lt;img&gt; `b`");
        assert_eq!(coded("in `a"), "in \\`a");
        assert_eq!(coded("`a\n\n# b`"), "`a  # b`");
    }

    #[test]
    fn what_is_missing_and_what_to_do_is_told() {
        let fixture = fixture::evaluated();
        let text = render(&fixture.input()).unwrap();
        assert!(text.contains("\n  \u{2192} Give it 4 to 8 clients at once"), "{text}");
        let (_, failed) = text.split_once("\n## Not measured\n\n").unwrap();
        assert!(failed.starts_with("- trial 129 (") && failed.contains("No space left"));
        assert!(text.contains("- `--budget 90m`: mixed, 100 streams"), "{text}");
    }

    /// A week of 10 000 trials printed as many rows.
    #[test]
    fn a_large_campaign_still_fits_a_mail() {
        let (group, settings) = fixture::planned().remove(0);
        let cells: Vec<_> = (1..=300)
            .map(|streams| {
                let mut settings = settings.clone();
                settings.set(knob::STREAMS, streams);
                (group.clone(), settings)
            })
            .collect();
        let fixture = fixture::campaign_of(experiment::plan::blocked(&cells, 1, 1), 2);
        let input = fixture.input();
        for text in [render(&input).unwrap(), super::text::render(&input).unwrap()] {
            assert!(text.lines().count() < 170, "{text}");
            assert!(text.contains("200 more rows are in the formats"), "{text}");
        }
    }

    #[test]
    fn faults_are_a_table_with_their_bytes_as_code() {
        let (campaign, mut records) = fixture::damaged();
        if let experiment::measurement::Outcome::Done(measurement) = &mut records[0].outcome {
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
