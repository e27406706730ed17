//! (pure) The row of an average of vdbench's, as figures.
//!
//! Bytes per second are told twice in it, by MB/sec and by the rate and the size of its I/Os, and
//! the mean of all times by those of reads and of writes: where they do not agree, the row is not
//! believed.

use serde_json::Map;

use experiment::measurement::Note;

use super::Run;
use super::columns::{BINARY, DECIMAL, VdbenchColumns};
use crate::ToolResult;

/// A number of Vdbench, and what one more in its last place is worth.
#[derive(Clone, Copy)]
struct VdbenchNumber<'a> {
    value: f64,
    step: f64,
    printed: &'a str,
}

impl<'a> VdbenchNumber<'a> {
    fn of(text: &'a str) -> Option<VdbenchNumber<'a>> {
        let is_one = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
        let good = !whole.is_empty() && is_one(whole) && is_one(behind) && text.len() < 18;
        let value = text.parse::<f64>().ok().filter(|_| good)?;
        let step = 0.1f64.powi(i32::try_from(behind.len()).ok()?);
        Some(VdbenchNumber { value, step, printed: text })
    }
}

/// One average that Vdbench prints, by its columns.
pub struct VdbenchRow<'a> {
    values: Vec<(&'a str, VdbenchNumber<'a>)>,
    /// Bytes in one MB.
    mb: f64,
    /// Whether it is of operations on files.
    pub files: bool,
}

/// What an operation on files is called there, and by us.
const OPERATIONS: [(&str, &str); 11] = [
    ("mkdir", "mkdir"),
    ("rmdir", "rmdir"),
    ("create", "create"),
    ("open", "open"),
    ("close", "close"),
    ("delete", "unlink"),
    ("getattr", "getattr"),
    ("setattr", "setattr"),
    ("access", "access"),
    ("copy", "copy"),
    ("move", "move"),
];

impl<'a> VdbenchRow<'a> {
    /// # Errors
    /// When a number is none, or two of them contradict each other.
    pub fn from_values(
        values: &[(&'a str, &'a str)],
        columns: &VdbenchColumns,
    ) -> Result<VdbenchRow<'a>, String> {
        let mut numbers: Vec<(&str, VdbenchNumber<'_>)> = Vec::new();
        for (name, text) in values {
            match VdbenchNumber::of(text) {
                Some(number) => numbers.push((name, number)),
                None if ["n/a", "NaN"].contains(text) => {}
                // Names of versions, and of loops.
                None if *name == "version" => {}
                None => return Err(format!("its {name} is `{text}`, and no number")),
            }
        }
        let mut row = VdbenchRow { values: numbers, mb: BINARY, files: columns.files };
        row.mb = row.bytes_in_mb(columns.mb)?;
        row.check()?;
        Ok(row)
    }

    fn get(&self, name: &str) -> Option<VdbenchNumber<'a>> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }

    fn value(&self, name: &str) -> f64 {
        self.get(name).map_or(0.0, |number| number.value)
    }

    /// How far a number may be off, in its last place: of files, digits that have no room in their
    /// column are cut off, not rounded (`Format.f` with `F`).
    fn slack(&self) -> f64 {
        if self.files { 1.02 } else { 0.51 }
    }

    /// Whether nothing was done.
    pub fn is_idle(&self) -> bool {
        ["rate", "mb/sec", "read_rate", "write_rate"].iter().all(|name| self.value(name) <= 0.0)
    }

    /// Bytes in one MB: as the head says, or as its rate and the size of its I/Os say.
    fn bytes_in_mb(&self, told: Option<f64>) -> Result<f64, String> {
        let (rate, step, bytes) = match self.files {
            false => {
                let rate = self.get("rate").ok_or("it has no rate")?;
                (rate.value, rate.step, self.get("bytes/io"))
            }
            true => {
                let both = self.value("read_rate") + self.value("write_rate");
                let step = |name: &str| self.get(name).map_or(0.0, |number| number.step);
                (both, step("read_rate") + step("write_rate"), self.get("xfersize"))
            }
        };
        let total = self.get("mb/sec").ok_or("it has no MB/sec")?;
        // Reports of before 5.02 may have no size.
        let Some(bytes) = bytes else { return Ok(told.unwrap_or(BINARY)) };
        let fits = |mb: &f64| {
            let due = rate * bytes.value / mb;
            // Sizes are cut, not rounded, to whole bytes.
            let share = self.slack() * step / rate.max(step) + 1.1 / bytes.value.max(1.0);
            (total.value - due).abs() <= self.slack() * total.step + due * share
        };
        [BINARY, DECIMAL]
            .into_iter()
            .filter(|mb| told.is_none_or(|told| told == *mb))
            .find(fits)
            .ok_or_else(|| {
                format!(
                    "its MB/sec are {}, and not its I/Os by their size of {}",
                    total.printed, bytes.printed
                )
            })
    }

