//! (pure) iozone 3: its table of one file in thirteen ways.
//!
//! Rates are in KiB/s, which iozone calls kBytes. Columns are told by their place: a way that was
//! not asked for leaves its own blank. Older versions have narrower ones, and another head.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, Said};

/// See [`Importer`].
pub const IOZONE: Importer = Importer {
    name: "iozone",
    about: "The table of iozone 3, in kBytes/sec",
    forms: &[Form {
        bring: "the table of one file, in kBytes/sec",
        recorded: &["3.327", "3.487"],
        read: "the rate of each test",
        not_read: "other columns and units",
    }],
    words: &[
        "Iozone",
        "iozone",
        "reclen",
        "kBytes/sec",
        "fwrite",
        "frewrite",
        "freread",
        "rewrite",
    ],
    mark: "line `Iozone: Performance Test of File I/O`",
    parse,
    knows,
};

const KIB: u64 = 1024;

fn knows(text: &str) -> bool {
    text.contains("Iozone: Performance Test of File I/O")
}

/// The ways in the order of the columns.
const WAYS: [&str; 13] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "read_backward",
    "record_rewrite",
    "read_strided",
    "stdio_write",
    "stdio_rewrite",
    "stdio_read",
    "stdio_reread",
];
/// Where the columns of ways begin.
const FIRST: usize = 24;
/// The first two words of the table's head, and how many characters each column is wide: of
/// versions such as 3.487, and of those such as 3.327.
const TABLES: &[(&str, [usize; 13])] = &[
    ("kB reclen", [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9]),
    ("KB reclen", [8, 8, 9, 9, 8, 8, 8, 9, 9, 9, 9, 8, 9]),
];
/// What follows in that head, its blanks as one.
const HEAD: &str = "write rewrite read reread read write read rewrite read \
                    fwrite frewrite fread freread";
/// How iozone calls KiB/s, now and before.
const UNITS: [&str; 2] = ["kBytes/sec", "Kbytes/sec"];

/// One result a row. A run is whole when it says that it is complete.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let (mut all, mut rows) = (Vec::new(), Vec::new());
    let (mut version, mut kib, mut open) = (String::new(), false, false);
    let mut table: Option<&[usize; 13]> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        let bare = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if bare == "Iozone: Performance Test of File I/O" {
            if open {
                return Err("a run of it is not complete".to_owned());
            }
            (open, table, kib) = (true, None, false);
        } else if let Some(rest) = bare.strip_prefix("Version $Revision: ") {
            version = rest.trim_end_matches(" $").to_owned();
        } else if let Some(unit) = bare.strip_prefix("Output is in ") {
            kib = UNITS.contains(&unit);
        } else if bare.to_lowercase().starts_with("kb reclen") {
            table = Some(columns(&bare).ok_or_else(|| {
                format!("the table of iozone {version} has other columns than that of 3.327 to 3.5")
            })?);
        } else if bare == "iozone test complete." {
            all.append(&mut rows);
            (open, table) = (false, None);
        } else if let Some(wide) = table.filter(|_| open && !bare.is_empty()) {
            if !kib {
                return Err("its output is not in kBytes/sec".to_owned());
            }
            rows.push(row(line, wide, &version)?);
        }
    }
    match (open, all.is_empty()) {
        (true, _) => Err("it was cut short: it does not say that it is complete".to_owned()),
        (false, true) => Err("there is no table of iozone's in it".to_owned()),
        (false, false) => Ok(all),
    }
}

/// How wide the columns are below this head.
fn columns(head: &str) -> Option<&'static [usize; 13]> {
    TABLES.iter().find_map(|(first, wide)| {
        let rest = head.strip_prefix(first)?;
        (rest.trim_start() == HEAD).then_some(wide)
    })
}

