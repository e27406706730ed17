//! What the store promises: what went in comes out, and refusals say what to do.

use super::*;
use experiment::campaign::NotBought;
use experiment::knob::Settings;
use experiment::measurement::integrity::{Fault, Lasting, Reread};
use experiment::measurement::programs::{Output, Run};
use experiment::measurement::verified::StoredProblem;
use experiment::measurement::{
    Amount, Durable, Evidence, Integrity, Measurement, Note, Operation, Outcome, Programs,
    Reported, SecondPass, Stream, Verified, Window, latency_histogram,
};
use experiment::plan::Trial;
use facts::counters::errors::Counted;
use facts::counters::series::Series;
use facts::layout::Times;

fn record(number: u32, outcome: Outcome) -> Record {
    let trial = Trial {
        number,
        replicate: 2,
        group: "streams, direct".into(),
        settings: Settings::defaults("file"),
        first_file: 20,
        seed: (1 << 53) - 1,
        planned: Some(number),
    };
    Record::new(trial, outcome)
}

fn programs() -> Programs {
    let run = Run { copy: 1, timed: true, values: vec![("a".into(), 0.5)], ..Run::default() };
    let output = |stream: &str| {
        let (stream, head) = (stream.to_owned(), "said \u{fffd}\n".to_owned());
        Output { copy: 1, stream, bytes: 9, head, tail: String::new() }
    };
    let outputs = vec![output("stdout"), output("stderr")];
    Programs { runs: vec![run], outputs, memory_floor_bytes: 7, ..Programs::default() }
}

fn integrity() -> Integrity {
    let fault = |lasting: Lasting| Fault {
        at_ns: 12,
        file: "stream-0-1".into(),
        offset: 1 << 40,
        kind: "torn".into(),
        what: "the new data ends at byte 512".into(),
        rereads: vec![Reread { how: "direct".into(), gave: "same-wrong".into() }],
        lasting,
        excerpt_at: 512,
        expected: "00ff".into(),
        found: "00fe".into(),
        kernel: vec!["blk_update_request: I/O error".into()],
    };
    Integrity {
        checksum: "crc32c".into(),
        block_bytes: 4096,
        checked_bytes: 1 << 44,
        unheld_bytes: 1 << 43,
        unreadable_bytes: 4096,
        wrong: [("torn".to_owned(), 4)].into(),
        unreadable: 1,
        again: 2,
        faults: Lasting::ALL.map(fault).to_vec(),
        counted: vec![Counted {
            of: "sda".into(),
            what: "pending sectors".into(),
            from: "smartctl".into(),
            before: None,
            after: Some(3),
        }],
        uncounted: vec!["corrected memory errors (No such file)".into()],
    }
}

fn verified() -> Verified {
    let problem = |path: &str, kind: &str| StoredProblem {
        path: path.into(),
        kind: kind.into(),
        why: "Permission denied (os error 13)".into(),
    };
    Verified {
        against: Some("sums.md5".into()),
        first_pass: 3,
        pass_ns: vec![7, 8],
        passes: 2,
        over: true,
        files: 9,
        facts: vec![("log".into(), "whole".into())],
        problem_counts: [("missing".to_owned(), 2)].into(),
        problems: vec![problem("a\\x0ab", "missing"), problem("\\xff", "not-opened")],
        ..Verified::default()
    }
}

