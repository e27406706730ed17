//! Trials that are to be verified and could not be, wholly: refused, never run unchecked.

use super::{AccessOrder, Direction, FileJob};
use crate::engine::Error;
use base::pattern::Data;

/// Refuses what cannot be checked as asked.
///
/// # Errors
/// `Unsupported`, with what would work.
pub fn refuse(job: &FileJob) -> Result<(), Error> {
    let Some(format) = job.verify else { return Ok(()) };
    let name = format!("verify={}", format.checksum.name());
    let unsupported = |what: String| Err(Error::Unsupported(what));
    let block_bytes = format.block_bytes as u64;
    if !job.block_bytes.is_multiple_of(block_bytes) {
        return unsupported(format!(
            "{name} checks whole blocks, and block-size={} is no multiple of verify-block={}; \
             block-size={}, or verify-block={}, would work",
            bytes(job.block_bytes),
            bytes(block_bytes),
            bytes(job.block_bytes.next_multiple_of(block_bytes)),
            bytes(fitting(job.block_bytes, block_bytes)),
        ));
    }
    match job.direction {
        Direction::Read => {}
        Direction::Mix(_) | Direction::Update(_) => {
            return unsupported(format!(
                "which blocks were written last, and which before, is not kept while both are read \
                 and written; {name} needs an access that only reads, or the plan `integrity`"
            ));
        }
        Direction::Write if job.order != AccessOrder::Forward => {
            return unsupported(format!(
                "{name} writes whole files, one block after the other; it needs access=write or \
                 rewrite, or one that reads"
            ));
        }
        Direction::Write => {}
    }
    if job.data != Data::Random {
        return unsupported(format!(
            "a block that can be checked is pseudo-random from its header to its end; {name} needs \
             data=random"
        ));
    }
    if job.engine.is_stdio() {
        return unsupported(format!(
            "the C library reads through a buffer of its own, in which a block that could not be \
             read is no longer told from those before it; {name} needs io-engine=uring, aio, sync \
             or mmap"
        ));
    }
    if job.nop {
        return unsupported(format!("a loop of NOPs reads nothing; {name} needs I/O"));
    }
    Ok(())
}

/// Refuses files that do not consist of whole blocks that can be checked.
///
/// # Errors
/// `Unsupported`, with what would work.
pub fn check_size(job: &FileJob) -> Result<(), Error> {
    let Some(format) = job.verify else { return Ok(()) };
    let block_bytes = format.block_bytes as u64;
    if job.file_bytes.is_multiple_of(block_bytes) {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "files of {} do not consist of whole blocks of verify-block={}; file-size={} would work",
        bytes(job.file_bytes),
        bytes(block_bytes),
        bytes(job.file_bytes.next_multiple_of(block_bytes)),
    )))
}

/// The largest length of a block that is no longer than `most` and fits into `request` wholly.
fn fitting(request: u64, most: u64) -> u64 {
    let fits = |length: &u64| request.is_multiple_of(*length);
    (1..=most.min(request) / 512).rev().map(|sectors| sectors * 512).find(fits).unwrap_or(512)
}

/// As it can be typed.
fn bytes(count: u64) -> String {
    match count {
        count if count.is_multiple_of(1 << 20) => format!("{}MiB", count >> 20),
        count if count.is_multiple_of(1 << 10) => format!("{}KiB", count >> 10),
        count => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;
    use serde_json::json;

    #[test]
    fn what_could_not_be_checked_is_refused_with_what_would_work() {
        let refusals = [
            (json!({"block-size": 512}), "block-size=4KiB, or verify-block=512"),
            (json!({"block-size": 6144}), "block-size=8KiB, or verify-block=3KiB"),
            (json!({"block-size": 4096, "verify-block": 65536}), "verify-block=4KiB, would work"),
            (json!({"access": "random-mix"}), "needs an access that only reads"),
            (json!({"access": "update"}), "the plan `integrity`"),
            (json!({"access": "random-write"}), "needs access=write or rewrite"),
            (json!({"access": "record-rewrite"}), "needs access=write or rewrite"),
            (json!({"data": "zero"}), "needs data=random"),
            (json!({"data": "compressible", "access": "write"}), "needs data=random"),
            (json!({"io-engine": "stdio", "direct": false}), "uring, aio, sync or mmap"),
        ];
        for (mut settings, hint) in refusals {
            settings["verify"] = json!("md5");
            match job(settings.clone()) {
                Err(Error::Unsupported(what)) => {
                    assert!(what.contains(hint) && what.contains("verify="), "{settings}: {what}");
                }
                other => panic!("{settings}: {other:?}"),
            }
            settings["verify"] = json!("off");
            assert!(job(settings).is_ok());
        }
        for access in ["read", "random-read", "read-backward", "read-strided", "write", "rewrite"] {
            let settings = json!({"verify": "crc32c", "access": access});
            assert!(job(settings).unwrap().0.verify.is_some(), "{access}");
        }
    }

    #[test]
    fn files_consist_of_whole_blocks() {
        let sized = |file_size: u64| {
            let settings = json!({
                "verify": "blake3", "verify-block": 12288, "block-size": 12288,
                "file-size": file_size,
            });
            check_size(&job(settings).unwrap().0)
        };
        assert!(sized(24576).is_ok());
        let Err(Error::Unsupported(what)) = sized(24577) else { panic!() };
        assert!(what.contains("file-size=36KiB would work"), "{what}");
    }
}
