//! Every signal that can end the program and can be handled ends a run in order, as Ctrl-C does.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::program::child_of;
use crate::program::{brickyard, document};

/// What no run minds: SIGPIPE, SIGCHLD, SIGCONT, SIGURG, SIGXFSZ, SIGWINCH, two of the C library's.
const MINDED_NOT: [i32; 8] = [13, 17, 18, 23, 25, 28, 32, 33];
/// What only stops: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU.
const STOPS: [i32; 4] = [19, 20, 21, 22];
/// What nobody can handle.
const KILL: i32 = 9;
const TERM: i32 = 15;

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command
        .args(["run", "random-read", "--dir", ".", "file-size=1MiB", "stop=60s"])
        .args(["--replicates=1"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn left(folder: &Path) -> Vec<String> {
    let names = folder.read_dir().expect("readable").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("brickyard-") || name.ends_with("-undo")).collect()
}

/// A run that has made its directory.
fn begun(mut command: Command, folder: &Path) -> Child {
    let child = command.spawn().expect("brickyard can be started");
    let started = Instant::now();
    while left(folder).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing was begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn send(pid: u32, signal: i32) {
    // SAFETY: a system call on two numbers.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0, "signal {signal}");
}

/// Waits for the end of a run that was told to; gives what it said.
fn ended_in_order(child: Child, folder: &Path, signal: i32) -> String {
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "signal {signal}: {}; {said}", output.status);
    assert_eq!(left(folder), [""; 0], "signal {signal}");
    said
}

/// Of 13 signals 7 ended a run on the spot, and left settings changed and directories behind:
/// SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGABRT; SIGXFSZ ended it without a word.
#[test]
fn each_of_64_signals_ends_a_run_in_order_or_does_nothing_or_cannot_be_handled() {
    let walk = |signal: i32| {
        let folder = tempfile::tempdir().expect("a folder");
        let child = begun(command(folder.path()), folder.path());
        send(child.id(), signal);
        if MINDED_NOT.contains(&signal) || STOPS.contains(&signal) {
            std::thread::sleep(Duration::from_millis(200));
            assert_ne!(left(folder.path()), [""; 0], "signal {signal} ended it");
            send(child.id(), TERM);
            send(child.id(), libc::SIGCONT);
            let said = ended_in_order(child, folder.path(), signal);
            assert!(said.contains("told to stop by SIGTERM"), "signal {signal}: {said}");
            return;
        }
        let said = ended_in_order(child, folder.path(), signal);
        assert!(said.contains("told to stop by SIG"), "signal {signal}: {said}");
    };
    let all = (1..=64).filter(|signal| *signal != KILL).collect::<Vec<i32>>();
    std::thread::scope(|scope| {
        for part in all.chunks(16) {
            scope.spawn(move || part.iter().for_each(|signal| walk(*signal)));
        }
    });
}

/// `nohup brickyard run ...` was ended by the hang-up that nohup had it ignore.
#[test]
fn a_hang_up_that_is_to_be_ignored_is_and_an_interrupt_of_a_background_job_is_not() {
    for (signal, name) in [(libc::SIGHUP, "HUP"), (libc::SIGINT, "INT")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = command(folder.path());
        let ignore = move || {
            // SAFETY: a system call on two numbers.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
            Ok(())
        };
        // SAFETY: what is done after fork(2) is one system call.
        unsafe { command.pre_exec(ignore) };
        let child = begun(command, folder.path());
        send(child.id(), signal);
        if name == "HUP" {
            std::thread::sleep(Duration::from_millis(200));
            assert_ne!(left(folder.path()), [""; 0], "it was ended");
            send(child.id(), TERM);
        }
        ended_in_order(child, folder.path(), signal);
    }
}

/// Some launchers hand on a mask: a run that was started so heard no Ctrl-C.
#[test]
fn a_signal_that_was_blocked_by_whoever_started_the_run_is_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = command(folder.path());
    let block = || {
        // SAFETY: system calls on a set of this stack, initialised first.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: what is done after fork(2) is system calls.
    unsafe { command.pre_exec(block) };
    let child = begun(command, folder.path());
    send(child.id(), TERM);
    ended_in_order(child, folder.path(), TERM);
}

/// `pkill -USR1 brickyard`, or a service manager that ends all processes of a service at once,
/// reached the load before the run: its trial had failed, and was never run again.
#[test]
fn a_load_leaves_signals_to_the_run_that_started_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "random-read", "--dir", ".", "file-size=1MiB", "stop=2s", "direct=false"])
        .args(["io-engine=mmap", "queue-depth=1", "--replicates=1", "--json", "--quiet"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("brickyard can be started");
    let (started, mut sent) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_secs(60) && sent < 60 {
        std::thread::sleep(Duration::from_millis(2));
        let Some(load) = child_of(child.id()) else { continue };
        // A process that is not this program yet has not begun to leave them.
        let load = load.as_raw_nonzero().get();
        let is_ready = std::fs::read_to_string(format!("/proc/{load}/status"));
        let ignored = is_ready.unwrap_or_default();
        let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if ignored.is_some_and(|mask| mask & (1 << 63) != 0) {
            for signal in (1..=64).filter(|it| *it != KILL && !STOPS.contains(it)) {
                // SAFETY: a system call on two numbers; it may have ended by now.
                unsafe { libc::kill(load, signal) };
            }
            sent += 1;
        }
    }
    assert!(sent > 0, "no load was started");
    let output = child.wait_with_output().expect("it ends");
    let told = document(&output);
    let all = told["trials"].as_array().expect("trials").iter();
    assert!(all.clone().all(|trial| trial["outcome"] == "done"), "{told:#}");
    assert_eq!(output.status.code(), Some(0));
}

/// execve(2) keeps what is ignored: a program of the user's must not find SIGXFSZ or SIGTERM
/// ignored because its load's process ignores them.
#[test]
fn programs_get_their_signals_as_the_run_found_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("signals");
    std::fs::write(&script, "exec grep ^SigIgn: /proc/self/status\n").expect("written");
    let script = script.display();
    let found = Command::new("sh").arg(script.to_string()).output().expect("sh can be started");
    let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    // Without those two that are the C library's own, and SIGINT and SIGQUIT, which a shell without
    // job control has its background jobs ignore, and which end a run all the same.
    let mask = found.strip_prefix("SigIgn:").map(|mask| u64::from_str_radix(mask.trim(), 16));
    let mask = mask.expect("a line").expect("a number") & !(3 << 31 | 3 << 1);
    let line = format!("command=test \"$(sh {script})\" = 'SigIgn:\t{mask:016x}'");
    let arguments = ["run", "command", "--dir", ".", &line, "shell=true", "--replicates=1"];
    let output = brickyard(folder.path(), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn limited(folder: &Path, bytes: u64, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.args(["run", "random-read", "--dir", ".", "--quiet", "--replicates=1"]).args(more);
    command.current_dir(folder);
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: a system call on a structure of this stack.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
        Ok(())
    };
    // SAFETY: what is done after fork(2) is one system call.
    unsafe { command.pre_exec(limit) };
    command.output().expect("brickyard can be started")
}

/// Under `ulimit -f 1024` "the load ended without a result; it said: killed by signal 25"; under
/// `ulimit -f 100` the program itself ended so while it wrote its store, with status 153 and
/// without a word.
#[test]
fn a_limit_of_file_sizes_is_told_and_ends_nothing_by_a_signal() {
    let folder = tempfile::tempdir().expect("a folder");
    for (bytes, more) in [(1 << 20, "file-size=4MiB"), (100 << 10, "file-size=64KiB")] {
        let output = limited(folder.path(), bytes, &[more, "stop=100ms"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{}: {said}", output.status);
        assert!(said.contains("RLIMIT_FSIZE") && said.contains("ulimit -f"), "{said}");
        assert_eq!(left(folder.path()), [""; 0]);
    }
    // A trial that meets the limit on its way has failed, and tells of it.
    let program = ["command=head -c 3000000 /dev/zero > {directory}/f", "shell=true"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.args(["run", "command", "--dir", ".", "--json", "--replicates=1"]).args(program);
    command.current_dir(folder.path());
    let limit = || {
        let limit = libc::rlimit { rlim_cur: 2 << 20, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: a system call on a structure of this stack.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) };
        Ok(())
    };
    // SAFETY: what is done after fork(2) is one system call.
    unsafe { command.pre_exec(limit) };
    let output = command.output().expect("brickyard can be started");
    let told = document(&output);
    let why = told["trials"][0]["reason"].as_str().expect("a reason");
    assert!(why.contains("ulimit -f"), "{why}");
}
