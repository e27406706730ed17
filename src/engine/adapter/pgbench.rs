//! (pure) pgbench 15: its text.
//!
//! A trial of it needs a database server on the target, started and stopped by us, which no engine
//! does yet: it is refused. Rates are transactions per second without the time of connecting.

use serde_json::Map;

use super::{Adapter, Asked, Launch, Said};

pub const PGBENCH: Adapter = Adapter {
    name: "pgbench",
    about: "PostgreSQL, by the installed pgbench: its results can be imported, not yet measured",
    program: "pgbench",
    get: "apt-get install postgresql",
    asks_version: &["--version"],
    launch,
    parse,
    knows,
};

fn launch(_: &Asked<'_>) -> Result<Launch, String> {
    Err("pgbench needs a PostgreSQL server whose data lies on the target, and none is started yet; \
         run it against a server of yours, and bring what it prints with `brickyard import FILE` \
         (pgbench -c 4 -T 60 > FILE)"
        .to_owned())
}

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("pgbench (") || line.starts_with("transaction type: "))
}

/// One result for each run; a run is whole when its `tps` line is, which follows all other sums.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    let mut version = String::new();
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
        } else if let Some(one) = &mut said {
            sum(one, line)?;
            if line.starts_with("tps = ") && line.contains("without initial connection") {
                all.extend(said.take());
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: a run of it has no tps line".to_owned()),
        (None, true) => Err("there is no run of pgbench in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// Lines of sums: how they begin, the figure's name, and what makes our unit of theirs.
const LINES: [(&str, &str, f64, &str); 6] = [
    ("tps = ", "transactions_per_s", 1.0, "tps"),
    ("latency average = ", "latency_ns_mean", 1e6, "ms"),
    ("latency stddev = ", "latency_ns_stddev", 1e6, "ms"),
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
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| format!("`{line}` in its output has no number"))?;
    said.add(name, number * factor, format!("{word} {unit}").trim_end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::adapter::testing::{figure, refused};

    const TIME: &str = include_str!("../../../tests/fixtures/tools/pgbench-15.18-time.txt");
    const COUNT: &str =
        include_str!("../../../tests/fixtures/tools/pgbench-15.18-transactions.txt");

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
        assert!(refused(&PGBENCH, &[]).contains("brickyard import"));
    }
}
