//! (pure) IOR 3.3 to 4: its closing summary.
//!
//! Rates are in MiB/s and 1/s; of several repetitions IOR gives the mean, the highest and the
//! lowest. One run may have several tests (`-f SCRIPT`): each is a result.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, Said};

/// See [`Importer`].
pub const IOR: Importer = Importer {
    name: "ior",
    about: "All that IOR 3.3 to 4 prints, run by hand",
    forms: &[Form {
        bring: "all that it prints",
        recorded: &["3.3.0", "4.1.0"],
        read: "the rate of each test and way, with its highest and lowest",
        not_read: "what IO500 lets it print; summaries before 3.3",
    }],
    words: &[
        "IOR",
        "transfersize",
        "xfersize",
        "blocksize",
        "segmentcount",
        "Max Write",
        "Max Read",
        "access    bw(MiB/s)",
        "tasks",
        "Stonewall",
    ],
    mark: "line `IOR-3.3.0: MPI Coordinated Test of Parallel I/O`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("IOR-") && line.contains("MPI Coordinated Test"))
}

/// The head of the summary, its blanks as one; its first word says what a row is of.
const HEAD: &str = "Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Max(OPs) Min(OPs) Mean(OPs) \
                    StdDev Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord \
                    reordoff reordrand seed segcnt blksiz xsize aggs(MiB) API RefNum";
/// How many words a row of the summary has.
const WORDS: usize = 27;
/// IOR's MiB.
const MIB: f64 = 1_048_576.0;

/// A run that has begun.
#[derive(Default)]
struct Run {
    version: String,
    /// How many of its tests began.
    begun: usize,
    /// What the summary says of each, in its order.
    tests: Vec<(u64, Said)>,
    /// Whether lines are of the summary now.
    summary: bool,
    /// Whether IO500 started it, which leaves the summary out.
    of_io500: bool,
}

/// One result a test, of writing and reading. A run is whole when it says when it finished.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut run: Option<Run> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        if let Some(rest) = line.strip_prefix("IOR-") {
            if let Some(before) = &run {
                return Err(before.unfinished("a run of it does not say that it finished"));
            }
            let version = rest.split(':').next().unwrap_or_default().to_owned();
            run = Some(Run { version, ..Run::default() });
        } else if line.starts_with("Finished ") {
            if let Some(run) = run.take() {
                all.extend(run.finished()?);
            }
        } else if let Some(run) = &mut run {
            run.read(line)?;
        }
    }
    match (run, all.is_empty()) {
        (Some(run), _) => Err(run.unfinished("it was cut short: it does not say that it finished")),
        (None, true) => Err("there is no run of IOR in it".to_owned()),
        (None, false) => Ok(all),
    }
}

