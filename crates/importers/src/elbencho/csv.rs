//! (pure) elbencho's CSV: a line of columns, and one for each phase. Columns were added and moved
//! from 1.0 to 3.1, and are found by their names.

use super::phase::{Counted, Elapsed, ElbenchoDirection, ElbenchoPhase, Times, entries_of, whole};
use crate::ToolResult;

/// Whether a line has the columns of its CSV; that of `--livecsv` has none of `[first]`.
pub fn is_head(line: &str) -> bool {
    let has = |name: &str| line.split(',').any(|column| column == name);
    line.starts_with("ISO date,") && has("operation") && has("time ms [first]")
}

/// One result for each phase with rates, with the number of its line.
///
/// # Errors
/// When a row is not whole, not read, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<(usize, ToolResult)>, String> {
    let mut all = Vec::new();
    let mut columns: Option<Vec<&str>> = None;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let whole = line.ends_with('\n');
        let line = line.trim_end();
        if is_head(line) && whole {
            columns = Some(line.split(',').collect());
            continue;
        }
        let Some(columns) = &columns else { continue };
        let cells: Vec<&str> = line.split(',').collect();
        let has_date = line.starts_with("20") && cells.iter().take(1).any(|it| it.contains('T'));
        if !has_date && cells.len() * 2 < columns.len() {
            continue;
        }
        if !whole || cells.len() != columns.len() {
            return Err(format!(
                "a row of its CSV has {} of {} columns, or no end: it was cut short, or is of \
                 another line of columns",
                cells.len(),
                columns.len()
            ));
        }
        let row = ElbenchoRow { columns, cells };
        all.extend(row.said()?.map(|said| (number, said)));
    }
    Ok(all)
}

/// A row of elbencho's CSV, and the names of its columns.
struct ElbenchoRow<'a> {
    columns: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl ElbenchoRow<'_> {
    /// What stands in the one column of that name; nothing where it is empty.
    fn get(&self, name: &str) -> Option<&str> {
        let at = self.columns.iter().position(|column| *column == name)?;
        self.cells.get(at).copied().filter(|cell| !cell.is_empty())
    }

    fn number(&self, name: &str) -> Result<Option<f64>, String> {
        let Some(cell) = self.get(name) else { return Ok(None) };
        let number = whole(cell).ok_or_else(|| format!("its `{name}` is `{cell}`, and no number"));
        number.map(Some)
    }

    /// Up to the first thread's end and up to the last one's.
    fn both(&self, name: &str) -> Result<Option<[f64; 2]>, String> {
        let first = self.number(&format!("{name} [first]"))?;
        let last = self.number(&format!("{name} [last]"))?;
        match (first, last) {
            (Some(first), Some(last)) => Ok(Some([first, last])),
            (None, None) => Ok(None),
            _ => Err(format!("it has one `{name}` of two")),
        }
    }

    fn times(&self, name: &str) -> Result<Option<Times>, String> {
        let mut all = Vec::new();
        for what in ["min", "avg", "max"] {
            if let Some(us) = self.number(&format!("{name} lat us [{what}]"))? {
                all.push((us * 1000.0, format!("{us} us")));
            }
        }
        match <[(f64, String); 3]>::try_from(all) {
            Ok(times) => Ok(Some(times)),
            Err(some) if some.is_empty() => Ok(None),
            Err(_) => Err(format!("it has not all of `{name} lat us`")),
        }
    }

    fn way(&self, before: &str) -> Result<ElbenchoDirection, String> {
        let name = |name: &str| format!("{before}{name}");
        let counted = |rate: &str, total: &str| -> Result<Counted, String> {
            Ok(Counted { rate: self.both(&name(rate))?, total: self.both(&name(total))? })
        };
        Ok(ElbenchoDirection {
            bytes: counted("MiB/s", "MiB")?,
            iops: self.both(&name("IOPS"))?,
            entries: counted("entries/s", "entries")?,
            entry_times: self.times(&name("Ent"))?,
            io_times: self.times(&name("IO"))?,
            ..ElbenchoDirection::default()
        })
    }

    fn said(&self) -> Result<Option<ToolResult>, String> {
        let name = self.get("operation").unwrap_or_default().to_owned();
        entries_of(&name)?;
        let ms = self.both("time ms")?.ok_or("a row of its CSV has no time")?;
        let elapsed = ms.map(|ms| Elapsed { seconds: ms / 1000.0, step: 0.001 });
        let (one, reads) = (self.way("")?, self.way("rwmix read ")?);
        let moves = one.bytes.rate.is_some();
        let mix = reads.bytes.rate.is_some();
        let objects = ["bucket", "object"].contains(&self.get("path type").unwrap_or_default());
        let Some(mut said) = (ElbenchoPhase { name, elapsed, one, reads, objects }).said()? else {
            return Ok(None);
        };
        said.version = self.get("version").unwrap_or_default().to_owned();
        self.settings(&mut said, moves, mix);
        Ok(Some(said))
    }

    /// Knobs as far as the columns tell them.
    fn settings(&self, said: &mut ToolResult, moves: bool, mix: bool) {
        let count = |name: &str| self.get(name).and_then(|cell| cell.parse::<u64>().ok());
        let one = |name: &str| count(name) == Some(1);
        for (knob, name, tells) in [
            // Threads are those of each host, files those of each directory of a thread; where it
            // is given a file, all threads share that.
            ("streams", "threads", one("hosts")),
            ("files", "files", one("dirs")),
            ("file-size", "file size", self.get("path type") == Some("dir")),
            ("block-size", "block size", moves),
            ("queue-depth", "IO depth", moves),
        ] {
            if let Some(value) = count(name).filter(|value| tells && *value > 0) {
                said.settings.insert(knob.to_owned(), value.into());
            }
        }
        let flag = |name: &str| match self.get(name) {
            Some("1" | "true") => Some(true),
            Some("0" | "false") => Some(false),
            _ => None,
        };
        if let Some(direct) = flag("direct IO").filter(|_| moves) {
            said.settings.insert("direct".to_owned(), direct.into());
        }
        // Only the command line tells of blocks from the end, or of every so many.
        let command = self.get("command").unwrap_or_default();
        let plain =
            !command.is_empty() && !["backward", "stride"].iter().any(|it| command.contains(it));
        let access = match (said.title.as_str(), flag("random")) {
            ("READ", Some(true)) => Some("random-read"),
            ("WRITE", Some(true)) => Some("random-write"),
            ("READ", Some(false)) if plain => Some("read"),
            ("WRITE", Some(false)) if plain => Some("write"),
            _ => None,
        };
        if let Some(access) = access.filter(|_| moves && !mix) {
            said.settings.insert("access".to_owned(), access.into());
        }
    }
}
