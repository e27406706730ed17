//! The settings of a trial as the loop wants them, and what is refused before anything is made.

use crate::engine::Error;
use crate::engine::load::cpus::Pinning;
use base::pattern::Data;
use base::value::Stop;
use experiment::knob::{self, Settings};
use experiment::measurement::Operation;

/// Every directory of a stream's tree is held open while it runs.
const DIRECTORIES_MAX: u64 = 10_000;
/// Names are made beforehand and kept; so many take 320 MB.
const NAMES_MAX: u64 = 10_000_000;

/// Files that are larger are written in pieces of this size.
const PIECE_BYTES: u64 = 1 << 20;

/// The operation that a trial does to each name of a tree.
#[derive(strum::EnumCount, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOperation {
    /// openat(2) with O_CREAT and O_EXCL, write(2) of the whole file, close(2).
    Create,
    /// openat(2) and close(2).
    Open,
    /// newfstatat(2).
    Stat,
    /// openat(2) of a directory, getdents64(2) until there are no more names, close(2).
    Readdir,
    /// renameat(2) within the directory.
    Rename,
    /// linkat(2) within the directory.
    Link,
    /// unlinkat(2).
    Unlink,
    /// mkdirat(2).
    Mkdir,
    /// unlinkat(2) of a directory.
    Rmdir,
    /// openat(2), write(2) of the whole file or, when that is empty, utimensat(2); fsync(2),
    /// close(2).
    Fsync,
    /// utimensat(2).
    Touch,
}

/// What must be there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Directories of the tree alone.
    Nothing,
    /// Every file.
    Files,
    /// Every directory that is worked on.
    Directories,
}

impl TreeOperation {
    /// As typed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What its latency is filed under.
    pub fn operation(self) -> Operation {
        match self {
            TreeOperation::Create => Operation::Create,
            TreeOperation::Open => Operation::Open,
            TreeOperation::Stat => Operation::Stat,
            TreeOperation::Readdir => Operation::Readdir,
            TreeOperation::Rename => Operation::Rename,
            TreeOperation::Link => Operation::Link,
            TreeOperation::Unlink => Operation::Unlink,
            TreeOperation::Mkdir => Operation::Mkdir,
            TreeOperation::Rmdir => Operation::Rmdir,
            TreeOperation::Fsync => Operation::Fsync,
            TreeOperation::Touch => Operation::Setattr,
        }
    }

    /// Whether it can be done to the same files again.
    pub fn repeats(self) -> bool {
        use TreeOperation::{Fsync, Open, Readdir, Rename, Stat, Touch};
        matches!(self, Open | Stat | Readdir | Rename | Fsync | Touch)
    }

    /// Whether it changes anything that must reach the device.
    pub fn changes(self) -> bool {
        !matches!(self, TreeOperation::Open | TreeOperation::Stat | TreeOperation::Readdir)
    }

    /// What must be there before.
    pub fn before(self) -> Before {
        match self {
            TreeOperation::Create | TreeOperation::Mkdir => Before::Nothing,
            TreeOperation::Rmdir => Before::Directories,
            _ => Before::Files,
        }
    }

    /// Bytes that each operation writes on files of `file_bytes`.
    pub fn writes_bytes(self, file_bytes: u64) -> u64 {
        if matches!(self, TreeOperation::Create | TreeOperation::Fsync) { file_bytes } else { 0 }
    }
}

/// What one trial of the tree engine is to do.
#[derive(Clone, Debug)]
pub struct TreeJob {
    /// What is done.
    pub work: TreeOperation,
    /// To how many names, a stream; directories of the tree for [`TreeOperation::Readdir`].
    pub files: u64,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Levels of directories below the stream's own.
    pub depth: u32,
    /// Directories in each.
    pub width: u64,
    /// All streams of one place work in one tree.
    pub shared: bool,
    /// Names come at random.
    pub random: bool,
    /// Files are named as bonnie++ names them.
    pub bonnie_names: bool,
    /// Starts with nothing of it in memory.
    pub cold: bool,
    /// What was changed is put on the device afterwards, and that is timed.
    pub flushes: bool,
    /// When the timed part ends.
    pub stop: Stop,
    /// A pass goes on this long at least, ns.
    pub at_least_ns: u64,
    /// Everything ends after this, ns.
    pub at_most_ns: u64,
    /// Streams that are done go on untimed, where there is something to go on with.
    pub sustained: bool,
    /// Number of streams.
    pub streams: usize,
    /// What is written.
    pub data: Data,
    /// Where threads run.
    pub pinning: Pinning,
    /// Draws the order.
    pub seed: u64,
    /// Stamped into files.
    pub campaign: u64,
}

