//! (pure) mdtest 1.8 to 4: its closing summary.
//!
//! Rates are operations per second; of several iterations mdtest gives the mean, the highest and
//! the lowest.

use serde_json::Map;

use super::{Form, Importer, Said};

/// See [`Importer`].
pub const MDTEST: Importer = Importer {
    name: "mdtest",
    about: "All that mdtest 1.8 to 4 prints",
    forms: &[Form {
        bring: "all that it prints",
        recorded: &["1.9.3", "4.1.0"],
        read: "the rate of each operation, with its highest and lowest",
        not_read: "times without rates",
    }],
    words: &[
        "mdtest",
        "SUMMARY rate",
        "Directory creation",
        "File creation",
        "File stat",
        "File removal",
        "Tree creation",
        "Tree removal",
    ],
    mark: "line `mdtest-4.1.0 was launched with 2 total task(s)`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("mdtest-") && line.contains("was launched with"))
}

/// Rows of the summary, and their names of ours.
const ROWS: [(&str, &str); 12] = [
    ("Directory creation", "directory_create"),
    ("Directory stat", "directory_stat"),
    ("Directory rename", "directory_rename"),
    ("Directory removal", "directory_remove"),
    ("File creation", "create"),
    ("File stat", "stat"),
    ("File read", "open"),
    ("File rename", "rename"),
    ("File removal", "unlink"),
    ("Tree creation", "tree_create"),
    ("Tree removal", "tree_remove"),
    ("Directory read", "directory_read"),
];

