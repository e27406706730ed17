//! Puts together what the streams and the controller saw.

use hdrhistogram::Histogram;

use super::second::FirstPass;
use crate::engine::Error;
use crate::engine::file::files::{push_once, resident};
use crate::engine::file::job::{AccessOrder, Direction, FileJob, FsyncPolicy};
use crate::engine::file::protocol::{LoadResult, Prepared, write_histogram};
use crate::engine::file::stream::{FileStreamResult, FileTrial};
use crate::engine::load::watch::WatchedTrial;
use base::value;
use base::value::Stop;
use experiment::measurement::limit::FLUSHED_AT_WRAP;
use experiment::measurement::{Amount, Durable, Integrity, Note, Operation, SecondPass, Stream};
use facts::counters::series::Series;

/// The result of a trial that has ended.
pub fn gather(
    trial: &FileTrial,
    prepared: Prepared,
    watched: WatchedTrial,
    mut yields: Vec<FileStreamResult>,
    second: Option<FirstPass>,
) -> Result<LoadResult, Error> {
    let job = &trial.job;
    let integrity = integrity(job, &mut yields)?;
    let zero_ns = watched.started_monotonic_ns;
    let streams = streams(trial, &watched, &yields);
    let mut notes = prepared.notes;
    for note in yields.iter().flat_map(|yielded| &yielded.notes) {
        push_once(&mut notes, &note.kind, || note.text.clone());
    }
    notes.extend(note_rate(job, &yields));
    notes.extend(note_halved(&yields));
    notes.extend(note_end(job, &watched));
    if !job.pauses() {
        notes.extend(note_flushes(&yields));
    }
    // Of a device what others have there comes and goes; direct I/O never goes through it.
    if job.direct && !job.nop && !trial.files.iter().any(|files| files.is_device) {
        notes.extend(note_ignored_direct(trial, prepared.resident_before_bytes, &streams));
    }
    if job.dontcache && !job.nop {
        let left = left_bytes(trial, prepared.resident_before_bytes);
        notes.extend(left.and_then(|left| note_kept(left, prepared.file_bytes, moved(&streams))));
    }
    let durable = durable(job, &yields, &streams, zero_ns);
    let reread_bytes = reread_bytes(trial, &yields);
    Ok(LoadResult {
        wire: None,
        started_monotonic_ns: zero_ns,
        started_unix_ns: watched.started_unix_ns,
        elapsed_ns: streams.iter().map(|stream| stream.stopped_ns).max().unwrap_or(0),
        window: trial.shared.window(),
        latency: latency(&yields)?,
        durable,
        second_pass: second.and_then(|first| second_pass(first, &yields, &watched.load)),
        load: watched.load,
        integrity,
        streams,
        resident_before_bytes: prepared.resident_before_bytes,
        file_bytes: prepared.file_bytes,
        reread_bytes,
        counters: watched.latency.into_iter().collect(),
        notes,
    })
}

/// What all streams found of what they read, in the order in which they found it.
///
/// # Errors
/// When not a byte could be read: the rates of such a trial would be those of errors.
fn integrity(job: &FileJob, yields: &mut [FileStreamResult]) -> Result<Option<Integrity>, Error> {
    if job.verify.is_none() || job.direction != Direction::Read {
        return Ok(None);
    }
    let mut all = Integrity::default();
    for one in yields.iter_mut().filter_map(|yielded| yielded.integrity.take()) {
        all.add(one);
    }
    all.faults.sort_by_key(|fault| fault.at_ns);
    if let (0, Some(first)) = (all.checked_bytes, all.faults.first()) {
        let (file, what) = (&first.file, &first.what);
        return Err(Error::Failed(format!("nothing could be read; first {file}: {what}")));
    }
    Ok(Some(all))
}

