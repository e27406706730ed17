//! What cannot be done as asked, refused by name with what would work.

use super::{AccessOrder, Direction, FileJob, FsyncPolicy, IoEngine, unchecked};
use crate::engine::Error;
use base::value::Stop;

/// Refuses what no machine could do as asked.
///
/// # Errors
/// `Unsupported`, with what would work.
pub fn refuse(job: &FileJob) -> Result<(), Error> {
    let unsupported = |what: String| Err(Error::Unsupported(what));
    let one_at_a_time = !matches!(job.engine, IoEngine::Uring | IoEngine::Aio);
    if one_at_a_time && job.depth > 1 {
        return unsupported(format!(
            "io-engine={} has one I/O in flight per stream; queue-depth={} needs uring or aio",
            job.engine.name(),
            job.depth
        ));
    }
    if job.engine == IoEngine::Mmap && job.direct {
        return unsupported(
            "a memory map goes through the page cache; io-engine=mmap needs direct=false"
                .to_owned(),
        );
    }
    if job.warm_up_ns > 0 && !matches!(job.stop, Stop::After(_)) {
        return unsupported(
            "a pass begins with the first operation and leaves no time to warm up; warm-up needs \
             stop=TIME"
                .to_owned(),
        );
    }
    if job.warm_up_ns > 0 && job.warm_up_ns >= job.at_most_ns {
        return unsupported(
            "warm-up takes as long as at-most leaves; choose a longer at-most".to_owned(),
        );
    }
    if job.batch > job.depth {
        return unsupported(format!(
            "batch={} waits for more I/Os than queue-depth={} has in flight",
            job.batch, job.depth
        ));
    }
    if job.batch > 1 && job.rate > 0 {
        return unsupported(format!(
            "with rate={} I/Os start at fixed times and cannot wait for a batch of {}; \
             leave batch at 1",
            job.rate, job.batch
        ));
    }
    if job.direct && !job.cold && job.direction.reads() {
        return unsupported(
            "direct reads go around the page cache and cannot start from it; cold=false needs \
             direct=false"
                .to_owned(),
        );
    }
    if job.poll && (job.engine != IoEngine::Uring || !job.direct) {
        return unsupported("poll=true needs io-engine=uring and direct=true".to_owned());
    }
    if job.poll && job.fsync == FsyncPolicy::Every && job.direction.writes() {
        return unsupported("a polled ring has no fsync; poll=true needs fsync=end".to_owned());
    }
    if let Stop::Bits(_) = job.stop {
        return unsupported(format!(
            "stop={} counts bits that were checked by all streams together; engine=integrity ends \
             by them, here a time or bytes per stream would work",
            job.stop
        ));
    }
    refuse_stdio(job)?;
    refuse_dontcache(job)?;
    refuse_rounds(job)?;
    unchecked::refuse(job)
}

/// The C library's FILE is one sequence of bytes.
fn refuse_stdio(job: &FileJob) -> Result<(), Error> {
    if !job.engine.is_stdio() {
        return Ok(());
    }
    let name = job.engine.name();
    if job.direct {
        return Err(Error::Unsupported(format!(
            "the C library's buffers go through the page cache; io-engine={name} needs \
             direct=false"
        )));
    }
    let both = matches!(job.direction, Direction::Mix(_) | Direction::Update(_));
    if job.order != AccessOrder::Forward || both {
        return Err(Error::Unsupported(format!(
            "io-engine={name} goes through a file from its start to its end; it needs \
             access=read, write or rewrite"
        )));
    }
    Ok(())
}

/// A flag of the calls that read and write, which go through the page cache.
fn refuse_dontcache(job: &FileJob) -> Result<(), Error> {
    if !job.dontcache {
        return Ok(());
    }
    if job.engine == IoEngine::Mmap || job.engine.is_stdio() {
        return Err(Error::Unsupported(format!(
            "io-engine={} makes no call that could say RWF_DONTCACHE; dontcache=true needs uring, \
             aio or sync",
            job.engine.name()
        )));
    }
    if job.direct {
        return Err(Error::Unsupported(
            "direct I/O goes around the page cache and leaves nothing in it; dontcache=true needs \
             direct=false"
                .to_owned(),
        ));
    }
    Ok(())
}

