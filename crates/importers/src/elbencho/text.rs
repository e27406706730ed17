//! (pure) The table that elbencho prints for people: of each phase a line for each rate, in one
//! column up to the end of the first thread and in one up to the last, and a line `---` behind it.

use super::phase::{
    Elapsed, ElbenchoDirection, ElbenchoPhase, MIB, Times, entries_of, is_name, whole,
};
use crate::ToolResult;

/// Whether a line is the head of its table, or the first of a phase.
pub fn knows(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&["OPERATION", "RESULT", "TYPE", "FIRST", "DONE"]) || begins(line).is_some()
}

/// One result for each phase with rates, with the number of its first line; but of one whose name
/// stands behind `before` in the line beneath it, which tells it better.
///
/// # Errors
/// When a phase is not whole, not read, or contradicts itself.
pub fn parse(text: &str, before: &str) -> Result<Vec<(usize, ToolResult)>, String> {
    let mut all = Vec::new();
    let mut open: Option<(usize, ElbenchoPhase)> = None;
    let mut done: Option<(usize, ElbenchoPhase)> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if let Some(of) = done.take() {
            let again = line.strip_prefix(before).and_then(|rest| rest.split('"').nth(1));
            if again != Some(of.1.name.as_str()) {
                close(&mut all, of)?;
            }
        }
        if let Some((name, elapsed)) = begins(line) {
            if let Some((_, phase)) = &open {
                return Err(no_end(phase));
            }
            entries_of(name)?;
            let elapsed = elapsed.ok_or_else(|| no_sense(line))?;
            open = Some((
                number,
                ElbenchoPhase { name: name.to_owned(), elapsed, ..ElbenchoPhase::default() },
            ));
        } else if line == "---" {
            done = open.take();
        } else if let Some((_, phase)) = &mut open {
            row(phase, line)?;
        } else if is_old(line) {
            return Err("its text is of elbencho 1.0 to 1.2, which is not read; bring its CSV \
                        (--csvfile=FILE)"
                .to_owned());
        }
    }
    if let Some(of) = done {
        close(&mut all, of)?;
    }
    match open {
        Some((_, phase)) => Err(no_end(&phase)),
        None => Ok(all),
    }
}

/// What elbencho tells nothing of but its time has no figures.
fn close(
    all: &mut Vec<(usize, ToolResult)>,
    (number, phase): (usize, ElbenchoPhase),
) -> Result<(), String> {
    all.extend(phase.said()?.map(|said| (number, said)));
    Ok(())
}

fn no_end(phase: &ElbenchoPhase) -> String {
    format!("it was cut short: its phase {} has no line `---` behind it", phase.name)
}

fn no_sense(line: &str) -> String {
    format!("its line `{line}` makes no sense")
}

/// `WRITE  Elapsed time :  2m3.241s  2m5.755s`, and before 3.0 `WRITE  Elapsed ms :  76564  90348`:
/// the phase and how long it took, where that makes sense.
fn begins(line: &str) -> Option<(&str, Option<[Elapsed; 2]>)> {
    let (name, rest) = line.trim().split_once(' ')?;
    let (what, times) = rest.split_once(':')?;
    let is_ms = match what.trim() {
        "Elapsed ms" => true,
        "Elapsed time" => false,
        _ => return None,
    };
    let one = |text: &str| match is_ms {
        true => whole(text).map(|ms| Elapsed { seconds: ms / 1000.0, step: 0.001 }),
        false => elapsed(text),
    };
    let times: Vec<&str> = times.split_whitespace().collect();
    let both = match times[..] {
        [first, last] => one(first).zip(one(last)),
        _ => None,
    };
    is_name(name).then_some((name, both.map(|(first, last)| [first, last])))
}

