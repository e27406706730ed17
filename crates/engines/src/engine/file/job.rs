//! The settings of a trial as the load loop wants them, and what is refused before a file is
//! touched.
//!
//! A trial that cannot be honoured exactly is refused with the value that would work; nothing is
//! replaced by something near.

use crate::engine::Error;
use base::hash::Checksum;
use base::pattern::Data;
use base::pattern::block::Format;
use base::value::Stop;
use experiment::knob::{self, Access, Settings};
use experiment::measurement::Note;
use host::sys::dontcache;

use super::address;
use super::protocol::LoadSpec;

pub mod limits;
mod refuse;
mod unchecked;

pub use crate::engine::load::cpus::{Pinning, pin};

/// The order in which the blocks of a file are read or written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessOrder {
    /// One after the other.
    Forward,
    /// From the end to the start.
    Backward,
    /// One of every so many.
    Strided(u64),
    /// Uniform at random, each once a round.
    Uniform,
    /// At random with this theta.
    Zipf(f64),
    /// The first one over and over.
    Same,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction {
    /// To us.
    Read,
    /// From us.
    Write,
    /// Both; the share of operations that read.
    Mix(f64),
    /// To us, and every so many-th block back, changed.
    Update(u64),
}

impl Direction {
    /// Whether anything is read.
    pub fn reads(self) -> bool {
        self != Direction::Write
    }

    /// Whether anything is written.
    pub fn writes(self) -> bool {
        self != Direction::Read
    }
}

/// How the kernel is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum IoEngine {
    /// io_uring.
    Uring,
    /// io_submit.
    Aio,
    /// pread and pwrite.
    Sync,
    /// A memory map.
    Mmap,
    /// fread and fwrite.
    Stdio,
    /// getc and putc.
    Putc,
}

/// When writes are made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsyncPolicy {
    /// Not at all.
    Never,
    /// Once, by each stream, when the load is over.
    End,
    /// After every write, as part of it.
    Every,
}

/// What a stream does between two rounds through its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtWrap {
    /// Makes what it has written durable, so that nothing is written over in memory.
    pub flush: bool,
    /// Drops the pages of its files, so that it does not meet them again.
    pub forget: bool,
    /// Closes its files and opens them again.
    pub reopen: bool,
    /// Empties its files, so that space is allocated anew.
    pub empty: bool,
    /// The flush counts as time where the rest does not.
    pub flush_in_time: bool,
    /// So does the closing.
    pub close_in_time: bool,
}

impl AtWrap {
    /// Whether anything is done, for which nothing may be in flight.
    #[inline]
    pub fn anything(self) -> bool {
        self.flush || self.forget || self.reopen || self.empty
    }

    /// Whether a round is over only when something at its end is.
    pub fn ends_rounds(self) -> bool {
        (self.flush && self.flush_in_time) || self.close_in_time
    }
}

