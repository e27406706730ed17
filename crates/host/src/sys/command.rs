//! Administration programs, run to their end: `mkfs`, `mdadm`, `mount` and their like.
//!
//! Without a shell and without input. A program that is started here ends with us, also when we are
//! killed: nothing goes on writing to a disk that the next run is about to put back.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use super::signal::Stop;
use super::{Error, clock, gate, signal};

/// How much of what a program says is kept, of each output, bytes.
const KEPT_BYTES_MAX: u64 = 1 << 20;
/// How much of it an error repeats, bytes.
const TOLD_BYTES_MAX: usize = 600;
/// A killed process that is still there after this long hangs in the kernel.
const KILLED_MAX: Duration = Duration::from_secs(5);
/// A helper that stays behind, as the cleaner of NILFS2, keeps our pipes open.
const SAID_MAX: Duration = Duration::from_millis(500);
/// What programs say in the C locale, and the number of errno(3) that it stands for: strerror(3) of
/// glibc, and the words of their own that mdadm(8), LVM, fstrim(8), mount.nfs(8) and zpool(8) have
/// for the same. The one place in which a sentence is read; from here on the number is asked.
const SAYINGS: [(&str, i32); 15] = [
    // First, whatever else it says: who undoes a layout tries again then.
    ("busy", libc::EBUSY),
    ("in use", libc::EBUSY),
    ("exclusive access", libc::EBUSY),
    // It waits for udev no longer than 30 s (libzutil, zutil_device_path_os.c: DISK_LABEL_WAIT).
    ("failed to detect device partitions", libc::ETIMEDOUT),
    ("Protocol not supported", libc::EPROTONOSUPPORT),
    ("transport protocol is not supported", libc::EPROTONOSUPPORT),
    ("Operation not supported", libc::EOPNOTSUPP),
    ("operation is not supported", libc::EOPNOTSUPP),
    ("incorrect mount option", libc::EINVAL),
    ("rpc.statd", libc::ENOLCK),
    ("access denied by server", libc::EACCES),
    ("Permission denied", libc::EACCES),
    ("Operation not permitted", libc::EPERM),
    ("No such file or directory", libc::ENOENT),
    ("No space left on device", libc::ENOSPC),
];
/// Where administration programs lie when PATH does not say so, as in a plain user's shell.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Where a program lies; `None` when it is not installed.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    let mut places = folders.chain(SYSTEM_FOLDERS).map(|folder| Path::new(folder).join(program));
    places.find(|place| {
        place.is_file() && rustix::fs::access(place, rustix::fs::Access::EXEC_OK).is_ok()
    })
}

/// What a program said, and how it ended.
#[derive(Clone, Debug)]
pub struct CommandOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output; `None` when something that it left behind holds it open.
    pub said: Option<String>,
    /// Standard error; likewise.
    pub complained: Option<String>,
}

impl CommandOutput {
    /// How it ended, and the last of what it wrote to both outputs.
    pub fn told(&self) -> String {
        let all = [&self.complained, &self.said].map(|text| text.as_deref().unwrap_or_default());
        failure(self.status, &all.join("\n"), "")
    }
}

/// Runs `words[0]` with the other words as arguments and gives what it wrote to standard output.
/// It is killed when it takes longer than `at_most`, or when `stop` is asked.
///
/// # Errors
/// With the command line: it is not installed, it failed (with what it said), took too long, or was
/// stopped.
pub fn run(words: &[String], at_most: Duration, stop: &Stop) -> Result<String, Error> {
    let CommandOutput { status, said, complained } = ask(words, at_most, stop)?;
    let [said, complained] = [said, complained].map(Option::unwrap_or_default);
    match status.success() {
        true => Ok(said),
        false => {
            let what = format!("cannot run `{}`", line(words));
            let why = failure(status, &said, &complained);
            let errno = errno_of(&why);
            Err(Error { errno, ..Error::new(what, why) })
        }
    }
}

/// The same for a program whose exit status is part of what it says.
///
/// # Errors
/// With the command line: it is not installed, took too long, or was stopped.
pub fn ask(words: &[String], at_most: Duration, stop: &Stop) -> Result<CommandOutput, Error> {
    let what = || format!("cannot run `{}`", line(words));
    let named = words.first().map_or("", String::as_str);
    let Some(program) = find(named) else {
        return Err(Error::new(what(), format!("{named} is not installed")));
    };
    let mut child = start(&program, words).map_err(|error| Error::new(what(), error))?;
    let out = child.stdout.take().map(listen);
    let err = child.stderr.take().map(listen);
    if let Some(status) = wait(&mut child, at_most, &|| stop.asked()) {
        let heard = |said: Option<Receiver<String>>| said?.recv_timeout(SAID_MAX).ok();
        let (said, complained) = (heard(out), heard(err));
        return Ok(CommandOutput { status, said, complained });
    }
    let _ = child.kill();
    let gone = wait(&mut child, KILLED_MAX, &|| false).is_some();
    let why = match stop.asked() {
        true => "it was stopped".to_owned(),
        false => format!("it took longer than {} s", at_most.as_secs()),
    };
    Err(Error::new(what(), if gone { why } else { format!("{why}, and hangs in the kernel") }))
}

