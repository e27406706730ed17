//! One client: goes through the program, over and over, and holds each outcome against the one that
//! the loadfile expects.

use std::os::fd::OwnedFd;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::disk::{ClientPath, Disk, ReplayOptions, close};
use super::loadfile::{Disposition, LoadfileLine, Status, Verb};
use super::program::{Program, Step, kind};
use crate::engine::clients::source::WriteContent;
use crate::engine::clients::tally::ClientTally;
use crate::engine::clients::worker::ClientTrial;
use crate::engine::clients::{Client, ClientResult, ClientStep, carry, stand_alone};
use crate::engine::load::protocol::{Failure, LoadFailure};
use base::pattern::Data;
use experiment::measurement::Operation;

/// The load of a replay: what all its clients share.
#[derive(Debug)]
pub struct ReplayLoad {
    /// What they go through.
    pub program: Program,
    /// Where it comes from, for messages.
    pub name: String,
    /// What is done besides.
    pub manner: ReplayOptions,
    /// What is written.
    pub data: Data,
}

/// The thread of client `index`.
///
/// # Errors
/// With the operation that failed, or did not fail as it should.
pub fn run(trial: &ClientTrial<ReplayLoad>, index: usize) -> Result<ClientResult, LoadFailure> {
    stand_alone()?;
    let mut client = ReplayClient::new(trial, index)?;
    carry(&mut client, &trial.terms, &trial.shared, index)
}

/// One client that goes through the program.
struct ReplayClient<'a> {
    work: &'a ReplayLoad,
    disk: Disk,
    names: Vec<ClientPath>,
    slots: Vec<Option<OwnedFd>>,
    /// What is written, and where reads go.
    source: WriteContent,
    sink: Vec<u8>,
    next: usize,
}

impl<'a> ReplayClient<'a> {
    fn new(
        trial: &'a ClientTrial<ReplayLoad>,
        index: usize,
    ) -> Result<ReplayClient<'a>, LoadFailure> {
        let work = &trial.work;
        let place = trial.place(index);
        let disk = Disk::new(&place, work.manner)
            .map_err(|why| (Failure::Failed, format!("cannot open {}: {why}", place.display())))?;
        let names: Option<Vec<ClientPath>> =
            work.program.paths_of(index).iter().map(|path| ClientPath::new(path)).collect();
        let names = names.ok_or((Failure::Failed, "a path has a NUL in it".to_owned()))?;
        let size = work.program.size_max;
        Ok(ReplayClient {
            work,
            disk,
            names,
            slots: (0..work.program.slots).map(|_| None).collect(),
            source: WriteContent::new(work.data, trial.spec.campaign, index, size),
            sink: vec![0; size],
            next: 0,
        })
    }

    /// Does what a step says; the bytes that came.
    fn perform(&mut self, step: &Step, tally: &mut ClientTally<'_>) -> Result<u64, Errno> {
        let name = |path: u32| &self.names[path as usize];
        let slot =
            |slot: u32| self.slots.get(slot as usize).and_then(Option::as_ref).ok_or(Errno::BADF);
        match step.line.verb {
            Verb::Create { path, directory, disposition, handle } => {
                self.open(path, directory, disposition, handle)?;
            }
            Verb::Close(handle) => {
                let open = self.slots.get_mut(handle as usize).and_then(Option::take);
                close(open.ok_or(Errno::BADF)?)?;
            }
            Verb::Rename(from, to) => self.disk.rename(name(from), name(to))?,
            Verb::Unlink(path) => self.disk.unlink(name(path))?,
            Verb::Deltree(path) => self.disk.deltree(name(path))?,
            Verb::Rmdir(path) => self.disk.rmdir(name(path))?,
            Verb::Mkdir(path) => self.disk.mkdir(name(path))?,
            Verb::PathInfo(path) => self.disk.path_info(name(path))?,
            Verb::FileInfo(handle) => drop(rustix::fs::fstat(slot(handle)?)?),
            Verb::FsInfo => self.disk.fs_info()?,
            Verb::SetFileInfo(handle) => self.disk.set_times(slot(handle)?, name(step.path))?,
            Verb::Find(path, most) => self.disk.find(name(path), most)?,
            Verb::Write { handle, offset, size } => {
                let (bytes, marked) = self.source.bytes(step.path, offset, size as usize);
                if marked {
                    tally.mark();
                }
                self.disk.write(slot(handle)?, bytes, offset)?;
            }
            Verb::Read { handle, offset, size, .. } => {
                let bytes = &mut self.sink[..size as usize];
                return Ok(rustix::io::pread(slot(handle)?, bytes, offset)? as u64);
            }
            Verb::Lock { handle, offset, size, unlock } => {
                self.disk.lock(slot(handle)?, offset, size, unlock)?;
            }
            Verb::Flush(handle) => rustix::fs::fsync(slot(handle)?)?,
        }
        Ok(0)
    }

    fn open(
        &mut self,
        path: u32,
        directory: bool,
        disposition: Disposition,
        slot: u32,
    ) -> Result<(), Errno> {
        let name = &self.names[path as usize];
        let opened = match (directory, disposition) {
            (true, Disposition::Open) => self.disk.open_directory(name, false),
            (true, _) => self.disk.open_directory(name, true),
            (false, Disposition::Open) => self.disk.open(name, OFlags::empty()),
            (false, Disposition::Make) => self.disk.open(name, OFlags::CREATE),
            (false, Disposition::Empty) => self.disk.open(name, OFlags::CREATE | OFlags::TRUNC),
        }?;
        match self.slots.get_mut(slot as usize) {
            Some(slot) => *slot = Some(opened),
            // It should have failed: there is no handle for it, and the trial is about to fail.
            None => close(opened)?,
        }
        Ok(())
    }

    /// Closes what the loadfile leaves open, as the next round opens it anew. That is no operation
    /// of the loadfile, and no part of the next one.
    fn close_all(&mut self, tally: &mut ClientTally<'_>) -> Result<(), LoadFailure> {
        for file in self.slots.iter_mut().filter_map(Option::take) {
            close(file).map_err(|why| {
                let why = std::io::Error::from(why);
                let what = "what the loadfile leaves open at its end";
                (Failure::Failed, format!("cannot close {what}: {why}"))
            })?;
            tally.mark();
        }
        Ok(())
    }

    fn unmet(&self, step: &Step, outcome: &str) -> LoadFailure {
        let LoadfileLine { number, verb, status } = step.line;
        let path = |path: u32| self.names[path as usize].path.to_string_lossy().into_owned();
        let of = match verb {
            Verb::Create { path: of, .. }
            | Verb::Rename(of, _)
            | Verb::Unlink(of)
            | Verb::Deltree(of)
            | Verb::Rmdir(of)
            | Verb::Mkdir(of)
            | Verb::PathInfo(of)
            | Verb::Find(of, _) => path(of),
            _ => path(step.path),
        };
        let what = format!(
            "{} line {number}: {} of {of} came out otherwise than the loadfile says ({status}): \
             {outcome}",
            self.work.name,
            kind(&step.line).name(),
        );
        (Failure::Failed, what)
    }
}

