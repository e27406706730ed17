//! How large may the working set be before a cache no longer holds it, and which cache?
//!
//! Plateaus and steps are found in [`base::stats::plateaus`], and where a step lies in
//! [`base::stats::edge`]; here they are put to loads that differ in their working set alone. What
//! a plateau is called is decided in `cache_regions/name.rs`.

use serde::Serialize;

use super::curve::{Curve, curves, levels};
use super::{AnalysisInput, Finding, Question, words};
use base::stats::edge::{Place, Shape};
use base::stats::plateaus::{self, Plateaus, Step};
use base::stats::profile::Level;
use base::stats::{Estimate, mean_interval};
use base::value::{Value, bytes, setting, throughput_short};
use experiment::knob::{self, Access, Settings};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::rate;
use experiment::measurement::origin::{Origin, origin};
use name::KnownCaches;
pub use name::UNKNOWN;

mod name;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "cache-regions",
    about: "Up to which working sets do caches answer, which ones, and how fast is each?",
    answer,
};

/// A load over its working set: plateaus and the edges between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regions {
    /// What the load does, in words.
    pub load: String,
    /// Its access: `read`, `random-read`, ...; empty where its engine has none.
    pub access: String,
    /// Bytes of one operation, where its engine has such.
    pub block_size_bytes: Option<u64>,
    /// Streams.
    pub streams: u64,
    /// Numbers of the trials that it rests on.
    pub evidence: Vec<u32>,
    /// In ascending order of working set.
    pub points: Vec<WorkingSetPoint>,
    /// In ascending order; none where nothing is flat.
    pub plateaus: Vec<Plateau>,
    /// In ascending order; none where no step is shown.
    pub edges: Vec<PlateauEdge>,
}

/// What trials of one working set gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkingSetPoint {
    /// All bytes that the trial may touch.
    pub working_set_bytes: f64,
    /// What it gave, with Student's interval between trials.
    pub throughput_bytes_per_s: Estimate,
}

/// Neighbouring working sets that give the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plateau {
    /// The smallest of them that was measured, bytes.
    pub from_bytes: f64,
    /// The largest, bytes.
    pub to_bytes: f64,
    /// What they give.
    pub throughput_bytes_per_s: Estimate,
    /// Number of its trials.
    pub trials: usize,
    /// What answered: `the L3 cache of 32 MiB`, `the device`; `unknown` where nothing says.
    pub name: String,
    /// What the name rests on.
    pub reason: String,
}

/// The step between two plateaus of throughput over the working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlateauEdge {
    /// Place of the plateau before it.
    pub from: usize,
    /// Place of the plateau after it; `None` where what follows is flat nowhere.
    pub to: Option<usize>,
    /// It lies at this working set or beyond, bytes.
    pub low_bytes: f64,
    /// And at this one or before, bytes.
    pub high_bytes: f64,
    /// Whether both are the ends of a 95 % interval; else they are the nearest sizes that were
    /// measured, and no shape describes what is between.
    pub confident: bool,
    /// `cliff`, `slope`, or `unknown` where the data do not tell.
    pub shape: &'static str,
    /// What is left beyond it, as a share of what was before.
    pub left: Estimate,
}

/// Every load of which working sets enough were measured, those without an edge too. What goes over
/// a network is left out, where more than caches ends.
pub fn regions(asked: &AnalysisInput<'_>) -> Vec<Regions> {
    let known = KnownCaches::from_inventory(asked.inventory);
    let all = curves(asked.records, "file-size").into_iter();
    let local = all.filter(|curve| !curve.settings.is_network());
    local.filter_map(|curve| of_curve(&curve, &known)).collect()
}

fn answer(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    // What only rises is no cache's doing.
    let falls = |regions: &Regions| regions.edges.iter().any(|edge| edge.left.value < 1.0);
    let told = asked.regions().iter().filter(|regions| falls(regions));
    let finding = |of: &Regions| {
        let (claim, details) = describe(of);
        Finding::info(QUESTION.name, claim, of.evidence.clone()).detailed(details)
    };
    told.map(finding).collect()
}

