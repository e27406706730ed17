//! Records without their samples in few bytes, so that a report of a hundred thousand trials need
//! not decode every histogram.
//!
//! What is kept is what [`Record::light`] leaves, but for the settings, which replicates share. The
//! bytes are postcard's (<https://postcard.jamesmunns.com/wire-format>): they say nothing of their
//! own form, so they are read by the version that wrote them alone, and computed anew by others.
//! What few trials have, such as faults, is JSON within.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use base::stats::{Estimate, Interval};
use experiment::knob::Settings;
use experiment::measurement::figures::{Figures, LatencyCounts, Name, Rates};
use experiment::measurement::limit::Limits;
use experiment::measurement::origin::Origin;
use experiment::measurement::settling::{Fall, Settling};
use experiment::measurement::start::TrialStart;
use experiment::measurement::steady::Steady;
use experiment::measurement::{
    Digest, Durable, Evidence, Integrity, Measurement, Note, Outcome, Programs, Record, Reported,
    SecondPass, Verified, Window, machine,
};
use experiment::plan::Trial;
use facts::layout::Times;

/// A trial as the cache holds it: all but its settings.
#[derive(Serialize, Deserialize)]
struct LightTrial<'a> {
    number: u32,
    replicate: u32,
    group: Cow<'a, str>,
    first_file: u32,
    seed: u64,
    planned: Option<u32>,
    ending: Ending<'a>,
    /// Of a trial without a measurement.
    notes: Cow<'a, [Note]>,
}

#[derive(Serialize, Deserialize)]
enum Ending<'a> {
    Done(Box<Done<'a>>),
    Failed(Cow<'a, str>),
    Skipped(Cow<'a, str>),
    Interrupted,
}

/// A value and the ends of its interval.
type Sure = (f64, Option<(f64, f64)>);
/// Number of the name, value, ends of its interval.
type Figure = (u32, Sure);

fn sure(of: &Estimate) -> Sure {
    (of.value, of.interval.map(|ends| (ends.low, ends.high)))
}

fn estimate((value, ends): Sure) -> Estimate {
    Estimate { value, interval: ends.map(|(low, high)| Interval { low, high }) }
}

/// How the rate went.
#[derive(Serialize, Deserialize)]
struct Course {
    round_ns: u64,
    first: f64,
    last: (f64, f64, f64),
    change: Option<Sure>,
    settled_after_ns: Option<u64>,
    /// After how long, after how many bytes, from where, to where.
    fall: Option<[Sure; 4]>,
}

impl Course {
    fn of(settling: &Settling) -> Course {
        let fall = |of: &Fall| [&of.after_ns, &of.bytes, &of.before, &of.after].map(sure);
        Course {
            round_ns: settling.round_ns,
            first: settling.first,
            last: settling.last,
            change: settling.change.as_ref().map(sure),
            settled_after_ns: settling.settled_after_ns,
            fall: settling.fall.as_ref().map(fall),
        }
    }

    fn settling(self) -> Settling {
        let fall = |of: [Sure; 4]| {
            let [after_ns, bytes, before, after] = of.map(estimate);
            Fall { after_ns, bytes, before, after }
        };
        Settling {
            round_ns: self.round_ns,
            first: self.first,
            last: self.last,
            change: self.change.map(estimate),
            settled_after_ns: self.settled_after_ns,
            fall: self.fall.map(fall),
        }
    }
}

/// What stays of a measurement.
#[derive(Serialize, Deserialize)]
struct Done<'a> {
    started_unix_ns: u64,
    elapsed_ns: u64,
    window: Option<Window>,
    durable: Option<Durable>,
    second_pass: Option<Cow<'a, SecondPass>>,
    layout: Option<Times>,
    evidence: Cow<'a, Evidence>,
    /// In the order of the names.
    figures: Vec<Figure>,
    /// Numbers of the names of those that the record contradicts.
    withheld: Vec<u32>,
    steady: Option<bool>,
    /// Why it was not tested.
    untested: Cow<'a, str>,
    course: Option<Course>,
    start: Option<TrialStart>,
    later: Option<f64>,
    before_jump: Option<f64>,
    latencies: Cow<'a, [LatencyCounts]>,
    notes: Cow<'a, [Note]>,
    /// How many of the notes, the first ones, were taken while it ran.
    taken: u32,
    /// In the order of [`machine::COUNTERS`].
    machine: [Option<f64>; machine::COUNTERS.len()],
    origin: Cow<'a, Origin>,
    limits: Option<Cow<'a, Limits>>,
    sampled: bool,
    /// JSON of [`Rest`]; nothing of most trials.
    rest: Option<String>,
}

/// What few trials have.
#[derive(Default, Serialize, Deserialize)]
struct Rest<'a> {
    integrity: Option<Cow<'a, Integrity>>,
    verified: Option<Cow<'a, Verified>>,
    programs: Option<Cow<'a, Programs>>,
    reported: Option<Cow<'a, Reported>>,
}

