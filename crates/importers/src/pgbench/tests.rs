//! What is read of pgbench, by outputs that were recorded.

use super::*;
use crate::testing::{figure, rounded, same_with_lines_between};

const TIME: &str = include_str!("../../../../tests/fixtures/tools/pgbench-15.18-time.txt");
const COUNT: &str = include_str!("../../../../tests/fixtures/tools/pgbench-15.18-transactions.txt");
const OLD: &str = include_str!("../../../../tests/fixtures/tools/pgbench-13-time.txt");
const OLDER: &str = include_str!("../../../../tests/fixtures/tools/pgbench-9.5-time.txt");
const ANEW: &str = include_str!("../../../../tests/fixtures/tools/pgbench-15.20-reconnect.txt");
const OLD_ANEW: &str = include_str!("../../../../tests/fixtures/tools/pgbench-12-reconnect.txt");
const SCRIPTS: &str = include_str!("../../../../tests/fixtures/tools/pgbench-15.20-scripts.txt");
const STATEMENTS: &str =
    include_str!("../../../../tests/fixtures/tools/pgbench-15.20-statements.txt");
const RATE: &str = include_str!("../../../../tests/fixtures/tools/pgbench-15.20-rate.txt");
const TRIES: &str = include_str!("../../../../tests/fixtures/tools/pgbench-15.20-tries.txt");
const FOURTEEN: &str = include_str!("../../../../tests/fixtures/tools/pgbench-14-scripts.txt");
const INSTANCES: &str = include_str!("../../../../tests/fixtures/tools/pgbench-13-instances.txt");
const OF_16: &str = include_str!("../../../../tests/fixtures/tools/pgbench-16.0-reconnect.txt");
const OF_17: &str = include_str!("../../../../tests/fixtures/tools/pgbench-17.6-statements.txt");

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
    assert_eq!(parse(&format!("{COUNT}{COUNT}")).unwrap().len(), 2);
    // 23.780 ms are 23780000 ns.
    let all = parse(FOURTEEN).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["<builtin: TPC-B (sort of)>", "tests/pgbench-simple.sql"]);
    assert_eq!(rounded(&all[0], "latency_ns_mean"), Some(23_780_000.0));
    assert_eq!(figure(&all[1], "transactions_per_s"), Some(34_059.170698));
    let of = |text: &str| version(text).map(str::to_owned);
    assert_eq!(of("pgbench (14.12 (Homebrew), server 16.3)").as_deref(), Some("14.12"));
    assert_eq!(
        (of("pgbench (17.2)").as_deref(), of("pgbench (PostgreSQL) 17.2")),
        (Some("17.2"), None)
    );
    let many = parse(INSTANCES).unwrap();
    assert_eq!(many.len(), INSTANCES.matches("transaction type").count());
    assert_eq!(figure(&many[1], "with_connecting_transactions_per_s"), Some(3103.562309));
    assert_eq!(many[2].settings["streams"], 100);
}

#[test]
fn a_run_without_its_end_is_no_result() {
    let end = TIME.find("tps = ").unwrap();
    assert!(parse(&TIME[..end + 8]).unwrap_err().contains("cut short"));
    assert!(parse(&format!("{}{COUNT}", &TIME[..end])).unwrap_err().contains("no tps line"));
    assert!(parse(&TIME.replace("tps = 4", "tps = x")).unwrap_err().contains("no number"));
    let lost = &TIME[TIME.find("latency").unwrap()..];
    assert!(knows(lost) && parse(lost).unwrap_err().contains("a run that does not begin"));
    assert!(parse(&format!("{COUNT}{lost}")).unwrap_err().contains("a run that does not begin"));
    let again = format!("{TIME}tps = 495.757652 (without initial connection time)\n");
    assert_eq!(parse(&again).unwrap(), parse(TIME).unwrap());
    let aborted =
        format!("{TIME}pgbench: error: Run was aborted; the above results are incomplete.\n");
    assert!(parse(&aborted).unwrap_err().contains("was aborted"));
}