/// `WRITE  time ms :  10  12` and `WRITE  MiB/s : ...`.
fn is_old(line: &str) -> bool {
    let name = line.split_once(' ').filter(|(name, _)| entries_of(name).is_ok());
    name.is_some_and(|(_, rest)| rest.trim_start().starts_with("time ms  "))
}

/// `82ms`, `30.140s`, `2m3.241s` and `3h25m45s` (`UnitTk::elapsedMSToHumanStr`).
fn elapsed(text: &str) -> Option<Elapsed> {
    if let Some(ms) = text.strip_suffix("ms") {
        return whole(ms).map(|ms| Elapsed { seconds: ms / 1000.0, step: 0.001 });
    }
    let (hours, rest) = match text.split_once('h') {
        Some((hours, rest)) => (Some(whole(hours)?), rest),
        None => (None, text),
    };
    let (minutes, rest) = match rest.split_once('m') {
        Some((minutes, rest)) => (whole(minutes)?, rest),
        None => (0.0, rest),
    };
    let seconds = rest.strip_suffix('s')?;
    let (seconds, step) = match (seconds.split_once('.'), hours) {
        (Some((seconds, ms)), None) if ms.len() == 3 => {
            (whole(seconds)? + whole(ms)? / 1000.0, 0.001)
        }
        (None, Some(_)) => (whole(seconds)?, 1.0),
        _ => return None,
    };
    Some(Elapsed { seconds: hours.unwrap_or(0.0) * 3600.0 + minutes * 60.0 + seconds, step })
}

/// What it counts besides bytes.
const ENTRIES: [&str; 4] = ["Files", "Dirs", "Objects", "Buckets"];

/// A line of an open phase; others, and what stands between them, say nothing.
fn row(phase: &mut ElbenchoPhase, line: &str) -> Result<(), String> {
    let Some((what, rest)) = line.split_once(" : ").or_else(|| line.split_once(':')) else {
        return Ok(());
    };
    let what = what.trim();
    if let Some((of, kind)) = what.split_once(" lat") {
        return times(phase, of.trim(), kind, rest, line);
    }
    let both = || {
        let values: Vec<&str> = rest.split_whitespace().collect();
        match values[..] {
            [first, last] => Ok([first, last].map(whole)),
            _ => Err(no_sense(line)),
        }
        .and_then(|[first, last]| first.zip(last).ok_or_else(|| no_sense(line)))
        .map(|(first, last)| [first, last])
    };
    let (kind, is_read) = match what.strip_suffix(" read") {
        Some(kind) => (kind, true),
        None => (what.strip_suffix(" write").unwrap_or(what), false),
    };
    // The sum of both ways is theirs.
    let sum = what.strip_suffix("/s total").is_some() || what == "IOPS total";
    let way = if is_read { &mut phase.reads } else { &mut phase.one };
    let place = match kind {
        _ if sum => return Ok(()),
        "IOPS" => &mut way.iops,
        "Throughput MiB/s" | "MiB/s" => {
            way.unit = Some(("MiB/s", MIB));
            &mut way.bytes.rate
        }
        "Throughput MB/s" | "MB/s" => {
            way.unit = Some(("MB/s", 1e6));
            &mut way.bytes.rate
        }
        "Total MiB" | "MiB" => &mut way.bytes.total,
        _ => {
            let rate = kind.strip_suffix("/s");
            let kind = rate.or_else(|| kind.strip_suffix(" total"));
            let kind = kind.or_else(|| what.strip_prefix("Total ")).unwrap_or(what);
            let kind = kind.split(' ').next().unwrap_or(kind);
            let is_dirs = kind.eq_ignore_ascii_case("dirs");
            if !ENTRIES.iter().any(|known| known.eq_ignore_ascii_case(kind))
                // Directories of a phase of files, with --dirstats.
                || (is_dirs && !phase.name.contains("DIRS"))
            {
                return Ok(());
            }
            phase.objects = kind.eq_ignore_ascii_case("objects");
            let way = if is_read { &mut phase.reads } else { &mut phase.one };
            if rate.is_some() { &mut way.entries.rate } else { &mut way.entries.total }
        }
    };
    match place.replace(both()?) {
        None => Ok(()),
        Some(_) => Err(format!("its phase {} has a line `{what}` twice", phase.name)),
    }
}

