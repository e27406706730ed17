//! What is said: data to standard output, talk to standard error, progress while a campaign runs.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use base::value::{self};
use experiment::knob;
use experiment::measurement::figure_names;
use experiment::measurement::{Outcome, Record, figures};
use experiment::plan::Trial;
use experiment::plan::refused::Refused;
use experiment::progress::{Event, Observer, Progress};
use findings::analysis::summary::{self, SummaryFigure};
use findings::analysis::words;
use findings::report::screen;
use findings::report::words::clipped;
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

/// How much a terminal shows at once; what is usual where standard output is none.
pub fn size() -> screen::Size {
    let told = host::sys::terminal::size();
    told.map_or(screen::USUAL, |(columns, rows)| screen::Size { columns, rows })
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

/// A bar that counts so many things, on a terminal alone, and for many alone.
pub fn counted_bar(many: usize, quiet: bool) -> ProgressBar {
    /// Fewer are done before it is seen.
    const MANY: usize = 20;
    if quiet || many < MANY || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} files, {eta} left");
    ProgressBar::new(many as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
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
    /// Of what is told as one thing and not trial by trial.
    whole: Option<Whole>,
}

/// How far a campaign is that is told as one.
#[derive(Default)]
struct Whole {
    /// The trial that runs, and how many there will be.
    at: (u32, u32),
    /// Trials that carry notes.
    noted: u32,
    /// Those that are done, without their samples.
    done: Vec<Record>,
    /// The figures of the core set so far, in lines.
    figures: Vec<String>,
}

/// What is left is never cut, however narrow a terminal is: the bar takes what room there is.
const WHOLE: &str = "{spinner} {prefix} {wide_bar}\n{msg}";

impl Talk {
    /// A talker; `quiet` says nothing at all, `plain` has no bar.
    pub fn new(quiet: bool, plain: bool) -> Talk {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some();
        let bar = (terminal && !quiet && !plain).then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let (doing, varying) = (String::new(), Vec::new());
        let whole = None;
        Talk { bar, quiet, doing, ends_at_ns: None, said_ns: 0, in_bits: false, varying, whole }
    }

    /// From now on tells a campaign as one thing: a line that is renewed, and none for each trial
    /// but those that came to nothing.
    pub fn tell_the_whole(&mut self) {
        self.whole = Some(Whole::default());
        self.said_ns = clock::monotonic_ns();
        if let (Some(bar), Ok(style)) = (&self.bar, ProgressStyle::with_template(WHOLE)) {
            bar.set_style(style.progress_chars("=> "));
        }
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

    /// What is left comes first: a terminal cuts a line at its end.
    fn show(&mut self, now: &str) {
        let now_ns = clock::monotonic_ns();
        let left = self.ends_at_ns.map_or(String::new(), |end_ns| left(now_ns, end_ns));
        let far = self.whole.as_ref().map_or(String::new(), Whole::told);
        let text = format!("{left}{far}{}: {now}", self.doing);
        if let (Some(bar), Some(whole)) = (&self.bar, &self.whole) {
            bar.set_prefix(before_bar(&left, &far, size().columns));
            let run_ns = u64::try_from(bar.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let left_ns = self.ends_at_ns.map_or(0, |end_ns| end_ns.saturating_sub(now_ns));
            bar.set_length(run_ns.saturating_add(left_ns));
            bar.set_position(run_ns);
            bar.set_message(whole.below(&format!("{}: {now}", self.doing), size().columns));
        } else if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if !self.quiet && clock::monotonic_ns() - self.said_ns > PLAIN_EVERY_NS {
            self.said_ns = clock::monotonic_ns();
            line(&text);
        }
    }
}

/// A figure in a few words. One that may be a cache's never stands without saying so.
fn in_brief(figure: &SummaryFigure) -> String {
    let doubt = if figure.caveat.is_empty() { "" } else { " (cached?)" };
    format!("{} {}{doubt}", figure.label, screen::told(figure))
}

/// What stands before the bar: what is left, and how far it is where there is room for both behind
/// the spinner.
fn before_bar(left: &str, far: &str, columns: usize) -> String {
    let ended = |text: &str| text.trim_end_matches([',', ' ']).to_owned();
    let both = ended(&format!("{left}{far}"));
    match both.chars().count() + 3 > columns && !left.is_empty() {
        true => ended(left),
        false => both,
    }
}

/// The time that is left, in whole seconds: `2 min 9 s left, `. The last second is not "0 ns left".
fn left(now_ns: u64, end_ns: u64) -> String {
    match end_ns.saturating_sub(now_ns) / 1_000_000_000 {
        0 => "nearly done, ".to_owned(),
        seconds @ ..60 => format!("{seconds} s left, "),
        seconds => format!("{} min {} s left, ", seconds / 60, seconds % 60),
    }
}

impl Whole {
    fn told(&self) -> String {
        let (number, of) = self.at;
        let noted = match self.noted {
            0 => String::new(),
            some => format!(" ({some} with notes)"),
        };
        format!("{number} of {of}{noted}, ")
    }

    /// One more trial is over.
    fn add(&mut self, record: &Record) {
        let is_noted = record.outcome.measurement().is_some_and(|it| !it.notes.is_empty());
        self.noted += u32::from(is_noted && !record.trial.prepares());
        self.done.push(record.clone().light());
        let figures = summary::so_far(&self.done);
        self.figures = figures.iter().map(in_brief).collect();
    }

    /// What is done now, and the figures so far: as many in a line as there is room for.
    fn below(&self, now: &str, columns: usize) -> String {
        let width = columns.saturating_sub(1);
        let mut lines = vec![format!("  {now}")];
        let mut line = String::new();
        for figure in &self.figures {
            if line.chars().count() + 3 + figure.chars().count() > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push_str(if line.is_empty() { "  " } else { "   " });
            line.push_str(figure);
        }
        lines.push(line);
        let lines: Vec<String> = lines.iter().map(|line| clipped(line, width)).collect();
        lines.join("\n")
    }
}

impl Observer for Talk {
    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Say(text) => self.say(text),
            Event::Begin { trial, of, left_ns } => {
                let told = described(trial, &self.varying);
                let now_ns = clock::monotonic_ns();
                match &mut self.whole {
                    Some(whole) => (whole.at, self.doing) = ((trial.number, *of), load(trial).0),
                    None => {
                        self.doing = format!("[{}/{}] {told}", trial.number, of);
                        self.said_ns = now_ns;
                    }
                }
                self.in_bits = trial.settings.is_network();
                self.ends_at_ns = left_ns.map(|left_ns| now_ns.saturating_add(left_ns));
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
                value::throughput_short(*bytes_per_s),
                value::iops(*ops_per_s)
            )),
            Event::End(record)
                if self.whole.is_some() && record.outcome.measurement().is_some() =>
            {
                if let Some(whole) = &mut self.whole {
                    whole.add(record);
                }
            }
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
        let command = clipped(command, 60);
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
            if let Some(rate) = figures.get(figure_names::OPS_PER_S) {
                return format!("{doing}: {} operations per s{notes}", value::iops(rate.value));
            }
            if let (Some(rate), true) =
                (figures.get(figure_names::THROUGHPUT), record.trial.settings.is_network())
            {
                return format!("{doing}: {}{notes}", value::bits(rate.value));
            }
            let rates = figures.get(figure_names::THROUGHPUT).zip(figures.get(figure_names::IOPS));
            let rates = rates.map_or("done".to_owned(), |(throughput, iops)| {
                let (throughput, iops) = (throughput.value, iops.value);
                format!("{}, {} I/O per s", value::throughput_short(throughput), value::iops(iops))
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

    /// "0 ns left" stood beside a bar that still ran.
    #[test]
    fn the_last_second_is_no_number() {
        assert_eq!(left(0, 999_999_999), "nearly done, ");
        assert_eq!(left(5_000_000_000, 0), "nearly done, ");
        assert_eq!(left(0, 129_000_000_000), "2 min 9 s left, ");
        assert_eq!(left(0, 12_900_000_000), "12 s left, ");
    }

    /// On a narrow terminal the line before the bar was longer than the terminal is wide.
    #[test]
    fn what_is_left_is_never_cut() {
        let second = 1_000_000_000;
        for left_ns in [0, 9 * second, 129 * second, 3599 * second, 59_999 * second] {
            let left = left(0, left_ns);
            for (at, noted) in [((1, 9), 0), ((97, 130), 41), ((1234, 5678), 999)] {
                let whole = Whole { at, noted, ..Whole::default() };
                for columns in 20..=200 {
                    let told = before_bar(&left, &whole.told(), columns);
                    assert!(told.starts_with(left.trim_end_matches(", ")), "{columns}: {told}");
                    assert!(told.chars().count() + 3 <= columns, "{columns}: {told}");
                    assert!(!told.ends_with([',', ' ']), "{columns}: {told}");
                }
                let told = before_bar(&left, &whole.told(), 80);
                assert!(told.contains(&format!("{} of {}", at.0, at.1)), "{told}");
            }
        }
        assert_eq!(before_bar("", "1 of 9, ", 80), "1 of 9", "nobody knows how long it takes");
    }

    #[test]
    fn the_figures_so_far_fit_the_terminal() {
        let figures = ["read 1900 MB/s", "write about 350 MB/s", "4K read 40.1k IOPS"];
        let whole = Whole { figures: figures.map(str::to_owned).to_vec(), ..Whole::default() };
        for columns in [20, 40, 80, 200] {
            let text = whole.below("random-read, 1 x 4 KiB, depth 32: 171 MB/s", columns);
            assert!(text.lines().all(|line| line.chars().count() < columns), "{columns}: {text}");
            assert!(figures.iter().all(|it| text.contains(&it[..8])), "{columns}: {text}");
        }
        assert_eq!(whole.below("one", 200).lines().count(), 2);
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
