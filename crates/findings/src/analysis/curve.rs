//! Cells that differ in one knob alone make a curve.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::words;
use base::stats::profile::Level;
use base::value::Value;
use experiment::knob::{self, Access, Settings, distinct};
use experiment::measurement::Record;
use experiment::measurement::figures::{rate, replicates};
use experiment::measurement::origin::{self, Verdict};
use experiment::plan::layouts::FILLED_IN;

/// One trial that was done, at a level of the curve's knob.
#[derive(Clone)]
pub struct CurvePoint<'a> {
    /// Its record.
    pub record: &'a Record,
    /// The level.
    pub at: f64,
}

/// Trials that differ in one knob, and in how long they ran and over how many files.
pub struct Curve<'a> {
    /// The settings of the first.
    pub settings: &'a Settings,
    /// In the order in which they ran.
    pub points: Vec<CurvePoint<'a>>,
    told: LoadLabel,
}

/// The replicates of one cell that were done, of which there is at least one.
pub struct CellReplicates<'a> {
    /// Their settings.
    pub settings: &'a Settings,
    /// In the order in which they ran.
    pub records: Vec<&'a Record>,
    told: LoadLabel,
}

/// What has to be said of a load so that it is told from the others of its campaign.
#[derive(Clone)]
struct LoadLabel {
    /// Whether other trials ran in other directories.
    elsewhere: bool,
    /// Knobs in which loads of its kind differ, and which nobody says of every load.
    apart: Rc<[&'static str]>,
    /// Knobs of [`FIRST`] in which loads that do the same differ: they come first.
    varies: Rc<[&'static str]>,
}

/// What has to be said of each load, by its kind.
struct LoadLabels {
    elsewhere: bool,
    apart: HashMap<LoadKind, Rc<[&'static str]>>,
    varies: HashMap<(String, String), Rc<[&'static str]>>,
}

/// Loads of one kind have one name but for their settings: the engine, and what they do by which
/// way.
type LoadKind = (String, String, bool, bool);

fn kind(settings: &Settings) -> LoadKind {
    let what = match settings.find(knob::COMMAND) {
        Some(command) => command,
        None => settings.get(knob::ACCESS).map_or("", Access::name),
    };
    let (engine, what) = (settings.engine().to_owned(), what.to_owned());
    (engine, what, settings.get(knob::DIRECT), settings.get(knob::COLD))
}

/// The engine, and what a load does. Files that are written anew and files that are written over
/// are both "write" to a reader: "Sequential writing gives 1139 MB/s" stood below a headline of
/// 3624, and what told them apart, the page cache, was in brackets.
fn does(settings: &Settings) -> (String, String) {
    let (engine, what, ..) = kind(settings);
    let what = if what == Access::Rewrite.name() { Access::Write.name().to_owned() } else { what };
    (engine, what)
}

impl LoadLabels {
    fn from_records(records: &[Record]) -> LoadLabels {
        let mut kinds: HashMap<LoadKind, Vec<&Settings>> = HashMap::new();
        let mut same: HashMap<(String, String), Vec<&Settings>> = HashMap::new();
        let measured = records.iter().filter(|record| !record.trial.prepares());
        for settings in distinct(measured.map(|record| &record.trial.settings)) {
            same.entry(does(settings)).or_default().push(settings);
            kinds.entry(kind(settings)).or_default().push(settings);
        }
        let apart = kinds.into_iter().map(|(kind, of)| (kind, apart(&of).into())).collect();
        let varies = same.into_iter().map(|(what, of)| (what, varying(&of).into())).collect();
        LoadLabels { elsewhere: in_several(records), apart, varies }
    }

    /// What has to be said of a load beside the level of `free`.
    fn told(&self, settings: &Settings, free: &str) -> LoadLabel {
        let apart = self.apart.get(&kind(settings)).cloned().unwrap_or_else(|| Rc::new([]));
        let apart = match apart.contains(&free) {
            true => apart.iter().copied().filter(|knob| *knob != free).collect(),
            false => apart,
        };
        let varies = self.varies.get(&does(settings)).cloned().unwrap_or_else(|| Rc::new([]));
        LoadLabel { elsewhere: self.elsewhere, apart, varies }
    }
}

/// What tells loads from each other most often, in the order in which it is said.
const FIRST: &[&str] = &["direct", "block-size", "queue-depth", "streams"];

/// Those of [`FIRST`] in which some of these loads differ. A load from memory says so in any case.
fn varying(all: &[&Settings]) -> Vec<&'static str> {
    let warm = |settings: &&&Settings| words::path(settings) != words::WARM;
    let ways: Vec<&&Settings> = all.iter().filter(warm).collect();
    let differs = |knob: &&&str| {
        let of: &[&&Settings] = &ways;
        let held = |settings: &Settings| match **knob {
            "direct" => Some(words::path(settings).to_owned()),
            name => settings.named(name).map(ToString::to_string),
        };
        of.windows(2).any(|two| held(two[0]) != held(two[1]))
    };
    FIRST.iter().filter(differs).copied().collect()
}

/// The knobs in which some loads of one kind differ and that nobody says of every load; of those
/// that always change together one.
fn apart(all: &[&Settings]) -> Vec<&'static str> {
    let Some(first) = all.first() else { return Vec::new() };
    let said = |knob: &str| {
        let in_own_way = SAID.contains(&knob) || knob::EXTENT.contains(&knob);
        // What a simulated server is made of is no part of its load.
        in_own_way || knob.starts_with("sim-") || (first.has(knob::ACCESS) && ASKED.contains(&knob))
    };
    let differs = |(knob, held): &(&'static str, &Value)| {
        !said(knob) && all.iter().any(|other| other.named(knob) != Some(*held))
    };
    let mut knobs: Vec<&'static str> = first.iter().filter(differs).map(|(knob, _)| knob).collect();
    // What nobody set, but was filled in by what is set, tells last.
    knobs.sort_by_key(|knob| FILLED_IN.iter().any(|(name, _)| name == knob));
    let number = |settings: &Settings, knob: &str| {
        let mut hasher = DefaultHasher::new();
        settings.named(knob).hash(&mut hasher);
        hasher.finish()
    };
    let decides = |one: &str, other: &str| {
        let mut held: HashMap<u64, u64> = HashMap::new();
        all.iter().all(|settings| {
            let value = number(settings, other);
            *held.entry(number(settings, one)).or_insert(value) == value
        })
    };
    let mut kept: Vec<&'static str> = Vec::new();
    for knob in knobs {
        if !kept.iter().any(|other| decides(other, knob)) {
            kept.retain(|other| !decides(knob, other));
            kept.push(knob);
        }
    }
    kept
}

/// Knobs of loads on files that questions say of their own accord, where they tell something.
const ASKED: &[&str] = &["access", "direct", "cold", "block-size", "queue-depth", "file-size"];

/// Knobs that are said of every load in their own way.
const SAID: &[&str] = &["streams", "directories", "operation"];

/// Whether the records are not all of the same directories: only then have sentences to say of
/// which they speak.
fn in_several(records: &[Record]) -> bool {
    let all = distinct(records.iter().map(|record| &record.trial.settings));
    let mut all = all.into_iter().map(Settings::directories);
    let first = all.next();
    all.any(|other| Some(other) != first)
}

/// As [`words::load`], with what tells it from others.
fn load(settings: &Settings, knobs: &[&str], told: &LoadLabel) -> String {
    let directories: &[&str] = if told.elsewhere { &["directories"] } else { &[] };
    if settings.has(knob::COMMAND) {
        // Its command is told, and its knobs only where they tell it from another.
        let knobs =
            told.apart.iter().chain(directories).filter(|knob| settings.named(knob).is_some());
        let parts: Vec<String> = knobs.map(|knob| words::knob(knob, settings)).collect();
        let command = words::load(settings, &[]);
        return match parts.is_empty() {
            true => command,
            false => format!("{command} ({})", parts.join(", ")),
        };
    }
    let mut all: Vec<&str> = knobs.to_vec();
    for knob in told.apart.iter().chain(directories) {
        if !all.contains(knob) {
            all.push(knob);
        }
    }
    let of_asked = |knob: &&&str| **knob == "direct" || all.contains(*knob);
    let mut first: Vec<&str> = told.varies.iter().filter(of_asked).copied().collect();
    first.extend(told.apart.iter().chain(directories).copied());
    // That there is one stream is news only where others have more.
    let one = settings.get(knob::STREAMS) == 1 && !first.contains(&"streams");
    all.retain(|knob| !(one && *knob == "streams"));
    words::load_by(settings, &first, &all)
}

/// The cells of which at least one trial was done.
pub fn cells(records: &[Record]) -> Vec<CellReplicates<'_>> {
    let telling = LoadLabels::from_records(records);
    let mut cells: Vec<CellReplicates<'_>> = replicates(records)
        .into_iter()
        .filter_map(|group| {
            let done = |record: &&Record| {
                record.outcome.measurement().is_some() && !record.trial.prepares()
            };
            let records: Vec<&Record> = group.into_iter().filter(done).collect();
            let settings = &records.first()?.trial.settings;
            Some(CellReplicates { settings, records, told: telling.told(settings, "") })
        })
        .collect();
    cells.sort_by_key(|cell| rank(cell.settings));
    cells
}

impl CellReplicates<'_> {
    /// What it does, and the settings among `knobs`.
    pub fn load(&self, knobs: &[&str]) -> String {
        load(self.settings, knobs, &self.told)
    }