/// `IO latency : [ min=1.28ms avg=1.60ms max=2.93ms ]`, before 3.0 `IO lat us : [ min=91 ... ]` and
/// before 2.0 `IO latency us`; and percentiles, `IO lat % us : [ 1%<=91 50%<=128 ... ]`.
fn times(
    phase: &mut ElbenchoPhase,
    of: &str,
    kind: &str,
    rest: &str,
    line: &str,
) -> Result<(), String> {
    let list = rest.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let list = list.ok_or_else(|| no_sense(line))?;
    let (of, is_read) = match of.strip_suffix(" rd") {
        Some(of) => (of, true),
        None => (of.strip_suffix(" wr").unwrap_or(of), false),
    };
    if of != "IO" && !ENTRIES.contains(&of) {
        return Ok(());
    }
    let way = if is_read { &mut phase.reads } else { &mut phase.one };
    let twice = format!("its phase {} has a line of latencies twice", phase.name);
    match kind.trim() {
        "ency" | "ency us" | "us" => {
            let times = three(list, kind.trim() != "ency").ok_or_else(|| no_sense(line))?;
            let place = if of == "IO" { &mut way.io_times } else { &mut way.entry_times };
            match place.replace(times) {
                None => Ok(()),
                Some(_) => Err(twice),
            }
        }
        "% us" | "%ile us" => percentiles(way, of, list, line, twice),
        _ => Ok(()),
    }
}

fn percentiles(
    way: &mut ElbenchoDirection,
    of: &str,
    list: &str,
    line: &str,
    twice: String,
) -> Result<(), String> {
    if list.contains("Histogram exceeded") {
        return Ok(());
    }
    let mut last = 0.0;
    let mut all = Vec::new();
    for word in list.split_whitespace() {
        let (percent, us) = word.split_once("%<=").ok_or_else(|| no_sense(line))?;
        let number = decimal(us).filter(|number| *number >= last).ok_or_else(|| no_sense(line))?;
        last = number;
        let known = [("50", "p50"), ("99", "p99"), ("99.9", "p999")];
        if let Some((_, ours)) = known.into_iter().find(|(known, _)| *known == percent) {
            all.push((ours.to_owned(), number * 1000.0, format!("{us} us")));
        }
    }
    let place = if of == "IO" { &mut way.io_percentiles } else { &mut way.entry_percentiles };
    if !place.is_empty() {
        return Err(twice);
    }
    *place = all;
    Ok(())
}

/// `min=91 avg=120 max=1583` of us, and since 3.0 each with a unit of its own.
fn three(list: &str, is_us: bool) -> Option<Times> {
    let words: Vec<&str> = list.split_whitespace().collect();
    let [low, mean, high] = words[..] else { return None };
    let one = |word: &str, key: &str| {
        let text = word.strip_prefix(key)?;
        let (number, factor) = match (is_us, text) {
            (true, number) => (number, 1e3),
            (false, text) => match (text.strip_suffix("us"), text.strip_suffix("ms")) {
                (Some(number), _) => (number, 1e3),
                (_, Some(number)) => (number, 1e6),
                _ => (text.strip_suffix('s')?, 1e9),
            },
        };
        let unit = if is_us { " us" } else { "" };
        Some(((decimal(number)? * factor).round(), format!("{text}{unit}")))
    };
    Some([one(low, "min=")?, one(mean, "avg=")?, one(high, "max=")?])
}

fn decimal(text: &str) -> Option<f64> {
    let good = text.starts_with(|c: char| c.is_ascii_digit())
        && text.len() < 18
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|number| good && number.is_finite())
}
