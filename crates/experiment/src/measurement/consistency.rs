//! (pure) Whether a record's figures can be true beside each other (rule 11).
//!
//! A table of what must be so of every trial of our own: each line has its domain, its tolerance,
//! and the figures that it takes away where it is broken. A figure that its own record contradicts
//! stands in no headline, interval, effect or comparison: it is withheld where figures are looked
//! up ([`super::figures`]), and shown beside the note `inconsistent`, which has both numbers.
//!
//! Where a line might accuse a healthy trial it does not apply: programs and figures that others
//! reported, and loads that were held still, are judged elsewhere. Which time a rate is taken over
//! is the business of [`super::span`], what findings exclude each other that of `analysis`.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::sync::OnceLock;

use super::computed::{computed, computed_rate};
use super::named::{Figures, Name};
use super::origin::{self, Verdict};
use super::span::{Latencies, Span, span, timed};
use super::stopped::stopped;
use super::{Amount, Measurement, Note, Record};
use crate::knob::{self, Settings};
use crate::measurement::figure_names;
use base::stats::Estimate;

mod counts;
mod devices;
mod durable;
mod little;
mod percentiles;
/// The names of the lines that a record breaks.
#[cfg(any(test, feature = "testing"))]
pub fn broken(record: &Record) -> Vec<&'static str> {
    let lines = INVARIANTS.iter().enumerate();
    let found = lines.filter(|(place, _)| broken_at(record, *place, None).is_some());
    found.map(|(_, line)| line.name).collect()
}

#[cfg(test)]
mod tests;

/// The kind of the note on a figure that its own record contradicts.
pub const KIND: &str = "inconsistent";

/// Something that must be so of every trial.
pub struct Invariant {
    /// Kebab-case, for tests and documents.
    pub name: &'static str,
    /// What must be so.
    pub about: &'static str,
    /// What is allowed for before it counts as broken.
    pub tolerance: &'static str,
    /// The figures that do not stand where it is broken.
    pub takes: Takes,
    /// How it is broken, with both numbers, as sentences; `None` where it holds or does not apply.
    broken: fn(&OwnTrial<'_>) -> Option<String>,
}

/// Which figures an invariant takes away.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Those of these names.
    Named(&'static [&'static str]),
    /// All that are latencies.
    Latencies,
}

/// Rates over the time in which all streams ran.
const RATES: Takes = Takes::Named(&[
    figure_names::THROUGHPUT,
    figure_names::IOPS,
    figure_names::OPS_PER_S,
    figure_names::TRANSACTIONS_PER_S,
    "read_throughput_bytes_per_s",
    "write_throughput_bytes_per_s",
    "read_iops",
    "write_iops",
]);

/// Rates of the bytes that are counted against devices, and of the operations that moved them.
const THROUGHPUT: Takes = Takes::Named(&[
    figure_names::THROUGHPUT,
    "read_throughput_bytes_per_s",
    figure_names::IOPS,
    "read_iops",
]);

/// Rates of timed passes.
const PASSES: Takes = Takes::Named(&[figure_names::NAIVE_THROUGHPUT, "sum_of_streams_bytes_per_s"]);

/// Everything that is held against every record.
pub const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "little",
        about: "Operations per second are at most those in flight over their mean latency",
        tolerance: "5 %, three standard errors of the mean, and what was in flight at the start",
        takes: RATES,
        broken: little::mean,
    },
    Invariant {
        name: "median",
        about: "Half of the operations took the median or longer, which bounds their number",
        tolerance: "5 %, and what was in flight at the start",
        takes: RATES,
        broken: little::median,
    },
    Invariant {
        name: "arrivals",
        about: "With a rate no more operations are completed than have arrived",
        tolerance: "5 %, and as many as may be in flight",
        takes: RATES,
        broken: little::arrivals,
    },
    Invariant {
        name: "percentiles",
        about: "Percentiles of latency are in order, and none is above the longest",
        tolerance: "0.2 %: the histogram's bins",
        takes: Takes::Latencies,
        broken: percentiles::in_order,
    },
    Invariant {
        name: "window",
        about: "The window lies in the trial, and no more was done in it than in all",
        tolerance: "1 % and 10 ms of its time, nothing of its counts",
        takes: RATES,
        broken: counts::window,
    },
    Invariant {
        name: "passes",
        about: "No stream did more in its timed pass than in all",
        tolerance: "none",
        takes: PASSES,
        broken: counts::passes,
    },
    Invariant {
        name: "naive",
        about: "The timed passes end within the trial, and moved no more than all streams did",
        tolerance: "1 % and 10 ms",
        takes: PASSES,
        broken: counts::naive,
    },
    Invariant {
        name: "device-reads",
        about: "What is said to come from the device was moved by the device, or by the wire",
        tolerance: "6 %: the counts begin and end a moment apart",
        takes: THROUGHPUT,
        broken: devices::reads,
    },
    Invariant {
        name: "device-writes",
        about: "What was written around the page cache was written by the device",
        tolerance: "6 % and 1 MiB",
        takes: Takes::Named(&[figure_names::DURABLE_THROUGHPUT]),
        broken: devices::writes,
    },
    Invariant {
        name: "ceiling",
        about: "The device delivers no more than its links and its disks can carry",
        tolerance: "5 %, and what was in flight at the start",
        takes: THROUGHPUT,
        broken: devices::ceiling,
    },
    Invariant {
        name: "durable",
        about: "No more became durable per second than was accepted",
        tolerance: "0.1 %",
        takes: Takes::Named(&[figure_names::DURABLE_THROUGHPUT, "durable_ops_per_s"]),
        broken: durable::bytes,
    },
    Invariant {
        name: "durable-operations",
        about: "No more operations became durable per second than were accepted",
        tolerance: "0.1 %",
        takes: Takes::Named(&["durable_ops_per_s"]),
        broken: durable::operations,
    },
];

