//! Whether a silent load still gets on.
//!
//! A load says nothing while it opens its files and while it makes writes durable, and both may
//! take long. As long as its devices complete something, or it moves a byte itself, it is waited
//! for.

use host::sys::{Host, clock};

/// A disk that completes nothing for so long hangs, or might as well: the kernel gives a SCSI
/// command 30 s and a few tries, and calls a task hung after 120 s (kernel.hung_task_timeout_secs).
const DEVICES_MAX_NS: u64 = 180_000_000_000;
/// Where no device can be seen (FUSE, NFS), writing back what is dirty shows nowhere.
const BLIND_MAX_NS: u64 = 1_200_000_000_000;
/// How often we look.
const LOOK_EVERY_NS: u64 = 1_000_000_000;
/// Between two looks no more counts than this: who does not look for minutes was stopped, and the
/// load mostly with it.
const LOOK_MAX_NS: u64 = 5 * LOOK_EVERY_NS;

/// Watches over one silent load, and tells when neither it nor its devices have moved for too
/// long.
#[derive(Debug)]
pub struct StallDetector {
    host: Host,
    files: Vec<String>,
    max_ns: u64,
    seen: Vec<Option<String>>,
    still_ns: u64,
    looked_ns: u64,
}

impl StallDetector {
    /// Over the load `pid` on these devices.
    pub fn new(host: &Host, pid: u32, devices: &[String]) -> StallDetector {
        let device = |name: &String| format!("/sys/class/block/{name}/stat");
        let mut files: Vec<String> = devices.iter().map(device).collect();
        let max_ns = if files.is_empty() { BLIND_MAX_NS } else { DEVICES_MAX_NS };
        files.push(format!("/proc/{pid}/io"));
        let (host, looked_ns) = (host.clone(), clock::monotonic_ns());
        StallDetector { host, files, max_ns, seen: Vec::new(), still_ns: 0, looked_ns }
    }

    /// It has said something.
    pub fn heard(&mut self) {
        self.still_ns = 0;
    }

    /// Looks, now and then; for how long nothing has moved, ns, once that is too long.
    pub fn stalled_ns(&mut self) -> Option<u64> {
        self.look(clock::monotonic_ns())
    }

    fn look(&mut self, now_ns: u64) -> Option<u64> {
        let since_ns = now_ns.saturating_sub(self.looked_ns);
        if since_ns < LOOK_EVERY_NS {
            return None;
        }
        self.looked_ns = now_ns;
        let seen: Vec<Option<String>> =
            self.files.iter().map(|path| Some(completed(&self.host.word(path)?))).collect();
        self.still_ns += since_ns.min(LOOK_MAX_NS);
        if seen != self.seen {
            (self.seen, self.still_ns) = (seen, 0);
        }
        (self.still_ns > self.max_ns).then_some(self.still_ns)
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
        let mut vigil = StallDetector::new(&Host::at("/nowhere"), 1, &[]);
        assert_eq!(vigil.max_ns, BLIND_MAX_NS);
        vigil.max_ns = 3 * LOOK_EVERY_NS;
        let mut now_ns = vigil.looked_ns;
        let mut look = |vigil: &mut StallDetector, after_ns: u64| {
            now_ns += after_ns;
            vigil.look(now_ns)
        };
        assert_eq!(look(&mut vigil, LOOK_EVERY_NS), None, "the first look only takes note");
        for _ in 0..3 {
            assert_eq!(look(&mut vigil, LOOK_EVERY_NS), None);
        }
        assert_eq!(look(&mut vigil, LOOK_EVERY_NS), Some(4 * LOOK_EVERY_NS));
        vigil.heard();
        assert_eq!(look(&mut vigil, LOOK_EVERY_NS), None);
    }

    /// Ctrl-Z, lunch, `fg`: the trial had failed, as neither the load nor its devices had got on
    /// for an hour.
    #[test]
    fn a_run_that_was_put_aside_is_not_taken_for_one_that_hangs() {
        let mut vigil = StallDetector::new(&Host::at("/nowhere"), 1, &[]);
        let begun_ns = vigil.looked_ns;
        assert_eq!(vigil.look(begun_ns + LOOK_EVERY_NS), None);
        assert_eq!(vigil.look(begun_ns + 3_600_000_000_000), None);
        assert_eq!(vigil.still_ns, LOOK_MAX_NS);
    }
}
