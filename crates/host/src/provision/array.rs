//! md arrays by mdadm(8): the commands, and the wait for a state.
//!
//! `--assume-clean` is never used: an array that was not synchronised does work in the background,
//! or answers with parity that is wrong. RAID 50 and 60 are a RAID 0 over two arrays of half the
//! disks each.

use std::path::PathBuf;
use std::time::Duration;

use super::Progress;
use super::step::{Does, Goal, LayoutIds, Phase, Step, node, signatures, words};
use crate::journal::LayoutAct;
use crate::sys::{Error, Host, clock};
use base::value;
use facts::inventory::disk::Disk;
use facts::layout::Layout;
use facts::layout::level::{is_redundant, nested};

/// An array that gets no further for so long never will: the kernel keeps even one that others use
/// at 1 MB/s at least (md(4), sync_speed_min).
const STALLED_MAX: Duration = Duration::from_secs(600);
/// How often the kernel is asked how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A rebuild that was faster than this share of what the kernel allows may have been held by that.
const NEAR_THE_LIMIT: f64 = 0.9;
/// A rebuild begins within this time of its disk's arrival, or not at all.
const BEGINS_MAX: Duration = Duration::from_secs(30);

/// Adds the steps that make the array, and gives its node.
pub fn steps(layout: &Layout, ids: &LayoutIds, steps: &mut Vec<Step>) -> Vec<PathBuf> {
    let all: Vec<&Disk> = layout.disks.iter().collect();
    let top = match nested(&layout.raid) {
        None => {
            create(layout, ids, 0, &layout.raid, &all, steps);
            ids.arrays[0]
        }
        Some(level) => {
            let (first, second) = all.split_at(all.len() / 2);
            create(layout, ids, 0, level, first, steps);
            create(layout, ids, 1, level, second, steps);
            let lower = ids.arrays[..2].iter().map(|number| format!("/dev/md{number}"));
            let lower: Vec<String> = lower.collect();
            // The last array of these disks may still be seen in what the members held.
            let mut wipe = words(&["wipefs", "--all", "--quiet"]);
            wipe.extend(lower.iter().cloned());
            steps.push(Step::run(Phase::Array, wipe));
            let upper = command(layout, ids, 2, "raid0", &lower);
            let act = act(ids, 2, &all);
            steps.push(Step::run(Phase::Array, upper).noting(vec![act]));
            ids.arrays[2]
        }
    };
    if is_redundant(&layout.raid) {
        states(layout, ids, steps);
    }
    vec![PathBuf::from(format!("/dev/md{top}"))]
}

fn create(
    layout: &Layout,
    ids: &LayoutIds,
    which: usize,
    level: &str,
    disks: &[&Disk],
    steps: &mut Vec<Step>,
) {
    let nodes: Vec<String> = disks.iter().map(|disk| node(disk)).collect();
    let mut acts = signatures(disks, "linux_raid_member", &ids.array_uuids[which]);
    acts.push(act(ids, which, disks));
    let words = command(layout, ids, which, level, &nodes);
    steps.push(Step::run(Phase::Array, words).noting(acts));
}

fn act(ids: &LayoutIds, which: usize, disks: &[&Disk]) -> LayoutAct {
    LayoutAct::Array {
        name: format!("md{}", ids.arrays[which]),
        uuid: ids.array_uuids[which].clone(),
        members: disks.iter().map(|disk| disk.identity.clone()).collect(),
    }
}

fn command(
    layout: &Layout,
    ids: &LayoutIds,
    which: usize,
    level: &str,
    nodes: &[String],
) -> Vec<String> {
    let mut command = words(&[
        "mdadm",
        "--create",
        &format!("/dev/md{}", ids.arrays[which]),
        // Asks nothing, and starts it whatever else it could be.
        "--run",
        "--homehost=any",
        &format!("--name={}-{which}", ids.label),
        &format!("--uuid={}", ids.array_uuids[which]),
        "--metadata=1.2",
        &format!("--level={level}"),
        &format!("--raid-devices={}", nodes.len()),
    ]);
    if let Some(bytes) = layout.chunk_bytes {
        command.push(format!("--chunk={}K", bytes / 1024));
    }
    command.extend(nodes.iter().cloned());
    command
}

