//! The SQL behind each table of the report: every statement runs, and gives what the table shows.

use std::path::Path;

use serde_json::Value;

use crate::program::{brickyard, document};

fn unescaped(html: &str) -> String {
    let text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0)).collect()
}

/// Tables of a page with the statement that stands behind each.
fn tables(page: &str) -> Vec<(String, String)> {
    let body = page.split_once("<body>").expect("a body").1;
    let mut parts = body.split("<details class=\"sql\">");
    let mut before = parts.next().expect("a page").to_owned();
    let mut tables = Vec::new();
    for part in parts {
        let statement = between(part, "<code>", "</code>")[1];
        let table = before.rsplit("<table").next().expect("a table before it").to_owned();
        tables.push((table, unescaped(statement)));
        before = part.to_owned();
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

/// Holds a table against what its statement gives: as many rows, and every figure of a row in the
/// same order. How many figures were compared.
fn compared(folder: &Path, table: &str, statement: &str) -> usize {
    let answer = document(&brickyard(folder, &["query", statement, "--json"]));
    let heads = answer["columns"].as_array().unwrap_or_else(|| panic!("{statement}: {answer}"));
    let rows = answer["rows"].as_array().expect("rows");
    let body = table.split_once("<tbody>").expect("a body").1;
    let mut shown: Vec<&str> = body.split("<tr").skip(1).collect();
    if statement.contains("not_bought") {
        // A row of that table has all cells that its budget buys.
        shown = body.split("wide-text").skip(1).flat_map(|cells| cells.split("; ")).collect();
    }
    assert_eq!(rows.len(), shown.len(), "{statement}\n{table}");
    let mut count = 0;
    for (row, shown) in rows.iter().zip(shown) {
        let cells = heads.iter().zip(row.as_array().expect("cells"));
        let mut found = cells.filter_map(|(head, cell)| {
            let head = head.as_str().expect("a head");
            let unit = match () {
                () if head.ends_with("MB/s") => 1e6,
                () if head.ends_with("MiB/s") => 1_048_576.0,
                () => 1.0,
            };
            Some(cell.as_f64()? * unit)
        });
        for figure in figures(shown) {
            let same = |other: f64| (other - figure).abs() <= 2e-6 * figure.abs();
            assert!(found.any(same), "{figure} of {shown} is not in {row} of\n{statement}");
            count += 1;
        }
    }
    count
}

/// Runs a plan on the simulated server, and holds every table of its report against its SQL.
fn holds(arguments: &[&str]) -> (Vec<(String, String)>, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let run = brickyard(at, &[arguments, &["--engine", "sim", "--json", "--quiet"]].concat());
    let report = document(&run);
    assert!(report["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "{report:#}");
    brickyard(at, &["report", "--output", "page.html"]);
    let page = std::fs::read_to_string(at.join("page.html")).expect("a page");
    let tables = tables(&page);
    let counts = tables.iter().map(|(table, statement)| compared(at, table, statement));
    let count = counts.sum();
    (tables, count)
}

#[test]
fn every_statement_gives_the_rows_of_its_table() {
    let (tables, figures) = holds(&["evaluate", "--seed", "7"]);
    // A table a group, all trials, settings.
    assert!(tables.len() > 8 && figures > 400, "{} tables, {figures} figures", tables.len());
    let trials = tables.iter().filter(|(_, sql)| sql.ends_with("ORDER BY trial")).count();
    assert_eq!(trials, 1);
    // 4 KiB at depth 16 is on two axes and was measured for one of them.
    assert!(tables.iter().any(|(_, sql)| sql.contains("OR trial IN (")), "{tables:#?}");
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
    assert!(tables.iter().any(|(_, sql)| sql.contains("'it''s \"both\" <b>'")), "{tables:#?}");
}

/// Nobody who did not ask sees any of it.
#[test]
fn statements_are_folded_away_and_stand_beside_every_table_of_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    brickyard(at, &["evaluate", "--engine", "sim", "--seed", "7", "--quiet"]);
    brickyard(at, &["report", "--output", "page.html"]);
    let page = std::fs::read_to_string(at.join("page.html")).expect("a page");
    assert!(!page.contains("<details class=\"sql\" open"));
    let results = page.split_once("id=\"results\"").expect("results").1;
    let results = results.split_once("id=\"server\"").expect("the server").0;
    let tables = results.matches("<table").count();
    assert_eq!(results.matches("<details class=\"sql\">").count(), tables);
    let report = document(&brickyard(at, &["report", "--json"]));
    let id: &Value = &report["campaign"]["id"];
    assert!(results.contains(&format!("campaign = {id}")), "{id}");
}