#[expect(clippy::disallowed_methods, reason = "this module is the door")]
fn start(program: &Path, words: &[String]) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(words.iter().skip(1))
        // Messages that we quote and search are English.
        .env("LC_ALL", "C")
        .env("LVM_SUPPRESS_FD_WARNINGS", "1")
        .current_dir("/")
        // Ctrl-C reaches only us, who then end it in order.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:{}", SYSTEM_FOLDERS.join(":")));
    let parent = std::process::id();
    let tied = move || {
        signal::give_back();
        // SAFETY: two system calls on numbers, which signal-safety(7) allows after fork.
        let (set, now) =
            unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        // We were killed before it was tied to us.
        match set == 0 && now == parent as i32 {
            true => Ok(()),
            false => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    // SAFETY: `tied` makes system calls alone; it neither allocates nor locks.
    unsafe { command.pre_exec(tied) };
    gate::start(&mut command)
}

fn listen(mut from: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, said) = mpsc::channel();
    let collect = move || {
        let mut kept = Vec::new();
        let _ = (&mut from).take(KEPT_BYTES_MAX).read_to_end(&mut kept);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        let _ = tell.send(String::from_utf8_lossy(&kept).into_owned());
    };
    // Without a thread nothing is heard, and the program ends by SIGPIPE if it says much.
    let _ = std::thread::Builder::new().name("said".into()).spawn(collect);
    said
}

fn wait(child: &mut Child, at_most: Duration, hurry: &dyn Fn() -> bool) -> Option<ExitStatus> {
    let begun_ns = clock::monotonic_ns();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Err(_) => return None,
            Ok(None) => {}
        }
        let waited = Duration::from_nanos(clock::monotonic_ns() - begun_ns);
        if hurry() || waited >= at_most {
            return None;
        }
        // Short programs are timed: the pause stays under a fiftieth of what has passed.
        std::thread::sleep(pause);
        pause = (waited / 50).clamp(Duration::from_millis(1), Duration::from_millis(50));
    }
}

/// The number that stands for what a program said, if it said any of it.
fn errno_of(said: &str) -> Option<i32> {
    SAYINGS.iter().find(|(words, _)| said.contains(words)).map(|(_, errno)| *errno)
}

fn failure(status: ExitStatus, out: &str, err: &str) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "it ended in an unknown way".to_owned(),
    };
    let said = if err.trim().is_empty() { out.trim() } else { err.trim() };
    if said.is_empty() {
        return how;
    }
    format!("{how}: {}", telling(said))
}

/// What tells why, of all that a program said: nothing of how it is to be called, which some print
/// after the reason, and of much the beginning and the end.
fn telling(said: &str) -> String {
    let is_usage = |line: &&str| line.to_ascii_lowercase().starts_with("usage:");
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut lines: Vec<&str> = lines.collect();
    if let Some(at) = lines.iter().position(is_usage).filter(|at| *at > 0) {
        lines.truncate(at);
    }
    let all = lines.join("; ");
    if all.len() <= TOLD_BYTES_MAX {
        return all;
    }
    let (mut head, mut tail) = (TOLD_BYTES_MAX / 2, all.len() - TOLD_BYTES_MAX / 2);
    while !all.is_char_boundary(head) {
        head -= 1;
    }
    while !all.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{} [...] {}", all[..head].trim_end(), all[tail..].trim_start())
}