/// What one trial of the file engine is to do.
#[derive(Clone, Debug)]
pub struct FileJob {
    /// In which order.
    pub order: AccessOrder,
    /// Which way.
    pub direction: Direction,
    /// Bytes of one I/O.
    pub block_bytes: u64,
    /// I/Os in flight, a stream.
    pub depth: u32,
    /// Completions that are waited for at once.
    pub batch: u32,
    /// Size of a file that is made.
    pub file_bytes: u64,
    /// O_DIRECT.
    pub direct: bool,
    /// RWF_DONTCACHE.
    pub dontcache: bool,
    /// Starts without pages in memory.
    pub cold: bool,
    /// Memory of the load is limited: pages that others have paid for must not help it.
    pub limited: bool,
    /// How the kernel is asked.
    pub engine: IoEngine,
    /// When the timed part ends.
    pub stop: Stop,
    /// A pass goes on this long at least, ns.
    pub at_least_ns: u64,
    /// Everything ends after this, ns.
    pub at_most_ns: u64,
    /// Streams that are done go on untimed.
    pub sustained: bool,
    /// Blocks are read once more.
    pub second_pass: bool,
    /// Durability.
    pub fsync: FsyncPolicy,
    /// Of what is made durable, data alone, and what reading them takes.
    pub datasync: bool,
    /// The window opens so long after the release, ns.
    pub warm_up_ns: u64,
    /// Flushes between rounds count as time.
    pub fsync_in_time: bool,
    /// Rounds end with a close, which counts as time.
    pub close_in_time: bool,
    /// Rounds begin with empty files.
    pub fresh: bool,
    /// Files that are written exist and stay as they are until they are written over.
    pub overwrite: bool,
    /// What is written.
    pub data: Data,
    /// I/Os per second and stream; 0 is as fast as it can.
    pub rate: u64,
    /// Where threads run.
    pub pinning: Pinning,
    /// Buffers on huge pages.
    pub huge_pages: bool,
    /// IOPOLL.
    pub poll: bool,
    /// Draws blocks.
    pub seed: u64,
    /// Stamped into blocks.
    pub campaign: u64,
    /// Number of streams.
    pub streams: usize,
    /// NOPs instead of I/O: the benchmark of the loop.
    pub nop: bool,
    /// Latency is recorded.
    pub latency: bool,
    /// How blocks are made and checked; `None`: neither.
    pub verify: Option<Format>,
}

/// Whether a trial with these settings can run here, as far as that can be told before its files
/// are there: combinations of knobs, and room for so many streams.
///
/// # Errors
/// `Unsupported` with what would work.
pub fn check(settings: &Settings) -> Result<(), Error> {
    let json = |why| Error::Failed(format!("cannot write the settings: {why}"));
    let spec = LoadSpec {
        settings: serde_json::to_value(settings).map_err(json)?,
        seed: 0,
        campaign: 0,
        streams: vec![vec![std::path::PathBuf::new()]; settings.get(knob::STREAMS) as usize],
        bench: super::protocol::Bench::default(),
        written: Vec::new(),
    };
    let (job, _) = FileJob::new(&spec)?;
    job.pinning.cpus()?;
    if job.file_bytes < 4096 || !job.file_bytes.is_multiple_of(512) {
        return Err(Error::Unsupported(format!(
            "a file-size of {} cannot be read and written in blocks; choose 4KiB or more, a \
             multiple of 512",
            base::value::bytes(job.file_bytes as f64)
        )));
    }
    if job.file_bytes < job.block_bytes {
        return Err(Error::Unsupported(format!(
            "a file-size of {} holds no block of {}; choose a block-size up to the file-size",
            base::value::bytes(job.file_bytes as f64),
            base::value::bytes(job.block_bytes as f64)
        )));
    }
    unchecked::check_size(&job)?;
    limits::check(&job, &host::sys::Host::live(), settings.get(knob::FILES))
}