/// Up to PostgreSQL 13 a run ends with two rates: "it was cut short: a run of it has no tps line".
#[test]
fn of_two_rates_each_has_its_name() {
    let all = parse(OLD).unwrap();
    let said = &all[0];
    assert_eq!(figure(said, "transactions_per_s"), Some(13.062579));
    assert_eq!(figure(said, "with_connecting_transactions_per_s"), Some(12.580114));
    assert_eq!(figure(said, "latency_ns_mean"), Some(1108.418 * 1e6));
    assert_eq!(figure(said, "latency_ns_stddev"), Some(760.944 * 1e6));
    assert_eq!(figure(said, "transactions"), Some(77.0));
    assert_eq!(said.settings["streams"], 16);
    assert_eq!(PGBENCH.read(OLD).unwrap(), all);
    // Since PostgreSQL 10 waits have an equals sign.
    let newer = OLD.replace("latency average: ", "latency average = ");
    assert_eq!(parse(&newer).unwrap(), all);
    let older = &parse(OLDER).unwrap()[0];
    assert_eq!(figure(older, "transactions_per_s"), Some(108.83263));
    assert_eq!(rounded(older, "latency_ns_mean"), Some(9_188_000.0));
    let one = OLD.replace("tps = 13.062579 (excluding connections establishing)\n", "");
    assert!(parse(&one).unwrap_err().contains("no tps line"));
    let turned = OLD.replace("12.580114", "13.580114");
    assert!(parse(&turned).unwrap_err().contains("above that without"));
    let most = OLD.replace("13.062579", "130.62579");
    assert!(parse(&most).unwrap_err().contains("run it longer, and without -C"));
    let other = TIME.replace("without initial", "with initial");
    assert!(parse(&other).unwrap_err().contains("no rate that is known"));
    let fast = TIME.replace("tps = 495.", "tps = 1495.");
    assert!(parse(&fast).unwrap_err().contains("more than its clients can do"));
}

/// `-C` was refused; its rate and its waits are of connecting too, and have other names.
#[test]
fn a_rate_that_has_connecting_in_it_has_another_name() {
    let said = &parse(ANEW).unwrap()[0];
    assert_eq!(figure(said, "transactions_per_s"), None);
    assert_eq!(figure(said, "reconnecting_transactions_per_s"), Some(57.696888));
    assert_eq!(rounded(said, "reconnecting_latency_ns_mean"), Some(34_664_000.0));
    assert_eq!(figure(said, "latency_ns_mean"), None);
    assert_eq!(rounded(said, "connection_ns_mean"), Some(6_687_000.0));
    assert!(said.notes[0].text.contains("connected anew (-C)"));
    // Up to 13 only the command tells it, and there are both rates.
    let all = parse(OLD_ANEW).unwrap();
    assert_eq!(all.len(), 4);
    assert_eq!(figure(&all[0], "with_connecting_transactions_per_s"), Some(243.40584));
    assert!(all.iter().all(|said| said.notes[0].text.contains("connected anew (-C)")));
    assert!(!is_command("$ pgbench -c 10 node-C") && is_command("$ /bin/pgbench -c 9 -C -T 60"));
}

/// 388 + 1066 transactions are the 1454 of both.
#[test]
fn every_script_is_a_result_below_that_of_all() {
    let all = parse(SCRIPTS).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    let due = [
        "multiple scripts",
        "SQL script 1: <builtin: TPC-B (sort of)>",
        "SQL script 2: <builtin: select only>",
    ];
    assert_eq!(titles, due);
    let tps: Vec<_> = all.iter().map(|said| figure(said, "transactions_per_s").unwrap()).collect();
    assert_eq!(tps, [724.08195, 193.221318, 530.860632]);
    let many: Vec<_> = all.iter().map(|said| figure(said, "transactions").unwrap()).collect();
    assert_eq!(many, [1454.0, 388.0, 1066.0]);
    assert_eq!(rounded(&all[2], "latency_ns_mean"), Some(286_000.0));
    assert_eq!(rounded(&all[1], "latency_ns_stddev"), Some(9_583_000.0));
    assert!(all[1].settings.is_empty() && all[0].settings["streams"] == 2);
    assert_eq!(all[1].version, "15.20");
    // Since 17 the number that was processed stands by itself.
    let newer = SCRIPTS.replace(
        " - 388 transactions (26.7% of total, tps = 193.221318)",
        " - 388 transactions (26.7% of total)\n \
         - number of transactions actually processed: 388 (tps = 193.221318)",
    );
    assert_eq!(parse(&newer).unwrap(), all);
    let lost = SCRIPTS.replace(" - latency stddev = 9.583 ms\n", "");
    assert!(parse(&lost).unwrap_err().contains("has no latency"));
    let end = SCRIPTS.rfind(" - latency stddev").unwrap();
    assert!(parse(&SCRIPTS[..end]).unwrap_err().contains("cut short"));
    let more = SCRIPTS.replace(" - 1066 transactions", " - 2066 transactions");
    assert!(parse(&more).unwrap_err().contains("more transactions than all"));
}

