//! Limits of the shell that starts a run (`ulimit`): one that would end it is told before it
//! begins, with what raises it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::{document, without_root};

type Resource = libc::__rlimit_resource_t;

/// What a run leaves in the middle of things.
fn left(folder: &Path) -> Vec<String> {
    let names = folder.read_dir().expect("readable").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("brickyard-") || name.ends_with("-undo")).collect()
}

/// The end of a command that may have so much of these.
fn limited(command: &mut Command, limits: &[(Resource, u64)]) -> Output {
    let limits = limits.to_vec();
    let set = move || {
        for (resource, most) in &limits {
            let limit = libc::rlimit { rlim_cur: *most, rlim_max: *most };
            // SAFETY: a system call on a structure of this stack.
            if unsafe { libc::setrlimit(*resource, &limit) } != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: what is done after fork(2) are system calls.
    unsafe { command.pre_exec(set) };
    command.output().expect("it can be started")
}

fn run(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.arg("run").args(more).args(["--dir", ".", "--replicates=1"]);
    command.current_dir(folder).env("NO_COLOR", "1");
    command
}

/// Under `ulimit -f 1024` "the load ended without a result; it said: killed by signal 25", and
/// under `ulimit -f 100` the program ended so without a word, with status 153. Only the limit of
/// descriptors was told before a run; under the others loads were killed, threads did not start and
/// memory was refused in its middle.
#[test]
fn every_limit_that_would_end_a_run_is_told_before_it_begins() {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    let write = &["sequential-write", "stop=300ms", "file-size=4MiB"][..];
    let read = &["random-read", "stop=300ms", "file-size=64KiB"][..];
    let names = &["create", "files=10", "file-size=4MiB"][..];
    let deep =
        &["random-read", "stop=300ms", "file-size=1GiB", "block-size=16MiB", "queue-depth=64"][..];
    for (flag, name, resource, most, more) in [
        ("-f", "RLIMIT_FSIZE", libc::RLIMIT_FSIZE, MIB, write),
        ("-f", "RLIMIT_FSIZE", libc::RLIMIT_FSIZE, 100 * KIB, read),
        ("-f", "RLIMIT_FSIZE", libc::RLIMIT_FSIZE, MIB, names),
        ("-n", "RLIMIT_NOFILE", libc::RLIMIT_NOFILE, 40, read),
        ("-v", "RLIMIT_AS", libc::RLIMIT_AS, 300 * MIB, read),
        ("-v", "RLIMIT_AS", libc::RLIMIT_AS, 1024 * MIB, deep),
        ("-d", "RLIMIT_DATA", libc::RLIMIT_DATA, 32 * MIB, read),
        ("-s", "RLIMIT_STACK", libc::RLIMIT_STACK, 512 * KIB, read),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = limited(&mut run(folder.path(), more), &[(resource, most)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let case = format!("{name} {most} {more:?}: {}: {said}", output.status);
        assert_eq!(output.status.code(), Some(2), "{case}");
        assert!(said.contains(name) && said.contains(&format!("`ulimit {flag}")), "{case}");
        assert_eq!(left(folder.path()), [""; 0], "{case}");
    }
}

#[test]
fn a_user_with_too_few_threads_is_told_and_root_has_no_such_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "random-read", "--dir", ".", "file-size=64KiB", "stop=300ms"];
    let mut command = without_root(folder.path());
    command.args(arguments).arg("--replicates=1");
    let output = limited(&mut command, &[(libc::RLIMIT_NPROC, 10)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{}: {said}", output.status);
    assert!(said.contains("RLIMIT_NPROC") && said.contains("`ulimit -u`"), "{said}");
    assert_eq!(left(folder.path()), [""; 0]);
}

/// A load is killed when it has used up its processor time; whether it will nobody knows before.
#[test]
fn processor_time_that_a_trial_may_use_up_is_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |stop: &str| {
        let more = ["random-read", "file-size=64KiB", stop, "--dry-run"];
        let mut command = run(folder.path(), &more);
        let output = limited(&mut command, &[(libc::RLIMIT_CPU, 5)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let long = said("stop=60s");
    assert!(long.contains("warning: ") && long.contains("`ulimit -t`"), "{long}");
    assert!(!said("stop=1s").contains("ulimit"));
}

/// What is refused below these limits is not refused for nothing: a run with no more than they
/// allow comes to its end.
#[test]
fn a_run_gets_by_with_the_least_that_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = ["random-read", "file-size=1MiB", "stop=300ms", "queue-depth=4", "--json"];
    let output = limited(
        &mut run(folder.path(), &more),
        &[
            (libc::RLIMIT_NOFILE, 64),
            (libc::RLIMIT_AS, 512 << 20),
            (libc::RLIMIT_DATA, 64 << 20),
            (libc::RLIMIT_STACK, 1 << 20),
            (libc::RLIMIT_MEMLOCK, 0),
            (libc::RLIMIT_FSIZE, 8 << 20),
        ],
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    assert_eq!(document(&output)["trials"][0]["outcome"], "done", "{said}");
}
