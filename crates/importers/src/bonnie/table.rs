//! (pure) bonnie++'s tables for people: one of the large file, one of small files.
//!
//! Columns are told by their order: either each has a number, or those of single characters are
//! blank (-f). A wide number moves all that follow, so that their place tells nothing. Since 1.98
//! the first table's numbers have their own units, rounded, and the second one's rates of creating
//! are numbers of files (2.00a prints 1024 for 92 a second): of those the CSV line alone is read.

use super::{BonniePhase, BonnieRate, BonnieRun, FIRST, bytes, plain, wait_ns};

const OUTPUT: &str = "------Sequential Output------";
const CREATE: &str = "------Sequential Create------";
/// Which of the six phases of a table have a number, where that many have one.
fn places(many: usize) -> Option<&'static [usize]> {
    match many {
        6 => Some(&[0, 1, 2, 3, 4, 5]),
        // Of -f.
        4 => Some(&[1, 2, 4, 5]),
        _ => None,
    }
}

/// The version of a heading.
pub(super) fn heading(line: &str) -> Option<&str> {
    let (version, _) = line.trim().strip_prefix("Version ")?.split_once(OUTPUT)?;
    Some(version.trim())
}

/// Whether it is a line of tables that stands below a heading.
pub(super) fn is_part(line: &str) -> bool {
    line.contains(CREATE) || line.contains("-Create-- --Read---") || line.contains("--Block-- -Re")
}

/// Which line is due.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Due {
    Phases,
    Units,
    Row,
    /// A row was read; the longest waits may follow, or the other table.
    Any,
    CreatePhases,
    CreateUnits,
    CreateRow,
    End,
}

/// The tables of a run of bonnie++ that are being read.
pub(super) struct BonnieTables {
    due: Due,
    /// Whether the first table is in K/sec, as up to 1.97.
    in_kib: bool,
    /// How many of the longest waits were read.
    waits: [bool; 2],
    run: BonnieRun,
}

impl BonnieTables {
    pub(super) fn new(version: &str) -> BonnieTables {
        BonnieTables {
            due: Due::Phases,
            in_kib: true,
            waits: [false; 2],
            run: BonnieRun { version: version.to_owned(), ..BonnieRun::default() },
        }
    }

    pub(super) fn line(&mut self, line: &str) -> Result<(), String> {
        let bare = line.trim();
        if bare.is_empty() {
            return Ok(());
        }
        let next = match self.due {
            Due::Phases if bare.contains("--Block-- -Rewrite-") => Due::Units,
            Due::Units if bare.contains("/sec %CP") => {
                self.in_kib = bare.contains("K/sec %CP");
                Due::Row
            }
            Due::Row => {
                self.first_row(bare)?;
                Due::Any
            }
            Due::Any if bare.contains(CREATE) => Due::CreatePhases,
            Due::CreatePhases if bare.contains("-Create-- --Read---") => Due::CreateUnits,
            Due::CreateUnits if bare.contains("/sec %CP") => Due::CreateRow,
            Due::CreateRow => {
                self.create_row(bare)?;
                Due::End
            }
            Due::Any | Due::End if bare.starts_with("Latency ") => {
                self.latencies(bare)?;
                self.due
            }
            Due::Any | Due::End if is_row(bare) => {
                return Err(
                    "its table has the rows of several machines; bring the CSV lines that \
                            it was made of"
                        .to_owned(),
                );
            }
            Due::Any | Due::End if !is_part(bare) => self.due,
            _ => return Err(format!("`{bare}` is not how its table goes on")),
        };
        self.due = next;
        Ok(())
    }

    /// `server 8G 65284 18 ...`
    fn first_row(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let values = if words.len() > 12 { 12 } else { 8 };
        let (head, values) = words.split_at(words.len().saturating_sub(values));
        let size = |text: &str| {
            let (size, block) = text.split_once(':').unwrap_or((text, ""));
            let is_size = size.ends_with(['M', 'G']) && bytes(size).is_some();
            is_size.then(|| (size.to_owned(), block.to_owned()))
        };
        match head {
            [name, rest] => {
                self.run.title = (*name).to_owned();
                let told = size(rest).ok_or_else(|| format!("`{rest}` is no size of a file"))?;
                (self.run.size, self.run.block) = told;
            }
            // A long name runs into the size: where it ends cannot be told.
            [one] => match size(one) {
                Some(told) => (self.run.size, self.run.block) = told,
                None => self.run.title = (*one).to_owned(),
            },
            _ => return Err(format!("`{}` is no row of its table", line.trim())),
        }
        self.cells(line, values, 0)
    }

    /// `16 23322 22 +++++ +++ ...`
    fn create_row(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.split_first() {
            Some((_, values)) if values.len() == 12 => self.cells(line, values, FIRST),
            _ => Err(format!("`{line}` is no row of its table")),
        }
    }

