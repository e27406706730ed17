//! (pure) pgbench: its text, of PostgreSQL 9 to 17.
//!
//! Its rates are transactions per second: up to 13 with the time of connecting and without, since
//! 14 without that of the first connections, or, where each transaction connects anew (`-C`), with
//! all of it. Waits are in ms. Of several scripts each is a result, below that of all.

use std::collections::BTreeSet;

use experiment::measurement::Note;

use super::{Form, Importer, ToolResult};

/// See [`Importer`].
pub const PGBENCH: Importer = Importer {
    name: "pgbench",
    about: "All that pgbench prints of a run, of PostgreSQL 9 to 17",
    forms: &[Form {
        bring: "all that it prints",
        recorded: &["9.5", "12", "13", "14", "15.18", "15.20", "16.0", "17.6"],
        read: "transactions per second and latencies, of each script, what failed, was skipped, \
               retried or late, the time of connecting, and the latency of each statement (`-r`)",
        not_read: "what `-P` prints while it runs",
    }],
    words: &[
        "pgbench",
        "scaling factor",
        "query mode",
        "tps =",
        "number of clients",
        "latency average",
        "transaction type",
    ],
    mark: "line `transaction type: ...`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.starts_with("transaction type: ") || version(line).is_some() || rate(line).is_some()
    })
}

/// `pgbench (15.18 (Debian 15.18-0+deb12u1))`, and `pgbench (14.12 (Homebrew), server 16.3)`.
fn version(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pgbench (")?;
    let end = rest.find([' ', ')', ','])?;
    rest.get(..end).filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// `$ pgbench -c 10 -C -T 60`: whether a line was typed, and lets each transaction connect anew.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.any(|word| word.rsplit('/').next() == Some("pgbench"))
        && words.any(|word| word == "-C" || word == "--connect")
}

/// What is told of a run with `-C`.
const ANEW: &str = "each of its transactions connected anew (-C), which its latencies contain, and \
                    its rate with connecting";

/// Which of its time a rate of pgbench is of.
#[derive(Clone, Copy, PartialEq)]
enum RateScope {
    /// Up to 13 all of its time, with that of connecting.
    All,
    /// Up to 13 that without connecting, since 14 that after the first connections.
    Transactions,
    /// Since 14 with `-C`.
    Reconnecting,
}

/// `tps = 495.757652 (without initial connection time)`.
fn rate(line: &str) -> Option<(&str, Option<RateScope>)> {
    let (rate, rest) = line.strip_prefix("tps = ")?.split_once(' ')?;
    let of = match rest.trim_end() {
        "(including connections establishing)" => Some(RateScope::All),
        "(excluding connections establishing)" | "(without initial connection time)" => {
            Some(RateScope::Transactions)
        }
        "(including reconnection times)" => Some(RateScope::Reconnecting),
        _ => None,
    };
    Some((rate, of))
}

/// One result for each run, and one for each of several scripts of its.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut read = PgbenchParser::default();
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else { continue };
        read.line(line.trim(), line.starts_with([' ', '\t']))?;
    }
    read.end()
}

/// What was read so far of a text of pgbench.
#[derive(Default)]
struct PgbenchParser {
    all: Vec<ToolResult>,
    version: String,
    run: Option<PgbenchRun>,
    /// A script of the last run, and how many transactions that had.
    script: Option<(ToolResult, f64)>,
    /// Where the result of the last run is, of which scripts may follow.
    last: Option<usize>,
    scripts: BTreeSet<String>,
    /// Whether the command above a run had `-C`.
    reconnects: bool,
    /// Below the heading of statements: how many counts stand behind each latency.
    columns: Option<usize>,
    /// Whether the statements of the last run ended before another line.
    is_behind: bool,
    /// Whether there is a rate of a run whose beginning is not.
    has_stray: bool,
}

/// A run of pgbench that has begun.
#[derive(Default)]
struct PgbenchRun {
    said: ToolResult,
    clients: Option<f64>,
    /// Mean latency in s.
    latency: Option<f64>,
    /// Whether it was let run as fast as it can.
    is_limited: bool,
    with_connecting: Option<(f64, String)>,
    /// Whether the command above it had `-C`.
    reconnects: bool,
}

