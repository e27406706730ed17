//! (pure) Verdicts on programs that are not ours: only the kernel's account tells what they read.

use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::measurement::{Evidence, Programs};
use crate::value::bytes;

/// Less than this is what starting a program reads: libraries, locales, settings.
const STARTING_BYTES: u64 = 16 << 20;

/// Where the bytes that are counted as read came from. Counted are those that storage delivered,
/// never what a program had from memory; but its own figures (its elapsed time, what it printed)
/// are of all that it asked for, so it is `device` only where that is the same.
pub fn origin(programs: &Programs, evidence: &Evidence) -> Origin {
    let (read, called) = (evidence.delivered.read_bytes, programs.called_read_bytes);
    if !evidence.process_io_reliable {
        let on = &evidence.filesystem;
        return unknown(format!("what programs read cannot be counted on {on}"));
    }
    let covers = |part: u64, of: u64| part as f64 >= (1.0 - AGREEMENT) * of as f64;
    if let Some(known) = programs.of_files_bytes.filter(|known| !covers(read, *known)) {
        return partly(known, evidence);
    }
    let guessed = programs.of_files_bytes.is_none();
    if guessed && called > STARTING_BYTES && !covers(read, called) {
        // Which of their calls read files is not known: pipes, sockets, /dev/zero.
        return unknown(format!(
            "the programs asked for {} by their calls, of which {} came from storage: the rest was \
             in memory, or no file",
            bytes(called as f64),
            bytes(read as f64)
        ));
    }
    if read == 0 {
        return verdict(Verdict::None, None, "nothing was read from storage");
    }
    match evidence.device_read_bytes {
        None => unknown("no block device under the directory is known".to_owned()),
        // A process is charged for what it has asked for; a slow disk owes it the last of that when
        // nobody reads it any more. Where the files are known, they are what must have come.
        Some(device) if !covers(device, programs.of_files_bytes.unwrap_or(read).min(read)) => {
            unknown(format!(
                "the programs had {} read, but the devices under the directory delivered only {}: \
                 they read elsewhere too",
                bytes(read as f64),
                bytes(device as f64)
            ))
        }
        Some(device) => verdict(
            Verdict::Device,
            Some(1.0),
            format!(
                "the programs had {} read from storage, which the devices' count ({}) covers",
                bytes(read as f64),
                bytes(device as f64)
            ),
        ),
    }
}

/// Files of `known` bytes were read, of which storage did not deliver all.
fn partly(known: u64, evidence: &Evidence) -> Origin {
    let read = evidence.delivered.read_bytes;
    let share = read as f64 / known as f64;
    let (had, of) = (bytes(read as f64), bytes(known as f64));
    let reason = format!("of {of} of files that the programs read, storage delivered {had}");
    if share <= AGREEMENT {
        return verdict(Verdict::Cache, Some(share), reason);
    }
    match evidence.device_read_bytes {
        Some(device) if device as f64 >= (1.0 - AGREEMENT) * read as f64 => {
            verdict(Verdict::Mixed, Some(share), reason)
        }
        _ => unknown(format!("{reason}, which no device under the directory is known to have")),
    }
}