impl Run {
    fn read(&mut self, line: &str) -> Result<(), String> {
        if self.summary {
            return self.row(line);
        }
        match line.split_once(':').map(|(key, value)| (key.trim(), value)) {
            Some(("TestID", _)) => self.begun += 1,
            Some(("Command line", words)) => {
                self.of_io500 = words.contains("stoneWallingStatusFile")
                    || words.contains("saveRankPerformanceDetailsCSV");
            }
            _ if line.starts_with("Operation ") => {
                let words: Vec<&str> = line.split_whitespace().collect();
                if words.join(" ") != HEAD {
                    return Err(format!(
                        "the summary of IOR {} has other columns than that of 3.3 to 4; run one of \
                         those",
                        self.version
                    ));
                }
                self.summary = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let way = match words.first() {
            None => return Ok(()),
            Some(way @ (&"write" | &"read")) => *way,
            Some(_) => return Err(format!("`{line}` is no row of its summary")),
        };
        if words.len() != WORDS {
            return Err(format!("a row of its summary has {} words, not {WORDS}", words.len()));
        }
        let whole = |at: usize| words[at].parse::<u64>().ok();
        let test = whole(12).ok_or_else(|| format!("`{}` names no test of its", words[12]))?;
        let settings = settings(whole);
        if !self.tests.iter().any(|(known, _)| *known == test) {
            let (version, settings) = (self.version.clone(), settings.clone());
            self.tests.push((test, Said { version, settings, ..Said::default() }));
        }
        let found = self.tests.iter_mut().find(|(known, _)| *known == test);
        match found {
            Some((_, said)) if said.settings == settings => figures(said, way, &words),
            _ => Err(format!("the rows of its test {test} are not of one test")),
        }
    }

    /// Its results; they have names where there are several.
    fn finished(self) -> Result<Vec<Said>, String> {
        let several = match self.tests.len() {
            0 => return Err("a run of it has no summary".to_owned()),
            // A row whose number had been changed would be a test of its own.
            more if more > self.begun => {
                let begun = self.begun;
                return Err(format!("its summary is of {more} tests, of which {begun} began"));
            }
            number => number > 1,
        };
        let named = |(number, mut said): (u64, Said)| {
            said.title = if several { format!("test {number}") } else { String::new() };
            said
        };
        Ok(self.tests.into_iter().map(named).collect())
    }

    fn unfinished(&self, why: &str) -> String {
        match self.of_io500 {
            true => {
                "IO500 started it and lets it print no summary; its own result_summary.txt has \
                     the figures. To import them run the words behind `Command line` by hand, \
                     without the -O that name files"
                    .to_owned()
            }
            false => why.to_owned(),
        }
    }
}

/// The knobs of a test, out of a row of its.
fn settings(whole: impl Fn(usize) -> Option<u64>) -> Map<String, Json> {
    // Only where each task has its own file is what it moves a file.
    let own = whole(16) == Some(1) || whole(13) == Some(1);
    let file = whole(21).zip(whole(22)).and_then(|(segments, block)| segments.checked_mul(block));
    let told =
        [("streams", whole(13)), ("block-size", whole(23)), ("file-size", file.filter(|_| own))];
    let told = told.into_iter().filter_map(|(knob, value)| Some((knob.to_owned(), value?.into())));
    told.collect()
}

fn figures(said: &mut Said, way: &str, words: &[&str]) -> Result<(), String> {
    let number = |at: usize| {
        let number = words[at].parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("`{}` in its summary is no number", words[at]))
    };
    for (at_most, at_least, mean) in [(1, 2, 3), (5, 6, 7)] {
        let mean = number(mean)?;
        if mean > number(at_most)? + ROUNDING || mean < number(at_least)? - ROUNDING {
            return Err(format!(
                "the mean of its {way} is not between the lowest and the highest in its summary"
            ));
        }
    }
    for (name, at, factor, unit) in [
        ("throughput_bytes_per_s", 3, MIB, "MiB/s"),
        ("highest_throughput_bytes_per_s", 1, MIB, "MiB/s"),
        ("lowest_throughput_bytes_per_s", 2, MIB, "MiB/s"),
        ("iops", 7, 1.0, "1/s"),
    ] {
        said.add(format!("{way}_{name}"), number(at)? * factor, format!("{} {unit}", words[at]));
    }
    Ok(())
}

/// Its rates have two digits behind the point.
const ROUNDING: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const TWO: &str = include_str!("../../../tests/fixtures/tools/ior-4.1.0-two-tasks.txt");
    const TESTS: &str = include_str!("../../../tests/fixtures/tools/ior-3.3.0-two-tests.txt");
    const IO500: &str = include_str!("../../../tests/fixtures/tools/ior-4.1.0-io500-refused.txt");

    #[test]
    fn the_summary_is_read_with_its_highest_and_lowest() {
        let said = &parse(TWO).unwrap()[0];
        assert_eq!(said.version, "4.1.0+dev");
        let mib =
            |name| figure(said, name).map(|value| (value / 1_048_576.0 * 100.0).round() / 100.0);
        assert_eq!(mib("write_throughput_bytes_per_s"), Some(495.41));
        assert_eq!(mib("read_highest_throughput_bytes_per_s"), Some(17_242.77));
        assert_eq!(figure(said, "write_iops"), Some(7926.49));
        assert_eq!(
            (&said.settings["streams"], &said.settings["file-size"]),
            (&2.into(), &(4 << 20).into())
        );
        assert_eq!(parse(&format!("{TWO}{TWO}")).unwrap().len(), 2);
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let end = TWO.find("Finished").unwrap();
        assert!(parse(&TWO[..end]).unwrap_err().contains("cut short"));
        assert!(parse(&format!("{}{TWO}", &TWO[..end])).is_err());
        assert!(parse(&TWO.replace("495.41", "-")).unwrap_err().contains("no number"));
        assert!(parse(&TWO.replace(" POSIX      0", "")).unwrap_err().contains("words"));
    }

