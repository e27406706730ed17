//! (pure) Tables for the terminal and for mail: plain ASCII, at most 100 columns wide.
//!
//! A figure that is not the device's carries its mark at the figure itself, so that it stays marked
//! when somebody copies only that line.

use super::lines::{folded, plain};
use super::nature::Nature;
use super::{Input, cells, screen, words};
use crate::analysis::cost::PRICE_PER_GB_PER_S;
use crate::analysis::words::RANGES;
use crate::analysis::{Finding, Severity};
use base::value::counted;
use experiment::measurement::Outcome;
use experiment::measurement::again::{run_again, said_again};

pub mod effects;
pub mod grid;
mod groups;
mod integrity;
mod layouts;

/// No line is wider, but for a single word that is.
pub const WIDTH: usize = 100;

/// Here the first screen has all the room that it takes.
const SCREEN: screen::Size = screen::Size { columns: WIDTH, rows: usize::MAX };

/// Prints the first screen, tables, findings, what failed and what was not bought.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    heading(input, &mut text);
    text.push_str(&screen::body(input, SCREEN, &[]));
    integrity::render(input, &mut text);
    groups::render(input, &mut text);
    effects::render(input, &mut text);
    prices(input, &mut text);
    findings(input, &mut text);
    failures(input, &mut text);
    left_out(input, &mut text);
    not_bought(input, &mut text);
    text.push_str(&format!(
        "\nRepeat it: {}\n",
        plain(&words::repeat(input.campaign, input.records))
    ));
    Ok(text)
}

/// Whether a file is such a report, of whatever version: how it begins.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(HEAD_BYTES)]);
    let heading = head.split("\n\n").next().unwrap_or_default();
    // It is wrapped.
    let heading = heading.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = [" - ", " (campaign ", ", seed "];
    heading.starts_with("Brickyard ") && parts.iter().all(|part| heading.contains(part))
}

/// The heading is shorter.
const HEAD_BYTES: usize = 4 << 10;

fn heading(input: &Input<'_>, text: &mut String) {
    let campaign = input.campaign;
    let line = format!(
        "Brickyard {} - {}{}, {} (campaign {}, seed {})",
        campaign.version,
        Nature::of_campaign(campaign).lead(),
        words::subject(campaign),
        words::date(campaign.started_unix_ns),
        campaign.id,
        campaign.seed,
    );
    text.push_str(&wrapped("", &line));
    text.push('\n');
}

