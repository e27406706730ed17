//! The SQL behind each table of the report: every statement runs, and gives what the table shows.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::program::{WITHOUT_CHECKSUMS, brickyard, document};

fn unescaped(html: &str) -> String {
    let text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0)).collect()
}

/// A table of a page and the statement that stands behind it.
struct Shown {
    title: String,
    table: String,
    statement: String,
}

/// All of a page, each statement with the table before it.
fn tables(page: &str) -> Vec<Shown> {
    let body = page.split_once("<body>").expect("a body").1;
    let mut parts = body.split("<details class=\"sql\">");
    let mut table = String::new();
    let mut before = parts.next().expect("a page");
    let mut tables = Vec::new();
    for part in parts {
        // Several may stand behind one.
        if let Some((_, last)) = before.rsplit_once("<table") {
            table = last.to_owned();
        }
        let title = between(part, "<summary>", "</summary>")[0].to_owned();
        let statement = unescaped(between(part, "<code>", "</code>")[1]);
        tables.push(Shown { title, table: table.clone(), statement });
        before = part;
    }
    tables
}

/// Figures of a row of the page, as they were before they were rounded for people.
fn figures(row: &str) -> Vec<f64> {
    let cells = row.split("<td class=\"number").skip(1);
    let told = cells.filter_map(|cell| cell.split_once('>')?.0.split_once("data-v=\""));
    let told = told.filter_map(|(_, rest)| rest.split_once('"')?.0.parse().ok());
    // Settings and numbers of trials are whole, and stand as they are.
    told.collect()
}

/// The answer to a statement: names of columns, and rows.
fn asked(folder: &Path, statement: &str) -> (Vec<String>, Vec<Vec<Value>>) {
    let answer = document(&brickyard(folder, &["query", statement, "--json"]));
    let columns: Option<Vec<String>> = serde_json::from_value(answer["columns"].clone()).ok();
    let rows = serde_json::from_value(answer["rows"].clone()).expect("rows");
    (columns.unwrap_or_else(|| panic!("{statement}: {answer}")), rows)
}

/// Holds a table against what its statement gives: as many rows, and every figure of a row in the
/// same order. How many figures were compared.
fn compared(folder: &Path, Shown { table, statement, .. }: &Shown) -> usize {
    let (heads, rows) = asked(folder, statement);
    let body = table.split_once("<tbody>").expect("a body").1;
    let mut shown: Vec<&str> = body.split("<tr").skip(1).collect();
    if statement.contains("not_bought") {
        // A row of that table has all cells that its budget buys.
        shown = body.split("wide-text").skip(1).flat_map(|cells| cells.split("; ")).collect();
    }
    assert_eq!(rows.len(), shown.len(), "{statement}\n{table}");
    let mut count = 0;
    for (row, shown) in rows.iter().zip(shown) {
        let mut found = heads.iter().zip(row).filter_map(|(head, cell)| {
            let unit = match () {
                () if head.ends_with("MB/s") => 1e6,
                () if head.ends_with("MiB/s") => 1_048_576.0,
                () => 1.0,
            };
            Some((head, cell.as_f64()? * unit))
        });
        let mut least: Option<f64> = None;
        for figure in figures(shown) {
            // A percentile of all operations lies between those of the trials.
            let mut fits = |(head, other): (&String, f64)| {
                let near = 2e-6 * figure.abs();
                let from = least.take();
                if head.ends_with(", least") {
                    least = Some(other);
                    return false;
                }
                match from.filter(|_| head.ends_with(", most")) {
                    Some(from) => (from - near..=other + near).contains(&figure),
                    None => (other - figure).abs() <= near,
                }
            };
            let is_there = found.any(&mut fits);
            assert!(is_there, "{figure} of {shown} is not in {row:?} of\n{statement}");
            count += 1;
        }
    }
    count
}