impl Takes {
    /// The figures, as a list in Markdown.
    pub fn in_words(self) -> String {
        match self {
            Takes::Named(names) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>(),
            Takes::Latencies => vec!["all of latency".to_owned()],
        }
        .join(", ")
    }

    fn takes(self, figure: &str) -> bool {
        match self {
            Takes::Named(names) => names.contains(&figure),
            Takes::Latencies => figure.contains("latency_ns_"),
        }
    }
}

/// What was found of a record, so that each line is looked at once. A copy is looked at anew: it
/// may be changed.
#[derive(Default)]
pub struct Judged(OnceLock<Box<JudgedLines>>);

/// How each line of the table is broken, in its order; and what several of them ask for.
struct JudgedLines {
    lines: Vec<OnceLock<Option<String>>>,
    latencies: OnceLock<Option<Latencies>>,
}

impl Clone for Judged {
    fn clone(&self) -> Judged {
        Judged::default()
    }
}

impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judged")
    }
}

impl Judged {
    fn found(&self) -> &JudgedLines {
        self.0.get_or_init(|| {
            let lines = INVARIANTS.iter().map(|_| OnceLock::new()).collect();
            Box::new(JudgedLines { lines, latencies: OnceLock::new() })
        })
    }
}

/// A trial of our own, and what is asked of it more than once.
struct OwnTrial<'a> {
    record: &'a Record,
    measurement: &'a Measurement,
    settings: &'a Settings,
    known: Option<&'a Figures>,
    verdict: OnceCell<Verdict>,
}

impl<'a> OwnTrial<'a> {
    /// `None` of what these lines are not about. Its figures, where they are known already.
    fn of(record: &'a Record, known: Option<&'a Figures>) -> Option<OwnTrial<'a>> {
        let measurement = record.outcome.measurement()?;
        let others = measurement.programs.is_some()
            || measurement.reported.is_some()
            || measurement.verified.is_some()
            || measurement.digest.is_some();
        let settings = &record.trial.settings;
        let facts = OwnTrial { record, measurement, settings, known, verdict: OnceCell::new() };
        (!others && stopped(measurement).is_none()).then_some(facts)
    }

    fn span(&self) -> Option<Span> {
        span(self.measurement, self.settings).ok()
    }

    /// The time that latencies are of: with a start that rates leave out.
    fn timed(&self) -> Option<Span> {
        timed(self.measurement, self.settings).ok()
    }

    fn latencies(&self) -> Option<Latencies> {
        let look = || Latencies::from_measurement(self.measurement);
        *self.record.judged.found().latencies.get_or_init(look)
    }

    fn rate(&self, name: &str) -> Option<f64> {
        computed_rate(self.record, name)
    }

    fn figures(&self) -> Cow<'a, Figures> {
        self.known.map_or_else(|| Cow::Owned(computed(self.record)), Cow::Borrowed)
    }

    /// Where the bytes that it read came from.
    fn verdict(&self) -> Verdict {
        *self.verdict.get_or_init(|| origin::from(self.measurement, self.settings))
    }

    /// What all streams did.
    fn total(&self) -> Amount {
        self.measurement.streams.iter().fold(Amount::default(), |sum, one| sum.plus(&one.total))
    }

    /// Whether operations begin at fixed times: then they wait before they are in flight.
    fn is_paced(&self) -> bool {
        self.settings.has(knob::RATE) && self.settings.get(knob::RATE) > 0
    }
}

/// How the line of that place is broken, if it is.
fn broken_at<'a>(record: &'a Record, place: usize, known: Option<&Figures>) -> Option<&'a str> {
    let look = || (INVARIANTS.get(place)?.broken)(&OwnTrial::of(record, known)?);
    record.judged.found().lines.get(place)?.get_or_init(look).as_deref()
}

/// Whether nothing in a record with samples contradicts its figure `name`.
pub fn stands(record: &Record, name: &str) -> bool {
    is_free(record, name, None)
}

fn is_free(record: &Record, name: &str, known: Option<&Figures>) -> bool {
    let mut all = INVARIANTS.iter().enumerate();
    all.all(|(place, line)| !line.takes.takes(name) || broken_at(record, place, known).is_none())
}

/// The names of those of a record's `figures` that the record contradicts.
pub fn withheld(record: &Record, figures: &Figures) -> Vec<Name> {
    let names = figures.keys().filter(|name| !is_free(record, name, Some(figures)));
    names.cloned().collect()
}

/// What of a record cannot be true beside the rest of it.
pub fn notes(record: &Record) -> Vec<Note> {
    let all = (0..INVARIANTS.len()).filter_map(|place| broken_at(record, place, None));
    let told = |text: &str| {
        Note::new(KIND, format!("{text} The figure stands in no answer and in no comparison."))
    };
    let mut notes: Vec<Note> = Vec::new();
    for note in all.map(told) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Whether the mean of some values lies among them; rounding may move it by a hair.
pub fn is_among(values: &[f64], over: &Estimate) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let hair = 1e-9 * least.abs().max(most.abs());
    // No interval of something that cannot be negative lies elsewhere than around its value.
    let around = over
        .interval
        .is_none_or(|ends| ends.low <= over.value + hair && ends.high + hair >= over.value);
    (least - hair..=most + hair).contains(&over.value) && around
}