    /// A script of several tests has one summary with rows of each: the rates of the last test were
    /// told as those of the first, one result in all.
    #[test]
    fn every_test_of_a_script_is_a_result() {
        let all = parse(TESTS).unwrap();
        let of = |said: &Said, name: &str| figure(said, name).map(f64::round);
        let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
        assert_eq!(titles, ["test 0", "test 1"]);
        assert_eq!(of(&all[0], "write_throughput_bytes_per_s"), Some(447_500_780.0));
        assert_eq!(of(&all[0], "read_throughput_bytes_per_s"), Some(348_703_949.0));
        assert_eq!(of(&all[1], "write_throughput_bytes_per_s"), Some(599_219_241.0));
        assert_eq!(of(&all[1], "read_throughput_bytes_per_s"), Some(450_772_337.0));
        // The first had one file of all tasks.
        assert_eq!(all[0].settings.get("file-size"), None);
        assert_eq!(all[1].settings["file-size"], 209_715_200);
        assert!(all.iter().all(|said| said.settings["streams"] == 2));
        // In whatever order the rows stand, and of however many tests.
        let (head, rows) = TESTS.split_once("RefNum\n").unwrap();
        let (rows, end) = rows.split_at(rows.find("Finished").unwrap());
        let lines: Vec<&str> = rows.lines().collect();
        let text = |order: &[usize]| {
            let rows: String = order.iter().map(|at| format!("{}\n", lines[*at])).collect();
            parse(&format!("{head}RefNum\n{rows}{end}"))
        };
        let turned = text(&[2, 1, 0, 3]).unwrap();
        let figures = |said: &Said, ways: [&str; 2]| {
            let names = ways.map(|way| format!("{way}_throughput_bytes_per_s"));
            names.map(|name| figure(said, &name).unwrap())
        };
        let ways = ["write", "read"];
        assert_eq!(figures(&turned[0], ways), figures(&all[1], ways));
        assert_eq!(figures(&turned[1], ways), figures(&all[0], ways));
        assert_eq!(text(&[0, 1]).unwrap()[0].figures, all[0].figures);
        let third = lines[0].replace("NA     0 ", "NA     2 ");
        let three = TESTS.replace(lines[0], &format!("{}\n{third}", lines[0]));
        assert!(parse(&three).unwrap_err().contains("of 3 tests, of which 2 began"));
        let begun = three.replacen("TestID ", "TestID : 2\nTestID ", 1);
        assert_eq!(parse(&begun).unwrap().len(), 3);
    }

    /// The rows of two tests that say they are of one were put together to one result.
    #[test]
    fn rows_that_are_not_of_one_test_are_refused() {
        let one = TESTS.replace("NA NA 1 2 1 1 1", "NA NA 0 2 1 1 1");
        assert!(parse(&one).unwrap_err().contains("not of one test"));
        let twice = TESTS.replace("NA NA 1 2 1 1 1", "NA NA 0 2 1 1 0");
        assert!(IOR.read(&twice).unwrap_err().contains("stands there twice"));
        let high = TESTS.replace("426.77     426.77     426.77", "426.77     426.77     526.77");
        assert!(parse(&high).unwrap_err().contains("not between"));
        let columns = TESTS.replace("Max(OPs)", "Max(IOPS)");
        assert!(parse(&columns).unwrap_err().contains("IOR 3.3.0+dev has other columns"));
    }

    /// A file of several segments was taken for one of a single block.
    #[test]
    fn the_file_of_a_task_has_all_of_its_segments() {
        let segments = TESTS.replace("0 1 209715200 20971520", "0 4 209715200 20971520");
        assert_eq!(parse(&segments).unwrap()[1].settings["file-size"], 4 * 209_715_200_u64);
    }

    /// "It was cut short" of a whole file: IO500 lets IOR print neither a summary nor its end.
    #[test]
    fn what_io500_started_is_refused_by_its_name() {
        for text in [IO500.to_owned(), format!("{IO500}{TWO}")] {
            let why = parse(&text).unwrap_err();
            assert!(why.contains("IO500") && why.contains("by hand"), "{why}");
        }
        let end = TWO.find("Finished").unwrap();
        assert!(!parse(&TWO[..end]).unwrap_err().contains("IO500"));
    }
}