/// From created to the state asked for.
fn states(layout: &Layout, ids: &LayoutIds, steps: &mut Vec<Step>) {
    let count = if nested(&layout.raid).is_some() { 2 } else { 1 };
    let mut settle = |which: usize, goal| {
        let array = format!("md{}", ids.arrays[which]);
        steps.push(Step { phase: Phase::Array, acts: Vec::new(), does: Does::Settle(array, goal) });
    };
    let state = layout.array_state.as_str();
    let goal = if state == "initialising" { Goal::Initialising } else { Goal::Clean };
    (0..count).for_each(|which| settle(which, goal));
    if !matches!(state, "degraded" | "rebuilding" | "rebuilt") {
        return;
    }
    // The last member of the first array.
    let Some(disk) = layout.disks.get(layout.disks.len() / count - 1) else { return };
    let (array, disk) = (format!("/dev/md{}", ids.arrays[0]), node(disk));
    let mut run = |phase, list: &[&str]| steps.push(Step::run(phase, words(list)));
    run(Phase::Array, &["mdadm", &array, "--fail", &disk]);
    run(Phase::Array, &["mdadm", &array, "--remove", &disk]);
    // With its superblock, udev would take it back in, and the kernel would write only what an
    // array's bitmap says was written since (md(4)).
    run(Phase::Array, &["mdadm", "--zero-superblock", &disk]);
    let (goal, phase) = match state {
        "rebuilding" => (Goal::Rebuilding, Phase::Array),
        "rebuilt" => (Goal::Rebuilt, Phase::Rebuild),
        _ => (Goal::Degraded, Phase::Array),
    };
    if goal != Goal::Degraded {
        run(phase, &["mdadm", &array, "--add", &disk]);
    }
    let array = format!("md{}", ids.arrays[0]);
    steps.push(Step { phase, acts: Vec::new(), does: Does::Settle(array, goal) });
}

/// What the kernel says of an array; see Documentation/admin-guide/md.rst.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    action: String,
    synchronised: bool,
    degraded: bool,
    /// Sectors done and to do.
    progress: Option<(u64, u64)>,
}

fn state(host: &Host, array: &str) -> Result<State, Error> {
    let read = |file: &str| host.read(format!("/sys/block/{array}/md/{file}"));
    let completed = read("sync_completed")?;
    let progress = completed
        .trim()
        .split_once('/')
        .and_then(|(done, all)| Some((done.trim().parse().ok()?, all.trim().parse().ok()?)));
    Ok(State {
        action: read("sync_action")?.trim().to_owned(),
        // `none` when all was synchronised: it would start again nowhere.
        synchronised: read("resync_start")?.trim() == "none",
        degraded: read("degraded")?.trim() != "0",
        progress,
    })
}

impl State {
    fn reached(&self, goal: Goal) -> bool {
        match goal {
            Goal::Clean | Goal::Rebuilt => {
                self.action == "idle" && self.synchronised && !self.degraded
            }
            Goal::Initialising => true,
            Goal::Degraded => self.degraded && self.action == "idle",
            Goal::Rebuilding => self.action == "recover",
        }
    }

    fn percent(&self) -> Option<f64> {
        let (done, all) = self.progress.filter(|(_, all)| *all > 0)?;
        Some(done as f64 / all as f64 * 100.0)
    }
}

