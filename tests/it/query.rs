//! `brickyard query`, as typed: a view of each workload, and nothing but reading.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::{brickyard, document};

/// A campaign of a simulated server in `brickyard.db`.
fn measured(folder: &Path) {
    let plan = "[plan]\nname = \"two\"\nabout = \"Two levels\"\nengine = \"sim\"\nreplicates = 2\n\
                [[workload]]\nuse = \"sequential-read\"\nfile-size = \"1GiB\"\n\
                streams = [1, 4]\nstop = \"500ms\"\n";
    std::fs::write(folder.join("two.toml"), plan).expect("a plan");
    let output = brickyard(folder, &["run", "two.toml", "--quiet"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

fn query(folder: &Path, arguments: &[&str]) -> Output {
    brickyard(folder, &[&["query"], arguments].concat())
}

/// Exit status 2, nothing printed, an error with a hint.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = query(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed data");
    assert!(said.starts_with("error: ") && said.contains("hint: "), "{arguments:?}: {said}");
    said
}

fn printed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn the_fastest_trials_of_a_workload_are_asked_for_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let sql = "SELECT * FROM \"sequential-read\" ORDER BY throughput DESC LIMIT 20";
    let found = document(&query(at, &[sql, "--json"]));
    let columns = found["columns"].as_array().expect("columns");
    let place = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let rows = found["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4, "{found:#}");
    let rates = rows.iter().map(|row| row[place("throughput_bytes_per_s")].as_f64());
    let rates: Vec<f64> = rates.map(|rate| rate.expect("a rate")).collect();
    assert!(rates.is_sorted_by(|a, b| a >= b) && rates[3] > 0.0, "{rates:?}");
    assert_eq!(rows[0][place("file_size")], 1 << 30);
    // The same figures as in the report.
    let report = document(&brickyard(at, &["report", "--json"]));
    let trials = report["trials"].as_array().expect("trials");
    let figure = |trial: &serde_json::Value| {
        trial["figures"]["throughput_bytes_per_s"]["value"].as_f64().expect("a figure")
    };
    assert!(rates.iter().all(|rate| trials.iter().any(|trial| figure(trial) == *rate)));
    let text = printed(&query(at, &[sql]));
    assert!(text.contains("throughput_bytes_per_s") && text.contains("same in all rows"), "{text}");
    let sql = "SELECT trial, streams FROM sequential_read ORDER BY trial";
    let text = printed(&query(at, &[sql, "--format", "csv"]));
    assert!(text.starts_with("trial,streams\n1,") && text.lines().count() == 5, "{text}");
    let output = query(at, &[sql, "--rows", "2"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("only the first 2 rows"));
    // Two rows below their names, below what the figures are of.
    assert_eq!(printed(&output).lines().count(), 4);
}

/// The example of the list is typed as it stands there.
#[test]
fn without_sql_it_says_what_can_be_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let text = printed(&query(at, &[]));
    for word in ["\"sequential-read\" or sequential_read", "latency_ns_p99", "histogram", "trials"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let example = text.lines().last().expect("an example").trim();
    let sql = example.strip_prefix("brickyard query '").and_then(|sql| sql.strip_suffix('\''));
    let found = printed(&query(at, &[sql.expect("between quotes")]));
    assert_eq!(found.lines().count(), 6, "{found}");
    let mut lines = found.lines();
    let first = lines.next().expect("a first line");
    assert_eq!(first, "SIMULATED, no server was measured: campaign 1");
    assert!(lines.next().is_some_and(|head| head.contains("origin")), "{found}");
    let found = document(&query(at, &["--json"]));
    assert_eq!(found["columns"], serde_json::json!(["kind", "name", "column"]));
    assert!(found["rows"].as_array().expect("rows").len() > 100);
}

#[test]
fn nothing_but_reading_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    for sql in [
        "INSERT INTO note VALUES (1, 'a', 'b')",
        "DROP TABLE trial",
        "ATTACH 'other.db' AS o",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA journal_mode",
        "SELECT 1; DROP TABLE trial",
        "SELECT load_extension('x')",
        "SELEC 1",
        "SELECT * FROM nothing",
        "",
    ] {
        let said = refused(at, &[sql]);
        assert!(said.contains("cannot run this query"), "{sql}: {said}");
    }
    assert!(!at.join("other.db").exists());
    assert!(refused(at, &["SELECT 1", "--format", "xml"]).contains("choose one of text"));
    assert!(refused(at, &["SELECT 1", "--timeout", "0s"]).contains("--timeout 60s"));
    assert!(refused(at, &["SELECT 1", "--timeout", "soon"]).contains("--timeout 60s"));
    refused(at, &["SELECT 1", "--rows", "0"]);
    assert!(refused(at, &["SELECT 1", "--store", "none.db"]).contains("no such file"));
    assert!(!at.join("none.db").exists());
    std::fs::write(at.join("letter.txt"), "Dear all").expect("written");
    refused(at, &["SELECT 1", "--store", "letter.txt"]);
    let told = printed(&query(at, &["SELECT count(*) FROM trial"]));
    assert_eq!(told.lines().skip(1).collect::<Vec<_>>(), ["  count(*)", "         4"]);
}

#[test]
fn what_never_ends_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
    let said = refused(at, &[sql, "--timeout", "100ms"]);
    assert!(said.contains("longer than 100 ms") && said.contains("--timeout"), "{said}");
}

/// Neither waits for the other, and a run that is killed leaves nothing that cannot be asked.
/// The bound on memory is one for a process: among the units, this took it from whichever other
/// test opened a store in that moment, which then failed with "out of memory".
#[test]
fn what_needs_too_much_memory_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    measured(folder.path());
    let sorted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                  SELECT randomblob(1000000) AS r FROM n ORDER BY r";
    let said = refused(folder.path(), &[sorted]);
    assert!(said.contains("out of memory"), "{said}");
}

#[test]
fn it_is_asked_while_a_run_writes_and_after_that_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let mut run = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "two.toml", "--quiet", "--replicates", "1000"])
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let counted = |sql: &str| -> u64 {
        let text = printed(&query(at, &[sql, "--format", "csv"]));
        text.lines().nth(1).expect("a row").parse().expect("a number")
    };
    let mut counts = vec![counted("SELECT count(throughput) FROM trials")];
    while run.try_wait().expect("asked").is_none() && counts.last() < Some(&50) {
        counts.push(counted("SELECT count(throughput) FROM trials"));
    }
    assert!(counts.is_sorted(), "{counts:?}");
    let _ = run.kill();
    run.wait().expect("ended");
    let trials = counted("SELECT count(*) FROM trial");
    assert!(trials >= 50 && counted("SELECT count(throughput) FROM trials") == trials);
}

