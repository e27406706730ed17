//! `brickyard query`: SQL on the store, which only reads.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::outputs::{self, Inputs};
use super::{Common, damage, format, talk};
use base::value::{duration, parse_duration_ns};
use findings::report::query::{FORMATS, listed, listing, nature};
use host::sys::Error;
use host::sys::input::SQL;
use store::query::{Bounds, Query};

/// The arguments of `brickyard query`.
#[derive(clap::Args, Debug)]
pub struct QueryArguments {
    /// One statement that reads; `-` takes it from standard input [default: show what can be asked]
    #[arg(value_name = "SQL")]
    sql: Option<String>,
    /// How: text, json, csv
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Rows beyond these are left out, and said to be
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// It is stopped after this time
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: String,
    #[command(flatten)]
    to: outputs::ToFile,
}

/// SQLite looks at the clock between its steps; one that has not ended this long after its time is
/// in a single step that takes as long.
const GRACE: Duration = Duration::from_secs(5);

/// Asks, and prints.
pub fn run(arguments: &QueryArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let wanted = arguments.format.as_deref();
    let format = format::chosen(FORMATS, |format| format.name, wanted, common, "text")?;
    let time = time(&arguments.timeout)?;
    let printed = arguments.to.decide(&Inputs::of_store(&common.store))?;
    let sql = arguments.sql.as_deref().map(typed).transpose()?;
    let quiet = common.quiet;
    let mut told = 0;
    // Only what takes long is worth a line.
    let query = Query::open(&common.store, &mut |done, of| {
        if !quiet && of >= 1000 && done >= told {
            talk::line(&format!("computing the figures of {of} trials, once: {done} done"));
            told = done + of / 10;
        }
    })?;
    let Some(sql) = sql else {
        let relations = query.relations()?;
        match format.name {
            "text" => printed.data(&listing(&relations))?,
            _ => printed.data(&(format.render)(&listed(&relations))?)?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let over = Arc::new(AtomicBool::new(false));
    watch(time, Arc::clone(&over));
    let bounds = Bounds { time, rows: arguments.rows as usize };
    let answer = query.ask(&sql, bounds);
    over.store(true, Ordering::Relaxed);
    let answer = answer?;
    if format.name == "csv" {
        // Its readers take the first line for names.
        nature(&answer).iter().for_each(|line| talk::line(line));
    }
    printed.data(&(format.render)(&answer)?)?;
    if answer.truncated {
        let rows = answer.rows.len();
        talk::line(&format!(
            "only the first {rows} rows; --rows N gives more, LIMIT asks for less"
        ));
    }
    Ok(damage::told(&answer.damage, &common.store, ExitCode::SUCCESS))
}

/// Ends the program when a query cannot be stopped: nothing is written that could be lost.
fn watch(time: Duration, over: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        std::thread::sleep(time.saturating_add(GRACE));
        if !over.load(Ordering::Relaxed) {
            let why = format!("it ran longer than {}", duration(time.as_nanos() as f64));
            let error = Error::new("cannot run this query", why).hint("ask for less");
            talk::error(&error.into());
            std::process::exit(2);
        }
    });
}

fn time(text: &str) -> Result<Duration, Error> {
    match parse_duration_ns(text) {
        Ok(ns) if ns > 0 => Ok(Duration::from_nanos(ns)),
        Ok(_) => Err(Error::new("cannot run a query", "in no time at all").hint("--timeout 60s")),
        Err(why) => {
            let what = format!("cannot run a query for --timeout {text}");
            Err(Error::new(what, why).hint("--timeout 60s"))
        }
    }
}

/// The statement, from standard input where that was asked for.
fn typed(sql: &str) -> Result<String, Error> {
    if sql != "-" {
        return Ok(sql.to_owned());
    }
    SQL.standard_input()
}