/// All bytes that a trial may touch; `None` of one that goes over one record again and again.
fn working_set(settings: &Settings) -> Option<f64> {
    let access = settings.get(knob::ACCESS);
    let stride = match access {
        Some(Access::ReadStrided) => settings.how_many(knob::STRIDE_BLOCKS),
        _ => 1.0,
    };
    let file_bytes = settings.find(knob::FILE_SIZE).map_or(1.0, |bytes| bytes as f64);
    let files = settings.how_many(knob::FILES) * settings.how_many(knob::STREAMS);
    let bytes = file_bytes * files / stride;
    (access != Some(Access::RecordRewrite) && bytes > 0.0).then_some(bytes)
}

/// Trials of a curve with their working sets.
fn sized<'a>(curve: &Curve<'a>) -> Vec<(f64, &'a Record)> {
    let sized = curve.points.iter().map(|point| point.record);
    sized.filter_map(|record| Some((working_set(&record.trial.settings)?, record))).collect()
}

fn of_curve(curve: &Curve<'_>, known: &KnownCaches) -> Option<Regions> {
    let sized = sized(curve);
    let value =
        |(at, record): &(f64, &Record)| Some((*at, rate(record, figure_names::THROUGHPUT)?));
    let levels: Vec<Level> = levels(sized.iter().filter_map(value).collect());
    let found = plateaus::plateaus(&levels)?;
    let edges: Vec<PlateauEdge> = found.steps.iter().map(edge).collect();
    let verdicts = Verdicts::of(&sized);
    let point = |level: &Level| {
        let throughput_bytes_per_s = mean_interval(&level.values)?.not_negative();
        Some(WorkingSetPoint { working_set_bytes: level.at, throughput_bytes_per_s })
    };
    let settings = curve.settings;
    let limit = settings.get(knob::MEMORY_LIMIT);
    let label: &[&str] = match limit {
        Some(_) => &["block-size", "queue-depth", "streams", "memory-limit"],
        None => &["block-size", "queue-depth", "streams"],
    };
    Some(Regions {
        load: curve.load(label),
        access: settings.get(knob::ACCESS).map_or("", Access::name).to_owned(),
        block_size_bytes: settings.find(knob::BLOCK_SIZE),
        streams: settings.find(knob::STREAMS).unwrap_or(1),
        evidence: curve.evidence(),
        points: levels.iter().filter_map(point).collect(),
        plateaus: named(&found, &levels, &edges, &verdicts, known, settings),
        edges,
    })
}

fn edge(step: &Step) -> PlateauEdge {
    let ends = step.place.ends();
    let (confident, shape) = match step.place {
        Place::Within { shape: Shape::Cliff, .. } => (true, "cliff"),
        Place::Within { shape: Shape::Slope, .. } => (true, "slope"),
        Place::Within { shape: Shape::Either, .. } => (true, "unknown"),
        Place::Somewhere(_) => (false, "unknown"),
    };
    PlateauEdge {
        from: step.from,
        to: step.to,
        low_bytes: ends.low,
        high_bytes: ends.high,
        confident,
        shape,
        left: step.left,
    }
}

/// Where bytes came from, by working set.
struct Verdicts(Vec<(f64, Origin)>);

impl Verdicts {
    fn of(sized: &[(f64, &Record)]) -> Verdicts {
        let verdict = |(at, record): &(f64, &Record)| {
            Some((*at, origin(record.outcome.measurement()?, &record.trial.settings)))
        };
        Verdicts(sized.iter().filter_map(verdict).collect())
    }

    /// Those of working sets between two, both included.
    fn between(&self, from: f64, to: f64) -> Vec<&Origin> {
        let inside = self.0.iter().filter(|(at, _)| (from..=to).contains(at));
        inside.map(|(_, origin)| origin).collect()
    }
}

