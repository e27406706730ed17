//! (pure) mdtest 1.8 to 4: files made, looked at, opened and removed.
//!
//! Each stream is a task in a directory of its own; several are started by `mpirun`.

use super::{Launch, ToolEngine, ToolInput, tasks};
use experiment::knob::{self, engines};

/// mdtest as an engine.
pub const MDTEST: ToolEngine = ToolEngine {
    kind: &engines::MDTEST,
    importer: &importers::mdtest::MDTEST,
    program: "mdtest",
    get: "build it: github.com/hpc/ior (needs MPI)",
    // It has no word for it; a run on no file system says it first.
    asks_version: &["-a", "DUMMY", "-F", "-n", "1", "-d", "/"],
    launch,
};

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let place = asked.place("mdtest")?;
    let files = asked.settings.get(knob::FILES).to_string();
    let directory = format!("{place}/mdtest");
    let words = ["mdtest", "-a", "POSIX", "-F", "-u", "-d", &directory, "-n", &files];
    let words = tasks(asked, words.map(str::to_owned).into());
    Ok(Launch { words, ..Launch::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, words};

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