    /// The same with all of that in brackets, for a sentence that has told the most already.
    pub fn load_in_brackets(&self, knobs: &[&str]) -> String {
        let told = LoadLabel { varies: Rc::new([]), apart: self.told.apart.clone(), ..self.told };
        let all: Vec<&str> = knobs.iter().chain(told.apart.iter()).copied().collect();
        words::load(self.settings, &all)
    }

    /// The rate `name` of each trial that has it.
    pub fn values(&self, name: &str) -> Vec<f64> {
        self.records.iter().filter_map(|record| rate(record, name)).collect()
    }

    /// Numbers of its trials.
    pub fn evidence(&self) -> Vec<u32> {
        self.records.iter().map(|record| record.trial.number).collect()
    }

    /// How many of its trials read from elsewhere than they should; see [`stray`].
    pub fn strays(&self) -> usize {
        self.records.iter().filter(|record| stray(record).is_some()).count()
    }
}

/// Whether two settings are the same but for the knobs of `free` and the extent of the trial.
pub fn alike(one: &Settings, other: &Settings, free: &[&str]) -> bool {
    let matters =
        |(name, _): &(&'static str, &Value)| !free.contains(name) && !knob::EXTENT.contains(name);
    one.iter().filter(matters).eq(other.iter().filter(matters))
}

/// Where settings stand in a report, whatever the order of the trials was: all directories before
/// each alone, direct before buffered.
fn rank(settings: &Settings) -> impl Ord + use<> {
    let directories = settings.directories().to_vec();
    let access = settings.get(knob::ACCESS).map(Access::name);
    (access, Reverse(directories.len()), directories, !settings.get(knob::DIRECT))
}

/// The curves over `knob` among the trials that were done; curves of a single level too.
pub fn curves<'a>(records: &'a [Record], knob: &str) -> Vec<Curve<'a>> {
    let telling = LoadLabels::from_records(records);
    let mut curves: Vec<Curve<'a>> = Vec::new();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut copies: HashMap<usize, usize> = HashMap::new();
    let free = [knob::EXTENT, &[knob]].concat();
    for record in records.iter().filter(|record| record.outcome.measurement().is_some()) {
        let settings = &record.trial.settings;
        let Some(held) = settings.named(knob).filter(|_| !record.trial.prepares()) else {
            continue;
        };
        let point = CurvePoint { record, at: held.number() };
        if let Some(place) = copies.get(&settings.copy_of()) {
            curves[*place].points.push(point);
            continue;
        }
        let near = places.entry(settings.fingerprint(&free)).or_default();
        match near.iter().find(|place| alike(curves[**place].settings, settings, &[knob])) {
            Some(place) => {
                copies.insert(settings.copy_of(), *place);
                curves[*place].points.push(point);
            }
            None => {
                copies.insert(settings.copy_of(), curves.len());
                near.push(curves.len());
                let told = telling.told(settings, knob);
                curves.push(Curve { settings, points: vec![point], told });
            }
        }
    }
    curves.sort_by_key(|curve| rank(curve.settings));
    curves
}

