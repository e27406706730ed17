//! (pure) What DiskSpd prints for people: what was asked for, and of each time span a table of all
//! I/O, one of reads and one of writes, a row a thread and target, and percentiles of latencies.
//!
//! Every number of a kind has as many digits behind the point, so that a row that was cut is known.

use super::{Moved, Order, PERCENTILES, Target, WAYS, fixed, ns, of_all, ways};
use crate::ToolResult;

/// Whether a line is of what it prints.
pub fn knows(line: &str) -> bool {
    let line = line.trim();
    let command = || line.to_lowercase().contains("diskspd");
    line.starts_with("Results for timespan ")
        || line.starts_with("timespan: ")
        || line.starts_with("thread |       bytes ")
        || line.contains(CHART)
        || (line.starts_with("Command Line: ") && command())
}

/// How the head of a table of percentiles ends.
const CHART: &str = "Read (ms) | Write (ms) | Total (ms)";
/// The headings of its tables, as [`WAYS`] are.
const TABLES: [&str; 3] = ["Total IO", "Read IO", "Write IO"];

/// One result for each time span.
///
/// # Errors
/// When one is not whole, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut read = DiskspdTextParser::default();
    for line in text.lines() {
        read.line(line.trim())?;
    }
    read.close()?;
    read.end_of_run()?;
    Ok(read.all)
}

/// What was read so far of a text of DiskSpd.
#[derive(Default)]
struct DiskspdTextParser {
    all: Vec<ToolResult>,
    /// What this run was asked to do, span by span.
    asked: Vec<DiskspdWorkload>,
    /// Whether lines are of that now.
    asking: bool,
    /// How many of its time spans are in `all`.
    done: usize,
    open: Option<DiskspdTimeSpan>,
}

/// What one time span of DiskSpd was asked to do.
#[derive(Default)]
struct DiskspdWorkload {
    targets: Vec<Target>,
    /// All threads go over all targets.
    pool: bool,
}

impl DiskspdTextParser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line == "Input parameters:" || line.starts_with("Command Line: ") {
            self.close()?;
            self.end_of_run()?;
        } else if let Some(number) = line.strip_prefix("timespan: ") {
            self.close()?;
            self.asked.push(DiskspdWorkload::default());
            self.asking = true;
            if number.trim().parse() != Ok(self.asked.len()) || self.done > 0 {
                return Err(format!("its time span {} stands where none can", number.trim()));
            }
        } else if let Some(number) = line.strip_prefix("Results for timespan ") {
            self.close()?;
            self.asking = false;
            if number.strip_suffix(':').and_then(|it| it.parse().ok()) != Some(self.done + 1) {
                return Err(format!("`{line}` stands where those of {} should", self.done + 1));
            }
            self.open =
                Some(DiskspdTimeSpan { number: self.done + 1, ..DiskspdTimeSpan::default() });
        } else if let Some(open) = &mut self.open {
            return open.line(line);
        } else if line.starts_with("thread |") || line.contains(CHART) {
            return Err("it has tables without the line `Results for timespan 1:` before them; \
                        bring all that DiskSpd printed"
                .to_owned());
        } else if line == "System information:" {
            self.asking = false;
        } else if let Some(asked) = self.asked.last_mut().filter(|_| self.asking) {
            asked.line(line);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let none = DiskspdWorkload::default();
        let asked = match self.asked.is_empty() {
            true => &none,
            false => self.asked.get(self.done).ok_or_else(|| {
                format!("it has results of {} time spans and asked for fewer", open.number)
            })?,
        };
        let several = self.asked.len() > 1;
        self.all.push(open.said(asked, several)?);
        self.done += 1;
        Ok(())
    }

    /// # Errors
    /// When it was asked for more than it has results of.
    fn end_of_run(&mut self) -> Result<(), String> {
        let (done, due) = (self.done, self.asked.len());
        if done < due {
            return Err(format!("it was cut short: it has results of {done} time spans of {due}"));
        }
        self.asked.clear();
        (self.asking, self.done) = (false, 0);
        Ok(())
    }
}

impl DiskspdWorkload {
    fn line(&mut self, line: &str) {
        if line.starts_with("path: ") {
            self.targets.push(Target::default());
        } else if line.starts_with("thread pool with ") {
            self.pool = true;
        } else if let Some(target) = self.targets.last_mut() {
            target.line(line);
        }
    }
}

