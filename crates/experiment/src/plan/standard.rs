//! The standard evaluation: which cells there are, and which of them a budget buys.
//!
//! Cells come in a fixed order, the most telling first, and are bought whole, with all their
//! replicates. What a larger budget would buy is named with that budget.

use crate::knob::{self, Settings};
use base::value::{self, Stop, Value};

/// Every cell is run this often.
pub const REPLICATES: u32 = 3;
/// No trial is shorter, ns.
pub const TRIAL_NS_MIN: u64 = 2_000_000_000;
/// With time to spare trials grow up to this, ns: five rounds of SNIA's criterion and some.
pub const TRIAL_NS_MAX: u64 = 20_000_000_000;
/// Starting a worker, opening files, proving them cold, and storing: what a trial costs on top.
pub const OVERHEAD_NS: u64 = 180_000_000;
/// A second pass reads again for at most this long, ns.
pub const SECOND_PASS_NS: u64 = 2_000_000_000;
/// Streams that write the files; each replicate writes a third of them.
pub const LAYOUT_STREAMS: u64 = 4;

/// Times that are worked out are whole ones of these, ns.
const TEN_MS: u64 = 10_000_000;
/// Writing gets one part in so many of the budget.
const WRITING_PART: u64 = 4;
/// The part of writing's time that its bytes would take at the probe's rate: what a disk takes for
/// a second it seldom takes for longer.
const PLANNED_SHARE: f64 = 0.4;
/// A probe around memory lasts so long, ns: shorter, and a disk that is still busy with the making
/// of its file system may do next to nothing in it.
pub const PROBE_NS: u64 = TRIAL_NS_MIN;

/// How long a writing trial may take, and how much it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// It goes on for at least this long, ns.
    pub at_least_ns: u64,
    /// It is cut after this long, ns; what it accepted has to be made durable after that.
    pub at_most_ns: u64,
    /// Bytes of all files of all directories: they can be written in the time that writing gets.
    pub files_bytes: u64,
}

/// Divides the quarter of a budget that writing gets among the trials that write in `places`
/// directories, where a probe wrote `bytes_per_s` and made them durable.
pub fn writing(budget_ns: u64, places: u64, bytes_per_s: f64) -> Writing {
    let quarter_ns = budget_ns / WRITING_PART;
    let share_ns = quarter_ns / (u64::from(REPLICATES) * places.max(1));
    // Both stand in the settings of the trials, where a person reads them.
    let whole = |ns: u64| ns / TEN_MS * TEN_MS;
    let at_most_ns = whole(share_ns.saturating_sub(OVERHEAD_NS)).max(OVERHEAD_NS);
    Writing {
        // A short budget leaves time to make it durable rather than to write the files over.
        at_least_ns: TRIAL_NS_MIN.min(whole(at_most_ns / 4 * 3)),
        at_most_ns,
        files_bytes: (bytes_per_s * quarter_ns as f64 / 1e9 * PLANNED_SHARE) as u64,
    }
}

/// What the cells are made for.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The engine.
    pub engine: &'static str,
    /// Directories as the user named them.
    pub directories: Vec<String>,
    /// Whether all of them take O_DIRECT.
    pub direct: bool,
    /// Bytes of each file.
    pub file_size: u64,
    /// Files in each directory.
    pub files: u64,
    /// What the cached cells may keep in memory, bytes.
    pub cache_bytes: u64,
}

/// One cell of the standard evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Which curve it belongs to.
    pub group: String,
    /// Its settings; `stop` is set when the length of trials is known.
    pub settings: Settings,
    /// In words: `8 streams`.
    pub name: String,
}

/// A budget divided up.
#[derive(Clone, Debug, PartialEq)]
pub struct Bought {
    /// How many of the wishes, from the first, are bought.
    pub cells: usize,
    /// Length of each trial, ns.
    pub trial_ns: u64,
    /// What they will take, ns.
    pub total_ns: u64,
}

/// Files a directory holds: enough for the most streams, and divisible into the three parts that
/// the writing replicates make.
pub fn files(streams_max: u64) -> u64 {
    let part = u64::from(REPLICATES) * LAYOUT_STREAMS;
    streams_max.div_ceil(part) * part
}

