//! (pure) bonnie++ 2.00a: its CSV line.
//!
//! The line's fields are those of bonnie++'s `csv_version` 1.98: rates in KiB/s and 1/s, shares of
//! one processor in percent, the longest wait of each phase. `+++++` stands for a phase that was
//! over too quickly for bonnie++ to tell: a note, never a figure.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, Said};
use experiment::measurement::Note;

/// See [`Importer`].
pub const BONNIE: Importer = Importer {
    name: "bonnie++",
    about: "The CSV line of bonnie++ (-q), in its form 1.98",
    forms: &[Form {
        bring: "the CSV line (-q), of its form 1.98",
        recorded: &["2.00a"],
        read: "rates, seeks, files per second and latencies",
        not_read: "tables for people; other forms of the line",
    }],
    words: &[
        "bonnie",
        "Bonnie",
        "--Sequential Output--",
        "--Sequential Create--",
        "Per Chr",
        "Per Char",
        "Rewrite",
    ],
    mark: "line `1.98,2.00a,...`",
    parse,
    knows,
};

/// The form of the line that is understood.
const FORM: &str = "1.98";
/// How many fields such a line has.
const FIELDS: usize = 50;
const MIB: u64 = 1 << 20;

/// Whether some line looks like bonnie++'s.
fn knows(text: &str) -> bool {
    text.lines().any(is_line)
}

fn is_line(line: &str) -> bool {
    let mut fields = line.split(',');
    let form = fields.next().unwrap_or_default();
    let version = fields.next().unwrap_or_default();
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.');
    number(form) && number(version) && line.matches(',').count() > 20
}

/// One result a line. A line is whole when it has all fields and its end.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut said = Vec::new();
    for line in text.split_inclusive('\n').filter(|line| is_line(line)) {
        let Some(line) = line.strip_suffix('\n') else {
            return Err("its line was cut short".to_owned());
        };
        said.push(result(line.trim_end_matches('\r'))?);
    }
    match said.is_empty() {
        true => Err("there is no line of bonnie++'s CSV in it".to_owned()),
        false => Ok(said),
    }
}

/// Places of the phases of blocks and characters, of their shares and of their longest waits, which
/// stand at the end of the line.
const BULK: [(&str, usize, usize); 5] = [
    ("char_write", 9, 38),
    ("block_write", 11, 39),
    ("rewrite", 13, 40),
    ("char_read", 15, 41),
    ("block_read", 17, 42),
];
/// The same of phases that are counted.
const COUNTED: [(&str, usize, usize); 7] = [
    ("seeks", 19, 43),
    ("sequential_create", 26, 44),
    ("sequential_stat", 28, 45),
    ("sequential_unlink", 30, 46),
    ("random_create", 32, 47),
    ("random_stat", 34, 48),
    ("random_unlink", 36, 49),
];

fn result(line: &str) -> Result<Said, String> {
    let fields: Vec<&str> = line.split(',').collect();
    if fields[0] != FORM || fields.len() != FIELDS {
        return Err(format!(
            "its line has the form {} with {} fields; only {FORM} with {FIELDS} is known",
            fields[0],
            fields.len()
        ));
    }
    let (version, title) = (fields[1].to_owned(), fields[2].to_owned());
    let mut said = Said { version, title, settings: settings(&fields), ..Said::default() };
    let bulk = BULK.map(|(phase, at, wait)| (phase, at, wait, "throughput_bytes_per_s", 1024.0));
    let counted = COUNTED.map(|(phase, at, wait)| (phase, at, wait, "per_s", 1.0));
    let phases: Vec<_> = bulk.into_iter().chain(counted).collect();
    let (mut quick, mut shares) = (Vec::new(), Vec::new());
    for (phase, at, _, unit, factor) in &phases {
        match number(fields[*at])? {
            Told::Number(value) => {
                let per = if *factor > 1.0 { "KiB/s" } else { "1/s" };
                let printed = format!("{} {per}", fields[*at]);
                said.add(format!("{phase}_{unit}"), value * factor, printed);
                shares.push((phase, at + 1));
            }
            Told::TooQuick => quick.push(*phase),
            Told::Nothing => {}
        }
    }
    for (phase, at) in shares {
        if let Told::Number(percent) = number(fields[at])? {
            let printed = format!("{} %", fields[at]);
            said.add(format!("{phase}_cpu_share"), percent / 100.0, printed);
        }
    }
    for (phase, _, wait, ..) in &phases {
        if let Some(ns) = wait_ns(fields[*wait])? {
            said.add(format!("{phase}_latency_ns_max"), ns, fields[*wait]);
        }
    }
    if !quick.is_empty() {
        let text = format!(
            "bonnie++ printed +++++ for {}: each was over too quickly for it to tell. A larger \
             file or more files would tell.",
            quick.join(", ").replace('_', " ")
        );
        said.notes.push(Note::new("too-quick", text));
    }
    Ok(said)
}