impl TreeJob {
    /// Reads settings.
    ///
    /// # Errors
    /// `Unsupported` for what cannot be honoured.
    pub fn from_settings(settings: &Settings, seed: u64, campaign: u64) -> Result<TreeJob, Error> {
        let word = settings.get(knob::OPERATION);
        let work =
            word.parse().map_err(|_| Error::Failed(format!("there is no operation `{word}`")))?;
        let job = TreeJob {
            work,
            files: settings.get(knob::FILES),
            file_bytes: settings.get(knob::FILE_SIZE),
            depth: settings.get(knob::TREE_DEPTH) as u32,
            width: settings.get(knob::TREE_WIDTH),
            shared: settings.get(knob::SHARED_DIRECTORIES),
            random: settings.get(knob::ORDER) == "random",
            bonnie_names: settings.get(knob::NAMES) == "bonnie",
            cold: settings.get(knob::COLD),
            flushes: settings.get(knob::FSYNC) == "end"
                && work.changes()
                && work != TreeOperation::Fsync,
            stop: settings.stop(),
            at_least_ns: settings.get(knob::AT_LEAST),
            at_most_ns: settings.get(knob::AT_MOST),
            sustained: settings.get(knob::SUSTAINED),
            streams: settings.get(knob::STREAMS) as usize,
            data: data(settings),
            pinning: Pinning::parse(settings.get(knob::CPU_PINNING))?,
            seed,
            campaign,
        };
        job.refuse(settings)?;
        Ok(job)
    }

    /// Directories of one tree: 1 + w + w^2 + ... + w^depth, the stream's own among them.
    pub fn directories(&self) -> u64 {
        let (mut level, mut all) = (1_u64, 1_u64);
        for _ in 0..self.depth {
            level = level.saturating_mul(self.width);
            all = all.saturating_add(level);
            if all > DIRECTORIES_MAX {
                break;
            }
        }
        all
    }

    /// Bytes that one stream's files are written from.
    pub fn content_bytes(&self) -> u64 {
        self.file_bytes.min(PIECE_BYTES)
    }

    /// Operations of one pass of one stream.
    pub fn operations(&self) -> u64 {
        if self.work == TreeOperation::Readdir { self.directories() } else { self.files }
    }

    /// Whether a stream may come to the same names again.
    pub fn goes_round(&self) -> bool {
        self.work.repeats() && !self.cold
    }

    /// Whether a stream whose pass is over goes on until the others' are.
    pub fn goes_on(&self) -> bool {
        self.sustained && self.goes_round()
    }

    /// Whether a pass ends by operations, and not by time.
    pub fn ends_by_pass(&self) -> bool {
        self.stop == Stop::Pass || !self.goes_round()
    }