/// One result a run. A run is whole when it says when it finished.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    let mut table = Table::None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim) else { continue };
        if let Some((version, rest)) = launched(line) {
            if said.is_some() {
                return Err("a run of it does not say that it finished".to_owned());
            }
            let tasks = rest.split(' ').next().and_then(|word| word.parse::<u64>().ok());
            let tasks = tasks.map(|tasks| ("streams".to_owned(), tasks.into()));
            let (version, settings) = (version.to_owned(), Map::from_iter(tasks));
            said = Some(Said { version, settings, ..Said::default() });
            table = Table::None;
        } else if let Some(one) = &mut said {
            if line.starts_with("-- finished at ") {
                let one = said.take().filter(|one| !one.figures.is_empty());
                all.push(one.ok_or_else(|| nothing(table))?);
            } else if let Some(title) = line.strip_prefix("SUMMARY") {
                table = begins(title)?;
            } else if table == Table::Rates {
                row(one, line)?;
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: it does not say that it finished".to_owned()),
        (None, true) => Err("there is no run of mdtest in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// Which table of a summary the lines are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    None,
    Rates,
    /// With `-P` the times follow the rates, in rows of the same names.
    Times,
}

/// What follows `SUMMARY`: ` rate (in ops/sec): (of 2 iterations)`, up to 4.0 ` rate: (of ...`, and
/// `: (of ...` before there were times.
fn begins(title: &str) -> Result<Table, String> {
    let what = title.split(['(', ':']).next().unwrap_or_default().trim();
    let unit = title.split_once("(in ").and_then(|(_, rest)| rest.split(')').next());
    match (what, unit) {
        ("" | "rate", None | Some("ops/sec")) => Ok(Table::Rates),
        ("time", _) => Ok(Table::Times),
        _ => Err(format!("its summary is of something else: SUMMARY{title}")),
    }
}

fn nothing(table: Table) -> String {
    match table {
        Table::Times => "a run of it has times alone; run mdtest with -P, which prints the rates \
                         as well"
            .to_owned(),
        _ => "a run of it has no summary".to_owned(),
    }
}

/// `mdtest-4.1.0 was launched with 2 total task(s)`: the version, and what follows `with`.
fn launched(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("mdtest-")?.split_once(" was launched with ")
}

fn row(said: &mut Said, line: &str) -> Result<(), String> {
    let found = ROWS.iter().find_map(|(theirs, ours)| Some((line.strip_prefix(theirs)?, *ours)));
    let wrong = || format!("`{line}` is no row of its summary");
    let Some((rest, name)) = found else {
        // The head, and warnings; a row of another name is none of them.
        let numbers = line.split_whitespace().rev().take(4);
        let numbers = numbers.filter(|word| word.parse::<f64>().is_ok()).count();
        return if numbers == 4 { Err(wrong()) } else { Ok(()) };
    };
    // Up to 3.3 a colon stands behind the name.
    let rest = rest.trim_start();
    let words: Vec<&str> = rest.strip_prefix(':').unwrap_or(rest).split_whitespace().collect();
    let [highest, lowest, mean, _] = words.as_slice() else { return Err(wrong()) };
    let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
    let rates = [("", mean), ("highest_", highest), ("lowest_", lowest)];
    let mut numbers = [0.0; 3];
    for (at, (_, word)) in rates.iter().enumerate() {
        numbers[at] = number(word).ok_or_else(wrong)?;
    }
    let [of_all, at_most, at_least] = numbers;
    if of_all > at_most + ROUNDING || of_all < at_least - ROUNDING {
        return Err(format!("`{line}` has a mean that is not between its lowest and its highest"));
    }
    for ((what, word), number) in rates.iter().zip(numbers) {
        // mdtest prints a zero for what it did not do.
        if number > 0.0 {
            said.add(format!("{what}{name}_per_s"), number, format!("{word} ops/sec"));
        }
    }
    Ok(())
}

/// Rates have three digits behind the point.
const ROUNDING: f64 = 0.001;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const TWO: &str = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-two-tasks.txt");
    const BOTH: &str = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-rate-and-time.txt");
    const OLD: &str =
        include_str!("../../../tests/fixtures/tools/mdtest-1.9.3-five-iterations.txt");

    #[test]
    fn the_summary_is_read_with_its_highest_and_lowest() {
        let said = &parse(TWO).unwrap()[0];
        assert_eq!((said.version.as_str(), &said.settings["streams"]), ("4.1.0+dev", &2.into()));
        assert_eq!(figure(said, "create_per_s"), Some(22_788.125));
        assert_eq!(figure(said, "highest_stat_per_s"), Some(37_870.965));
        assert_eq!(figure(said, "lowest_unlink_per_s"), Some(22_270.444));
        assert_eq!(parse(&format!("{TWO}{TWO}")).unwrap().len(), 2);
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let end = TWO.find("-- finished").unwrap();
        assert!(parse(&TWO[..end]).unwrap_err().contains("cut short"));
        assert!(parse(&format!("{}{TWO}", &TWO[..end])).is_err());
        assert!(parse(&TWO.replace("22788.125", "nan")).unwrap_err().contains("no row"));
        assert!(parse(&TWO.replace("SUMMARY", "summary")).unwrap_err().contains("no summary"));
    }

    /// With `-P`, which IO500 always gives, the times follow the rates in rows of the same names:
    /// "create_per_s 307.147, tree_create_per_s 0.001" of 7396.336 and 926.918.
    #[test]
    fn times_are_not_taken_for_rates() {
        let all = parse(BOTH).unwrap();
        let said = &all[0];
        for (name, value) in [
            ("create_per_s", 7396.336),
            ("highest_create_per_s", 7396.336),
            ("lowest_create_per_s", 7396.336),
            ("tree_create_per_s", 926.918),
        ] {
            assert_eq!(figure(said, name), Some(value), "{name}");
        }
        assert_eq!((all.len(), said.figures.len()), (1, 6), "{said:?}");
        assert_eq!(said.settings["streams"], 80);
        // Of whatever order.
        let (head, tables) = BOTH.split_once("SUMMARY").unwrap();
        let (rates, times) = tables.split_once("SUMMARY").unwrap();
        let (times, end) = times.split_once("\n-- ").unwrap();
        let turned = format!("{head}SUMMARY{times}\nSUMMARY{rates}-- {end}");
        assert_eq!(parse(&turned).unwrap(), all);
        let alone = format!("{head}SUMMARY{times}\n-- {end}");
        assert!(parse(&alone).unwrap_err().contains("mdtest with -P"));
        let other = BOTH.replace("SUMMARY time (in ms/op)", "SUMMARY bytes (in MiB/s)");
        assert!(parse(&other).unwrap_err().contains("something else"));
        // The time table of 3.2 to 4.0 has no unit.
        let older = BOTH.replace(" (in ms/op)", "").replace(" (in ops/sec)", "");
        assert_eq!(parse(&older).unwrap(), all);
        // A figure stands in a result once.
        let twice = BOTH.replace("SUMMARY time (in ms/op)", "SUMMARY rate (in ops/sec)");
        assert!(MDTEST.read(&twice).unwrap_err().contains("stands there twice"));
        let row = BOTH.lines().find(|line| line.contains("File creation")).unwrap();
        let doubled = BOTH.replacen(row, &format!("{row}\n{row}"), 1);
        assert!(MDTEST.read(&doubled).unwrap_err().contains("stands there twice"));
    }

    /// mdtest up to 3.3 has a colon behind the name: "`Directory creation: ...` is no row of its
    /// summary".
    #[test]
    fn the_summary_of_older_versions_is_read_as_well() {
        let all = parse(OLD).unwrap();
        for (name, value) in [
            ("create_per_s", 8035.705),
            ("stat_per_s", 36_838.527),
            ("open_per_s", 16_929.163),
            ("unlink_per_s", 16_861.866),
            ("directory_create_per_s", 3431.708),
            ("directory_remove_per_s", 9473.679),
            ("lowest_tree_create_per_s", 128.617),
        ] {
            assert_eq!(figure(&all[0], name), Some(value), "{name}");
        }
        assert_eq!((all[0].version.as_str(), &all[0].settings["streams"]), ("1.9.3", &72.into()));
        let oldest = OLD.replace("SUMMARY rate: ", "SUMMARY: ");
        assert_eq!(parse(&oldest).unwrap(), all);
    }

    #[test]
    fn a_row_that_contradicts_itself_or_is_unknown_is_refused() {
        let high = TWO.replace("22788.125", "92788.125");
        assert!(parse(&high).unwrap_err().contains("between its lowest"));
        let low = TWO.replace("19759.986", "29759.986");
        assert!(parse(&low).unwrap_err().contains("between its lowest"));
        let other = TWO.replace("File stat ", "File links");
        assert!(parse(&other).unwrap_err().contains("no row"));
    }
}
