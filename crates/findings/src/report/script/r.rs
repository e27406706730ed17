//! (pure) A script in R, which needs no package.

use super::{Language, folded, quoted};
use crate::report::Input;

/// R (R Language Definition 4.2, section 10.3.1: no NUL in a text, and no two kinds of escapes of
/// bytes and characters in one).
pub(super) const R: Language = Language {
    template: include_str!("trials.R"),
    text: |text| {
        quoted(text, |c| match u32::from(c) {
            0 => "\\\\0".to_owned(),
            number @ ..=0xffff => format!("\\u{number:04x}"),
            number => format!("\\U{number:08x}"),
        })
    },
    list: |parts| folded("c(", parts, ")"),
    table: rows,
    map: |pairs| {
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        folded("list(", &pairs, ")")
    },
    none: "NA",
};

/// Lines of one expression: `Rscript` reads one of megabytes in minutes, as it looks at the whole
/// of it again and again (R 4.2).
const LINES: usize = 50;

/// Lines as texts, some at a time. The comma at the end of each keeps its last field, which
/// `strsplit` would lose where it is empty.
fn rows(table: &str) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let chunks = lines.chunks(LINES).enumerate().map(|(place, lines)| {
        let lines: Vec<String> = lines.iter().map(|line| format!("\"{line},\"")).collect();
        format!("table_rows[[{}]] <- c(\n{})\n", place + 1, lines.join(",\n"))
    });
    chunks.collect()
}

/// Whether a file is such a script, of whatever version: how it begins.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    start.starts_with(b"# Trials of a storage server, measured by Brickyard: ")
}

/// A script that loads the trials into a data frame and draws the first plot.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    Ok(super::render(input, &R))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script of 10 000 trials held them in one text; `Rscript` was not done with it in ten
    /// minutes, and needs two seconds for many short expressions.
    #[test]
    fn no_expression_is_long_and_no_line_is_lost() {
        let table: String = (1..=10_001).map(|trial| format!("{trial},,2.5,\n")).collect();
        let text = rows(&table);
        let expressions: Vec<&str> = text.split("table_rows[[").skip(1).collect();
        assert_eq!(expressions.len(), 201);
        for (place, expression) in expressions.iter().enumerate() {
            assert!(expression.starts_with(&format!("{}]] <- c(\n", place + 1)));
            assert!(expression.lines().count() <= LINES + 1, "{expression}");
        }
        assert_eq!(text.matches(",,2.5,,\"").count(), 10_001);
        assert_eq!(rows(""), "");
    }
}
