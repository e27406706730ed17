//! One schedule: a campaign on a disk that fails, from its start through faults and power cuts to
//! its resumption, all of it decided by one number.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::OnceLock;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::model::{State, Step, sound};
use super::trials;
use crate::connect::{How, connect};
use crate::{APPLICATION_ID, MIGRATIONS, SEALED, Store, derived, schema, seal, write};
use experiment::campaign::Campaign;
use experiment::measurement::{Outcome, Record};
use host::sys::fire::{
    Disk, DiskOperation, Draws, Fails, MountedDisk, Plant, PlantedFault, Shortage, planted,
};

/// Where the store lies on its disk.
const STORE: &str = "/fire/a.db";
const NAMES: [&str; 4] = ["a.db", "a.db-wal", "a.db-journal", "a.db-shm"];
/// Trials in the plan.
const PLANNED: u32 = 5;

/// What a step of a run gave, or why that contradicts the model.
type StepResult<T> = Result<T, String>;

/// A store with a campaign in it, of every version of the schema; the last is today's.
pub(super) fn templates() -> &'static [Vec<u8>] {
    static TEMPLATES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    TEMPLATES.get_or_init(|| {
        // Whether a schedule is the first of its process must make no difference.
        schema::versions().expect("nothing fails");
        let mut templates: Vec<Vec<u8>> = (1..MIGRATIONS.len()).map(old).collect();
        templates.push(made(|| drop(Store::open(Path::new(STORE)).expect("nothing fails"))));
        templates
    })
}

/// What a store's file holds once it is closed.
fn made(make: impl FnOnce()) -> Vec<u8> {
    let disk = Rc::new(RefCell::new(Disk::new(0)));
    let mounted = MountedDisk::new(&disk);
    make();
    drop(mounted);
    let disk = disk.borrow();
    let file = disk.files().find(|(name, _)| *name == NAMES[0]);
    file.map(|(_, bytes)| bytes.to_vec()).expect("it was made")
}

fn old(version: usize) -> Vec<u8> {
    made(|| {
        let (connection, _) = connect(Path::new(STORE), How::Write).expect("nothing fails");
        connection.pragma_update(None, "journal_mode", "WAL").expect("nothing fails");
        connection.execute_batch(&MIGRATIONS[..version].join("\n")).expect("nothing fails");
        connection.pragma_update(None, "application_id", APPLICATION_ID).expect("as above");
        connection.pragma_update(None, "user_version", version as i32).expect("as above");
        let insert = "INSERT INTO campaign (uid, plan, engine, host, started_unix_ns, seed,
                version, argv, inventory, not_bought)
            VALUES ('u', 'p', 'file', 'h', 1, 1, '0', '[]', 'null', '[]');
            INSERT INTO trial (campaign, number, replicate, cell_group, first_file, seed, settings,
                outcome, started_unix_ns, elapsed_ns, streams, evidence)
            VALUES (1, 1, 1, 'g', 0, 1, '{}', 'done', 5, 6, '[]', '{}'),
                (1, 2, 1, 'g', 0, 1, '{}', 'skipped', 5, 6, '[]', '{}');
            INSERT INTO note VALUES (1, 'k', 'a word');";
        connection.execute_batch(insert).expect("nothing fails");
        if version >= SEALED {
            seal::all_as_found(&connection).expect("nothing fails");
        }
    })
}

/// Memory that runs out while figures are computed of a first trial, after so many pieces: whether
/// a second one, said to be kept, outlives a power cut, and how many pieces were refused.
pub(super) fn second_outlives(after: u64) -> (bool, u64) {
    let mut disk = Disk::new(after);
    disk.place(NAMES[0], &templates()[templates().len() - 1]);
    let disk = Rc::new(RefCell::new(disk));
    let mut mounted = MountedDisk::new(&disk);
    let mut draws = Draws::new(1);
    let mut small = |number: u32| {
        let record = trials::record(&mut draws, number, number);
        Record { outcome: Outcome::Skipped("small".into()), ..record }
    };
    let mut store = Store::open(Path::new(STORE)).expect("nothing fails");
    let of = Campaign { uid: "u".into(), ..Campaign::default() };
    let campaign = store.begin(&of).expect("nothing fails");
    let shortage = Shortage::begin(after, 1);
    let _ = store.append(campaign, &small(1));
    let refused = shortage.refused();
    drop(shortage);
    let kept = store.append(campaign, &small(2)).is_ok();
    let next = Rc::new(RefCell::new(disk.borrow_mut().after_cut()));
    drop(store);
    mounted.change(&next);
    let store = Store::open(Path::new(STORE)).expect("nothing fails");
    let there = store.record(campaign, 2).expect("nothing fails").is_some();
    (there || !kept, refused)
}

