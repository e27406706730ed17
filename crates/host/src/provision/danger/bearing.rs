//! What a disk bears: partitions, signatures, or bytes that nobody knows. All that `--wipe` allows.

use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::{Found, Seen};
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, block, command};
use facts::inventory::disk::Disk;

/// A disk that does not answer within this time is not healthy.
const BLKID_MAX: Duration = Duration::from_secs(30);
/// How much is read at each end, bytes: labels and tables lie there (ZFS: 512 KiB at both ends).
const END_BYTES: u64 = 1 << 20;
/// How much is read at places between, bytes.
const BLOCK_BYTES: usize = 4096;
/// How many places between.
const PLACES: u64 = 126;

/// What was found on a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bearing {
    /// What blkid(8) says, as keys and values of udev.
    tags: Vec<(String, String)>,
    /// Where the first byte is that is not zero, of those that were looked at.
    data_at: Option<u64>,
}

impl Bearing {
    /// Looks at a disk; reads about 3 MB.
    ///
    /// # Errors
    /// When it cannot be read, or there is no blkid to ask.
    pub fn of(host: &Host, disk: &Disk, blkid: &str) -> Result<Bearing, Error> {
        // First: blkid takes a disk that it cannot read for an empty one.
        let data_at = data_at(host, disk)?;
        let node = host.path(&disk.node);
        let words = [blkid, "-p", "-o", "udev", &node.to_string_lossy()].map(str::to_owned);
        let answer = command::ask(&words, BLKID_MAX, &Stop::new())
            .map_err(|error| error.hint("apt install util-linux, which brings blkid"))?;
        let (Some(said), Some(complained)) = (&answer.said, &answer.complained) else {
            // What was not heard may have been a complaint: silence would mean an empty disk.
            let what = format!("cannot run `{}`", command::line(&words));
            return Err(Error::new(what, "what it said did not come to an end"));
        };
        let (tags, complained) = (tags(said), complained.trim());
        match answer.status.code() {
            Some(0) => Ok(Bearing { tags, data_at }),
            // Nothing was found.
            Some(2) if complained.is_empty() => Ok(Bearing { tags: Vec::new(), data_at }),
            // More than one thing was found that cannot both be (blkid(8)).
            Some(8) => {
                let more = ("AMBIVALENT".to_owned(), "more than one signature".to_owned());
                Ok(Bearing { tags: tags.into_iter().chain([more]).collect(), data_at })
            }
            status => {
                let status = status.map_or("a signal".to_owned(), |status| status.to_string());
                let why = format!("it ended with {status}: {complained}");
                Err(Error::new(format!("cannot run `{}`", command::line(&words)), why))
            }
        }
    }

    fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The kind of signature, such as `ext4`.
    fn kind(&self) -> Option<&str> {
        self.tag("ID_FS_TYPE")
    }
}