    fn check(&self) -> Result<(), String> {
        let (all, reads, writes) =
            (self.get("resp"), self.get("read_resp"), self.get("write_resp"));
        if let (false, Some(all), Some(reads), Some(writes), Some(percent)) =
            (self.files, all, reads, writes, self.get("read%"))
        {
            let share = percent.value / 100.0;
            let due = share * reads.value + (1.0 - share) * writes.value;
            let steps = all.step + reads.step + writes.step;
            let near = 0.51 * steps
                + 0.51 * percent.step / 100.0 * (reads.value - writes.value).abs()
                + 1e-9;
            if (all.value - due).abs() > near || share > 1.0 {
                return Err(format!("its resp is {}, and not of reads and writes", all.printed));
            }
        }
        for (mean, max) in
            [("resp", "resp_max"), ("read_resp", "read_max"), ("write_resp", "write_max")]
        {
            if let Some((mean, max)) = self.get(mean).zip(self.get(max))
                && mean.value > max.value + max.step
            {
                return Err(format!("its mean of {} is above its longest", mean.printed));
            }
        }
        if let Some((reads, writes)) = self.get("mb_read").zip(self.get("mb_write")) {
            let all = self.get("mb/sec").unwrap_or(reads);
            let near = self.slack() * (reads.step + writes.step + all.step) + 1e-9;
            if (reads.value + writes.value - all.value).abs() > near {
                return Err(format!("its MB/sec are {}, and not of reads and writes", all.printed));
            }
        }
        Ok(())
    }

    /// # Errors
    /// When nothing was done.
    pub fn said(&self, run: &Run) -> Result<ToolResult, String> {
        let mut said = ToolResult::default();
        if self.is_idle() {
            return Err("in a run of it nothing was done".to_owned());
        }
        match self.files {
            true => self.of_files(&mut said),
            false => self.of_devices(&mut said, run),
        }
        if let Some(busy) = self.get("cpu_used").filter(|busy| busy.value > 0.0) {
            said.add("host_cpu_busy_share", busy.value / 100.0, format!("{} %", busy.printed));
        }
        let asked = self.get("reqrate").filter(|rate| rate.value < MAXIMUM);
        let pace = asked.map(|rate| rate.printed.to_owned()).or_else(|| run.pace.clone());
        if let Some(pace) = pace {
            let text = format!(
                "vdbench was asked for {pace} operations per second, not for as many as can be. \
                 The figures are of that pace."
            );
            said.notes.push(Note::new("rate-limited", text));
        }
        Ok(said)
    }

    fn add(&self, said: &mut ToolResult, name: &str, figure: String, unit: f64, word: &str) {
        // What was not done, and what was rounded away, stands there as 0.
        if let Some(number) = self.get(name).filter(|number| number.value > 0.0) {
            said.add(figure, number.value * unit, format!("{} {word}", number.printed));
        }
    }

    fn of_devices(&self, said: &mut ToolResult, run: &Run) {
        self.add(said, "rate", "iops".to_owned(), 1.0, "I/O per second");
        self.add(said, "mb/sec", "throughput_bytes_per_s".to_owned(), self.mb, "MB/sec");
        self.add(said, "resp", "latency_ns_mean".to_owned(), 1e6, "ms");
        self.add(said, "resp_max", "latency_ns_max".to_owned(), 1e6, "ms");
        let percent = self.get("read%").map(|it| it.value);
        if percent.is_some_and(|percent| percent > 0.0 && percent < 100.0) {
            for way in ["read", "write"] {
                let figure = |what: &str| format!("{way}_latency_ns_{what}");
                self.add(said, &format!("{way}_resp"), figure("mean"), 1e6, "ms");
                self.add(said, &format!("{way}_max"), figure("max"), 1e6, "ms");
            }
        }
        said.settings = self.settings(run);
    }

    fn of_files(&self, said: &mut ToolResult) {
        self.add(said, "rate", "operations_per_s".to_owned(), 1.0, "operations per second");
        self.add(said, "resp", "operation_latency_ns_mean".to_owned(), 1e6, "ms");
        self.add(said, "mb/sec", "throughput_bytes_per_s".to_owned(), self.mb, "MB/sec");
        for way in ["read", "write"] {
            let figure = |what: &str| format!("{way}_{what}");
            self.add(said, &format!("{way}_rate"), figure("iops"), 1.0, "per second");
            self.add(said, &format!("{way}_resp"), figure("latency_ns_mean"), 1e6, "ms");
            let rate = figure("throughput_bytes_per_s");
            self.add(said, &format!("mb_{way}"), rate, self.mb, "MB/sec");
        }
        for (name, ours) in OPERATIONS {
            self.add(said, &format!("{name}_rate"), format!("{ours}_per_s"), 1.0, "per second");
            let figure = format!("{ours}_latency_ns_mean");
            self.add(said, &format!("{name}_resp"), figure, 1e6, "ms");
        }
    }

    /// Of a flat file what was asked for, which it says only where it was one and the same.
    fn settings(&self, run: &Run) -> Map<String, serde_json::Value> {
        let mut known = Map::new();
        let size = self.get("bytes/io").map(|number| number.value);
        let asked = self.get("xfersize").map(|number| number.value);
        let asked = asked.filter(|asked| size.is_some_and(|size| (size - asked).abs() < 1.0));
        let block = asked.map(|bytes| bytes as u64).or(run.block_bytes).filter(|it| *it > 0);
        if let Some(bytes) = block {
            known.insert("block-size".to_owned(), bytes.into());
        }
        let value = |name: &str| self.get(name).map(|number| number.value);
        let Some((reads, seeks)) = value("rdpct").zip(value("seekpct")) else { return known };
        let (all, none) = (reads >= 100.0, reads <= 0.0);
        let access = match (seeks >= 100.0, seeks <= 0.0) {
            (true, _) if all => "random-read",
            (true, _) if none => "random-write",
            (true, _) => "random-mix",
            (_, true) if all => "read",
            (_, true) if none => "write",
            _ => return known,
        };
        known.insert("access".to_owned(), access.into());
        if access == "random-mix" {
            known.insert("read-share".to_owned(), (reads / 100.0).into());
        }
        known
    }
}

/// Above any rate that one asks for: `iorate=max` and `curve` have numbers of their own.
const MAXIMUM: f64 = 9_999_000.0;
