//! (pure) Traffic of the devices that was not the load's.

use super::{JudgedSpan, series};
use crate::knob::{self, Settings};
use crate::measurement::{Evidence, Measurement, Note};
use base::value::{bytes, percent};
use facts::counters::series::Series;

/// A larger share of the device's bytes, moved by others, makes the figure a shared one
/// (rule 6).
pub const OTHERS_SHARE: f64 = 0.02;

/// What the file system may write on its own for any load: one commit of a journal and the inodes
/// whose times changed. ext4 and XFS write a few 4 KiB blocks for it.
const COMMIT_BYTES: u64 = 128 << 10;

/// A block of ext4 and XFS, as most are made.
const BLOCK_BYTES: u64 = 4096;

/// What the file system writes on its own for a load that writes, as a share of it: extents and
/// allocation bitmaps, through the journal and then in place.
const METADATA_SHARE: f64 = 0.05;

/// File systems that write elsewhere what is overwritten, and the paths to it: they write several
/// times what they are given, and no bound is known.
const REWRITING: &[&str] = &["btrfs", "zfs", "bcachefs", "f2fs", "nilfs2"];

/// Whether a file system puts what is written over in another place.
pub fn writes_elsewhere(filesystem: &str) -> bool {
    REWRITING.contains(&filesystem)
}

/// What the kernel may read ahead below a loop device, and no more than this part of what the
/// device was asked for.
const READ_AHEAD_BYTES: f64 = (16 << 20) as f64;
const READ_AHEAD_SHARE: f64 = 0.25;

/// Others used the devices that the load used.
pub fn moved(measurement: &Measurement, settings: &Settings, span: JudgedSpan) -> Option<Note> {
    on_devices(&measurement.evidence, settings).or_else(|| below_devices(measurement, span))
}

/// On the devices themselves, over the whole trial, for which both counts are exact.
fn on_devices(evidence: &Evidence, settings: &Settings) -> Option<Note> {
    let (read, written) = (evidence.device_read_bytes?, evidence.device_write_bytes?);
    let others_read = own_read(evidence, settings).map_or(0, |own| read.saturating_sub(own));
    let others_wrote =
        own_write_at_most(evidence, settings).map_or(0, |own| written.saturating_sub(own));
    let others = others_read.saturating_add(others_wrote);
    // A load that lives in memory is not slowed by what little the devices do for others.
    let all = read.saturating_add(written).max(own_bytes(evidence));
    let share = others as f64 / all.max(1) as f64;
    (share > OTHERS_SHARE).then(|| {
        let text = format!(
            "Others moved {} on {} ({} read, {} written), {} of all that moved there: other \
             processes, or data from before the trial on its way to the disk.",
            bytes(others as f64),
            evidence.devices.join(" and "),
            bytes(others_read as f64),
            bytes(others_wrote as f64),
            percent(share)
        );
        Note::new("others-io", text)
    })
}

/// What the load did, in bytes: an operation on a name may have a block to itself.
fn own_bytes(evidence: &Evidence) -> u64 {
    let names = evidence.delivered.metadata_ops.saturating_mul(BLOCK_BYTES);
    evidence.delivered.bytes().saturating_add(names)
}

/// What the load had read; `None` when it cannot be told from what others read.
fn own_read(evidence: &Evidence, settings: &Settings) -> Option<u64> {
    // ZFS reads whole records, ahead, and some of them for its own maps.
    if evidence.pool.is_some() {
        return None;
    }
    let own = evidence.process_read_bytes.filter(|_| evidence.process_io_reliable);
    // Without the process's count, read-ahead of our own looks like others; direct I/O has none.
    let direct = settings.has(knob::DIRECT) && settings.get(knob::DIRECT);
    own.or(direct.then_some(evidence.delivered.read_bytes))
}

/// The most that the load can have caused to be written during the trial; `None` when that has no
/// bound. Buffered writes are counted when a page is dirtied, so what is still in memory at the
/// end was counted though it was not written: others may go unseen, but none are made up.
fn own_write_at_most(evidence: &Evidence, settings: &Settings) -> Option<u64> {
    if evidence.delivered.metadata_ops > 0 {
        // Journals, directories and tables of inodes, all written by threads of the kernel.
        return None;
    }
    // A pool of ZFS writes every few seconds, be it that a file was read.
    if evidence.pool.is_some() {
        return None;
    }
    let own = evidence.process_write_bytes.unwrap_or(0).max(evidence.delivered.write_bytes);
    if evidence.delivered.write_bytes == 0 {
        return Some(own.saturating_add(COMMIT_BYTES));
    }
    let rewriting = evidence.filesystem.split('+').any(writes_elsewhere);
    // An fsync commits the journal: several blocks for each write, however small.
    let commits = settings.has(knob::FSYNC) && settings.get(knob::FSYNC) == "every";
    let metadata = (own as f64 * METADATA_SHARE) as u64 + COMMIT_BYTES;
    (!rewriting && !commits).then_some(own.saturating_add(metadata))
}