/// What a build before programs could be timed had written is opened, brought up to date, and read.
#[test]
fn a_store_of_the_first_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(super::MIGRATIONS[0]).unwrap();
    connection.pragma_update(None, "application_id", super::APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    let insert = "INSERT INTO campaign VALUES
        (1, 'u', 'p', 'file', 'h', 1, NULL, 1, '0', '[]', 'null', '[]');
        INSERT INTO trial (campaign, number, replicate, cell_group, first_file, seed, settings,
            outcome, started_unix_ns, elapsed_ns, streams, evidence)
        VALUES (1, 1, 1, 'g', 0, 1, '{}', 'done', 5, 6, '[]', '{}');";
    connection.execute_batch(insert).unwrap();
    drop(connection);
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.records(1).unwrap().len(), 1, "also by one that may not write");
    drop(reader);
    let mut store = Store::open(&path).unwrap();
    let old = store.records(1).unwrap();
    assert_eq!(old[0].outcome.measurement().unwrap().elapsed_ns, 6);
    assert_eq!(old[0].outcome.measurement().unwrap().programs, None);
    assert_eq!(old[0].outcome.measurement().unwrap().layout, None);
    assert_eq!(old[0].outcome.measurement().unwrap().integrity, None);
    assert_eq!(old[0].outcome.measurement().unwrap().verified, None);
    let mut new = record(2, Outcome::Done(Box::new(measurement())));
    new.trial.number = 2;
    store.append(1, &new).unwrap();
    let read = store.records(1).unwrap();
    assert_eq!(read[1].outcome.measurement().unwrap().programs, Some(programs()));
    assert_eq!(read[1].outcome.measurement().unwrap().verified, Some(verified()));
}

fn measurement() -> Measurement {
    let mut latency = latency_histogram();
    latency.saturating_record(1_234_567);
    let done = Amount {
        read_bytes: 1 << 40,
        read_ops: 1 << 20,
        write_bytes: 3,
        write_ops: 4,
        metadata_ops: 5,
    };
    Measurement {
        started_unix_ns: 1_700_000_000_000_000_000,
        elapsed_ns: 2_000_000_000,
        window: Some(Window { start_ns: 5, end_ns: 1_999_999_999, done }),
        streams: vec![Stream { started_ns: 1, pass_end_ns: Some(9), ..Stream::default() }],
        load: Series { source: "load".into(), at_ns: vec![0, 100], columns: vec![] },
        latency: vec![(Operation::Read, latency)],
        durable: Some(Durable { bytes: 7, accepted_ns: 8, durable_ns: 9 }),
        second_pass: Some(SecondPass {
            bytes: 1,
            first_ns: 2,
            second_ns: 3,
            first_marks: vec![(0, 0), (2, 1)],
        }),
        integrity: Some(integrity()),
        verified: Some(verified()),
        programs: Some(programs()),
        reported: Some(Reported { by: "A and B, 2010".into(), ..Reported::default() }),
        layout: Some(Times { mkfs_ns: 10, mount_ns: 11, ..Times::default() }),
        evidence: Evidence { devices: vec!["vda".into()], ..Evidence::default() },
        counters: vec![Series { source: "stat".into(), at_ns: vec![-3], columns: vec![] }],
        notes: vec![Note::new("steal", "the hypervisor took 7 %")],
        digest: None,
    }
}

/// Histograms are equal when they hold the same; their debug print also shows how they hold it.
fn take_latency(records: &mut [Record]) -> Vec<(Operation, hdrhistogram::Histogram<u64>)> {
    let Outcome::Done(first) = &mut records[0].outcome else { panic!("the first is done") };
    std::mem::take(&mut first.latency)
}

/// Programs that were started together found no tables, all made them, and all but one failed with
/// "table campaign already exists".
#[test]
fn a_new_store_can_be_opened_by_several_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let path = folder.path().join(format!("{round}.db"));
        let open = || Store::open(&path).map(|_| ());
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    }
}

/// The store was removed while trials ran, and the end said "kept".
#[test]
fn a_store_that_lost_its_name_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = Store::open(&path).unwrap();
    store.still_there().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(store.still_there().unwrap_err().why.contains("removed"));
    drop(Store::open(&path).unwrap());
    assert!(store.still_there().is_err(), "another file of that name is not this one");
}