impl FileJob {
    /// Reads the settings of `spec`; also what must be noted about them.
    ///
    /// # Errors
    /// `Unsupported` for what no machine or this machine cannot do.
    pub fn new(spec: &LoadSpec) -> Result<(FileJob, Vec<Note>), Error> {
        let mut settings = Settings::defaults("file");
        for (name, value) in Settings::from_json("file", &spec.settings).iter() {
            if settings.named(name).is_some() {
                settings.set_named(name, value.clone());
            }
        }
        let (order, direction) = access(&settings);
        let mut job = FileJob {
            order,
            direction,
            block_bytes: settings.get(knob::BLOCK_SIZE),
            depth: settings.get(knob::QUEUE_DEPTH) as u32,
            batch: settings.get(knob::BATCH) as u32,
            file_bytes: settings.get(knob::FILE_SIZE),
            direct: settings.get(knob::DIRECT),
            dontcache: settings.get(knob::DONTCACHE),
            cold: settings.get(knob::COLD),
            limited: settings.get(knob::MEMORY_LIMIT).is_some(),
            engine: settings.get(knob::IO_ENGINE).parse().unwrap_or(IoEngine::Uring),
            stop: settings.stop(),
            at_least_ns: settings.get(knob::AT_LEAST),
            at_most_ns: settings.get(knob::AT_MOST),
            sustained: settings.get(knob::SUSTAINED),
            second_pass: settings.get(knob::SECOND_PASS),
            fsync: fsync(settings.get(knob::FSYNC)),
            datasync: settings.get(knob::DATASYNC),
            warm_up_ns: settings.get(knob::WARM_UP),
            fsync_in_time: settings.get(knob::FSYNC_IN_TIME),
            close_in_time: settings.get(knob::CLOSE_IN_TIME),
            fresh: settings.get(knob::FRESH_FILE),
            overwrite: matches!(
                settings.get(knob::ACCESS),
                Some(Access::Rewrite | Access::RecordRewrite)
            ),
            data: data(&settings),
            rate: settings.get(knob::RATE),
            pinning: Pinning::parse(settings.get(knob::CPU_PINNING))?,
            huge_pages: settings.get(knob::HUGE_PAGES),
            poll: settings.get(knob::POLL),
            seed: spec.seed,
            campaign: spec.campaign,
            streams: spec.streams.len(),
            nop: spec.bench.nop,
            latency: !spec.bench.no_latency,
            verify: format(&settings),
        };
        refuse::refuse(&job)?;
        if spec.streams.is_empty() || spec.streams.iter().any(Vec::is_empty) {
            return Err(Error::Failed("the worker was given a stream without files".to_owned()));
        }
        let notes = job.notes();
        job.second_pass &= job.second_pass_makes_sense();
        Ok((job, notes))
    }

    /// When the window opens, ns after the release: up to two thirds later than `warm-up` asks,
    /// drawn by the trial's seed.
    ///
    /// A throttle lets go a lot at a time, and begins to count with the first of them. A window
    /// that opens at the same moment in every repeat holds a lot too many in all of them alike;
    /// one that opens anywhere holds as many as there are, on average (systematic sampling with a
    /// random start: Cochran, "Sampling Techniques", 3rd ed., 1977, 8.1).
    pub fn opens_after_ns(&self) -> u64 {
        match self.warm_up_ns {
            0 => 0,
            least => least + address::mix(self.seed) % (least * 2 / 3).max(1),
        }
    }

    /// Flags of each read and write, as preadv2(2) has them.
    pub fn rw_flags(&self) -> i32 {
        if self.dontcache { dontcache::FLAG } else { 0 }
    }

    /// Whether sequential streams start anywhere: passes by bytes start at the first block, and so
    /// do writes, which would otherwise leave holes before them.
    pub fn starts_anywhere(&self) -> bool {
        self.direction == Direction::Read && matches!(self.stop, Stop::After(_) | Stop::Steady)
    }

    /// Whether what was read is checked while the next reads are under way: where the kernel
    /// carries on by itself.
    pub fn checks_meanwhile(&self) -> bool {
        let asynchronous = matches!(self.engine, IoEngine::Uring | IoEngine::Aio) && self.direct;
        asynchronous && self.verify.is_some() && self.direction == Direction::Read
    }

    /// What is done before a stream goes through its files once more.
    pub fn at_wrap(&self) -> AtWrap {
        if self.nop {
            return AtWrap::default();
        }
        // A page that a block does not fill at once would have to be read before it is written:
        // a writer's second round would be other work than its first.
        let whole_pages = self.engine != IoEngine::Mmap
            && self.block_bytes.is_multiple_of(rustix::param::page_size() as u64);
        let buffered = !self.direct;
        // Around the page cache there is nothing to write out but what the device and the file
        // system keep: part of a round only where rounds are what is timed.
        let asked = self.fsync == FsyncPolicy::End && matches!(self.stop, Stop::Interval(_));
        AtWrap {
            flush: self.direction.writes()
                && self.fsync != FsyncPolicy::Every
                && (buffered || asked),
            forget: buffered && self.cold && (self.direction.reads() || whole_pages),
            // What a FILE has in its buffer is read again without asking the kernel.
            reopen: self.close_in_time || self.engine.is_stdio(),
            empty: self.fresh,
            flush_in_time: self.fsync_in_time,
            close_in_time: self.close_in_time,
        }
    }

