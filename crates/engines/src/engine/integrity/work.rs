//! What all streams of a trial share, and what is refused before anything is made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use rustix::fs::{Mode, OFlags};

use super::state::Shape;
use crate::engine::Error;
use crate::engine::clients::worker::Needs;
use crate::engine::file::Shuffle;
use crate::engine::load::protocol::LoadSpec;
use crate::engine::load::room::Room;
use base::hash::Checksum;
use base::pattern::block::Format;
use base::pattern::generation::Rewrites;
use base::value::Stop;
use experiment::knob::{self, Settings};
use host::sys::{Host, beneath};

/// The load of a trial of integrity: what all its streams share.
#[derive(Debug)]
pub struct IntegrityLoad {
    /// Of the blocks that are checked.
    pub format: Format,
    /// Bytes that are read or written at once.
    pub piece_bytes: usize,
    /// Of each stream's file; a multiple of the piece.
    pub file_bytes: u64,
    /// Of all pieces, what each generation after the first writes over.
    pub share: f64,
    /// Around the page cache.
    pub direct: bool,
    /// Stamped into blocks; draws what is written over, and orders.
    pub campaign: u64,
    /// Ends the trial when so much was checked by all streams together.
    pub target_bytes: Option<u64>,
    /// What was checked, by all streams.
    pub checked_bytes: AtomicU64,
    /// Faults that are kept in full, of all streams.
    pub kept: Arc<AtomicUsize>,
    /// This boot.
    pub boot: String,
    /// What the largest of the files still needs of its file system.
    missing_bytes: u64,
}

impl IntegrityLoad {
    /// Reads settings.
    ///
    /// # Errors
    /// `Unsupported` for what cannot be honoured, with what would work.
    pub fn new(settings: &Settings, campaign: u64) -> Result<IntegrityLoad, Error> {
        let unsupported = |what: String| Err(Error::Unsupported(what));
        let verify = settings.get(knob::VERIFY);
        let Some(checksum) = Checksum::find(verify) else {
            return unsupported(format!(
                "this load is there to check what it reads; verify={verify} leaves nothing of it, \
                 verify=crc32c would work"
            ));
        };
        let (piece, block) = (settings.get(knob::BLOCK_SIZE), settings.get(knob::VERIFY_BLOCK));
        let file_bytes = settings.get(knob::FILE_SIZE);
        if piece % block.max(1) != 0 {
            return unsupported(format!(
                "block-size={piece} is no multiple of verify-block={block}, the unit that is \
                 checked"
            ));
        }
        if file_bytes == 0 || !file_bytes.is_multiple_of(piece) {
            return unsupported(format!(
                "file-size={file_bytes} is no multiple of block-size={piece}; file-size={} would \
                 work",
                file_bytes.max(1).next_multiple_of(piece.max(1))
            ));
        }
        let target_bytes = match settings.stop() {
            Stop::Bits(bits) => Some(bits.div_ceil(8)),
            _ => None,
        };
        Ok(IntegrityLoad {
            format: Format { block_bytes: block as usize, checksum },
            piece_bytes: piece as usize,
            file_bytes,
            share: settings.number(knob::REWRITE_SHARE),
            direct: settings.get(knob::DIRECT),
            campaign,
            target_bytes,
            checked_bytes: AtomicU64::new(0),
            kept: Arc::default(),
            boot: String::new(),
            missing_bytes: file_bytes,
        })
    }

    /// The same for the streams of a trial, in this boot.
    ///
    /// # Errors
    /// As [`IntegrityLoad::new`]; and when the kernel does not tell which boot this is.
    pub fn from_settings(settings: &Settings, spec: &LoadSpec) -> Result<IntegrityLoad, Error> {
        let mut work = IntegrityLoad::new(settings, spec.campaign)?;
        let boot = host::journal::boot(&Host::live());
        work.boot = boot.map_err(|error| Error::Failed(error.to_string()))?;
        let there = |(stream, folder): (usize, &Vec<std::path::PathBuf>)| {
            let name = super::data::name(stream as u64);
            let path = folder.first().map(|folder| folder.join(name));
            let size = |path: std::path::PathBuf| {
                let there = beneath::open(&path, OFlags::PATH, Mode::empty()).ok()?;
                rustix::fs::fstat(there).ok()
            };
            path.and_then(size).map_or(0, |about| about.st_size.max(0) as u64)
        };
        let least = spec.streams.iter().enumerate().map(there).min().unwrap_or(0);
        work.missing_bytes = work.file_bytes.saturating_sub(least);
        Ok(work)
    }

