//! (pure) Matrices as `iozone -R` prints them, for spreadsheets that were made for these.
//!
//! One matrix an operation: record sizes in KiB along the top, file sizes in KiB down the side, and
//! KiB per second inside, which iozone calls kBytes/sec. A combination that was not measured is 0,
//! as in iozone. What iozone cannot tell stands above `Excel output is below`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::nature::Nature;
use super::{Input, words};
use base::value::counted;
use experiment::knob::{self, Access, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::figures::Cell;
use experiment::plan;

/// KiB per second by file size and record size, of one operation.
type Matrix = BTreeMap<(u64, u64), f64>;

/// Settings that a matrix shows by its place, its title or not at all, unless two cells would have
/// the same place under the same title.
const SHOWN: &[&str] =
    &["access", "file-size", "block-size", "cold", "io-engine", "fresh-file", "stop", "at-most"];

/// Titles in iozone's order, with its capitals.
const TITLES: &[&str] = &[
    "Writer report",
    "Re-writer report",
    "Reader report",
    "Re-Reader report",
    "Random read report",
    "Random write report",
    "Backward read report",
    "Record rewrite report",
    "Stride read report",
    "Fwrite report",
    "Re-Fwrite report",
    "Fread report",
    "Re-Fread report",
    "Mixed workload report",
];

/// Whether a file is such a report, of whatever version: its first lines.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(4 << 10)]);
    head.starts_with("Brickyard, campaign ")
        && head.lines().nth(1).is_some_and(|line| line.starts_with("Output is in kBytes/sec"))
}

/// All matrices of the campaign.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let measured = |cell: &&Cell| !cell.groups.iter().all(|group| plan::prepares(group));
    let cells = || input.cells.iter().filter(measured).filter(|it| title(&it.settings).is_some());
    let varied = varied(cells().map(|cell| &cell.settings));
    let mut sets: BTreeMap<String, BTreeMap<usize, Matrix>> = BTreeMap::new();
    for cell in cells() {
        let Some(figure) = cell.figures.get(figure_names::THROUGHPUT) else { continue };
        let Some((title, file, record)) = place(&cell.settings) else { continue };
        let matrices = sets.entry(others(&cell.settings, &varied)).or_default();
        matrices.entry(title).or_default().insert((file, record), figure.value / 1024.0);
    }
    let mut text = head(input);
    for (others, matrices) in &sets {
        if !others.is_empty() {
            let _ = writeln!(text, "\n{others}");
        }
        for (title, matrix) in matrices {
            let _ = writeln!(text, "\n\"{}\"", TITLES[*title]);
            print(matrix, &mut text);
        }
    }
    Ok(text)
}

/// Which of [`TITLES`] a cell's load has; `None` for what is no operation of iozone's.
fn title(settings: &Settings) -> Option<usize> {
    if !settings.has(knob::FILE_SIZE) || !settings.has(knob::BLOCK_SIZE) {
        return None;
    }
    let library = matches!(settings.get(knob::IO_ENGINE), "stdio" | "putc");
    let again = settings.find(knob::COLD) == Some(false) && !settings.get(knob::DIRECT);
    let found = match (settings.get(knob::ACCESS)?, library) {
        (Access::Write, true) => "Fwrite report",
        (Access::Rewrite, true) => "Re-Fwrite report",
        (Access::Read, true) if again => "Re-Fread report",
        (Access::Read, true) => "Fread report",
        (Access::Write, false) => "Writer report",
        (Access::Rewrite, false) => "Re-writer report",
        (Access::Read, false) if again => "Re-Reader report",
        (Access::Read, false) => "Reader report",
        (Access::RandomRead, _) => "Random read report",
        (Access::RandomWrite, _) => "Random write report",
        (Access::ReadBackward, _) => "Backward read report",
        (Access::RecordRewrite, _) => "Record rewrite report",
        (Access::ReadStrided, _) => "Stride read report",
        (Access::RandomMix, _) => "Mixed workload report",
        (Access::Update | Access::RandomUpdate, _) => return None,
    };
    TITLES.iter().position(|title| *title == found)
}

