//! A btrfs of loop devices over files in memory; only for root.

use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::sys::Host;

/// Loop devices, and a place to mount them; gone when dropped.
struct Bench {
    folder: tempfile::TempDir,
    nodes: Vec<String>,
}

#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
fn try_sh(words: &[&str]) -> Result<String, String> {
    let output = crate::sys::gate::output(Command::new(words[0]).args(&words[1..]));
    let output = output.map_err(|error| format!("{words:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn sh(words: &[&str]) -> String {
    try_sh(words).unwrap()
}

impl Bench {
    /// `None`, and says so, where it cannot be made.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn new() -> Option<Bench> {
        let host = Host::live();
        let btrfs = host.read("/proc/filesystems").is_ok_and(|text| text.contains("btrfs"));
        let tools = crate::sys::command::find("mkfs.btrfs").is_some();
        let root = rustix::process::geteuid().is_root();
        if !root || !btrfs || !tools || !host.exists("/dev/loop-control") {
            eprintln!("SKIP: needs root, loop devices, and btrfs with its tools");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("brickyard-").tempdir_in("/dev/shm").unwrap();
        let mut bench = Bench { folder, nodes: Vec::new() };
        for number in 0..3 {
            let image = bench.folder.path().join(format!("disk-{number}"));
            std::fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
            bench.nodes.push(sh(&["losetup", "--find", "--show", image.to_str().unwrap()]));
        }
        Some(bench)
    }

    fn at(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    fn mount(&self, options: &str) {
        let _ = std::fs::create_dir(self.at());
        sh(&["mount", "-t", "btrfs", "-o", options, &self.nodes[0], self.at().to_str().unwrap()]);
    }

    fn unmount(&self) -> Result<String, String> {
        try_sh(&["umount", self.at().to_str().unwrap()])
    }

    fn names(&self, nodes: usize) -> Vec<&str> {
        self.nodes[..nodes].iter().map(|node| node.trim_start_matches("/dev/")).collect()
    }

    /// What is read of ours.
    fn array(&self) -> Array {
        let host = Host::live();
        let mounts = mounts(&host).unwrap();
        let devices = device::all(&host, &mounts);
        let all = read(&mut Reading::new(&host), &devices, None);
        let ours = |array: &Array| array.members.contains(&self.names(1)[0].to_owned());
        all.into_iter().find(ours).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.unmount();
        for node in &self.nodes {
            let _ = try_sh(&["losetup", "--detach", node]);
        }
    }
}

#[test]
fn a_real_btrfs_is_read_whole_and_with_a_device_missing() {
    let Some(mut bench) = Bench::new() else { return };
    let mut words = vec!["mkfs.btrfs", "-q", "-f", "-L", "brick", "-d", "raid1", "-m", "raid1"];
    words.extend(bench.nodes.iter().map(String::as_str));
    sh(&words);
    bench.mount("noatime");
    let whole = bench.array();
    assert_eq!((whole.alias.as_deref(), whole.level.as_deref()), (Some("brick"), Some("raid1")));
    assert_eq!((whole.missing, whole.errors), (Some(0), Some(0)));
    assert_eq!((&whole.members, &whole.busy_with), (&whole.disks, &None));
    let mut names = bench.names(3);
    names.sort_unstable();
    assert_eq!(whole.members, names);
    bench.unmount().unwrap();
    let lost = bench.nodes.pop().unwrap();
    sh(&["losetup", "--detach", &lost]);
    // Else the kernel still knows it. Those that are left are known again by a scan.
    sh(&["btrfs", "device", "scan", "--forget", &lost]);
    bench.mount("degraded");
    let degraded = bench.array();
    assert_eq!((degraded.missing, degraded.name), (Some(1), whole.name));
    assert!(degraded.place.ends_with("/missing"), "{}", degraded.place);
    let said = Host::live().word(&degraded.place);
    assert_eq!(said.as_deref(), Some("1"), "the file that it names says so");
}
