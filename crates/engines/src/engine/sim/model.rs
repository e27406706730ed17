//! What a trial's settings plant, and what the simulated server refuses.

use super::super::Error;
use base::value::Stop;
use experiment::knob::{self, Access, Settings};
use experiment::measurement::steady::round_ns;

/// A fifth of the page cache may be dirty: the kernel's default of vm.dirty_ratio.
const DIRTY_SHARE: f64 = 0.2;

/// However many streams there are beyond the knee, this share of the capacity is left.
const COLLAPSED_SHARE: f64 = 0.1;

/// The planted truth of one trial, in bytes, seconds and bytes per second.
#[derive(Clone, Debug)]
pub struct Model {
    /// Streams.
    pub streams: usize,
    /// Number of directories, each a device of its own.
    pub devices: usize,
    /// What each stream's share is in proportion to, where streams compete.
    pub weights: Vec<f64>,
    /// What one device delivers at most.
    pub capacity: f64,
    /// What all devices deliver at most, together.
    pub bus: f64,
    /// Share of a device's capacity lost for each stream beyond the knee.
    pub collapse: f64,
    /// Share of the work that streams do one after another.
    pub contention: f64,
    /// What each pair of streams costs, as a share of the work of one.
    pub coherency: f64,
    /// What one stream gets of a device at most, at this depth and block size.
    pub stream_most: f64,
    /// What memory delivers and accepts, all streams together.
    pub cache_rate: f64,
    /// Coefficient of variation from one tick to the next.
    pub noise: f64,
    /// Autocorrelation of that noise.
    pub correlation: f64,
    /// Coefficient of variation from one trial to the next.
    pub trial_noise: f64,
    /// Bytes of one operation.
    pub block: u64,
    /// Operations in flight per stream.
    pub depth: f64,
    /// Blocks are drawn anywhere, not one after the other.
    pub random: bool,
    /// Share of reads among the operations.
    pub read_share: f64,
    /// Bytes of one pass of one stream over what it touches.
    pub pass_bytes: u64,
    /// Bytes of one stream's timed part; `None` when time decides.
    pub timed_bytes: Option<u64>,
    /// Bytes that the streams touch, once each.
    pub working_set: f64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Share of the working set that is in the page cache at the start.
    pub resident: f64,
    /// The share that random buffered reads can come back to in the end; 0 when they cannot.
    pub returning: f64,
    /// Bytes that can be accepted before they are written.
    pub write_cache: f64,
    /// Bytes behind the kernel that answer a second pass.
    pub device_cache: f64,
    /// Whether the blocks are read once more afterwards.
    pub second_pass: bool,
    /// Writes are made durable, at the end or one by one.
    pub durable: bool,
    /// When it ends, where time decides.
    pub after_s: Option<f64>,
    /// The window opens no earlier.
    pub warm_up_s: f64,
    /// Ends when it has settled.
    pub until_steady: bool,
    /// Does not end before, where bytes decide.
    pub at_least_s: f64,
    /// Ends then, come what may.
    pub at_most_s: f64,
    /// Streams that are done go on untimed.
    pub sustained: bool,
    /// A round of the steady-state criterion.
    pub round_ns: u64,
}