    /// Whether a timed pass that its interval ends, ends with a whole round: when something at the
    /// end of each counts as time.
    pub fn times_whole_rounds(&self) -> bool {
        matches!(self.stop, Stop::Interval(_)) && self.at_wrap().ends_rounds()
    }

    /// Whether what is done between two rounds, but for what is asked to count, is left out of the
    /// time. Only of a stream that is alone: the others would be timed without its competition.
    pub fn pauses(&self) -> bool {
        let asked = matches!(self.stop, Stop::Interval(_)) || !self.fsync_in_time;
        asked && self.streams == 1 && self.at_wrap().anything()
    }

    /// How many operations one round of `blocks` blocks and this trial's stop make of a timed pass;
    /// `None` when it ends by time.
    pub fn pass_ops(&self, blocks: u64) -> Option<u64> {
        match self.stop {
            Stop::Pass => Some(blocks),
            Stop::Bytes(bytes) => Some(bytes.div_ceil(self.block_bytes).max(1)),
            Stop::After(_) | Stop::Steady | Stop::Interval(_) | Stop::Bits(_) => None,
        }
    }

    fn second_pass_makes_sense(&self) -> bool {
        let again = (self.direct || self.cold) && !self.close_in_time;
        self.direction == Direction::Read && again && self.rate == 0
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.second_pass && !self.second_pass_makes_sense() {
            notes.push(Note::new(
                "no-second-pass",
                "second-pass=true had no effect: only reads that start cold and go as fast as they \
                 can are read again, to find a cache behind the kernel.",
            ));
        }
        notes.extend(self.note_one_at_a_time());
        notes
    }

    /// What io_submit does not do through the page cache.
    pub fn note_one_at_a_time(&self) -> Option<Note> {
        let one = self.engine == IoEngine::Aio && !self.direct && self.depth > 1;
        one.then(|| {
            Note::new(
                "aio-buffered",
                format!(
                    "io_submit completes buffered I/O before it returns: a queue depth of {} had \
                     one I/O in flight.",
                    self.depth
                ),
            )
        })
    }
}

impl IoEngine {
    /// As typed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether bytes go through the C library's own buffer.
    pub fn is_stdio(self) -> bool {
        matches!(self, IoEngine::Stdio | IoEngine::Putc)
    }
}

fn fsync(word: &str) -> FsyncPolicy {
    match word {
        "never" => FsyncPolicy::Never,
        "every" => FsyncPolicy::Every,
        _ => FsyncPolicy::End,
    }
}

/// What is written.
pub fn data(settings: &Settings) -> Data {
    match settings.get(knob::DATA) {
        "zero" => Data::Zero,
        "compressible" => Data::Compressible(settings.number(knob::COMPRESSIBLE_SHARE)),
        _ => Data::Random,
    }
}

/// How blocks are made and checked; `None` where they are not.
pub fn format(settings: &Settings) -> Option<Format> {
    let checksum = Checksum::find(settings.get(knob::VERIFY))?;
    Some(Format { block_bytes: settings.get(knob::VERIFY_BLOCK) as usize, checksum })
}