/// Whether a store opens whose folder cannot be made safe.
pub(super) fn opens_in_a_broken_folder() -> bool {
    let disk = Rc::new(RefCell::new(Disk::new(1)));
    let _mounted = MountedDisk::new(&disk);
    let (act, how) = (DiskOperation::SyncFolder, Fails::Broken);
    disk.borrow_mut().plan(PlantedFault { act, after: 0, times: u64::MAX, how });
    Store::open(Path::new(STORE)).is_ok()
}

/// A schedule on its way.
pub(super) struct Run {
    draws: Draws,
    disk: Rc<RefCell<Disk>>,
    mounted: MountedDisk,
    /// What readers must see now.
    now: State,
    /// What may be there when the power comes back.
    may: Vec<State>,
    /// Campaigns that were begun.
    begun: u64,
    /// What goes wrong first, where that is not drawn.
    first: Option<Trouble>,
    /// Faults that struck, cuts among them.
    struck: u64,
    /// What happened.
    log: Vec<String>,
}

/// Connections of one life, from opening to the end of it.
struct Life {
    store: Store,
    /// Whether what it keeps may be lost with the power, as it was told.
    weak: bool,
    other: Option<Store>,
    /// Somebody who reads, and how many trials there were when that began.
    reader: Option<(Connection, i64)>,
    shortage: Option<Shortage>,
}

/// What goes wrong in a life.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    /// The power fails within the change after so many.
    Cut(u64),
    /// The disk fails.
    Disk(PlantedFault),
    /// After so many pieces of memory so many are refused.
    Memory(u64, u64),
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Cut,
    Kill,
    Close,
}

/// Runs the schedule of that seed; gives what tells it from others, and how many faults struck.
/// With `first` that goes wrong in its first life, which is the only one then.
pub(super) fn schedule(seed: u64, first: Option<Trouble>) -> StepResult<(u64, u64)> {
    let mut run = Run::new(seed, first);
    run.whole().map_err(|why| format!("{why}\n{}", run.log.join("\n")))?;
    let trace = run.disk.borrow().trace();
    Ok((trace, run.struck))
}

/// What happens in the schedule of that seed.
pub(super) fn story(seed: u64) -> String {
    let mut run = Run::new(seed, None);
    let _ = run.whole();
    run.log.join("\n")
}

fn said(what: &str) -> impl Fn(host::sys::Error) -> String {
    move |error| format!("{what}: {error}")
}

impl Run {
    fn new(seed: u64, first: Option<Trouble>) -> Run {
        let mut draws = Draws::new(seed);
        let mut disk = Disk::new(draws.below(u64::MAX));
        let all = templates();
        match draws.below(16) {
            0 | 1 => {}
            2..4 => disk.place(NAMES[0], &all[draws.below(all.len() as u64 - 1) as usize]),
            _ => disk.place(NAMES[0], &all[all.len() - 1]),
        }
        let disk = Rc::new(RefCell::new(disk));
        let mounted = MountedDisk::new(&disk);
        let (now, may, log) = (State::default(), Vec::new(), Vec::new());
        Run { draws, disk, mounted, now, may, begun: 0, first, struck: 0, log }
    }

    fn whole(&mut self) -> StepResult<()> {
        self.start()?;
        let lives = 1 + self.draws.below(3);
        for _ in 0..if self.first.is_some() { 1 } else { lives } {
            self.live()?;
        }
        self.resume()
    }

    /// What is there before anything happens: read from a copy that is brought up to date.
    fn start(&mut self) -> StepResult<()> {
        let copy = Rc::new(RefCell::new(Disk::new(0)));
        for (name, bytes) in self.disk.borrow().files() {
            copy.borrow_mut().place(name, bytes);
        }
        self.mounted.change(&copy);
        let old = copy.borrow().files().next().is_some();
        if old {
            let store = Store::open(Path::new(STORE)).map_err(said("cannot open the old one"))?;
            self.now = State::read(&store).map_err(said("cannot read the old one"))?;
        }
        self.begun = self.now.campaigns().len() as u64;
        self.may = vec![self.now.clone()];
        self.mounted.change(&self.disk);
        Ok(())
    }