/// Every cell of the standard evaluation, in the order in which a budget buys them.
pub fn wishes(shape: &Shape) -> Vec<Wish> {
    let mut list = List { shape, wishes: Vec::new() };
    let direct = shape.direct;
    list.sequential("sequential read", direct, 1, 16, true);
    list.streams(&[1, 8, 60], true);
    list.depths(&[1, 32]);
    list.cached();
    list.streams(&[1, 8], false);
    list.streams(&[16, 4, 2, 32], true);
    list.depths(&[8, 128]);
    list.sequential_blocks(&[4, 64, 256, 4096]);
    list.random_blocks(&[64, 1024]);
    list.mixed();
    list.rewrite();
    list.streams(&[60, 16], false);
    list.depths(&[2, 4, 16, 64]);
    list.random_blocks(&[16, 256, 4096, 8, 32, 128, 512, 2048, 4]);
    list.sequential_blocks(&[16, 8, 32, 128, 512, 2048, 1024]);
    list.streams(&[100], true);
    list.streams(&[4, 2, 32, 100], false);
    list.wishes
}

struct List<'a> {
    shape: &'a Shape,
    wishes: Vec<Wish>,
}

impl List<'_> {
    /// Adds a cell for each directory alone, and for all of them at once.
    fn add(&mut self, group: &str, name: &str, set: &[(&str, Value)]) {
        let all = &self.shape.directories;
        let alone = all.iter().map(|directory| vec![directory.clone()]);
        let at_once = (all.len() > 1).then(|| all.clone());
        for directories in alone.chain(at_once) {
            let mut settings = Settings::defaults(self.shape.engine);
            for (knob, value) in set {
                settings.set_named(knob, value.clone());
            }
            let streams = settings.get(knob::STREAMS);
            if streams < directories.len() as u64 {
                continue; // one stream over two directories is one over the first
            }
            let per_directory = streams.div_ceil(directories.len() as u64);
            if !set.iter().any(|(knob, _)| *knob == "files") {
                settings.set(knob::FILES, (self.shape.files / per_directory).max(1));
            }
            settings.set(knob::FILE_SIZE, self.shape.file_size);
            let name = match (all.len(), directories.len()) {
                (1, _) => name.to_owned(),
                (_, 1) => format!("{name} in {}", directories[0]),
                _ => format!("{name} over all directories"),
            };
            settings.set(knob::DIRECTORIES, &directories);
            let fits = settings.get(knob::BLOCK_SIZE) <= self.shape.file_size
                && settings.get(knob::STREAMS) <= self.shape.files * all.len() as u64;
            let wish = Wish { group: group.to_owned(), settings, name };
            // A cell on two axes is bought once; the report shows it on both.
            if fits && !self.wishes.iter().any(|known| known.settings == wish.settings) {
                self.wishes.push(wish);
            }
        }
    }

    fn sequential(&mut self, group: &str, direct: bool, streams: u64, depth: u64, twice: bool) {
        let name = format!("sequential read, 1 MiB, depth {depth}");
        self.add(
            group,
            &name,
            &[
                ("access", Value::Word("read".into())),
                ("direct", Value::Flag(direct)),
                ("streams", Value::Count(streams)),
                ("queue-depth", Value::Count(depth)),
                ("second-pass", Value::Flag(twice)),
            ],
        );
    }

    fn streams(&mut self, levels: &[u64], direct: bool) {
        if direct && !self.shape.direct {
            return;
        }
        let group = if direct { "streams, direct" } else { "streams, cold-buffered" };
        for &streams in levels {
            let count =
                if streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") };
            let name = format!("{count}, {}", if direct { "direct" } else { "buffered" });
            let set = [
                ("access", Value::Word("read".into())),
                ("direct", Value::Flag(direct)),
                ("streams", Value::Count(streams)),
            ];
            self.add(group, &name, &set);
        }
    }

    fn depths(&mut self, levels: &[u64]) {
        for &depth in levels {
            let set = [
                ("access", Value::Word("random-read".into())),
                ("direct", Value::Flag(self.shape.direct)),
                ("block-size", Value::Bytes(4096)),
                ("queue-depth", Value::Count(depth)),
                ("second-pass", Value::Flag(depth == 32)),
            ];
            self.add("queue depth", &format!("random 4 KiB read, depth {depth}"), &set);
        }
    }

    fn sequential_blocks(&mut self, kib: &[u64]) {
        self.blocks("block size, sequential", "read", kib);
    }

    fn random_blocks(&mut self, kib: &[u64]) {
        self.blocks("block size, random", "random-read", kib);
    }

    fn blocks(&mut self, group: &str, access: &str, kib: &[u64]) {
        for &kib in kib {
            let size = Value::Bytes(kib << 10);
            let order = if access == "read" { "sequential read" } else { "random read" };
            let name = format!("{order}, blocks of {}", value::setting(&size));
            let set = [
                ("access", Value::Word(access.into())),
                ("direct", Value::Flag(self.shape.direct)),
                ("queue-depth", Value::Count(16)),
                ("block-size", size),
            ];
            self.add(group, &name, &set);
        }
    }

    fn cached(&mut self) {
        let files = (self.shape.cache_bytes / self.shape.file_size).clamp(1, self.shape.files);
        if self.shape.file_size > self.shape.cache_bytes {
            return; // not even one file may stay in memory
        }
        let set = [
            ("access", Value::Word("read".into())),
            ("direct", Value::Flag(false)),
            ("cold", Value::Flag(false)),
            ("files", Value::Count(files)),
        ];
        self.add("cache", "the same files from memory", &set);
    }

    fn mixed(&mut self) {
        let set = [
            ("access", Value::Word("random-mix".into())),
            ("direct", Value::Flag(self.shape.direct)),
            ("block-size", Value::Bytes(4096)),
            ("queue-depth", Value::Count(32)),
        ];
        self.add("mixed", "random 4 KiB, 70 % reads, depth 32", &set);
    }

    fn rewrite(&mut self) {
        // Not `write`, which makes files anew: two seconds of it leave most of them unwritten, and
        // the trials after it would read holes.
        let set = [
            ("access", Value::Word("rewrite".into())),
            ("direct", Value::Flag(self.shape.direct)),
            ("queue-depth", Value::Count(16)),
        ];
        self.add("rewrite", "sequential rewrite, 1 MiB, depth 16", &set);
    }
}