/// Knobs that differ among the cells and that no matrix shows.
fn varied<'a>(all: impl Iterator<Item = &'a Settings>) -> BTreeSet<&'static str> {
    let mut values: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    let mut places: BTreeMap<Option<MatrixKey>, Vec<&Settings>> = BTreeMap::new();
    for settings in all {
        for (knob, value) in settings.iter() {
            values.entry(knob).or_default().insert(value.to_string());
        }
        places.entry(place(settings)).or_default().push(settings);
    }
    let differs = |knob: &str| {
        let of = |settings: &&Settings| settings.named(knob).map(ToString::to_string);
        places.values().any(|alike| alike.iter().any(|one| of(one) != of(&alike[0])))
    };
    let several = values.into_iter().filter(|(_, values)| values.len() > 1);
    several.map(|(knob, _)| knob).filter(|knob| !SHOWN.contains(knob) || differs(knob)).collect()
}

/// Title, file size and record size.
type MatrixKey = (usize, u64, u64);

/// Where a cell stands; `None` for what is no operation of iozone's.
fn place(settings: &Settings) -> Option<MatrixKey> {
    Some((title(settings)?, settings.get(knob::FILE_SIZE), settings.get(knob::BLOCK_SIZE)))
}

/// The values of the varied knobs, as one would type them.
fn others(settings: &Settings, varied: &BTreeSet<&'static str>) -> String {
    let said = |knob: &&'static str| Some(format!("{knob}={}", settings.named(knob)?));
    let each: Vec<String> = varied.iter().filter_map(said).collect();
    each.join(" ")
}

/// What iozone does not say: where bytes came from, and what each figure is of.
fn head(input: &Input<'_>) -> String {
    let mut text = format!(
        "Brickyard, campaign {}: {}plan {}\n\
         Output is in kBytes/sec, kBytes of 1024 bytes; the means of all replicates.\n\
         The top row is record sizes, the left column is file sizes, both in kBytes.\n",
        input.campaign.id,
        Nature::of_campaign(input.campaign).lead(),
        input.campaign.plan
    );
    for line in words::left_out(&input.campaign.left_out) {
        let _ = writeln!(text, "{line}");
    }
    let mut origins: BTreeMap<usize, BTreeMap<&'static str, u32>> = BTreeMap::new();
    for (record, view) in input.records.iter().zip(&input.trials) {
        if let (Some(title), Some(origin)) = (title(&record.trial.settings), &view.origin) {
            *origins.entry(title).or_default().entry(origin.verdict.name()).or_default() += 1;
        }
    }
    for (title, verdicts) in origins {
        let told = verdicts
            .iter()
            .map(|(name, count)| format!("{name} in {}", counted(u64::from(*count), "trial")));
        let told = told.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{}: bytes came from {told}", TITLES[title]);
    }
    let wide = input.cells.iter().filter(|cell| title(&cell.settings).is_some() && is_wide(cell));
    let wide = wide.count();
    if wide > 0 {
        let cells = if wide == 1 { "1 cell has".to_owned() } else { format!("{wide} cells have") };
        let _ = writeln!(text, "{cells} no 95 % interval within 10 % of the figure");
    }
    for sentence in &input.answer {
        let _ = writeln!(text, "{sentence}");
    }
    text + "Excel output is below:\n"
}

/// Whether a figure is less sure than the eye takes it for.
fn is_wide(cell: &Cell) -> bool {
    let Some(figure) = cell.figures.get(figure_names::THROUGHPUT) else { return false };
    figure.interval.is_none_or(|ends| ends.high - figure.value > 0.1 * figure.value)
}

fn print(matrix: &Matrix, text: &mut String) {
    let records: BTreeSet<u64> = matrix.keys().map(|(_, record)| *record).collect();
    let files: BTreeSet<u64> = matrix.keys().map(|(file, _)| *file).collect();
    text.push_str("      ");
    for record in &records {
        let _ = write!(text, "  \"{}\"", kib(*record));
    }
    text.push('\n');
    for file in files {
        let _ = write!(text, "\"{}\"  ", kib(file));
        // A record never is larger than its file: the row ends there, as iozone's does.
        for record in records.iter().filter(|record| **record <= file) {
            let rate = matrix.get(&(file, *record)).copied().unwrap_or(0.0);
            let _ = write!(text, " {} ", rate.round());
        }
        text.push('\n');
    }
}