/// What may be drawn of trials: the means of each figure over what has the same settings; and of
/// its logarithms, over each level of a knob under each of another or of none, against the mean of
/// those there.
fn drawable(heads: &[String], rows: &[Vec<Value>], effects: bool) -> Vec<f64> {
    let knobs = heads.iter().skip(2).take_while(|head| !is_figure(head)).count();
    let of = |row: &Vec<Value>, places: &[usize]| -> Vec<String> {
        places.iter().map(|place| row[place + 2].to_string()).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let all: Vec<usize> = (0..knobs).collect();
    let mut found = Vec::new();
    for figure in knobs + 2..heads.len() {
        let means = |keys: &dyn Fn(&Vec<Value>) -> Vec<String>| -> BTreeMap<Vec<String>, f64> {
            let mut values: BTreeMap<Vec<String>, Vec<f64>> = BTreeMap::new();
            for row in rows {
                let value = row[figure].as_f64();
                let value = value.map(|value| if effects { value.ln() } else { value });
                values.entry(keys(row)).or_default().extend(value);
            }
            values.into_iter().map(|(key, values)| (key, mean(&values))).collect()
        };
        if !effects {
            found.extend(means(&|row| of(row, &all)).into_values());
            continue;
        }
        for one in 0..knobs {
            let alone: Vec<f64> = means(&|row| of(row, &[one])).into_values().collect();
            found.extend(alone.iter().map(|level| (level - mean(&alone)).exp()));
            for on in (0..knobs).filter(|on| *on != one) {
                let both = means(&|row| of(row, &[on, one]));
                for (key, level) in &both {
                    let beside = both.iter().filter(|(other, _)| other[0] == key[0]);
                    let beside: Vec<f64> = beside.map(|(_, level)| *level).collect();
                    found.push((level - mean(&beside)).exp());
                }
            }
        }
    }
    found
}

/// The least and the most of each percentile over what has the same settings: one of all their
/// operations together lies among those of the trials.
fn percentiles(heads: &[String], rows: &[Vec<Value>]) -> Vec<[f64; 2]> {
    let knobs = heads.iter().skip(2).take_while(|head| !is_figure(head)).count();
    let mut found: BTreeMap<(usize, String), [f64; 2]> = BTreeMap::new();
    for place in (knobs + 2..heads.len()).filter(|place| heads[*place].contains("_ns_p")) {
        for row in rows {
            let Some(value) = row[place].as_f64() else { continue };
            let ends = found.entry((place, format!("{:?}", &row[2..knobs + 2])));
            let ends = ends.or_insert([value, value]);
            *ends = [ends[0].min(value), ends[1].max(value)];
        }
    }
    found.into_values().collect()
}

fn is_figure(head: &str) -> bool {
    ["_per_s", "_ns", "iops", "_p50", "_p99"].iter().any(|end| head.contains(end))
}

/// Holds what a figure draws against the trials that its statement gives.
fn drawn(folder: &Path, Shown { table, statement, .. }: &Shown) -> usize {
    let (heads, rows) = asked(folder, statement);
    let effects = table.contains("times the mean");
    let found = drawable(&heads, &rows, effects);
    let percentiles = percentiles(&heads, &rows);
    let drawn = figures(table);
    for figure in &drawn {
        let same = |found: &f64| {
            [1.0, 1e-6, 8e-9].iter().any(|unit| (found * unit / figure - 1.0).abs() < 1e-4)
        };
        let among = |ends: &[f64; 2]| (ends[0] * 0.9999..=ends[1] * 1.0001).contains(figure);
        assert!(
            found.iter().any(same) || percentiles.iter().any(among),
            "{figure} is no mean of\n{statement}\n{found:?}\nand none of {percentiles:?}"
        );
    }
    drawn.len()
}

/// Runs a plan on the simulated server, and holds every table of its report against its SQL.
fn holds(arguments: &[&str]) -> (Vec<Shown>, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let run = brickyard(at, &[arguments, &["--engine", "sim", "--json", "--quiet"]].concat());
    let report = document(&run);
    assert!(report["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "{report:#}");
    let tables = tables(&page(at));
    let counts = tables.iter().map(|shown| match shown.title.as_str() {
        "SQL of this figure" => drawn(at, shown),
        _ => compared(at, shown),
    });
    let count = counts.sum();
    (tables, count)
}

/// The page of the newest campaign.
fn page(folder: &Path) -> String {
    brickyard(folder, &["report", "--output", "page.html"]);
    std::fs::read_to_string(folder.join("page.html")).expect("a page")
}

#[test]
fn every_statement_gives_the_rows_of_its_table() {
    let (tables, figures) = holds(&["evaluate", "--seed", "7"]);
    // A table a group, all trials, settings.
    assert!(tables.len() > 8 && figures > 400, "{} tables, {figures} figures", tables.len());
    let trials = tables.iter().filter(|it| it.statement.contains("outcome, reason, notes")).count();
    assert_eq!(trials, 1);
    let drawn = tables.iter().filter(|it| it.title == "SQL of this figure").count();
    assert!(drawn >= 5, "{drawn} figures");
    // 4 KiB at depth 16 is on two axes and was measured for one of them.
    assert!(tables.iter().any(|it| it.statement.contains("OR trial IN (")));
}

#[test]
fn settings_that_need_quotes_and_cells_that_failed_are_no_exception() {
    let plan = "[plan]\nname = \"quotes\"\nabout = \"Names\"\nengine = \"sim\"\nreplicates = 2\n\
                [[workload]]\nname = \"it's \\\"both\\\" <b>\"\nuse = \"sequential-write\"\n\
                streams = [1, 4]\nblock-size = [\"64KiB\", \"1MiB\"]\nstop = \"500ms\"\n\
                [[workload]]\nname = \"trial\"\nuse = \"random-read\"\nqueue-depth = [1, 8]\n\
                file-size = [\"1GiB\", \"2GiB\"]\nstop = \"500ms\"\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, plan).expect("a plan");
    let (tables, figures) = holds(&["run", path.to_str().expect("text")]);
    assert!(tables.len() >= 4 && figures > 60, "{} tables, {figures} figures", tables.len());
    assert!(tables.iter().any(|it| it.statement.contains("'it''s \"both\" <b>'")));
    let effects = tables.iter().filter(|it| it.table.contains("times the mean")).count();
    assert!(effects >= 2, "{effects} panels of effects");
}

/// Nobody who did not ask sees any of it.
#[test]
fn statements_are_folded_away_and_stand_beside_every_table_of_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    brickyard(at, &["evaluate", "--engine", "sim", "--seed", "7", "--quiet"]);
    let page = page(at);
    assert!(!page.contains("<details class=\"sql\" open"));
    let all = page.split_once("<body>").expect("a body").1;
    let all = all.split_once("<script").expect("scripts").0;
    // The first screen tells of all tables below it.
    let tables = all.matches("<table").count() - all.matches("<table class=\"summary\"").count();
    // What was counted each moment of a trial is packed in the store, and no SQL gives it.
    let packed = all.matches("<th scope=\"col\">seconds since the start</th>").count();
    assert_eq!(packed, 1);
    let tables = tables - packed;
    assert_eq!(all.matches("<details class=\"sql\">").count(), tables);
    let results = page.split_once("id=\"results\"").expect("results").1;
    let report = document(&brickyard(at, &["report", "--json"]));
    let id: &Value = &report["campaign"]["id"];
    assert!(results.contains(&format!("campaign = {id}")), "{id}");
}

/// Letters and digits alone, as tables break lines and print quotes in their own way.
fn plain(html: &str) -> String {
    let mut inside = false;
    let text = html.chars().filter(|letter| {
        inside = *letter == '<' || (inside && *letter != '>');
        !inside
    });
    letters(&unescaped(&text.collect::<String>()))
}

fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

/// Holds the words of a table against its statement's, but for columns that people are told
/// otherwise. How many cells.
fn worded(folder: &Path, Shown { table, statement, .. }: &Shown, but: &[&str]) -> usize {
    let (heads, rows) = asked(folder, statement);
    let body = table.split_once("<tbody>").expect("a body").1;
    let shown: Vec<String> = body.split("<tr").skip(1).map(plain).collect();
    assert_eq!(rows.len(), shown.len(), "{statement}\n{table}");
    let mut count = 0;
    for (row, shown) in rows.iter().zip(shown) {
        let cells = heads
            .iter()
            .zip(row)
            .filter(|(head, cell)| !but.contains(&head.as_str()) && !cell.is_null());
        for (head, cell) in cells {
            let cell = cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
            assert!(shown.contains(&letters(&cell)), "{head} {cell} is not in {shown}");
            count += 1;
        }
    }
    count
}

fn of_table<'a>(tables: &'a [Shown], from: &str) -> &'a Shown {
    let mut of = tables.iter().filter(|it| it.statement.contains(from));
    of.next().unwrap_or_else(|| panic!("no table {from}"))
}

/// The table of failures had no statement.
#[test]
fn failures_are_given_by_their_statement() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    brickyard(at, &["evaluate", "--engine", "sim", "--seed", "7", "--quiet"]);
    let store = rusqlite::Connection::open(at.join("brickyard.db")).expect("a store");
    let put = "UPDATE trial SET outcome = ?1, reason = ?2, streams = NULL, durable = NULL,
               second_pass = NULL, evidence = NULL WHERE number IN (?3, ?4)";
    let said = Some("cannot open 'a \"b\" <c>': Input/output error");
    for (outcome, why, first, last) in [
        ("failed", said, 3, 5),
        ("interrupted", None, 8, 8),
        ("skipped", Some("no such scheduler"), 11, 12),
        ("failed", Some("no such scheduler"), 13, 13),
    ] {
        store.execute(put, (outcome, why, first, last)).expect("changed");
    }
    store.execute_batch(WITHOUT_CHECKSUMS).expect("an older store");
    drop(store);
    let tables = tables(&page(at));
    let failures = of_table(&tables, "outcome <> 'done'");
    assert_eq!(worded(at, failures, &[]), 4 * 4);
    let (_, rows) = asked(at, &failures.statement);
    let first: Vec<&str> = rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(first, ["failed", "skipped", "interrupted", "failed"]);
    assert_eq!(rows[0][3], "3, 5");
}

