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
pub const LOOKS_FOR: Duration = Duration::from_secs(2);
/// Less than this share of all CPUs is nobody.
const CPU_SHARE: f64 = 0.05;
/// Less than this is nobody, bytes per second: a log that is written now and then.
const DISK_BYTES_PER_S: f64 = 1e6;
/// Sectors of /proc/diskstats, bytes.
const SECTOR: u64 = 512;

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
    /// Looks at the machine, and at the disks of these names; `None` where the kernel does not
    /// tell, or the user asked to stop meanwhile.
    pub fn look(host: &Host, disks: &[String], stop: &Stop) -> Option<Others> {
        let began_ns = clock::monotonic_ns();
        let before = Counted::now(host, disks)?;
        if stop.asked_within(LOOKS_FOR) {
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
    use super::*;

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