#[test]
fn limits_retries_and_statements_are_told() {
    let said = &parse(RATE).unwrap()[0];
    // 201 of 274 are 73.358 %.
    assert_eq!(rounded(said, "late_share"), Some(0.734));
    assert_eq!(figure(said, "skipped_transactions"), Some(21.0));
    assert_eq!(rounded(said, "schedule_lag_ns_mean"), Some(777_000.0));
    assert_eq!(rounded(said, "schedule_lag_ns_max"), Some(4_768_000.0));
    assert_eq!(figure(said, "transactions_per_s"), Some(91.388562));
    assert!(said.notes[0].text.contains("no faster than --rate said"));
    let odd = RATE.replace("201/274", "101/274");
    assert!(parse(&odd).unwrap_err().contains("makes no sense"));
    let old = RATE.replace("201/274 (73.358%)", "201 (73.358 %)");
    assert_eq!(rounded(&parse(&old).unwrap()[0], "late_share"), Some(0.734));
    let said = &parse(TRIES).unwrap()[0];
    for name in ["retries", "retried_transactions", "serialization_failures", "deadlock_failures"] {
        assert_eq!(figure(said, name), Some(0.0), "{name}");
    }
    let some = TRIES.replace("processed: 200/200", "processed: 190/200");
    let some = &parse(&some).unwrap()[0];
    assert_eq!(figure(some, "transactions"), Some(190.0));
    assert_eq!(some.notes[0].text, "of 200 transactions only 190 were processed");
}

/// `0.611 ms` of BEGIN are 611000 ns; the count behind it is of failures.
#[test]
fn every_statement_is_a_result() {
    let all = parse(STATEMENTS).unwrap();
    assert_eq!(figure(&all[0], "transactions_per_s"), Some(155.686187));
    assert_eq!(all.len(), 12);
    assert_eq!(all[5].title, "statement BEGIN;");
    assert_eq!(rounded(&all[5], "statement_latency_ns_mean"), Some(611_000.0));
    assert_eq!(rounded(&all[11], "statement_latency_ns_mean"), Some(5_410_000.0));
    let plain = STATEMENTS.replace(" and failures:", ":").replace("           0  ", "  ");
    assert_eq!(parse(&plain).unwrap(), all);
    let odd = STATEMENTS.replace("         0.611           0  BEGIN;", "         BEGIN;");
    assert!(parse(&odd).unwrap_err().contains("no number"));
    let apart = STATEMENTS.replace("         0.680 ", "WARNING: 5\n         0.680 ");
    assert!(parse(&apart).unwrap_err().contains("stands apart from them"));
    assert_eq!(parse(&format!("{STATEMENTS}5 done\n  9 x\n")).unwrap(), all);
}

/// 20 clients over a mean of 1759.388 ms are the 11.3676 a second of 16; 10 over one of 5.292 ms
/// are 1889.6 of 17, whose statements are 11.
#[test]
fn versions_16_and_17_print_what_15_does() {
    let said = &parse(OF_16).unwrap()[0];
    assert_eq!((said.version.as_str(), said.figures.len()), ("16.0", 5));
    for (name, value) in [
        ("reconnecting_transactions_per_s", 11.368),
        ("reconnecting_latency_ns_mean", 1_759_388_000.0),
        ("connection_ns_mean", 85_458_000.0),
        ("transactions", 2000.0),
        ("failed_transactions", 0.0),
    ] {
        assert_eq!(rounded(said, name), Some(value), "{name}");
    }
    assert_eq!(said.settings["streams"], 20);
    let all = parse(OF_17).unwrap();
    assert_eq!((all.len(), all[0].version.as_str()), (12, "17.6"));
    for (at, name, value) in [
        (0, "transactions_per_s", 1889.533),
        (0, "latency_ns_mean", 5_292_000.0),
        (0, "transactions", 566_549.0),
        (0, "initial_connection_ms", 169.717),
        (1, "statement_latency_ns_mean", 1000.0),
        (2, "statement_latency_ns_mean", 0.0),
        (5, "statement_latency_ns_mean", 488_000.0),
        (6, "statement_latency_ns_mean", 681_000.0),
        (9, "statement_latency_ns_mean", 812_000.0),
        (10, "statement_latency_ns_mean", 665_000.0),
        (11, "statement_latency_ns_mean", 1_445_000.0),
    ] {
        assert_eq!(rounded(&all[at], name), Some(value), "{at} {name}");
    }
    assert_eq!(all[0].settings["streams"], 10);
}

/// Lines of progress, of other options and of a shell say nothing of the result.
#[test]
fn what_stands_between_changes_no_figure() {
    let all =
        [TIME, COUNT, OLD, OLDER, ANEW, OLD_ANEW, SCRIPTS, STATEMENTS, RATE, TRIES, INSTANCES];
    let lines = [
        "progress: 1.0 s, 9999.9 tps, lat 3.297 ms stddev 7.492, 0 failed",
        "random seed: 5",
        "",
        "partition method: range",
        "$ pgbench -c 99 -T 5",
    ];
    same_with_lines_between(&PGBENCH, &all, &lines, 300);
}