/// Waits until the array is in the state asked for; gives a note where it goes on changing.
///
/// # Errors
/// When the kernel does not tell, the user stops it, or a rebuild does not begin.
pub fn settle(
    host: &Host,
    array: &str,
    goal: Goal,
    progress: &mut Progress<'_>,
) -> Result<Option<(String, String)>, Error> {
    let begun_ns = clock::monotonic_ns();
    let mut last = (None, begun_ns);
    loop {
        let state = state(host, array)?;
        let waited = Duration::from_nanos(clock::monotonic_ns() - begun_ns);
        if state.reached(goal) {
            return Ok(match goal {
                Goal::Rebuilt => bounded(host, array, waited),
                _ => note(array, goal, &state),
            });
        }
        let what = || format!("cannot wait until {array} {}", goal.words());
        progress.check(&what())?;
        let over = goal == Goal::Rebuilding && state.reached(Goal::Clean);
        if goal == Goal::Rebuilding && (over || waited > BEGINS_MAX) {
            let why = if over { "it is rebuilt already" } else { "it does not begin" };
            return Err(Error::new(what(), why)
                .hint("choose larger disks: a small array is rebuilt at once"));
        }
        let now_ns = clock::monotonic_ns();
        if last.0 != state.percent() {
            last = (state.percent(), now_ns);
        }
        if Duration::from_nanos(now_ns - last.1) > STALLED_MAX {
            let why = format!("it got no further for {} s", STALLED_MAX.as_secs());
            return Err(
                Error::new(what(), why).hint("see what holds it up: cat /proc/mdstat; dmesg")
            );
        }
        let done = state.percent().map_or(String::new(), |done| format!(", {done:.0} %"));
        progress.tell(&format!("{array}: {}{done}", state.action));
        std::thread::sleep(LOOK_EVERY);
    }
}

fn note(array: &str, goal: Goal, state: &State) -> Option<(String, String)> {
    let done = state.percent().map_or("nearly all".to_owned(), |done| format!("{done:.1} %"));
    let text = match goal {
        Goal::Clean | Goal::Rebuilt => return None,
        Goal::Degraded => format!("{array} had lost a disk on purpose (array-state=degraded)."),
        Goal::Initialising if state.reached(Goal::Clean) => format!(
            "{array} was synchronised already when the trial's file system was made: \
             array-state=initialising asked for one that is not."
        ),
        Goal::Initialising => {
            format!("{array} was being synchronised; {done} was done when mkfs began.")
        }
        Goal::Rebuilding => format!("{array} was being rebuilt; {done} was done when mkfs began."),
    };
    Some(("array-state".to_owned(), text))
}

/// What must be said of a rebuild that took so long: that the kernel's own limit may have held it.
/// Both are of each disk: it goes through all of them at once (md(4), sync_speed_max).
fn bounded(host: &Host, array: &str, took: Duration) -> Option<(String, String)> {
    let first = |file: &str| {
        let text = host.read(format!("/sys/block/{array}/md/{file}")).ok()?;
        text.split_ascii_whitespace().next()?.parse::<f64>().ok()
    };
    let (each_kib, limit_kib) = (first("component_size")?, first("sync_speed_max")?);
    let kib_per_s = each_kib / took.as_secs_f64().max(f64::MIN_POSITIVE);
    (kib_per_s >= limit_kib * NEAR_THE_LIMIT).then(|| {
        let [rate, limit] = [kib_per_s, limit_kib].map(|kib| value::throughput(kib * 1024.0));
        let text = format!(
            "{array} was rebuilt at {rate} a disk, and the kernel allowed {limit}: rebuild_ns may \
             be that limit's, not the disks'. To raise it, as root: echo {} > \
             /proc/sys/dev/raid/speed_limit_max",
            limit_kib * 10.0
        );
        ("rebuild-limited".to_owned(), text)
    })
}