impl Curve<'_> {
    /// The lowest level.
    pub fn first(&self) -> f64 {
        self.points.iter().map(|point| point.at).fold(f64::MAX, f64::min)
    }

    /// The highest level.
    pub fn last(&self) -> f64 {
        self.points.iter().map(|point| point.at).fold(f64::MIN, f64::max)
    }

    /// What it does, and the settings among `knobs`.
    pub fn load(&self, knobs: &[&str]) -> String {
        load(self.settings, knobs, &self.told)
    }

    /// The rate `name` at each level, in ascending order.
    pub fn levels(&self, name: &str) -> Vec<Level> {
        let value = |point: &CurvePoint<'_>| Some((point.at, rate(point.record, name)?));
        levels(self.points.iter().filter_map(value).collect())
    }

    /// Replicates at the level `at` that have the rate `name`, and do not contradict it.
    pub fn replicates(&self, at: f64, name: &str) -> usize {
        let there = self.points.iter().filter(|point| point.at == at);
        there.filter(|point| rate(point.record, name).is_some()).count()
    }

    /// Numbers of its trials.
    pub fn evidence(&self) -> Vec<u32> {
        self.points.iter().map(|point| point.record.trial.number).collect()
    }

    /// How many of its trials read from elsewhere than the curve's path promises: from memory when
    /// it should be cold or direct, from anywhere else when it should be memory, or nobody knows.
    pub fn strays(&self) -> usize {
        self.points.iter().filter(|point| stray(point.record).is_some()).count()
    }
}

