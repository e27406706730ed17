//! (pure) Verdicts on programs that are not ours: only the kernel's account tells what they read.

use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::measurement::{Evidence, Programs};
use base::value::bytes;

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
    if programs.are_uncounted {
        return unknown("the kernel did not tell what the programs had read".to_owned());
    }
    let covers = |part: u64, of: u64| part as f64 >= (1.0 - AGREEMENT) * of as f64;
    if let Some(other) =
        programs.of_files_bytes.and_then(|known| not_all(known, programs, evidence))
    {
        return other;
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
        Some(device) if !covers(device, read) => unknown(format!(
            "the programs had {} read, but the devices under the directory delivered only {}: they \
             read elsewhere too",
            bytes(read as f64),
            bytes(device as f64)
        )),
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

/// The verdict where files of `known` bytes were read and storage may not have delivered all of
/// them; `None` where it has.
///
/// Figures are of the timed runs alone, and the count is of all: whatever is missing may be theirs,
/// and what others read more than once may hide it.
fn not_all(known: u64, programs: &Programs, evidence: &Evidence) -> Option<Origin> {
    let read = evidence.delivered.read_bytes as f64;
    let most = known.saturating_add(programs.of_cut_runs_bytes) as f64;
    let agreed = AGREEMENT * programs.of_timed_runs_bytes as f64;
    if read + agreed >= most {
        // A server's files are all that is read once a probe has had it load the rest.
        let twice = programs.server.is_some() && read > most + agreed;
        return twice.then(|| {
            unknown(format!(
                "storage delivered {}, more than the {} of files that the programs read: what was \
                 read again can hide what came from memory",
                bytes(read),
                bytes(most)
            ))
        });
    }
    let reason = format!(
        "of {} of files that the programs read, storage delivered {}",
        bytes(known as f64),
        bytes(read)
    );
    let share = (known > 0).then(|| (read / known as f64).min(1.0));
    if read <= agreed {
        return Some(verdict(Verdict::Cache, share, reason));
    }
    if programs.of_cut_runs_bytes > 0 {
        return Some(unknown(format!(
            "{reason}, nobody knows how much of it for runs that did not come to their end"
        )));
    }
    match evidence.device_read_bytes {
        Some(device) if device as f64 >= (1.0 - AGREEMENT) * read => {
            Some(verdict(Verdict::Mixed, share, reason))
        }
        _ => {
            Some(unknown(format!("{reason}, which no device under the directory is known to have")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;
    use crate::measurement::programs::{Run, ServerCpuTime};

    const EACH: u64 = 64 << 20;

    /// A server's clients: so many timed runs and others that came to their end, so many that did
    /// not, and what storage delivered of the files of all.
    fn served(timed: usize, others: usize, cut: usize, read_bytes: u64) -> Origin {
        let run = |timed, exit| Run { timed, exit, ..Run::default() };
        let mut runs = vec![run(true, Some(0)); timed];
        runs.extend(vec![run(false, Some(0)); others]);
        runs.extend(vec![run(false, None); cut]);
        let mut programs =
            Programs { runs, server: Some(ServerCpuTime::default()), ..Programs::default() };
        programs.know_of_files(EACH);
        // As a report has it, which keeps no account of each run.
        programs.runs.clear();
        let trial = with(|e| {
            e.delivered.read_bytes = read_bytes;
            e.device_read_bytes = Some(read_bytes);
        });
        origin(&programs, &trial.evidence)
    }

    /// Only runs with status 0 were expected to have read, while what copies read that were killed
    /// at the end counted: one fetch from memory and a cold one that was cut off were `device`.
    #[test]
    fn what_runs_read_that_were_cut_off_hides_nothing() {
        assert_eq!(served(1, 0, 1, EACH).verdict, Verdict::Unknown);
        assert_eq!(served(4, 4, 1, 8 * EACH).verdict, Verdict::Unknown);
        assert_eq!(served(1, 0, 1, 2 * EACH).verdict, Verdict::Device, "it had read all but it");
        assert_eq!(served(1, 0, 1, 0).verdict, Verdict::Cache);
    }

    /// A timed fetch from memory, and more than twenty cold ones that kept up the load.
    #[test]
    fn what_is_missing_may_be_of_the_timed_runs_alone() {
        assert_eq!(served(2, 3, 0, 5 * EACH).verdict, Verdict::Device);
        assert_eq!(served(1, 1, 0, EACH).verdict, Verdict::Mixed);
        assert_eq!(served(1, 40, 0, 40 * EACH).verdict, Verdict::Mixed);
        assert_eq!(served(1, 40, 0, 41 * EACH - EACH / 25).verdict, Verdict::Device);
        assert_eq!(served(1, 40, 0, EACH / 25).verdict, Verdict::Cache);
        // One of forty was cold: is it the timed one? Nobody knows.
        assert_eq!(served(1, 40, 0, EACH).verdict, Verdict::Mixed);
    }

    #[test]
    fn what_is_read_twice_can_hide_what_is_not_read() {
        assert_eq!(served(2, 0, 0, 2 * EACH + EACH / 25).verdict, Verdict::Device);
        assert_eq!(served(2, 0, 0, 3 * EACH).verdict, Verdict::Unknown);
    }
}
