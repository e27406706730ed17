//! A trial begins on quiet devices: what an earlier load had read ahead may wait in their queues
//! long after it is gone, and would fall into the timed part of the next.
//!
//! Only reads are waited for: what was written is put on the device by who wrote it
//! ([`super::settle`] and the workers). A neighbour that never rests is not waited for again and
//! again.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use base::value;
use experiment::measurement::Note;
use host::sys::Host;
use host::sys::clock::monotonic_ns;

/// Devices are waited for no longer than this.
const PATIENCE_MS: u64 = 5000;
/// Where that was in vain, next time half as long, but no less than this.
const PATIENCE_LEAST_MS: u64 = 300;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// So many looks in a row at which nothing moves, after some at which something did: the kernel's
/// throttle lets requests go a tenth of a second apart.
const STILL_LOOKS: u32 = 7;
/// Less between two looks is what any machine reads.
const LITTLE_BYTES: u64 = 64 << 10;
/// Sectors in every count of the block layer.
const SECTOR_BYTES: u64 = 512;

static PATIENCE: AtomicU64 = AtomicU64::new(PATIENCE_MS);

/// What a device does at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DeviceActivity {
    read_bytes: u64,
    in_flight: u64,
}

/// Waits until none of the devices reads, or our patience or the user's is over; a note when they
/// were not quiet by then. `levels` are the same bytes at several heights of a stack, the disks
/// first; each device stands once in one of them.
pub fn wait(host: &Host, levels: &[Vec<String>], is_over: impl Fn() -> bool) -> Option<Note> {
    let patience_ms = PATIENCE.load(Relaxed);
    let Err(restless) = rest(host, levels, patience_ms * 1_000_000, is_over) else {
        PATIENCE.store(PATIENCE_MS, Relaxed);
        return None;
    };
    PATIENCE.store((patience_ms / 2).max(PATIENCE_LEAST_MS), Relaxed);
    Some(Note::new("not-quiet", restless.told(levels)))
}

/// Devices that did not become quiet: how long that was waited for, and what they read meanwhile.
#[derive(Debug, PartialEq, Eq)]
struct BusyDevices {
    waited_ns: u64,
    /// What was read meanwhile, at each level.
    moved: Vec<u64>,
}

impl BusyDevices {
    /// Of one level, that which read most: the disks, unless what lies above has it from memory.
    fn told(&self, levels: &[Vec<String>]) -> String {
        let all = levels.iter().zip(&self.moved).rev();
        let (devices, moved) = all.max_by_key(|(_, moved)| **moved).unzip();
        let devices = devices.map_or(&[][..], Vec::as_slice);
        format!(
            "{} did not come to rest before the trial: in {} of waiting {} read {} that the trial \
             had not asked for.",
            devices.join(" and "),
            value::duration(self.waited_ns as f64),
            if devices.len() == 1 { "it" } else { "they" },
            value::bytes(moved.copied().unwrap_or(0) as f64)
        )
    }
}

/// Waits for that.
fn rest(
    host: &Host,
    levels: &[Vec<String>],
    patience_ns: u64,
    is_over: impl Fn() -> bool,
) -> Result<(), BusyDevices> {
    let started_ns = monotonic_ns();
    let look = || levels.iter().map(|level| moment(host, level)).collect::<Vec<_>>();
    let mut last = look();
    let (mut still, mut wanted, mut moved) = (0, 1, vec![0; levels.len()]);
    if last.iter().all(Option::is_none) {
        return Ok(());
    }
    loop {
        sleep(LOOK_EVERY);
        let now = look();
        let (mut is_still, mut known) = (true, false);
        for (level, (last, now)) in last.iter().zip(&now).enumerate() {
            let (Some(last), Some(now)) = (last, now) else { continue };
            let grown = now.read_bytes.saturating_sub(last.read_bytes);
            known = true;
            if grown > LITTLE_BYTES || now.in_flight > 0 {
                (is_still, moved[level]) = (false, moved[level] + grown);
            }
        }
        last = now;
        (still, wanted) = if is_still { (still + 1, wanted) } else { (0, STILL_LOOKS) };
        if !known || still >= wanted || is_over() {
            return Ok(());
        }
        let waited_ns = monotonic_ns() - started_ns;
        if waited_ns >= patience_ns {
            return Err(BusyDevices { waited_ns, moved });
        }
    }
}

/// The devices of one level together; `None` when nothing is known of any.
fn moment(host: &Host, devices: &[String]) -> Option<DeviceActivity> {
    let all = devices.iter().filter_map(|name| one(host, name));
    all.reduce(|a, b| DeviceActivity {
        read_bytes: a.read_bytes.saturating_add(b.read_bytes),
        in_flight: a.in_flight.saturating_add(b.in_flight),
    })
}