#[test]
fn what_went_in_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::open(&path).unwrap();
    let mut campaign = Campaign { uid: "u1".into(), seed: 42, ..Campaign::default() };
    campaign.prices.insert("disk".into(), 310.5);
    campaign.currency = "EUR".into();
    campaign.left_out.insert("raid50 takes 6 disks or more, and there are 4".into(), 24);
    campaign.argv = vec!["brickyard".into(), "evaluate".into(), "/srv/a b".into()];
    campaign.inventory = serde_json::json!({ "machine": { "cpus": 2 } });
    campaign.id = store.begin(&campaign).unwrap();
    campaign.not_bought = vec![NotBought { cell: "mixed".into(), budget_ns: 600_000_000_000 }];
    store.update(&campaign).unwrap();
    let outcomes = [
        Outcome::Done(Box::new(measurement())),
        Outcome::Failed("cannot read x: Input/output error (os error 5)".into()),
        Outcome::Skipped("sync has no queue".into()),
        Outcome::Interrupted,
    ];
    let records: Vec<Record> =
        outcomes.into_iter().enumerate().map(|(n, o)| record(n as u32 + 1, o)).collect();
    for record in &records {
        store.append(campaign.id, record).unwrap();
    }
    drop(store);
    let store = Store::open_read_only(&path).unwrap();
    assert_eq!(store.campaigns().unwrap(), [campaign]);
    let mut read = store.records(1).unwrap();
    let mut written = records;
    assert_eq!(take_latency(&mut read), take_latency(&mut written));
    assert_eq!(format!("{read:?}"), format!("{written:?}"));
}

/// A report of 100 000 trials took most of a minute, as it decoded the histogram of each.
#[test]
fn records_without_samples_are_the_same_kept_and_computed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin(&Campaign { uid: "u".into(), ..Campaign::default() }).unwrap();
    let full = experiment::measurement::limit::testing::Scene::default().record(9);
    let Outcome::Done(plain) = &full.outcome else { panic!("it was done") };
    let outcomes = [
        Outcome::Done(Box::new(measurement())),
        Outcome::Failed("EIO".into()),
        Outcome::Skipped("sync has no queue".into()),
        Outcome::Interrupted,
        Outcome::Done(plain.clone()),
    ];
    for (outcome, number) in outcomes.into_iter().zip(1..) {
        store.append(id, &record(number, outcome)).unwrap();
    }
    let computed = |store: &Store| {
        format!("{:?}", read::records(&store.connection, id, Record::light).unwrap())
    };
    let kept = |store: &Store| format!("{:?}", store.light_records(id).unwrap());
    let change = |store: &Store, sql: &str| store.connection.execute(sql, []).unwrap();
    assert!(computed(&store).contains("limits: Some(Limits"), "one has all that there can be");
    assert_eq!(kept(&store), computed(&store));
    // That it is read at all: what is kept wins, until what it was computed from changes.
    let row = "SELECT id FROM trial WHERE number = 2";
    let row: i64 = store.connection.query_row(row, [], |row| row.get(0)).unwrap();
    let other = record(2, Outcome::Failed("another".into()));
    derived::remember(&mut store.connection, id, &[(row, &other)]);
    assert!(kept(&store).contains("another") && kept(&store) != computed(&store));
    change(&store, "INSERT INTO note SELECT id, 'new', 'a word of mine' FROM trial");
    assert!(!kept(&store).contains("EIO"), "it is not as it was kept");
    change(&store, "DELETE FROM seal");
    seal::all_as_found(&store.connection).unwrap();
    assert!(kept(&store).contains("a word of mine"));
    assert_eq!(kept(&store), computed(&store));
    // What is kept and was damaged is no better than nothing.
    for damage in [
        "UPDATE derived_light SET knobs = (SELECT min(id) FROM derived_knobs)",
        "UPDATE derived_knobs SET engine = 'tree', settings = '{}'",
        "UPDATE derived_light SET number = 7 - number",
        "UPDATE derived_name SET name = 'x' || name",
        "UPDATE derived_light SET version = version + 1",
    ] {
        for of in store.records(id).unwrap() {
            let row = "SELECT id FROM trial WHERE number = ?1";
            let number = of.trial.number;
            let row = store.connection.query_row(row, [number], |row| row.get(0)).unwrap();
            derived::remember(&mut store.connection, id, &[(row, &of)]);
        }
        change(&store, damage);
        assert_eq!(kept(&store), computed(&store), "{damage}");
    }
}

