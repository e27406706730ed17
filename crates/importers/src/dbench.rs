//! (pure) dbench 4: its closing table and its last line.
//!
//! dbench counts bytes in millions and averages after its own warm-up, which it makes a fifth of
//! the time limit or none, by its build; what it printed of that stands in the kept output. Waits
//! are printed in ms.

use serde_json::Map;

use super::{Form, Importer, Said};
use experiment::measurement::Note;

/// See [`Importer`].
pub const DBENCH: Importer = Importer {
    name: "dbench",
    about: "All that dbench 4 prints",
    forms: &[Form {
        bring: "all that it prints",
        recorded: &["4.00"],
        read: "throughput, latencies of each operation",
        not_read: "",
    }],
    words: &["dbench", "Dbench", "NTCreateX", "Deltree", "Throughput", "procs", "MaxLat"],
    mark: "line `dbench version 4.00`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("dbench version "))
}

/// The table's names for operations, and ours.
const OPERATIONS: [(&str, &str); 18] = [
    ("NTCreateX", "ntcreatex"),
    ("Close", "close"),
    ("Rename", "rename"),
    ("Unlink", "unlink"),
    ("Deltree", "deltree"),
    ("Mkdir", "mkdir"),
    ("Rmdir", "rmdir"),
    ("Qpathinfo", "qpathinfo"),
    ("Qfileinfo", "qfileinfo"),
    ("Qfsinfo", "qfsinfo"),
    ("Sfileinfo", "sfileinfo"),
    ("Find", "find"),
    ("WriteX", "writex"),
    ("ReadX", "readx"),
    ("LockX", "lockx"),
    ("UnlockX", "unlockx"),
    ("Flush", "flush"),
    ("Punch", "punch"),
];

/// One result for each closing line, which comes last and has its end.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    for line in text.split_inclusive('\n') {
        let (line, whole) = match line.strip_suffix('\n') {
            Some(line) => (line.trim_end_matches('\r'), true),
            None => (line, false),
        };
        if let Some(rest) = line.strip_prefix("dbench version ") {
            if said.is_some() {
                return Err("a run of it has no closing line".to_owned());
            }
            let version = rest.split(' ').next().unwrap_or_default().to_owned();
            said = Some(Said { version, ..Said::default() });
        } else if let (Some(one), true) = (&mut said, whole) {
            operation(one, line)?;
            if let Some(rest) = line.strip_prefix("Throughput ") {
                closing(one, rest)?;
                all.extend(said.take());
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: a run of it has no closing line".to_owned()),
        (None, true) => Err("there is no run of dbench in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// A row of the table: name, count, mean and longest wait in ms.
fn operation(said: &mut Said, line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, mean, max] = words.as_slice() else { return Ok(()) };
    let Some((_, ours)) = OPERATIONS.iter().find(|(theirs, _)| theirs == name) else {
        return Ok(());
    };
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("`{line}` in its table is no row of numbers"))
    };
    let done = number(count)?;
    said.add(format!("{ours}_count"), done, *count);
    // Of nothing done there is no wait; dbench divides by zero there.
    if done > 0.0 {
        said.add(format!("{ours}_latency_ns_mean"), number(mean)? * 1e6, format!("{mean} ms"));
        said.add(format!("{ours}_latency_ns_max"), number(max)? * 1e6, format!("{max} ms"));
    }
    Ok(())
}

/// `147.244 MB/sec  2 clients  2 procs  max_latency=34.265 ms`
fn closing(said: &mut Said, rest: &str) -> Result<(), String> {
    let wrong = || format!("`Throughput {rest}` is not its closing line");
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number =
        |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong);
    let before = |unit: &str| {
        let at = words.iter().position(|word| *word == unit).ok_or_else(wrong)?;
        at.checked_sub(1).map(|at| words[at]).ok_or_else(wrong)
    };
    let table = said.figures.len();
    let rate = before("MB/sec")?;
    match number(rate)? {
        // It takes its rate once a second, and prints 0 when it came to none.
        rate if rate <= 0.0 => said.notes.push(Note::new(
            "too-quick",
            "dbench ended before it had taken its first rate, and printed 0 for it.",
        )),
        value => said.add("throughput_bytes_per_s", value * 1e6, format!("{rate} MB/sec")),
    }
    let wait = words.iter().find_map(|word| word.strip_prefix("max_latency="));
    let wait = wait.ok_or_else(wrong)?;
    if words.last() != Some(&"ms") {
        return Err(wrong());
    }
    if number(wait)? > 0.0 {
        said.add("latency_ns_max", number(wait)? * 1e6, format!("{wait} ms"));
    }
    // What sums it all up stands first.
    said.figures.rotate_left(table);
    let clients: u64 = before("clients")?.parse().map_err(|_| wrong())?;
    said.settings = Map::from_iter([("streams".to_owned(), clients.into())]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const TWO: &str = include_str!("../../../tests/fixtures/tools/dbench-4.00-two-clients.txt");

    #[test]
    fn the_closing_line_and_the_table_are_read() {
        let all = parse(TWO).unwrap();
        assert_eq!(all.len(), 1);
        let closing = TWO.lines().last().unwrap();
        let rate: f64 = closing.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(figure(&all[0], "throughput_bytes_per_s"), Some(rate * 1e6));
        assert_eq!((all[0].version.as_str(), &all[0].settings["streams"]), ("4.00", &2.into()));
        for name in ["writex_count", "readx_latency_ns_mean", "unlink_latency_ns_max"] {
            assert!(figure(&all[0], name) > Some(0.0), "{name}");
        }
        assert_eq!(parse(&format!("{TWO}{TWO}")).unwrap().len(), 2);
        assert_eq!(all[0].figures[0].name, "throughput_bytes_per_s", "the sum stands first");
    }

    #[test]
    fn a_rate_that_dbench_never_took_is_no_rate_of_zero() {
        let rate = TWO.lines().last().unwrap().split_whitespace().nth(1).unwrap();
        let said = &parse(&TWO.replace(&format!("Throughput {rate}"), "Throughput 0")).unwrap()[0];
        assert_eq!(figure(said, "throughput_bytes_per_s"), None);
        assert_eq!(said.notes[0].kind, "too-quick");
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let cut = &TWO[..TWO.len() - 1];
        assert!(parse(cut).unwrap_err().contains("cut short"));
        assert!(parse(&format!("{cut}\n{cut}")).unwrap_err().contains("cut short"));
        assert!(parse("elephant\n").is_err());
        let odd = TWO.replace("MB/sec  2 clients", "MB/sec  many clients");
        assert!(parse(&odd).unwrap_err().contains("closing line"));
    }
}