fn streams(trial: &FileTrial, watched: &WatchedTrial, yields: &[FileStreamResult]) -> Vec<Stream> {
    let zero_ns = watched.started_monotonic_ns;
    let since = |at_ns: u64| at_ns.saturating_sub(zero_ns);
    let ended = trial.shared.marks().ended;
    let by_time = matches!(trial.job.stop, Stop::After(_) | Stop::Steady | Stop::Interval(_));
    let complete = by_time && !watched.stopped_early && !watched.cut;
    let one = |(index, yielded): (usize, &FileStreamResult)| {
        let done = &yielded.done;
        // A pass that time ends is the same for all: to the moment of the end.
        let at_end = ended.as_ref().map(|(at_ns, amounts)| (*at_ns, amounts[index]));
        let pass = match (done.pass_end_ns, at_end) {
            (None, Some((_, amount))) => amount,
            _ => done.pass,
        };
        let pass_end_ns = match (done.pass_end_ns, at_end) {
            (None, Some((at_ns, _))) if complete => Some(at_ns),
            (pass_end_ns, _) => pass_end_ns,
        };
        Stream {
            started_ns: since(done.started_ns),
            pass_end_ns: pass_end_ns.map(since),
            pass,
            stopped_ns: since(done.stopped_ns),
            total: done.total,
            cpu_ns: yielded.cpu_ns,
        }
    };
    yields.iter().enumerate().map(one).collect()
}

fn latency(yields: &[FileStreamResult]) -> Result<Vec<(Operation, String)>, Error> {
    let all = || yields.iter().flat_map(|yielded| &yielded.latency);
    let one = |kind: Operation| {
        let of_kind = all().filter(|(of, _)| *of == kind).map(|(_, histogram)| histogram);
        let merged = merge(of_kind).transpose()?;
        Some(merged.and_then(|histogram| Ok((kind, write_histogram(&histogram)?))))
    };
    let kinds = [Operation::Read, Operation::Write, Operation::Transaction];
    kinds.into_iter().filter_map(one).collect()
}

fn merge<'a>(
    mut all: impl Iterator<Item = &'a Histogram<u64>>,
) -> Result<Option<Histogram<u64>>, Error> {
    let Some(mut merged) = all.next().cloned() else { return Ok(None) };
    for one in all {
        merged.add(one).map_err(|why| Error::Failed(format!("cannot merge latencies: {why:?}")))?;
    }
    Ok(Some(merged))
}

fn durable(
    job: &FileJob,
    yields: &[FileStreamResult],
    streams: &[Stream],
    zero_ns: u64,
) -> Option<Durable> {
    // Time that was not timed is in none of its figures.
    if !job.direction.writes() || job.fsync == FsyncPolicy::Never || job.pauses() {
        return None;
    }
    let durable_ns = yields.iter().filter_map(|yielded| yielded.durable_ns).max()?;
    Some(Durable {
        bytes: streams.iter().map(|stream| stream.total.write_bytes).sum(),
        accepted_ns: streams.iter().map(|stream| stream.stopped_ns).max()?,
        durable_ns: durable_ns.saturating_sub(zero_ns),
    })
}

/// Bytes that were read again and may have been in memory still. All orders but Zipf's come to each
/// block once a round; what the rounds after the first read had been dropped before, as far as it
/// went, or not at all.
fn reread_bytes(trial: &FileTrial, yields: &[FileStreamResult]) -> Option<u64> {
    let job = &trial.job;
    if matches!(job.order, AccessOrder::Zipf(_)) {
        return None;
    }
    let one = |(yielded, blocks): (&FileStreamResult, u64)| {
        let total = yielded.done.total;
        let came_to = match job.direction {
            // What is written back is not come to once more.
            Direction::Update(_) => total.read_ops,
            _ => total.ops(),
        };
        let later = came_to.saturating_sub(blocks).saturating_mul(job.block_bytes);
        let stayed = match job.at_wrap().forget {
            true => yielded.done.wraps.stayed_bytes,
            false => Some(u64::MAX),
        };
        match later {
            0 => Some(0),
            _ => stayed.map(|stayed| stayed.min(later).min(total.read_bytes)),
        }
    };
    yields.iter().zip(trial.files.iter().map(|files| files.blocks())).map(one).sum()
}