    fn refuse(&self, settings: &Settings) -> Result<(), Error> {
        let unsupported = |what: String| Err(Error::Unsupported(what));
        let name = self.work.name();
        if !matches!(self.stop, Stop::Pass | Stop::After(_)) {
            let what = format!("stop={} is for bytes; choose pass or a time", self.stop);
            return unsupported(what);
        }
        if self.at_least_ns > 0 && !self.goes_round() {
            return unsupported(format!(
                "operation={name} is over when its files are{}; leave at-least at 0s and raise \
                 files",
                if self.cold { ", cold" } else { "" }
            ));
        }
        let other_names = matches!(
            self.work,
            TreeOperation::Rename
                | TreeOperation::Link
                | TreeOperation::Mkdir
                | TreeOperation::Rmdir
        );
        if self.bonnie_names && other_names {
            return unsupported(format!(
                "bonnie++ has no {name}, and no names for it; operation={name} needs names=numbered"
            ));
        }
        if self.cold && self.work.before() == Before::Nothing {
            return unsupported(format!(
                "operation={name} makes what was not there, so nothing of it can be cold; \
                 it needs cold=false"
            ));
        }
        if settings.get(knob::FSYNC) == "every" {
            let what = "fsync=every is for writes; operation=fsync makes each file durable, and \
                        fsync=end all at the end";
            return unsupported(what.to_owned());
        }
        if self.directories() > DIRECTORIES_MAX {
            return unsupported(format!(
                "tree-depth={} and tree-width={} make more than the {DIRECTORIES_MAX} directories \
                 that a stream can hold open; lower one of them",
                self.depth, self.width
            ));
        }
        let names = self.files.saturating_mul(self.streams as u64);
        if names > NAMES_MAX {
            return unsupported(format!(
                "{} streams of {} files are {names} names, which are made beforehand; at most \
                 {NAMES_MAX} fit",
                self.streams, self.files
            ));
        }
        Ok(())
    }
}

fn data(settings: &Settings) -> Data {
    match settings.get(knob::DATA) {
        "zero" => Data::Zero,
        "compressible" => Data::Compressible(settings.number(knob::COMPRESSIBLE_SHARE)),
        _ => Data::Random,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn job(knobs: &[(&str, &str)]) -> Result<TreeJob, Error> {
        let base = [("cold", "false"), ("stop", "pass"), ("file-size", "0"), ("files", "10")];
        let all: Vec<_> = base.iter().chain(knobs).copied().collect();
        TreeJob::from_settings(&settings("tree", &all), 1, 2)
    }

    fn refused(knobs: &[(&str, &str)]) -> String {
        match job(knobs) {
            Err(Error::Unsupported(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_operation_of_the_knob_is_known() {
        let base::value::Domain::OneOf(words) = experiment::knob::OPERATION.domain else {
            panic!("operation is one of several words");
        };
        for word in words {
            assert_eq!(job(&[("operation", word)]).unwrap().work.name(), *word);
        }
        assert_eq!(words.len(), <TreeOperation as strum::EnumCount>::COUNT);
    }

    #[test]
    fn a_tree_has_as_many_directories_as_its_depth_and_width_make() {
        let of = |depth: &str, width: &str| {
            job(&[("tree-depth", depth), ("tree-width", width)]).unwrap().directories()
        };
        assert_eq!((of("0", "7"), of("1", "7"), of("2", "3"), of("3", "1")), (1, 8, 13, 4));
        assert!(refused(&[("tree-depth", "64"), ("tree-width", "10000")]).contains("lower one"));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_with_what_would_work() {
        assert!(refused(&[("stop", "2GiB")]).contains("pass or a time"));
        for operation in ["rename", "link", "mkdir", "rmdir"] {
            let what = refused(&[("names", "bonnie"), ("operation", operation)]);
            assert!(what.contains("names=numbered"), "{what}");
        }
        assert!(refused(&[("stop", "steady")]).contains("pass or a time"));
        assert!(refused(&[("at-least", "1s")]).contains("raise files"));
        assert!(refused(&[("cold", "true")]).contains("needs cold=false"));
        assert!(refused(&[("fsync", "every")]).contains("operation=fsync"));
        assert!(refused(&[("files", "1000000"), ("streams", "11")]).contains("10000000 fit"));
        assert!(job(&[("operation", "stat"), ("at-least", "1s"), ("stop", "2s")]).is_ok());
    }

    #[test]
    fn only_what_leaves_the_files_in_place_goes_round_and_only_warm() {
        let rounds = |word: &str, cold: &str| {
            job(&[("operation", word), ("cold", cold)]).unwrap().goes_round()
        };
        assert!(rounds("stat", "false") && rounds("rename", "false") && rounds("touch", "false"));
        assert!(!rounds("unlink", "false") && !rounds("link", "false") && !rounds("stat", "true"));
    }
}
