//! (pure) Cells arranged for people: groups, what varies in each, and where the bytes came from.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Input, TrialView, words};
use base::stats::Estimate;
use base::value::{Domain, Value, setting};
use experiment::knob::{self, Settings};
use experiment::measurement::figures::Cell;
use experiment::measurement::origin::Verdict;
use experiment::plan;

/// Knobs in the order in which they make the axis of a table or a figure.
const AXES: &[&str] = &["directories", "streams", "queue-depth", "block-size", "message-size"];

/// Cells of one group of the plan, and those of other groups that lie on its axis.
pub struct CellGroup<'a> {
    /// Of the plan: `streams, direct`.
    pub name: &'a str,
    /// Knobs that tell its cells apart; the first is the axis. Knobs that only follow another one
    /// (a file size that shrinks as streams grow) are not among them.
    pub varying: Vec<&'static str>,
    /// Sorted by the varying knobs.
    pub rows: Vec<CellRow<'a>>,
}

/// One cell, and what its trials say of it.
#[derive(Clone)]
pub struct CellRow<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Where its bytes came from, of all its trials together.
    pub source: FigureOrigin,
    /// Kinds of the notes of its trials.
    pub notes: BTreeSet<&'a str>,
}

/// Where the bytes of a figure came from, as it must be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureOrigin {
    /// Nothing was read, so nothing is to be said.
    Written,
    /// What was read, in every replicate.
    Read(Verdict),
    /// Not the same in every replicate.
    Differs,
}

impl FigureOrigin {
    /// Of one trial.
    pub fn from_trial(view: &TrialView) -> FigureOrigin {
        match view.origin.as_ref().map(|origin| origin.verdict) {
            None | Some(Verdict::None) => FigureOrigin::Written,
            Some(verdict) => FigureOrigin::Read(verdict),
        }
    }

    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            FigureOrigin::Written => "written",
            FigureOrigin::Read(verdict) => verdict.name(),
            FigureOrigin::Differs => "differs",
        }
    }

    /// Stands at the figure itself wherever it is not the device's; empty where it is.
    pub fn mark(self) -> &'static str {
        match self {
            FigureOrigin::Written | FigureOrigin::Read(Verdict::Device | Verdict::None) => "",
            FigureOrigin::Read(Verdict::Cache) => "c",
            FigureOrigin::Read(Verdict::Mixed) => "m",
            FigureOrigin::Read(Verdict::DeviceCache) => "d",
            FigureOrigin::Read(Verdict::Memory) => "t",
            FigureOrigin::Read(Verdict::Remote) => "r",
            FigureOrigin::Read(Verdict::Unknown) => "?",
            FigureOrigin::Differs => "v",
        }
    }

    /// What the mark says.
    pub fn meaning(self) -> &'static str {
        match self {
            FigureOrigin::Written | FigureOrigin::Read(Verdict::None) => "written",
            FigureOrigin::Read(Verdict::Device) => "from the device",
            FigureOrigin::Read(Verdict::Cache) => "from the kernel's cache, not from the device",
            FigureOrigin::Read(Verdict::Mixed) => "partly from cache, partly from the device",
            FigureOrigin::Read(Verdict::DeviceCache) => {
                "from a cache behind the kernel, not from the media"
            }
            FigureOrigin::Read(Verdict::Memory) => {
                "from memory to memory, over a network: no figure of any storage"
            }
            FigureOrigin::Read(Verdict::Remote) => {
                "over the wire; the server's own cache is not known"
            }
            FigureOrigin::Read(Verdict::Unknown) => "origin of the bytes not known: may be a cache",
            FigureOrigin::Differs => "origin of the bytes not the same in every replicate",
        }
    }

    /// Those of some rows that are marked, each once, in the order of the rows.
    pub fn marked<'a, 'b: 'a>(rows: impl Iterator<Item = &'a CellRow<'b>>) -> Vec<FigureOrigin> {
        let mut seen: Vec<FigureOrigin> = Vec::new();
        for source in rows.map(|row| row.source).filter(|source| !source.mark().is_empty()) {
            if !seen.contains(&source) {
                seen.push(source);
            }
        }
        seen
    }

    /// Whether the figure may stand for the device.
    pub fn is_device(self) -> bool {
        matches!(self, FigureOrigin::Written | FigureOrigin::Read(Verdict::Device))
    }
}

