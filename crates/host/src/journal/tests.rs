//! Journals that are whole, torn, damaged, old or planted.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use super::fate::Fate;
use super::undo::outstanding;
use super::*;
use crate::journal::identity;

mod fire;

const FOLDER: &str = "/sys/block/loop7";
const READ_AHEAD: &str = "/sys/block/loop7/queue/read_ahead_kb";
const REQUESTS: &str = "/sys/block/loop7/queue/nr_requests";
const BOOT: &str = "6c6e0348-2966-4c69-92fb-ea307cf78b99";

/// A machine with a loop device, and a place for the journal.
struct Machine {
    root: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { root: tempfile::tempdir().unwrap() };
        machine.put("/proc/sys/kernel/random/boot_id", &format!("{BOOT}\n"));
        for (file, text) in [("dev", "7:7"), ("diskseq", "31"), ("loop/backing_file", "/image")] {
            machine.put(&format!("{FOLDER}/{file}"), &format!("{text}\n"));
        }
        machine.put(READ_AHEAD, "128\n");
        machine.put(REQUESTS, "64\n");
        machine
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.host().path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn host(&self) -> Host {
        Host::at(self.root.path())
    }

    fn held(&self, path: &str) -> String {
        self.host().read(path).unwrap().trim().to_owned()
    }

    fn file(&self) -> PathBuf {
        self.root.path().join("brickyard.db-undo")
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.file()).unwrap()
    }

    /// Notes a change and makes it.
    fn change(&self, journal: &mut Journal, path: &str, written: &str) {
        journal.note(Line::Write(self.line(path, written))).unwrap();
        self.put(path, written);
    }

    fn line(&self, path: &str, written: &str) -> Change {
        Change {
            path: path.to_owned(),
            device: identity::of_device(&self.host(), "loop7"),
            boot: boot(&self.host()).unwrap(),
            before: self.host().word(path).unwrap(),
            written: written.to_owned(),
            instead: None,
        }
    }

    /// What `brickyard undo` would make of it.
    fn undo(&self) -> Vec<Fate> {
        let Some(mut journal) = Journal::existing(&self.file()).unwrap() else { return Vec::new() };
        let said = journal.undo(&self.host(), false, &mut |_| {});
        journal.close().unwrap();
        said.into_iter().map(|said| said.fate).collect()
    }
}

fn restored(from: &str, to: &str) -> Fate {
    Fate::Restored(from.into(), to.into())
}

#[test]
fn changes_are_undone_newest_first_and_the_journal_goes() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, READ_AHEAD, "1024");
    machine.change(&mut journal, REQUESTS, "32");
    machine.change(&mut journal, READ_AHEAD, "4096");
    drop(journal);
    assert_eq!(machine.undo(), [restored("32", "64"), restored("4096", "128")]);
    assert_eq!((machine.held(READ_AHEAD).as_str(), machine.held(REQUESTS).as_str()), ("128", "64"));
    assert!(!machine.file().exists());
    assert_eq!(machine.undo(), []);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_touches_nothing() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, READ_AHEAD, "1024");
    let before = std::fs::read(machine.file()).unwrap();
    let said = journal.undo(&machine.host(), true, &mut |_| {});
    assert_eq!(said[0].fate, Fate::WouldRestore("1024".into(), "128".into()));
    assert_eq!(said[0].to_string(), format!("would write 128 to {READ_AHEAD} (is 1024)"));
    assert_eq!(machine.held(READ_AHEAD), "1024");
    assert_eq!(std::fs::read(machine.file()).unwrap(), before);
}

/// A kill comes between the line and its change, within a line, or after the change.
#[test]
fn a_journal_cut_at_every_byte_puts_back_what_was_changed_and_does_not_panic() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    let first = |journal: &Journal| journal.file.metadata().unwrap().len() as usize;
    machine.change(&mut journal, READ_AHEAD, "1024");
    let noted = first(&journal);
    machine.change(&mut journal, REQUESTS, "32");
    drop(journal);
    let whole = std::fs::read(machine.file()).unwrap();
    for end in 0..=whole.len() {
        // What is durable is known; what is not was not done.
        let (ahead, requests) = (end >= noted, end == whole.len());
        machine.put(READ_AHEAD, if ahead { "1024" } else { "128" });
        machine.put(REQUESTS, if requests { "32" } else { "64" });
        std::fs::write(machine.file(), &whole[..end]).unwrap();
        machine.undo();
        let held = (machine.held(READ_AHEAD), machine.held(REQUESTS));
        assert_eq!(held, ("128".into(), "64".into()), "cut at {end} of {}", whole.len());
        assert!(!machine.file().exists(), "{end}");
    }
}

#[test]
fn a_line_after_a_torn_one_can_be_read() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, READ_AHEAD, "1024");
    drop(journal);
    let mut bytes = std::fs::read(machine.file()).unwrap();
    bytes.extend_from_slice(b"{\"write\":{\"path\":\"/sy");
    std::fs::write(machine.file(), &bytes).unwrap();
    let mut journal = machine.journal();
    machine.change(&mut journal, REQUESTS, "32");
    drop(journal);
    assert_eq!(machine.undo(), [restored("32", "64"), restored("1024", "128")]);
}

