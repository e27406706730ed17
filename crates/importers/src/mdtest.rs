//! (pure) mdtest 1.8 to 4: its closing summaries.
//!
//! Rates are operations per second; of several iterations mdtest gives the mean, the highest and
//! the lowest. With `-f` one run has a summary for each number of tasks: each is a result.

use super::{Form, Importer, ToolResult};
use experiment::measurement::Note;

/// See [`Importer`].
pub const MDTEST: Importer = Importer {
    name: "mdtest",
    about: "All that mdtest 1.8 to 4 prints",
    forms: &[Form {
        bring: "all that it prints",
        recorded: &["1.9.3", "1.9.4-rc1", "3.3.0", "4.0.0", "4.1.0"],
        read: "the rate of each operation, with its highest and lowest; with `-f` of each number \
               of tasks",
        not_read: "times; rates of each task; the CSV of ranks",
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

/// One result a summary of rates. A run is whole when it says when it finished.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut run: Option<MdtestRun> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim) else { continue };
        if let Some((version, rest)) = launched(line) {
            if let Some(before) = run {
                return Err(before.unfinished("a run of it does not say that it finished"));
            }
            let launched = rest.split(' ').next().and_then(|word| word.parse::<u64>().ok());
            run = Some(MdtestRun { version: version.to_owned(), launched, ..MdtestRun::default() });
        } else if line.starts_with("-- finished at ") {
            if let Some(run) = run.take() {
                all.extend(run.finished()?);
            }
        } else if let Some(run) = &mut run {
            run.line(line)?;
        }
    }
    match (run, all.is_empty()) {
        (Some(run), _) => Err(run.unfinished("it was cut short: it does not say that it finished")),
        (None, true) => Err("there is no run of mdtest in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// A run of mdtest that has begun.
#[derive(Default)]
struct MdtestRun {
    version: String,
    /// How many tasks there are; with `-f` not all of them take part.
    launched: Option<u64>,
    of_some: bool,
    /// Of the summary that follows: `2 tasks, 200 files`.
    tasks: Option<u64>,
    table: MdtestTable,
    /// Whether the rates of each rank stand before those of all.
    ranks: bool,
    results: Vec<ToolResult>,
    /// The first error that it stopped at.
    error: Option<String>,
    notes: Vec<Note>,
}

/// Which table of a summary the lines are of.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum MdtestTable {
    #[default]
    None,
    Rates,
    /// With `-P` the times follow the rates, in rows of the same names.
    Times,
}

impl MdtestRun {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(title) = line.strip_prefix("SUMMARY") {
            self.table = begins(title)?;
            if self.table == MdtestTable::Rates {
                self.begin();
            }
        } else if let Some(tasks) = tasks(line) {
            self.tasks = Some(tasks);
            self.table = MdtestTable::None;
        } else if line.starts_with("Command line used:") {
            self.of_some = line.split_whitespace().any(|it| it.trim_matches(['\'', '"']) == "-f");
        } else if line.starts_with("Per process result") {
            self.table = MdtestTable::None;
        } else if line.starts_with("Operation ") {
            self.ranks = line.contains("per Rank:");
        } else if line.starts_with("ERROR: verifying the data") {
            let text = format!("mdtest found other data than it wrote: {}", shortened(line));
            self.notes.push(Note::new("wrong-data", text));
        } else if self.error.is_none() && is_error(line) {
            self.error = Some(shortened(line));
        } else if let (MdtestTable::Rates, Some(said)) = (self.table, self.results.last_mut()) {
            row(said, line, self.ranks)?;
        }
        Ok(())
    }

    /// A summary is a result of its own where it says of how many tasks; a second one of the same
    /// is put to the first, where it is refused.
    fn begin(&mut self) {
        let tasks = self.tasks.take();
        if tasks.is_none() && !self.results.is_empty() {
            return;
        }
        let streams = tasks.or(self.launched.filter(|_| !self.of_some));
        let streams = streams.map(|tasks| ("streams".to_owned(), tasks.into()));
        let (version, settings) = (self.version.clone(), streams.into_iter().collect());
        self.results.push(ToolResult { version, settings, ..ToolResult::default() });
    }

    fn finished(self) -> Result<Vec<ToolResult>, String> {
        if self.results.iter().any(|said| said.figures.is_empty()) {
            return Err("a summary of it has no rate".to_owned());
        }
        let several = self.results.len() > 1;
        let mut results = self.results;
        for said in &mut results {
            if let (true, Some(tasks)) = (several, said.settings.get("streams")) {
                said.title = format!("{tasks} tasks");
            }
            said.notes.extend(self.notes.iter().cloned());
        }
        match (results.is_empty(), self.table) {
            (false, _) => Ok(results),
            (true, MdtestTable::Times) => {
                Err("a run of it has times alone; run mdtest without -Z".to_owned())
            }
            (true, _) => Err("a run of it has no summary".to_owned()),
        }
    }

    fn unfinished(&self, why: &str) -> String {
        match &self.error {
            Some(error) => format!("mdtest stopped at an error: {error}"),
            None => why.to_owned(),
        }
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(200).collect()
}

/// `11/29/2026 23:52:07: Process 0: FAILED in create_remove_dirs, ...`, since 4.0 `ERROR: ...`.
fn is_error(line: &str) -> bool {
    line.contains(": FAILED in ") || line.starts_with("ERROR: ")
}

/// `2 tasks, 200 files/directories`.
fn tasks(line: &str) -> Option<u64> {
    let (tasks, rest) = line.split_once(" tasks, ")?;
    let of_what = rest.split_once(' ')?.1;
    let known = ["files", "directories", "files/directories"];
    known.contains(&of_what).then(|| tasks.parse().ok())?
}

/// What follows `SUMMARY`: ` rate (in ops/sec): (of 2 iterations)`, up to 4.0 ` rate: (of ...`, and
/// `: (of ...` before there were times.
fn begins(title: &str) -> Result<MdtestTable, String> {
    let what = title.split(['(', ':']).next().unwrap_or_default().trim();
    let unit = title.split_once("(in ").and_then(|(_, rest)| rest.split(')').next());
    match (what, unit) {
        ("" | "rate", None | Some("ops/sec")) => Ok(MdtestTable::Rates),
        ("time", _) => Ok(MdtestTable::Times),
        _ => Err(format!("its summary is of something else: SUMMARY{title}")),
    }
}

/// `mdtest-4.1.0 was launched with 2 total task(s)`: the version, and what follows `with`.
fn launched(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("mdtest-")?.split_once(" was launched with ")
}

fn row(said: &mut ToolResult, line: &str, ranks: bool) -> Result<(), String> {
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
    let of_all = match (ranks, words.as_slice()) {
        (true, [_, _, _, of_all @ ..]) => of_all,
        (_, of_all) => of_all,
    };
    let [highest, lowest, mean, _] = of_all else { return Err(wrong()) };
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
    use base::stats::testing::Random;

    use super::*;
    use crate::testing::{figure, same_or_refused};

    const TWO: &str = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-two-tasks.txt");
    const BOTH: &str = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-rate-and-time.txt");
    const OLD: &str =
        include_str!("../../../tests/fixtures/tools/mdtest-1.9.3-five-iterations.txt");
    const SOME: &str = include_str!("../../../tests/fixtures/tools/mdtest-1.9.3-one-and-two.txt");
    const RANKS: &str = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-ranks.txt");

    fn titles(all: &[ToolResult]) -> Vec<&str> {
        all.iter().map(|said| said.title.as_str()).collect()
    }

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
        assert!(parse(&alone).unwrap_err().contains("mdtest without -Z"));
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

    /// With `-f 1 -l 2` the rates of one task were told beside those of two, all as of two.
    #[test]
    fn the_rates_of_each_number_of_tasks_are_a_result() {
        for (text, first, second) in [
            (SOME, 21_343.674, 9179.615),
            (
                include_str!("../../../tests/fixtures/tools/mdtest-4.0.0-one-and-two.txt"),
                463.824,
                949.460,
            ),
        ] {
            let all = MDTEST.read(text).unwrap();
            assert_eq!(titles(&all), ["1 tasks", "2 tasks"]);
            assert_eq!(
                (&all[0].settings["streams"], &all[1].settings["streams"]),
                (&1.into(), &2.into())
            );
            assert_eq!(figure(&all[0], "directory_create_per_s"), Some(first));
            assert_eq!(figure(&all[1], "directory_create_per_s"), Some(second));
        }
        // Without the line that tells them they are not of one.
        let without = SOME.replace("\n2 tasks, 200 directories\n", "\n");
        assert!(MDTEST.read(&without).unwrap_err().contains("stands there twice"));
        let without = SOME.replace("\n1 tasks, 100 directories\n", "\n");
        assert_eq!(MDTEST.read(&without).unwrap()[0].settings.get("streams"), None);
    }

    /// Before the rates of all stand those of each rank, in a row seven numbers long.
    #[test]
    fn rates_of_one_rank_are_not_taken_for_those_of_all() {
        let said = &MDTEST.read(RANKS).unwrap()[0];
        for (name, value) in [
            ("create_per_s", 6192.228),
            ("highest_create_per_s", 6664.925),
            ("lowest_stat_per_s", 746_317.438),
            ("tree_remove_per_s", 213.289),
        ] {
            assert_eq!(figure(said, name), Some(value), "{name}");
        }
        assert_eq!(said.figures.len(), 18);
        let without = RANKS.replace("per Rank:", "");
        assert!(MDTEST.read(&without).unwrap_err().contains("no row of its summary"));
    }

    #[test]
    fn every_version_has_its_rates() {
        for (text, version, create) in [
            (
                include_str!("../../../tests/fixtures/tools/mdtest-1.9.3-of-ior-3.2.1.txt"),
                "1.9.3",
                2520.854,
            ),
            (
                include_str!("../../../tests/fixtures/tools/mdtest-1.9.4-rc1-files.txt"),
                "1.9.4-rc1",
                4_716.841,
            ),
            (
                include_str!("../../../tests/fixtures/tools/mdtest-3.3.0-both.txt"),
                "3.3.0",
                1697.243,
            ),
            (
                include_str!("../../../tests/fixtures/tools/mdtest-1.9.3-verbose.txt"),
                "1.9.3",
                4544.222,
            ),
        ] {
            let said = &MDTEST.read(text).unwrap()[0];
            assert_eq!((said.version.as_str(), &said.settings["streams"]), (version, &2.into()));
            assert_eq!(figure(said, "create_per_s"), Some(create));
            assert_eq!(said.title, "");
        }
    }

    #[test]
    fn what_went_wrong_is_told() {
        let text = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-wrong-data.txt");
        let said = &MDTEST.read(text).unwrap()[0];
        assert!(said.notes[0].text.contains("(6 errors)"), "{:?}", said.notes);
        let text = include_str!("../../../tests/fixtures/tools/mdtest-3.3.0-error-refused.txt");
        let why = MDTEST.read(text).unwrap_err();
        assert!(why.starts_with("mdtest stopped at an error: 11/29/2026"), "{why}");
        let text = include_str!("../../../tests/fixtures/tools/mdtest-4.0.0-times-refused.txt");
        let why = MDTEST.read(text).unwrap_err();
        assert_eq!(why, "a run of it has times alone; run mdtest without -Z");
    }

    /// Other blanks, a colon more or less, lines of MPI between, and cuts: the same or an error.
    #[test]
    fn a_changed_output_gives_the_same_or_an_error() {
        let mut random = Random::new(28);
        let (mut kept, mut tried) = (0, 0);
        for whole in [TWO, BOTH, OLD, SOME, RANKS] {
            let lines: Vec<&str> = whole.lines().collect();
            for _ in 0..80 {
                let at = (random.uniform() * lines.len() as f64) as usize;
                let mut changed: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
                match (random.uniform() * 6.0) as usize {
                    0 => changed.insert(at, "[node1:4711] MCA btl: eager_limit 4096".to_owned()),
                    1 => changed[at] = format!("   {}   ", changed[at]),
                    2 => changed.truncate(at),
                    3 => changed[at] = changed[at].replace("  ", " "),
                    4 => changed[at] = changed[at].replacen("   ", " 1.000 ", 1),
                    _ => changed.iter_mut().for_each(|it| *it = it.replace(" :", "")),
                }
                tried += 1;
                let text = format!("{}\n", changed.join("\n"));
                kept += usize::from(same_or_refused(&MDTEST, whole, &text, 0.0));
            }
        }
        assert!(kept * 3 > tried, "{kept} of {tried}");
    }
}
