//! What becomes of writes when the power goes, from what is known of the storage below them.
//!
//! Where a fact is missing the answer is that nobody knows, and why. A drive that says what it does
//! with a flush is believed, and the answer says that it rests on that.

/// The mode of a write cache: write back, or write through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCacheMode {
    /// It may hold writes until it is told to flush.
    Back,
    /// What is written is on the medium when the write returns.
    Through,
}

/// A disk at the bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// The kernel's name.
    pub name: String,
    /// Why nobody sees from here what it does with a flush, as a clause; `None` of a drive of this
    /// machine's own.
    pub hidden: Option<String>,
    /// What the kernel goes by: where it is written through, no flush is sent.
    pub kernel: Option<WriteCacheMode>,
    /// What the drive itself has.
    pub own: Option<WriteCacheMode>,
    /// Whether the drive says that its cache outlives a power cut.
    pub protected: Option<bool>,
    /// The device above it that passes no flush on.
    pub cut_off_by: Option<String>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// Turns a minute.
    pub rpm: Option<u64>,
}

/// What files lie on.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// This machine's memory.
    Memory,
    /// What cannot be seen from here, with the reason, as a clause.
    Unseen(String),
    /// These disks.
    Disks(Vec<Disk>),
}

/// When the kernel writes back what no fsync asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Writeback {
    /// From this age on (`vm.dirty_expire_centisecs`), s.
    pub expire_s: Option<f64>,
    /// How often it looks (`vm.dirty_writeback_centisecs`), s; 0 for never.
    pub wake_s: Option<f64>,
    /// How much may wait in memory at most, bytes.
    pub most_bytes: Option<f64>,
}

/// What is known of the storage under some trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// What is at the bottom.
    pub ground: Ground,
    /// Where it is mounted; empty where a plan made it.
    pub mount_point: String,
    /// The file system's type.
    pub filesystem: String,
    /// What makes fsync do nothing, as `sync=disabled on tank/db`.
    pub ignores_fsync: Option<String>,
    /// The option of the mount with which the file system sends no flush.
    pub no_barriers: Option<String>,
    /// How often the file system commits by itself, s; `None` where that is not known.
    pub commit_s: Option<f64>,
    /// How often ZFS writes a group of transactions, s, where it is that.
    pub group_s: Option<f64>,
    /// The kernel's writeback.
    pub writeback: Writeback,
    /// Page caches below the one of the file system: of loop devices.
    pub caches_below: usize,
    /// The fastest that writes became durable, bytes a second.
    pub durable_bytes_per_s: Option<f64>,
}

/// How sure a time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// No more than this.
    Most,
    /// This, more or less.
    About,
    /// This, and nobody knows how much more.
    Least,
}

/// What becomes of writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// They are there afterwards; `trusting` where that rests on the drives doing as they are told.
    Kept {
        /// Whether it does.
        trusting: bool,
    },
    /// Nobody knows, and why, as a clause.
    Unknown(String),
    /// What the caches of these disks hold is lost, and why, as a clause.
    LostWithCache(Vec<String>, String),
    /// Those of the last so many seconds are lost.
    Lost(f64, Bound),
    /// All are lost.
    LostAll,
}

impl Fate {
    /// The worse, the higher; of times the longer.
    fn order(&self) -> (u8, f64) {
        match self {
            Fate::Kept { trusting: false } => (0, 0.0),
            Fate::Kept { trusting: true } => (1, 0.0),
            Fate::Unknown(_) => (2, 0.0),
            Fate::LostWithCache(..) => (3, 0.0),
            Fate::Lost(seconds, _) => (4, *seconds),
            Fate::LostAll => (5, 0.0),
        }
    }

    /// The worse of two.
    fn or_worse(self, other: Fate) -> Fate {
        match (self, other) {
            (Fate::LostWithCache(mut disks, why), Fate::LostWithCache(more, _)) => {
                disks.extend(more);
                Fate::LostWithCache(disks, why)
            }
            (one, other) if other.order() > one.order() => other,
            (one, _) => one,
        }
    }
}

/// What a power cut takes.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCutVerdict {
    /// Of writes that fsync made safe.
    pub flushed: Fate,
    /// Of writes that no fsync followed.
    pub unflushed: Fate,
}