fn row(line: &str, wide: &[usize; 13], version: &str) -> Result<Said, String> {
    let wrong = || format!("`{}` is no row of its table", line.trim());
    if !line.is_ascii() {
        return Err(wrong());
    }
    let kibibytes = |text: Option<&str>| -> Result<u64, String> {
        let number = text.and_then(|text| text.trim().parse::<u64>().ok());
        number.and_then(|number| number.checked_mul(KIB)).ok_or_else(wrong)
    };
    let mut settings: Map<String, Json> = Map::new();
    settings.insert("file-size".to_owned(), kibibytes(line.get(..16))?.into());
    settings.insert("block-size".to_owned(), kibibytes(line.get(16..FIRST))?.into());
    let mut said = Said { version: version.to_owned(), settings, ..Said::default() };
    let mut rest = line.get(FIRST..).unwrap_or_default();
    for (way, wide) in WAYS.into_iter().zip(wide) {
        let (cell, after) = rest.split_at(rest.len().min(*wide));
        rest = after;
        if cell.trim().is_empty() {
            continue;
        }
        // A number that began in the column before, or ends in the next, would be cut in two.
        if !cell.starts_with(' ') || cell.ends_with(' ') || cell.len() < *wide {
            return Err(wrong());
        }
        let rate = kibibytes(Some(cell))?;
        let printed = format!("{} kBytes/sec", cell.trim());
        said.add(format!("{way}_throughput_bytes_per_s"), rate as f64, printed);
    }
    match said.figures.is_empty() || !rest.trim().is_empty() {
        true => Err(wrong()),
        false => Ok(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const ONE: &str = include_str!("../../../tests/fixtures/tools/iozone-3.487-one.txt");
    const AUTO: &str = include_str!("../../../tests/fixtures/tools/iozone-3.487-auto.txt");
    const OLD: &str = include_str!("../../../tests/fixtures/tools/iozone-3.327-auto.txt");

    #[test]
    fn every_row_is_a_result_and_what_was_not_asked_for_is_none() {
        let one = &parse(ONE).unwrap()[0];
        assert_eq!(one.version, "3.487");
        assert_eq!(figure(one, "write_throughput_bytes_per_s"), Some(2_402_172.0 * 1024.0));
        assert_eq!(figure(one, "random_write_throughput_bytes_per_s"), Some(11_500_738.0 * 1024.0));
        assert_eq!(one.figures.len(), 6);
        assert_eq!(one.settings["file-size"], 4 << 20);
        let all = parse(AUTO).unwrap();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|said| said.figures.len() == 13));
        assert_eq!(
            figure(&all[0], "stdio_reread_throughput_bytes_per_s"),
            Some(4_018_152.0 * 1024.0)
        );
    }

    /// `iozone -i 0 -i 3` leaves columns blank between two others.
    #[test]
    fn a_column_is_told_by_its_place_and_a_number_too_wide_for_it_is_refused() {
        let row = "            4096      64  2402172  7863339";
        assert!(ONE.contains(row));
        let blank = ONE.replace(row, "            4096      64           7863339");
        let said = &parse(&blank).unwrap()[0];
        assert_eq!(figure(said, "write_throughput_bytes_per_s"), None);
        assert_eq!(figure(said, "rewrite_throughput_bytes_per_s"), Some(7_863_339.0 * 1024.0));
        let wide = ONE.replace(row, "            4096      64 240217299 7863339");
        assert!(parse(&wide).unwrap_err().contains("no row"));
        let other = ONE.replace("kBytes/sec", "ops/sec");
        assert!(parse(&other).unwrap_err().contains("not in kBytes/sec"));
        assert!(
            parse(&ONE.replace("iozone test complete.", "")).unwrap_err().contains("cut short")
        );
    }

    /// 3.327 has "KB" in its head and narrower columns: "there is no table of iozone's in it".
    #[test]
    fn the_table_of_older_versions_is_read_by_its_own_columns() {
        let all = parse(OLD).unwrap();
        let said = &all[0];
        assert_eq!((all.len(), said.version.as_str(), said.figures.len()), (1, "3.327", 13));
        let sizes = ["file-size", "block-size"].map(|knob| said.settings[knob].as_u64());
        assert_eq!(sizes, [Some(4096); 2]);
        for (way, rate) in [
            ("write", 285_299),
            ("rewrite", 511_411),
            ("read", 562_886),
            ("reread", 582_427),
            ("random_read", 75_299),
            ("random_write", 496_283),
            ("read_backward", 79_965),
            ("record_rewrite", 676_345),
            ("read_strided", 84_816),
            ("stdio_write", 401_314),
            ("stdio_rewrite", 650_136),
            ("stdio_read", 78_469),
            ("stdio_reread", 78_469),
        ] {
            let name = format!("{way}_throughput_bytes_per_s");
            assert_eq!(figure(said, &name), Some(f64::from(rate) * 1024.0), "{way}");
        }
        // Of `-i 0 -i 2`: what was not asked for is blank.
        let row = OLD.lines().find(|line| line.contains("285299")).unwrap();
        let blank = format!("{}{}{}", &row[..40], " ".repeat(18), &row[58..74]);
        let few = &parse(&OLD.replace(row, &blank)).unwrap()[0];
        assert_eq!(few.figures.len(), 4);
        assert_eq!(few.figures[2..], said.figures[4..6]);
        // Columns of one version below the head of another.
        let other = OLD.replace("KB  reclen", "kB  reclen");
        assert!(parse(&other).unwrap_err().contains("no row"));
        let wide = OLD.replace("  285299  511411", " 2852999 1511411");
        assert!(parse(&wide).is_ok(), "a column may be full but for one blank");
        let wider = OLD.replace("  285299  511411", " 285299951141123");
        assert!(parse(&wider).unwrap_err().contains("no row"));
        let unknown = OLD.replace("freread", "pread");
        assert!(parse(&unknown).unwrap_err().contains("iozone 3.327 has other columns"));
    }
}