/// What a cell takes, ns, when its trials last `trial_ns`.
fn cost_ns(wish: &Wish, trial_ns: u64) -> u64 {
    u64::from(REPLICATES) * lasting_ns(&wish.settings, trial_ns)
}

/// What a trial takes from its start to the next one's, ns; `None` when it does not stop by time.
pub fn expected_ns(settings: &Settings) -> Option<u64> {
    if !settings.has(knob::STOP) {
        return None;
    }
    match settings.stop() {
        Stop::After(ns) => Some(lasting_ns(settings, ns)),
        // When its interval is narrow enough, and that at the latest.
        Stop::Interval(_) => Some(lasting_ns(settings, settings.get(knob::AT_MOST))),
        Stop::Bytes(_) | Stop::Bits(_) | Stop::Pass | Stop::Steady => None,
    }
}

fn lasting_ns(settings: &Settings, trial_ns: u64) -> u64 {
    let second = if settings.get(knob::SECOND_PASS) { SECOND_PASS_NS } else { 0 };
    trial_ns.saturating_add(second + OVERHEAD_NS)
}

/// Buys as many cells as `left_ns` allows, in order, at the shortest trials; then, if all were
/// bought, lengthens the trials with what is left.
pub fn buy(wishes: &[Wish], left_ns: u64) -> Bought {
    let mut total_ns = 0;
    let mut cells = 0;
    for wish in wishes {
        let cost = cost_ns(wish, TRIAL_NS_MIN);
        // The first is always bought: an evaluation that read nothing would be of no use.
        if total_ns + cost > left_ns && cells > 0 {
            break;
        }
        total_ns += cost;
        cells += 1;
    }
    let mut trial_ns = TRIAL_NS_MIN;
    if cells == wishes.len() && cells > 0 {
        let trials = cells as u64 * u64::from(REPLICATES);
        let longer = trial_ns + left_ns.saturating_sub(total_ns) / trials;
        // Whole tenths of a second read better, and the rest is kept as a reserve.
        trial_ns = (longer / 100_000_000 * 100_000_000).clamp(TRIAL_NS_MIN, TRIAL_NS_MAX);
        total_ns = wishes.iter().map(|wish| cost_ns(wish, trial_ns)).sum();
    }
    Bought { cells, trial_ns, total_ns }
}

