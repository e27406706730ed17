//! What is said: data to standard output, talk to standard error, progress while a campaign runs.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::measurement::{Outcome, Record, figures};
use crate::plan::Trial;
use crate::plan::expand::Refused;
use crate::progress::{Event, Observer, Progress};
use crate::sys::clock;
use crate::value;

/// Prints data. A reader that has seen enough is no error.
///
/// # Errors
/// When standard output cannot be written for another reason.
pub fn data(text: &str) -> anyhow::Result<()> {
    bytes(text.as_bytes())?;
    if text.ends_with('\n') { Ok(()) } else { bytes(b"\n") }
}

/// The same, of what is no text or ends its last line itself.
///
/// # Errors
/// When standard output cannot be written for another reason.
pub fn bytes(data: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// Prints a line of talk.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints an error with what to do about it.
pub fn error(error: &anyhow::Error) {
    line(&format!("error: {error:#}"));
    let hint = error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<crate::sys::Error>() {
            return error.hint.clone();
        }
        Some(cause.downcast_ref::<Refused>()?.hint.clone())
    });
    if let Some(hint) = hint {
        line(&format!("hint: {hint}"));
    }
}

/// How long a line of plain progress stays the last one.
const PLAIN_EVERY_NS: u64 = 10_000_000_000;

/// Tells a person how a campaign goes: a bar on a terminal, plain lines elsewhere.
pub struct Talk {
    bar: Option<ProgressBar>,
    quiet: bool,
    doing: String,
    /// When the campaign will be over, monotonic clock, as far as is known.
    ends_at_ns: Option<u64>,
    said_ns: u64,
    /// The trial's rates are told in bits.
    in_bits: bool,
}

impl Talk {
    /// A talker; `quiet` says nothing at all.
    pub fn new(quiet: bool) -> Talk {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Talk { bar, quiet, doing: String::new(), ends_at_ns: None, said_ns: 0, in_bits: false }
    }

    /// Says a line above the bar.
    pub fn say(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| line(text)),
            None => line(text),
        }
    }

    /// Says an error that ends nothing, above the bar, also when nothing else is said.
    pub fn error(&self, error: &crate::sys::Error) {
        let told = || self::error(&anyhow::Error::new(error.clone()));
        match &self.bar {
            Some(bar) => bar.suspend(told),
            None => told(),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Tells what is being done and how far it is, of what is no campaign.
    pub fn during(&mut self, doing: &str, left_ns: Option<u64>, now: &str) {
        if self.said_ns == 0 {
            self.said_ns = clock::monotonic_ns();
        }
        doing.clone_into(&mut self.doing);
        self.ends_at_ns = left_ns.map(|left_ns| clock::monotonic_ns().saturating_add(left_ns));
        self.show(now);
    }

    fn show(&mut self, now: &str) {
        let left = self.ends_at_ns.map_or(String::new(), |end_ns| {
            let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
            format!(", {} left", value::duration((left_ns / 1_000_000_000) as f64 * 1e9))
        });
        let text = format!("{}: {now}{left}", self.doing);
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if !self.quiet && clock::monotonic_ns() - self.said_ns > PLAIN_EVERY_NS {
            self.said_ns = clock::monotonic_ns();
            line(&text);
        }
    }
}

impl Observer for Talk {
    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Say(text) => self.say(text),
            Event::Begin { trial, of, left_ns } => {
                self.doing = format!("[{}/{}] {}", trial.number, of, described(trial));
                self.in_bits = trial.settings.is_network();
                self.said_ns = clock::monotonic_ns();
                self.ends_at_ns = left_ns.map(|left_ns| self.said_ns.saturating_add(left_ns));
                self.show("preparing");
            }
            Event::During(Progress::Preparing) => self.show("preparing"),
            Event::During(Progress::Flushing) => self.show("making it durable"),
            // What moves no bytes would be told as 0 MB/s.
            Event::During(Progress::Running { bytes_per_s, ops_per_s, .. })
                if *bytes_per_s == 0.0 && *ops_per_s > 0.0 =>
            {
                self.show(&format!("{} operations per s", value::iops(*ops_per_s)));
            }
            Event::During(Progress::Running { bytes_per_s, .. }) if self.in_bits => {
                self.show(&value::bits(*bytes_per_s));
            }
            Event::During(Progress::Running { bytes_per_s, ops_per_s, .. }) => self.show(&format!(
                "{}, {} I/O per s",
                value::throughput(*bytes_per_s),
                value::iops(*ops_per_s)
            )),
            Event::End(_) if self.quiet => {}
            Event::End(record) => self.say(&ended(record, &self.doing)),
        }
    }
}

