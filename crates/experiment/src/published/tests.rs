//! Every set that ships is read, and what is no set is refused.

use std::path::Path;

use super::*;
use crate::measurement::Reported;
use crate::measurement::figures::cells;
use crate::measurement::reported::ReportedPath;

mod texts;

fn reported(record: &Record) -> &Reported {
    record.outcome.measurement().unwrap().reported.as_ref().unwrap()
}

#[test]
fn every_file_of_the_folder_ships_under_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    let mut lying: Vec<String> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let read = |text: &&str| file::read(text).unwrap_or_else(|why| panic!("{why}")).name;
    let mut named: Vec<String> = FILES.iter().map(read).collect();
    assert_eq!(SETS.iter().map(|set| set.name.clone()).collect::<Vec<_>>(), named);
    lying.sort();
    named.sort();
    assert_eq!(lying, named);
}

#[test]
fn every_set_can_be_read_and_says_where_each_figure_stands() {
    for set in SETS.iter() {
        assert_eq!(find(&set.name).map(|found| &found.title), Some(&set.title));
        assert!(!set.about.ends_with('.') && !set.by.is_empty(), "{}", set.name);
        let figures = |record: &Record| {
            let reported = reported(record);
            assert!(!reported.place.is_empty() && reported.by == set.by, "{reported:?}");
            let on = reported.configuration.as_deref();
            let known = |name: &str| set.configurations.iter().any(|it| it.name == name);
            assert!(on.is_none_or(known), "{}: no machine {on:?}", set.name);
            reported.figures.len()
        };
        assert_eq!(set.records.iter().map(figures).sum::<usize>(), set.figures());
        assert!(set.figures() > 0);
        let numbers = set.records.iter().map(|record| record.trial.number);
        assert!(numbers.eq(1..=set.records.len() as u32), "{}", set.name);
        // Rows with the same settings would be averaged as if one of them repeated the other.
        let alike = cells(&set.records).len();
        assert_eq!(alike, set.records.len(), "{}: two rows are alike", set.name);
    }
}

#[test]
fn the_unit_of_every_figure_is_that_of_its_name() {
    let records = SETS.iter().flat_map(|set| &set.records);
    for figure in records.flat_map(|record| &reported(record).figures) {
        assert!(fits(&figure.name, &figure.printed), "{}: {}", figure.name, figure.printed);
    }
}

/// Whether what is printed has a unit that a figure of that name may have.
fn fits(name: &str, printed: &str) -> bool {
    // The first whose ending is the name's: what is counted per second is no time.
    const UNITS: &[(&str, &[&str])] = &[
        ("_bytes_per_s", &["b/s", "bits/s", "B/s", "Byte/s", "K/sec", "MB/sec", "bytes/second"]),
        ("_transfers_per_s", &["T/s"]),
        ("_ops_per_s", &["IOPs"]),
        ("_per_s", &["/sec", "/s"]),
        ("_usd_per_gb", &["/GB", "/TB"]),
        ("_bytes", &["B", " k", "sectors"]),
        ("_share", &["%"]),
        ("_ratio", &["x", "X", "one-third", "1/2"]),
    ];
    let counted = |printed: &str| printed.ends_with(|c: char| c.is_ascii_digit());
    match UNITS.iter().find(|(ending, _)| name.ends_with(ending)) {
        Some((_, units)) => units.iter().any(|unit| printed.ends_with(unit)),
        None if name.ends_with("_usd") => printed.contains('$') && !printed.contains('/'),
        None if name.ends_with("_s") && printed.contains(':') => counted(printed),
        None if name.ends_with("_s") => {
            let unit = printed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            ["s", "seconds", "ms", "u", "m"].contains(&unit.trim())
        }
        None => counted(printed) && !printed.contains([':', '$']),
    }
}

/// A set of one table, with `more` in front of the table and `table` in it.
fn file_of(more: &str, table: &str) -> Result<Vec<Record>, String> {
    let head =
        ["name", "about", "title", "by", "date", "host"].map(|key| format!("{key} = \"a\"\n"));
    let text = format!("{}{more}\n[[table]]\nname = \"t\"\nplace = \"p\"\n{table}", head.concat());
    file::read(&text).map(|set| set.records)
}