    /// Opens the store; `None` when that failed.
    fn open(&mut self) -> StepResult<Option<Life>> {
        let shortage = self.trouble();
        let opened = Store::open(Path::new(STORE));
        let store = match opened {
            Ok(store) => store,
            Err(error) => {
                let struck = shortage.as_ref().is_some_and(|it| it.refused() > 0);
                drop(shortage);
                let mut disk = self.disk.borrow_mut();
                let struck = disk.heal() > 0 || struck || disk.is_dead();
                self.struck += u64::from(struck);
                return if struck { Ok(None) } else { Err(format!("cannot open: {error}")) };
            }
        };
        let weaken = |store: &Store| {
            if planted(Plant::CommitBeforeSync) {
                let _ = store.connection.pragma_update(None, "synchronous", "OFF");
            }
            if planted(Plant::ComputedStays) {
                let of = DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
                let _ = store.connection.set_db_config(of, false);
            }
        };
        weaken(&store);
        // Logs of some pages, so that they are copied back again and again.
        let pages = [5, 20, 1000][self.draws.below(3) as usize];
        let _ = store.connection.pragma_update(None, "wal_autocheckpoint", pages);
        Ok(Some(Life { store, weak: false, other: None, reader: None, shortage }))
    }

    /// Has something go wrong in this life, or nothing.
    fn trouble(&mut self) -> Option<Shortage> {
        let drawn = self.draw_trouble();
        let trouble = self.first.take().or(drawn);
        self.log.push(format!("{trouble:?}"));
        let mut disk = self.disk.borrow_mut();
        match trouble? {
            Trouble::Cut(after) => disk.cut_after(after),
            Trouble::Disk(fault) => disk.plan(fault),
            Trouble::Memory(after, times) => return Some(Shortage::begin(after, times)),
        }
        None
    }

    fn draw_trouble(&mut self) -> Option<Trouble> {
        let draws = &mut self.draws;
        let scale = 1 << (2 + draws.below(8));
        let times = [1, 1, 2, u64::MAX][draws.below(4) as usize];
        match draws.below(10) {
            0..4 => Some(Trouble::Cut(draws.below(scale))),
            4..7 => {
                let act = DiskOperation::ALL[draws.below(DiskOperation::ALL.len() as u64) as usize];
                let how = if draws.once_in(2) { Fails::Full } else { Fails::Broken };
                Some(Trouble::Disk(PlantedFault { act, after: draws.below(scale), times, how }))
            }
            7 | 8 => Some(Trouble::Memory(draws.below(4 * scale), times)),
            _ => None,
        }
    }

    /// From opening to a cut, a kill, or a clean end, and the check after it.
    fn live(&mut self) -> StepResult<()> {
        let mut end = [End::Cut, End::Kill, End::Close][self.draws.below(3) as usize];
        if let Some(mut life) = self.open()? {
            for _ in 0..2 + self.draws.below(7) {
                if !self.step(&mut life)? || self.disk.borrow().is_dead() {
                    break;
                }
            }
            let refused = life.shortage.take().map_or(0, |shortage| shortage.refused());
            self.struck += refused + u64::from(self.disk.borrow().is_dead());
            if end != End::Close {
                self.disk.borrow_mut().cut_now();
            }
        }
        if self.disk.borrow().is_dead() && end == End::Close {
            end = End::Cut;
            self.struck += 1;
        }
        let healed = self.disk.borrow_mut().heal();
        self.struck += healed;
        let next = match end {
            End::Close => None,
            End::Kill => Some(self.disk.borrow_mut().after_kill()),
            End::Cut => Some(self.disk.borrow_mut().after_cut()),
        };
        if let Some(next) = next {
            self.disk = Rc::new(RefCell::new(next));
            self.mounted.change(&self.disk);
        }
        self.log.push(format!("{end:?}"));
        self.check(end)
    }