/// What is done between two rounds through the files, and whether it counts.
fn refuse_rounds(job: &FileJob) -> Result<(), Error> {
    let unsupported = |what: &str| Err(Error::Unsupported(what.to_owned()));
    let writes = job.direction == Direction::Write;
    if job.fresh && (!writes || job.overwrite || job.order != AccessOrder::Forward) {
        return unsupported("only access=write makes files anew; fresh-file=true needs it");
    }
    if job.fresh && job.engine == IoEngine::Mmap {
        return unsupported(
            "a map of an empty file has nothing to write to; fresh-file=true needs another \
             io-engine",
        );
    }
    let closes = job.engine == IoEngine::Sync || job.engine.is_stdio();
    if job.close_in_time && !closes {
        return Err(Error::Unsupported(format!(
            "io-engine={} holds its files open as long as it runs; close-in-time=true needs \
             sync, stdio or putc",
            job.engine.name()
        )));
    }
    if job.close_in_time && !matches!(job.stop, Stop::Interval(_)) {
        return unsupported(
            "only a trial that times whole rounds can count the close at the end of each; \
             close-in-time=true needs stop=interval:5%",
        );
    }
    if !job.fsync_in_time && job.streams > 1 {
        return unsupported(
            "one stream's flush takes the device from the others, which are timed meanwhile; \
             fsync-in-time=false needs streams=1",
        );
    }
    if job.rate > 0 && matches!(job.stop, Stop::Interval(_)) {
        return unsupported(
            "with rate= the throughput is given, and its interval says nothing; stop by a time",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::protocol::LoadSpec;
    use super::super::tests::job;
    use super::*;
    use serde_json::json;

    fn refused(settings: serde_json::Value) -> String {
        match job(settings) {
            Err(Error::Unsupported(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_with_what_would_work() {
        let refusals = [
            (json!({"io-engine": "sync", "queue-depth": 2}), "uring or aio"),
            (json!({"io-engine": "mmap", "queue-depth": 2, "direct": false}), "uring or aio"),
            (json!({"io-engine": "mmap"}), "needs direct=false"),
            (json!({"batch": 2}), "more I/Os than queue-depth=1"),
            (json!({"batch": 2, "queue-depth": 4, "rate": 10}), "leave batch at 1"),
            (json!({"cold": false}), "cold=false needs direct=false"),
            (json!({"poll": true, "direct": false}), "needs io-engine=uring and direct=true"),
            (json!({"poll": true, "access": "write", "fsync": "every"}), "needs fsync=end"),
            (json!({"io-engine": "stdio"}), "needs direct=false"),
            (json!({"io-engine": "putc", "direct": false, "queue-depth": 2}), "uring or aio"),
            (json!({"io-engine": "stdio", "direct": false, "access": "read-backward"}), "rewrite"),
            (json!({"io-engine": "stdio", "direct": false, "access": "random-mix"}), "rewrite"),
            (json!({"io-engine": "putc", "direct": false, "access": "update"}), "rewrite"),
            (json!({"dontcache": true}), "dontcache=true needs direct=false"),
            (json!({"dontcache": true, "direct": false, "io-engine": "mmap"}), "aio or sync"),
            (json!({"dontcache": true, "direct": false, "io-engine": "putc"}), "aio or sync"),
            (json!({"fresh-file": true}), "only access=write"),
            (json!({"fresh-file": true, "access": "rewrite"}), "only access=write"),
            (
                json!({
                    "fresh-file": true, "access": "write", "io-engine": "mmap", "direct": false,
                }),
                "another io-engine",
            ),
            (json!({"close-in-time": true, "stop": "interval:5%"}), "needs sync, stdio or putc"),
            (json!({"close-in-time": true, "io-engine": "sync"}), "needs stop=interval:5%"),
            (json!({"rate": 5, "stop": "interval:5%"}), "stop by a time"),
        ];
        for (settings, hint) in refusals {
            let what = refused(settings.clone());
            assert!(what.contains(hint), "{settings}: {what}");
        }
    }

    #[test]
    fn flushes_of_several_streams_are_part_of_their_time() {
        let spec = |streams: usize| LoadSpec {
            settings: json!({"fsync-in-time": false, "access": "write"}),
            seed: 1,
            campaign: 2,
            streams: vec![vec!["/x".into()]; streams],
            bench: Default::default(),
            written: Vec::new(),
        };
        assert!(FileJob::new(&spec(1)).is_ok());
        let Err(Error::Unsupported(what)) = FileJob::new(&spec(2)) else { panic!() };
        assert!(what.contains("needs streams=1"), "{what}");
    }
}
