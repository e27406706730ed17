//! `--format`: which of a command's ways to print is meant.

use super::Common;
use experiment::knob;
use host::sys::Error;

/// The format that was typed; else JSON where `--json` asks for it, else `usual`.
///
/// # Errors
/// When none of `all` bears that name, which `name` tells of each.
pub fn chosen<'a, F>(
    all: &'a [F],
    name: impl Fn(&F) -> &'static str,
    typed: Option<&str>,
    common: &Common,
    usual: &'static str,
) -> Result<&'a F, Error> {
    let wanted = typed.unwrap_or(if common.json { "json" } else { usual });
    all.iter().find(|format| name(format) == wanted).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(name).collect();
        let hint = knob::meant(wanted, names.iter().copied(), |near| format!("--format {near}"))
            .unwrap_or_else(|| format!("choose one of {}", names.join(", ")));
        Error::new(format!("cannot print as `{wanted}`"), "there is no such format").hint(hint)
    })
}