/// Whatever bytes a cache holds, they are at worst computed anew.
#[test]
fn damaged_bytes_of_the_cache_are_computed_anew_wherever_they_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let id = store.begin(&Campaign { uid: "u".into(), ..Campaign::default() }).unwrap();
    // A thousand writes need not wait for the disk.
    store.repeatable(true).unwrap();
    store.append(id, &record(1, Outcome::Done(Box::new(measurement())))).unwrap();
    let whole = format!("{:?}", store.light_records(id).unwrap());
    let sql = "SELECT light FROM derived_light";
    let bytes: Vec<u8> = store.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(bytes.len() > 500, "{}", bytes.len());
    let sql = "UPDATE derived_light SET light = ?1";
    for end in 0..bytes.len() {
        store.connection.execute(sql, [&bytes[..end]]).unwrap();
        assert_eq!(format!("{:?}", store.light_records(id).unwrap()), whole, "cut at {end}");
    }
    for place in (0..bytes.len()).step_by(7) {
        let mut turned = bytes.clone();
        turned[place] ^= 0xff;
        store.connection.execute(sql, [turned]).unwrap();
        assert_eq!(format!("{:?}", store.light_records(id).unwrap()), whole, "turned at {place}");
    }
}

#[test]
fn trials_of_which_nothing_is_kept_stand_in_their_places_among_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let id = store.begin(&Campaign { uid: "u".into(), ..Campaign::default() }).unwrap();
    for number in [3, 1, 7, 5] {
        store.append(id, &record(number, Outcome::Done(Box::new(measurement())))).unwrap();
    }
    let read = |store: &Store| store.light_records(id).unwrap();
    let whole = format!("{:?}", read(&store));
    let numbers: Vec<u32> = read(&store).iter().map(|record| record.trial.number).collect();
    assert_eq!(numbers, [1, 3, 5, 7]);
    for number in numbers {
        let sql = "DELETE FROM derived_light WHERE number = ?1";
        assert_eq!(store.connection.execute(sql, [number]).unwrap(), 1);
        assert_eq!(format!("{:?}", read(&store)), whole, "without {number}");
    }
}

#[test]
fn a_trial_is_kept_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let id = store.begin(&Campaign { uid: "u".into(), ..Campaign::default() }).unwrap();
    let mut twice = measurement();
    twice.counters.push(Series { source: "stat".into(), ..Series::default() });
    // The second series of the same source breaks a constraint after the trial's row was made.
    let bad = record(1, Outcome::Done(Box::new(twice)));
    assert!(store.append(id, &bad).is_err());
    assert_eq!(store.records(id).unwrap().len(), 0);
    store.append(id, &record(1, Outcome::Done(Box::new(measurement())))).unwrap();
    assert_eq!(store.records(id).unwrap().len(), 1);
}

/// A trial that is on its way is kept again and again, and is one trial.
#[test]
fn a_renewed_trial_stands_in_the_place_of_what_was_kept_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let id = store.begin(&Campaign { uid: "u".into(), ..Campaign::default() }).unwrap();
    for passes in 1..4 {
        let mut of = measurement();
        of.verified = Some(Verified { passes, ..verified() });
        store.renew(id, &record(1, Outcome::Done(Box::new(of)))).unwrap();
    }
    let kept = store.records(id).unwrap();
    let of = kept[0].outcome.measurement().unwrap();
    assert_eq!((kept.len(), of.verified.as_ref().unwrap().passes), (1, 3));
    assert_eq!(of.integrity.as_ref().unwrap().faults.len(), 4, "none of those before");
    assert_eq!(of.verified.as_ref().unwrap().problems, verified().problems);
}

#[test]
fn stores_that_are_not_ours_are_refused_and_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("letter.txt");
    std::fs::write(&text, "Dear all, this is certainly not a database of any kind.\n").unwrap();
    let error = Store::open(&text).unwrap_err();
    assert!(error.why.contains("not a SQLite database"), "{error:?}");
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("Dear all"));

    let other = folder.path().join("firefox.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE bookmarks (url)").unwrap();
    let before = std::fs::read(&other).unwrap();
    let error = Store::open(&other).unwrap_err();
    assert!(error.why.contains("some other program"), "{error:?}");
    assert_eq!(std::fs::read(&other).unwrap(), before);

    let newer = folder.path().join("newer.db");
    let store = Store::open(&newer).unwrap();
    store.connection.pragma_update(None, "user_version", 999).unwrap();
    drop(store);
    let error = Store::open(&newer).unwrap_err();
    assert!(error.why.contains("newer brickyard"), "{error:?}");
    assert!(Store::open_read_only(&newer).is_err());

    let error = Store::open(&folder.path().join("no/such/folder.db")).unwrap_err();
    assert!(error.hint.unwrap().contains("--store"));
    assert!(Store::open_read_only(&folder.path().join("none.db")).is_err());
    assert!(!folder.path().join("none.db").exists());
}