    /// The numbers of a row, for the six phases from there on.
    fn cells(&mut self, line: &str, values: &[&str], from: usize) -> Result<(), String> {
        let wrong = || format!("`{line}` is no row of its table");
        let pairs = values.chunks_exact(2);
        for (place, pair) in places(pairs.len()).ok_or_else(wrong)?.iter().zip(pairs) {
            let (Some(phase), [rate, cpu]) = (self.run.phases.get_mut(from + place), pair) else {
                return Err(wrong());
            };
            *phase = cell(rate, cpu).ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// `Latency 15626us 4693ms ...`
    fn latencies(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{line}` are not its longest waits");
        let second = usize::from(self.due == Due::End);
        let read = self.waits.get_mut(second).ok_or_else(wrong)?;
        if std::mem::replace(read, true) {
            return Err("the longest waits stand twice in its table".to_owned());
        }
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        for (place, wait) in places(words.len()).ok_or_else(wrong)?.iter().zip(words) {
            let phase = self.run.phases.get_mut(second * FIRST + place).ok_or_else(wrong)?;
            wait_ns(wait)?;
            if phase.rate == BonnieRate::Nothing {
                return Err(wrong());
            }
            phase.wait = Some(wait.to_owned());
        }
        Ok(())
    }

    fn whole(self) -> Result<BonnieTables, String> {
        match self.due {
            Due::Any | Due::End => Ok(self),
            _ => Err("its table was cut short".to_owned()),
        }
    }

    /// What it says where no CSV line stands behind it.
    pub(super) fn alone(self) -> Result<BonnieRun, String> {
        let table = self.whole()?;
        if !table.in_kib {
            return Err(format!(
                "the tables of bonnie++ {} are rounded, and their numbers of created files are no \
                 rates; bring the CSV line that it prints behind them",
                table.run.version
            ));
        }
        // Of 1.03 there are no longest waits.
        let has_waits = table.waits == [true; 2] || table.run.version.starts_with("1.0");
        match table.due == Due::End && has_waits {
            true => Ok(table.run),
            false => {
                Err("its tables end before that of small files does: they were cut short, or \
                          had none (-n 0); bring the CSV line that stands behind them"
                    .to_owned())
            }
        }
    }

    /// What it says with the CSV line behind it, which must be of the same run.
    pub(super) fn with(self, line: BonnieRun) -> Result<BonnieRun, String> {
        let table = self.whole()?;
        let other =
            |what: &str| Err(format!("the CSV line behind its table is not of it: {what} differ"));
        let (run, is_rough) = (table.run, !table.in_kib);
        if !line.title.starts_with(&run.title) && !run.size.is_empty() {
            return other("the names");
        }
        let has_other = |here: &str, there: &str| !here.is_empty() && here != there;
        if has_other(&run.size, &line.size) || (has_other(&run.block, &line.block) && !is_rough) {
            return other("the sizes");
        }
        if !line.version.is_empty() && line.version != run.version {
            return other("the versions");
        }
        let both = || run.phases.iter().zip(&line.phases).enumerate();
        for (at, (here, there)) in both() {
            let is_no_rate = is_rough && at >= FIRST;
            if !is_no_rate && !same(&here.rate, &there.rate) {
                return other("the rates");
            }
            let cpu = here.cpu == there.cpu || here.rate == BonnieRate::TooQuick;
            if !cpu || (here.wait.is_some() && here.wait != there.wait) {
                return other("shares or waits");
            }
        }
        if is_rough {
            // The line leaves the size of blocks out, though it has a place for it.
            let block = if line.block.is_empty() { run.block } else { line.block.clone() };
            return Ok(BonnieRun { version: run.version, block, ..line });
        }
        Ok(run)
    }
}

/// Whether a row of numbers follows a name.
fn is_row(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_value = |word: &&str| {
        word.starts_with("+++") || plain(word.trim_end_matches(['M', 'G', 'k', 'm'])).is_some()
    };
    words.len() > 4 && words.iter().skip(1).all(is_value)
}

/// A rate such as `65284`, `36.9m` or `+++++`, and its share of a processor.
fn cell(rate: &str, cpu: &str) -> Option<BonniePhase> {
    let rate = match rate {
        "+++++" | "+++" => BonnieRate::TooQuick,
        _ => BonnieRate::Number(with_unit(rate).map(|_| rate.to_owned())?),
    };
    let cpu = match cpu {
        "+++" | "+++++" => None,
        _ => Some(plain(cpu).map(|_| cpu.to_owned())?),
    };
    Some(BonniePhase { rate, cpu, wait: None })
}

/// What a number of a table is in KiB/s or 1/s, and what one more in its last place is worth.
fn with_unit(text: &str) -> Option<(f64, f64)> {
    let number = text.trim_end_matches(['k', 'm', 'g']);
    let unit = match text.get(number.len()..)? {
        "" | "k" => 1.0,
        "m" => 1024.0,
        "g" => 1_048_576.0,
        _ => return None,
    };
    let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len());
    Some((plain(number)? * unit, unit * 0.1f64.powi(i32::try_from(decimals).ok()?)))
}

fn same(here: &BonnieRate, there: &BonnieRate) -> bool {
    match (here, there) {
        (BonnieRate::Number(here), BonnieRate::Number(there)) => {
            match (with_unit(here), plain(there)) {
                (Some((value, step)), Some(exact)) => (value - exact).abs() <= step,
                _ => false,
            }
        }
        (here, there) => here == there,
    }
}
