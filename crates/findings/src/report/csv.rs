//! (pure) One line a trial, for spreadsheets and scripts (RFC 4180).

use super::{Input, columns};

/// A line a trial, in the columns of [`columns::trial_columns`].
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let columns = columns::trial_columns(input);
    let head: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut text = line(&head);
    for (record, view) in input.records.iter().zip(&input.trials) {
        let cells = columns.iter().map(|column| column.cell(record, view));
        let cells: Vec<String> =
            cells.map(|cell| cell.map_or(String::new(), |cell| cell.to_string())).collect();
        text.push_str(&line(&cells));
    }
    Ok(text)
}

/// Whether a file is such a table, of whatever version: its first columns.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    let head = columns::of_every_trial().join(",");
    start.strip_prefix(head.as_bytes()).is_some_and(|rest| rest.starts_with(b","))
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
    // A spreadsheet runs a text that begins like a formula, and passes over a tab or a line end
    // before it (OWASP, "CSV Injection"); numbers are written by us.
    let begins = ['=', '+', '-', '@', '\t', '\r', '\n'];
    let formula = text.starts_with(begins) && !is_number(text);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r', '\t']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// A number as we print it, and nothing that only parses as one: `-inf` and `+nan` are words.
fn is_number(text: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit() || "-+.eE".contains(c);
    text.chars().all(digits) && text.parse::<f64>().is_ok()
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

    /// A name that began with a tab or a carriage return before its `=` was run as a formula: the
    /// guard looked for the sign alone.
    #[test]
    fn a_tab_or_a_line_end_before_a_formula_is_no_way_around_the_guard() {
        for (text, guarded) in [
            ("\t=1+1", "\"'\t=1+1\""),
            ("\r=1+1", "\"'\r=1+1\""),
            ("\n@SUM(A1)", "\"'\n@SUM(A1)\""),
            ("\r\n-1", "\"'\r\n-1\""),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-inf", "'-inf"),
            ("a\tb", "\"a\tb\""),
        ] {
            assert_eq!(field(text), guarded, "{text:?}");
        }
        for number in ["-1", "-0.25", "-1e-7", "-1.5e300", "0", "+5"] {
            assert_eq!(field(number), number);
        }
    }
}
