//! Reading what only a drive can answer, on a thread of its own.
//!
//! Asking a drive takes a command, and a drive that hangs answers when the kernel gives it up,
//! which may take minutes. Nobody waits that long here: an answer that is late goes into the next
//! row, and the thread is left behind when the trial is over.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::Sample;
use facts::counters::table::Table;

/// A row waits for answers no longer than two rows of the other sources, which wait with it.
const PATIENCE: Duration = Duration::from_millis(200);

/// Rows are taken when the counting begins and when it ends, and in no trial between.
pub const AT_THE_ENDS_NS: u64 = u64::MAX / 4;

/// Name of the drive, number of the field, value.
type DriveReading = (String, usize, u64);

/// Drives that are asked for numbers.
pub struct Patient {
    ask: Sender<()>,
    answers: Receiver<Vec<DriveReading>>,
    /// Asked, and no answer yet.
    waiting: bool,
}

/// What `ask` hands a number to: name of the drive, number of the field, value.
pub type Put<'a> = &'a mut dyn FnMut(&str, usize, u64);

impl Patient {
    /// Starts the thread that calls `ask` for each row; `None` when there can be none.
    pub fn start(mut ask: impl FnMut(Put<'_>) + Send + 'static) -> Option<Patient> {
        let (asking, asked) = channel();
        let (answer, answers) = channel();
        let thread = std::thread::Builder::new().name("drives".to_owned()).spawn(move || {
            while let Ok(()) = asked.recv() {
                let mut all = Vec::new();
                ask(&mut |name, field, value| all.push((name.to_owned(), field, value)));
                if answer.send(all).is_err() {
                    return;
                }
            }
        });
        thread.ok()?;
        Some(Patient { ask: asking, answers, waiting: false })
    }
}

impl Sample for Patient {
    fn sample(&mut self, table: &mut Table) {
        let put = |table: &mut Table, answers: Vec<DriveReading>| {
            for (name, field, value) in answers {
                table.put(name.as_bytes(), field, value);
            }
        };
        if let Ok(late) = self.answers.try_recv() {
            put(table, late);
            self.waiting = false;
        }
        if !self.waiting {
            self.waiting = self.ask.send(()).is_ok();
        }
        if let Ok(answers) = self.answers.recv_timeout(PATIENCE) {
            put(table, answers);
            self.waiting = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::counters::series::Series;
    use facts::counters::table::Field;

    const FIELDS: &[Field] = &[Field::gauge("level")];

    fn row(patient: &mut Patient, table: &mut Table, at: u64) {
        table.begin(at);
        patient.sample(table);
        table.end();
    }

    fn levels(table: Table) -> Vec<u64> {
        let series: Series = table.into_series(0);
        series.column("a.level").map_or(Vec::new(), |column| column.values.clone())
    }

    #[test]
    fn each_row_asks_anew() {
        let mut level = 0;
        let mut patient = Patient::start(move |put| {
            level += 1;
            put("a", 0, level);
        })
        .unwrap();
        let mut table = Table::new("test", FIELDS, false);
        (0..3).for_each(|at| row(&mut patient, &mut table, at));
        assert_eq!(levels(table), [1, 2, 3]);
    }

    #[test]
    fn a_drive_that_hangs_holds_no_row_up_and_its_late_answer_is_in_a_later_row() {
        let (release, released) = channel::<()>();
        let mut patient = Patient::start(move |put| {
            let _ = released.recv();
            put("a", 0, 7);
        })
        .unwrap();
        let mut table = Table::new("test", FIELDS, false);
        row(&mut patient, &mut table, 0);
        row(&mut patient, &mut table, 1);
        assert!(patient.waiting, "rows went on without it, and it was asked only once");
        drop(release);
        row(&mut patient, &mut table, 2);
        assert!(!patient.waiting);
        assert_eq!(levels(table), [7, 7, 7], "a first value is taken for the value before");
    }
}