impl PgbenchParser {
    fn line(&mut self, line: &str, is_indented: bool) -> Result<(), String> {
        if is_indented && self.is_behind && is_row(line) {
            return Err(format!("`{line}` is of its statements and stands apart from them"));
        }
        if !is_indented && !line.is_empty() && self.columns.take().is_some() {
            self.is_behind = true;
        }
        if line.contains("Run was aborted; the above results are incomplete") {
            return Err("its run was aborted, and its results are incomplete".to_owned());
        }
        if let Some(version) = version(line) {
            version.clone_into(&mut self.version);
        } else if let Some(script) = line.strip_prefix("transaction type: ") {
            self.between()?;
            self.is_behind = false;
            let (version, title) = (std::mem::take(&mut self.version), script.to_owned());
            let said = ToolResult { version, title, ..ToolResult::default() };
            let reconnects = std::mem::take(&mut self.reconnects);
            self.run = Some(PgbenchRun { said, reconnects, ..PgbenchRun::default() });
            self.last = None;
        } else if let Some(run) = &mut self.run {
            if run.line(line)? {
                self.all.extend(self.run.take().map(|run| run.said));
                self.last = self.all.len().checked_sub(1);
                self.scripts.clear();
            }
        } else if let Some((rate, Some(_))) = rate(line) {
            // One that a person wrote down again is the same.
            let known = self.last.and_then(|at| self.all.get(at));
            let printed = format!("{rate} tps");
            self.has_stray |= known
                .is_none_or(|said| said.figures.iter().all(|figure| figure.printed != printed));
        } else {
            self.reconnects |= is_command(line);
            if self.last.is_some() {
                self.behind(line)?;
            }
        }
        Ok(())
    }

    /// Nothing may be open where another begins.
    fn between(&mut self) -> Result<(), String> {
        if self.run.is_some() {
            return Err("a run of it has no tps line".to_owned());
        }
        match self.script.take() {
            // A script that never ran has no latency.
            Some((said, _)) if said.figures.iter().any(|figure| figure.value > 0.0) => {
                Err(format!("its script {} has no latency", said.title))
            }
            _ => Ok(()),
        }
    }

    /// Lines below the rate of a run: of its scripts and statements.
    fn behind(&mut self, line: &str) -> Result<(), String> {
        let Some(of) = self.last.and_then(|at| self.all.get_mut(at)) else { return Ok(()) };
        if let Some(columns) = statements(line) {
            self.columns = Some(columns);
            self.is_behind = false;
        } else if let Some(columns) = self.columns.filter(|_| !line.is_empty()) {
            let version = of.version.clone();
            self.all.push(statement(line, columns, version)?);
        } else if let Some(script) = line.strip_prefix("SQL script ") {
            let total = figure(of, "transactions");
            let of_all = total.ok_or("a run of several scripts has no number of transactions")?;
            let version = of.version.clone();
            self.between()?;
            if !self.scripts.insert(script.to_owned()) {
                return Err(format!("its SQL script {script} stands there twice"));
            }
            let said = ToolResult {
                version,
                title: format!("SQL script {script}"),
                ..ToolResult::default()
            };
            self.script = Some((said, of_all));
        } else if let Some((said, of_all)) = &mut self.script
            && let Some(line) = line.strip_prefix("- ")
        {
            if of_script(said, line, *of_all)? {
                self.all.extend(self.script.take().map(|(said, _)| said));
            }
        } else if !self.scripts.is_empty() && line.starts_with("- latency ") {
            return Err(format!("`{line}` is of no script"));
        }
        Ok(())
    }

    fn end(mut self) -> Result<Vec<ToolResult>, String> {
        if self.run.is_some() {
            return Err("it was cut short: a run of it has no tps line".to_owned());
        }
        self.between().map_err(|why| format!("it was cut short: {why}"))?;
        if self.has_stray {
            return Err("it has a rate of a run that does not begin: bring all lines from \
                        `transaction type` on"
                .to_owned());
        }
        match self.all.is_empty() {
            true => Err("there is no run of pgbench in it".to_owned()),
            false => Ok(self.all),
        }
    }
}