/// On the disks below the devices: other partitions, other volumes, a rebuild, another program on
/// the disk that holds a loop device's file. Judged from the samples, in the window; both counts
/// come from the same rows.
fn below_devices(measurement: &Measurement, span: JudgedSpan) -> Option<Note> {
    let evidence = &measurement.evidence;
    // A server's disks lie below no device of ours: what it did for us is its own account's.
    if evidence.served.is_some() {
        return None;
    }
    let diskstats = series(measurement, "diskstats")?;
    let of = Traffic { measurement, diskstats, span };
    of.below_partitions().or_else(|| of.below_files())
}

/// What block devices moved in the window.
struct Traffic<'a> {
    measurement: &'a Measurement,
    diskstats: &'a Series,
    span: JudgedSpan,
}

impl Traffic<'_> {
    fn sum(&self, names: &[&String], what: &str) -> Option<f64> {
        let grown = names.iter().map(|name| {
            let column = format!("{name}.{what}");
            self.span.growth_of_rows(self.diskstats, &column).map(|grown| grown as f64)
        });
        grown.sum()
    }

    /// Names of `one` that are not among `other`.
    fn only<'b>(one: &'b [String], other: &[String]) -> Vec<&'b String> {
        one.iter().filter(|name| !other.contains(name)).collect()
    }

    /// What others moved on the disks that the devices are parts of, or made of.
    fn below_partitions(&self) -> Option<Note> {
        let evidence = &self.measurement.evidence;
        let disks = Self::only(&evidence.disks, &evidence.devices);
        let devices = Self::only(&evidence.devices, &evidence.disks);
        // A layer that keeps blocks elsewhere moves them there by itself.
        if disks.is_empty() || !evidence.below.layers.is_empty() {
            return None;
        }
        let mut others = self.sum(&disks, "read_bytes")? - self.sum(&devices, "read_bytes")?;
        let mut all = self.sum(&disks, "read_bytes")?;
        // An array writes more than it is given: copies, parity. A partition does not.
        let partition =
            |device: &&&String| disks.iter().any(|disk| device.starts_with(disk.as_str()));
        if devices.iter().filter(partition).count() == devices.len() {
            others += self.sum(&disks, "write_bytes")? - self.sum(&devices, "write_bytes")?;
            all += self.sum(&disks, "write_bytes")?;
        }
        let why =
            "other partitions or volumes are in use, or an array is being rebuilt or degraded";
        self.told(&disks, others, all, why)
    }

    /// What others moved on the disks that hold the files of loop devices. Between the two lies a
    /// file system: it reads ahead, keeps what it has read, and writes late.
    fn below_files(&self) -> Option<Note> {
        let evidence = &self.measurement.evidence;
        let leaves = Self::only(&evidence.below.leaves, &evidence.disks);
        let files = Self::only(&evidence.disks, &evidence.below.leaves);
        if leaves.is_empty() || files.is_empty() || leaves.len() < evidence.below.leaves.len() {
            return None;
        }
        let asked = self.sum(&files, "read_bytes")?;
        let ahead = match evidence.below.caches.is_empty() {
            true => 0.0,
            false => READ_AHEAD_BYTES.min(READ_AHEAD_SHARE * asked),
        };
        let read = self.sum(&leaves, "read_bytes")?;
        let mut others = (read - asked - ahead).max(0.0);
        let mut all = read;
        // What a load has written may reach the disk at any time, with what the file system adds.
        if evidence.delivered.write_bytes == 0 && evidence.delivered.metadata_ops == 0 {
            let wrote = self.sum(&leaves, "write_bytes")?;
            others += (wrote - self.sum(&files, "write_bytes")? - COMMIT_BYTES as f64).max(0.0);
            all += wrote;
        }
        let why = "others use them, or data from before the trial is on its way there";
        self.told(&leaves, others, all, why)
    }

    /// The note on `others` bytes of `all` that these disks moved, when they are too many.
    fn told(&self, disks: &[&String], others: f64, all: f64, why: &str) -> Option<Note> {
        let evidence = &self.measurement.evidence;
        let window = self.measurement.window;
        let delivered = window.map_or(evidence.delivered, |window| window.done).bytes();
        let share = others / all.max(delivered as f64).max(1.0);
        (share > OTHERS_SHARE && others > COMMIT_BYTES as f64).then(|| {
            let (noun, they) = if disks.len() == 1 { ("disk", "it") } else { ("disks", "they") };
            let text = format!(
                "The {noun} below {} moved {} more than it did, {} of all that {they} moved: \
                 {why}.",
                evidence.devices.join(" and "),
                bytes(others),
                percent(share)
            );
            Note::new("others-io", text)
        })
    }
}
