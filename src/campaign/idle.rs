//! Whether anybody else uses the machine, before an evaluation begins.
//!
//! It reads what the kernel counts anyway (/proc/stat, /proc/diskstats: proc_stat(5),
//! proc_diskstats(5)), twice; nobody is asked, and nothing waits unless the user said so.

use std::fmt;
use std::time::Duration;

use base::value::{significant, throughput_short};
use host::sys::signal::Stop;
use host::sys::{Host, clock};

/// It looks for so long.
const LOOKS_FOR: Duration = Duration::from_secs(2);
/// Less than this share of all CPUs is nobody.
const CPU_SHARE: f64 = 0.05;
/// Less than this is nobody, bytes per second: a log that is written now and then.
const DISK_BYTES_PER_S: f64 = 1e6;
/// Sectors of /proc/diskstats, bytes.
const SECTOR: u64 = 512;

/// Looks for 2 s at the machine and at the disks of these names, and says who else uses them. With
/// `wait` it looks on until nobody does, or the user asks to stop; without it never longer.
pub fn look(host: &Host, disks: &[String], stop: &Stop, wait: bool, say: impl FnMut(&str)) {
    look_each(LOOKS_FOR, host, disks, stop, wait, say);
}

fn look_each(
    looks_for: Duration,
    host: &Host,
    disks: &[String],
    stop: &Stop,
    wait: bool,
    mut say: impl FnMut(&str),
) {
    let mut said = false;
    while let Some(others) = Others::look(host, disks, stop, looks_for) {
        if others.are_idle() {
            return;
        }
        if !said {
            let what = if wait { "waiting until they do not" } else { "--wait-idle waits" };
            say(&format!("{others}: figures are theirs, too; {what}"));
            said = true;
        }
        if !wait {
            return;
        }
    }
}

/// What others use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Others {
    /// CPUs, on average.
    pub cpus: f64,
    /// Of so many.
    pub of_cpus: f64,
    /// Of the disks that will be measured, bytes per second.
    pub disk_bytes_per_s: f64,
}

/// What the kernel had counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    busy_ticks: u64,
    all_ticks: u64,
    cpus: u64,
    disk_bytes: u64,
}

impl Others {
    /// Looks at the machine for so long, and at the disks of these names; `None` where the kernel
    /// does not tell, or the user asked to stop meanwhile.
    fn look(host: &Host, disks: &[String], stop: &Stop, looks_for: Duration) -> Option<Others> {
        let began_ns = clock::monotonic_ns();
        let before = Counted::now(host, disks)?;
        if stop.asked_within(looks_for) {
            return None;
        }
        let after = Counted::now(host, disks)?;
        Some(Others::between(before, after, clock::monotonic_ns() - began_ns))
    }

    fn between(before: Counted, after: Counted, ns: u64) -> Others {
        let all = after.all_ticks.saturating_sub(before.all_ticks).max(1) as f64;
        let busy = after.busy_ticks.saturating_sub(before.busy_ticks) as f64;
        let cpus = after.cpus.max(1) as f64;
        let bytes = after.disk_bytes.saturating_sub(before.disk_bytes) as f64;
        Others {
            cpus: busy / all * cpus,
            of_cpus: cpus,
            disk_bytes_per_s: bytes * 1e9 / ns.max(1) as f64,
        }
    }

    /// Whether so little is used that it is nobody.
    pub fn are_idle(&self) -> bool {
        self.cpus < CPU_SHARE * self.of_cpus && self.disk_bytes_per_s < DISK_BYTES_PER_S
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = throughput_short(self.disk_bytes_per_s);
        let cpus = significant(self.cpus);
        write!(f, "others use {cpus} of {} CPUs and {disk} of the disk", self.of_cpus)
    }
}

impl Counted {
    fn now(host: &Host, disks: &[String]) -> Option<Counted> {
        let stat = host.read("/proc/stat").ok()?;
        let diskstats = host.read("/proc/diskstats").unwrap_or_default();
        Counted::of(&stat, &diskstats, disks)
    }