impl Model {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what would have to be replaced by something else.
    pub fn from_settings(settings: &Settings) -> Result<Model, Error> {
        refuse(settings)?;
        let random = settings.is_random();
        let read_share = match (settings.reads(), settings.writes()) {
            (true, true) => settings.get(knob::READ_SHARE),
            (reads, _) => f64::from(u8::from(reads)),
        };
        let streams = settings.get(knob::STREAMS) as usize;
        let (block, depth) = (settings.get(knob::BLOCK_SIZE), settings.number(knob::QUEUE_DEPTH));
        let file_bytes = settings.get(knob::FILES) * settings.get(knob::FILE_SIZE);
        let stride = match settings.get(knob::ACCESS) {
            Some(Access::ReadStrided) => settings.get(knob::STRIDE_BLOCKS),
            _ => 1,
        };
        let working_set = file_bytes as f64 * streams as f64 / stride as f64;
        let buffered = !settings.get(knob::DIRECT);
        let fits = (settings.number(knob::SIM_CACHE) / working_set).min(1.0);
        let warm = buffered && read_share > 0.0 && !settings.get(knob::COLD);
        let pass_bytes = file_bytes.div_ceil(block * stride) * block;
        let stop = settings.stop();
        let warm_up_s = settings.number(knob::WARM_UP) / 1e9;
        Ok(Model {
            streams,
            devices: directories(settings).max(1),
            weights: weights(streams, settings.number(knob::SIM_INEQUALITY)),
            capacity: settings.number(knob::SIM_CAPACITY),
            bus: settings.number(knob::SIM_BUS),
            collapse: settings.number(knob::SIM_COLLAPSE),
            contention: settings.number(knob::SIM_CONTENTION),
            coherency: settings.number(knob::SIM_COHERENCY),
            stream_most: stream_most(settings),
            cache_rate: if warm { memory_rate(settings, working_set) } else { page_rate(settings) },
            noise: settings.number(knob::SIM_NOISE),
            correlation: settings.number(knob::SIM_CORRELATION),
            trial_noise: settings.number(knob::SIM_TRIAL_NOISE),
            block,
            depth,
            random,
            read_share,
            pass_bytes: if stride == 1 { file_bytes } else { pass_bytes },
            timed_bytes: match stop {
                Stop::Bytes(bytes) => Some(bytes.max(1)),
                Stop::Pass if stride == 1 => Some(file_bytes),
                Stop::Pass => Some(pass_bytes),
                Stop::After(_) | Stop::Steady | Stop::Interval(_) | Stop::Bits(_) => None,
            },
            working_set,
            file_bytes: file_bytes * streams as u64,
            resident: if warm { fits } else { 0.0 },
            returning: if buffered && random && !warm { fits } else { 0.0 },
            write_cache: write_cache(settings, buffered),
            device_cache: settings.number(knob::SIM_DEVICE_CACHE),
            second_pass: settings.get(knob::SECOND_PASS),
            durable: read_share < 1.0 && settings.get(knob::FSYNC) != "never",
            after_s: match stop {
                Stop::After(ns) => Some(ns as f64 / 1e9 + warm_up_s),
                _ => None,
            },
            warm_up_s,
            until_steady: stop == Stop::Steady,
            at_least_s: settings.number(knob::AT_LEAST) / 1e9,
            at_most_s: settings.number(knob::AT_MOST) / 1e9,
            sustained: settings.get(knob::SUSTAINED),
            round_ns: round_ns(settings.get(knob::ACCESS)),
        })
    }

    /// What a device with so many streams delivers.
    pub fn capacity_with(&self, streams: usize) -> f64 {
        let beyond = (streams as f64 - self.capacity / self.stream_most).max(0.0);
        let collapsed = self.capacity * (1.0 - self.collapse * beyond).max(COLLAPSED_SHARE);
        let (n, others) = (streams as f64, (streams as f64 - 1.0).max(0.0));
        let lost = self.contention * others + self.coherency * n * others;
        if lost > 0.0 { collapsed.min(n * self.stream_most / (1.0 + lost)) } else { collapsed }
    }

    /// Bytes that `ops` operations of one stream move: the last block of a pass may be short.
    pub fn bytes_of(&self, ops: u64) -> u64 {
        let per_pass = self.pass_bytes.div_ceil(self.block);
        let rest = (ops % per_pass * self.block).min(self.pass_bytes);
        ops / per_pass * self.pass_bytes + rest
    }

    /// Operations of one stream that are complete when so many bytes have flowed.
    pub fn ops_in(&self, bytes: f64) -> u64 {
        let per_pass = self.pass_bytes.div_ceil(self.block);
        // What is computed with floating point may fall short of a whole block by a hair.
        let bytes = bytes + 1e-3;
        let passes = (bytes / self.pass_bytes as f64).floor();
        let rest = (bytes - passes * self.pass_bytes as f64) / self.block as f64;
        passes as u64 * per_pass + rest as u64
    }
}

/// One of these knobs away from its default would have no effect here: a plan that varies it would
/// "find" that it does not matter.
const WITHOUT_EFFECT: [&str; 7] = [
    knob::BATCH.name,
    knob::IO_ENGINE.name,
    knob::RATE.name,
    knob::CPU_PINNING.name,
    knob::HUGE_PAGES.name,
    knob::POLL.name,
    knob::DATA.name,
];

