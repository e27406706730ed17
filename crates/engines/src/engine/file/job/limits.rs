//! Whether so many streams fit: descriptors, threads, memory. Asked before anything is opened.

use super::{Direction, FileJob, IoEngine};
use crate::engine::Error;
use crate::engine::load::cpus::descriptors;
use crate::engine::load::room::{
    HISTOGRAM_BYTES, THREAD_BYTES, check_memory, check_threads, need, refuse,
};
use base::value;
use host::sys::Host;
use host::sys::limits::{DESCRIPTORS, FILE_SIZE};

/// Descriptors that the worker needs besides those of its streams.
const SPARE_DESCRIPTORS: u64 = 32;

/// Raises the soft limit of descriptors to the hard one and refuses a job that will not fit, with
/// the number of streams that would.
///
/// # Errors
/// `Unsupported` with that number.
pub fn check(job: &FileJob, host: &Host, files_per_stream: u64) -> Result<(), Error> {
    let descriptors = descriptors();
    let each = files_per_stream + u64::from(job.engine == IoEngine::Uring);
    let fit = descriptors.saturating_sub(SPARE_DESCRIPTORS) / each.max(1);
    refuse(job.streams, fit, || {
        format!(
            "{} {} file descriptors; {}",
            need(job.streams as u64),
            job.streams as u64 * each + SPARE_DESCRIPTORS,
            DESCRIPTORS.told(descriptors, "")
        )
    })?;
    check_file_size(job, FILE_SIZE.allows())?;
    check_threads(host, job.streams)?;
    check_memory(host, job.streams, stream_bytes(job))
}

/// Refuses files that are larger than this process may write them: a write beyond that fails in the
/// middle of the trial.
fn check_file_size(job: &FileJob, limit: Option<u64>) -> Result<(), Error> {
    match limit.filter(|limit| job.file_bytes > *limit && job.direction != Direction::Read) {
        Some(limit) => Err(Error::Unsupported(format!(
            "a file of {} is too large: {}",
            value::bytes(job.file_bytes as f64),
            FILE_SIZE.told(limit, ", or lower file-size")
        ))),
        None => Ok(()),
    }
}

/// Whether a stream's buffers get huge pages: large ones, or few enough that rounding up is cheap.
pub fn wants_huge_pages(job: &FileJob) -> bool {
    const LARGE: u64 = 1 << 20;
    const FEW: usize = 128;
    job.huge_pages && (buffer_bytes(job) >= LARGE || job.streams <= FEW)
}

/// Number of buffers of a stream. Writers go round in at least 2 MiB of them, so that no compressor
/// with a smaller window sees the same body twice.
pub fn buffers(job: &FileJob) -> u64 {
    const POOL_BYTES: u64 = 2 << 20;
    let depth = u64::from(job.depth);
    match job.direction {
        // As many again are checked meanwhile.
        Direction::Read if job.checks_meanwhile() => 2 * depth,
        // What is written back is what was read.
        Direction::Read | Direction::Update(_) => depth,
        _ => depth.max(POOL_BYTES / job.block_bytes),
    }
}

/// Buffers of one stream in bytes.
pub fn buffer_bytes(job: &FileJob) -> u64 {
    buffers(job).saturating_mul(job.block_bytes)
}

fn stream_bytes(job: &FileJob) -> u64 {
    let huge = host::sys::arena::HUGE_PAGE as u64;
    let buffers = match wants_huge_pages(job) {
        true => buffer_bytes(job).next_multiple_of(huge),
        false => buffer_bytes(job),
    };
    let histograms = match job.direction {
        Direction::Mix(_) => 2 * HISTOGRAM_BYTES,
        Direction::Update(_) => 3 * HISTOGRAM_BYTES,
        _ => HISTOGRAM_BYTES,
    };
    let slots = u64::from(job.depth) * 64;
    buffers.saturating_add(histograms + THREAD_BYTES + slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::file::protocol::LoadSpec;

    fn job(streams: usize, settings: serde_json::Value) -> FileJob {
        let streams = vec![vec!["/x".into()]; streams];
        let (bench, written) = Default::default();
        let spec = LoadSpec { settings, seed: 0, campaign: 0, streams, bench, written };
        FileJob::new(&spec).unwrap().0
    }

    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn machine(available_kib: u64, threads: u64) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
        let meminfo = format!("MemTotal: 1 kB\nMemAvailable:   {available_kib} kB\n");
        std::fs::write(root.path().join("proc/meminfo"), meminfo).unwrap();
        let path = root.path().join("proc/sys/kernel/threads-max");
        std::fs::write(path, format!("{threads}\n")).unwrap();
        let host = Host::at(root.path());
        (root, host)
    }

    fn refused(streams: usize, host: &Host, files: u64) -> String {
        let settings = serde_json::json!({"block-size": 1048576, "queue-depth": 16});
        match check(&job(streams, settings), host, files) {
            Err(Error::Unsupported(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn too_many_streams_are_refused_with_the_number_that_would_work() {
        let (_root, host) = machine(1 << 20, 1 << 20);
        let what = refused(400, &host, 1);
        // 0.8 GiB for 16 MiB and a little each.
        assert!(
            what.ends_with("streams=49 would work") || what.ends_with("50 would work"),
            "{what}"
        );
        let (_root, host) = machine(1 << 40, 108);
        assert!(refused(200, &host, 1).ends_with("streams=100 would work"));
        let limit = descriptors();
        if limit < 1 << 40 {
            let what = refused(4, &host, limit / 2);
            assert!(what.contains("RLIMIT_NOFILE"), "{what}");
        }
    }

    /// Under `ulimit -f 1024` a load of larger files ended "without a result", killed by SIGXFSZ.
    #[test]
    fn a_file_larger_than_may_be_written_is_refused_before_its_first_byte() {
        let writes = job(1, serde_json::json!({"access": "write", "file-size": 2 << 20}));
        match check_file_size(&writes, Some(1 << 20)) {
            Err(Error::Unsupported(what)) => assert!(what.contains("`ulimit -f`"), "{what}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(check_file_size(&writes, Some(2 << 20)), Ok(()));
        assert_eq!(check_file_size(&writes, None), Ok(()));
    }

    #[test]
    fn what_fits_is_let_through() {
        let (_root, host) = machine(8 << 20, 1 << 15);
        let settings = serde_json::json!({"block-size": 4096});
        assert_eq!(check(&job(16, settings), &host, 2), Ok(()));
    }

    #[test]
    fn small_buffers_of_many_streams_stay_off_huge_pages() {
        let settings = serde_json::json!({"block-size": 4096});
        assert!(wants_huge_pages(&job(8, settings.clone())));
        assert!(!wants_huge_pages(&job(1000, settings)));
        assert!(wants_huge_pages(&job(1000, serde_json::json!({"block-size": 1048576}))));
    }
}
