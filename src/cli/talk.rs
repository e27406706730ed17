//! What is said: data to standard output, talk to standard error, progress while a campaign runs.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use base::value::{self};
use experiment::knob;
use experiment::measurement::{Outcome, Record, figures};
use experiment::plan::Trial;
use experiment::plan::refused::Refused;
use experiment::progress::{Event, Observer, Progress};
use findings::analysis::words;
use host::sys::clock;

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
        if let Some(error) = cause.downcast_ref::<host::sys::Error>() {
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
    /// Knobs that tell trials apart.
    varying: Vec<&'static str>,
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
        let (doing, varying) = (String::new(), Vec::new());
        Talk { bar, quiet, doing, ends_at_ns: None, said_ns: 0, in_bits: false, varying }
    }

    /// From now on says of each trial what levels it has of these knobs.
    pub fn tell_apart_by(&mut self, knobs: Vec<&'static str>) {
        self.varying = knobs;
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
    pub fn error(&self, error: &host::sys::Error) {
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
                let told = described(trial, &self.varying);
                self.doing = format!("[{}/{}] {told}", trial.number, of);
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

/// What a trial does, with its levels of those of `varying` that this does not tell.
fn described(trial: &Trial, varying: &[&str]) -> String {
    let settings = &trial.settings;
    let (what, told) = load(trial);
    let more = varying.iter().filter(|knob| !told.contains(knob) && !trial.prepares());
    let more = more.filter(|knob| settings.named(knob).is_some() && !settings.is_moot(knob));
    let more: String = more.map(|knob| format!(", {}", words::knob(knob, settings))).collect();
    format!("{}: {what}{more}, replicate {}", trial.group, trial.replicate)
}

/// What a load does, and the knobs that this tells.
fn load(trial: &Trial) -> (String, &'static [&'static str]) {
    let settings = &trial.settings;
    if settings.has(knob::COMMAND) {
        let (streams, command) = (settings.get(knob::STREAMS), settings.get(knob::COMMAND));
        let command = findings::report::words::clipped(command, 60);
        return (format!("{streams} x {command}"), &["streams", "command"]);
    }
    let shown = |name| settings.named(name).map(value::setting).unwrap_or_default();
    if settings.has(knob::OPERATION) {
        let files = value::counted(settings.get(knob::FILES), "file");
        let (operation, size) = (settings.get(knob::OPERATION), shown(knob::FILE_SIZE.name));
        let what = format!("{operation}, {} x {files} of {size}", shown(knob::STREAMS.name));
        return (what, &["operation", "streams", "files", "file-size"]);
    }
    if settings.is_moot(knob::ACCESS.name) {
        let (streams, files) = (shown(knob::STREAMS.name), shown(knob::FILES.name));
        return (format!("{streams} x {files} empty files"), &["streams", "files", "file-size"]);
    }
    // An installed tool has some of these, in its own words.
    let what = settings.get(knob::ACCESS).map_or(settings.engine(), |access| access.name());
    let mut told = vec![what.to_owned()];
    let streams = settings.find(knob::STREAMS).map(|streams| format!("{streams} x "));
    match (settings.named(knob::BLOCK_SIZE.name).map(value::setting), streams) {
        (Some(block), streams) => told.push(streams.unwrap_or_default() + &block),
        (None, Some(_)) => told.push(value::counted(settings.get(knob::STREAMS), "stream")),
        (None, None) => {}
    }
    told.extend(settings.find(knob::QUEUE_DEPTH).map(|depth| format!("depth {depth}")));
    (told.join(", "), &["access", "streams", "block-size", "queue-depth"])
}

fn ended(record: &Record, doing: &str) -> String {
    match &record.outcome {
        Outcome::Done(measurement) => {
            let figures = figures::figures(record);
            let mut notes: Vec<&str> = Vec::new();
            for note in &measurement.notes {
                // Two of a kind are told in the report.
                if !notes.contains(&note.kind.as_str()) {
                    notes.push(&note.kind);
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;
    use experiment::measurement::{Measurement, Note};

    fn trial(group: &str, engine: &str, knobs: &[(&str, &str)]) -> Trial {
        Trial {
            number: 1,
            replicate: 2,
            group: group.to_owned(),
            settings: settings(engine, knobs),
            first_file: 0,
            seed: 1,
            planned: Some(1),
        }
    }

    /// A campaign of three file systems told each trial in the same words, but for its number.
    #[test]
    fn a_trial_is_told_with_the_levels_that_tell_it_from_others() {
        let varying = ["filesystem", "read-ahead", "streams"];
        let xfs = [("filesystem", "xfs"), ("read-ahead", "1MiB"), ("streams", "4")];
        let told = described(&trial("sequential-read", "file", &xfs), &varying);
        assert_eq!(
            told,
            "sequential-read: read, 4 x 1 MiB, depth 1, filesystem xfs, read-ahead 1 MiB, \
             replicate 2"
        );
        let make = [("command", "make"), ("filesystem", "xfs")];
        let told = described(&trial("command", "command", &make), &varying);
        assert_eq!(told, "command: 1 x make, filesystem xfs, read-ahead as-is, replicate 2");
        let one = [("files", "1"), ("streams", "1")];
        let told = described(&trial("create", "tree", &one), &[]);
        assert!(told.starts_with("create: create, 1 x 1 file of "), "{told}");
        let layout = described(&trial("layout", "file", &xfs), &varying);
        assert!(!layout.contains("filesystem"), "{layout}");
    }

    /// Two streams that were not cold made `(not-cold, not-cold)` of one trial.
    #[test]
    fn a_kind_of_note_is_told_once() {
        let note = |text: &str| Note::new("not-cold", text);
        let notes = vec![note("a"), note("b"), Note::new("swapped", "c")];
        let measurement = Measurement { notes, ..Measurement::default() };
        let record =
            Record::new(trial("random-read", "file", &[]), Outcome::Done(Box::new(measurement)));
        assert!(ended(&record, "[1/1]").ends_with("(not-cold, swapped)"));
    }
}
