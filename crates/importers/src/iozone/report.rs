//! (pure) What iozone prints once more with -R, for spreadsheets: each number is held against the
//! one that it repeats.

use super::table::{IozoneTable, WAYS};
use super::threads::{self, Group};

pub(super) const EXCEL: &str = "Excel output is below:";
const OF_PROCESSES: &str = "\"Throughput report Y-axis";
/// How the reports of a table are called, in the order of [`WAYS`].
const NAMES: [&str; 13] = [
    "writer",
    "re-writer",
    "reader",
    "re-reader",
    "random read",
    "random write",
    "backward read",
    "record rewrite",
    "stride read",
    "fwrite",
    "re-fwrite",
    "fread",
    "re-fread",
];

/// Which way the report of a table is of, such as `"Writer report"`.
pub(super) fn way(line: &str) -> Option<usize> {
    let name = line.strip_prefix('"')?.strip_suffix(" report\"")?.to_lowercase();
    NAMES.iter().position(|known| *known == name)
}

/// Where in it the lines are.
#[derive(Default)]
pub(super) struct Report {
    way: Option<usize>,
    in_processes: bool,
}

impl Report {
    /// A line behind a table.
    pub(super) fn of_table(
        &mut self,
        line: &str,
        table: Option<&IozoneTable>,
    ) -> Result<(), String> {
        if line == EXCEL || line.ends_with(" report\"") || line.contains("report (") {
            self.way = way(line);
            return match (self.way, table) {
                (Some(_), None) => Err("it has the report of -R alone, which does not say its \
                                        unit; bring all that iozone prints"
                    .to_owned()),
                _ => Ok(()),
            };
        }
        let (Some(way), Some(table)) = (self.way, table) else { return Ok(()) };
        let Some((file, rest)) = quoted(line) else { return Ok(()) };
        let told: Vec<&str> = rest.split_whitespace().filter(|word| *word != "0").collect();
        // The line of record sizes has quotes around each.
        if told.iter().any(|word| word.starts_with('"')) || told.is_empty() {
            return Ok(());
        }
        let rows = table.printed.iter().filter(|row| row.file == file);
        let due = rows.filter_map(|row| row.cells.get(way)?.as_deref()).filter(|cell| *cell != "0");
        match due.eq(told) {
            true => Ok(()),
            false => Err(format!(
                "`{line}` of its report is not what the table has for {}",
                WAYS.get(way).copied().unwrap_or_default().replace('_', " ")
            )),
        }
    }

    /// A line behind what processes did: a row has a number for each number of processes.
    pub(super) fn of_processes(&mut self, line: &str, groups: &[Group]) -> Result<(), String> {
        if line.starts_with(OF_PROCESSES) {
            self.in_processes = true;
        }
        let Some((name, rest)) = quoted(line).filter(|_| self.in_processes) else { return Ok(()) };
        let name = name.trim().to_lowercase();
        let known = threads::WAYS.iter().find(|(_, known, _)| *known == name);
        let Some((.., way)) = known.filter(|_| !rest.trim().is_empty()) else { return Ok(()) };
        let due = groups.iter().filter_map(|group| {
            group.phases.iter().find(|phase| phase.way == *way).map(threads::IozonePhase::printed)
        });
        match due.eq(rest.split_whitespace()) {
            true => Ok(()),
            false => Err(format!("`{line}` of its report is not what its children saw")),
        }
    }
}

/// What stands in quotes, and what follows.
fn quoted(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('"')?.split_once('"')
}