/// Those of faults and problems had never been run.
#[test]
fn faults_problems_and_what_drives_count_are_given_by_their_statements() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("data")).expect("made");
    std::fs::write(at.join("data/kept"), vec![7; 100_000]).expect("written");
    let sums =
        "d41d8cd98f00b204e9800998ecf8427e  kept\nd41d8cd98f00b204e9800998ecf8427e  it's <gone>\n";
    std::fs::write(at.join("sums"), sums).expect("written");
    std::fs::write(at.join("data/more"), "in no list").expect("written");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.args(["verify", "data", "--checksums", "sums", "--quiet"]).current_dir(at);
    let told = command.output().expect("it can be started");
    assert_eq!(told.status.code(), Some(1), "{}", String::from_utf8_lossy(&told.stderr));
    let store = rusqlite::Connection::open(at.join("brickyard.db")).expect("a store");
    let drives = serde_json::json!([
        {"name": "sdz", "health": {"source": "smart", "pending_sectors": 7, "link_errors": 31}},
        {"name": "sdy", "health": {"source": "nvme", "media_errors": 5, "pending_sectors": 2}},
        {"name": "elsewhere", "health": {"pending_sectors": 1}},
    ]);
    let put = "UPDATE campaign SET inventory = json_set(inventory, '$.server', \
               json_object('drives', json(?1)))";
    assert_eq!(store.execute(put, [drives.to_string()]).expect("changed"), 1);
    let put =
        "UPDATE trial SET evidence = json_set(evidence, '$.disks', json('[\"sdz\", \"sdy\"]'))";
    assert!(store.execute(put, []).expect("changed") >= 1);
    store.execute_batch(WITHOUT_CHECKSUMS).expect("an older store");
    drop(store);
    let tables = tables(&page(at));
    assert!(worded(at, of_table(&tables, "FROM fault AS"), &["at_ns", "rereads"]) >= 6);
    assert!(worded(at, of_table(&tables, "FROM problem AS"), &["trial"]) >= 6);
    let told = of_table(&tables, "'$.server.drives'");
    assert_eq!(worded(at, told, &[]), 2 * 2 + 4);
    assert!(told.table.contains("link CRC errors") && !told.table.contains("elsewhere"));
}