fn named(
    found: &Plateaus,
    levels: &[Level],
    edges: &[PlateauEdge],
    verdicts: &Verdicts,
    known: &KnownCaches,
    settings: &Settings,
) -> Vec<Plateau> {
    let ends = |place: usize| {
        let plateau = &found.plateaus[place];
        (levels[plateau.first].at, levels[plateau.last].at)
    };
    let of = |(place, plateau): (usize, &plateaus::Plateau)| {
        let (from, to) = ends(place);
        let edge = edges.iter().find(|edge| edge.from == place);
        let beyond = match edge.and_then(|edge| edge.to) {
            Some(next) => ends(next),
            None => (to.next_up(), f64::INFINITY),
        };
        let seen = name::Seen {
            to,
            here: verdicts.between(from, to),
            beyond: verdicts.between(beyond.0, beyond.1),
            edge,
            settings,
        };
        let (name, reason) = known.name(&seen);
        let trials = levels[plateau.first..=plateau.last].iter();
        Plateau {
            from_bytes: from,
            to_bytes: to,
            throughput_bytes_per_s: plateau.mean,
            trials: trials.map(|level| level.values.len()).sum(),
            name,
            reason,
        }
    };
    found.plateaus.iter().enumerate().map(of).collect()
}

/// A size that was measured.
fn size(bytes: f64) -> String {
    setting(&Value::Bytes(bytes as u64))
}

/// How many plateaus there are and what they give, and then each with the edges between them.
fn describe(of: &Regions) -> (String, Vec<String>) {
    let last = of.points.last().map_or(0.0, |point| point.working_set_bytes);
    let plateau = |plateau: &Plateau| {
        let rate = words::rate(&plateau.throughput_bytes_per_s, plateau.trials);
        let sizes = match plateau.to_bytes == last {
            true => format!("from {} on", size(plateau.from_bytes)),
            false => format!("from {} to {}", size(plateau.from_bytes), size(plateau.to_bytes)),
        };
        format!("{rate} with working sets {sizes} ({})", told_name(plateau))
    };
    let plateaus = of.plateaus.iter().map(plateau);
    let edges = of.edges.iter().map(|edge| told_edge(edge, of));
    let rates = of.plateaus.iter().map(|it| throughput_short(it.throughput_bytes_per_s.value));
    let rates: Vec<String> = rates.collect();
    let count = match of.plateaus.len() {
        1 => "one plateau".to_owned(),
        many => format!("{many} plateaus"),
    };
    let claim = format!("{} has {count}: {}.", of.load, rates.join(", "));
    (claim, plateaus.chain(edges).collect())
}

fn told_name(plateau: &Plateau) -> String {
    match plateau.name == name::UNKNOWN {
        true => format!("whose is not known: {}", plateau.reason),
        false => plateau.name.clone(),
    }
}

/// `It falls to 0.12 of that between 3.9 GiB and 4.1 GiB (95 % interval), little by little.`
fn told_edge(edge: &PlateauEdge, of: &Regions) -> String {
    let change = match (edge.left.value < 1.0, edge.to) {
        (true, Some(_)) => "falls",
        (true, None) => "falls, and is flat nowhere beyond,",
        (false, _) => "rises",
    };
    let where_it_is = match edge.confident {
        true => format!("{} and {}", bytes(edge.low_bytes), bytes(edge.high_bytes)),
        false => format!(
            "{} and {}, sizes that were measured; nothing tells closer",
            size(edge.low_bytes),
            size(edge.high_bytes)
        ),
    };
    let how = match edge.shape {
        "cliff" => ", all at once",
        "slope" => ", then little by little, as a cache that answers its share",
        _ => "",
    };
    let to = match edge.to {
        Some(_) => format!("to {} of what it was", words::share(&edge.left)),
        None => {
            let last = of.points.last().map_or(0.0, |point| point.working_set_bytes);
            format!("to {} of what it was at {}", words::share(&edge.left), size(last))
        }
    };
    format!("It {change} {to}, between {where_it_is}{how}.")
}

#[cfg(test)]
mod tests;
