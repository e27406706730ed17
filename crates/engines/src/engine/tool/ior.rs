//! (pure) IOR 3.3 to 4: a file of each task.
//!
//! A trial of one stream runs one task without `mpirun`, one of several lets `mpirun` start so
//! many.

use super::{Launch, ToolEngine, ToolInput, one_of, tasks};
use experiment::knob::{self, engines};

/// ior as an engine.
pub const IOR: ToolEngine = ToolEngine {
    kind: &engines::IOR,
    importer: &importers::ior::IOR,
    program: "ior",
    get: "build it: github.com/hpc/ior (needs MPI)",
    // It has no word for it; a run that does nothing says it first.
    asks_version: &["-a", "DUMMY", "--dryRun"],
    launch,
};

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let access = [("read", "read"), ("write", "write"), ("random-read", "random-read")];
    let access = one_of(settings, "IOR", knob::ACCESS, &access)?;
    let (size, block) = (settings.get(knob::FILE_SIZE), settings.get(knob::BLOCK_SIZE));
    if size % block != 0 {
        return Err(format!(
            "IOR moves whole transfers; file-size={} needs to be a multiple of block-size={}",
            settings.value(knob::FILE_SIZE),
            settings.value(knob::BLOCK_SIZE)
        ));
    }
    let place = asked.place("IOR")?;
    let mut common = ["ior", "-a", "POSIX", "-k", "-e"].map(str::to_owned).to_vec();
    common.extend(["-b".to_owned(), size.to_string()]);
    common.extend(["-o".to_owned(), format!("{place}/ior")]);
    // Streams have files of their own.
    common.extend((settings.get(knob::STREAMS) > 1).then(|| "-F".to_owned()));
    let direct = settings.get(knob::DIRECT).then(|| "--posix.odirect".to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, refused, words};

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