/// Bytes in KiB, whole where they are.
fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use base::value::Value;
    use experiment::plan::Trial;

    fn cell(
        access: &str,
        engine: &str,
        file: u64,
        record: u64,
        streams: u64,
    ) -> (String, Settings) {
        let mut settings = Settings::defaults("file");
        settings.set_named(knob::ACCESS.name, Value::Word(access.into()));
        settings.set(knob::IO_ENGINE, engine);
        settings.set(knob::DIRECT, false);
        settings.set(knob::FILE_SIZE, file);
        settings.set(knob::BLOCK_SIZE, record);
        settings.set(knob::STREAMS, streams);
        ("iozone".to_owned(), settings)
    }

    fn rendered(cells: &[(String, Settings)], rate: f64) -> String {
        let trials: Vec<Trial> = experiment::plan::blocked(cells, 1, 1);
        let mut fixture = fixture::campaign_of(trials, 4);
        for cell in &mut fixture.cells {
            let record = cell.settings.get(knob::BLOCK_SIZE) as f64;
            let figure = cell.figures.get_mut("throughput_bytes_per_s").unwrap();
            figure.value = rate * 1024.0 + record / 4.0;
        }
        render(&fixture.input()).unwrap()
    }

    #[test]
    fn a_matrix_is_printed_as_iozone_prints_it() {
        let sizes = [(65536, 4096), (65536, 65536), (131_072, 4096), (131_072, 131_072)];
        let cells: Vec<_> =
            sizes.map(|(file, record)| cell("write", "sync", file, record, 1)).into();
        let text = rendered(&cells, 100.0);
        let (_, matrix) = text.split_once("Excel output is below:\n").unwrap();
        let wanted = "\n\"Writer report\"\n        \"4\"  \"64\"  \"128\"\n\
                      \"64\"   101  116 \n\"128\"   101  0  132 \n";
        assert_eq!(matrix, wanted);
    }

    /// With `io-engine=sync,mmap` the second one's figures stood in the place of the first one's,
    /// and nothing said so: a knob that most titles tell apart was never shown.
    #[test]
    fn no_two_cells_have_one_place_whatever_differs_between_them() {
        let mut cells: Vec<_> =
            ["sync", "mmap"].map(|engine| cell("write", engine, 65536, 4096, 1)).into();
        cells.push(cell("write", "stdio", 65536, 4096, 1));
        let text = rendered(&cells, 7.0);
        let lines = |wanted: &str| text.lines().filter(|line| *line == wanted).count();
        assert_eq!((lines("io-engine=sync"), lines("io-engine=mmap")), (1, 1), "{text}");
        assert_eq!((lines("\"Writer report\""), lines("\"Fwrite report\"")), (2, 1), "{text}");
        // What the title tells is not said again.
        let text = rendered(&[cells.swap_remove(0), cells.swap_remove(0)], 7.0);
        assert!(!text.contains("io-engine="), "{text}");
    }

    #[test]
    fn every_operation_has_its_own_title_in_iozones_order() {
        let accesses = ["read-strided", "record-rewrite", "read", "write", "rewrite", "random-mix"];
        let mut cells: Vec<_> = accesses.map(|access| cell(access, "sync", 65536, 4096, 1)).into();
        let mut again = cell("read", "stdio", 65536, 4096, 1);
        again.1.set(knob::COLD, false);
        cells.push(again);
        cells.push(cell("rewrite", "stdio", 65536, 4096, 1));
        let text = rendered(&cells, 7.0);
        let titles: Vec<&str> = text.lines().filter(|line| line.starts_with('"')).collect();
        let titles: Vec<&str> = titles.into_iter().filter(|line| line.contains("report")).collect();
        assert_eq!(
            titles,
            [
                "\"Writer report\"",
                "\"Re-writer report\"",
                "\"Reader report\"",
                "\"Record rewrite report\"",
                "\"Stride read report\"",
                "\"Re-Fwrite report\"",
                "\"Re-Fread report\"",
                "\"Mixed workload report\"",
            ]
        );
        assert!(text.contains("Reader report: bytes came from "), "{text}");
        assert!(text.contains("8 cells have no 95 % interval"), "{text}");
    }

    #[test]
    fn what_else_was_varied_parts_the_matrices() {
        let cells = [1, 4].map(|streams| cell("read", "sync", 65536, 4096, streams));
        let text = rendered(&cells, 7.0);
        let (one, four) =
            (text.find("\nstreams=1\n").unwrap(), text.find("\nstreams=4\n").unwrap());
        assert!(one < four, "{text}");
        assert_eq!(text.matches("\"Reader report\"").count(), 2);
        assert!(rendered(&cells[..1], 7.0).find("streams=").is_none());
    }
}
