//! The plan `flush-test` on disks whose power is cut at random instants: an honest one with a
//! volatile cache loses nothing that was acknowledged, one that lies about flushes is convicted.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::disk::{beside_a_guest, usable};
use crate::liar::Liar;
use crate::run::{brickyard, draw, finding, json, parse, said};

/// Waits until the log has so many lines more; gives how many it has then.
fn lines(log: &Path, more: usize, child: &mut Child) -> usize {
    let count =
        || std::fs::read(log).map_or(0, |log| log.iter().filter(|it| **it == b'\n').count());
    let (start, before) = (Instant::now(), count());
    while count() < before + more {
        let ended = child.try_wait().expect("ours");
        assert!(ended.is_none(), "it ended before the power was cut: {ended:?}");
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is acknowledged");
        std::thread::sleep(Duration::from_millis(5));
    }
    count()
}

/// Writes until the power is cut, boots, and asks what is lost; gives that and the document.
fn cut(what: &str, lying: bool) -> (u64, serde_json::Value) {
    let mut liar = Liar::new(64);
    liar.cache(false);
    let folder = tempfile::tempdir().expect("a folder on another device");
    let log = folder.path().join("flush.log");
    let (name, flush_log) = (liar.name(), format!("flush-log={}", log.display()));
    let arguments =
        ["run", "flush-test", "--dir", &name, &flush_log, "file-size=1MiB", "streams=2", "stop=2m"];
    let mut child = brickyard(folder.path(), &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program can be started");
    lines(&log, 40, &mut child);
    if lying {
        liar.cache(true);
        lines(&log, 40, &mut child);
    }
    std::thread::sleep(Duration::from_millis(draw(&format!("{what}: cut after, ms"), 0, 300)));
    let kept = if lying { 0 } else { draw(&format!("{what}: kept, thousandths"), 0, 1000) };
    let after = draw(&format!("{what}: cut after requests"), 1, 60);
    liar.cut(after, kept, draw(&format!("{what}: seed"), 0, u64::MAX));
    let status = child.wait().expect("it ends when its disk is gone");
    assert!(!status.success(), "{status}");
    let truth = liar.confess();
    assert!(truth.off, "{truth:?}");
    liar.boot();

    let arguments = ["verify", "--flushed", &log.display().to_string(), "--json"];
    let output = brickyard(folder.path(), &arguments).output().expect("the program can be started");
    let document = parse(&output);
    let lost = document["lost"].as_u64().expect("a count");
    let status = i32::from(lost > 0);
    assert_eq!(output.status.code(), Some(status), "{document:#}");
    let acknowledged = document["acknowledged_writes"].as_u64();
    assert!(acknowledged.is_some_and(|writes| writes > 10), "{document:#}");
    println!("{what}: {acknowledged:?} acknowledged, {lost} lost; the disk lost {}", truth.lost);
    verdicts(folder.path(), &liar, lost);
    (lost, document)
}

/// What the check's own campaign and a later one on the same file system say of power cuts.
fn verdicts(folder: &Path, liar: &Liar, lost: u64) {
    let told = |arguments: &[&str]| {
        let document = json(folder, arguments);
        let finding = finding(&document, "power-cut");
        (document["campaign"]["id"].as_u64().expect("a number"), said(&finding), finding)
    };
    let (checked, own, finding) = told(&["report", "--format", "json"]);
    match lost {
        0 => assert!(own.starts_with("Nothing that fsync had made safe is lost"), "{own}"),
        _ => {
            assert!(own.contains(&format!("writes after fsync: {lost} block")), "{own}");
            assert_eq!(finding["severity"], "error", "{finding}");
        }
    }
    let name = liar.name();
    let knobs = ["file-size=1MiB", "stop=300ms", "--replicates", "1"];
    let (_, later, _) =
        told(&[&["run", "sequential-write", "--dir", &name][..], &knobs[..]].concat());
    let campaign = format!("the check of campaign {checked} found ");
    match lost {
        0 => {
            assert!(later.contains(&format!("{campaign}nothing lost")), "{later}");
            assert!(later.contains("whether fsync saves them is not known"), "{later}");
        }
        _ => assert!(later.contains(&format!("{campaign}{lost} block")), "{later}"),
    }
}

#[test]
fn what_an_honest_disk_acknowledged_survives_power_cuts_and_a_lying_one_is_convicted() {
    if !usable("flush-test on a lying disk", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let long = std::env::var_os("BRICKYARD_LONG").is_some();
    for number in 0..if long { 40 } else { 3 } {
        let (lost, document) = cut(&format!("cut {number} of an honest disk"), false);
        assert_eq!(lost, 0, "{document:#}");
    }
    for number in 0..if long { 10 } else { 1 } {
        let (lost, document) = cut(&format!("cut {number} of a lying disk"), true);
        assert!(lost > 0, "{document:#}");
        let losses = document["losses"].as_array().expect("losses");
        assert!(losses.iter().all(|loss| loss["kind"] == "stale"), "{document:#}");
    }
}