impl Target {
    /// A line of `_PrintTarget`, of whichever version.
    fn line(&mut self, line: &str) {
        let behind = |start: &str| line.strip_prefix(start).map(str::trim);
        let bytes = |start: &str| bytes_of(behind(start)?.trim_end_matches(')'));
        let number = |start: &str| behind(start)?.parse::<u64>().ok();
        match line {
            "software cache disabled" | "software and hardware cache disabled" => {
                self.direct = Some(true);
            }
            "using software cache" | "using software and hardware cache" => {
                self.direct = Some(false);
            }
            "performing read test" => self.write_percent = Some(0),
            "performing write test" => self.write_percent = Some(100),
            "zeroing write buffers" => self.zeros = true,
            _ => {}
        }
        if let Some(of) = behind("performing mix test (read/write ratio: ") {
            let writes = of.strip_suffix(')').and_then(|of| of.split_once('/')?.1.parse().ok());
            self.write_percent = writes;
        } else if let Some(of) = behind("performing mix test (write/read ratio: ") {
            self.write_percent = of.split('/').next().and_then(|writes| writes.parse().ok());
        } else if let Some(bytes) = bytes("block size: ") {
            self.block_bytes = Some(bytes);
        } else if line.starts_with("using random I/O (") {
            self.order = Some(Order::Random);
        } else if line.starts_with("using mixed random/sequential I/O") {
            self.order = Some(Order::Mixed);
        } else if line.starts_with("using memory") || line.starts_with("memory mapped I/O enabled")
        {
            self.is_mapped = true;
        } else if line.starts_with("throughput rate-limited to ")
            || (line.starts_with("think time: ") && line != "think time: 0ms")
        {
            self.limits.push(line.to_owned());
        }
        for start in
            ["using sequential I/O (stride: ", "using interlocked sequential I/O (stride: "]
        {
            if line.starts_with(start) {
                self.order = Some(Order::Sequential);
                self.stride_bytes = bytes(start);
            }
        }
        // Until 2.0.14 this line stands there of random I/O, too, but behind what says so.
        if let Some(stride) = bytes("stride size: ") {
            self.order = self.order.or(Some(Order::Sequential));
            self.stride_bytes = Some(stride);
        }
        for start in [
            "number of outstanding I/O operations: ",
            "number of outstanding I/O operations per thread: ",
        ] {
            self.depth = number(start).or(self.depth);
        }
    }
}