    /// Looks at what is left, without faults.
    fn check(&mut self, end: End) -> StepResult<()> {
        let mut store = Store::open(Path::new(STORE)).map_err(said("cannot open what is left"))?;
        let state = State::read(&store).map_err(said("cannot read what is left"))?;
        let expected = match end {
            End::Cut => self.may.contains(&state),
            End::Kill | End::Close => self.now == state || self.may.last() == Some(&state),
        };
        if !expected {
            let (is, due) = (state.told(), self.now.told());
            return Err(format!("after {end:?} there is\n  {is}\nand there should be\n  {due}"));
        }
        match end {
            // What is read from a disk that was off is on it.
            End::Cut => self.may = vec![state.clone()],
            End::Kill | End::Close => self.may.push(state.clone()),
        }
        self.now = state;
        sound(&mut store, self.draws.once_in(4))?;
        let disk = self.disk.borrow();
        match disk.files().find(|(name, _)| !NAMES.contains(name)) {
            Some((name, _)) => Err(format!("there is a file {name}")),
            None => Ok(()),
        }
    }

    /// One thing that somebody does; false when this life is over.
    fn step(&mut self, life: &mut Life) -> StepResult<bool> {
        match self.draws.below(20) {
            0 => self.tell_weak(life),
            1 => self.read_beside(life),
            2 => self.write_beside(life),
            3 => {
                let _ = derived::fill(&mut life.store.connection, &mut |_, _| {});
                Ok(true)
            }
            4 => {
                let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
                let _ = life.store.connection.query_row(sql, [], |_| Ok(()));
                Ok(true)
            }
            5 => {
                // Another run on the same store; the same plan or not.
                life.other = match life.other.take() {
                    None => Store::open(Path::new(STORE)).ok(),
                    Some(_) => None,
                };
                Ok(true)
            }
            _ => {
                let step = self.next_step();
                self.take(life, step)
            }
        }
    }

    fn next_step(&mut self) -> Step {
        let campaigns = self.now.campaigns();
        let new = campaigns.is_empty() || self.begun < 3 && self.draws.once_in(8);
        if new {
            self.begun += 1;
            return Step::Begin(trials::campaign(&mut self.draws, self.begun));
        }
        let campaign = campaigns[self.draws.below(campaigns.len() as u64) as usize];
        let last = self.now.last(campaign);
        let mut record = |number: u32| {
            let planned = 1 + self.draws.below(u64::from(PLANNED)) as u32;
            Box::new(trials::record(&mut self.draws, number, planned))
        };
        let next = record(last + 1);
        let any = 1 + self.draws.below(u64::from(last) + 1) as u32;
        match self.draws.below(12) {
            0 => Step::End(campaign),
            1 => Step::Reopen(campaign),
            2 => {
                let known = self.now.campaign(campaign).cloned().unwrap_or_default();
                let inventory = serde_json::json!({ "cpus": self.draws.below(64) });
                Step::Update(Campaign { inventory, ..known })
            }
            3..6 => {
                let planned = next.trial.planned.unwrap_or(1);
                Step::Renew(campaign, Box::new(trials::record(&mut self.draws, any, planned)))
            }
            _ => Step::Append(campaign, next),
        }
    }

    /// Takes a step with one of the stores, and sees what became of it.
    fn take(&mut self, life: &mut Life, step: Step) -> StepResult<bool> {
        let beside = self.draws.once_in(3);
        let (store, weak) = match &mut life.other {
            Some(other) if beside => (other, false),
            _ => (&mut life.store, life.weak),
        };
        let result = step.take(store);
        self.log.push(format!("{} weak={weak}: {:?}", step.name(), result.as_ref().err()));
        let next = self.now.after(&step);
        if result.is_ok() || planted(Plant::StoreErrorLost) && !self.disk.borrow().is_dead() {
            self.kept(next, weak);
            return Ok(true);
        }
        // All of it may be there, or nothing.
        self.may.push(next.clone());
        if self.disk.borrow().is_dead() {
            return Ok(false);
        }
        let again = self.draws.once_in(2);
        let error = result.err().map(|error| error.to_string()).unwrap_or_default();
        self.heal(life, &error)?;
        if matches!(step, Step::Begin(_)) {
            // Nothing more can be kept in such a store: it is opened again.
            return Ok(false);
        }
        let state = State::read(&life.store).map_err(said("cannot read after an error"))?;
        if state != self.now && state != next {
            let (is, due) = (state.told(), self.now.told());
            return Err(format!("after {error} there is\n  {is}\nand there was\n  {due}"));
        }
        self.now = state;
        Ok(again)
    }

    /// Ends what goes wrong; something must have.
    fn heal(&mut self, life: &mut Life, error: &str) -> StepResult<()> {
        let refused = life.shortage.take().map_or(0, |shortage| shortage.refused());
        let struck = self.disk.borrow_mut().heal() + refused;
        self.struck += struck;
        if struck == 0 && life.reader.is_none() {
            return Err(format!("nothing was wrong, and yet: {error}"));
        }
        Ok(())
    }