impl Client for ReplayClient<'_> {
    fn step(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        let step = self.work.program.steps[self.next];
        let outcome = self.perform(&step, tally);
        match step.line.verb {
            Verb::Read { .. } => tally.read(*outcome.as_ref().unwrap_or(&0)),
            Verb::Write { size, .. } => {
                tally.wrote(if outcome.is_ok() { u64::from(size) } else { 0 });
            }
            _ => tally.metadata(kind(&step.line)),
        }
        if !is_met(&step.line, &outcome) {
            let outcome = match outcome {
                Ok(bytes) if matches!(step.line.verb, Verb::Read { .. }) => {
                    format!("{bytes} bytes came")
                }
                Ok(_) => "it was done".to_owned(),
                Err(why) => std::io::Error::from(why).to_string(),
            };
            return Err(self.unmet(&step, &outcome));
        }
        self.next += 1;
        if self.next < self.work.program.steps.len() {
            return Ok(ClientStep::Part);
        }
        self.next = 0;
        self.source.begin_generation();
        self.close_all(tally)?;
        Ok(ClientStep::Round)
    }

    fn kinds(&self) -> Vec<Operation> {
        self.work.program.kinds()
    }
}

/// Whether an outcome is the one that the loadfile expects.
fn is_met(line: &LoadfileLine, outcome: &Result<u64, Errno>) -> bool {
    let bytes = match line.verb {
        Verb::Read { comes, .. } => u64::from(comes),
        _ => 0,
    };
    match (line.status, outcome) {
        (Status::Any, _) => true,
        (Status::Done, outcome) => *outcome == Ok(bytes),
        (_, Ok(_)) => false,
        (Status::Absent, Err(why)) => matches!(*why, Errno::NOENT | Errno::NOTDIR),
        (Status::Present, Err(why)) => *why == Errno::EXIST,
        (Status::Denied, Err(why)) => matches!(*why, Errno::ACCESS | Errno::PERM),
        (Status::NotEmpty, Err(why)) => matches!(*why, Errno::NOTEMPTY | Errno::EXIST),
        (Status::IsDirectory, Err(why)) => *why == Errno::ISDIR,
        (Status::NotDirectory, Err(why)) => *why == Errno::NOTDIR,
    }
}
