//! (pure) pgbench: its text, of every version of PostgreSQL.
//!
//! Its rates are transactions per second without the time of connecting.

use serde_json::Map;

use super::{Form, Importer, Said};

/// See [`Importer`].
pub const PGBENCH: Importer = Importer {
    name: "pgbench",
    about: "All that pgbench prints, without -C",
    forms: &[Form {
        bring: "all that it prints",
        recorded: &["13", "15.18"],
        read: "transactions per second and latencies",
        not_read: "-C",
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
    text.lines().any(|line| line.starts_with("pgbench (") || line.starts_with("transaction type: "))
}

/// One result for each run, which is whole when its last `tps` line is: that follows all
/// others. Up to PostgreSQL 13 there are two, with the time of connecting in it and without.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    let mut version = String::new();
    let mut connecting: Option<f64> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        if let Some(rest) = line.strip_prefix("pgbench (") {
            version = rest.split([' ', ')']).next().unwrap_or_default().to_owned();
        } else if let Some(script) = line.strip_prefix("transaction type: ") {
            if said.is_some() {
                return Err("a run of it has no tps line".to_owned());
            }
            let (version, title) = (std::mem::take(&mut version), script.to_owned());
            said = Some(Said { version, title, settings: Map::new(), ..Said::default() });
            connecting = None;
        } else if let Some(one) = &mut said {
            match line.strip_prefix("tps = ").and_then(|rest| rest.split_once(' ')) {
                Some((rate, "(including connections establishing)")) => {
                    connecting = Some(number(rate, line)?);
                }
                Some((_, "(including reconnection times)")) => return Err(RECONNECTS.to_owned()),
                Some((rate, WITHOUT | WITHOUT_UP_TO_13)) => {
                    let tps = number(rate, line)?;
                    if connecting.is_some_and(|slower| slower > tps) {
                        return Err("its tps with connecting is above that without".to_owned());
                    }
                    one.add("transactions_per_s", tps, format!("{rate} tps"));
                    all.extend(said.take());
                }
                Some(_) => return Err(format!("`{line}` is no rate that is known")),
                None => sum(one, line)?,
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: a run of it has no tps line".to_owned()),
        (None, true) => Err("there is no run of pgbench in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// What stands behind the rate that we take, and what did up to PostgreSQL 13.
const WITHOUT: &str = "(without initial connection time)";
const WITHOUT_UP_TO_13: &str = "(excluding connections establishing)";
const RECONNECTS: &str = "each of its transactions connects anew (pgbench -C), and its rate is of \
                          both; run it without -C";

fn number(word: &str, line: &str) -> Result<f64, String> {
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("`{line}` in its output has no number"))
}

/// Lines of sums: how they begin, the figure's name, and what makes our unit of theirs. Up to
/// PostgreSQL 9.6 waits have a colon.
const LINES: [(&str, &str, f64, &str); 7] = [
    ("latency average = ", "latency_ns_mean", 1e6, "ms"),
    ("latency average: ", "latency_ns_mean", 1e6, "ms"),
    ("latency stddev = ", "latency_ns_stddev", 1e6, "ms"),
    ("latency stddev: ", "latency_ns_stddev", 1e6, "ms"),
    ("initial connection time = ", "initial_connection_ms", 1.0, "ms"),
    ("number of transactions actually processed: ", "transactions", 1.0, ""),
    ("number of failed transactions: ", "failed_transactions", 1.0, ""),
];

fn sum(said: &mut Said, line: &str) -> Result<(), String> {
    if let Some(clients) = line.strip_prefix("number of clients: ")
        && let Ok(clients) = clients.parse::<u64>()
    {
        said.settings.insert("streams".to_owned(), clients.into());
    }
    let found = LINES.iter().find_map(|(begin, name, factor, unit)| {
        Some((line.strip_prefix(begin)?, *name, *factor, *unit))
    });
    let Some((rest, name, factor, unit)) = found else { return Ok(()) };
    let word = rest.split([' ', '/']).next().unwrap_or_default();
    said.add(name, number(word, line)? * factor, format!("{word} {unit}").trim_end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const TIME: &str = include_str!("../../../tests/fixtures/tools/pgbench-15.18-time.txt");
    const COUNT: &str =
        include_str!("../../../tests/fixtures/tools/pgbench-15.18-transactions.txt");
    const OLD: &str = include_str!("../../../tests/fixtures/tools/pgbench-13-time.txt");

    #[test]
    fn transactions_and_their_mean_wait_are_read() {
        let said = &parse(TIME).unwrap()[0];
        assert_eq!(said.version, "15.18");
        assert_eq!(figure(said, "transactions_per_s"), Some(495.757652));
        assert_eq!(figure(said, "latency_ns_mean"), Some(4_034_000.0));
        assert_eq!(figure(said, "failed_transactions"), Some(0.0));
        assert_eq!(said.settings["streams"], 2);
        let count = &parse(COUNT).unwrap()[0];
        assert_eq!(figure(count, "transactions"), Some(50.0));
        assert_eq!(parse(&format!("{TIME}{COUNT}")).unwrap().len(), 2);
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let end = TIME.find("tps = ").unwrap();
        assert!(parse(&TIME[..end + 8]).unwrap_err().contains("cut short"));
        assert!(parse(&format!("{}{COUNT}", &TIME[..end])).unwrap_err().contains("no tps line"));
        assert!(parse(&TIME.replace("tps = 4", "tps = x")).unwrap_err().contains("no number"));
    }

    /// Up to PostgreSQL 13 a run ends with two rates: "it was cut short: a run of it has no tps
    /// line".
    #[test]
    fn of_two_rates_the_one_without_connecting_is_taken() {
        let all = parse(OLD).unwrap();
        let said = &all[0];
        assert_eq!(figure(said, "transactions_per_s"), Some(13.062579));
        assert_eq!(figure(said, "latency_ns_mean"), Some(1108.418 * 1e6));
        assert_eq!(figure(said, "latency_ns_stddev"), Some(760.944 * 1e6));
        assert_eq!(figure(said, "transactions"), Some(77.0));
        assert_eq!(said.settings["streams"], 16);
        assert_eq!(PGBENCH.read(OLD).unwrap(), all);
        // Since PostgreSQL 10 waits have an equals sign.
        let newer = OLD.replace("latency average: ", "latency average = ");
        assert_eq!(parse(&newer).unwrap(), all);
        let one = OLD.replace("tps = 13.062579 (excluding connections establishing)\n", "");
        assert!(parse(&one).unwrap_err().contains("no tps line"));
        let turned = OLD.replace("12.580114", "13.580114");
        assert!(parse(&turned).unwrap_err().contains("above that without"));
        let anew = TIME.replace("without initial connection time", "including reconnection times");
        assert!(parse(&anew).unwrap_err().contains("without -C"));
        let other = TIME.replace("without initial", "with initial");
        assert!(parse(&other).unwrap_err().contains("no rate that is known"));
    }
}