fn figure(said: &ToolResult, name: &str) -> Option<f64> {
    said.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

impl PgbenchRun {
    /// A line of it; whether it was the last, as the last rate is.
    fn line(&mut self, line: &str) -> Result<bool, String> {
        let Some((word, of)) = rate(line) else { return self.sum(line).map(|()| false) };
        let of = of.ok_or_else(|| format!("`{line}` is no rate that is known"))?;
        let tps = number(word, line)?;
        let printed = format!("{word} tps");
        match of {
            RateScope::All => {
                if self.with_connecting.replace((tps, printed)).is_some() {
                    return Err("a run of it has two rates with connecting".to_owned());
                }
                return Ok(false);
            }
            RateScope::Transactions => {
                if let Some((slower, printed)) = self.with_connecting.clone() {
                    self.said.add("with_connecting_transactions_per_s", slower, printed);
                }
                if self.reconnects {
                    self.said.notes.push(Note::new("reconnecting", ANEW));
                }
                self.check(tps)?;
                self.said.add("transactions_per_s", tps, printed);
            }
            RateScope::Reconnecting => self.reconnecting(tps, printed),
        }
        Ok(true)
    }

    /// With `-C` rate and waits are of connecting as well: they have names of their own.
    fn reconnecting(&mut self, tps: f64, printed: String) {
        for figure in &mut self.said.figures {
            if figure.name.starts_with("latency_ns_") {
                figure.name = format!("reconnecting_{}", figure.name);
            }
        }
        self.said.add("reconnecting_transactions_per_s", tps, printed);
        self.said.notes.push(Note::new("reconnecting", ANEW));
    }

    /// No more can be done than there are clients, each with one transaction at a time.
    fn check(&self, tps: f64) -> Result<(), String> {
        // Without what it measures for `-P` and `-r` a latency is of all of the time, that of
        // connecting too, which a short run has much of.
        const MUCH: f64 = 1.5;
        if let Some((slower, _)) = &self.with_connecting {
            if *slower > tps {
                return Err("its tps with connecting is above that without".to_owned());
            }
            if tps > MUCH * slower {
                return Err(
                    "most of its time went into connecting, so that its rate without that \
                            says nothing: run it longer, and without -C"
                        .to_owned(),
                );
            }
        }
        match (self.clients, self.latency) {
            (Some(clients), Some(latency))
                if !self.is_limited && tps * latency > MUCH * clients =>
            {
                Err("its rate is more than its clients can do at its mean latency".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn sum(&mut self, line: &str) -> Result<(), String> {
        if let Some(clients) = line.strip_prefix("number of clients: ") {
            if let Ok(clients) = clients.parse::<u64>() {
                self.clients = Some(clients as f64);
                self.said.settings.insert("streams".to_owned(), clients.into());
            }
        } else if let Some(rest) = line.strip_prefix("rate limit schedule lag: avg ") {
            self.is_limited = true;
            let odd = || format!("`{line}` in its output makes no sense");
            let (mean, rest) = rest.split_once(" (max ").ok_or_else(odd)?;
            let max = rest.strip_suffix(") ms").ok_or_else(odd)?;
            for (name, word) in [("schedule_lag_ns_mean", mean), ("schedule_lag_ns_max", max)] {
                self.said.add(name, number(word, line)? * 1e6, format!("{word} ms"));
            }
            let text = "it was let run no faster than --rate said, and a latency counts from when \
                        its transaction was due";
            self.said.notes.push(Note::new("rate-limited", text));
        } else if let Some(rest) = line.strip_prefix("number of transactions above the ") {
            self.late(rest, line)?;
        } else if let Some(rest) = line.strip_prefix("number of transactions actually processed: ")
            && let Some((done, due)) = rest.split_once('/')
            && number(done, line)? < number(due, line)?
        {
            let text = format!("of {due} transactions only {done} were processed");
            self.said.notes.push(Note::new("unfinished", text));
            sum(&mut self.said, line)?;
        } else {
            sum(&mut self.said, line)?;
        }
        if line.starts_with("latency average") {
            self.latency = figure(&self.said, "latency_ns_mean").map(|ns| ns / 1e9);
        }
        Ok(())
    }

    /// `5.0 ms latency limit: 201/274 (73.358%)`, and up to 9.6 `201 (73.358 %)`.
    fn late(&mut self, rest: &str, line: &str) -> Result<(), String> {
        let odd = || format!("`{line}` in its output makes no sense");
        let (_, rest) = rest.split_once(" ms latency limit: ").ok_or_else(odd)?;
        let (counts, share) = rest.split_once(" (").ok_or_else(odd)?;
        let share = share.trim_end_matches(['%', ')', ' ']);
        let of = number(share, line)? / 100.0;
        if let Some((late, all)) = counts.split_once('/')
            && (number(late, line)? - of * number(all, line)?).abs()
                > 0.51 + 1e-4 * number(all, line)?
        {
            return Err(odd());
        }
        self.said.add("late_share", of, format!("{share} %"));
        Ok(())
    }
}

/// `statement latencies in milliseconds and failures:`: how many counts follow each.
fn statements(line: &str) -> Option<usize> {
    let line = line.trim_start_matches("- ");
    match line.strip_prefix("statement latencies in milliseconds")? {
        ":" => Some(0),
        " and failures:" | " and retries:" => Some(1),
        ", failures and retries:" => Some(2),
        _ => None,
    }
}

/// Whether a line has a latency in front, with three digits behind the point.
fn is_row(line: &str) -> bool {
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    word.parse::<f64>().is_ok() && word.split_once('.').is_some_and(|(_, it)| it.len() == 3)
}

/// `0.611           0  BEGIN;`, a result of its own.
fn statement(line: &str, columns: usize, version: String) -> Result<ToolResult, String> {
    let mut rest = line;
    let mut first = None;
    for _ in 0..=columns {
        let (word, behind) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        let value = number(word, line)?;
        first = first.or(Some((value, word)));
        rest = behind.trim_start();
    }
    let title = format!("statement {rest}");
    let mut said = ToolResult { version, title, ..ToolResult::default() };
    if let Some((value, word)) = first {
        said.add("statement_latency_ns_mean", value * 1e6, format!("{word} ms"));
    }
    Ok(said)
}

/// The number at the beginning of a word.
fn number(word: &str, line: &str) -> Result<f64, String> {
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("`{line}` in its output has no number"))
}

/// Lines of sums: how they begin, the figure's name, and what makes our unit of theirs. Up to
/// PostgreSQL 9.6 waits have a colon.
const LINES: [(&str, &str, f64, &str); 13] = [
    ("latency average = ", "latency_ns_mean", 1e6, "ms"),
    ("latency average: ", "latency_ns_mean", 1e6, "ms"),
    ("latency stddev = ", "latency_ns_stddev", 1e6, "ms"),
    ("latency stddev: ", "latency_ns_stddev", 1e6, "ms"),
    ("initial connection time = ", "initial_connection_ms", 1.0, "ms"),
    ("average connection time = ", "connection_ns_mean", 1e6, "ms"),
    ("number of transactions actually processed: ", "transactions", 1.0, ""),
    ("number of failed transactions: ", "failed_transactions", 1.0, ""),
    ("number of transactions skipped: ", "skipped_transactions", 1.0, ""),
    ("number of transactions retried: ", "retried_transactions", 1.0, ""),
    ("total number of retries: ", "retries", 1.0, ""),
    ("number of serialization failures: ", "serialization_failures", 1.0, ""),
    ("number of deadlock failures: ", "deadlock_failures", 1.0, ""),
];

fn sum(said: &mut ToolResult, line: &str) -> Result<(), String> {
    let found = LINES.iter().find_map(|(begin, name, factor, unit)| {
        Some((line.strip_prefix(begin)?, *name, *factor, *unit))
    });
    let Some((rest, name, factor, unit)) = found else { return Ok(()) };
    let word = rest.split([' ', '/']).next().unwrap_or_default();
    said.add(name, number(word, line)? * factor, format!("{word} {unit}").trim_end());
    Ok(())
}

/// A line of a script, `388 transactions (26.7% of total, tps = 193.221318)`, which since 17 is
/// two; whether it was the last, as the deviation of its latency is.
fn of_script(said: &mut ToolResult, line: &str, of_all: f64) -> Result<bool, String> {
    let odd = || format!("`{line}` of a script makes no sense");
    let done = if let Some((done, rest)) = line.split_once(" transactions (") {
        let rate = rest.split_once("tps = ").and_then(|(_, rest)| rest.strip_suffix(')'));
        if rate.is_none() {
            return Ok(false);
        }
        Some((done, rate))
    } else if let Some(rest) = line.strip_prefix("number of transactions actually processed: ") {
        let (done, rest) = rest.split_once(" (tps = ").ok_or_else(odd)?;
        Some((done, rest.strip_suffix(')')))
    } else {
        None
    };
    if let Some((done, rate)) = done {
        let rate = rate.ok_or_else(odd)?;
        let many = number(done, line)?;
        if many > of_all {
            return Err(format!("`{line}` has more transactions than all scripts"));
        }
        said.add("transactions", many, done);
        said.add("transactions_per_s", number(rate, line)?, format!("{rate} tps"));
    } else {
        sum(said, line)?;
    }
    Ok(line.starts_with("latency stddev"))
}

#[cfg(test)]
mod tests;
