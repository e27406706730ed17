//! What the test and the process that serves the disk say to each other: one line of JSON each way.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How a disk lies about one block. What is done when a block is written stays, until the block is
/// written again; what is done when it is read is done to that one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lie {
    /// The write is acknowledged, and not done.
    Drop,
    /// It is done at the place of another block.
    Misdirect,
    /// It is done at its place and at that of another block too.
    Duplicate,
    /// Two blocks change places.
    Swap,
    /// One sector of this block changes places with that of another.
    SwapSectors,
    /// Only the first sectors are written.
    Tear,
    /// One bit is written wrong.
    Flip,
    /// Zeros are written.
    Zero,
    /// Something that nobody wrote is written.
    Garble,
    /// It is written, and cannot be read back.
    Spoil,
    /// One bit is read wrong.
    FlipOnce,
    /// What lay there before it was overwritten is read.
    StaleOnce,
    /// Zeros are read.
    ZeroOnce,
    /// Another block is read.
    MisreadOnce,
    /// The reading ends with an error.
    ErrorOnce,
}

impl Lie {
    pub const ALL: [Lie; 15] = [
        Lie::Drop,
        Lie::Misdirect,
        Lie::Duplicate,
        Lie::Swap,
        Lie::SwapSectors,
        Lie::Tear,
        Lie::Flip,
        Lie::Zero,
        Lie::Garble,
        Lie::Spoil,
        Lie::FlipOnce,
        Lie::StaleOnce,
        Lie::ZeroOnce,
        Lie::MisreadOnce,
        Lie::ErrorOnce,
    ];

    /// Done to one reading, not to what is kept.
    pub fn is_transient(self) -> bool {
        use Lie::{ErrorOnce, FlipOnce, MisreadOnce, StaleOnce, ZeroOnce};
        matches!(self, FlipOnce | StaleOnce | ZeroOnce | MisreadOnce | ErrorOnce)
    }

    /// Takes another block to do.
    pub fn takes_two(self) -> bool {
        use Lie::{Duplicate, Misdirect, MisreadOnce, Swap, SwapSectors};
        matches!(self, Misdirect | Duplicate | Swap | SwapSectors | MisreadOnce)
    }
}

/// When to lie: at the `first` block that is written (or read for the first time) from now on,
/// counted from 1, or at the first after it to which that can be done; then at every `every`th.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rule {
    pub lie: Lie,
    pub first: u64,
    pub every: Option<u64>,
}

/// Who a block is, as its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    pub campaign: u64,
    pub file: u64,
    pub offset: u64,
    pub generation: u64,
}

/// One block that was lied about: the truth that a test compares with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    pub lie: Lie,
    /// Where on the disk, bytes.
    pub place: u64,
    pub block_bytes: u64,
    /// The block that was written there last, lies aside.
    pub meant: Name,
    /// Of two blocks that a lie took: the other one, whose write was not the one lied about.
    pub other: bool,
    /// The name that what comes back bears, if any.
    pub bears: Option<Name>,
    /// When it was met last: the very same lay at the place of that name too.
    pub at_home_too: bool,
    /// What comes back is zeros alone.
    pub zeros: bool,
    /// The first bit that was flipped, or the first sector that is not what it should be, counted
    /// in the block.
    pub at: u64,
    /// It stays; `false` once the place was written again, or for what was done to one reading.
    pub stands: bool,
    /// Readings that it was given to.
    pub met: u64,
}

/// How often things happened, and what was told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Truth {
    pub told: Vec<Told>,
    /// Blocks written since the rules were given, and blocks of which nothing was told yet that
    /// were read for the first time.
    pub written: u64,
    pub read: u64,
    /// Since the beginning.
    pub flushes: u64,
    /// Of the last power cut, in sectors of data, and in pages of which a part came through.
    pub kept: u64,
    pub lost: u64,
    pub torn: u64,
    /// The power is off.
    pub off: bool,
}

/// What is done to a sector at rest, whatever it holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Harm {
    /// This bit changes, counted in the sector.
    Flip(u64),
    /// It cannot be read.
    Spoil,
    /// This bit is wrong in the next reading.
    FlipOnce(u64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Serve a disk of so many bytes as the file `at`.
    Serve { at: PathBuf, bytes: u64 },
    /// What is to be unmade when the test ends without a word: a device, and what is mounted of it.
    Heir { device: Option<String>, mount: Option<PathBuf> },
    /// From now on lie by these rules, and by this seed where there is a choice. What was told, and
    /// the counts, begin anew; what stands goes on to stand.
    Arm { rules: Vec<Rule>, seed: u64 },
    /// What is written waits for a flush from now on; a lying disk answers those of data with
    /// nothing done.
    Cache { lying: bool },
    /// Lose power after so many further requests to write, and of what was not flushed then keep so
    /// many thousandths. Everything ends with EIO from then on.
    Cut { after: u64, kept_permille: u64, seed: u64 },
    /// Power is back.
    Power,
    /// Do that to each sector that begins with these bytes; answers with how many there were.
    Harm { sector_begins: Vec<u8>, harm: Harm },
    /// Tell what was done.
    Confess,
    /// The test is over.
    Leave,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Done,
    Harmed(u64),
    Truth(Truth),
}