/// All cells, arranged: streams first, then block sizes and queue depths, then what was cached,
/// what was written, and mixed loads. What only made ready is no result, and not among them. A cell
/// that lies on the axis of two groups stands in both.
pub fn groups<'a>(input: &'a Input<'_>) -> Vec<CellGroup<'a>> {
    let mut by_name: Vec<(&str, Vec<&Cell>)> = Vec::new();
    for cell in &input.cells {
        for asking in cell.groups.iter().filter(|name| !plan::prepares(name)) {
            match by_name.iter_mut().find(|(name, _)| name == asking) {
                Some((_, cells)) => cells.push(cell),
                None => by_name.push((asking, vec![cell])),
            }
        }
    }
    let views = Views::new(input);
    let groups = by_name.into_iter().map(|(name, mut cells)| {
        let varying = varying(&cells);
        cells.extend(lent(&cells, &varying, &input.cells));
        group(name, varying, cells, &views)
    });
    let mut groups: Vec<CellGroup<'_>> = groups.collect();
    groups.sort_by_key(rank);
    groups
}

/// Cells of other groups that are as one of a group's `own` but for the level of one of its axes,
/// where the group has none. A cell on two axes is measured once, by whichever group asked first.
fn lent<'a>(own: &[&'a Cell], varying: &[&str], all: &'a [Cell]) -> Vec<&'a Cell> {
    let alike = |one: &Cell, other: &Cell, free: Option<&str>| {
        one.settings.iter().all(|(knob, held)| {
            Some(knob) == free
                || knob::INCIDENTAL.contains(&knob)
                || value(other, knob) == Some(held)
        })
    };
    let axes = || varying.iter().filter(|knob| AXES.contains(knob));
    // Of a campaign of a week nearly all may be its own, too many to hold each against every one.
    let owned: BTreeSet<*const Cell> = own.iter().map(|cell| std::ptr::from_ref(*cell)).collect();
    let prepares = |cell: &Cell| cell.groups.iter().any(|name| plan::prepares(name));
    let mut lent: Vec<&Cell> = Vec::new();
    for cell in all.iter().filter(|cell| !owned.contains(&std::ptr::from_ref(*cell))) {
        if prepares(cell) {
            continue;
        }
        let fits = axes().any(|axis| own.iter().any(|other| alike(other, cell, Some(axis))));
        if fits && !own.iter().chain(&lent).any(|other| alike(other, cell, None)) {
            lent.push(cell);
        }
    }
    lent
}

