//! (pure) One line a trial, for spreadsheets and scripts (RFC 4180).

use std::collections::BTreeSet;

use super::{Input, TrialView};
use crate::measurement::{Outcome, Record, machine};

/// Columns: what the trial was, its verdicts, every setting, every figure with the ends of its
/// interval, what the machine did. Numbers are in the units of the JSON contract.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let trials = || input.records.iter().zip(&input.trials);
    let settings: BTreeSet<&str> = trials()
        .flat_map(|(record, _)| record.trial.settings.iter().map(|(knob, _)| knob))
        .collect();
    let figures: BTreeSet<&str> =
        trials().flat_map(|(_, view)| view.figures.keys().map(AsRef::as_ref)).collect();
    let mut head: Vec<String> =
        ["trial", "replicate", "group", "outcome", "reason", "origin", "steady", "notes"]
            .map(str::to_owned)
            .to_vec();
    head.extend(settings.iter().map(|knob| (*knob).to_owned()));
    for name in &figures {
        head.extend(["", "_low", "_high"].map(|end| format!("{name}{end}")));
    }
    head.extend(MACHINE.map(str::to_owned));
    let mut text = line(&head);
    for (record, view) in trials() {
        text.push_str(&line(&cells(record, view, &settings, &figures)));
    }
    Ok(text)
}

const MACHINE: [&str; 3] = ["cpu_busy_share", "interrupts_per_s", "context_switches_per_s"];

fn cells(
    record: &Record,
    view: &TrialView,
    settings: &BTreeSet<&str>,
    figures: &BTreeSet<&str>,
) -> Vec<String> {
    let trial = &record.trial;
    let reason = match &record.outcome {
        Outcome::Failed(why) | Outcome::Skipped(why) => why.clone(),
        Outcome::Done(_) | Outcome::Interrupted => String::new(),
    };
    let kinds: Vec<&str> = view.notes.iter().map(|note| note.kind.as_str()).collect();
    let mut cells = vec![
        trial.number.to_string(),
        trial.replicate.to_string(),
        trial.group.clone(),
        record.outcome.name().to_owned(),
        reason,
        view.origin.as_ref().map_or(String::new(), |origin| origin.verdict.name().to_owned()),
        view.steady.map_or(String::new(), |steady| steady.to_string()),
        kinds.join(" "),
    ];
    for knob in settings {
        let held = trial.settings.has(knob).then(|| trial.settings.get(knob));
        // As in JSON: sizes in bytes, times in ns.
        cells.push(match held.map(serde_json::to_value) {
            Some(Ok(serde_json::Value::String(word))) => word,
            Some(Ok(json)) => json.to_string(),
            _ => String::new(),
        });
    }
    for name in figures {
        let estimate = view.figures.get(*name);
        let interval = estimate.and_then(|estimate| estimate.interval);
        cells.push(number(estimate.map(|estimate| estimate.value)));
        cells.push(number(interval.map(|interval| interval.low)));
        cells.push(number(interval.map(|interval| interval.high)));
    }
    let counted = record.outcome.measurement().map(machine::counters).unwrap_or_default();
    cells.extend(MACHINE.map(|name| number(counted.get(name).copied())));
    cells
}

/// A number that is finite; nothing for others.
pub(super) fn number(number: Option<f64>) -> String {
    number.filter(|number| number.is_finite()).map_or(String::new(), |number| number.to_string())
}

/// One line of fields, each quoted where it must be.
pub(super) fn line(cells: &[String]) -> String {
    let quoted: Vec<String> = cells.iter().map(|cell| field(cell)).collect();
    quoted.join(",") + "\n"
}

fn field(text: &str) -> String {
    // A spreadsheet would run a text that begins like a formula; numbers are written by us.
    let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn every_line_has_as_many_fields_as_the_head() {
        let fixture = fixture::evaluated();
        let text = render(&fixture.input()).unwrap();
        let fields = |line: &str| {
            let mut quoted = false;
            let commas = line.chars().filter(|c| {
                quoted ^= *c == '"';
                *c == ',' && !quoted
            });
            commas.count() + 1
        };
        let head = fields(text.lines().next().unwrap());
        assert!(head > 40, "{head}");
        assert_eq!(text.lines().count(), fixture.records.len() + 1);
        for line in text.lines() {
            assert_eq!(fields(line), head, "{line}");
        }
    }

    #[test]
    fn quotes_commas_and_formulas_are_harmless() {
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(field("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(field("-1.5"), "-1.5");
    }
}