/// Numbers that no array has, for three.
pub fn free_numbers(host: &Host) -> [u32; 3] {
    let taken = host.list("/sys/block");
    let mut free = (100..).filter(|number| !taken.contains(&format!("md{number}")));
    std::array::from_fn(|_| free.next().unwrap_or(u32::MAX))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/block/md100/md");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let host = Host::at(root.path());
        (root, host)
    }

    fn files<'a>(
        action: &'a str,
        completed: &'a str,
        start: &'a str,
        degraded: &'a str,
    ) -> [(&'a str, &'a str); 4] {
        [
            ("sync_action", action),
            ("sync_completed", completed),
            ("resync_start", start),
            ("degraded", degraded),
        ]
    }

    fn reaches(given: [(&str, &str); 4], goal: Goal) -> bool {
        let (_root, host) = machine(&given);
        state(&host, "md100").unwrap().reached(goal)
    }

    #[test]
    fn an_array_is_clean_only_when_nothing_is_left_to_do() {
        assert!(reaches(files("idle\n", "none\n", "none\n", "0\n"), Goal::Clean));
        assert!(!reaches(files("resync\n", "128 / 1024\n", "0\n", "0\n"), Goal::Clean));
        // Before the kernel's thread has begun it says idle, too.
        assert!(!reaches(files("idle\n", "none\n", "0\n", "0\n"), Goal::Clean));
        // RAID 5 is made by filling its last member.
        assert!(!reaches(files("recover\n", "128 / 1024\n", "none\n", "1\n"), Goal::Clean));
        assert!(!reaches(files("idle\n", "none\n", "none\n", "1\n"), Goal::Clean));
        assert!(reaches(files("idle\n", "none\n", "none\n", "1\n"), Goal::Degraded));
        assert!(reaches(files("recover\n", "1 / 4\n", "none\n", "1\n"), Goal::Rebuilding));
    }

    #[test]
    fn how_far_it_is_is_noted_and_a_missing_file_is_an_error() {
        let (_root, host) = machine(&files("resync\n", "256 / 1024\n", "0\n", "0\n"));
        let (mut tell, stop) = (|_: &str| {}, crate::sys::signal::Stop::new());
        let mut progress = Progress::new(&mut tell, &stop);
        let noted = settle(&host, "md100", Goal::Initialising, &mut progress).unwrap().unwrap();
        assert_eq!(noted.1, "md100 was being synchronised; 25.0 % was done when mkfs began.");
        let error = settle(&host, "md101", Goal::Clean, &mut progress).unwrap_err();
        assert!(error.what.contains("/sys/block/md101/md/sync_completed"), "{error}");
        assert_eq!(free_numbers(&host), [101, 102, 103]);
        stop.ask();
        let mut progress = Progress::new(&mut tell, &stop);
        let error = settle(&host, "md100", Goal::Clean, &mut progress).unwrap_err();
        assert_eq!(error.why, "it was stopped");
    }

    /// The kernel's limit, 200 MB/s where nobody says otherwise, would pass for the disks' rate.
    #[test]
    fn a_rebuild_that_the_kernels_own_limit_may_have_held_says_which() {
        let rebuilt = |limit: &str, each_kib: &str| {
            let (_root, host) = machine(&[("sync_speed_max", limit), ("component_size", each_kib)]);
            bounded(&host, "md100", Duration::from_secs(10))
        };
        let (kind, text) = rebuilt("200000 (system)\n", "1900000\n").unwrap();
        assert_eq!(kind, "rebuild-limited");
        let says = "md100 was rebuilt at 195 MB/s (186 MiB/s) a disk, and the kernel allowed \
                    205 MB/s (195 MiB/s): ";
        assert!(text.starts_with(says), "{text}");
        assert!(text.contains("echo 2000000 > /proc/sys/dev/raid/speed_limit_max"), "{text}");
        assert_eq!(rebuilt("200000 (system)\n", "1700000\n"), None, "by a seventh slower");
        assert_eq!(rebuilt("2000000 (local)\n", "1900000\n"), None);
        assert_eq!(rebuilt("", "1900000\n"), None);
        let (_root, host) = machine(&files("idle\n", "none\n", "none\n", "0\n"));
        let (mut tell, stop) = (|_: &str| {}, crate::sys::signal::Stop::new());
        let mut progress = Progress::new(&mut tell, &stop);
        assert_eq!(settle(&host, "md100", Goal::Rebuilt, &mut progress), Ok(None), "no limit told");
        assert!(!reaches(files("recover\n", "1 / 4\n", "none\n", "1\n"), Goal::Rebuilt));
    }

    #[test]
    fn a_cut_progress_is_no_progress() {
        for text in ["", "none", "1", "1 /", "/ 4", "1 / x", "delayed"] {
            let (_root, host) = machine(&files("resync", text, "0", "0"));
            assert_eq!(state(&host, "md100").unwrap().percent(), None, "{text}");
        }
    }
}