/// `list campaigns --store /etc` said "disk I/O error".
#[test]
fn a_directory_or_a_device_is_no_store_and_is_named_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for open in [Store::open, Store::open_read_only] {
        let error = open(folder.path()).unwrap_err();
        assert!(error.why.contains("Is a directory (os error 21)"), "{error}");
        assert!(error.hint.unwrap().ends_with("/brickyard.db"));
        assert!(open(Path::new("/dev/null")).unwrap_err().why.contains("not a regular file"));
    }
}

/// A store that could not be made on a full disk left two or three files there, and was sometimes
/// told as "disk I/O error".
#[test]
#[expect(clippy::print_stdout, reason = "says that it is skipped")]
fn a_store_that_finds_no_room_leaves_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mount = |options: &str| {
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path());
        host::sys::gate::output(&mut mount).is_ok_and(|output| output.status.success())
    };
    if !mount("size=16k") {
        println!("SKIP store: needs a tiny tmpfs");
        return;
    }
    let path = folder.path().join("a.db");
    let mut problems = Vec::new();
    // Each step of making it finds no room in its turn.
    for size_kib in [4, 8, 16, 32, 48, 64, 96] {
        if !mount(&format!("remount,size={size_kib}k")) {
            problems.push(format!("{size_kib} KiB: not remounted"));
        }
        let large = Campaign { host: "h".repeat(64 << 10), ..Campaign::default() };
        match Store::open(&path).and_then(|mut store| store.begin(&large)) {
            Ok(_) => problems.push(format!("{size_kib} KiB: there was room")),
            Err(error) if error.why == "its file system is full" => {}
            Err(error) => problems.push(format!("{size_kib} KiB: {error}")),
        }
        let left = folder.path().read_dir().unwrap().count();
        if left > 0 {
            problems.push(format!("{size_kib} KiB: {left} files are left"));
        }
    }
    let mut umount = std::process::Command::new("umount");
    let umounted = host::sys::gate::output(umount.arg(folder.path()));
    assert!(umounted.is_ok_and(|output| output.status.success()));
    assert!(problems.is_empty(), "{problems:#?}");
}

/// What another program is making just now is not ours to remove.
#[test]
fn a_store_that_is_open_elsewhere_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let new = file::missing(&path);
    assert_eq!(new.len(), 4);
    drop(Store::open(&path).unwrap());
    file::forget(&path, &new);
    assert!(!path.exists(), "nobody had it open");

    std::fs::write(&path, "half made").unwrap();
    let shared = read_and_write(&folder.path().join("a.db-shm"));
    let mut other = locked_by_another(&shared);
    file::forget(&path, &new);
    assert!(path.exists(), "another program had it open");
    other.kill().unwrap();
    other.wait().unwrap();
    file::forget(&path, &new);
    assert!(!path.exists() && !folder.path().join("a.db-shm").exists());
}

fn read_and_write(path: &Path) -> std::fs::File {
    std::fs::File::options().read(true).write(true).create_new(true).open(path).unwrap()
}

