//! (pure) What lies in the files that were laid out, and whether a trial can read it as it is.
//!
//! A file is laid out anew when it is too short; when a trial checks its blocks and they were laid
//! out in another format, or without one; and when somebody has written to it since, as nobody
//! keeps which of its blocks he had come to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engines::engine::FileIdentity;
use engines::engine::file::first_generation;
use experiment::knob::{self, Settings};

/// A file that was laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laid {
    /// Its length.
    pub bytes: u64,
    /// Its blocks, where they can be checked.
    checkable: Option<(Format, FileIdentity)>,
}

/// The settings of what was written: checksum and length of a block.
type Format = (String, u64);

impl Laid {
    /// The file of this number as the trial `trial` has laid it out.
    pub fn by(settings: &Settings, trial: u32, number: u64) -> Laid {
        // One that goes round and round leaves blocks of two generations.
        let once = !settings.get(knob::SUSTAINED);
        let written = FileIdentity { file: number, generation: first_generation(trial) };
        let checkable = format(settings).filter(|_| once).map(|format| (format, written));
        Laid { bytes: settings.get(knob::FILE_SIZE), checkable }
    }

    /// Whether a trial with these settings can use it.
    pub fn serves(&self, settings: &Settings) -> bool {
        let wanted = format(settings);
        let is = self.checkable.as_ref().map(|(format, _)| format);
        self.bytes >= settings.get(knob::FILE_SIZE) && (wanted.is_none() || wanted.as_ref() == is)
    }

    /// How its blocks name themselves.
    pub fn written(&self) -> Option<FileIdentity> {
        self.checkable.as_ref().map(|(_, written)| *written)
    }
}

/// Forgets of these files how their blocks can be checked, if a trial with these settings may have
/// written to them.
pub fn forget_written<'a>(
    laid: &mut BTreeMap<PathBuf, Laid>,
    settings: &Settings,
    paths: impl Iterator<Item = &'a PathBuf>,
) {
    if settings.only_reads() {
        return;
    }
    for path in paths {
        if let Some(laid) = laid.get_mut(path) {
            laid.checkable = None;
        }
    }
}

/// The knobs of the layout whose blocks a trial with these settings can check, besides those that
/// it has in common with it.
pub fn set_format(settings: &Settings, layout: &mut Settings) {
    let Some((_, length)) = format(settings) else { return };
    layout.set(knob::VERIFY, settings.get(knob::VERIFY));
    layout.set(knob::VERIFY_BLOCK, settings.get(knob::VERIFY_BLOCK));
    // As many of them at once as go into 1 MiB, and into the file.
    let size = settings.get(knob::FILE_SIZE);
    let mut whole = length;
    while 2 * whole <= 1 << 20 && size.is_multiple_of(2 * whole) {
        whole *= 2;
    }
    layout.set(knob::BLOCK_SIZE, whole);
}

/// Whether a trial with these settings checks what it reads.
pub fn checks(settings: &Settings) -> bool {
    format(settings).is_some()
}

fn format(settings: &Settings) -> Option<Format> {
    match settings.get(knob::VERIFY) {
        "" | "off" => None,
        checksum => Some((checksum.to_owned(), settings.get(knob::VERIFY_BLOCK))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::Access;

    fn settings(verify: &str, block: u64, file_size: u64) -> Settings {
        let mut settings = Settings::defaults("file");
        settings.set(knob::VERIFY, verify);
        settings.set(knob::VERIFY_BLOCK, block);
        settings.set(knob::FILE_SIZE, file_size);
        settings.set(knob::SUSTAINED, false);
        settings
    }

    #[test]
    fn a_file_serves_whoever_wants_its_format_or_none() {
        let crc = settings("crc32c", 4096, 1 << 20);
        let laid = Laid::by(&crc, 3, 7);
        assert_eq!(laid.written(), Some(FileIdentity { file: 7, generation: 3 << 32 }));
        assert!(laid.serves(&crc) && laid.serves(&settings("off", 4096, 1 << 19)));
        assert!(!laid.serves(&settings("md5", 4096, 1 << 20)), "another checksum");
        assert!(!laid.serves(&settings("crc32c", 8192, 1 << 20)), "another length");
        assert!(!laid.serves(&settings("crc32c", 4096, 1 << 21)), "too short");
        let plain = Laid::by(&settings("off", 4096, 1 << 20), 3, 7);
        assert!(!plain.serves(&crc) && plain.serves(&settings("off", 512, 1 << 20)));
        let mut goes_round = crc.clone();
        goes_round.set(knob::SUSTAINED, true);
        assert_eq!(Laid::by(&goes_round, 3, 7).written(), None);
    }

    #[test]
    fn what_was_written_to_cannot_be_checked_any_more() {
        let crc = settings("crc32c", 4096, 4096);
        let paths = [PathBuf::from("/a"), PathBuf::from("/b")];
        let all = || paths.iter().map(|path| (path.clone(), Laid::by(&crc, 1, 0))).collect();
        let after = |access: Access| {
            let mut laid: BTreeMap<PathBuf, Laid> = all();
            let mut settings = crc.clone();
            settings.set(knob::ACCESS, access);
            forget_written(&mut laid, &settings, paths[..1].iter());
            (laid[&paths[0]].serves(&crc), laid[&paths[1]].serves(&crc))
        };
        for &access in Access::ALL {
            assert_eq!(after(access), (!access.writes(), true), "{access:?}");
        }
    }

    #[test]
    fn layouts_are_written_in_whole_blocks_of_the_format() {
        let block = |length, size| {
            let mut layout = Settings::defaults("file");
            layout.set(knob::BLOCK_SIZE, 777 * 512);
            set_format(&settings("md5", length, size), &mut layout);
            layout.get(knob::BLOCK_SIZE)
        };
        assert_eq!(block(4096, 1 << 30), 1 << 20);
        assert_eq!(block(4096, 12288), 4096);
        assert_eq!(block(12288, 12288 * 32), 12288 * 32);
        assert_eq!(block(12288, 12288 * 256), 12288 * 64, "the next is longer than 1 MiB");
        assert_eq!(block(1 << 20, 1 << 20), 1 << 20);
        let mut layout = Settings::defaults("file");
        set_format(&settings("off", 4096, 1 << 20), &mut layout);
        assert_eq!((layout.get(knob::VERIFY), layout.get(knob::BLOCK_SIZE)), ("off", 1 << 20));
    }
}