/// Two campaigns side by side: each side's trials, from which the means of its cells are.
#[test]
fn what_is_compared_is_given_by_the_statement_of_each_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for seed in ["7", "8"] {
        brickyard(at, &["evaluate", "--engine", "sim", "--seed", seed, "--quiet"]);
    }
    brickyard(at, &["compare", "1", "2", "--format", "html"]);
    let page = std::fs::read_to_string(at.join("brickyard-compare.html")).expect("a page");
    let tables = tables(&page);
    let titles: Vec<&str> = tables.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["SQL of A", "SQL of B"]);
    let rows = tables[0].table.split("<tr").skip(2);
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split("<td").collect();
        // What a person reads is the words, and the name in the store is beside the pointer.
        let (figure, trials) =
            (between(cells[1], "title=\"", "\"")[0], between(row, "<td>", "</td>"));
        let trials = trials.iter().find(|it| it.contains("; ")).expect("trials of both");
        for (side, (numbers, shown)) in trials.split("; ").zip(figures(row)).enumerate() {
            let (heads, rows) = asked(at, &tables[side].statement);
            let place = heads.iter().position(|head| head == figure).expect("the figure");
            let numbers: Vec<&str> = numbers.split(", ").collect();
            let own = rows.iter().filter(|row| numbers.contains(&row[0].to_string().as_str()));
            let own: Vec<f64> = own.filter_map(|row| row[place].as_f64()).collect();
            assert_eq!(own.len(), numbers.len(), "{figure} of {numbers:?}");
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            assert!((mean / shown - 1.0).abs() < 1e-3, "{figure}: {mean}, told {shown}");
            count += 1;
        }
        if count >= 40 {
            break;
        }
    }
    assert!(count >= 20, "{count} figures");
}