/// Text that is no text is refused, and what a terminal would obey is not printed.
#[test]
fn sql_comes_from_standard_input_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let piped = |bytes: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["query", "-"])
            .current_dir(at)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brickyard can be started");
        // It may end before it has read all.
        let _ = child.stdin.take().expect("piped").write_all(bytes);
        child.wait_with_output().expect("an end")
    };
    let sql = b"SELECT char(27) || '[2J', count(*)\n  FROM trials;\n-- all of them\n";
    let text = printed(&piped(sql));
    assert!(
        text.contains("?[2J  4") || text.contains("?[2J") && !text.contains('\u{1b}'),
        "{text}"
    );
    for bytes in [&b"SELECT '\xff'"[..], b"", &vec![b' '; (1 << 20) + 1]] {
        let output = piped(bytes);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("hint: "), "{said}");
    }
}

/// A store in which nothing was measured yet, and one that nobody may write.
#[test]
fn empty_and_read_only_stores_are_asked_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let sql = "SELECT count(throughput) FROM sequential_read";
    let copy = at.join("copies");
    std::fs::create_dir(&copy).expect("made");
    for name in ["brickyard.db", "brickyard.db-wal"] {
        if at.join(name).exists() {
            std::fs::copy(at.join(name), copy.join(name)).expect("copied");
        }
    }
    let mut program = crate::program::without_root(at);
    let output = program.args(["query", sql, "--store", "copies/brickyard.db"]).output();
    let text = printed(&output.expect("started"));
    assert!(text.trim_end().ends_with(" 4"), "{text}");
    let store = rusqlite::Connection::open(at.join("brickyard.db")).expect("a store");
    store.execute_batch("DELETE FROM campaign; DELETE FROM trial").expect("emptied");
    drop(store);
    for sql in ["SELECT * FROM trials", "SELECT * FROM campaign"] {
        assert!(printed(&query(at, &[sql])).contains("no rows"), "{sql}");
    }
    assert!(printed(&query(at, &[])).contains("brickyard query"));
}