#[test]
fn what_somebody_else_wrote_is_told_and_left_alone() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, READ_AHEAD, "1024");
    machine.put(READ_AHEAD, "256");
    drop(journal);
    assert_eq!(machine.undo(), [Fate::ChangedByOthers("256".into(), "128".into())]);
    assert_eq!(machine.held(READ_AHEAD), "256");
    assert!(!machine.file().exists(), "told once");
}

#[test]
fn a_value_that_the_kernel_rounded_is_ours() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, REQUESTS, "1");
    machine.put(REQUESTS, "4");
    journal.note(Line::Took { path: REQUESTS.into(), value: "4".into() }).unwrap();
    drop(journal);
    assert_eq!(machine.undo(), [restored("4", "64")]);
}

#[test]
fn another_device_of_that_name_an_earlier_boot_and_a_device_that_is_gone_are_left_alone() {
    let cases: [(&str, &str, Fate); 4] = [
        ("/sys/block/loop7/diskseq", "32", Fate::AnotherDevice),
        ("/sys/block/loop7/loop/backing_file", "/precious", Fate::AnotherDevice),
        ("/sys/block/loop7/dev", "7:8", Fate::AnotherDevice),
        ("/proc/sys/kernel/random/boot_id", "another", Fate::EarlierBoot("128".into())),
    ];
    for (path, text, fate) in cases {
        let machine = Machine::new();
        machine.change(&mut machine.journal(), READ_AHEAD, "1024");
        machine.put(path, text);
        assert_eq!(machine.undo(), [fate], "{path}");
        assert_eq!(machine.held(READ_AHEAD), "1024");
        assert!(!machine.file().exists());
    }
    let machine = Machine::new();
    machine.change(&mut machine.journal(), READ_AHEAD, "1024");
    std::fs::remove_dir_all(machine.host().path(FOLDER)).unwrap();
    assert_eq!(machine.undo(), [Fate::Gone]);
}

#[test]
fn what_cannot_be_written_stays_in_the_journal_and_what_can_is_put_back() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, READ_AHEAD, "1024");
    machine.change(&mut journal, REQUESTS, "32");
    let refuses: crate::sys::Kernel = |path, text| match path.ends_with("read_ahead_kb") {
        true => Err(std::io::Error::from_raw_os_error(libc::EIO)),
        false => Ok(text.to_owned()),
    };
    let said = journal.undo(&machine.host().with_kernel(refuses), false, &mut |_| {});
    assert_eq!(said[0].fate, restored("32", "64"));
    assert!(said[1].failed() && said[1].to_string().contains("Input/output error"), "{}", said[1]);
    journal.close().unwrap();
    // A kernel that takes the value and holds another has not put it back either.
    let ignores: crate::sys::Kernel = |_, _| Ok("77".into());
    let mut journal = machine.journal();
    let said = journal.undo(&machine.host().with_kernel(ignores), false, &mut |_| {});
    assert_eq!(said.len(), 1, "what is back is not told again");
    assert!(said[0].failed() && said[0].to_string().contains("it holds 77"), "{}", said[0]);
    drop(journal);
    machine.put(READ_AHEAD, "1024");
    assert_eq!(machine.undo(), [restored("1024", "128")]);
    assert!(!machine.file().exists());
}

/// Switching the scheduler sets nr_requests anew, on the way there and on the way back.
#[test]
fn what_a_change_disturbs_is_put_back_after_it_whatever_it_holds() {
    for noted_before in [false, true] {
        let machine = Machine::new();
        machine.put("/sys/block/loop7/queue/scheduler", "[none] bfq");
        let mut journal = machine.journal();
        if noted_before {
            machine.change(&mut journal, REQUESTS, "32");
        }
        journal.note(Line::Disturb(machine.line(REQUESTS, ""))).unwrap();
        let scheduler = "/sys/block/loop7/queue/scheduler";
        let change = Change { before: "none".into(), ..machine.line(scheduler, "bfq") };
        journal.note(Line::Write(change)).unwrap();
        machine.put(scheduler, "none [bfq]");
        machine.put(REQUESTS, "256");
        drop(journal);
        let fates = machine.undo();
        assert!(fates.contains(&restored("bfq", "none")), "{fates:?}");
        assert_eq!(machine.held(REQUESTS), "64", "noted before: {noted_before}; {fates:?}");
    }
}

#[test]
fn dirty_bytes_come_back_where_the_ratio_had_taken_their_place() {
    let machine = Machine::new();
    let (ratio, bytes) = ("/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes");
    machine.put(ratio, "10");
    machine.put(bytes, "0");
    let mut journal = machine.journal();
    let instead = Some((bytes.to_owned(), "1048576".to_owned()));
    let change = Change { before: "0".into(), instead, ..machine.line(ratio, "10") };
    journal.note(Line::Write(Change { device: None, ..change })).unwrap();
    drop(journal);
    assert_eq!(machine.undo(), [restored("10", "1048576")]);
    assert_eq!(machine.held(bytes), "1048576");
}

