//! What a disk holds, what of it is durable, and what is left of it when the power fails.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::shared::{Locks, Sharing};
use super::{DiskOperation, Fails, Plant, PlantedFault, planted};

/// What a disk writes whole or not at all, bytes.
const SECTOR: usize = 512;

/// Draws from one seed.
#[derive(Clone, Debug)]
pub struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The draws of that seed.
    pub fn new(seed: u64) -> Draws {
        Draws(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// A change of a file that no sync has covered yet.
#[derive(Clone, Debug)]
enum UnsyncedChange {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

impl UnsyncedChange {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            UnsyncedChange::Write { at, bytes } => put(to, *at, bytes),
            UnsyncedChange::Length(length) => to.resize(*length, 0),
        }
    }

    /// Any of its sectors, and no others.
    fn tear(&self, to: &mut Vec<u8>, draws: &mut Draws) {
        let UnsyncedChange::Write { at, bytes } = self else { return self.apply(to) };
        let mut from = 0;
        while from < bytes.len() {
            let until = bytes.len().min(from + SECTOR - (at + from) % SECTOR);
            if draws.once_in(2) {
                put(to, at + from, &bytes[from..until]);
            }
            from = until;
        }
    }
}

fn put(to: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[at..end].copy_from_slice(bytes);
}

/// A file, whatever it is called.
#[derive(Clone, Debug, Default)]
struct Contents {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// What makes the one of the other, in order.
    pending: Vec<UnsyncedChange>,
}

impl Contents {
    /// What is there when the power comes back.
    fn survivors(&self, draws: &mut Draws) -> Vec<u8> {
        let mut left = self.durable.clone();
        let whole = draws.below(self.pending.len() as u64 + 1) as usize;
        let way = draws.below(5);
        for (place, change) in self.pending.iter().enumerate() {
            match way {
                0 => {}
                1 => change.apply(&mut left),
                2 if place < whole => change.apply(&mut left),
                2 if place == whole => change.tear(&mut left, draws),
                2 => {}
                3 if draws.once_in(2) => change.apply(&mut left),
                3 => {}
                _ => change.tear(&mut left, draws),
            }
        }
        left
    }
}

/// A change of the folder that no sync has covered yet.
#[derive(Clone, Debug)]
struct Naming {
    name: String,
    /// Nothing where it was removed.
    file: Option<usize>,
}

impl Naming {
    fn apply(&self, to: &mut BTreeMap<String, usize>) {
        match self.file {
            Some(file) => to.insert(self.name.clone(), file),
            None => to.remove(&self.name),
        };
    }
}

/// One folder of files.
#[derive(Debug)]
pub struct Disk {
    files: Vec<Contents>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pending_names: Vec<Naming>,
    faults: Vec<PlantedFault>,
    /// How many changes go well before the power fails.
    cut_after: Option<u64>,
    dead: bool,
    /// How many acts failed.
    failed: u64,
    trace: u64,
    draws: Draws,
    pub(super) locks: BTreeMap<usize, Locks>,
    pub(super) sharing: BTreeMap<usize, Sharing>,
    pub(super) handles: u64,
}

impl Disk {
    /// An empty one.
    pub fn new(seed: u64) -> Disk {
        Disk {
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            faults: Vec::new(),
            cut_after: None,
            dead: false,
            failed: 0,
            trace: 0xcbf2_9ce4_8422_2325,
            draws: Draws::new(seed),
            locks: BTreeMap::new(),
            sharing: BTreeMap::new(),
            handles: 0,
        }
    }

    /// Puts a durable file there.
    pub fn place(&mut self, name: &str, bytes: &[u8]) {
        let (now, durable, pending) = (bytes.to_vec(), bytes.to_vec(), Vec::new());
        self.files.push(Contents { now, durable, pending });
        self.names.insert(name.to_owned(), self.files.len() - 1);
        self.durable_names.insert(name.to_owned(), self.files.len() - 1);
    }

    /// The files and what is in them now.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.names.iter().map(|(name, file)| (name.as_str(), self.files[*file].now.as_slice()))
    }

    /// Acts will fail.
    pub fn plan(&mut self, fault: PlantedFault) {
        self.faults.push(fault);
    }

    /// The power fails within the change after so many more.
    pub fn cut_after(&mut self, changes: u64) {
        self.cut_after = Some(changes);
    }

    /// The power fails now.
    pub fn cut_now(&mut self) {
        self.dead = true;
    }

    /// Nothing fails any more; tells how many acts did.
    pub fn heal(&mut self) -> u64 {
        self.faults.clear();
        self.cut_after = None;
        std::mem::take(&mut self.failed)
    }

    /// Whether the power has failed.
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Differs when anything else was asked, or answered.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    pub(super) fn random(&mut self, bytes: &mut [u8]) {
        self.draws.0.fill_bytes(bytes);
    }

    /// The disk as it is when the power comes back; this one stays dead.
    pub fn after_cut(&mut self) -> Disk {
        self.dead = true;
        let mut next = Disk::new(self.draws.0.next_u64());
        let mut names = self.durable_names.clone();
        let way = self.draws.below(3);
        for naming in &self.pending_names {
            if way == 1 || way == 2 && self.draws.once_in(2) {
                naming.apply(&mut names);
            }
        }
        for (name, file) in &names {
            let left = self.files[*file].survivors(&mut self.draws);
            next.place(name, &left);
        }
        next.trace = self.trace;
        next
    }

    /// The disk as it is when all programs were killed: what they wrote is there, and no more
    /// durable than before. This one stays dead.
    pub fn after_kill(&mut self) -> Disk {
        self.dead = true;
        Disk {
            files: self.files.clone(),
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            pending_names: self.pending_names.clone(),
            trace: self.trace,
            ..Disk::new(self.draws.0.next_u64())
        }
    }

    /// Notes an act, and tells how it fails when it does. A change within which the power fails
    /// gives `Err` with the disk dead.
    pub(super) fn begin(&mut self, act: DiskOperation, of: u64, size: u64) -> Result<(), Fails> {
        for word in [act as u64, of, size, u64::from(self.dead)] {
            self.trace = (self.trace ^ word).wrapping_mul(0x0100_0000_01b3);
        }
        if self.dead {
            return Err(Fails::Broken);
        }
        for fault in self.faults.iter_mut().filter(|fault| fault.act == act && fault.times > 0) {
            if fault.after > 0 {
                fault.after -= 1;
                continue;
            }
            fault.times -= 1;
            self.failed += 1;
            self.trace = self.trace.rotate_left(7);
            return Err(fault.how);
        }
        Ok(())
    }

    /// Counts a change that has been taken down; false when the power failed with it.
    fn changed(&mut self) -> bool {
        match &mut self.cut_after {
            Some(0) => self.dead = true,
            Some(left) => *left -= 1,
            None => {}
        }
        !self.dead
    }

    /// The file of that name; made when there is none and it may be.
    pub fn open(&mut self, name: &str, make: bool) -> Result<Option<usize>, Fails> {
        self.begin(DiskOperation::Open, name.len() as u64, u64::from(make))?;
        if let Some(file) = self.names.get(name) {
            return Ok(Some(*file));
        }
        if !make {
            return Ok(None);
        }
        let file = self.unnamed();
        self.name(Naming { name: name.to_owned(), file: Some(file) })?;
        Ok(Some(file))
    }

    /// A file without a name.
    pub(super) fn unnamed(&mut self) -> usize {
        self.files.push(Contents::default());
        self.files.len() - 1
    }

    fn name(&mut self, naming: Naming) -> Result<(), Fails> {
        naming.apply(&mut self.names);
        self.pending_names.push(naming);
        if self.changed() { Ok(()) } else { Err(Fails::Broken) }
    }

    /// Removes a name; false when there is none.
    pub fn remove(&mut self, name: &str) -> Result<bool, Fails> {
        self.begin(DiskOperation::Name, name.len() as u64, 0)?;
        if !self.names.contains_key(name) {
            return Ok(false);
        }
        self.name(Naming { name: name.to_owned(), file: None }).map(|()| true)
    }

    /// Makes the names durable.
    pub fn sync_folder(&mut self) -> Result<(), Fails> {
        self.begin(DiskOperation::SyncFolder, 0, 0)?;
        if planted(Plant::FolderNotSynced) {
            return Ok(());
        }
        self.pending_names.clear();
        self.durable_names = self.names.clone();
        Ok(())
    }

    /// Whether there is such a file with anything in it.
    pub(super) fn holds(&mut self, name: &str) -> Result<bool, Fails> {
        self.begin(DiskOperation::Look, name.len() as u64, 0)?;
        Ok(self.names.get(name).is_some_and(|file| !self.files[*file].now.is_empty()))
    }

    pub(super) fn length(&mut self, file: usize) -> Result<usize, Fails> {
        self.begin(DiskOperation::Look, file as u64, 1)?;
        Ok(self.files[file].now.len())
    }

    /// Fills `into` from there; bytes beyond the end are 0. Tells how many there were.
    pub(super) fn read(&mut self, file: usize, at: usize, into: &mut [u8]) -> Result<usize, Fails> {
        self.begin(DiskOperation::Read, (file as u64) << 40 | at as u64, into.len() as u64)?;
        let there = self.files[file].now.get(at..).unwrap_or_default();
        let count = there.len().min(into.len());
        into[..count].copy_from_slice(&there[..count]);
        into[count..].fill(0);
        Ok(count)
    }

    /// Writes there.
    pub fn write(&mut self, file: usize, at: usize, bytes: &[u8]) -> Result<(), Fails> {
        let begun =
            self.begin(DiskOperation::Write, (file as u64) << 40 | at as u64, bytes.len() as u64);
        let half = &bytes[..bytes.len() / 2];
        match begun {
            Err(_) if self.dead => return Err(Fails::Broken),
            Err(_) if planted(Plant::WriteErrorLost) => return Ok(()),
            Err(Fails::Full) => {
                let change = UnsyncedChange::Write { at, bytes: half.to_vec() };
                self.change(file, change)?;
                return Err(Fails::Full);
            }
            Err(how) => return Err(how),
            Ok(()) => {}
        }
        let short = planted(Plant::ShortWrite) && self.draws.once_in(40);
        let bytes = if short { half } else { bytes };
        self.change(file, UnsyncedChange::Write { at, bytes: bytes.to_vec() })
    }

    /// Cuts a file, or lengthens it with zeros.
    pub fn truncate(&mut self, file: usize, length: usize) -> Result<(), Fails> {
        self.begin(DiskOperation::Truncate, file as u64, length as u64)?;
        self.change(file, UnsyncedChange::Length(length))
    }

    fn change(&mut self, file: usize, change: UnsyncedChange) -> Result<(), Fails> {
        let contents = &mut self.files[file];
        change.apply(&mut contents.now);
        contents.pending.push(change);
        if self.changed() { Ok(()) } else { Err(Fails::Broken) }
    }

    /// Makes a file durable. Within this the power may fail before or after it is.
    pub fn sync(&mut self, file: usize) -> Result<(), Fails> {
        self.begin(DiskOperation::Sync, file as u64, 0)?;
        let before = self.cut_after == Some(0) && self.draws.once_in(2);
        let lies = planted(Plant::SyncLies) && self.draws.once_in(3);
        if !before && !lies {
            let contents = &mut self.files[file];
            for change in contents.pending.drain(..) {
                change.apply(&mut contents.durable);
            }
        }
        if self.changed() { Ok(()) } else { Err(Fails::Broken) }
    }
}
