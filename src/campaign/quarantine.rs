//! What nobody may touch any more, because a load hangs on it.
//!
//! A load that waits in the kernel for I/O that does not come back takes whoever looks at the same
//! file system with it. Its file system, and those of its devices that hold I/O back, are barred:
//! trials on them are skipped, and their work directories stay.

use std::collections::BTreeMap;
use std::time::Duration;

use facts::inventory::Target;
use host::sys::{Host, clock};

/// What a disk does not complete in this time after its load has ended, it holds back: longer than
/// the worst disk that works takes, shorter than a person waits.
const HELD_NS: u64 = 10_000_000_000;

/// What the directories of a campaign lie on, and what of it is barred.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    places: BTreeMap<String, DirectoryDevices>,
    /// Words for what is barred, and the trial whose load hangs there.
    barred: BTreeMap<String, u32>,
}

/// The mount and the devices that one directory lies on.
#[derive(Debug)]
struct DirectoryDevices {
    /// Its mount, in words.
    mount: String,
    /// Names of its devices, and the same in words: with their numbers, which tell them apart when
    /// names are given again.
    devices: Vec<(String, String)>,
}

impl Quarantine {
    /// Takes note of what a directory lies on, while it can be looked at.
    pub(super) fn learn(&mut self, directory: &str, target: &Target) {
        let devices = target.devices.iter();
        let devices = devices
            .map(|device| (device.name.clone(), format!("{} ({})", device.name, device.number)));
        let mount = format!("the {} at {}", target.filesystem, target.mount_point);
        let place = DirectoryDevices { mount, devices: devices.collect() };
        self.places.insert(directory.to_owned(), place);
    }

    /// Names of the devices under these directories.
    pub(super) fn devices(&self, directories: &[String]) -> Vec<String> {
        let places = directories.iter().filter_map(|name| self.places.get(name));
        places.flat_map(|place| place.devices.iter().map(|(name, _)| name.clone())).collect()
    }

    /// Bars what the load of `trial` on these directories hangs on: where the kernel counts I/O in
    /// flight, which nothing else should have now, that; else all that it lay on.
    pub(super) fn bar(&mut self, host: &Host, directories: &[String], trial: u32) {
        let busy = |name: &str| {
            let text = host.word(format!("/sys/class/block/{name}/inflight"));
            text.is_some_and(|text| text.split_whitespace().any(|count| count != "0"))
        };
        let places: Vec<&DirectoryDevices> =
            directories.iter().filter_map(|name| self.places.get(name)).collect();
        let holds = |place: &&&DirectoryDevices| place.devices.iter().any(|(name, _)| busy(name));
        let some = places.iter().any(|place| holds(&place));
        let mut barred = Vec::new();
        for place in places.iter().filter(|place| !some || holds(place)) {
            barred.push(place.mount.clone());
            let devices = place.devices.iter().filter(|(name, _)| !some || busy(name));
            barred.extend(devices.map(|(_, words)| words.clone()));
        }
        for words in barred {
            self.barred.entry(words).or_insert(trial);
        }
    }