    /// By what the file of a stream is written.
    pub fn shape(&self, stream: u64) -> Shape {
        Shape {
            campaign: self.campaign,
            stream,
            file_bytes: self.file_bytes,
            piece_bytes: self.piece_bytes as u64,
            block_bytes: self.format.block_bytes as u64,
            checksum: self.format.checksum,
            share: self.share,
        }
    }

    /// What each generation of a stream writes over.
    pub fn rewrites(&self, stream: u64) -> Rewrites {
        Rewrites::new(self.seed(stream), self.share)
    }

    /// In which order a stream reads its pieces at random when so many generations are complete.
    pub fn order(&self, stream: u64, complete: u64) -> Shuffle {
        let seed = self.seed(stream) ^ complete.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Shuffle::new(self.file_bytes / self.piece_bytes as u64, seed)
    }

    fn seed(&self, stream: u64) -> u64 {
        self.campaign ^ (stream + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    /// What one stream needs.
    pub fn needs(&self) -> Needs {
        // Its buffer, and what a few wrong blocks at a time take when they are read again.
        let memory_bytes = 2 * self.piece_bytes as u64;
        Needs {
            memory_bytes,
            kinds: 3,
            descriptors: 8,
            room: Room {
                bytes: self.missing_bytes,
                largest_bytes: self.file_bytes,
                names: 3,
                shared_names: 1,
            },
            hint: "lower file-size or streams",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn refused(knobs: &[(&str, &str)]) -> String {
        let base = [("verify", "crc32c"), ("file-size", "1MiB")];
        let all: Vec<_> = base.iter().chain(knobs).copied().collect();
        match IntegrityLoad::new(&settings("integrity", &all), 1) {
            Err(Error::Unsupported(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_checked_is_refused_with_what_would_work() {
        assert!(refused(&[("verify", "off")]).contains("verify=crc32c would work"));
        assert!(refused(&[("file-size", "1000000B")]).contains("file-size=1048576 would work"));
        assert!(refused(&[("file-size", "0B")]).contains("file-size=1048576"));
        let odd = refused(&[("block-size", "6KiB"), ("file-size", "6MiB")]);
        assert!(odd.contains("no multiple of verify-block=4096"), "{odd}");
    }

    #[test]
    fn bits_are_those_of_all_streams_in_whole_bytes() {
        let of = |stop: &str| {
            let knobs = [("verify", "md5"), ("file-size", "1MiB"), ("stop", stop)];
            IntegrityLoad::new(&settings("integrity", &knobs), 1).unwrap().target_bytes
        };
        assert_eq!((of("1e9bits"), of("9bits"), of("8h")), (Some(125_000_000), Some(2), None));
    }

    #[test]
    fn streams_write_over_other_pieces_and_read_in_other_orders() {
        let knobs = [("verify", "crc32c"), ("file-size", "64MiB")];
        let work = IntegrityLoad::new(&settings("integrity", &knobs), 7).unwrap();
        let chosen = |stream| -> Vec<u64> {
            (0..64).filter(|piece| work.rewrites(stream).chooses(1, *piece)).collect()
        };
        assert_ne!(chosen(0), chosen(1));
        let order = |stream, complete| -> Vec<u64> {
            (0..64).map(|piece| work.order(stream, complete).image(piece)).collect()
        };
        assert_ne!(order(0, 1), order(1, 1));
        assert_ne!(order(0, 1), order(0, 2));
        let mut all = order(0, 1);
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<u64>>(), "each piece once");
    }
}