/// Reads `KEY=value` lines.
pub fn tags(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (key, value) = line.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

/// Where the disk holds anything, by a look at both ends and at places between.
fn data_at(host: &Host, disk: &Disk) -> Result<Option<u64>, Error> {
    let failed = |error| Error::new(format!("cannot read {}", disk.node.display()), error);
    let file = block::open(&host.path(&disk.node), block::How::Read).map_err(failed)?;
    let size = disk.size_bytes;
    let end = size.saturating_sub(END_BYTES);
    let mut places: Vec<(u64, usize)> = vec![(0, END_BYTES.min(size) as usize)];
    let block = BLOCK_BYTES as u64;
    places.extend((1..PLACES).filter_map(|place| {
        let at = (size / PLACES).checked_mul(place)? / block * block;
        (at + block <= size).then_some((at, BLOCK_BYTES))
    }));
    places.push((end, (size - end) as usize));
    let mut bytes = vec![0; END_BYTES as usize];
    for (at, length) in places {
        let bytes = &mut bytes[..length];
        file.read_exact_at(bytes, at).map_err(failed)?;
        if let Some(first) = bytes.iter().position(|byte| *byte != 0) {
            return Ok(Some(at + first as u64));
        }
    }
    Ok(None)
}

pub fn unreadable(seen: &Seen<'_>) -> Option<Found> {
    let error = seen.bearing.as_ref().err()?;
    let hint = error.hint.clone().unwrap_or_else(|| "run as root, on a disk in health".to_owned());
    Found::hint(format!("what it bears cannot be found out: {error}"), hint)
}

/// Another host may have it mounted, which nothing here can see.
pub fn network_disk(seen: &Seen<'_>) -> Option<Found> {
    let transport = crate::inventory::transport_of(seen.scene.host, &seen.disk.name);
    if !facts::inventory::is_wire(&transport) {
        return None;
    }
    Found::new(format!(
        "it comes over a wire ({transport}): another machine may use it, unseen from here"
    ))
}

pub fn partitions(seen: &Seen<'_>) -> Option<Found> {
    let partitions = &seen.names[1..];
    (!partitions.is_empty()).then_some(())?;
    Found::new(format!("it has the partitions {}", partitions.join(", ")))
}

pub fn partition_table(seen: &Seen<'_>) -> Option<Found> {
    let table = seen.bearing.as_ref().ok()?.tag("ID_PART_TABLE_TYPE")?;
    Found::new(format!("it bears a partition table ({table})"))
}

pub fn ambiguous(seen: &Seen<'_>) -> Option<Found> {
    let bearing = seen.bearing.as_ref().ok()?;
    bearing.tag("AMBIVALENT")?;
    let said = bearing.tag("ID_FS_AMBIVALENT").unwrap_or("blkid does not say which");
    Found::new(format!("it bears more than one signature: {said}"))
}

/// What a signature stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Md,
    Card,
    Lvm,
    Zfs,
    Bcache,
    Encrypted,
    Other,
}

/// As libblkid names them (its superblocks.c).
fn mark(kind: &str) -> Mark {
    match kind {
        "linux_raid_member" => Mark::Md,
        "LVM1_member" | "LVM2_member" => Mark::Lvm,
        "zfs_member" => Mark::Zfs,
        "bcache" => Mark::Bcache,
        "crypto_LUKS" | "BitLocker" | "cs_fvault2" => Mark::Encrypted,
        // ddf, isw, lsi_mega, via, silicon_medley, nvidia, promise, highpoint, adaptec, jmicron.
        _ if kind.ends_with("_raid_member") => Mark::Card,
        _ => Mark::Other,
    }
}

fn marked(seen: &Seen<'_>, wanted: Mark) -> Option<Found> {
    let bearing = seen.bearing.as_ref().ok()?;
    let kind = bearing.kind().filter(|kind| mark(kind) == wanted)?;
    let id = bearing.tag("ID_FS_LABEL").or(bearing.tag("ID_FS_UUID"));
    Found::new(match id {
        Some(id) => format!("it bears {kind} ({id})"),
        None => format!("it bears {kind}"),
    })
}

pub fn raid_member(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Md)
}

pub fn raid_card(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Card)
}

pub fn lvm_member(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Lvm)
}

pub fn zfs_member(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Zfs)
}

pub fn bcache_member(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Bcache)
}

pub fn encrypted(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Encrypted)
}

pub fn signature(seen: &Seen<'_>) -> Option<Found> {
    marked(seen, Mark::Other)
}

/// Databases, virtual machines and encryption without a header write on raw disks.
pub fn data(seen: &Seen<'_>) -> Option<Found> {
    let bearing = seen.bearing.as_ref().ok()?;
    if !bearing.tags.is_empty() || seen.names.len() > 1 {
        return None;
    }
    let at = bearing.data_at?;
    Found::new(format!("it bears no signature, but bytes that are not zero (the first at {at})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_blkid_says_is_read_and_cut_lines_do_no_harm() {
        let text = "ID_FS_LABEL=a=b\nID_FS_TYPE=ext4\nID_PART_TABLE_TYPE=dos\n";
        let bearing = Bearing { tags: tags(text), data_at: None };
        assert_eq!((bearing.kind(), bearing.tag("ID_FS_LABEL")), (Some("ext4"), Some("a=b")));
        for end in 0..text.len() {
            tags(&text[..end]);
        }
    }

    #[test]
    fn marks_of_cards_are_told_from_marks_of_md() {
        assert!(mark("linux_raid_member") == Mark::Md && mark("isw_raid_member") == Mark::Card);
        assert!(mark("ddf_raid_member") == Mark::Card && mark("xfs") == Mark::Other);
    }
}