#[test]
fn a_row_that_is_no_row_is_refused() {
    let of = |row: &str, common: &str| {
        let figures = r#"figures = ["throughput_bytes_per_s"]"#;
        let table = format!("common = \"{common}\"\n{figures}\nrows = [[{row}]]");
        file_of("", &table).map(|records| records.len())
    };
    assert_eq!(of(r#""1 MB/s""#, "slot=1"), Ok(1));
    assert!(of(r#""fast""#, "").unwrap_err().contains("table `t`: `fast`"));
    assert!(of(r#""1 MB/s", "2 MB/s""#, "").unwrap_err().contains("2 cells"));
    assert!(of("", "").unwrap_err().contains("0 cells"));
    assert!(of(r#""1 MB/s""#, "slots=1").unwrap_err().contains("`slots`"));
    assert!(of(r#""1 MB/s""#, "disks=none").unwrap_err().contains("disks"));
    assert!(of(r#""1 MB/s""#, "slot").unwrap_err().contains("`slot` is no setting"));
    assert!(of(r#""1 MB/s""#, "slot=1 slot=2").unwrap_err().contains("twice"));
    assert!(of(r#""1 MB/s""#, "configuration=x4").unwrap_err().contains("`x4`"));
    assert!(of(r#""1 MB/s""#, "way=up").unwrap_err().contains("way"));
    assert!(of(r#""1 MB/s *lost""#, "").unwrap_err().contains("no note `lost`"));
    let headed = |name: &str| {
        let head = format!("settings = [\"{name}\"]\nfigures = [\"elapsed_s\"]\n");
        file_of("", &(head + "rows = [[\"a b\", \"1 s\"]]")).unwrap_err()
    };
    assert!(headed("slot").contains("slot: ") && headed("slots").contains("no knob `slots`"));
}

#[test]
fn what_has_not_the_form_of_a_set_is_refused() {
    let table = "figures = [\"a_s\"]\nrows = [[\"1 s\"]]\n";
    assert!(file_of("", table).is_ok());
    for (more, wrong, why) in [
        ("", "figure = [\"a_s\"]", "unknown field `figure`"),
        ("", "figures = [\"Time in s\"]", "`Time in s` is no figure"),
        ("", "figures = [\"about in s\"]", "is no figure"),
        ("", "rows = [[1]]", "invalid type: integer"),
        ("", "rows = [[\"1 s\"]]", "its head 0"),
        ("", "[[table.part]]\nsays = \"a\"", "missing field `rows`"),
        ("", "[[slip]]\nplace = \"a\"\nprinted = \"b\"", "missing field `but`"),
        ("notes.lost = \"a\"", table, "no row names `lost`"),
        ("quotes.lost = \"a\"", table, "no row names `lost`"),
        ("", &format!("says = \"*lost\"\n{table}"), "no quote `lost`"),
        ("pages = 3", table, "unknown field `pages`"),
        ("by = \"b\"", table, "duplicate key"),
    ] {
        let said = file_of(more, wrong).unwrap_err();
        assert!(said.contains(why), "{wrong}: {said}");
    }
    let machine = "[[configuration]]\nname = \"m\"\nabout = \"a\"\nrecording = \"r.txt\"";
    assert!(file_of(machine, table).unwrap_err().contains("no recording `r.txt` ships"));
    assert!(file::read("").is_err() && file::read("name = ").is_err());
}

/// Who adds a set writes it as the guide shows.
#[test]
fn what_the_guide_shows_is_a_set() {
    let guide = include_str!("../../../../docs/guides/published.md");
    let shown = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let set = file::read(shown.unwrap()).unwrap();
    assert_eq!((set.records.len(), set.figures(), set.slips.len()), (7, 6, 1));
}

/// What a row goes across is read place by place, and a part has what it does not say of its table.
#[test]
fn rows_across_and_parts_are_rows_like_others() {
    let records = file_of(
        "notes.dash = \"a dash\"\nquotes.six = \"six words\"",
        r#"
common = "access=read way=disks"
settings = ["streams"]
figures = ["about throughput_bytes_per_s in MB/s", "cpu_share"]
across = ["card=a disks=1", "card=b"]
rows = [
  ["1", "10", "1%", "20", "2%"],
  ["2", "30", "", "*dash", "4%"],
]

[[table.part]]
says = "five"
common = "label=c"
rows = [["", "50", "5%"]]

[[table.part]]
says = "*six"
common = "label=d"
settings = []
figures = ["elapsed_s"]
rows = [["6 s"]]
"#,
    )
    .unwrap();
    let told = |record: &Record| {
        let settings = record.trial.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let it = reported(record);
        assert_eq!(it.way, ReportedPath::Disks);
        let figures = it.figures.iter().map(|it| format!("{}{}", it.bound.before(), it.printed));
        let notes = &record.outcome.measurement().unwrap().notes;
        let notes = notes.iter().map(|note| format!("({})", note.text));
        let words = settings.chain(figures).chain(notes).chain([it.says.clone()]);
        words.collect::<Vec<_>>().join(" ").trim().to_owned()
    };
    assert_eq!(
        records.iter().map(told).collect::<Vec<_>>(),
        [
            "access=read card=a disks=1 streams=1 about 10 MB/s 1%",
            "access=read card=a disks=1 streams=2 about 30 MB/s",
            "access=read card=b streams=1 about 20 MB/s 2%",
            "access=read card=b streams=2 4% (a dash)",
            "access=read label=c about 50 MB/s 5% five",
            "access=read label=d 6 s six words",
        ]
    );
}