fn second_pass(first: FirstPass, yields: &[FileStreamResult], load: &Series) -> Option<SecondPass> {
    let all = || yields.iter().filter_map(|yielded| yielded.second.as_ref());
    let started_ns = all().map(|done| done.started_ns).min()?;
    let stopped_ns = all().map(|done| done.stopped_ns).max()?;
    let whole = (first.bytes, stopped_ns.saturating_sub(started_ns));
    let (bytes, second_ns) = first.part.unwrap_or(whole);
    // Of a part, the first took a part of its time.
    let share = bytes as f64 / first.bytes.max(1) as f64;
    let first_ns = (first.length_ns as f64 * share) as u64;
    let first_marks = SecondPass::marks(load, first_ns);
    Some(SecondPass { bytes, first_ns, second_ns, first_marks })
}

fn note_rate(job: &FileJob, yields: &[FileStreamResult]) -> Option<Note> {
    let behind: u64 = yields.iter().map(|yielded| yielded.done.behind).sum();
    let done: u64 = yields.iter().map(|yielded| yielded.done.total.ops()).sum();
    // Some are always on their way, and a thread may lose its processor for a moment.
    let moment = job.rate / 10 * yields.len() as u64;
    let excused = moment.max(done / 100).max(u64::from(job.depth) * yields.len() as u64);
    (job.rate > 0 && behind > excused).then(|| {
        Note::new(
            "rate-missed",
            format!(
                "rate={} was not kept up: {behind} operations were due and not begun at the end, \
                 {done} were done.",
                job.rate
            ),
        )
    })
}

/// Reads or writes that the kernel moved in two parts or more, each of them counted as one.
fn note_halved(yields: &[FileStreamResult]) -> Option<Note> {
    let halved: u64 = yields.iter().map(|yielded| yielded.done.halved).sum();
    (halved > 0).then(|| {
        Note::new(
            "moved-in-parts",
            format!(
                "{halved} reads or writes moved only a part at first, and the rest when that was \
                 asked for by another call; each counts as one, and its latency is that of all \
                 its parts. A file system that is nearly full does so."
            ),
        )
    })
}

/// Buffered writers that came to the end of their files before the trial did.
fn note_flushes(yields: &[FileStreamResult]) -> Option<Note> {
    let all = || yields.iter().map(|yielded| &yielded.done);
    let flushes: u64 = all().map(|done| done.wraps.flushes).sum();
    let flush_ns: u64 = all().map(|done| done.wraps.flush_ns).sum();
    let run_ns: u64 = all().map(|done| done.stopped_ns.saturating_sub(done.started_ns)).sum();
    (flushes > 0).then(|| {
        Note::new(
            FLUSHED_AT_WRAP,
            format!(
                "The files were smaller than what was written: {flushes} times a stream came to \
                 the end of its own, made it durable and then wrote over it, which took {} of the \
                 streams' time. So accepted bytes went to the device too; larger files show what \
                 memory takes.",
                value::percent(flush_ns as f64 / run_ns.max(1) as f64)
            ),
        )
    })
}

fn note_end(job: &FileJob, watched: &WatchedTrial) -> Option<Note> {
    if watched.cut && matches!(job.stop, Stop::Bytes(_) | Stop::Pass) {
        return Some(Note::new(
            "cut-short",
            "The trial was cut by at-most before its passes ended.",
        ));
    }
    if let (true, Stop::Interval(_)) = (watched.unsettled, job.stop) {
        let stop = job.stop;
        return Some(Note::new(
            "not-narrowed",
            format!("The trial was cut by at-most before it had met stop={stop}."),
        ));
    }
    watched.unsettled.then(|| {
        Note::new("not-settled", "The trial was cut by at-most before the load had settled.")
    })
}

/// Pages beside those of a load: of one block, of what was read ahead at the end.
const SOME_PAGES: u64 = 64 << 10;

