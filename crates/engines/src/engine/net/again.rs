//! What another end says of blocks that came wrong there, looked at where the files are: each place
//! is read again at once, so that a fault of the disk is told from one of the way.
//!
//! It takes a thread of its own, which does nothing as long as nothing is wrong.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::due::WrongBlock;
use super::served::SentFiles;
use super::work::{NetLoad, lock};
use crate::engine::Error;
use crate::engine::file::check::{BlockCheck, Check};
use experiment::measurement::Integrity;

/// The thread that reads again what came wrong at the other end.
pub struct RereadThread(JoinHandle<Result<Vec<Integrity>, Error>>);

/// Has what comes to the sender looked at, for as long as there is one; `None` where nothing of
/// this work is checked.
///
/// # Errors
/// When there is no thread for it.
pub fn begin(work: &Arc<NetLoad>) -> Result<Option<(Sender<WrongBlock>, RereadThread)>, Error> {
    let checks = |served: &SentFiles| served.job.verify.is_some();
    if !work.served.as_ref().is_some_and(checks) {
        return Ok(None);
    }
    let (sender, wrong) = channel();
    let own = work.clone();
    let looks = std::thread::Builder::new().name("again".to_owned());
    let looks = looks.spawn(move || look(&own, &wrong));
    let looks = looks.map_err(|why| Error::Failed(format!("cannot start a thread: {why}")))?;
    Ok(Some((sender, RereadThread(looks))))
}

impl RereadThread {
    /// Waits until all is looked at that was told, and keeps what was found beside `theirs`, which
    /// is what the other end counted.
    ///
    /// # Errors
    /// When the other end counted nothing, or told of what was never sent.
    pub fn end(self, work: &NetLoad, theirs: Option<Integrity>) -> Result<(), Error> {
        let ended = || Error::Failed("the thread that reads wrong blocks again ended".to_owned());
        let found = self.0.join().map_err(|_| ended())??;
        let none = || Error::Failed("the other end does not say what it checked".to_owned());
        let theirs = theirs.ok_or_else(none)?;
        if let Some(served) = &work.served {
            let mut all = lock(&served.found);
            all.push(theirs);
            all.extend(found);
        }
        Ok(())
    }
}

/// Looks at each until no more come.
fn look(work: &NetLoad, wrong: &Receiver<WrongBlock>) -> Result<Vec<Integrity>, Error> {
    let Some((served, format)) = work.served.as_ref().and_then(|it| Some((it, it.job.verify?)))
    else {
        return Ok(Vec::new());
    };
    let of = |index| BlockCheck::new(served.ground(&work.shared), format, index);
    let mut all: Vec<BlockCheck<'_>> = (0..served.streams.len()).map(of).collect();
    let block = served.job.block_bytes;
    while let Ok(wrong) = wrong.recv() {
        let (WrongBlock { stream, file, offset, .. }, found) = (&wrong, wrong.found());
        let sent = served.streams.get(*stream).is_some_and(|files| {
            *file < files.files.len() as u64 && offset / block < files.blocks_per_file
        });
        match (all.get_mut(*stream), found) {
            (Some(blocks), Some(found))
                if sent
                    && found.len() == format.block_bytes
                    && offset.is_multiple_of(format.block_bytes as u64) =>
            {
                let request = (offset - offset % block, block as usize);
                blocks.look_at_told(&found, *file as u32, *offset, request);
            }
            _ => {
                let what = "the other end tells of a block that was never sent";
                return Err(Error::Failed(what.to_owned()));
            }
        }
    }
    Ok(all.into_iter().filter_map(Check::found).collect())
}