/// A command line as one would type it.
pub fn line(words: &[String]) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "_@%+=:,./-".contains(sign);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn try_run(list: &[&str], at_most: Duration) -> Result<String, Error> {
        run(&words(list), at_most, &Stop::new())
    }

    /// mkfs.xfs says "filesystem must be larger than 300MB" and then 30 lines of how it is called:
    /// of these the last were told.
    #[test]
    fn how_a_program_is_called_is_no_reason_and_of_much_both_ends_are_told() {
        let usage = "-x y\n".repeat(1000);
        assert_eq!(telling(&format!("too small\n\n Usage: mkfs.xfs\n{usage}")), "too small");
        assert_eq!(telling("usage: of a lone word"), "usage: of a lone word");
        let many = format!("first\n{}last\u{e4}", "und \u{e4}\n".repeat(TOLD_BYTES_MAX));
        for cut in 0..8 {
            let told = telling(&format!("{}{many}", "x".repeat(cut)));
            assert!(told.contains("first; und") && told.ends_with("last\u{e4}"), "{told}");
            assert!(told.contains(" [...] ") && told.len() <= TOLD_BYTES_MAX + 8);
        }
    }

    /// As they were printed by the programs of Debian 12.
    #[test]
    fn what_programs_say_is_the_kernels_number() {
        for (said, errno) in [
            ("umount: /mnt: target is busy.", Some(libc::EBUSY)),
            ("mdadm: Cannot get exclusive access to /dev/md7:Perhaps a running process", Some(16)),
            ("  Logical volume brickyard/a in use.", Some(libc::EBUSY)),
            ("mkfs.ext4: Device or resource busy while setting up superblock", Some(16)),
            ("fstrim: /mnt: the discard operation is not supported", Some(libc::EOPNOTSUPP)),
            (
                "mount.nfs: requested NFS version or transport protocol is not supported",
                Some(libc::EPROTONOSUPPORT),
            ),
            ("mount.nfs: access denied by server while mounting a:/b", Some(libc::EACCES)),
            // Of two reasons the one that passes.
            ("  /dev/sdz: No such file or directory; Logical volume b/a in use.", Some(16)),
            ("mount: only root can do that", None),
        ] {
            assert_eq!(errno_of(said), errno, "{said}");
        }
        let list = words(&["sh", "-c", "echo umount: /mnt: target is busy. >&2; exit 32"]);
        let error = run(&list, Duration::from_secs(20), &Stop::new()).unwrap_err();
        assert_eq!(error.errno, Some(libc::EBUSY), "{error}");
    }

    #[test]
    fn what_it_prints_is_given_and_why_it_failed_is_told() {
        let long = Duration::from_secs(20);
        assert_eq!(try_run(&["echo", "a b"], long).unwrap(), "a b\n");
        let error = try_run(&["sh", "-c", "echo no room >&2; exit 3"], long).unwrap_err();
        assert_eq!(error.what, "cannot run `sh -c 'echo no room >&2; exit 3'`");
        assert_eq!(error.why, "exit status 3: no room");
        let error = try_run(&["mkfs.nonsense", "-F"], long).unwrap_err();
        assert_eq!(error.why, "mkfs.nonsense is not installed");
        let error = try_run(&["sh", "-c", "kill -9 $$"], long).unwrap_err();
        assert_eq!(error.why, "killed by signal 9");
        let answer = ask(&words(&["sh", "-c", "echo a; echo b >&2; exit 3"]), long, &Stop::new());
        let answer = answer.unwrap();
        assert_eq!(answer.status.code(), Some(3));
        assert_eq!(
            (answer.said.unwrap(), answer.complained.unwrap()),
            ("a\n".into(), "b\n".into())
        );
    }

    #[test]
    fn one_that_takes_too_long_or_is_stopped_is_killed() {
        let error = try_run(&["sleep", "60"], Duration::from_millis(50)).unwrap_err();
        assert!(error.why.contains("took longer"), "{error}");
        let stop = Stop::new();
        stop.ask();
        let error = run(&words(&["sleep", "60"]), Duration::from_secs(60), &stop).unwrap_err();
        assert_eq!(error.why, "it was stopped");
    }

    /// The cleaner of NILFS2 outlives the `mount` that started it, and holds its output open.
    #[test]
    fn a_helper_that_stays_behind_does_not_keep_us() {
        let begun_ns = clock::monotonic_ns();
        try_run(&["sh", "-c", "sleep 30 & exit 0"], Duration::from_secs(20)).unwrap();
        assert!(clock::monotonic_ns() - begun_ns < 20_000_000_000);
    }

    #[test]
    fn a_command_line_can_be_typed_as_it_is_shown() {
        let list = ["mkfs", "-L", "it's", "a=b,c", "", "$x *"];
        assert_eq!(line(&words(&list)), r"mkfs -L 'it'\''s' a=b,c '' '$x *'");
        assert_eq!(shlex::split(&line(&words(&list))).unwrap(), list);
    }

    #[test]
    fn much_output_neither_blocks_nor_fills_memory() {
        let much = try_run(&["head", "-c", "5000000", "/dev/zero"], Duration::from_secs(20));
        assert_eq!(much.unwrap().len() as u64, KEPT_BYTES_MAX);
    }
}
