//! A statement of SQL in a process of its own, which can be ended: SQLite looks at the clock
//! between its steps, and a single one of them may take hours. Its bound of memory is one for a
//! whole process, too; reports have theirs to themselves.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::pages::{query, wrong};
use base::value::duration;
use findings::report::query::FORMATS;
use host::sys::child::{Heard, Worker};
use host::sys::{Error, input};

/// As what this program starts itself.
const WORKER: &str = "query-worker";
/// How long the figures of a store of an earlier version are computed before the statement's time
/// begins.
const OPEN_MAX: Duration = Duration::from_secs(40);
/// Who has not looked at the clock this long after its time is in a single step.
const GRACE: Duration = Duration::from_secs(2);

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// A path need not be text.
    store: Vec<u8>,
    sql: String,
    /// To be saved as that; else a page.
    format: Option<String>,
    time: Duration,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Answer { status: u16, saved_as: Option<String>, body: String },
    Error { what: String, why: String, hint: Option<String>, errno: Option<i32> },
}

impl Statement {
    pub fn new(store: &Path, sql: String, format: Option<&str>, time: Duration) -> Statement {
        let store = store.as_os_str().as_bytes().to_owned();
        Statement { store, sql, format: format.map(str::to_owned), time }
    }

    /// Answers it here. `opened` is told once the store is there to be asked.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn here(&self, opened: &mut dyn FnMut()) -> Result<Answer, Error> {
        let path = PathBuf::from(OsString::from_vec(self.store.clone()));
        match FORMATS.iter().find(|format| Some(format.name) == self.format.as_deref()) {
            Some(format) => query::file(&path, &self.sql, self.time, format, opened),
            None => query::page(&path, &self.sql, self.time, opened),
        }
    }

    /// Answers it in a process of its own.
    ///
    /// # Errors
    /// When the store cannot be read, when no process can be started, and when it took too long.
    pub fn apart(&self) -> Result<Answer, Error> {
        let failed = |why: &str| Error::new("cannot run this query", why);
        let order = serde_json::to_string(self).map_err(|why| failed(&why.to_string()))?;
        let mut worker = Worker::start(&[WORKER])?;
        worker.say(&order);
        let mut line = worker.hear(OPEN_MAX);
        if line == Heard::Line(String::new()) {
            line = worker.hear(self.time + GRACE);
            if line == Heard::Silence {
                // Dropping it kills it.
                let time = duration(self.time.as_nanos() as f64);
                let error = failed(&format!("it ran longer than {time}")).hint("ask for less");
                return Ok(Answer::page(wrong(&error)).with(StatusCode::GATEWAY_TIMEOUT));
            }
        }
        match line {
            Heard::Line(line) => Reply::read(&line, self.format.as_deref()),
            Heard::Silence => Err(failed("the figures of this store are not computed yet").hint(
                "`brickyard query` computes them once and keeps them, which nothing here may",
            )),
            Heard::Ended => {
                let said = worker.end(GRACE, || false).unwrap_or_else(|hangs| hangs);
                Err(failed(&format!("its process ended: {said}")))
            }
        }
    }
}

impl Reply {
    fn read(line: &str, format: Option<&str>) -> Result<Answer, Error> {
        let failed = |why: String| Error::new("cannot read what came of this query", why);
        match serde_json::from_str(line).map_err(|why| failed(why.to_string()))? {
            Reply::Error { what, why, hint, errno } => Err(Error { what, why, hint, errno }),
            Reply::Answer { status, saved_as, body } => Ok(Answer {
                status: StatusCode::from_u16(status).map_err(|why| failed(why.to_string()))?,
                // An error is a page whatever was asked for.
                media: query::media_of(saved_as.as_ref().and(format)),
                saved_as,
                policy: None,
                body: body.into_bytes(),
            }),
        }
    }
}

/// The process: answers the one statement that it is told, and ends with whoever told it.
///
/// # Errors
/// When standard input or output fails.
pub fn worker() -> Result<(), Error> {
    let failed = |why: std::io::Error| Error::new("cannot answer a statement", why);
    let line = input::lines(std::io::stdin().lock()).next().unwrap_or_default();
    let statement: Statement =
        serde_json::from_str(&line).map_err(|why| Error::new("cannot answer a statement", why))?;
    // Who asked is gone when nothing more can come.
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        std::process::exit(2);
    });
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush())
    };
    let reply = match statement.here(&mut || drop(say(""))) {
        Ok(Answer { status, saved_as, body, .. }) => {
            let body = String::from_utf8_lossy(&body).into_owned();
            Reply::Answer { status: status.as_u16(), saved_as, body }
        }
        Err(Error { what, why, hint, errno }) => Reply::Error { what, why, hint, errno },
    };
    let line = serde_json::to_string(&reply);
    say(&line.map_err(|why| Error::new("cannot answer a statement", why))?).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_statement_survives_the_way() {
        let reply = |saved_as: Option<&str>| Reply::Answer {
            status: 200,
            saved_as: saved_as.map(str::to_owned),
            body: "a\n\"b\"\u{2028}</script>".into(),
        };
        let read = |reply: &Reply, format| {
            let line = serde_json::to_string(reply).unwrap();
            assert!(!line.contains('\n'), "one line");
            Reply::read(&line, format)
        };
        let answer = read(&reply(Some("q.csv")), Some("csv")).unwrap();
        assert_eq!(answer.body, "a\n\"b\"\u{2028}</script>".as_bytes());
        assert_eq!((answer.media, answer.status.as_u16()), ("text/csv; charset=utf-8", 200));
        assert_eq!(read(&reply(None), Some("csv")).unwrap().media, "text/html; charset=utf-8");
        let error = Error::new("a", "b").hint("c");
        let Error { what, why, hint, errno } = error.clone();
        assert_eq!(read(&Reply::Error { what, why, hint, errno }, None).unwrap_err(), error);
        for nonsense in ["", "{}", "running 0 tests", "{\"Answer\":{\"status\":1}}"] {
            assert!(Reply::read(nonsense, None).is_err(), "{nonsense}");
        }
    }
}