/// `65536`, and since 2.1 `64KiB`; of what has a point in it, digits were left out.
fn bytes_of(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The results of one time span of DiskSpd, as far as they were read.
#[derive(Default)]
struct DiskspdTimeSpan {
    number: usize,
    seconds: Option<f64>,
    threads: Option<u64>,
    /// How busy the processors were, in percent.
    busy: Option<(f64, String)>,
    tables: [Option<DiskspdTable>; 3],
    /// Of which table rows are now.
    table: Option<usize>,
    /// Percentiles of all targets come next.
    total_next: bool,
    /// Rows of them, once their head was there.
    chart: Option<Vec<Percentile>>,
    charting: bool,
}

/// A row of percentiles: its name, and its values of reads, of writes and of all, as printed.
struct Percentile {
    name: String,
    values: [Option<f64>; 3],
}

impl DiskspdTimeSpan {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("actual test time:") {
            let seconds = rest.trim().strip_suffix('s').and_then(|it| fixed(it, 2));
            let seconds = seconds.filter(|seconds| *seconds > 0.0).ok_or_else(|| no_sense(line))?;
            once(&mut self.seconds, seconds, line)
        } else if let Some(rest) = line.strip_prefix("thread count:") {
            let threads = rest.trim().parse().map_err(|_| no_sense(line))?;
            once(&mut self.threads, threads, line)
        } else if let Some(rest) = line.strip_prefix("avg.|") {
            once(&mut self.busy, busy(rest).ok_or_else(|| no_sense(line))?, line)
        } else if line.starts_with("The test was interrupted before the measurements began") {
            Err(format!("its time span {} was interrupted before it measured", self.number))
        } else if let Some(table) = TABLES.iter().position(|table| *table == line) {
            self.end_of_table();
            self.table = Some(table);
            once(&mut self.tables[table], DiskspdTable::default(), line)
        } else if matches!(line, "total:" | "Total latency distribution:") {
            self.end_of_table();
            self.total_next = true;
            Ok(())
        } else if line.contains(CHART) {
            let of_all = self.total_next;
            self.end_of_table();
            self.charting = of_all;
            match self.charting {
                true => once(&mut self.chart, Vec::new(), line),
                false => Ok(()),
            }
        } else if line.contains('|') {
            self.row(line)
        } else {
            // Rules and empty lines are between a heading and its rows; words end a table.
            if line.contains(|c: char| c.is_alphabetic()) && line.ends_with(':') {
                self.end_of_table();
            }
            Ok(())
        }
    }

    fn end_of_table(&mut self) {
        (self.table, self.total_next, self.charting) = (None, false, false);
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        if self.charting {
            let row = percentile(line).ok_or_else(|| no_sense(line))?;
            self.chart.get_or_insert_default().push(row);
            return Ok(());
        }
        if line.starts_with("thread | completion wait") {
            self.end_of_table();
        }
        let table = self.table.and_then(|table| self.tables[table].as_mut());
        table.map_or(Ok(()), |table| table.row(line))
    }

    fn said(self, asked: &DiskspdWorkload, several: bool) -> Result<ToolResult, String> {
        let number = self.number;
        let not_whole =
            |what: &str| format!("its time span {number} is not whole: it has no {what}");
        let seconds = self.seconds.ok_or_else(|| not_whole("line `actual test time:`"))?;
        let threads = self.threads.ok_or_else(|| not_whole("line `thread count:`"))?;
        let mut tables = Vec::new();
        for (table, name) in self.tables.into_iter().zip(TABLES) {
            let table = table.ok_or_else(|| not_whole(&format!("table `{name}`")))?;
            tables.push(table.checked(name, seconds)?);
        }
        let [both, reads, writes] = tables.as_slice() else { return Err(not_whole("tables")) };
        let moved = [both.moved, reads.moved, writes.moved];
        if both.ios_of_threads != threads {
            return Err(format!("it has {threads} threads and rows of {}", both.ios_of_threads));
        }
        if reads.moved.and(writes.moved) != Some(both.moved) || both.moved.ios == 0 {
            return Err("its reads and its writes are not all of its I/O".to_owned());
        }
        both.moved.check(&asked.targets)?;
        let mut said = ToolResult::default();
        if several {
            said.title = format!("timespan {number}");
        }
        for way in ways(&moved) {
            let before = WAYS[way];
            let total = &tables[way];
            let rate = total.rate * 1_048_576.0;
            said.add(format!("{before}throughput_bytes_per_s"), rate, &*total.printed);
            said.add(format!("{before}iops"), total.iops, format!("{:.2} I/O per s", total.iops));
            if let Some(ms) = total.mean_ms {
                said.add(format!("{before}latency_ns_mean"), ns(ms), format!("{ms:.3} ms"));
            }
        }
        if both.mean_ms.is_some() {
            let rows = self.chart.ok_or_else(|| not_whole("percentiles of its latencies"))?;
            let means = [both.mean_ms, reads.mean_ms, writes.mean_ms];
            percentiles(&mut said, &rows, &moved, means)?;
        }
        if let Some((percent, printed)) = self.busy {
            said.add("host_cpu_busy_share", percent / 100.0, printed);
        }
        of_all(&mut said, &asked.targets, threads, asked.pool);
        Ok(said)
    }
}

fn no_sense(line: &str) -> String {
    format!("its line `{line}` makes no sense")
}

/// # Errors
/// When it has a value already: then lines of two results stand there.
fn once<T>(place: &mut Option<T>, value: T, line: &str) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("its line `{line}` stands there twice")),
    }
}

/// ` 50.21%|   4.65%|   45.55%|  49.79%`: busy, in programs and in the kernel, and idle.
fn busy(cells: &str) -> Option<(f64, String)> {
    let percent = |cell: &str| fixed(cell.trim().strip_suffix('%')?, 2);
    let all: Option<Vec<f64>> = cells.split('|').map(percent).collect();
    let [busy, user, kernel, idle] = all?[..] else { return None };
    let near = |one: f64, other: f64| (one - other).abs() < 0.025;
    let good = near(busy, user + kernel) && near(busy + idle, 100.0);
    good.then(|| (busy, format!("{busy:.2} %")))
}

