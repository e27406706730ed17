//! What a disk bears, as blkid(8) and a look at its bytes find it.

use std::os::unix::fs::FileExt;
use std::time::Duration;

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
    pub tags: Vec<(String, String)>,
    /// Where the first byte is that is not zero, of those that were looked at.
    pub data_at: Option<u64>,
}

impl Bearing {
    /// Looks at a disk; reads about 3 MB.
    ///
    /// # Errors
    /// When it cannot be read, or there is no blkid to ask.
    pub fn read_disk(host: &Host, disk: &Disk, blkid: &str) -> Result<Bearing, Error> {
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

    /// What blkid says under a key.
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The kind of signature, such as `ext4`.
    pub fn kind(&self) -> Option<&str> {
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
}
