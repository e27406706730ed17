//! (pure) IOR's CSV, of 4.0 and later: a line for each repetition and way, below a head for each
//! test. It has no end, so each line is a result of its own.

use super::summary::{IorNumber, MIB};
use crate::ToolResult;

/// Why a file is refused.
pub const NO_RATES: &str = "the CSV of IOR 3.2 and 3.3 has no rates; run it without \
                            summaryFormat=CSV, or with summaryFormat=JSON and 3.3";

/// Of `PrintTableHeader`.
const HEAD: &str = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),\
                    total(s),numTasks,iter";
const WORDS: usize = 12;

/// Whether a text has lines of it.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| is_head(line) || has_no_rates(line))
}

fn is_head(line: &str) -> bool {
    line.starts_with("access,bw(MiB/s),")
}

/// In 3.2 and 3.3 it is one line of settings, without anything between them.
fn has_no_rates(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(|c: char| c.is_ascii_digit())
        && line.contains("summaryFormat=CSV")
        && (line.contains("single-shared-file") || line.contains("file-per-process"))
}

/// One result a line.
///
/// # Errors
/// When a line below a head is of another form, or stands there twice.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    // The ways and repetitions since the last head.
    let mut seen: Option<Vec<(String, u64)>> = None;
    for line in text.split_inclusive('\n') {
        if has_no_rates(line) {
            return Err(NO_RATES.to_owned());
        }
        let Some(line) = line.strip_suffix('\n').map(str::trim) else { continue };
        if is_head(line) {
            if line != HEAD {
                return Err("its CSV has other columns than that of IOR 4".to_owned());
            }
            seen = Some(Vec::new());
            continue;
        }
        let (Some(known), true) = (&mut seen, line.contains(',')) else { continue };
        let words: Vec<&str> = line.split(',').collect();
        if !matches!(words.first(), Some(&("write" | "read"))) || words.len() != WORDS {
            return Err(format!("`{line}` is no line of its CSV"));
        }
        let (of, said) = repetition(&words).ok_or_else(|| format!("`{line}` has no number"))?;
        if known.last().is_some_and(|(_, before)| of.1 < *before) || known.contains(&of) {
            return Err(format!("repetition {} of its {} stands there twice", of.1, of.0));
        }
        // None that is further back is asked for again.
        known.retain(|(_, repetition)| *repetition == of.1);
        known.push(of);
        all.push(said);
    }
    match (seen, all.is_empty()) {
        (Some(_), true) => Err("its CSV has no line below its head".to_owned()),
        _ => Ok(all),
    }
}

fn repetition(words: &[&str]) -> Option<((String, u64), ToolResult)> {
    let way = *words.first()?;
    let rate = IorNumber::parse(words.get(1)?).ok()?;
    let whole = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let transfer = words.get(5)?.parse::<f64>().ok().filter(|kib| *kib > 0.0 && *kib < 1e12)?;
    let tasks = whole(10)?;
    let iteration = whole(11)?;
    // KiB with four digits behind the point: whole bytes.
    let transfer = (transfer * 1024.0).round() as u64;
    let settings = [("streams", tasks), ("block-size", transfer)];
    let settings = settings.into_iter().map(|(knob, value)| (knob.to_owned(), value.into()));
    let mut said = ToolResult {
        title: format!("{way}, repetition {iteration}"),
        settings: settings.collect(),
        ..ToolResult::default()
    };
    let printed = format!("{} MiB/s", rate.printed);
    said.add(format!("{way}_throughput_bytes_per_s"), rate.value * MIB, printed);
    Some(((way.to_owned(), iteration), said))
}
