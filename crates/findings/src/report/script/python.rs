//! (pure) A script in Python 3, for pandas and matplotlib.

use super::{Language, folded, quoted};
use crate::report::Input;

/// Python (The Python Language Reference 3.8, section 2.4.1).
pub(super) const PYTHON: Language = Language {
    template: include_str!("trials.py"),
    text: |text| {
        quoted(text, |c| match u32::from(c) {
            number @ ..=0xff => format!("\\x{number:02x}"),
            number @ ..=0xffff => format!("\\u{number:04x}"),
            number => format!("\\U{number:08x}"),
        })
    },
    list: |parts| folded("[", parts, "]"),
    table: str::to_owned,
    map: |pairs| {
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
        folded("{", &pairs, "}")
    },
    none: "None",
};

/// Whether a file is such a script, of whatever version: how it begins.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    start.starts_with(
        b"#!/usr/bin/env python3\n\"\"\"Trials of a storage server, measured by Brickyard: ",
    )
}

/// A script that loads the trials into a data frame and draws the first plot.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    Ok(super::render(input, &PYTHON))
}