impl PowerCutVerdict {
    /// Whether it takes more than that `other` says.
    pub fn is_worse_than(&self, other: &PowerCutVerdict) -> bool {
        let worse = |one: &Fate, other: &Fate| one.order() > other.order();
        worse(&self.flushed, &other.flushed)
            || (self.flushed.order() == other.flushed.order()
                && worse(&self.unflushed, &other.unflushed))
    }
}

/// What a power cut takes of what was written to this storage.
pub fn judge(storage: &Storage) -> PowerCutVerdict {
    let below = below(storage);
    let unflushed = unflushed(storage, &below);
    let flushed = match storage.ignores_fsync {
        Some(_) => unflushed.clone(),
        None => below,
    };
    PowerCutVerdict { flushed, unflushed }
}

/// What becomes of writes that the file system has flushed.
fn below(storage: &Storage) -> Fate {
    match &storage.ground {
        Ground::Memory => Fate::LostAll,
        Ground::Unseen(why) => Fate::Unknown(match &storage.no_barriers {
            Some(option) => format!("it is mounted with {option}, and {why}"),
            None => why.clone(),
        }),
        Ground::Disks(disks) => {
            let fates = disks.iter().map(|disk| of_disk(disk, storage.no_barriers.as_deref()));
            fates
                .reduce(Fate::or_worse)
                .unwrap_or_else(|| Fate::Unknown("which disks lie below is not known".to_owned()))
        }
    }
}

fn of_disk(disk: &Disk, no_barriers: Option<&str>) -> Fate {
    let name = &disk.name;
    if disk.protected == Some(true) {
        return Fate::Kept { trusting: false };
    }
    let cache = disk.own.or(disk.kernel);
    let unsent = unsent(disk, no_barriers).filter(|_| cache == Some(WriteCacheMode::Back));
    match (&disk.hidden, cache, unsent) {
        (Some(why), _, None) => Fate::Unknown(why.clone()),
        (Some(why), _, Some(unsent)) => Fate::Unknown(format!("{unsent}, and {why}")),
        (None, None, _) => Fate::Unknown(format!("whether {name} has a write cache is not known")),
        (None, Some(WriteCacheMode::Through), _) => Fate::Kept { trusting: disk.own.is_none() },
        (None, Some(WriteCacheMode::Back), None) => Fate::Kept { trusting: true },
        (None, Some(WriteCacheMode::Back), Some(why)) => {
            Fate::LostWithCache(vec![name.clone()], why)
        }
    }
}

/// Why no flush comes to a disk, as a clause; `None` where they are sent.
fn unsent(disk: &Disk, no_barriers: Option<&str>) -> Option<String> {
    let name = &disk.name;
    match (no_barriers, &disk.cut_off_by, disk.kernel) {
        (Some(option), ..) => Some(format!("it is mounted with {option}")),
        (None, Some(by), _) => Some(format!("{by} passes none on")),
        (None, None, Some(WriteCacheMode::Through)) => {
            Some(format!("the kernel was told that {name} has no cache"))
        }
        (None, None, _) => None,
    }
}

/// What becomes of writes that nobody flushes, where flushed ones fare as `below` says.
fn unflushed(storage: &Storage, below: &Fate) -> Fate {
    if *below == Fate::LostAll {
        return Fate::LostAll;
    }
    let is_kept = matches!(below, Fate::Kept { .. });
    if let Some(group_s) = storage.group_s {
        return Fate::Lost(group_s, if is_kept { Bound::About } else { Bound::Least });
    }
    let Writeback { expire_s: Some(expire_s), wake_s: Some(wake_s), .. } = storage.writeback else {
        return Fate::Unknown("when the kernel writes back by itself is not known".to_owned());
    };
    if wake_s <= 0.0 {
        return Fate::Unknown(
            "the kernel writes back only when memory is full \
             (vm.dirty_writeback_centisecs=0)"
                .to_owned(),
        );
    }
    let caches = 1 + storage.caches_below;
    let by_time = (expire_s + wake_s) * caches as f64 + storage.commit_s.unwrap_or(0.0);
    let seconds = drain_s(storage).map_or(by_time, |drain| drain.max(by_time));
    let bound = match is_kept && storage.commit_s.is_some() {
        true => Bound::Most,
        false => Bound::Least,
    };
    Fate::Lost(seconds, bound)
}

/// How long it takes to write what may wait in memory at most, s.
pub fn drain_s(storage: &Storage) -> Option<f64> {
    let rate = storage.durable_bytes_per_s.filter(|rate| *rate > 0.0)?;
    Some(storage.writeback.most_bytes? / rate)
}
