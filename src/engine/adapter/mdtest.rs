//! (pure) mdtest 4: files made, looked at, opened and removed; its closing summary.
//!
//! Each stream is a task in a directory of its own; several are started by `mpirun`.
//! Rates are operations per second; of several iterations mdtest gives the mean, the highest and
//! the lowest.

use serde_json::Map;

use super::{Adapter, Asked, Launch, Said, tasks};

pub const MDTEST: Adapter = Adapter {
    name: "mdtest",
    about: "Empty files made, looked at, opened and removed, by tasks of the installed mdtest",
    program: "mdtest",
    get: "build it: github.com/hpc/ior (needs MPI)",
    // It has no word for it; a run on no file system says it first.
    asks_version: &["-a", "DUMMY", "-F", "-n", "1", "-d", "/"],
    launch,
    parse,
    knows,
};

fn launch(asked: &Asked<'_>) -> Result<Launch, String> {
    let place = asked.place("mdtest")?;
    let files = asked.settings.whole("files").to_string();
    let directory = format!("{place}/mdtest");
    let words = ["mdtest", "-a", "POSIX", "-F", "-u", "-d", &directory, "-n", &files];
    let words = tasks(asked, words.map(str::to_owned).into());
    Ok(Launch { words, ..Launch::default() })
}

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
    let mut summary = false;
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
            summary = false;
        } else if let Some(one) = &mut said {
            if line.starts_with("-- finished at ") {
                let one = said.take().filter(|one| !one.figures.is_empty());
                all.push(one.ok_or("a run of it has no summary")?);
            } else if line.starts_with("SUMMARY rate") {
                summary = line.contains("ops/sec") || !line.contains("in ");
            } else if summary {
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

/// `mdtest-4.1.0 was launched with 2 total task(s)`: the version, and what follows `with`.
fn launched(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("mdtest-")?.split_once(" was launched with ")
}

fn row(said: &mut Said, line: &str) -> Result<(), String> {
    let found = ROWS.iter().find_map(|(theirs, ours)| Some((line.strip_prefix(theirs)?, *ours)));
    let Some((rest, name)) = found else { return Ok(()) };
    let wrong = || format!("`{line}` is no row of its summary");
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [highest, lowest, mean, _] = words.as_slice() else { return Err(wrong()) };
    for (what, word) in [("", mean), ("highest_", highest), ("lowest_", lowest)] {
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(wrong)?;
        // mdtest prints a zero for what it did not do.
        if number > 0.0 {
            said.add(format!("{what}{name}_per_s"), number, format!("{word} ops/sec"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::adapter::testing::{figure, launch, words};

    const TWO: &str = include_str!("../../../tests/fixtures/tools/mdtest-4.1.0-two-tasks.txt");

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

    #[test]
    fn several_streams_are_tasks_of_mpirun() {
        let words = words(&MDTEST, &[("streams", "2")], &["/a"]);
        let position = words.iter().position(|word| word == "mdtest");
        assert_eq!((words[0].as_str(), position), ("mpirun", Some(5)), "{words:?}");
        assert!(words.contains(&"-u".to_owned()), "each in a directory of its own");
    }

    #[test]
    fn one_task_makes_its_files_in_one_directory() {
        let words = words(&MDTEST, &[("files", "1000")], &["/a"]);
        assert!(words.ends_with(&["-n".to_owned(), "1000".to_owned()]), "{words:?}");
        assert!(launch(&MDTEST, &[], &["/a", "/b"]).unwrap_err().contains("one directory"));
    }
}