    /// Bars what holds I/O back after a load has ended: devices with I/O in flight that complete
    /// none in [`HELD_NS`]. Gives what to say of it; `None` when there is no such device.
    pub(super) fn bar_if_held(
        &mut self,
        host: &Host,
        directories: &[String],
        trial: u32,
    ) -> Option<String> {
        let state = |name: &String| {
            let of = |file: &str| host.word(format!("/sys/class/block/{name}/{file}"));
            let busy = of("inflight")?.split_whitespace().any(|count| count != "0");
            let stat = of("stat")?;
            // Reads, their merges and sectors, their time, then the same of writes (stat.rst).
            let done: Vec<&str> = stat.split_whitespace().take(7).collect();
            let done = [0, 2, 4, 6].map(|at| done.get(at).map(|count| (*count).to_owned()));
            busy.then_some(done)
        };
        let devices = self.devices(directories);
        let before: Vec<_> = devices.iter().map(state).collect();
        let end_ns = clock::monotonic_ns() + HELD_NS;
        loop {
            let held = devices
                .iter()
                .zip(&before)
                .filter(|(name, before)| before.is_some() && state(name) == **before);
            let held: Vec<&str> = held.map(|(name, _)| name.as_str()).collect();
            if held.is_empty() {
                return None;
            }
            if clock::monotonic_ns() > end_ns {
                let held = held.join(", ");
                self.bar(host, directories, trial);
                return Some(format!("I/O in flight on {held} does not come back"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether anything is barred.
    pub(super) fn any(&self) -> bool {
        !self.barred.is_empty()
    }

    /// Why a directory must not be touched; `None` when it may.
    pub(super) fn why(&self, directory: &str) -> Option<String> {
        let place = self.places.get(directory)?;
        // The device says more than the file system on it.
        let devices = place.devices.iter().map(|(_, words)| words);
        let (words, trial) = devices
            .chain([&place.mount])
            .find_map(|words| Some((words, self.barred.get(words)?)))?;
        Some(format!("the load of trial {trial} hangs on {words}, under {directory}"))
    }

    /// Why a trial on these directories must not be run.
    pub(super) fn why_any(&self, directories: &[String]) -> Option<String> {
        directories.iter().find_map(|name| self.why(name))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;
    use host::inventory::recording::Recording;

    fn place(mount: &str, devices: &[&str]) -> DirectoryDevices {
        let devices = devices.iter().map(|name| ((*name).to_owned(), format!("{name} (7:1)")));
        DirectoryDevices { mount: mount.to_owned(), devices: devices.collect() }
    }

    fn known(places: &[(&str, DirectoryDevices)]) -> Quarantine {
        let mut quarantine = Quarantine::default();
        for (name, of) in places {
            let devices = of.devices.clone();
            let of = DirectoryDevices { mount: of.mount.clone(), devices };
            quarantine.places.insert((*name).to_owned(), of);
        }
        quarantine
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    /// A machine whose devices have so many reads and writes in flight.
    fn machine(inflight: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in inflight {
            let at = folder.path().join("sys/class/block").join(name);
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("inflight"), text).unwrap();
        }
        let host = Host::at(folder.path());
        (folder, host)
    }

    /// A load on two disks hangs on one of them; the other one is as good as before.
    #[test]
    fn the_disk_that_holds_io_back_is_barred_and_the_other_is_not() {
        let (_folder, host) = machine(&[("loop0", "       0        3\n"), ("loop1", "  0 0\n")]);
        let two = [("/a", place("the ext4 at /a", &["loop0"])), ("/b", place("b", &["loop1"]))];
        let mut quarantine = known(&two);
        assert!(!quarantine.any() && quarantine.why_any(&names(&["/a", "/b"])).is_none());
        quarantine.bar(&host, &names(&["/a", "/b"]), 3);
        assert_eq!(quarantine.why("/b"), None);
        let why = quarantine.why("/a").unwrap();
        assert_eq!(why, "the load of trial 3 hangs on loop0 (7:1), under /a");
        assert_eq!(quarantine.why_any(&names(&["/b", "/a"])), Some(why));
        assert!(quarantine.any());
    }

    /// A ring that is closed leaves its I/O to the kernel: the load ends, and its disk still hangs.
    #[test]
    fn io_that_is_in_flight_and_moves_is_waited_for() {
        let (_folder, host) = machine(&[("loop0", "0 0")]);
        let mut quarantine = known(&[("/a", place("a", &["loop0"]))]);
        assert_eq!(quarantine.bar_if_held(&host, &names(&["/a"]), 1), None, "nothing is in flight");
        let (folder, host) = machine(&[("loop0", "0 3")]);
        let stat = folder.path().join("sys/class/block/loop0/stat");
        std::fs::write(&stat, "1 0 8 0 5 0 40 0 3 9 9").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                std::fs::write(&stat, "1 0 8 0 6 0 48 0 2 9 9").unwrap();
            });
            assert_eq!(quarantine.bar_if_held(&host, &names(&["/a"]), 1), None, "it gets on");
        });
        assert!(!quarantine.any());
        let said = quarantine.bar_if_held(&host, &names(&["/a"]), 4).unwrap();
        assert_eq!(said, "I/O in flight on loop0 does not come back");
        assert!(quarantine.why("/a").unwrap().contains("trial 4 hangs on loop0"));
    }

    #[test]
    fn what_shares_the_disk_or_the_file_system_is_barred_with_it() {
        let (_folder, host) = machine(&[("sda", "1 0"), ("sda1", "1 0"), ("sda2", "0 0")]);
        let mut quarantine = known(&[
            ("/a", place("x at /a", &["sda1", "sda"])),
            ("/a2", place("x at /a", &[])),
            ("/b", place("y at /b", &["sda2", "sda"])),
            ("/c", place("z at /c", &["sdb"])),
        ]);
        quarantine.bar(&host, &names(&["/a"]), 1);
        assert!(
            quarantine.why("/a2").is_some() && quarantine.why("/b").unwrap().contains("sda (7:1)")
        );
        assert_eq!(quarantine.why("/c"), None);
        assert_eq!(quarantine.devices(&names(&["/a", "/c"])), names(&["sda1", "sda", "sdb"]));
    }

    /// A FUSE file system has no device, and nobody counts what is in flight there.
    #[test]
    fn where_nothing_is_counted_all_of_the_trials_places_are_barred() {
        let (_folder, host) = machine(&[]);
        let mut quarantine =
            known(&[("/f", place("the fuse at /f", &[])), ("/g", place("g", &[]))]);
        quarantine.bar(&host, &names(&["/f"]), 7);
        assert!(quarantine.why("/f").unwrap().contains("the fuse at /f"));
        assert_eq!((quarantine.why("/g"), quarantine.why("/never/seen")), (None, None));
    }

    #[test]
    fn a_place_is_known_by_its_devices_and_their_numbers() {
        let recording = Recording::open("sata");
        let target =
            host::inventory::target(&recording.host(), std::path::Path::new("/srv/loop")).unwrap();
        let mut quarantine = Quarantine::default();
        quarantine.learn("/srv/loop", &target);
        assert_eq!(quarantine.devices(&names(&["/srv/loop"])), names(&["loop0", "sda1", "sda"]));
        let place = &quarantine.places["/srv/loop"];
        assert!(place.devices[0].1.starts_with("loop0 (7:"), "{place:?}");
    }
}