/// Values, each with its level, by level in ascending order.
pub fn levels(mut points: Vec<(f64, f64)>) -> Vec<Level> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = points.chunk_by(|a, b| a.0 == b.0);
    let level = |of: &[(f64, f64)]| Level {
        at: of[0].0,
        values: of.iter().map(|(_, value)| *value).collect(),
    };
    same.map(level).collect()
}

/// The verdict on a reading trial whose bytes did not come, or not surely, from where its settings
/// say: `device` or `remote` when direct or cold, `cache` otherwise.
pub fn stray(record: &Record) -> Option<(Verdict, String)> {
    let settings = &record.trial.settings;
    // Programs, and loads that make all that they read, ask for no place that it should come from;
    // an installed tool does where it is told to go around memory.
    if !settings.has(knob::ACCESS) || !(settings.has(knob::COLD) || settings.get(knob::DIRECT)) {
        return None;
    }
    let measurement = record.outcome.measurement()?;
    let cached = !settings.get(knob::DIRECT) && !settings.get(knob::COLD);
    let as_said = match origin::from(measurement, settings) {
        Verdict::None => true,
        Verdict::Cache => cached,
        Verdict::Device | Verdict::Remote => !cached,
        Verdict::Mixed | Verdict::DeviceCache | Verdict::Memory | Verdict::Unknown => false,
    };
    let told = || {
        let found = origin::origin(measurement, settings);
        (found.verdict, found.reason)
    };
    (!as_said).then(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::value::Value;
    use experiment::measurement::limit::testing::Scene;

    /// The report warned of `tar` that it "got bytes that did not come from memory": nobody had
    /// asked that they should.
    #[test]
    fn a_program_asks_for_no_place_that_its_bytes_should_come_from() {
        let warm = |knob| Scene::default().with(knob, Value::Flag(false));
        let mut record = warm("direct").with("cold", Value::Flag(false)).record(1);
        assert_eq!(stray(&record).map(|(verdict, _)| verdict), Some(Verdict::Device));
        record.trial.settings = Settings::defaults("command");
        assert_eq!(stray(&record), None);
        record.trial.settings = Settings::defaults("dbench");
        assert_eq!(stray(&record), None);
    }

    /// The plan `mail` told twice where "mail (block-size 4 KiB)" stops growing: once it was that
    /// with an fsync for each file, and once that without, and nothing said which.
    #[test]
    fn loads_without_an_access_are_told_apart_by_what_differs_between_them() {
        let record = |sync: bool, streams: u64| {
            let mut record = Scene::default().record(1);
            record.trial.settings = Settings::defaults("mail");
            record.trial.settings.set(knob::SYNC_FILES, sync);
            record.trial.settings.set(knob::STREAMS, streams);
            record
        };
        let labels = |records: &[Record]| -> Vec<String> {
            curves(records, "streams").iter().map(|curve| curve.load(&["block-size"])).collect()
        };
        let both = [record(false, 1), record(true, 1), record(false, 2), record(true, 2)];
        let mut told = labels(&both);
        told.sort();
        let wanted = ["no", "yes"].map(|it| format!("mail with sync-files {it} (1 MiB)"));
        assert_eq!(told, wanted);
        assert_eq!(labels(&both[..1]), ["mail (1 MiB)"], "nothing to tell it from");
    }

    /// "Sequential writing gives about 1139 MB/s" stood on a screen whose figure of writing was
    /// 3624: one had gone through the page cache, the other had written over, around it.
    #[test]
    fn writing_anew_is_told_from_writing_over_by_its_way() {
        let record = |access: &str, direct: bool| {
            let scene = Scene::default().with("access", Value::Word(access.into()));
            scene.with("direct", Value::Flag(direct)).record(1)
        };
        let records = [record("write", false), record("rewrite", true)];
        let mut told: Vec<String> = cells(&records).iter().map(|cell| cell.load(&[])).collect();
        told.sort();
        assert_eq!(told, ["Direct rewriting", "Sequential writing through the page cache"]);
    }

    /// Three findings were named "Sequential reading (direct, block-size 1 MiB, queue-depth 16,
    /// streams 1, io-engine uring)": they differed in the file system, which nobody named.
    #[test]
    fn loads_on_files_are_told_apart_by_whatever_differs_between_them() {
        let record = |filesystem: &str, raid: &str, streams: u64| {
            let word = |text: &str| Value::Word(text.into());
            let volumes = if filesystem == "btrfs" { "btrfs" } else { "md" };
            Scene::default()
                .with("filesystem", word(filesystem))
                .with("volumes", word(volumes))
                .with("raid", word(raid))
                .with("streams", Value::Count(streams))
                .record(1)
        };
        let mut records = Vec::new();
        for filesystem in ["ext4", "xfs", "btrfs"] {
            for streams in [1, 4] {
                records.push(record(filesystem, "raid0", streams));
            }
        }
        let labels = |records: &[Record]| -> Vec<String> {
            let curves = curves(records, "streams");
            let mut labels: Vec<String> =
                curves.iter().map(|it| it.load(&["block-size"])).collect();
            labels.extend(cells(records).iter().map(|cell| cell.load(&["block-size", "streams"])));
            labels
        };
        let told = labels(&records);
        let mut distinct = told.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 3 + 6, "{told:?}");
        assert!(told.iter().all(|label| label.contains("filesystem ")), "{told:?}");
        assert!(told.iter().all(|label| !label.contains("volumes") && !label.contains("raid")));
        // One file system needs no name.
        assert!(labels(&records[..2]).iter().all(|label| !label.contains("filesystem")));
    }
}
