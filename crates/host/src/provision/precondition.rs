//! Writes every byte of the disks, so that what is measured is not the speed of empty flash.
//!
//! Sequentially, 1 MiB at a time, around the page cache, all disks at once; bytes that no layer can
//! compress or find twice. Nothing is judged here: whether a disk has settled is for the trials.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::Progress;
use crate::sys::{Error, block};
use base::pattern::{self, Data, Header};
use facts::inventory::disk::Disk;

const BLOCK_BYTES: usize = 1 << 20;
/// Direct I/O wants its buffers at multiples of a page at most (open(2)).
const ALIGNMENT: usize = 4096;

/// Writes all disks so often; `salt` tells these bytes from those of another filling.
///
/// # Errors
/// When a disk cannot be written, somebody else has it, or the user stops it.
pub fn fill(
    disks: &[Disk],
    passes: u32,
    salt: u64,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let sizes = disks.iter().map(|disk| disk.size_bytes);
    let all = sizes.fold(0u64, u64::saturating_add).saturating_mul(u64::from(passes)).max(1);
    std::thread::scope(|scope| {
        let one = |(number, disk)| {
            let (done, stop) = (&done, &stop);
            let write = move || write_disk(disk, number as u64, passes, salt, done, stop);
            scope.spawn(write)
        };
        let writers: Vec<_> = disks.iter().enumerate().map(one).collect();
        let mut asked = Ok(());
        while writers.iter().any(|writer| !writer.is_finished()) {
            if asked.is_ok() {
                asked = progress.check("cannot fill the disks");
            }
            // One that fails ends the others too: nothing will be measured.
            let failed = stop.load(Ordering::Relaxed) || asked.is_err();
            stop.store(failed, Ordering::Relaxed);
            let percent = done.load(Ordering::Relaxed) as f64 / all as f64 * 100.0;
            progress.tell(&format!("filling {} disks: {percent:.0} %", disks.len()));
            std::thread::sleep(Duration::from_millis(20));
        }
        let why = "a thread ended in an unknown way";
        let ends = writers.into_iter().map(|writer| {
            writer.join().unwrap_or_else(|_| Err(Error::new("cannot fill the disks", why)))
        });
        // All are waited for, whichever failed first.
        let ends: Vec<Result<(), Error>> = ends.collect();
        ends.into_iter().collect::<Result<(), Error>>().and(asked)
    })
}

fn write_disk(
    disk: &Disk,
    number: u64,
    passes: u32,
    salt: u64,
    done: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let failed = |offset: u64, error: std::io::Error| {
        stop.store(true, Ordering::Relaxed);
        let what = format!("cannot write {} at byte {offset}", disk.node.display());
        Error::new(what, error)
    };
    let file = block::claim(&disk.node).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
    let mut room = vec![0u8; BLOCK_BYTES + ALIGNMENT];
    let start = room.as_ptr().addr().next_multiple_of(ALIGNMENT) - room.as_ptr().addr();
    let buffer = &mut room[start..start + BLOCK_BYTES];
    pattern::fill(buffer, BLOCK_BYTES, Data::Random, salt ^ number, 0);
    for generation in 0..passes {
        let mut offset = 0;
        while offset < disk.size_bytes && !stop.load(Ordering::Relaxed) {
            let bytes = (disk.size_bytes - offset).min(BLOCK_BYTES as u64);
            let part = &mut buffer[..bytes as usize];
            pattern::stamp(
                part,
                Header { campaign: salt, file: number, offset, generation, body: 0 },
            );
            file.write_all_at(part, offset).map_err(|error| failed(offset, error))?;
            offset += bytes;
            done.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    let written = file.sync_all().map_err(|error| failed(disk.size_bytes, error));
    block::let_go(file, &disk.node);
    written
}