/// What a GB/s costs, the cheapest first.
fn prices(input: &Input<'_>, text: &mut String) {
    const SHOWN: usize = 10;
    let groups = cells::groups(input);
    let money = match input.campaign.currency.as_str() {
        "" => String::new(),
        currency => format!(" {currency}"),
    };
    let mut lines: Vec<(f64, String)> = Vec::new();
    for group in &groups {
        for row in &group.rows {
            let Some(price) = cells::figure(row.cell, PRICE_PER_GB_PER_S) else { continue };
            let shown = |number: f64| format!("{number:.0}");
            let between = price.interval.map_or(String::new(), |interval| {
                format!(" ({} to {})", shown(interval.low), shown(interval.high))
            });
            let what = format!("{}: {}", group.name, group.label(row));
            lines.push((
                price.value,
                format!("{}{between}{money} per GB/s: {what}", shown(price.value)),
            ));
        }
    }
    if lines.is_empty() {
        return;
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    text.push_str("\nPrice\n");
    lines.iter().take(SHOWN).for_each(|(_, line)| text.push_str(&wrapped("  - ", line)));
    if lines.len() > SHOWN {
        text.push_str(&format!("  - and {} dearer ones\n", lines.len() - SHOWN));
    }
}

fn findings(input: &Input<'_>, text: &mut String) {
    if input.findings.is_empty() {
        return;
    }
    text.push_str(&format!("\nFindings. {RANGES}\n"));
    let mut gravest: Vec<&Finding> = input.findings.iter().collect();
    gravest.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in gravest {
        let severity = match finding.severity {
            Severity::Info => "",
            Severity::Warning => "WARNING: ",
            Severity::Error => "ERROR: ",
        };
        let evidence = numbers(&finding.evidence);
        let claim = format!("{severity}{} ({evidence})", finding.claim);
        text.push_str(&wrapped("  - ", &claim));
        finding.details.iter().for_each(|it| text.push_str(&wrapped("    ", it)));
        if let Some(advice) = &finding.advice {
            text.push_str(&wrapped("    ", &format!("-> {advice}")));
        }
        if let Some(command) = &finding.command {
            text.push_str(&wrapped("    ", &format!("-> {command}")));
        }
    }
}

fn failures(input: &Input<'_>, text: &mut String) {
    let lines = not_measured(input);
    if !lines.is_empty() {
        text.push_str("\nNot measured\n");
        lines.iter().for_each(|line| text.push_str(&wrapped("  - ", line)));
    }
}

/// Trials that were not done and why: a line each of the first, and how many more there are. Those
/// of one workload that were skipped for one reason, as a tool that is not installed, share a line.
pub(super) fn not_measured(input: &Input<'_>) -> Vec<String> {
    const SHOWN: usize = 20;
    let again = run_again(input.records);
    // How it ended, of which workload, and what is said of it; which trials.
    let mut lines: Vec<(&Outcome, &str, String, Vec<u32>)> = Vec::new();
    for record in input.records {
        let (number, group) = (record.trial.number, record.trial.group.as_str());
        let later = said_again(&again, number);
        let said = match &record.outcome {
            Outcome::Failed(why) => format!("failed{later}: {why}"),
            Outcome::Skipped(why) => format!("skipped{later}: {why}"),
            Outcome::Interrupted => format!("was interrupted{later}"),
            Outcome::Done(_) => continue,
        };
        let skipped = |how: &Outcome| matches!(how, Outcome::Skipped(_));
        let same = lines.iter_mut().find(|(how, of, line, _)| {
            skipped(how) && skipped(&record.outcome) && *of == group && *line == said
        });
        match same {
            Some((.., trials)) => trials.push(number),
            None => lines.push((&record.outcome, group, said, vec![number])),
        }
    }
    let more: usize = lines.iter().skip(SHOWN).map(|(.., trials)| trials.len()).sum();
    let told = lines.into_iter().take(SHOWN).map(|(how, group, said, trials)| {
        let verb = match (how, trials.len()) {
            (Outcome::Skipped(_), 1) => "was ",
            (Outcome::Skipped(_), _) => "were ",
            _ => "",
        };
        format!("{} ({group}) {verb}{said}", numbers(&trials))
    });
    let rest = (more > 0).then(|| format!("and {}", counted(more as u64, "more trial")));
    told.chain(rest).collect()
}

fn left_out(input: &Input<'_>, text: &mut String) {
    let lines = words::left_out(&input.campaign.left_out);
    if !lines.is_empty() {
        text.push_str("\nLeft out of the plan\n");
        lines.iter().for_each(|line| text.push_str(&wrapped("  - ", line)));
    }
}

fn not_bought(input: &Input<'_>, text: &mut String) {
    if input.campaign.not_bought.is_empty() {
        return;
    }
    text.push_str("\nA longer run would add\n");
    for (budget, cells) in words::by_budget(&input.campaign.not_bought) {
        text.push_str(&wrapped(&format!("  --budget {budget:<4} "), &cells.join("; ")));
    }
}

/// `trial 3`, `trials 1, 2, 3 and 9 more`.
fn numbers(evidence: &[u32]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = evidence.iter().take(SHOWN).map(u32::to_string).collect();
    match evidence.len() {
        0 => "no single trial".to_owned(),
        1 => format!("trial {}", shown[0]),
        many if many > SHOWN => format!("trials {} and {} more", shown.join(", "), many - SHOWN),
        _ => format!("trials {}", shown.join(", ")),
    }
}

/// Lines no wider than [`WIDTH`], the first led by `lead`, the others indented as deep.
pub(super) fn wrapped(lead: &str, sentence: &str) -> String {
    folded(lead, sentence, WIDTH).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn the_text_is_as_recorded() {
        let fixture = fixture::evaluated();
        let text = render(&fixture.input()).unwrap();
        snapbox::assert_data_eq!(text, snapbox::file!["text/evaluated.txt"].raw());
    }

    #[test]
    fn no_line_is_wider_than_100_columns_and_all_is_ascii() {
        let fixture = fixture::evaluated();
        for line in render(&fixture.input()).unwrap().lines() {
            assert!(line.len() <= WIDTH, "{} columns: {line}", line.len());
            assert!(line.is_ascii(), "{line}");
        }
    }

    #[test]
    fn a_figure_from_cache_is_marked_at_the_figure_itself() {
        let fixture = fixture::evaluated();
        let text = render(&fixture.input()).unwrap();
        let (_, cached) = text.split_once("streams, from cache\n").unwrap();
        let rows: Vec<&str> = cached.lines().skip(2).take_while(|line| line.len() > 1).collect();
        assert_eq!(rows.len(), 3);
        for row in rows {
            // Throughput twice, IOPS, and both latencies, which have a unit.
            let words: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(words.iter().filter(|word| **word == "c").count(), 5, "{row}");
            assert_eq!(words.last(), Some(&"cache"), "{row}");
        }
        assert!(text.contains("c: from the kernel's cache, not from the device"));
    }

    #[test]
    fn names_of_directories_cannot_drive_the_terminal() {
        let mut fixture = fixture::evaluated();
        fixture.answer = vec!["/srv/\u{1b}]0;owned\u{7}\u{202e} is fast".into()];
        fixture.campaign.host = "a\u{1b}[2J".into();
        let text = render(&fixture.input()).unwrap();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }

    #[test]
    fn an_empty_campaign_still_prints() {
        let fixture = fixture::campaign_of(Vec::new(), 0);
        let text = render(&fixture.input()).unwrap();
        assert!(text.contains("Repeat it: brickyard evaluate /srv/a --budget 1h"));
        assert!(text.contains("--budget 90m"));
    }
}
