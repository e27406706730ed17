//! (pure) IOR 4: a file of each task, and its closing summary.
//!
//! A trial of one stream runs one task without `mpirun`, one of several lets `mpirun` start so
//! many. Rates are in MiB/s and 1/s; of several repetitions IOR gives the mean, the highest and
//! the lowest.

use serde_json::{Map, Value as Json};

use super::{Adapter, Asked, Launch, Said, one_of, tasks};

pub const IOR: Adapter = Adapter {
    name: "ior",
    about: "A parallel file system's files, one a task, by the installed IOR",
    program: "ior",
    get: "build it: github.com/hpc/ior (needs MPI)",
    // It has no word for it; a run that does nothing says it first.
    asks_version: &["-a", "DUMMY", "--dryRun"],
    launch,
    parse,
    knows,
};

fn launch(asked: &Asked<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let access = [("read", "read"), ("write", "write"), ("random-read", "random-read")];
    let access = one_of(settings, "IOR", "access", &access)?;
    let (size, block) = (settings.whole("file-size"), settings.whole("block-size"));
    if size % block != 0 {
        return Err(format!(
            "IOR moves whole transfers; file-size={} needs to be a multiple of block-size={}",
            settings.get("file-size"),
            settings.get("block-size")
        ));
    }
    let place = asked.place("IOR")?;
    let mut common = ["ior", "-a", "POSIX", "-k", "-e"].map(str::to_owned).to_vec();
    common.extend(["-b".to_owned(), size.to_string()]);
    common.extend(["-o".to_owned(), format!("{place}/ior")]);
    // Streams have files of their own.
    common.extend((settings.whole("streams") > 1).then(|| "-F".to_owned()));
    let direct = settings.flag("direct").then(|| "--posix.odirect".to_owned());
    let moved = |bytes: u64| ["-t".to_owned(), bytes.to_string()];
    let mut words = common.clone();
    words.extend(moved(block));
    words.extend(direct);
    words.push(if access == "write" { "-w" } else { "-r" }.to_owned());
    if access == "random-read" {
        words.push("-z".to_owned());
    }
    let mut lay = common;
    lay.extend(moved(block));
    lay.push("-w".to_owned());
    let prepare = if access == "write" { Vec::new() } else { vec![tasks(asked, lay)] };
    Ok(Launch { prepare, words: tasks(asked, words), notes: Vec::new() })
}

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("IOR-") && line.contains("MPI Coordinated Test"))
}

/// How many words a row of the summary has.
const WORDS: usize = 27;

/// One result a run, of writing and reading. A run is whole when it says when it finished.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    let mut summary = false;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        if let Some(rest) = line.strip_prefix("IOR-") {
            if said.is_some() {
                return Err("a run of it does not say that it finished".to_owned());
            }
            let version = rest.split(':').next().unwrap_or_default().to_owned();
            said = Some(Said { version, ..Said::default() });
            summary = false;
        } else if let Some(one) = &mut said {
            if line.starts_with("Finished ") {
                let one = said.take().filter(|one| !one.figures.is_empty());
                all.push(one.ok_or("a run of it has no summary")?);
            } else if line.starts_with("Operation ") && line.contains("Max(MiB)") {
                summary = true;
            } else if summary {
                row(one, line)?;
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: it does not say that it finished".to_owned()),
        (None, true) => Err("there is no run of IOR in it".to_owned()),
        (None, false) => Ok(all),
    }
}

fn row(said: &mut Said, line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let way = match words.first() {
        None => return Ok(()),
        Some(way @ (&"write" | &"read")) => *way,
        Some(_) => return Err(format!("`{line}` is no row of its summary")),
    };
    if words.len() != WORDS {
        return Err(format!("a row of its summary has {} words, not {WORDS}", words.len()));
    }
    let number = |at: usize| {
        let number = words[at].parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("`{}` in its summary is no number", words[at]))
    };
    const MIB: f64 = 1_048_576.0;
    for (name, at, factor, unit) in [
        ("throughput_bytes_per_s", 3, MIB, "MiB/s"),
        ("highest_throughput_bytes_per_s", 1, MIB, "MiB/s"),
        ("lowest_throughput_bytes_per_s", 2, MIB, "MiB/s"),
        ("iops", 7, 1.0, "1/s"),
    ] {
        said.add(format!("{way}_{name}"), number(at)? * factor, format!("{} {unit}", words[at]));
    }
    let whole = |at: usize| words[at].parse::<u64>().ok();
    let mut known: Map<String, Json> = Map::new();
    // Only where each task has its own file is a block a file.
    let sizes = [("streams", 13), ("block-size", 23)];
    let own = whole(16) == Some(1) || whole(13) == Some(1);
    let file = own.then_some(("file-size", 22));
    for (knob, at) in sizes.into_iter().chain(file) {
        if let Some(value) = whole(at) {
            known.insert(knob.to_owned(), value.into());
        }
    }
    said.settings = known;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::adapter::testing::{figure, launch, refused, words};

    const TWO: &str = include_str!("../../../tests/fixtures/tools/ior-4.1.0-two-tasks.txt");

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

    #[test]
    fn several_streams_are_tasks_of_mpirun_with_a_file_each() {
        let read = launch(&IOR, &[("streams", "3")], &["/a"]).unwrap();
        for words in [&read.prepare[0], &read.words] {
            let start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", "ior"];
            assert!(words.starts_with(&start.map(str::to_owned)), "{words:?}");
            assert!(words.contains(&"-F".to_owned()));
        }
        let one = words(&IOR, &[], &["/a"]);
        assert!(one[0] == "ior" && !one.contains(&"-F".to_owned()), "{one:?}");
    }

    #[test]
    fn what_no_task_can_do_is_refused() {
        for access in ["random-write", "random-mix", "read-backward", "read-strided"] {
            assert!(refused(&IOR, &[("access", access)]).contains(&format!("access={access}")));
        }
        assert!(refused(&IOR, &[("block-size", "3MiB")]).contains("block-size=3MiB"));
        assert!(launch(&IOR, &[], &["/a", "/b"]).unwrap_err().contains("one directory"));
        let read = launch(&IOR, &[("file-size", "4MiB")], &["/a"]).unwrap();
        assert!(
            read.prepare[0].contains(&"-w".to_owned()) && read.words.contains(&"-r".to_owned())
        );
        let write = words(&IOR, &[("access", "write")], &["/a"]);
        assert!(write.contains(&"--posix.odirect".to_owned()), "{write:?}");
    }
}