/// Knobs whose values tell each row of a group from every other: those that vary, then as many as
/// it takes of those that mean nothing there.
pub fn keys(group: &CellGroup<'_>) -> Vec<&'static str> {
    let cells: Vec<&Cell> = group.rows.iter().map(|row| row.cell).collect();
    let all = cells.first().into_iter().flat_map(|cell| cell.settings.iter());
    let names = all.map(|(name, _)| name);
    told_apart(&cells, group.varying.clone(), names, |cell, knob| cell.settings.named(knob))
}

/// `knobs`, and of `others` those without which two cells would have the same values.
fn told_apart<'a>(
    cells: &[&'a Cell],
    mut knobs: Vec<&'static str>,
    others: impl Iterator<Item = &'static str>,
    held: impl Fn(&'a Cell, &str) -> Option<&'a Value>,
) -> Vec<&'static str> {
    let distinct = |knobs: &[&str]| {
        let told = cells.iter().map(|cell| {
            let mut hasher = DefaultHasher::new();
            knobs.iter().for_each(|knob| held(cell, knob).hash(&mut hasher));
            hasher.finish()
        });
        told.collect::<BTreeSet<u64>>().len()
    };
    let mut told = distinct(&knobs);
    for other in others {
        if told == cells.len() {
            break;
        }
        let differs = cells.iter().any(|cell| held(cell, other) != held(cells[0], other));
        if !differs || knobs.contains(&other) {
            continue;
        }
        knobs.push(other);
        match distinct(&knobs) {
            more if more > told => told = more,
            _ => drop(knobs.pop()),
        }
    }
    knobs
}

/// Numbers of the trials of a group's rows that other groups of the plan asked for; those that
/// failed, too.
pub fn of_other_groups(input: &Input<'_>, group: &CellGroup<'_>) -> Vec<u32> {
    let rows = group.rows.iter().map(|row| row.cell.settings.fingerprint(&[]));
    let shown: BTreeSet<u64> = rows.collect();
    let trials = input.records.iter().map(|record| &record.trial);
    let others = trials.filter(|trial| trial.group != group.name && !trial.prepares());
    let of_rows = others.filter(|trial| shown.contains(&trial.settings.fingerprint(&[])));
    of_rows.map(|trial| trial.number).collect()
}

/// Every cell once, in the order of the groups.
pub fn rows<'a, 'b>(groups: impl Iterator<Item = &'b CellGroup<'a>>) -> Vec<&'b CellRow<'a>>
where
    'a: 'b,
{
    let mut rows: Vec<&CellRow<'_>> = Vec::new();
    for row in groups.flat_map(|group| &group.rows) {
        if !rows.iter().any(|known| std::ptr::eq(known.cell, row.cell)) {
            rows.push(row);
        }
    }
    rows
}

fn group<'a>(
    name: &'a str,
    varying: Vec<&'static str>,
    mut cells: Vec<&'a Cell>,
    views: &Views<'a>,
) -> CellGroup<'a> {
    cells.sort_by(|a, b| {
        let order = varying.iter().rev().map(|knob| compare(value(a, knob), value(b, knob)));
        order.fold(Ordering::Equal, Ordering::then)
    });
    let rows = cells.into_iter().map(|cell| views.row(cell)).collect();
    CellGroup { name, varying, rows }
}

/// The trials by number, for looking up what a cell rests on.
struct Views<'a>(BTreeMap<u32, &'a TrialView>);

impl<'a> Views<'a> {
    fn new(input: &'a Input<'_>) -> Views<'a> {
        let numbers = input.records.iter().map(|record| record.trial.number);
        Views(numbers.zip(&input.trials).collect())
    }

    fn row(&self, cell: &'a Cell) -> CellRow<'a> {
        let views: Vec<_> = cell.trials.iter().filter_map(|number| self.0.get(number)).collect();
        let mut sources = views.iter().map(|view| FigureOrigin::from_trial(view));
        let first = sources.next().unwrap_or(FigureOrigin::Written);
        let source =
            if sources.all(|other| other == first) { first } else { FigureOrigin::Differs };
        let notes = views.iter().flat_map(|view| view.notes.iter());
        CellRow { cell, source, notes: notes.map(|note| note.kind.as_str()).collect() }
    }
}

/// The knobs that tell cells apart, axis first, without those that only follow another.
pub fn varying(cells: &[&Cell]) -> Vec<&'static str> {
    let Some(first) = cells.first() else { return Vec::new() };
    let differs =
        |knob: &&'static str| cells.iter().any(|cell| value(cell, knob) != value(first, knob));
    let mut names: Vec<&'static str> =
        first.settings.iter().map(|(name, _)| name).filter(differs).collect();
    // Where names are worked on, how many and how large they are is what is asked.
    let of_names = first.settings.has(knob::OPERATION);
    let mut left_out = Vec::new();
    if !of_names && names.iter().any(|name| !knob::INCIDENTAL.contains(name)) {
        (left_out, names) = names.into_iter().partition(|name| knob::INCIDENTAL.contains(name));
    }
    let place = |name: &&str| AXES.iter().position(|axis| axis == name).unwrap_or(AXES.len());
    names.sort_by_key(place);
    let mut kept: Vec<&'static str> = Vec::new();
    for name in names {
        if !kept.iter().any(|leader| follows(cells, leader, name)) {
            kept.push(name);
        }
    }
    // Across the others, streams and depths make the better axis than directories.
    if kept.first() == Some(&"directories") && kept.len() > 1 {
        kept.rotate_left(1);
    }
    told_apart(cells, kept, left_out.into_iter(), value)
}

