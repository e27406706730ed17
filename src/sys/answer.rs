//! A short question to another program: started without a shell, given some time, its words kept.
//!
//! What the words mean is the caller's business.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Error, clock};

/// More than this is no answer to a short question, bytes.
const SAID_BYTES_MAX: u64 = 1 << 20;

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub said: String,
    /// Standard error.
    pub complained: String,
}

/// Runs `program` with `arguments` and gives what it said. It is looked for in PATH, and where
/// administrators' programs are: a plain user's PATH often leaves these out.
///
/// # Errors
/// When there is no such program, or it has not ended after `at_most`: then it is killed.
#[expect(clippy::disallowed_methods, reason = "this module is the door")]
pub fn ask(program: &str, arguments: &[&str], at_most: Duration) -> Result<Answer, Error> {
    let what = || format!("cannot run `{program} {}`", arguments.join(" "));
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
    let mut child = Command::new(program)
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Error::new(what(), error))?;
    let (said, complained) = (child.stdout.take(), child.stderr.take());
    let said = std::thread::spawn(move || all_of(said));
    let complained = std::thread::spawn(move || all_of(complained));
    let end_ns = clock::monotonic_ns().saturating_add(at_most.as_nanos() as u64);
    let status = loop {
        match child.try_wait().map_err(|error| Error::new(what(), error))? {
            Some(status) => break status,
            None if clock::monotonic_ns() >= end_ns => {
                // It may hang in the kernel, where no signal reaches it: it is not waited for.
                let _ = child.kill();
                let why = format!("it has not ended after {} s", at_most.as_secs());
                return Err(Error::new(what(), why));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let (said, complained) = (said.join(), complained.join());
    Ok(Answer {
        status: status.code(),
        said: said.unwrap_or_default(),
        complained: complained.unwrap_or_default().trim().to_owned(),
    })
}

fn all_of(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(SAID_BYTES_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_status_are_kept_and_what_does_not_end_is_killed() {
        let at_most = Duration::from_secs(10);
        let answer = ask("sh", &["-c", "echo a; echo b >&2; exit 3"], at_most).unwrap();
        assert_eq!((answer.status, answer.said.as_str()), (Some(3), "a\n"));
        assert_eq!(answer.complained, "b");
        let late = ask("sleep", &["600"], Duration::from_millis(20)).unwrap_err();
        assert!(late.why.contains("not ended"), "{late}");
        let none = ask("no-such-program", &[], at_most).unwrap_err();
        assert!(none.what.contains("no-such-program") && none.why.contains("os error 2"), "{none}");
    }
}
