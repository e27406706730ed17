//! Drawn pools of ZFS: where the bytes came from is told, and what the disks deliver is what was
//! planted.
//!
//! Twelve scenarios in one boot. The program is told the path and the load; what the disks of the
//! pool read is counted beside it, by the kernel's own counters.

use std::time::Duration;

use serde_json::Value;

use super::{Machine, bootable_with};
use crate::disk::beside_this_machine;
use crate::run::{draw, figure, noted, reason, trials, verdict};

mod kinds;

use kinds::{Drawn, KINDS, Scenario};

/// What is to come of a scenario.
enum Truth {
    /// All from the pool's disks: so many of them, at their limit.
    Disks(u64),
    /// All from the ARC.
    Memory,
    /// Some from each, or from a cache device; the counters say how much.
    Counted,
    /// The pool holds less than the files say.
    Packed,
    /// Written, and never safe.
    Unsafe,
    /// Written and safe, to so many disks at their limit at most.
    Safe(u64),
}

/// How the program's word stands to the truth.
#[derive(Debug, PartialEq)]
enum Stands {
    Right,
    Unknown,
    Wrong,
}

/// What was read, bytes: by the program, of the disks, of the cache device.
struct Counted {
    delivered: f64,
    disks: f64,
    cache_device: f64,
    /// The least that is right of what the disks can, where all came from them.
    least: f64,
}

fn stands(truth: &Truth, trial: &Value, of: &Counted, limit: f64) -> Stands {
    let (said, why) = (verdict(trial), reason(trial));
    let right = match truth {
        Truth::Disks(many) => {
            let rate = figure(trial, "throughput_bytes_per_s") / (*many as f64 * limit);
            println!("  {rate:.4} of the limit");
            if said == "device" && !(of.least..1.03).contains(&rate) {
                return Stands::Wrong;
            }
            said == "device"
        }
        Truth::Memory => said == "cache",
        Truth::Counted => {
            let share = of.disks / of.delivered;
            println!(
                "  {share:.3} of the disks, {:.3} of the cache device",
                of.cache_device / of.delivered
            );
            let named = of.cache_device < 0.1 * of.delivered || why.contains("L2ARC on vdc");
            let told = trial["origin"]["device_share"].as_f64();
            let near = told.is_some_and(|told| (told - share).abs() < 0.1);
            let kind = match share {
                low if low < 0.03 => "cache",
                high if high > 0.97 => "device",
                _ => "mixed",
            };
            named && near && (said == kind || said == "mixed")
        }
        Truth::Packed => {
            return match said {
                "unknown" if why.contains("compressed") => Stands::Right,
                "unknown" => Stands::Unknown,
                _ => Stands::Wrong,
            };
        }
        Truth::Unsafe => {
            let durable = &trial["figures"]["durable_throughput_bytes_per_s"]["value"];
            return match noted(trial, "sync-disabled") && durable.is_null() {
                true => Stands::Right,
                false => Stands::Wrong,
            };
        }
        Truth::Safe(many) => {
            let rate = figure(trial, "durable_throughput_bytes_per_s") / (*many as f64 * limit);
            println!("  {rate:.4} of the limit is durable");
            return match rate < 1.03 && !noted(trial, "sync-disabled") {
                true => Stands::Right,
                false => Stands::Wrong,
            };
        }
    };
    match said {
        _ if right => Stands::Right,
        "unknown" => Stands::Unknown,
        _ => Stands::Wrong,
    }
}

#[test]
fn where_bytes_of_a_pool_came_from_is_told_and_its_disks_have_their_limit() {
    twelve("drawn pools of ZFS", false);
}

/// It honours direct I/O, and counts what is on its way.
#[test]
fn where_bytes_of_a_pool_of_the_newer_zfs_came_from_is_told() {
    twelve("drawn pools of the newer ZFS", true);
}

fn twelve(test: &str, newer: bool) {
    let version = ("ZFS", if newer { "backports" } else { "2.1" });
    if !bootable_with(test, "zfs", &[version]) {
        return;
    }
    let _beside = beside_this_machine();
    let limit = draw("bytes per second of a pool's disks", 4_000_000, 6_000_000);
    let first = draw("kind of the first scenario", 0, 12) as usize;
    let many = KINDS.len();
    let all = (0..many).map(|number| KINDS[(first + number) % many](&Drawn { number, newer }));
    let all: Vec<Scenario> = all.collect();
    let script: String = all.iter().map(|one| one.script.as_str()).collect();
    let script = format!("{}\n{script}", include_str!("guest/arc.sh"));
    let limited = limit.to_string();
    let environment = [version, ("LIMIT", limited.as_str()), ("DISKS", "3"), ("MIB", "256")];
    let machine = Machine::run("zfs", &environment, &script, Duration::from_secs(1500));
    let (mut right, mut wrong) = (0, Vec::new());
    for (number, scenario) in all.iter().enumerate() {
        let document = machine.json(&format!("json{number}"));
        let trial = *trials(&document).last().expect("a trial");
        let read = machine.wrote(&format!("read{number}"));
        let read: Vec<f64> = read.split_whitespace().map(|it| it.parse().expect("bytes")).collect();
        println!("scenario {number}, {}: {}: {}", scenario.name, verdict(trial), reason(trial));
        // One that stood still, as the machine below may, has no rate and says so.
        let rate = |name: &str| trial["figures"][name]["value"].as_f64();
        let Some(whole) = rate("naive_throughput_bytes_per_s").filter(|_| !noted(trial, "stopped"))
        else {
            println!("  no rate: {}", trial["notes"]);
            continue;
        };
        let delivered = whole * trial["elapsed_ns"].as_f64().expect("a time") / 1e9;
        // The newer ZFS has the disks read far ahead, and by halves more than is delivered: its
        // rate is that of the load, below theirs.
        let least = if newer { 0.6 } else { 0.97 };
        let of = Counted { delivered, disks: read[0], cache_device: read[1], least };
        match stands(&scenario.truth, trial, &of, limit as f64) {
            Stands::Right => right += 1,
            Stands::Unknown => println!("  not known"),
            Stands::Wrong => wrong.push(format!("{number}, {}: {trial:#}", scenario.name)),
        }
    }
    println!("{right} of {} right, {} wrong", all.len(), wrong.len());
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), machine.said);
    assert!(right + 1 >= all.len(), "{}", machine.said);
}
