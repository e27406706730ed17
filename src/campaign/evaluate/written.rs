//! How much an evaluation may write beside its files: told before it does, and kept.

use base::value::{Stop, bytes, counted};
use experiment::knob::{self, Settings};
use experiment::measurement::Record;

/// What may be written, and what was.
pub struct Written {
    /// No more than this, bytes; `None` where nothing was told.
    most_bytes: Option<u64>,
    /// So far.
    bytes: u64,
    /// The most that was written in a second, or what the probe said, bytes per second.
    bytes_per_s: f64,
    /// The most that one trial of a load wrote, bytes, of those that have run.
    of_loads: Vec<(Settings, u64)>,
    /// Trials that would have gone beyond.
    left_out: u32,
}

impl Written {
    /// Of a device that wrote `bytes_per_s` in the probe.
    pub fn new(most_bytes: Option<u64>, bytes_per_s: f64) -> Written {
        Written { most_bytes, bytes: 0, bytes_per_s, of_loads: Vec::new(), left_out: 0 }
    }

    /// Whether a trial may run. One that may write more than is left may not, and is counted.
    pub fn allows(&mut self, settings: &Settings) -> bool {
        let expected = self.expected(settings);
        let beyond = |most: u64| self.bytes as f64 + expected > most as f64;
        let fits = !settings.writes() || !self.most_bytes.is_some_and(beyond);
        self.left_out += u32::from(!fits);
        fits
    }

    /// What one trial of a load may write, bytes: as much as one before it, or at the rate of the
    /// fastest of all.
    fn expected(&self, settings: &Settings) -> f64 {
        let own = self.of_loads.iter().find(|(of, _)| of == settings);
        own.map_or_else(|| self.bytes_per_s * seconds(settings), |(_, bytes)| *bytes as f64)
    }

    /// Counts what a trial wrote.
    pub fn add(&mut self, record: &Record) {
        let Some(measurement) = record.outcome.measurement() else { return };
        let bytes = measurement.evidence.delivered.write_bytes;
        let settings = &record.trial.settings;
        self.bytes = self.bytes.saturating_add(bytes);
        match self.of_loads.iter_mut().find(|(of, _)| of == settings) {
            Some((_, most)) => *most = bytes.max(*most),
            None => self.of_loads.push((settings.clone(), bytes)),
        }
        let of_all = seconds(settings);
        if of_all > 0.0 {
            self.bytes_per_s = self.bytes_per_s.max(bytes as f64 / of_all);
        }
    }

    /// That trials were left out, for its reader.
    pub fn said(&self) -> Option<String> {
        let most = self.most_bytes.filter(|_| self.left_out > 0)?;
        let many = counted(u64::from(self.left_out), "trial");
        let most = bytes(most as f64);
        Some(format!("left out {many}: more than {most} would have been written"))
    }
}

/// How long a trial writes, as it was asked to, s.
fn seconds(settings: &Settings) -> f64 {
    let timed_ns = match settings.stop() {
        Stop::After(ns) => ns,
        _ => 0,
    };
    // Its warm-up is drawn, up to two thirds longer than asked.
    let warm_up_ns = settings.get(knob::WARM_UP).saturating_mul(5) / 3;
    timed_ns.saturating_add(warm_up_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use engines::engine::testing::{light_campaign, settings};

    fn timed(access: &str) -> Settings {
        let mut settings = settings(&[("access", access)]);
        settings.set(knob::STOP, Stop::After(1_000_000_000));
        settings
    }

    /// Nothing had said how much the timed writes come to, and nothing kept them to it.
    #[test]
    fn a_write_that_may_go_beyond_what_was_told_is_left_out_and_reads_are_not() {
        let mut written = Written::new(Some(250_000_000), 100e6);
        let [write, read] = ["rewrite", "random-read"].map(timed);
        assert!(written.allows(&write) && written.allows(&read));
        let wrote = |bytes: u64| {
            let cell = ("w".to_owned(), timed("rewrite"));
            let mut record = light_campaign(&[cell], 1, 1).remove(0);
            let experiment::measurement::Outcome::Done(measurement) = &mut record.outcome else {
                panic!("not done")
            };
            measurement.evidence.delivered.write_bytes = bytes;
            record
        };
        written.add(&wrote(100_000_000));
        assert!(written.allows(&write), "100 of 250 MB");
        written.add(&wrote(100_000_000));
        assert!(!written.allows(&write), "200 of 250 MB, and one more is 100");
        assert!(written.allows(&read));
        let said = "left out 1 trial: more than 238 MiB would have been written";
        assert_eq!(written.said().as_deref(), Some(said));
        assert_eq!(Written::new(None, 100e6).said(), None);
        // A device that is faster than its probe said is known for it from then on, also for loads
        // that have not run; one of which the own trials are known is held to these.
        let mut written = Written::new(Some(1_000_000_000), 100e6);
        written.add(&wrote(600_000_000));
        let other = timed("random-write");
        assert!(!written.allows(&write) && !written.allows(&other));
        let mut written = Written::new(Some(1_000_000_000), 600e6);
        written.add(&wrote(10_000_000));
        written.add(&wrote(600_000_000 - 10_000_000));
        assert!(!written.allows(&write), "600 of 1000 MB, and one more may be 590");
        let mut slow = Written::new(Some(1_000_000_000), 600e6);
        (0..50).for_each(|_| slow.add(&wrote(10_000_000)));
        assert!(slow.allows(&write) && !slow.allows(&other), "500 MB, one more 10 or 600");
    }
}