    fn of(stat: &str, diskstats: &str, disks: &[String]) -> Option<Counted> {
        let first = stat.lines().next()?.strip_prefix("cpu ")?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guest time is in user's.
        let ticks: Vec<u64> =
            first.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
        let sum = |ticks: &[u64]| ticks.iter().fold(0_u64, |sum, it| sum.saturating_add(*it));
        let all_ticks = sum(&ticks);
        let idle = sum(ticks.get(3..5).unwrap_or_default());
        let is_cpu = |line: &&str| {
            let rest = line.strip_prefix("cpu");
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let cpus = stat.lines().filter(is_cpu).count() as u64;
        let sectors = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ours = words.get(2).is_some_and(|name| disks.iter().any(|disk| disk == name));
            let count = |place: usize| words.get(place)?.parse::<u64>().ok();
            ours.then(|| count(5).unwrap_or(0).saturating_add(count(9).unwrap_or(0)))
        };
        let sectors: u64 = diskstats.lines().filter_map(sectors).sum();
        Some(Counted {
            busy_ticks: all_ticks.saturating_sub(idle),
            all_ticks,
            cpus,
            disk_bytes: sectors.saturating_mul(SECTOR),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// How long each look of a test lasts.
    const SHORT: Duration = Duration::from_millis(200);

    /// A machine of two CPUs that others use while `busy` says so; where it is waited for them,
    /// until anything is said of them. What was said, once the looking ended.
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn looked(busy: &AtomicBool, stop: &Stop, wait: bool) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc");
        std::fs::create_dir(&folder).unwrap();
        let count = |busy: u64, idle: u64| {
            let stat = format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 0\ncpu1 1 0\n");
            // Whoever reads meanwhile finds the old one or the new one.
            std::fs::write(folder.join("new"), stat).unwrap();
            std::fs::rename(folder.join("new"), folder.join("stat")).unwrap();
        };
        count(1, 1);
        let (over, mut said) = (AtomicBool::new(false), Vec::new());
        let host = Host::at(root.path());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut used, mut idle) = (1, 1);
                while !over.load(Ordering::Relaxed) {
                    match busy.load(Ordering::Relaxed) {
                        true => used += 1,
                        false => idle += 1,
                    }
                    count(used, idle);
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            // A look at counts that nobody has begun to raise finds nobody.
            let first = host.read("/proc/stat").unwrap();
            while host.read("/proc/stat").unwrap() == first {
                std::thread::sleep(Duration::from_millis(1));
            }
            look_each(SHORT, &host, &[], stop, wait, |text| {
                said.push(text.to_owned());
                // Who waits sees them leave; who does not goes on beside them.
                busy.store(!wait, Ordering::Relaxed);
            });
            over.store(true, Ordering::Relaxed);
        });
        said
    }

    /// `--wait-idle` waits until nobody else uses the machine, and nothing else ever waits.
    #[test]
    fn it_waits_for_others_where_the_user_said_so_and_not_otherwise() {
        let stop = Stop::new();
        let said = looked(&AtomicBool::new(false), &stop, true);
        assert!(said.is_empty(), "nobody is there: {said:?}");
        let said = looked(&AtomicBool::new(true), &stop, true);
        assert_eq!(said.len(), 1, "it is said once: {said:?}");
        assert!(said[0].starts_with("others use "), "{said:?}");
        assert!(
            said[0].ends_with("figures are theirs, too; waiting until they do not"),
            "{said:?}"
        );
        let busy = AtomicBool::new(true);
        let said = looked(&busy, &stop, false);
        assert!(said.len() == 1 && said[0].ends_with("--wait-idle waits"), "{said:?}");
        assert!(busy.load(Ordering::Relaxed), "it went on although they are still there");
    }

    /// A machine that is never idle: the user's Ctrl-C ends the waiting, and where the kernel does
    /// not tell there is none.
    #[test]
    fn waiting_ends_when_the_user_stops_and_where_nothing_can_be_seen() {
        let stop = Stop::new();
        let nothing = Host::at("/nonexistent");
        look_each(Duration::from_secs(60), &nothing, &[], &stop, true, |text| panic!("{text}"));
        stop.ask();
        let said = looked(&AtomicBool::new(true), &stop, true);
        assert!(said.is_empty(), "{said:?}");
    }

    /// Ticks of all CPUs that were busy and idle, and sectors that `sda` moved.
    fn counted(busy: u64, idle: u64, sectors: u64) -> Counted {
        let stat = format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 0\ncpu1 1 0\nintr 5\n");
        let diskstats =
            format!("8 0 sda 1 0 {sectors} 0 1 0 0 0 0\n8 16 sdb 1 0 99999 0 1 0 9 0 0\n");
        Counted::of(&stat, &diskstats, &["sda".to_owned()]).unwrap()
    }

    /// "Others use 1.4 of 2 CPUs and 12 MB/s of the disk."
    #[test]
    fn what_others_use_is_told_in_cpus_and_bytes_of_our_disks_alone() {
        let (before, after) = (counted(100, 100, 0), counted(240, 160, 46_875));
        let others = Others::between(before, after, 2_000_000_000);
        assert_eq!(others.to_string(), "others use 1.40 of 2 CPUs and 12.0 MB/s of the disk");
        assert!(!others.are_idle());
        let nobody = Others::between(before, counted(101, 299, 100), 2_000_000_000);
        assert!(nobody.are_idle(), "{nobody:?}");
    }

    #[test]
    fn what_is_no_count_is_none_and_no_panic() {
        for stat in ["", "cpu", "cpu x y", "intr 1", "cpu 18446744073709551615"] {
            let found = Counted::of(stat, "8 0 sda\n\n8", &["sda".to_owned()]);
            assert!(found.is_none_or(|it| it.disk_bytes == 0), "{stat}");
        }
        let hugest = format!("cpu {0} {0} {0} 1\n", u64::MAX);
        assert!(Counted::of(&hugest, "", &[]).is_some());
    }
}