/// The least budget that buys each wish, ns, when `fixed_ns` goes to other things and a quarter of
/// the budget to writing. Rounded up to 10 s.
pub fn budgets_ns(wishes: &[Wish], fixed_ns: u64) -> Vec<u64> {
    const TEN_SECONDS: u64 = 10_000_000_000;
    let mut sum = fixed_ns;
    let mut budgets = Vec::with_capacity(wishes.len());
    for wish in wishes {
        sum += cost_ns(wish, TRIAL_NS_MIN);
        budgets.push((sum * 4 / 3).div_ceil(TEN_SECONDS) * TEN_SECONDS);
    }
    budgets
}

/// Sets the length of the trials.
pub fn timed(wish: &Wish, trial_ns: u64) -> (String, Settings) {
    let mut settings = wish.settings.clone();
    settings.set(knob::STOP, Stop::After(trial_ns));
    (wish.group.clone(), settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Access;

    fn shape(directories: &[&str]) -> Shape {
        Shape {
            engine: "file",
            directories: directories.iter().map(|name| (*name).to_owned()).collect(),
            direct: true,
            file_size: 64 << 20,
            files: files(100),
            cache_bytes: 512 << 20,
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn files_serve_a_hundred_streams_and_divide_into_three_parts() {
        assert_eq!(files(60), 60);
        assert_eq!(files(100), 108);
        assert_eq!(files(100) % (3 * LAYOUT_STREAMS), 0);
    }

    /// On a disk whose cache took 5 GB/s, 30 s bought 10 GB of files. The last of four streams
    /// found memory full of what the others wrote over and over: the writing took five minutes.
    #[test]
    fn writing_is_bounded_to_its_quarter_of_the_budget() {
        for (seconds, places) in [(20, 1), (30, 1), (40, 1), (180, 1), (3600, 1), (180, 8)] {
            let (budget_ns, trials) = (seconds * SECOND, u64::from(REPLICATES) * places);
            let writing = writing(budget_ns, places, 5e9);
            assert!((writing.at_most_ns + OVERHEAD_NS) * trials <= budget_ns / 4, "{writing:?}");
            assert!(writing.at_least_ns < writing.at_most_ns, "{writing:?}");
            // It stood among the settings as 1014872979ns.
            assert_eq!((writing.at_least_ns % TEN_MS, writing.at_most_ns % TEN_MS), (0, 0));
            assert!(writing.files_bytes as f64 / 5e9 < seconds as f64 / 4.0, "{writing:?}");
        }
        assert_eq!(writing(180 * SECOND, 1, 1e8).at_least_ns, TRIAL_NS_MIN);
    }

    #[test]
    fn everything_that_the_evaluation_promises_is_on_the_list() {
        let wishes = wishes(&shape(&["/srv"]));
        let levels = |group: &str, knob: &str| -> Vec<u64> {
            // 4 KiB at depth 16 lies on two axes and is bought once, in the group of the depths.
            let shared = |wish: &Wish| {
                let (size, depth) = (knob::BLOCK_SIZE, knob::QUEUE_DEPTH);
                let is_at = wish.settings.get(size) == 4096 && wish.settings.get(depth) == 16;
                group == "block size, random" && wish.group == "queue depth" && is_at
            };
            let of = wishes.iter().filter(|wish| wish.group == group || shared(wish));
            let mut levels: Vec<u64> =
                of.map(|wish| wish.settings.named(knob).unwrap().number() as u64).collect();
            levels.sort_unstable();
            levels
        };
        let streams = [1, 2, 4, 8, 16, 32, 60, 100];
        assert_eq!(levels("streams, direct", "streams"), streams);
        assert_eq!(levels("streams, cold-buffered", "streams"), streams);
        assert_eq!(levels("queue depth", "queue-depth"), [1, 2, 4, 8, 16, 32, 64, 128]);
        let sizes: Vec<u64> = (12..=22).map(|power| 1 << power).collect();
        assert_eq!(levels("block size, sequential", "block-size"), sizes);
        assert_eq!(levels("block size, random", "block-size"), sizes);
        for group in ["cache", "mixed", "rewrite"] {
            assert_eq!(levels(group, "streams"), [1], "{group}");
        }
    }

    /// Two seconds of `write` made all files anew and filled some: 61 of 74 trials of an evaluation
    /// read holes, and the most of all streams was 48 GB/s.
    #[test]
    fn no_cell_makes_the_files_anew_that_others_read() {
        let all = wishes(&shape(&["/srv"]));
        assert!(
            all.iter().all(|wish| wish.settings.get(knob::ACCESS) != Some(Access::Write)),
            "{all:?}"
        );
        assert!(all.iter().any(|wish| wish.settings.get(knob::ACCESS) == Some(Access::Rewrite)));
    }

    /// What a larger budget would buy was told as `random-read, blocks of 16KiB`.
    #[test]
    fn names_are_for_people_to_read() {
        let all = wishes(&shape(&["/srv"]));
        let names: Vec<&str> = all.iter().map(|wish| wish.name.as_str()).collect();
        assert!(names.contains(&"random read, blocks of 16 KiB"), "{names:?}");
        assert!(names.contains(&"sequential read, blocks of 4 MiB"), "{names:?}");
        assert!(names.iter().all(|name| !name.contains("random-read")), "{names:?}");
    }

    #[test]
    fn no_stream_needs_more_files_than_there_are() {
        for shape in [shape(&["/a"]), shape(&["/a", "/b", "/c"])] {
            for wish in wishes(&shape) {
                let Value::Words(directories) = wish.settings.value(knob::DIRECTORIES) else {
                    panic!()
                };
                let per_directory =
                    wish.settings.get(knob::STREAMS).div_ceil(directories.len() as u64);
                assert!(per_directory * wish.settings.get(knob::FILES) <= shape.files, "{wish:?}");
            }
        }
    }

    #[test]
    fn several_directories_are_measured_alone_and_all_at_once() {
        let wishes = wishes(&shape(&["/a", "/b"]));
        let sets = |streams: u64| -> Vec<String> {
            let of = wishes.iter().filter(|wish| {
                wish.group == "streams, direct" && wish.settings.get(knob::STREAMS) == streams
            });
            of.map(|wish| wish.settings.value(knob::DIRECTORIES).to_string()).collect()
        };
        assert_eq!(sets(8), ["/a", "/b", "/a + /b"]);
        assert_eq!(sets(1), ["/a", "/b"]);
    }

    #[test]
    fn a_budget_buys_whole_cells_in_order_and_the_named_budget_buys_the_next() {
        let wishes = wishes(&shape(&["/srv"]));
        let three_minutes = buy(&wishes, 130 * SECOND);
        assert!((15..25).contains(&three_minutes.cells), "{three_minutes:?}");
        assert_eq!(three_minutes.trial_ns, TRIAL_NS_MIN);
        assert!(three_minutes.total_ns <= 130 * SECOND);
        let fixed = 3 * SECOND;
        for (index, budget) in budgets_ns(&wishes, fixed).into_iter().enumerate() {
            let bought = buy(&wishes, budget * 3 / 4 - fixed);
            assert!(bought.cells > index, "{index} is not bought with {budget}");
        }
        let hour = buy(&wishes, 2600 * SECOND);
        assert_eq!(hour.cells, wishes.len());
        assert!(hour.trial_ns > 5 * SECOND && hour.total_ns <= 2600 * SECOND, "{hour:?}");
        assert_eq!(buy(&wishes, 0).cells, 1, "something is always read");
    }

    #[test]
    fn a_file_system_without_direct_io_gets_no_direct_cell() {
        let shape = Shape { direct: false, ..shape(&["/dev/shm"]) };
        let wishes = wishes(&shape);
        assert!(wishes.iter().all(|wish| !wish.settings.get(knob::DIRECT)));
        assert!(wishes.len() > 20);
    }
}