fn access(settings: &Settings) -> (AccessOrder, Direction) {
    let random = match settings.get(knob::RANDOM_DISTRIBUTION) {
        "zipf" => AccessOrder::Zipf(settings.get(knob::ZIPF_THETA)),
        _ => AccessOrder::Uniform,
    };
    let update = || Direction::Update(settings.get(knob::UPDATE_EVERY).max(1));
    match settings.get(knob::ACCESS) {
        Some(Access::Read) | None => (AccessOrder::Forward, Direction::Read),
        Some(Access::Write | Access::Rewrite) => (AccessOrder::Forward, Direction::Write),
        Some(Access::RecordRewrite) => (AccessOrder::Same, Direction::Write),
        Some(Access::RandomRead) => (random, Direction::Read),
        Some(Access::RandomWrite) => (random, Direction::Write),
        Some(Access::RandomMix) => (random, Direction::Mix(settings.get(knob::READ_SHARE))),
        Some(Access::Update) => (AccessOrder::Forward, update()),
        Some(Access::RandomUpdate) => (random, update()),
        Some(Access::ReadBackward) => (AccessOrder::Backward, Direction::Read),
        Some(Access::ReadStrided) => {
            (AccessOrder::Strided(settings.get(knob::STRIDE_BLOCKS)), Direction::Read)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The job of one stream with these settings.
    pub fn job(settings: serde_json::Value) -> Result<(FileJob, Vec<Note>), Error> {
        FileJob::new(&LoadSpec {
            settings,
            seed: 1,
            campaign: 2,
            streams: vec![vec!["/x".into()]],
            bench: Default::default(),
            written: Vec::new(),
        })
    }

    #[test]
    fn settings_become_a_job_and_missing_ones_their_defaults() {
        let (job, notes) = job(json!({
            "access": "random-mix", "read-share": 0.25, "random-distribution": "zipf",
            "zipf-theta": 0.5, "block-size": 4096, "queue-depth": 8, "stop": "64KiB",
            "data": "compressible", "compressible-share": 0.25, "unheard-of": 3,
        }))
        .unwrap();
        assert_eq!(job.direction, Direction::Mix(0.25));
        assert_eq!(job.order, AccessOrder::Zipf(0.5));
        assert_eq!(job.pass_ops(1000), Some(16));
        assert_eq!(job.data, Data::Compressible(0.25));
        assert!(job.direct && job.sustained && notes.is_empty());
        assert_eq!(job.fsync, FsyncPolicy::End);
    }

    #[test]
    fn a_second_pass_that_makes_no_sense_is_noted_and_not_made() {
        for settings in [
            json!({"second-pass": true, "access": "write"}),
            json!({"second-pass": true, "direct": false, "cold": false}),
        ] {
            let (job, notes) = job(settings).unwrap();
            assert!(!job.second_pass);
            assert_eq!(notes[0].kind, "no-second-pass");
        }
    }

    #[test]
    fn what_went_through_the_page_cache_is_flushed_and_dropped_between_rounds() {
        let at_wrap = |access: &str, more: serde_json::Value| {
            let mut settings = json!({"direct": false, "access": access, "block-size": 65536});
            let more = more.as_object().unwrap().clone();
            settings.as_object_mut().unwrap().extend(more);
            let AtWrap { flush, forget, .. } = job(settings).unwrap().0.at_wrap();
            (flush, forget)
        };
        assert_eq!(at_wrap("write", json!({})), (true, true));
        assert_eq!(at_wrap("random-write", json!({"fsync": "never"})), (true, true));
        assert_eq!(at_wrap("random-mix", json!({"cold": false})), (true, false));
        assert_eq!(at_wrap("random-mix", json!({"io-engine": "mmap"})), (true, true));
        assert_eq!(at_wrap("read", json!({})), (false, true));
        assert_eq!(at_wrap("read", json!({"cold": false})), (false, false));
        assert_eq!(at_wrap("write", json!({"fsync": "every"})), (false, true));
        // What must be read before it is written stays in memory.
        assert_eq!(at_wrap("write", json!({"io-engine": "mmap"})), (true, false));
        assert_eq!(at_wrap("write", json!({"block-size": 512})), (true, false));
        for access in ["read", "write", "random-mix"] {
            assert_eq!(at_wrap(access, json!({"direct": true})), (false, false));
        }
    }

    #[test]
    fn only_timed_reads_start_anywhere() {
        let anywhere = |settings| job(settings).unwrap().0.starts_anywhere();
        assert!(anywhere(json!({"stop": "2s"})));
        assert!(!anywhere(json!({"stop": "pass"})));
        assert!(!anywhere(json!({"stop": "2MiB"})));
        assert!(!anywhere(json!({"stop": "2s", "access": "write"})));
    }
}