/// What would have to be replaced by something else.
fn refuse(settings: &Settings) -> Result<(), Error> {
    let unsupported = |text: String| Err(Error::Unsupported(text));
    let defaults = Settings::defaults(settings.engine());
    for name in WITHOUT_EFFECT {
        if let Some(value) = settings.named(name).filter(|it| defaults.named(name) != Some(*it)) {
            return unsupported(format!("the simulated server has no {name}={value}"));
        }
    }
    let access = settings.value(knob::ACCESS);
    if let Some(Access::RecordRewrite | Access::Update | Access::RandomUpdate) =
        settings.get(knob::ACCESS)
    {
        return unsupported(format!("the simulated server has no access={access}"));
    }
    if let Stop::Interval(_) = settings.stop() {
        let stop = settings.value(knob::STOP);
        return unsupported(format!("the simulated server has no stop={stop}; use stop=steady"));
    }
    if let Stop::Bits(_) = settings.stop() {
        let stop = settings.value(knob::STOP);
        return unsupported(format!("the simulated server checks no bits, as stop={stop} needs"));
    }
    if settings.get(knob::WARM_UP) > 0 && !matches!(settings.stop(), Stop::After(_)) {
        return unsupported("warm-up needs stop=TIME".to_owned());
    }
    let random = settings.is_random();
    if random && !settings.get(knob::DIRECT) && settings.get(knob::RANDOM_DISTRIBUTION) != "uniform"
    {
        return unsupported(
            "the simulated page cache knows random-distribution=uniform alone".to_owned(),
        );
    }
    if settings.get(knob::SECOND_PASS) && !settings.only_reads() {
        return unsupported(format!("second-pass=true needs reading, not access={access}"));
    }
    if !settings.get(knob::SUSTAINED) && settings.get(knob::AT_LEAST) > 0 {
        return unsupported(
            "at-least needs sustained=true: a stream that stops is over".to_owned(),
        );
    }
    if settings.get(knob::BLOCK_SIZE) > settings.get(knob::FILE_SIZE) {
        let (block, file) = (settings.value(knob::BLOCK_SIZE), settings.value(knob::FILE_SIZE));
        return unsupported(format!("block-size={block} does not fit into file-size={file}"));
    }
    for rate in [
        knob::SIM_CAPACITY,
        knob::SIM_STREAM_RATE,
        knob::SIM_CACHE_RATE,
        knob::SIM_PROCESSOR_CACHE_RATE,
        knob::SIM_BUS,
    ] {
        if settings.get(rate) == 0 {
            return unsupported(format!("{}=0 would never end", rate.name));
        }
    }
    Ok(())
}

fn directories(settings: &Settings) -> usize {
    settings.directories().len()
}

/// From `inequality` down to 1 by equal ratios.
fn weights(streams: usize, inequality: f64) -> Vec<f64> {
    let last = streams.saturating_sub(1).max(1) as f64;
    (0..streams).map(|i| inequality.powf(1.0 - i as f64 / last)).collect()
}

/// A block needs its service time (twice when it is flushed as well), then its bytes flow; so many
/// are under way at once, and their bytes flow at no more than the stream's rate together.
fn stream_most(settings: &Settings) -> f64 {
    let rate = settings.number(knob::SIM_STREAM_RATE);
    let block = settings.number(knob::BLOCK_SIZE);
    let flushed = !settings.only_reads() && settings.get(knob::FSYNC) == "every";
    let service_s = settings.number(knob::SIM_SERVICE_TIME) / 1e9 * if flushed { 2.0 } else { 1.0 };
    (settings.number(knob::QUEUE_DEPTH) * block / (service_s + block / rate)).min(rate)
}

fn page_rate(settings: &Settings) -> f64 {
    settings.number(knob::SIM_CACHE_RATE)
}

/// What memory delivers of files that are in it: a working set read in circles is answered by the
/// processor's cache either whole or not at all, as what was used last is kept.
fn memory_rate(settings: &Settings, working_set: f64) -> f64 {
    let held = settings.number(knob::SIM_PROCESSOR_CACHE).min(settings.number(knob::SIM_CACHE));
    if working_set <= held {
        settings.number(knob::SIM_PROCESSOR_CACHE_RATE)
    } else {
        page_rate(settings)
    }
}

fn write_cache(settings: &Settings, buffered: bool) -> f64 {
    if settings.get(knob::FSYNC) == "every" {
        0.0
    } else if buffered {
        settings.number(knob::SIM_CACHE) * DIRTY_SHARE
    } else {
        settings.number(knob::SIM_WRITE_CACHE)
    }
}
