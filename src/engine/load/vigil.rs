//! Whether a silent load still gets on.
//!
//! A load says nothing while it opens its files and while it makes writes durable, and both may
//! take long. As long as its devices complete something, or it moves a byte itself, it is waited
//! for.

use crate::sys::{Host, clock};

/// A disk that completes nothing for so long hangs, or might as well: the kernel gives a SCSI
/// command 30 s and a few tries, and calls a task hung after 120 s (kernel.hung_task_timeout_secs).
const DEVICES_MAX_NS: u64 = 180_000_000_000;
/// Where no device can be seen (FUSE, NFS), writing back what is dirty shows nowhere.
const BLIND_MAX_NS: u64 = 1_200_000_000_000;
/// How often we look.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// Watches over one load.
#[derive(Debug)]
pub struct Vigil {
    host: Host,
    files: Vec<String>,
    max_ns: u64,
    seen: Vec<Option<String>>,
    moved_ns: u64,
    looked_ns: u64,
}

impl Vigil {
    /// Over the load `pid` on these devices.
    pub fn new(host: &Host, pid: u32, devices: &[String]) -> Vigil {
        let device = |name: &String| format!("/sys/class/block/{name}/stat");
        let mut files: Vec<String> = devices.iter().map(device).collect();
        let max_ns = if files.is_empty() { BLIND_MAX_NS } else { DEVICES_MAX_NS };
        files.push(format!("/proc/{pid}/io"));
        let (host, now_ns) = (host.clone(), clock::monotonic_ns());
        Vigil { host, files, max_ns, seen: Vec::new(), moved_ns: now_ns, looked_ns: 0 }
    }

    /// It has said something.
    pub fn heard(&mut self) {
        self.moved_ns = clock::monotonic_ns();
    }

    /// Looks, now and then; for how long nothing has moved, ns, once that is too long.
    pub fn stalled_ns(&mut self) -> Option<u64> {
        let now_ns = clock::monotonic_ns();
        if now_ns.saturating_sub(self.looked_ns) < LOOK_EVERY_NS {
            return None;
        }
        self.looked_ns = now_ns;
        let seen: Vec<Option<String>> =
            self.files.iter().map(|path| Some(completed(&self.host.word(path)?))).collect();
        if seen != self.seen {
            (self.seen, self.moved_ns) = (seen, now_ns);
        }
        let still_ns = now_ns.saturating_sub(self.moved_ns);
        (still_ns > self.max_ns).then_some(still_ns)
    }
}

/// What only grows when something is completed: of a device's counts the I/Os, merges and sectors
/// (Documentation/block/stat.rst), not the times, which grow while it hangs; of a process all.
fn completed(text: &str) -> String {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    match fields.first().is_some_and(|first| first.bytes().all(|b| b.is_ascii_digit())) {
        true => fields.iter().take(7).copied().collect::<Vec<_>>().join(" "),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_completed_counts_as_getting_on() {
        let stat =
            |completed: u64, ticks: u64| format!("9 0 72 {ticks} {completed} 0 8 {ticks} 1 5 6");
        assert_eq!(completed(&stat(1, 3)).split(' ').count(), 7);
        assert_ne!(completed(&stat(1, 3)), completed(&stat(2, 3)));
        let times = |ticks: u64| format!("9 0 72 3 1 0 8 {ticks} 1 {ticks} {ticks}");
        assert_eq!(completed(&times(3)), completed(&times(900)));
        assert_ne!(completed("rchar: 1\nwchar: 2"), completed("rchar: 1\nwchar: 3"));
    }

    #[test]
    fn a_load_that_stands_still_is_told_after_its_time_and_not_before() {
        let mut vigil = Vigil::new(&Host::at("/nowhere"), 1, &[]);
        assert_eq!(vigil.max_ns, BLIND_MAX_NS);
        vigil.max_ns = 0;
        assert_eq!(vigil.stalled_ns(), None, "the first look only takes note");
        vigil.looked_ns = 0;
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(vigil.stalled_ns().is_some());
        vigil.looked_ns = 0;
        vigil.heard();
        vigil.max_ns = u64::MAX;
        assert_eq!(vigil.stalled_ns(), None);
    }
}