/// The bytes of a record, of which `digest` was computed; `number` numbers the names of figures.
/// `None` where it cannot be written so.
pub fn pack<E>(
    record: &Record,
    digest: Option<&Digest>,
    mut number: impl FnMut(&str) -> Result<u32, E>,
) -> Result<Option<Vec<u8>>, E> {
    let trial = &record.trial;
    let ending = match (&record.outcome, digest) {
        (Outcome::Done(measurement), Some(digest)) => {
            let Some(rest) = rest(measurement) else { return Ok(None) };
            let mut figures = Vec::with_capacity(digest.figures.len());
            for (name, estimate) in digest.figures.iter() {
                figures.push((number(name)?, sure(estimate)));
            }
            let withheld = digest.withheld.iter().map(|name| number(name));
            let withheld = withheld.collect::<Result<Vec<u32>, E>>()?;
            Ending::Done(Box::new(done(measurement, digest, (figures, withheld), rest)))
        }
        (Outcome::Failed(why), _) => Ending::Failed(why.into()),
        (Outcome::Skipped(why), _) => Ending::Skipped(why.into()),
        _ => Ending::Interrupted,
    };
    let kept = LightTrial {
        number: trial.number,
        replicate: trial.replicate,
        group: trial.group.as_str().into(),
        first_file: trial.first_file,
        seed: trial.seed,
        planned: trial.planned,
        ending,
        notes: record.notes.as_slice().into(),
    };
    Ok(postcard::to_allocvec(&kept).ok())
}

fn done<'a>(
    measurement: &'a Measurement,
    digest: &'a Digest,
    (figures, withheld): (Vec<Figure>, Vec<u32>),
    rest: Option<String>,
) -> Done<'a> {
    let (steady, untested) = match &digest.steady {
        Steady::Tested(settled) => (Some(*settled), ""),
        Steady::NotTested(why) => (None, why.as_str()),
    };
    Done {
        started_unix_ns: measurement.started_unix_ns,
        elapsed_ns: measurement.elapsed_ns,
        window: measurement.window,
        durable: measurement.durable,
        second_pass: measurement.second_pass.as_ref().map(Cow::Borrowed),
        layout: measurement.layout,
        evidence: Cow::Borrowed(&measurement.evidence),
        figures,
        withheld,
        steady,
        untested: untested.into(),
        course: digest.settling.as_ref().map(Course::of),
        start: digest.start,
        later: digest.later,
        before_jump: digest.before_jump,
        latencies: digest.latencies.as_slice().into(),
        notes: digest.notes.as_ref().into(),
        taken: measurement.notes.len() as u32,
        machine: machine::COUNTERS.map(|name| digest.machine.get(name).copied()),
        origin: Cow::Borrowed(&digest.origin),
        limits: digest.limits.as_deref().map(Cow::Borrowed),
        sampled: digest.sampled,
        rest,
    }
}