/// `3-nines |      1.608 |      8.378 |      7.432`.
fn percentile(line: &str) -> Option<Percentile> {
    let mut cells = line.split('|').map(str::trim);
    let name = cells.next()?.to_owned();
    let mut values = [None; 3];
    for value in &mut values {
        let cell = cells.next()?;
        *value = fixed(cell, 3);
        if value.is_none() && cell != "N/A" {
            return None;
        }
    }
    cells.next().is_none().then_some(Percentile { name, values })
}

/// Adds what the rows say of each way, once they are in order.
fn percentiles(
    said: &mut ToolResult,
    rows: &[Percentile],
    moved: &[Moved; 3],
    means: [Option<f64>; 3],
) -> Result<(), String> {
    let last = |name: &str| rows.last().is_some_and(|row| row.name == name);
    let first = |name: &str| rows.first().is_some_and(|row| row.name == name);
    if !first("min") || !last("max") {
        return Err("it was cut short: its percentiles do not go from `min` to `max`".to_owned());
    }
    for (way, mean) in (0..WAYS.len()).zip(means).filter(|(way, _)| moved[*way].ios > 0) {
        // Both together stand last there.
        let column = [2, 0, 1][way];
        let values: Option<Vec<f64>> = rows.iter().map(|row| row.values[column]).collect();
        let values = values.ok_or("its percentiles have no number where there was I/O")?;
        let (low, high) = (values[0], values[values.len() - 1]);
        let within = mean.is_none_or(|mean| low - 0.001 < mean && mean < high + 0.001);
        if !values.is_sorted() || !within {
            return Err("its percentiles are not in order, or its mean is not among them".into());
        }
    }
    let max = rows.last().map(|row| row.values).unwrap_or_default();
    if max[2] != Some([max[0], max[1]].into_iter().flatten().fold(0.0, f64::max)) {
        return Err("its longest latency is neither that of reads nor of writes".to_owned());
    }
    for way in ways(moved) {
        for (_, name, ours) in PERCENTILES {
            let row = rows.iter().find(|row| row.name == name);
            let value = row.and_then(|row| row.values[[2, 0, 1][way]]);
            if let Some(ms) = value {
                let figure = format!("{}latency_ns_{ours}", WAYS[way]);
                said.add(figure, ns(ms), format!("{ms:.3} ms"));
            }
        }
    }
    Ok(())
}

/// One table of DiskSpd: where its columns are, its rows and their sum.
#[derive(Default)]
struct DiskspdTable {
    columns: Option<DiskspdColumns>,
    rows: Vec<DiskspdRow>,
    total: Option<DiskspdRow>,
}

/// Which cell of a row is which.
struct DiskspdColumns {
    many: usize,
    bytes: usize,
    ios: usize,
    rate: usize,
    /// As it calls the unit.
    unit: &'static str,
    iops: usize,
    mean: Option<usize>,
}

impl DiskspdColumns {
    fn of(line: &str) -> Option<DiskspdColumns> {
        let names: Vec<&str> = line.split('|').map(str::trim).collect();
        let at = |name: &str| names.iter().position(|known| *known == name);
        let unit = ["MiB/s", "MB/s"].into_iter().find(|unit| at(unit).is_some())?;
        let (bytes, ios, rate) = (at("bytes")?, at("I/Os")?, at(unit)?);
        let (iops, mean) = (at("I/O per s")?, at("AvgLat"));
        Some(DiskspdColumns { many: names.len(), bytes, ios, rate, unit, iops, mean })
    }
}

/// A thread of DiskSpd on a target, or all of them.
struct DiskspdRow {
    thread: Option<u64>,
    moved: Moved,
    rate: f64,
    iops: f64,
    mean_ms: Option<f64>,
}

/// What a table says of all threads.
struct Total {
    moved: Moved,
    ios_of_threads: u64,
    rate: f64,
    printed: String,
    iops: f64,
    mean_ms: Option<f64>,
}

