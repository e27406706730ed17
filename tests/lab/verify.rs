//! `brickyard verify` on disks that return other bytes than before, or none.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::disk::{Disk, Mount, beside_a_guest, sh, usable};
use super::run::{brickyard, draw, parse};

const MIB: u64 = 1 << 20;

/// A disk over an image of random bytes; what shows through it changes with the image.
fn disk(folder: &Path, mib: u64) -> (Disk, std::fs::File) {
    let image = folder.join("image");
    let bytes: Vec<u8> = {
        let mut state = draw("image", 1, u64::MAX);
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        };
        (0..mib * MIB).map(|_| next()).collect()
    };
    std::fs::write(&image, bytes).expect("an image");
    let disk = Disk::on(&image, &["--direct-io=off"]);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&image);
    (disk, file.expect("the image"))
}

fn verify(folder: &Path, arguments: &[&str], status: i32) -> Value {
    let arguments = [&["verify"], arguments, &["--json", "--quiet"]].concat();
    let output = brickyard(folder, &arguments).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{said}");
    parse(&output)["verify"].clone()
}

/// Waits until it has read so many bytes in all, and gives how many it has read.
fn reads(child: &std::process::Child, bytes: u64) -> u64 {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let text = std::fs::read_to_string(format!("/proc/{}/io", child.id())).expect("its counts");
        let read = text.strip_prefix("rchar: ").and_then(|rest| rest.lines().next()?.parse().ok());
        let read: u64 = read.expect("a number");
        if read > bytes {
            return read;
        }
        assert!(Instant::now() < until, "{read} bytes were read in two minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Bytes that change beneath the device, which nobody wrote to, are corrupt, at their place.
#[test]
fn a_bit_that_flips_beneath_a_device_is_found_where_it_is() {
    let name = "a_bit_that_flips_beneath_a_device_is_found_where_it_is";
    if !usable(name, &["losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, image) = disk(folder.path(), 16);
    let device = disk.device.as_str();
    let clean = verify(folder.path(), &[device, "--passes", "3"], 0);
    assert_eq!(clean["files"]["read"], 1, "{clean:#}");
    assert_eq!(clean["integrity"]["checked_bytes"], 3 * 16 * MIB);
    // The image was just written: what the loop device gave was in the memory below it.
    assert_eq!(clean["readings"][0]["origin"]["verdict"], "cache", "{:#}", clean["readings"]);
    assert_eq!(clean["bits"]["from_device"], 0, "{:#}", clean["readings"]);

    let arguments = ["verify", device, "--hours", "0.02", "--json", "--quiet"];
    let child = brickyard(folder.path(), &arguments).stdout(Stdio::piped()).spawn();
    let child = child.expect("it starts");
    let known = reads(&child, 3 * 16 * MIB);
    let at = draw("place", 0, 16 * MIB);
    let mut byte = [0];
    image.read_exact_at(&mut byte, at).expect("read");
    image.write_all_at(&[byte[0] ^ 4], at).expect("written");
    reads(&child, known + 3 * 16 * MIB);
    kill_process(Pid::from_child(&child), Signal::INT).expect("signalled");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let told = parse(&output)["verify"].clone();
    let faults = told["integrity"]["faults"].as_array().expect("faults");
    assert_eq!(faults.len(), 1, "{told:#}");
    assert_eq!(faults[0]["offset"], at / MIB * MIB);
    assert_eq!(
        (&faults[0]["kind"], &faults[0]["lasting"]),
        (&"mismatch".into(), &"persistent".into())
    );
    assert_eq!(told["silent"]["events"], 1);
    assert!(told["integrity"]["again"].as_u64() > Some(0), "{:#}", told["integrity"]);
}

/// The end of the image is cut off: the loop device answers EIO there, and the rest is read.
#[test]
fn places_that_cannot_be_read_are_recorded_and_the_rest_is_read() {
    let name = "places_that_cannot_be_read_are_recorded_and_the_rest_is_read";
    if !usable(name, &["losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, image) = disk(folder.path(), 8);
    // In the midst of a block, at a whole page.
    let cut = draw("cut", 1, 7 * 256) * 4096;
    image.set_len(cut).expect("cut");
    let told = verify(folder.path(), &[disk.device.as_str(), "--passes", "2"], 1);
    assert_eq!(told["silent"]["events"], 0);
    let places = told["unreadable"]["events"].as_u64().expect("a count");
    assert!(places >= 1, "{told:#}");
    let faults = told["integrity"]["faults"].as_array().expect("faults");
    assert_eq!(faults[0]["kind"], "unreadable");
    let first = faults.iter().filter_map(|fault| fault["offset"].as_u64()).min();
    assert_eq!(first, Some(cut), "{:#}", told["integrity"]);
    assert_eq!(told["integrity"]["unreadable_bytes"], 8 * MIB - cut);
    assert_eq!(told["integrity"]["again"], places, "the second pass meets them again");
    assert_eq!(told["integrity"]["checked_bytes"], 2 * (cut / MIB * MIB));
    assert_eq!(told["files"]["read"], 0);
}

/// Files are verified on a file system that has no direct I/O, and out of memory: the one is told
/// from the other.
#[test]
fn bytes_out_of_memory_are_no_evidence_on_a_device() {
    let name = "bytes_out_of_memory_are_no_evidence_on_a_device";
    if !usable(name, &["losetup", "mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::new(64);
    let mount = Mount::format(&disk, "ext4");
    let memory = Mount::new("tmpfs", "tmpfs", "size=32m");
    for at in [mount.name(), memory.name()] {
        sh("dd", &["if=/dev/urandom", &format!("of={at}/file"), "bs=1M", "count=16"]);
    }
    let on_disk = verify(folder.path(), &[&mount.name()], 0);
    assert_eq!(on_disk["readings"][0]["origin"]["verdict"], "device", "{on_disk:#}");
    assert_eq!(on_disk["bits"]["compared_from_device"], 8 * 16 * MIB);
    let in_memory = verify(folder.path(), &[&memory.name()], 0);
    assert_eq!(in_memory["readings"][0]["origin"]["verdict"], "cache", "{in_memory:#}");
    assert_eq!(in_memory["bits"]["compared"], 8 * 16 * MIB);
    assert_eq!(in_memory["bits"]["from_device"], 0);
    assert!(in_memory["silent"]["per_bit_at_most"].is_null());
}

/// What the machine counted of errors meanwhile stands beside what was found: here ext4's own
/// count, which its developers let root raise (Documentation/ABI/testing/sysfs-fs-ext4).
#[test]
fn errors_that_a_file_system_counts_meanwhile_are_told() {
    let name = "errors_that_a_file_system_counts_meanwhile_are_told";
    if !usable(name, &["losetup", "mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::new(64);
    let mount = Mount::format(&disk, "ext4");
    let file = mount.path.join("file");
    std::fs::write(&file, vec![7; 4 * MIB as usize]).expect("written");
    let path = file.display().to_string();
    let quiet = verify(folder.path(), &[&path, "--no-store"], 0);
    let counted = |told: &Value| {
        let all = told["integrity"]["counted"].as_array().expect("counters").clone();
        let of_ext4 = |it: &Value| it["what"] == "file system errors";
        let one = all.into_iter().find(of_ext4).unwrap_or_else(|| panic!("{told:#}"));
        (one["before"].as_u64().expect("before"), one["after"].as_u64().expect("after"))
    };
    assert_eq!(counted(&quiet), (0, 0));

    let child = brickyard(folder.path(), &["verify", &path, "--hours", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    reads(&child, 12 * MIB);
    let device = disk.device.trim_start_matches("/dev/");
    let trigger = format!("/sys/fs/ext4/{device}/trigger_fs_error");
    std::fs::write(trigger, "planted by a test").expect("an error");
    kill_process(Pid::from_child(&child), Signal::INT).expect("signalled");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = format!("{device} counted 1 more file system error (0, then 1; errors_count)");
    assert!(said.contains(&told), "{output:?}");
    let report =
        brickyard(folder.path(), &["report", "--format", "text"]).output().expect("it starts");
    let report =
        String::from_utf8_lossy(&report.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains(&told), "{report}: {said}");
}