/// `stat` has sectors read as its third number (Documentation/block/stat.rst), `inflight` reads and
/// then writes (Documentation/ABI/stable/sysfs-block).
fn one(host: &Host, name: &str) -> Option<DeviceActivity> {
    let number = |file: &str, at: usize| {
        let text = host.word(format!("/sys/class/block/{name}/{file}"))?;
        text.split_ascii_whitespace().nth(at)?.parse::<u64>().ok()
    };
    let read_bytes = number("stat", 2)?.saturating_mul(SECTOR_BYTES);
    Some(DeviceActivity { read_bytes, in_flight: number("inflight", 0).unwrap_or(0) })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;
    use std::fs;

    fn machine(stat: &str, inflight: &str) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/class/block/sda");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("inflight"), inflight).unwrap();
        let host = Host::at(root.path());
        (root, host)
    }

    fn sda() -> [Vec<String>; 1] {
        [vec!["sda".to_owned()]]
    }

    const STAT: &str = " 81158 11283 7488402 157932 30009 30241 12492608 43331 0 20596 204171";

    #[test]
    fn a_quiet_device_is_waited_for_one_look_and_an_unknown_one_not_at_all() {
        let (_root, host) = machine(STAT, "       0        3\n");
        let began_ns = monotonic_ns();
        for names in [vec!["sda".to_owned()], vec!["gone".to_owned()], Vec::new()] {
            assert_eq!(rest(&host, &[names], 60_000_000_000, || false), Ok(()));
        }
        assert!(monotonic_ns() - began_ns < 4_000_000_000);
        assert_eq!(
            one(&host, "sda"),
            Some(DeviceActivity { read_bytes: 7_488_402 * 512, in_flight: 0 })
        );
        for end in 0..STAT.len() {
            let (_root, cut) = machine(&STAT[..end], "x");
            let _ = one(&cut, "sda");
        }
    }

    /// After a buffered trial of 60 streams its read-ahead was still queued, and the next direct
    /// one was told that the file system did not go around the page cache.
    #[test]
    fn reads_in_flight_are_waited_for_until_they_are_gone_or_the_user_wants_to_stop() {
        let (root, host) = machine(STAT, "7 0");
        let path = root.path().join("sys/class/block/sda/inflight");
        let began_ns = monotonic_ns();
        let comes_to_rest = std::thread::spawn(move || {
            sleep(Duration::from_millis(200));
            fs::write(path, "0 0").unwrap();
        });
        assert_eq!(rest(&host, &sda(), 60_000_000_000, || false), Ok(()));
        assert!(monotonic_ns() - began_ns >= 200_000_000, "it did not wait");
        comes_to_rest.join().unwrap();
        let (_root, busy) = machine(STAT, "7 0");
        assert_eq!(rest(&busy, &sda(), 60_000_000_000, || true), Ok(()), "a stop");
        assert!(rest(&busy, &sda(), 50_000_000, || false).is_err());
    }

    /// "sda1 and sda did not come to rest ...: it read 20 MB", of which there were 10: what a
    /// partition reads its disk reads too.
    #[test]
    fn each_device_is_counted_and_named_once_naive_twice() {
        let (root, host) = machine("0 0 0", "1 0");
        let of = |name: &str| root.path().join("sys/class/block").join(name);
        fs::create_dir_all(of("sda1")).unwrap();
        let reads = |sectors: u64, of: &std::path::Path| {
            fs::write(of.join("stat"), format!("0 0 {sectors}")).unwrap();
            fs::write(of.join("inflight"), "1 0").unwrap();
        };
        reads(0, &of("sda1"));
        let levels = [vec!["sda".to_owned()], vec!["sda1".to_owned()]];
        let looks = std::cell::Cell::new(0);
        let restless = rest(&host, &levels, 100_000_000, || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                reads(20_480, &of("sda"));
                reads(20_480, &of("sda1"));
            }
            false
        });
        let Err(restless) = restless else { panic!("it was waited for in vain") };
        assert_eq!(restless.moved, [10 << 20; 2]);
        let told = restless.told(&levels);
        assert!(told.starts_with("sda did not come to rest before the trial: in "), "{told}");
        assert!(told.contains("it read 10.0 MiB that"), "{told}");
        let several = [vec!["sda".to_owned(), "sdb".to_owned()], vec!["md0".to_owned()]];
        let told = BusyDevices { moved: vec![700, 700], ..restless }.told(&several);
        assert!(told.starts_with("sda and sdb did") && told.contains("they read 700 B"), "{told}");
        let above = BusyDevices { waited_ns: 1, moved: vec![700, 900] }.told(&several);
        assert!(above.starts_with("md0 did"), "{above}");
    }
}