impl DiskspdTable {
    fn row(&mut self, line: &str) -> Result<(), String> {
        let Some(columns) = &self.columns else {
            self.columns = Some(DiskspdColumns::of(line).ok_or_else(|| no_sense(line))?);
            return Ok(());
        };
        if line.starts_with("thread |") {
            return Err("one of its tables has its head twice".to_owned());
        }
        let row = match line.strip_prefix("total:") {
            // It has neither a thread nor a file.
            Some(rest) => columns.row(rest, 1).ok_or_else(|| no_sense(line))?,
            None => columns.row(line, 0).ok_or_else(|| no_sense(line))?,
        };
        match row.thread {
            _ if self.total.is_some() => Err(format!("`{line}` follows the sum of its table")),
            None => once(&mut self.total, row, line),
            Some(_) => {
                self.rows.push(row);
                Ok(())
            }
        }
    }

    /// # Errors
    /// When the sum is not that of the rows, or the rates are not theirs by the time.
    fn checked(self, name: &str, seconds: f64) -> Result<Total, String> {
        let why = |what: &str| format!("its table `{name}` {what}");
        let columns = self.columns.ok_or_else(|| why("has no rows"))?;
        let total = self.total.ok_or_else(|| why("was cut short: it has no row `total:`"))?;
        let sum = self.rows.iter().try_fold(Moved::default(), |sum, row| sum.and(row.moved));
        if sum != Some(total.moved) || self.rows.is_empty() {
            return Err(why("has another sum than its rows"));
        }
        if let Some(mean) = total.mean_ms {
            let of_row = |row: &DiskspdRow| row.mean_ms.unwrap_or_default() * row.moved.ios as f64;
            let all: f64 = self.rows.iter().map(of_row).sum();
            let due = if total.moved.ios > 0 { all / total.moved.ios as f64 } else { 0.0 };
            if (mean - due).abs() > 0.0015 + due * 1e-6 {
                return Err(why("has another mean latency than its rows"));
            }
        }
        for row in self.rows.iter().chain([&total]) {
            // Both are rounded to two places.
            let near = |rate: f64, due: f64| (rate - due).abs() <= 0.006 + due * 0.006 / seconds;
            let rate = row.moved.bytes as f64 / 1_048_576.0 / seconds;
            if !near(row.rate, rate) || !near(row.iops, row.moved.ios as f64 / seconds) {
                return Err(why("has rates that are not its bytes and I/Os by its time"));
            }
        }
        let mut threads: Vec<Option<u64>> = self.rows.iter().map(|row| row.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        Ok(Total {
            moved: total.moved,
            ios_of_threads: threads.len() as u64,
            rate: total.rate,
            printed: format!("{:.2} {}", total.rate, columns.unit),
            iops: total.iops,
            mean_ms: total.mean_ms.filter(|_| total.moved.ios > 0),
        })
    }
}

impl DiskspdColumns {
    /// A row of which so many cells are left out at its start, and as many at its end.
    fn row(&self, line: &str, without: usize) -> Option<DiskspdRow> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let cell = |column: usize| cells.get(column.checked_sub(without)?).copied();
        let thread = match without {
            0 => Some(cells.first()?.parse().ok()?),
            _ => None,
        };
        // A name of a file may have the sign that stands between cells.
        let enough = match thread {
            Some(_) => cells.len() >= self.many && cells.last()?.ends_with(')'),
            None => cells.len() + 2 == self.many,
        };
        let last = *cells.get(self.many.checked_sub(2 + without)?)?;
        // Of no I/O a deviation is `N/A`, or no number as the C library prints it.
        let none = last == "N/A" || last.contains("nan") || last.contains('#');
        let whole = none || fixed(last, 2).is_some() || fixed(last, 3).is_some();
        let mean = match self.mean {
            Some(column) => Some(fixed(cell(column)?, 3)?),
            None => None,
        };
        let (bytes, ios) = (cell(self.bytes)?.parse().ok()?, cell(self.ios)?.parse().ok()?);
        (enough && whole).then_some(DiskspdRow {
            thread,
            moved: Moved { bytes, ios },
            rate: fixed(cell(self.rate)?, 2)?,
            iops: fixed(cell(self.iops)?, 2)?,
            mean_ms: mean,
        })
    }
}