/// Whether the value of `leader` decides that of `follower`, which then need not be said; whether
/// the page cache was gone around always is: "queue-depth 1 / 4" hid buffered and direct.
fn follows(cells: &[&Cell], leader: &str, follower: &str) -> bool {
    if AXES.contains(&follower) || follower == "direct" {
        return false;
    }
    let mut seen: Vec<(&Value, &Value)> = Vec::new();
    for cell in cells {
        let (Some(key), Some(held)) = (value(cell, leader), value(cell, follower)) else {
            return false;
        };
        match seen.iter().find(|(known, _)| *known == key) {
            Some((_, other)) if *other != held => return false,
            Some(_) => {}
            None => seen.push((key, held)),
        }
    }
    true
}

/// The setting `knob` of a cell, when its engine has it and it means something there.
pub fn value<'a>(cell: &'a Cell, knob: &str) -> Option<&'a Value> {
    cell.settings.named(knob).filter(|_| !cell.settings.is_moot(knob))
}

/// Numbers by size, all else by its text.
pub fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Bytes(a)), Some(Value::Bytes(b)))
        | (Some(Value::Count(a)), Some(Value::Count(b)))
        | (Some(Value::Duration(a)), Some(Value::Duration(b)))
        | (Some(Value::BytesPerSecond(a)), Some(Value::BytesPerSecond(b))) => a.cmp(b),
        (Some(Value::Number(a)), Some(Value::Number(b))) => a.total_cmp(b),
        (Some(Value::Words(a)), Some(Value::Words(b))) => {
            (a.len(), a.join(" ")).cmp(&(b.len(), b.join(" ")))
        }
        (a, b) => a.map(Value::to_string).cmp(&b.map(Value::to_string)),
    }
}

type Rank = (bool, bool, bool, usize, bool, bool, usize);

fn rank(group: &CellGroup<'_>) -> Rank {
    let Some(row) = group.rows.first() else { return Rank::default() };
    let settings = &row.cell.settings;
    let axis = ["streams", "block-size", "queue-depth"];
    let axis = match group.varying.first() {
        // A lone cell is what the others are compared with.
        None => 0,
        Some(first) => 1 + axis.iter().position(|name| name == first).unwrap_or(axis.len()),
    };
    (
        words::mixes(settings),
        words::writes_only(settings),
        words::warm(settings),
        axis,
        words::random(settings),
        settings.find(knob::DIRECT) == Some(false),
        place_of_operation(settings),
    )
}

/// Operations on names in the order of their knob's words; whatever has none comes after.
fn place_of_operation(settings: &Settings) -> usize {
    let place =
        |words: &[&str]| words.iter().position(|word| *word == settings.get(knob::OPERATION));
    match knob::OPERATION.domain {
        Domain::OneOf(words) => place(words).unwrap_or(words.len()),
        _ => 0,
    }
}

/// Rows of one group that a mail or a wiki has room for.
pub const ROWS_MAX: usize = 100;

impl<'a> CellGroup<'a> {
    /// The rows that a mail or a wiki has room for.
    pub fn shown(&self) -> &[CellRow<'a>] {
        self.rows.get(..ROWS_MAX).unwrap_or(&self.rows)
    }