/// A process that holds SQLite's lock of an open connection: those of this one would not show.
fn locked_by_another(shared: &std::fs::File) -> std::process::Child {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    let file = shared.as_raw_fd();
    let lock = move || {
        // SAFETY: plain data, for which all zeros are a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        (lock.l_type, lock.l_start, lock.l_len) = (libc::F_RDLCK as libc::c_short, 128, 1);
        // SAFETY: both calls take a descriptor that the parent keeps open; the lock lives through
        // the second one. The first lets the descriptor, and so the lock, live through exec.
        let status = unsafe {
            libc::fcntl(file, libc::F_SETFD, 0) | libc::fcntl(file, libc::F_SETLK, &raw const lock)
        };
        if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    let mut command = std::process::Command::new("sleep");
    // SAFETY: the closure calls nothing but fcntl(2), which signal-safety(7) allows after a fork.
    host::sys::gate::start(unsafe { command.arg("60").pre_exec(lock) }).unwrap()
}

/// A backup tool that holds a lock for a moment must not cost a measured trial; one that holds it
/// for good is named.
#[test]
fn a_locked_store_is_waited_for_and_then_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut store = Store::open(&path).unwrap();
    store.connection.busy_timeout(Duration::from_millis(50)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = store.begin(&Campaign::default()).unwrap_err();
    assert!(error.why.contains("locked"), "{error:?}");
    other.execute_batch("ROLLBACK").unwrap();
    store.begin(&Campaign::default()).unwrap();
}

/// The newest campaign of a plan goes on with what is over of it: a trial that was interrupted is
/// not over, and a layout is none of the plan's.
#[test]
fn a_campaign_that_was_stopped_is_found_by_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let campaign = |uid: &str, plan: Option<&str>| Campaign {
        uid: uid.into(),
        plan_json: plan.map(str::to_owned),
        ..Campaign::default()
    };
    store.begin(&campaign("a", Some("p"))).unwrap();
    let id = store.begin(&campaign("b", Some("p"))).unwrap();
    store.begin(&campaign("c", Some("q"))).unwrap();
    store.begin(&campaign("d", None)).unwrap();
    let mut layout = record(1, Outcome::Done(Box::new(measurement())));
    layout.trial.planned = None;
    let mut first = record(2, Outcome::Failed("why".into()));
    first.trial.planned = Some(1);
    let mut cut = record(3, Outcome::Interrupted);
    cut.trial.planned = Some(2);
    for record in [&layout, &first, &cut] {
        store.append(id, record).unwrap();
    }
    store.end(id, 1).unwrap();
    let found = store.unfinished("p").unwrap().unwrap();
    assert_eq!((found.campaign.uid.as_str(), found.trials), ("b", 3));
    assert_eq!(found.over.into_iter().collect::<Vec<_>>(), [1]);
    assert!(store.unfinished("r").unwrap().is_none());
    store.reopen(id).unwrap();
    assert_eq!(store.records(id).unwrap()[1].trial.planned, Some(1));
}

/// Faults are rows of their own, for whoever asks the store for them.
#[test]
fn faults_can_be_listed_by_a_query() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let id = store.begin(&Campaign::default()).unwrap();
    store.append(id, &record(1, Outcome::Done(Box::new(measurement())))).unwrap();
    let sql = "SELECT count(*), min(offset), trial.integrity ->> '$.wrong.torn'
               FROM fault JOIN trial ON trial.id = fault.trial WHERE lasting = 'persistent'";
    let row = store.connection.query_row(sql, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    assert_eq!(row.unwrap(), (1, 1 << 40, 4));
    store.connection.execute_batch("DELETE FROM campaign").unwrap();
    let left = "SELECT count(*) FROM fault";
    assert_eq!(store.connection.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

/// A plan may have files read and programs run: each trial knows its engine again, and those of
/// older stores that of their campaign.
#[test]
fn every_trial_says_which_engine_ran_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("a.db")).unwrap();
    let engine = "file, command".to_owned();
    let id = store.begin(&Campaign { engine, ..Campaign::default() }).unwrap();
    let mut program = record(2, Outcome::Interrupted);
    program.trial.settings = Settings::defaults("command");
    store.append(id, &record(1, Outcome::Interrupted)).unwrap();
    store.append(id, &program).unwrap();
    let engines = |store: &Store| -> Vec<String> {
        let records = store.records(id).unwrap();
        records.iter().map(|record| record.trial.settings.engine().to_owned()).collect()
    };
    assert_eq!(engines(&store), ["file", "command"]);
    let older = "UPDATE trial SET engine = NULL; UPDATE campaign SET engine = 'sim'";
    store.connection.execute_batch(older).unwrap();
    assert_eq!(engines(&store), ["sim", "sim"]);
}
