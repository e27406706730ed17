//! Truth that is planted about where bytes come from and how sure a figure is: scenarios of six
//! kinds in which a naive tool is confidently wrong.
//!
//! The program is told the path and the load, nothing else; speeds, sizes, file systems and moments
//! are drawn. Three of each kind, 60 in all with `BRICKYARD_LONG=1`; `BRICKYARD_LAB_KIND` runs
//! those with that word in their name alone.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::Value;

use crate::disk::{Disk, Mount, beside_another_disk, usable};
use crate::guest::bootable;
use crate::run::{draw, noted, reason, verdict};

mod accused;
mod counts;
mod interval;
mod kept;
pub mod neighbour;
mod nodes;
mod quiet;

/// What the program made of a scenario.
enum Found {
    /// It told the truth.
    Right(String),
    /// It said that it does not know.
    Unknown(String),
    /// It was sure, and wrong.
    Wrong(String),
}

/// One way to mislead a tool.
struct Scenario {
    kind: &'static str,
    name: &'static str,
    make: fn(number: u64) -> Found,
}

const NODE: &str = "a device node is not the device";
const SHARED: &str = "evidence about the same files is shared";
const CERTAINTY: &str = "uncertainty is more than the spread of repeats";
const COUNTS: &str = "counts that are not the load's own prove nothing";
const QUIET: &str = "trials begin on a quiet device";
const ACCUSED: &str = "no false accusation";

const KINDS: &[&str] = &[NODE, SHARED, CERTAINTY, COUNTS, QUIET, ACCUSED];

const SCENARIOS: &[Scenario] = &[
    Scenario { kind: NODE, name: "a loop device through memory", make: nodes::through_memory },
    Scenario { kind: NODE, name: "a loop device around memory", make: nodes::around_memory },
    Scenario { kind: NODE, name: "a loop device on a loop device", make: nodes::nested },
    Scenario { kind: NODE, name: "a partition", make: nodes::partition },
    Scenario { kind: NODE, name: "a disk of compressed memory", make: nodes::compressed_memory },
    Scenario { kind: NODE, name: "a loop device over a program's file", make: nodes::program },
    Scenario { kind: NODE, name: "verify on a loop device", make: nodes::verified },
    Scenario { kind: NODE, name: "an evaluation on a loop device", make: nodes::evaluated },
    Scenario { kind: SHARED, name: "one file over and over", make: kept::over_and_over },
    Scenario { kind: SHARED, name: "one cell again and again", make: kept::again_and_again },
    Scenario { kind: SHARED, name: "several cells on the same files", make: kept::several_cells },
    Scenario { kind: SHARED, name: "an evaluation of a cached disk", make: kept::evaluated },
    Scenario { kind: CERTAINTY, name: "a slice that a throttle saved", make: interval::slice },
    Scenario { kind: CERTAINTY, name: "few blocks in a window", make: interval::few_blocks },
    Scenario { kind: CERTAINTY, name: "the highest of equal cells", make: interval::equal_cells },
    Scenario { kind: CERTAINTY, name: "credits that run out", make: interval::credits },
    Scenario { kind: COUNTS, name: "another reads the disk", make: counts::same_disk },
    Scenario { kind: COUNTS, name: "another reads below a loop device", make: counts::below },
    Scenario { kind: COUNTS, name: "another below a program", make: counts::below_a_program },
    Scenario { kind: COUNTS, name: "another client of a server", make: counts::another_client },
    Scenario { kind: QUIET, name: "direct after many streams", make: quiet::many_streams },
    Scenario { kind: QUIET, name: "direct after mapped reads", make: quiet::mapped },
    Scenario { kind: QUIET, name: "another's read-ahead is queued", make: quiet::queued },
    Scenario { kind: QUIET, name: "another's writes wait", make: quiet::written },
    Scenario { kind: ACCUSED, name: "a neighbour leaves", make: accused::neighbour_leaves },
    Scenario { kind: ACCUSED, name: "a disk that wanders", make: accused::wanders },
    Scenario { kind: ACCUSED, name: "a disk read twice", make: accused::read_twice },
    Scenario { kind: ACCUSED, name: "a packed file", make: accused::packed },
    Scenario { kind: ACCUSED, name: "a mirror of files", make: accused::mirrored },
];

/// What of the bytes may have come from memory.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    None,
    All,
}

/// More of the media's rate than this is not the media's: a throttle saves up a tenth of a second,
/// and what is found of that is left out.
const MOST: f64 = 1.12;

/// Less than this is not what the media can do: somebody else has the rest, and is named.
const LEAST: f64 = 0.5;

/// Holds a trial's verdict against the media's rate.
fn judged(trial: &Value, media_bytes_per_s: u64, memory: Memory) -> Found {
    let rate = trial["figures"]["throughput_bytes_per_s"]["value"].as_f64();
    // None is too short for one, and says so.
    let share = rate.map_or(1.0, |rate| rate / media_bytes_per_s as f64);
    let line = format!("{} at {share:.2} of the media's: {}", verdict(trial), reason(trial));
    let possible = share <= MOST && (share >= LEAST || noted(trial, "others-io"));
    match verdict(trial) {
        "unknown" => Found::Unknown(line),
        "device" if possible && memory == Memory::None => Found::Right(line),
        "cache" | "mixed" | "device-cache" if memory == Memory::All => Found::Right(line),
        _ => Found::Wrong(line),
    }
}