/// Bytes of the files that are in memory and were not before.
fn left_bytes(trial: &FileTrial, before: Option<u64>) -> Option<u64> {
    Some(resident(&trial.files).ok()?.saturating_sub(before?))
}

/// Bytes that were read and written.
fn moved(streams: &[Stream]) -> u64 {
    streams.iter().fold(Amount::default(), |all, one| all.plus(&one.total)).bytes()
}

/// The kernel calls RWF_DONTCACHE a hint (readv(2)). Where a tenth of what was moved stayed it was
/// not taken, and the load was partly the plain one: on ext4 of Linux 6.18.44 64 MiB stayed of 64
/// that were written over blocks that were there, and none where the blocks were new, nor on XFS.
fn note_kept(left: u64, file_bytes: u64, moved: u64) -> Option<Note> {
    (left > SOME_PAGES.max(moved.min(file_bytes) / 10)).then(|| {
        Note::new(
            "dontcache-kept",
            format!(
                "{} of the files stayed in memory although dontcache=true asked to keep nothing: \
                 to the kernel it is a hint. Pages stay that are not written yet, were read ahead \
                 or are in use, and on some file systems those that are written over.",
                value::bytes(left as f64)
            ),
        )
    })
}

/// Direct I/O leaves no pages behind, and pages that are asked to go do; a file system that ignores
/// O_DIRECT, or lives in memory, is found by what is there afterwards.
fn note_ignored_direct(trial: &FileTrial, before: Option<u64>, streams: &[Stream]) -> Option<Note> {
    let left = left_bytes(trial, before)?.max(before?);
    (left > SOME_PAGES.max(moved(streams) / 100)).then(|| {
        Note::new(
            "direct-ignored",
            format!(
                "Direct I/O left {} of the files in memory: the file system did not go around \
                 the page cache, at least not always.",
                value::bytes(left as f64)
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::file::lane::FileLaneResult;

    /// What stays for a moment is no sign: the last blocks, and what was read ahead when a reader
    /// was stopped. Of files that went round often, no more can stay than they hold.
    #[test]
    fn files_that_stayed_against_the_flag_are_told_and_a_few_pages_are_not() {
        const MIB: u64 = 1 << 20;
        let told = |left, files, moved| note_kept(left, files, moved).map(|note| note.text);
        assert_eq!(told(90 * MIB, 1000 * MIB, 1000 * MIB), None);
        assert_eq!(told(64 << 10, MIB / 2, MIB / 2), None);
        let text = told(900 * MIB, 1000 * MIB, 1000 * MIB).expect("most of it stayed");
        assert!(text.starts_with("900 MiB of the files stayed"), "{text}");
        assert!(told(90 * MIB, 100 * MIB, 5000 * MIB).is_some(), "all of the files, gone round");
        assert!(told(20 * MIB, 1000 * MIB, 100 * MIB).is_some(), "a part, gone through once");
    }

    /// What of a second pass was read is held against as much of the first, and what came in after
    /// it had been ended is not counted.
    #[test]
    fn a_part_of_a_second_pass_is_held_against_a_part_of_the_first() {
        let done = |started_ns, stopped_ns| FileStreamResult {
            second: Some(FileLaneResult { started_ns, stopped_ns, ..FileLaneResult::default() }),
            ..FileStreamResult::default()
        };
        let yields = [done(5_000_000_000, 5_900_000_000), done(5_100_000_000, 6_000_000_000)];
        let of = |part| {
            let first = FirstPass { bytes: 1000, length_ns: 1_000_000_000, part };
            let pass = second_pass(first, &yields, &Series::default()).expect("a second pass");
            (pass.bytes, pass.first_ns, pass.second_ns)
        };
        assert_eq!(of(None), (1000, 1_000_000_000, 1_000_000_000));
        assert_eq!(of(Some((250, 300_000_000))), (250, 250_000_000, 300_000_000));
        assert_eq!(
            second_pass(FirstPass { bytes: 1, length_ns: 1, part: None }, &[], &Series::default()),
            None
        );
    }
}