/// JSON of what few trials have, nothing where it has none of that; `None` where that fails.
fn rest(measurement: &Measurement) -> Option<Option<String>> {
    let Measurement { integrity, verified, programs, reported, .. } = measurement;
    if integrity.is_none() && verified.is_none() && programs.is_none() && reported.is_none() {
        return Some(None);
    }
    // As `Record::light` does.
    let without_outputs =
        |of: &Programs| Programs { outputs: Vec::new(), runs: Vec::new(), ..of.clone() };
    let rest = Rest {
        integrity: integrity.as_ref().map(Cow::Borrowed),
        verified: verified.as_ref().map(Cow::Borrowed),
        programs: programs.as_ref().map(|of| Cow::Owned(without_outputs(of))),
        reported: reported.as_ref().map(|of| Cow::Owned(of.light())),
    };
    serde_json::to_string(&rest).ok().map(Some)
}

/// The record of these bytes; `None` where they are damaged.
pub fn unpack(bytes: &[u8], settings: Settings, names: &HashMap<u32, Name>) -> Option<Record> {
    let kept: LightTrial<'_> = postcard::from_bytes(bytes).ok()?;
    let trial = Trial {
        number: kept.number,
        replicate: kept.replicate,
        group: kept.group.into_owned(),
        settings,
        first_file: kept.first_file,
        seed: kept.seed,
        planned: kept.planned,
    };
    let outcome = match kept.ending {
        Ending::Done(done) => Outcome::Done(Box::new(measurement(*done, names)?)),
        Ending::Failed(why) => Outcome::Failed(why.into_owned()),
        Ending::Skipped(why) => Outcome::Skipped(why.into_owned()),
        Ending::Interrupted => Outcome::Interrupted,
    };
    let notes = kept.notes.into_owned();
    Some(Record { notes, ..Record::new(trial, outcome) })
}

fn measurement(done: Done<'_>, names: &HashMap<u32, Name>) -> Option<Measurement> {
    let rest: Rest<'_> = match &done.rest {
        Some(json) => serde_json::from_str(json).ok()?,
        None => Rest::default(),
    };
    let figure = |(name, of): &Figure| Some((names.get(name)?.clone(), estimate(*of)));
    let figures = done.figures.iter().map(figure).collect::<Option<Figures>>()?;
    let withheld = done.withheld.iter().map(|number| names.get(number).cloned());
    let withheld = withheld.collect::<Option<Vec<Name>>>()?;
    let counters = machine::COUNTERS.into_iter().zip(done.machine);
    let notes: Arc<[Note]> = done.notes.into_owned().into();
    let taken = notes.get(..done.taken as usize)?.to_vec();
    let digest = Digest {
        rates: Rates::among(&figures).without(&withheld),
        withheld,
        figures: Arc::new(figures),
        steady: match done.steady {
            Some(settled) => Steady::Tested(settled),
            None => Steady::NotTested(done.untested.into_owned()),
        },
        settling: done.course.map(Course::settling),
        start: done.start,
        later: done.later,
        before_jump: done.before_jump,
        latencies: done.latencies.into_owned(),
        notes,
        machine: counters.filter_map(|(name, value)| Some((name, value?))).collect(),
        origin: done.origin.into_owned(),
        limits: done.limits.map(|limits| Arc::new(limits.into_owned())),
        sampled: done.sampled,
    };
    Some(Measurement {
        started_unix_ns: done.started_unix_ns,
        elapsed_ns: done.elapsed_ns,
        window: done.window,
        durable: done.durable,
        second_pass: done.second_pass.map(Cow::into_owned),
        integrity: rest.integrity.map(Cow::into_owned),
        verified: rest.verified.map(Cow::into_owned),
        programs: rest.programs.map(Cow::into_owned),
        reported: rest.reported.map(Cow::into_owned),
        layout: done.layout,
        evidence: done.evidence.into_owned(),
        notes: taken,
        digest: Some(Box::new(digest)),
        ..Measurement::default()
    })
}