#[test]
fn a_control_group_of_ours_is_removed_and_no_other_folder() {
    let machine = Machine::new();
    let ours = "/sys/fs/cgroup/memory/brickyard-1-1";
    std::fs::create_dir_all(machine.host().path(ours)).unwrap();
    let mut journal = machine.journal();
    journal.note(Line::Make { path: ours.into(), boot: BOOT.into() }).unwrap();
    journal.note(Line::Make { path: "/sys/block/loop7".into(), boot: BOOT.into() }).unwrap();
    drop(journal);
    let fates = machine.undo();
    assert!(matches!(&fates[0], Fate::Failed(error) if error.why.contains("name")), "{fates:?}");
    assert_eq!(fates[1], Fate::Removed);
    assert!(!machine.host().exists(ours) && machine.host().exists(FOLDER));
}

/// `brickyard undo` runs as root: a journal must not make it write where it likes.
#[test]
fn a_planted_journal_writes_nothing() {
    let machine = Machine::new();
    for path in [
        "/etc/passwd",
        "/sys/block/../../etc/passwd",
        "/proc/sys/kernel/core_pattern",
        "etc/passwd",
        "/sys/block/loop7/queue/./../../../etc/passwd",
    ] {
        machine.put("/etc/passwd", "root");
        machine.put("/proc/sys/kernel/core_pattern", "root");
        let change =
            Change { path: path.into(), before: "evil".into(), ..machine.line(REQUESTS, "root") };
        let line = Line::Write(Change { device: None, ..change });
        machine.journal().note(line).unwrap();
        assert!(matches!(&machine.undo()[..], [Fate::Failed(_)]), "{path}");
        assert_eq!(machine.held("/etc/passwd"), "root");
        std::fs::remove_file(machine.file()).unwrap();
    }
    machine.change(&mut machine.journal(), REQUESTS, "32");
    let open = || Journal::existing(&machine.file()).unwrap_err();
    std::fs::set_permissions(machine.file(), PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(open().why, "others may write in it");
    std::fs::set_permissions(machine.file(), PermissionsExt::from_mode(0o600)).unwrap();
    let moved = machine.root.path().join("elsewhere");
    std::fs::rename(machine.file(), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, machine.file()).unwrap();
    assert!(open().why.contains("symbolic links"), "{}", open());
    std::fs::remove_file(machine.file()).unwrap();
    std::fs::create_dir(machine.file()).unwrap();
    assert!(Journal::open(&machine.file()).is_err());
}

#[test]
fn damaged_lines_are_told_and_keep_the_journal_and_the_rest_is_undone() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    machine.change(&mut journal, READ_AHEAD, "1024");
    drop(journal);
    let mut bytes = b"\x00\xff{}\nnot json\n{\"write\":{}}\n\n".to_vec();
    bytes.extend(std::fs::read(machine.file()).unwrap());
    std::fs::write(machine.file(), bytes).unwrap();
    let fates = machine.undo();
    assert_eq!(fates.len(), 4, "{fates:?}");
    assert_eq!(fates[3], restored("1024", "128"));
    assert!(machine.file().exists());
}

#[test]
fn two_runs_do_not_share_a_journal() {
    let machine = Machine::new();
    let first = machine.journal();
    let error = Journal::open(&machine.file()).unwrap_err();
    assert!(error.why.contains("a run that changes settings"), "{error}");
    first.close().unwrap();
    assert!(!machine.file().exists(), "nothing is left to undo");
    machine.journal();
}

#[test]
fn every_line_survives_the_file_and_done_ends_what_stood_above() {
    let machine = Machine::new();
    let mut journal = machine.journal();
    let path = READ_AHEAD.to_owned();
    let lines = [
        Line::Write(machine.line(READ_AHEAD, "1")),
        Line::Disturb(machine.line(REQUESTS, "")),
        Line::Took { path: path.clone(), value: "\"4\"\n".into() },
        Line::Make { path: "/g".into(), boot: BOOT.into() },
        Line::Done { path },
    ];
    for line in &lines {
        journal.note(line.clone()).unwrap();
    }
    drop(journal);
    let journal = machine.journal();
    assert_eq!(journal.lines, lines);
    assert_eq!(outstanding(&journal.lines).len(), 2);
}

/// A run that was killed had let go of its journal, and the next one was refused: a program that
/// another thread was just starting still held a copy of the file.
#[test]
fn a_journal_that_is_held_for_a_moment_is_waited_for_and_one_that_a_run_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db-undo");
    let first = Journal::open(&path).unwrap();
    let copy = first.file.try_clone().unwrap();
    let refused = Journal::open(&path).err().unwrap();
    assert!(refused.why.contains("has it"), "{refused}");
    drop(first);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            std::thread::sleep(STEP * 5);
            drop(copy);
        });
        assert!(Journal::open(&path).is_ok());
    });
}