/// "The device delivers 3304 MB/s", or "With 1 stream, ..., the device delivers": what the answer
/// says before all else, bytes per second.
fn headline(document: &Value) -> Option<(f64, String)> {
    let line = document["answer"][0].as_str()?;
    let (_, rest) = line.split_once("he device delivers ")?;
    let (number, _) = rest.split_once(" MB/s")?;
    let number = number.trim_start_matches("about ");
    Some((number.parse::<f64>().ok()? * 1e6, line.to_owned()))
}

/// The ends of an interval, where there is one.
fn ends(figure: &Value) -> Option<(f64, f64)> {
    figure["low"].as_f64().zip(figure["high"].as_f64())
}

/// Whether an interval holds the truth, but for so much of it.
fn holds((low, high): (f64, f64), truth: f64, off: f64) -> bool {
    low <= truth * (1.0 + off) && high >= truth * (1.0 - off)
}

fn amount(number: u64, what: &str, low: u64, high: u64) -> u64 {
    draw(&format!("scenario {number}: {what}"), low, high)
}

/// One of `choices`.
fn choose<T: Copy>(number: u64, what: &str, choices: &[T]) -> T {
    choices[amount(number, &format!("{what}, which"), 0, choices.len() as u64) as usize]
}

/// A disk of a drawn rate with a file system on it.
struct Slow {
    mount: Mount,
    disk: Disk,
    bytes_per_s: u64,
}

impl Slow {
    fn new(number: u64, mib: u64) -> Slow {
        Slow::with(number, mib, &["ext4", "xfs"])
    }

    fn with(number: u64, mib: u64, filesystems: &[&'static str]) -> Slow {
        Slow::at_least(20, number, mib, filesystems)
    }

    /// One of so many MB/s or more, and of any in the long form.
    fn at_least(least: u64, number: u64, mib: u64, filesystems: &[&'static str]) -> Slow {
        let least = if std::env::var_os("BRICKYARD_LONG").is_some() { 20 } else { least };
        let mut disk = Disk::new(mib);
        let mount = Mount::format(&disk, choose(number, "file system", filesystems));
        let bytes_per_s = amount(number, "disk, MB/s", least, 60) * 1_000_000;
        assert!(disk.limit(bytes_per_s, 400_000_000), "a throttle");
        Slow { mount, disk, bytes_per_s }
    }
}

/// The scenarios that are run, in their order.
fn chosen(long: bool) -> Vec<&'static Scenario> {
    if let Ok(only) = std::env::var("BRICKYARD_LAB_KIND") {
        return SCENARIOS.iter().filter(|it| it.name.contains(&only)).collect();
    }
    let each = if long { 10 } else { 3 };
    let mut all = Vec::new();
    for kind in KINDS {
        let of_kind: Vec<&Scenario> = SCENARIOS.iter().filter(|it| it.kind == *kind).collect();
        let first = draw(&format!("{kind}: first"), 0, of_kind.len() as u64) as usize;
        // Guests take long: of those that need one, one in the short form.
        let count = if *kind == SHARED && !long { 1 } else { each };
        all.extend((first..first + count).map(|place| of_kind[place % of_kind.len()]));
    }
    all
}

/// Unknown ones of all kinds, whichever test met them.
static UNKNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[test]
fn nobody_is_sure_where_bytes_come_from() {
    run(&[NODE, SHARED, CERTAINTY]);
}

#[test]
fn nobody_is_sure_of_what_others_did() {
    run(&[COUNTS, QUIET, ACCUSED]);
}

/// Runs the scenarios of these kinds; two tests share them, so that they run side by side.
fn run(kinds: &[&str]) {
    let tools = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "losetup", "addpart", "delpart", "bindfs"];
    let of_guests = ["mount.nfs", "rpc.nfsd", "exportfs", "rpc.mountd", "rpcbind"];
    if !usable("planted truth", &tools) || !bootable("planted truth", &of_guests) {
        return;
    }
    if !Disk::new(16).limit(1_000_000, 1_000_000) {
        println!("SKIP planted truth: this kernel has no cgroup v1 block throttle");
        return;
    }
    let _beside = beside_another_disk();
    let long = std::env::var_os("BRICKYARD_LONG").is_some();
    let (mut unknown, mut wrong) = (0, Vec::new());
    let mut of_kind: BTreeMap<&str, u32> = BTreeMap::new();
    let all = chosen(long);
    let ours = || all.iter().enumerate().filter(|(_, it)| kinds.contains(&it.kind));
    for (number, scenario) in ours() {
        let begun = std::time::Instant::now();
        let found = (scenario.make)(number as u64);
        let name = format!("scenario {number}, {}", scenario.name);
        *of_kind.entry(scenario.kind).or_default() += 1;
        let line = match &found {
            Found::Right(why) => format!("{name}: right. {why}"),
            Found::Unknown(why) => format!("{name}: UNKNOWN. {why}"),
            Found::Wrong(why) => format!("{name}: WRONG. {why}"),
        };
        println!("{line} ({:.0} s)", begun.elapsed().as_secs_f64());
        match found {
            Found::Right(_) => {}
            Found::Unknown(_) => {
                unknown += 1;
                UNKNOWN.lock().expect("nobody panics with it").push(line);
            }
            Found::Wrong(_) => wrong.push(line),
        }
    }
    let right = ours().count() - unknown - wrong.len();
    println!("{right} right, {unknown} unknown, {} wrong of {of_kind:?}", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    let unknown = UNKNOWN.lock().expect("nobody panics with it").clone();
    assert!(unknown.len() * 10 <= all.len(), "{unknown:#?}");
}