    /// Where the other rows are; nothing where there are none.
    pub fn rest(&self) -> Option<String> {
        let more = self.rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0)?;
        Some(format!("{more} more rows are in the formats html and csv, and in `brickyard query`"))
    }

    /// What all its cells have in common and a reader wants to know: `read, 1 MiB blocks, direct`.
    pub fn common(&self) -> String {
        self.told(&[
            "access",
            "operation",
            "streams",
            "files",
            "tree-depth",
            "tree-width",
            "shared-directories",
            "queue-depth",
            "block-size",
            "file-size",
            "direct",
            "cold",
        ])
    }

    /// Those of `knobs` that all its cells have in common, in words.
    pub fn told(&self, knobs: &[&str]) -> String {
        let Some(first) = self.rows.first() else { return String::new() };
        const OF_NAMES: &[&str] = &["files", "tree-depth", "tree-width", "shared-directories"];
        let settings = &first.cell.settings;
        let of_names = settings.has(knob::OPERATION) || settings.is_moot(knob::ACCESS.name);
        let knobs = knobs.iter().filter(|name| of_names || !OF_NAMES.contains(name));
        let told = knobs.filter_map(|name| {
            let held = value(first.cell, name)?;
            // Nothing is cold or warm around the cache, and what is made has no cold start.
            let makes = matches!(first.cell.settings.get(knob::OPERATION), "create" | "mkdir");
            let direct = first.cell.settings.get(knob::DIRECT);
            let idle =
                *name == "cold" && (direct || makes || words::writes_only(&first.cell.settings));
            let same = self.rows.iter().all(|row| value(row.cell, name) == Some(held));
            (same && !idle).then(|| words::phrase(name, held))
        });
        told.filter(|phrase| !phrase.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// What tells `row` from the others, one text for each varying knob; for a group of one, what
    /// it did.
    pub fn label(&self, row: &CellRow<'_>) -> String {
        if self.varying.is_empty() {
            let names = ["streams", "queue-depth", "block-size"].iter();
            let words = names.filter_map(|name| Some(words::phrase(name, value(row.cell, name)?)));
            return words.collect::<Vec<_>>().join(", ");
        }
        let values = self.varying.iter();
        let values = values.filter_map(|knob| Some(setting(value(row.cell, knob)?)));
        values.collect::<Vec<_>>().join(", ")
    }
}

/// The figure `name` of a cell, if it has it and it is a number.
pub fn figure(cell: &Cell, name: &str) -> Option<Estimate> {
    cell.figures.get(name).copied().filter(|estimate| estimate.value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use experiment::knob::testing::settings;
    use experiment::measurement::origin::Origin;
    use experiment::plan::{LAYOUT, blocked};

    const RANDOM: (&str, &str) = ("access", "random-read");

    fn labels<'a>(groups: &'a [CellGroup<'a>], name: &str) -> (Vec<String>, Vec<usize>) {
        let group = groups.iter().find(|group| group.name == name).unwrap();
        let labels = group.rows.iter().map(|row| group.label(row)).collect();
        (labels, group.rows.iter().map(|row| row.cell.trials.len()).collect())
    }

    /// 4 KiB random reading at depth 16 lies on the axis of the queue depth and on that of the
    /// block size. Both groups of the standard evaluation bought it, its trials were pooled under
    /// the first, and the table of block sizes began at 8 KiB.
    #[test]
    fn a_cell_on_two_axes_stands_in_both_tables_with_each_trial_once() {
        let shared = |group: &str| {
            let typed = [RANDOM, ("block-size", "4KiB"), ("queue-depth", "16")];
            (group.to_owned(), settings("file", &typed))
        };
        let depth = settings("file", &[RANDOM, ("block-size", "4KiB"), ("queue-depth", "1")]);
        let blocks = settings("file", &[RANDOM, ("block-size", "64KiB"), ("queue-depth", "16")]);
        let mut plan = vec![("depth".to_owned(), depth), shared("depth")];
        plan.push(("blocks".to_owned(), blocks));
        for bought_twice in [false, true] {
            if bought_twice {
                plan.push(shared("blocks"));
            }
            let fixture = fixture::campaign_of(blocked(&plan, 3, 1), 4);
            let input = fixture.input();
            let groups = groups(&input);
            let n = if bought_twice { 6 } else { 3 };
            let found = |name| labels(&groups, name);
            assert_eq!(found("depth"), (vec!["1".to_owned(), "16".to_owned()], vec![3, n]));
            if bought_twice {
                let told = vec!["4 KiB".to_owned(), "64 KiB".to_owned()];
                assert_eq!(found("blocks"), (told, vec![n, 3]));
            }
            assert_eq!(rows(groups.iter()).len(), 3, "each once");
        }
    }

    /// The report read the words of the verdicts, and took one that it did not know for `unknown`.
    #[test]
    fn every_verdict_but_the_devices_is_marked_and_no_two_alike() {
        use Verdict::{Cache, DeviceCache, Memory, Mixed, Remote, Unknown};
        let of = |verdict| {
            let origin = Origin { verdict, device_share: None, reason: String::new() };
            FigureOrigin::from_trial(&TrialView { origin: Some(origin), ..TrialView::default() })
        };
        let foreign = [Cache, Mixed, DeviceCache, Memory, Remote, Unknown].map(of);
        let mut marks: Vec<&str> = foreign.iter().map(|source| source.mark()).collect();
        assert!(foreign.iter().all(|source| !source.is_device()));
        marks.sort_unstable();
        marks.dedup();
        assert_eq!((marks.len(), marks[0].is_empty()), (foreign.len(), false));
        assert!(of(Verdict::Device).is_device() && of(Verdict::Device).mark().is_empty());
        assert_eq!(of(Verdict::None), FigureOrigin::Written);
    }

    /// A plan of block sizes and file sizes had two rows with the same label and different figures,
    /// and nothing said which was which; who grouped trials by the label made one cell of both.
    #[test]
    fn no_two_rows_have_the_same_label() {
        let named = |block: &str, size: &str| {
            let typed = [("block-size", block), ("file-size", size)];
            ("g".to_owned(), settings("file", &typed))
        };
        let mut plan = vec![named("4KiB", "1GiB"), named("1MiB", "1GiB"), named("1MiB", "2GiB")];
        let found = |plan: &[(String, Settings)]| {
            let fixture = fixture::campaign_of(blocked(plan, 2, 1), 4);
            let input = fixture.input();
            let groups = groups(&input);
            assert_eq!(keys(&groups[0]), groups[0].varying);
            (groups[0].varying.clone(), labels(&groups, "g").0)
        };
        let (varying, labels) = found(&plan);
        assert_eq!(varying, ["block-size", "file-size"]);
        assert_eq!(labels, ["4 KiB, 1 GiB", "1 MiB, 1 GiB", "1 MiB, 2 GiB"]);
        // One that follows the other tells nothing.
        plan.remove(1);
        assert_eq!(found(&plan).0, ["block-size"]);
        // "queue-depth 1 / 4" hid buffered and direct.
        let named = |depth: &str, direct: &str| {
            ("g".to_owned(), settings("file", &[("queue-depth", depth), ("direct", direct)]))
        };
        let both = found(&[named("1", "false"), named("4", "true")]).0;
        assert_eq!(both, ["queue-depth", "direct"]);
    }

    #[test]
    fn a_group_borrows_what_lies_on_its_axis_and_nothing_that_makes_ready() {
        let named = |group: &str, streams: &str, block: &str| {
            (group.to_owned(), settings("file", &[("streams", streams), ("block-size", block)]))
        };
        let plan = [
            named("streams", "1", "1MiB"),
            named("streams", "8", "1MiB"),
            named("blocks", "1", "4KiB"),
            named("blocks", "1", "4MiB"),
            named(LAYOUT, "1", "64KiB"),
        ];
        let fixture = fixture::campaign_of(blocked(&plan, 1, 1), 4);
        let input = fixture.input();
        let groups = groups(&input);
        assert_eq!(labels(&groups, "blocks").0, ["4 KiB", "1 MiB", "4 MiB"]);
        assert_eq!(labels(&groups, "streams").0, ["1", "8"]);
        assert!(groups.iter().all(|group| group.name != LAYOUT), "what makes ready is no result");
    }
}