    /// What changes nothing writes nothing, and makes nothing durable that was weakly kept before:
    /// SQLite leaves pages alone that hold what they are to hold (seed 8784).
    fn kept(&mut self, next: State, weak: bool) {
        if !weak && next != self.now {
            self.may.clear();
        }
        self.may.push(next.clone());
        self.now = next;
    }

    /// Whether trials can be repeated for nothing.
    fn tell_weak(&mut self, life: &mut Life) -> StepResult<bool> {
        let weak = self.draws.once_in(2);
        // What failed left it as it was.
        if life.store.repeatable(weak).is_ok() {
            life.weak = weak;
        }
        Ok(true)
    }

    /// Somebody else reads for a while: what there is stands still for them.
    fn read_beside(&mut self, life: &mut Life) -> StepResult<bool> {
        let count = |reader: &Connection| {
            reader.query_row("SELECT count(*) FROM trial", [], |row| row.get::<_, i64>(0))
        };
        match life.reader.take() {
            Some((reader, before)) => match count(&reader) {
                Ok(now) if now != before => Err(format!("a reader saw {before}, then {now}")),
                _ => Ok(true),
            },
            None => {
                life.reader = (|| {
                    let (reader, _) = connect(Path::new(STORE), How::Read).ok()?;
                    reader.execute_batch("BEGIN").ok()?;
                    let before = count(&reader).ok()?;
                    Some((reader, before))
                })();
                Ok(true)
            }
        }
    }

    /// Another program has begun to write: ours is told so, and does not write between.
    fn write_beside(&mut self, life: &mut Life) -> StepResult<bool> {
        if self.begun > 3 {
            return Ok(true);
        }
        let campaign = trials::campaign(&mut self.draws, self.begun + 1);
        let holder = connect(Path::new(STORE), How::Write).and_then(|(holder, _)| {
            holder.execute_batch("BEGIN IMMEDIATE")?;
            write::campaign(&holder, &campaign)?;
            Ok(holder)
        });
        let Ok(holder) = holder else { return Ok(!self.disk.borrow().is_dead()) };
        self.begun += 1;
        let step = self.next_step();
        if step.take(&mut life.store).is_ok() {
            return Err("two programs wrote at once".into());
        }
        let next = self.now.after(&Step::Begin(campaign));
        match holder.execute_batch("COMMIT") {
            // SQLite's own promise of a new connection is FULL.
            Ok(()) => self.kept(next, false),
            Err(_) => {
                self.may.push(next);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on where it ended, without faults: in the end all that was planned is there.
    fn resume(&mut self) -> StepResult<()> {
        let mut store = Store::open(Path::new(STORE)).map_err(said("cannot resume"))?;
        let left = store.unfinished(trials::PLAN).map_err(said("cannot resume"))?;
        let (campaign, over, mut number) = match left {
            Some(left) => (left.campaign.id, left.over, left.trials),
            None => {
                let step = Step::Begin(trials::campaign(&mut self.draws, 9));
                step.take(&mut store).map_err(said("cannot begin"))?;
                self.now = self.now.after(&step);
                (self.now.campaigns().last().copied().unwrap_or(1), Default::default(), 0)
            }
        };
        for planned in (1..=PLANNED).filter(|planned| !over.contains(planned)) {
            number += 1;
            let mut record = trials::record(&mut self.draws, number, planned);
            if matches!(record.outcome, Outcome::Interrupted) {
                record.outcome = Outcome::Skipped("at last".into());
            }
            let step = Step::Append(campaign, Box::new(record));
            step.take(&mut store).map_err(said("cannot go on"))?;
            self.now = self.now.after(&step);
        }
        store.end(campaign, 1).map_err(said("cannot end"))?;
        self.now = self.now.after(&Step::End(campaign));
        let left = store.unfinished(trials::PLAN).map_err(said("cannot read the end"))?;
        let over = left.map(|left| left.over.len()).unwrap_or_default();
        let state = State::read(&store).map_err(said("cannot read the end"))?;
        if over != PLANNED as usize || state != self.now {
            let (is, due) = (state.told(), self.now.told());
            return Err(format!("in the end there is\n  {is}\nand there should be\n  {due}"));
        }
        sound(&mut store, false)
    }
}