/// What stands in a field.
enum Told {
    Number(f64),
    TooQuick,
    Nothing,
}

fn number(field: &str) -> Result<Told, String> {
    match field {
        "" => Ok(Told::Nothing),
        "+++++" | "+++" => Ok(Told::TooQuick),
        _ => {
            let plain = field.bytes().all(|c| c.is_ascii_digit() || c == b'.');
            let number = field.parse().ok().filter(|_| plain);
            number.map(Told::Number).ok_or_else(|| format!("`{field}` in its line is no number"))
        }
    }
}

/// A wait such as `30144us`, in ns.
fn wait_ns(field: &str) -> Result<Option<f64>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    let wrong = || format!("`{field}` in its line is no time");
    let end = field.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let factor = match &field[end..] {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(wrong()),
    };
    let value: f64 = field[..end].parse().map_err(|_| wrong())?;
    Ok(Some(value * factor))
}

/// What the line tells of what was asked.
fn settings(fields: &[&str]) -> Map<String, Json> {
    let size = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit())?;
        let unit = match &text[end..] {
            "M" => MIB,
            "G" => MIB << 10,
            _ => return None,
        };
        text[..end].parse::<u64>().ok()?.checked_mul(unit)
    };
    let mut known = Map::new();
    if let Some(bytes) = size(fields[5]) {
        known.insert("file-size".to_owned(), bytes.into());
    }
    // bonnie++ leaves it blank more often than not; the field after it is the number of seeks.
    if let Ok(bytes) = fields[6].parse::<u64>() {
        known.insert("block-size".to_owned(), bytes.into());
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const SLOW: &str = include_str!("../../../tests/fixtures/tools/bonnie++-2.00a-slow.txt");
    const DIRECT: &str = include_str!("../../../tests/fixtures/tools/bonnie++-2.00a-direct.txt");
    const QUICK: &str = include_str!("../../../tests/fixtures/tools/bonnie++-2.00a-quick.txt");

    #[test]
    fn rates_are_kib_and_shares_are_of_one_processor() {
        let said = &parse(SLOW).unwrap()[0];
        assert_eq!((said.version.as_str(), said.title.as_str()), ("2.00a", "brickyard"));
        let fields: Vec<&str> = SLOW.lines().next().unwrap().split(',').collect();
        let block_write: f64 = fields[11].parse().unwrap();
        assert_eq!(figure(said, "block_write_throughput_bytes_per_s"), Some(block_write * 1024.0));
        assert!(figure(said, "rewrite_throughput_bytes_per_s") > Some(1e6));
        assert!(figure(said, "block_read_latency_ns_max") > Some(1e3));
        assert!(figure(said, "block_write_cpu_share").is_some_and(|share| share < 2.0));
        assert_eq!(said.settings["file-size"], 1500 << 20);
        assert!(!said.settings.contains_key("block-size"), "8192 is its number of seeks");
    }

    /// `+++++` is no zero and no figure of 99999.
    #[test]
    fn what_was_too_quick_for_bonnie_is_a_note_and_no_figure() {
        let said = &parse(QUICK).unwrap()[0];
        assert_eq!(figure(said, "block_write_throughput_bytes_per_s"), None);
        assert_eq!(figure(said, "block_write_cpu_share"), None);
        assert!(figure(said, "char_write_throughput_bytes_per_s").is_some());
        assert_eq!(said.notes.len(), 1);
        assert!(said.notes[0].text.contains("block write, rewrite"), "{:?}", said.notes);
    }

    #[test]
    fn phases_that_were_left_out_are_no_figures_and_no_notes() {
        let said = &parse(DIRECT).unwrap()[0];
        assert!(figure(said, "block_write_throughput_bytes_per_s") > Some(1e6));
        assert_eq!(said.settings["file-size"], 1 << 30);
        assert!(said.figures.iter().all(|figure| !figure.name.contains("char")));
        assert!(said.figures.iter().all(|figure| !figure.name.contains("create")));
        assert!(said.notes.iter().all(|note| !note.text.contains("create")), "{:?}", said.notes);
    }

    #[test]
    fn other_forms_of_the_line_are_refused_by_their_number() {
        let older = SLOW.replacen("1.98,", "1.97,", 1);
        assert!(parse(&older).unwrap_err().contains("1.97"));
        assert!(parse(SLOW.trim_end()).unwrap_err().contains("cut short"));
        let broken = SLOW.replacen(",1500M,", ",elephant,", 1);
        assert!(parse(&broken).is_ok_and(|said| !said[0].settings.contains_key("file-size")));
        assert!(parse("").is_err());
    }
}