fn described(trial: &Trial) -> String {
    let settings = &trial.settings;
    if settings.has("command") {
        let (streams, command) = (settings.whole("streams"), settings.word("command"));
        let command = crate::report::words::clipped(command, 60);
        return format!("{}: {streams} x {command}, replicate {}", trial.group, trial.replicate);
    }
    if settings.has("operation") {
        let shown = |knob| settings.find(knob).map(value::setting).unwrap_or_default();
        return format!(
            "{}: {}, {} x {} files of {}, replicate {}",
            trial.group,
            settings.word("operation"),
            shown("streams"),
            shown("files"),
            shown("file-size"),
            trial.replicate
        );
    }
    if settings.is_moot("access") {
        let shown = |knob| settings.find(knob).map(value::setting).unwrap_or_default();
        let (streams, files) = (shown("streams"), shown("files"));
        return format!(
            "{}: {streams} x {files} empty files, replicate {}",
            trial.group, trial.replicate
        );
    }
    // An installed tool has some of these, in its own words.
    let mut told = vec![match settings.word("access") {
        "" => settings.engine().to_owned(),
        access => access.to_owned(),
    }];
    let streams = settings.find("streams").map(|streams| format!("{streams} x "));
    match (settings.find("block-size").map(value::setting), streams) {
        (Some(block), streams) => told.push(streams.unwrap_or_default() + &block),
        (None, Some(_)) => told.push(format!("{} streams", settings.whole("streams"))),
        (None, None) => {}
    }
    told.extend(settings.find("queue-depth").map(|depth| format!("depth {depth}")));
    format!("{}: {}, replicate {}", trial.group, told.join(", "), trial.replicate)
}

fn ended(record: &Record, doing: &str) -> String {
    match &record.outcome {
        Outcome::Done(measurement) => {
            let figures = figures::figures(record);
            let notes: Vec<&str> =
                measurement.notes.iter().map(|note| note.kind.as_str()).collect();
            let notes =
                if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
            if let Some(elapsed) = figures.get("elapsed_s") {
                let elapsed = value::duration(elapsed.value * 1e9);
                return format!("{doing}: {elapsed}{notes}");
            }
            // Streams that never ran together have no window, and so no rate.
            if let Some(rate) = figures.get("ops_per_s") {
                return format!("{doing}: {} operations per s{notes}", value::iops(rate.value));
            }
            if let (Some(rate), true) =
                (figures.get("throughput_bytes_per_s"), record.trial.settings.is_network())
            {
                return format!("{doing}: {}{notes}", value::bits(rate.value));
            }
            let rates = figures.get("throughput_bytes_per_s").zip(figures.get("iops"));
            let rates = rates.map_or("done".to_owned(), |(throughput, iops)| {
                let (throughput, iops) = (throughput.value, iops.value);
                format!("{}, {} I/O per s", value::throughput(throughput), value::iops(iops))
            });
            format!("{doing}: {rates}{notes}")
        }
        Outcome::Failed(why) => format!("{doing}: failed: {why}"),
        Outcome::Skipped(why) => format!("{doing}: skipped: {why}"),
        Outcome::Interrupted => format!("{doing}: stopped"),
    }
}
