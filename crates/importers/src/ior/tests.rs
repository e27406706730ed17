//! (pure) IOR's outputs as they were recorded, and changed.

use base::stats::testing::Random;

use super::*;
use crate::testing::{figure, rounded, same_or_refused};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/tools/ior-", $name, ".txt"))
    };
}

const TWO: &str = recorded!("4.1.0-two-tasks");
const TESTS: &str = recorded!("3.3.0-two-tests");
const IO500: &str = recorded!("4.1.0-io500");
const WEAR_OUT: &str = recorded!("4.1.0-wear-out");
const SCRIPT_30: &str = recorded!("3.0.1-script");
const SCRIPT_210: &str = recorded!("2.10.3-script");
const SEGMENTS_210: &str = recorded!("2.10.3-segments");
const JSON: &str = recorded!("4.0.0-json-script");
const CSV: &str = recorded!("4.0.0-csv");
/// IOR's MiB.
const MIB: f64 = 1_048_576.0;

/// The rate of a way in MiB/s, to two digits.
fn mib(said: &ToolResult, name: &str) -> Option<f64> {
    let name = format!("{name}_throughput_bytes_per_s");
    figure(said, &name).map(|value| (value / MIB * 100.0).round() / 100.0)
}

fn kinds(said: &ToolResult) -> Vec<&str> {
    said.notes.iter().map(|note| note.kind.as_str()).collect()
}

#[test]
fn the_summary_is_read_with_its_highest_and_lowest() {
    let said = &parse(TWO).unwrap()[0];
    assert_eq!(said.version, "4.1.0+dev");
    assert_eq!(mib(said, "write"), Some(495.41));
    assert_eq!(mib(said, "read_highest"), Some(17_242.77));
    // 342.72 * 1048576, by hand.
    assert_eq!(rounded(said, "write_lowest_throughput_bytes_per_s"), Some(359_367_966.72));
    assert_eq!(figure(said, "write_iops"), Some(7926.49));
    assert_eq!(
        (&said.settings["streams"], &said.settings["file-size"]),
        (&2.into(), &(4 << 20).into())
    );
    assert_eq!(parse(&format!("{TWO}{TWO}")).unwrap().len(), 2);
    // Markdown has it indented.
    let indented: String = TWO.lines().map(|line| format!("    {line}\n")).collect();
    assert!(knows(&indented));
    assert_eq!(parse(&indented).unwrap(), parse(TWO).unwrap());
}

#[test]
fn a_run_without_its_end_is_no_result() {
    let end = TWO.find("Finished").unwrap();
    assert!(parse(&TWO[..end]).unwrap_err().contains("cut short"));
    assert!(parse(&format!("{}{TWO}", &TWO[..end])).is_err());
    assert!(parse(&TWO.replace("495.41", "-")).unwrap_err().contains("no number"));
    assert!(parse(&TWO.replace(" POSIX      0", "")).unwrap_err().contains("words"));
    let (head, _) = TWO.split_once("Summary of all").unwrap();
    let without = format!("{head}Finished            : today\n");
    assert!(parse(&without).unwrap_err().contains("has no summary"));
}

/// A script of several tests has one summary with rows of each: the rates of the last test were
/// told as those of the first, one result in all.
#[test]
fn every_test_of_a_script_is_a_result() {
    let all = parse(TESTS).unwrap();
    let of = |said: &ToolResult, name: &str| figure(said, name).map(f64::round);
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["test 0", "test 1"]);
    assert_eq!(of(&all[0], "write_throughput_bytes_per_s"), Some(447_500_780.0));
    assert_eq!(of(&all[0], "read_throughput_bytes_per_s"), Some(348_703_949.0));
    assert_eq!(of(&all[1], "write_throughput_bytes_per_s"), Some(599_219_241.0));
    assert_eq!(of(&all[1], "read_throughput_bytes_per_s"), Some(450_772_337.0));
    // The first had one file of all tasks.
    assert_eq!(all[0].settings.get("file-size"), None);
    assert_eq!(all[1].settings["file-size"], 209_715_200);
    assert!(all.iter().all(|said| said.settings["streams"] == 2));
    // In whatever order the rows stand, and of however many tests.
    let (head, rows) = TESTS.split_once("RefNum\n").unwrap();
    let (rows, end) = rows.split_at(rows.find("Finished").unwrap());
    let lines: Vec<&str> = rows.lines().collect();
    let text = |order: &[usize]| {
        let rows: String = order.iter().map(|at| format!("{}\n", lines[*at])).collect();
        parse(&format!("{head}RefNum\n{rows}{end}"))
    };
    let turned = text(&[2, 1, 0, 3]).unwrap();
    let figures = |said: &ToolResult| ["write", "read"].map(|way| mib(said, way).unwrap());
    assert_eq!(figures(&turned[0]), figures(&all[1]));
    assert_eq!(figures(&turned[1]), figures(&all[0]));
    assert_eq!(text(&[0, 1]).unwrap()[0].figures, all[0].figures);
    let third = lines[0].replace("NA     0 ", "NA     2 ");
    let three = TESTS.replace(lines[0], &format!("{}\n{third}", lines[0]));
    assert!(parse(&three).unwrap_err().contains("of 3 tests, of which 2 began"));
    let begun = three.replacen("Summary of", "TestID : 2\nSummary of", 1);
    assert_eq!(parse(&begun).unwrap().len(), 3);
}

/// The rows of two tests that say they are of one were put together to one result.
#[test]
fn rows_that_are_not_of_one_test_are_refused() {
    let one = TESTS.replace("NA NA 1 2 1 1 1", "NA NA 0 2 1 1 1");
    assert!(parse(&one).unwrap_err().contains("write of its test 0 stands there twice"));
    let read = TWO.lines().find(|line| line.starts_with("read        17242.77")).unwrap();
    let shared = read.replace("2   1     0        1", "2   0     0        1");
    assert_ne!(read, shared);
    assert!(parse(&TWO.replace(read, &shared)).unwrap_err().contains("not of one test"));
    let high = TESTS.replace("426.77     426.77     426.77", "426.77     426.77     526.77");
    assert!(parse(&high).unwrap_err().contains("not between"));
    let columns = TESTS.replace("Max(OPs)", "Max(IOPS)");
    assert!(parse(&columns).unwrap_err().contains("IOR 3.3.0+dev has other columns"));
}

/// A file of several segments was taken for one of a single block.
#[test]
fn the_file_of_a_task_has_all_of_its_segments() {
    let segments = TESTS.replace("0 1 209715200 20971520 400.0", "0 4 209715200 20971520 1600.0");
    assert_eq!(parse(&segments).unwrap()[1].settings["file-size"], 4 * 209_715_200_u64);
    let all = parse(recorded!("3.2.1-segments")).unwrap();
    assert_eq!(all[0].settings["file-size"], 2 << 20);
    assert_eq!(all[0].settings["block-size"], 65_536);
    assert_eq!(mib(&all[0], "write"), Some(284.36));
    assert_eq!(figure(&all[0], "write_iops"), Some(4549.75));
    assert_eq!(mib(&all[0], "read_highest"), Some(2114.79));
    assert!(all[0].notes.is_empty(), "{:?}", all[0].notes);
}

/// A run that its deadline ended had moved 2 GiB of the 88 GiB that it was asked for: each file was
/// told to have 44 GiB.
#[test]
fn what_a_deadline_ended_has_no_file_size() {
    for (text, write) in [(WEAR_OUT, 2110.08), (recorded!("3.2.1-stonewall"), 469.13)] {
        let said = &parse(text).unwrap()[0];
        assert_eq!(mib(said, "write"), Some(write));
        assert_eq!(said.settings.get("file-size"), None);
        assert_eq!(said.settings["block-size"], 47_008);
        assert_eq!(kinds(said), ["other-size"]);
    }
    // The rate at the stonewall is of one task: half of what both moved.
    let said = &parse(WEAR_OUT).unwrap()[0];
    assert!(said.figures.iter().all(|figure| !figure.printed.contains("1086.69")));
}

/// "Other columns than that of 3.3 to 4", of what clusters have had for ten years.
#[test]
fn the_summaries_of_older_versions_are_read_as_well() {
    let all = parse(SCRIPT_30).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["test 0", "test 1"]);
    assert_eq!((mib(&all[0], "write"), mib(&all[0], "read")), (Some(1014.87), Some(601.46)));
    assert_eq!((mib(&all[1], "write"), mib(&all[1], "read")), (Some(578.67), Some(2748.46)));
    assert_eq!(mib(&all[0], "write_highest"), Some(1430.85));
    assert_eq!(
        (&all[0].settings["block-size"], all[0].version.as_str()),
        (&65_536.into(), "3.0.1")
    );
    assert_eq!(all[1].settings["block-size"], 32_768);
    assert_eq!(all[1].settings["file-size"], 2 << 20);
    assert_eq!(figure(&all[0], "write_iops"), None);

    let said = &parse(recorded!("3.1.0-verbose")).unwrap()[0];
    assert_eq!((mib(said, "write"), mib(said, "read_lowest")), (Some(216.5), Some(13_357.2)));
    // One file of both.
    assert_eq!(said.settings.get("file-size"), None);

    let all = parse(SCRIPT_210).unwrap();
    assert_eq!((mib(&all[0], "write"), mib(&all[0], "read")), (Some(677.35), Some(2917.34)));
    assert_eq!((mib(&all[1], "write"), mib(&all[1], "read")), (Some(960.72), Some(1919.76)));
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["test 0", "test 1"]);
    assert_eq!(all[1].settings["block-size"], 32_768);
    assert!(all.iter().all(|said| said.version == "2.10.3" && said.settings["streams"] == 2));

    let said = &parse(recorded!("2.10.3-verbose")).unwrap()[0];
    assert_eq!((mib(said, "write"), mib(said, "read")), (Some(75.3), Some(138.26)));
    // 138.26 MiB/s in transfers of 64 KiB: 16 to a MiB.
    assert_eq!(figure(said, "read_iops"), Some(2212.16));
    // While 3.2 was made the I/Os came back, and the bytes moved were bytes yet.
    let said = &parse(recorded!("3.1.0-with-operations")).unwrap()[0];
    assert_eq!(
        (mib(said, "write"), figure(said, "write_iops")),
        (Some(41_897.31), Some(20_948.66))
    );
    assert_eq!(
        (&said.settings["streams"], &said.settings["file-size"]),
        (&1200.into(), &(20_u64 << 30).into())
    );
    assert_eq!(kinds(said), ["warned"]);
    let said = &parse(recorded!("4.0.0-verbose")).unwrap()[0];
    assert_eq!((said.version.as_str(), said.notes.len()), ("4.0.0", 0));
}

/// IOR 2.10 counts the I/Os of one segment: with two of them it prints half of all.
#[test]
fn the_ios_of_one_segment_are_none_of_all() {
    let said = &parse(SEGMENTS_210).unwrap()[0];
    assert_eq!(mib(said, "write"), Some(357.13));
    assert_eq!(figure(said, "write_iops"), None);
    assert_eq!(kinds(said), ["iops-left-out"]);
    // 357.13 * 16 = 5714 of 64 KiB.
    let whole = SEGMENTS_210.replace("2857.04", "5714.08").replace("3996.54", "7996.54");
    assert_eq!(figure(&parse(&whole).unwrap()[0], "write_iops"), Some(5714.08));
    let other = SEGMENTS_210.replace("2857.04", "3357.04");
    assert!(parse(&other).unwrap_err().contains("do not give its rate"));
    let other = TWO.replace("7926.49", "7826.49");
    assert!(parse(&other).unwrap_err().contains("I/Os per second of its write"));
}

/// "It was cut short" of a whole file: IO500 lets IOR print neither a summary nor its end.
#[test]
fn what_io500_started_has_the_rate_of_its_one_repetition() {
    let said = &parse(IO500).unwrap()[0];
    // 582.22 MiB/s by hand.
    assert_eq!(figure(said, "write_throughput_bytes_per_s").map(f64::round), Some(610_501_919.0));
    assert_eq!(said.figures.len(), 1);
    assert_eq!(
        (&said.settings["streams"], &said.settings["block-size"]),
        (&80.into(), &47_008.into())
    );
    assert_eq!(said.settings.get("file-size"), None);
    assert_eq!(kinds(said), ["iops-left-out"]);
    assert_eq!(parse(&format!("{IO500}{TWO}")).unwrap().len(), 2);
    let row = IO500.find("write     582.22").unwrap();
    for text in [
        IO500[..row].to_owned(),
        IO500[..IO500.len() - 1].to_owned(),
        IO500.replace(" -w ", " -w -r "),
        IO500.replace("repetitions         : 1", "repetitions         : 2"),
        format!("{IO500}{}", &IO500[row..]),
    ] {
        let why = parse(&text).unwrap_err();
        assert!(why.contains("IO500 started it") && why.contains("result_summary.txt"), "{why}");
    }
    // Of 361 GiB/s over 386.61 s the rate has no digits behind the point.
    let fast = IO500
        .replace("moved = 496254054400", "moved = 146455700439040")
        .replace("write     582.22 ", "write     361270 ")
        .replace(" 812.86 ", " 386.61 ");
    assert_eq!(mib(&parse(&fast).unwrap()[0], "write"), Some(361_270.0));
    let other = IO500.replace("582.22", "592.22");
    assert!(parse(&other).unwrap_err().contains("do not give its rate"));
    let end = TWO.find("Finished").unwrap();
    assert!(!parse(&TWO[..end]).unwrap_err().contains("IO500"));
}

#[test]
fn errors_and_warnings_are_told() {
    let why = parse(recorded!("3.0.1-error-refused")).unwrap_err();
    assert!(why.starts_with("IOR stopped at an error: ior ERROR: read() returned EOF"), "{why}");
    let said = &parse(recorded!("4.1.0-wrong-data")).unwrap()[0];
    assert_eq!(said.notes[0].text, "IOR warned: Incorrect data on read (200 errors found).");
    assert_eq!(mib(said, "read"), Some(7142.89));
}

#[test]
fn a_summary_that_contradicts_what_stands_before_it_is_refused() {
    let row = TWO.replace("write     648.09", "write     748.09");
    assert!(parse(&row).unwrap_err().contains("is not that of its 2 repetitions"));
    let max =
        TESTS.replace("Max Write: 571.46 MiB/sec (599.22", "Max Write: 581.46 MiB/sec (609.70");
    assert!(parse(&max).unwrap_err().contains("highest write is told twice"));
    let max = TESTS.replace("Max Write: 571.46", "Max Write: 581.46");
    assert!(parse(&max).unwrap_err().contains("is not its highest rate"));
    let one = TESTS.replace("write 571.46 571.46 571.46", "write 581.46 571.46 571.46");
    assert!(parse(&one).unwrap_err().contains("one repetition has two rates"));
    let wrote = TWO.replace("write         648.09", "wrote         648.09");
    assert!(parse(&wrote).unwrap_err().contains("no row"));
}

#[test]
fn the_json_has_what_the_text_has() {
    let all = parse(JSON).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["test 0", "test 1"]);
    for (at, name, due) in [
        (0, "bwMeanMIB", figure(&all[0], "write_throughput_bytes_per_s")),
        (1, "bwMeanMIB", figure(&all[0], "read_throughput_bytes_per_s")),
        (2, "bwMaxMIB", figure(&all[1], "write_highest_throughput_bytes_per_s")),
        (3, "bwMinMIB", figure(&all[1], "read_lowest_throughput_bytes_per_s")),
    ] {
        let line = JSON.lines().filter(|line| line.contains(name)).nth(at).unwrap();
        let number = line.split(": ").nth(1).unwrap().trim_end_matches([',', ' ']);
        assert_eq!(number.parse::<f64>().ok().map(|mib| mib * MIB), due, "{line}");
    }
    assert_eq!(all[0].settings.get("file-size"), None);
    assert_eq!(all[1].settings["file-size"], 2 << 20);
    let said = &parse(recorded!("3.3.0-json")).unwrap()[0];
    // 338.9122 * 1048576.
    assert_eq!(figure(said, "write_throughput_bytes_per_s").map(f64::round), Some(355_375_199.0));
    assert_eq!((figure(said, "write_iops"), said.version.as_str()), (Some(5422.595), "3.3.0"));
    // With what IOR prints between its lines.
    let said = &parse(recorded!("4.1.0-json-stonewall")).unwrap()[0];
    assert_eq!(kinds(said), ["other-size"]);
    assert_eq!(said.settings.get("file-size"), None);
    let end = JSON.find("\"Finished\"").unwrap();
    assert!(parse(&JSON[..end]).unwrap_err().contains("cut short"));
    let other = JSON.replacen("\"bwMiB\": ", "\"bwMiB\": 1", 1);
    assert!(parse(&other).unwrap_err().contains("is not that of its 2 repetitions"));
    let without = JSON.replace("\"Finished\"", "\"Ended\"");
    assert!(parse(&without).unwrap_err().contains("does not say that it finished"));
}

#[test]
fn each_line_of_the_csv_is_a_result() {
    let all = parse(CSV).unwrap();
    assert_eq!((all.len(), all[5].title.as_str()), (6, "read, repetition 2"));
    // 502.2667 * 1048576.
    assert_eq!(
        figure(&all[0], "write_throughput_bytes_per_s").map(f64::round),
        Some(526_664_807.0)
    );
    assert_eq!(all[0].figures.len(), 1);
    assert_eq!(
        (&all[5].settings["streams"], &all[5].settings["block-size"]),
        (&2.into(), &65_536.into())
    );
    assert_eq!(parse(recorded!("4.1.0-csv")).unwrap().len(), 6);
    let twice = CSV.replace(",2,1\n", ",2,0\n");
    assert!(parse(&twice).unwrap_err().contains("stands there twice"));
    let columns = CSV.replace("Latency,", "");
    assert!(parse(&columns).unwrap_err().contains("other columns"));
    let wrote = CSV.replace("\nwrite,501", "\nwrote,501");
    assert!(parse(&wrote).unwrap_err().contains("no line of its CSV"));
}

#[test]
fn what_3_2_and_3_3_cannot_write_is_refused_by_its_name() {
    for text in [recorded!("3.2.1-csv-refused"), recorded!("3.3.0-csv-refused")] {
        assert_eq!(parse(text).unwrap_err(), csv::NO_RATES);
        assert!(knows(text));
    }
    assert!(parse(recorded!("3.2.1-json-refused")).unwrap_err().contains("3.2 prints broken JSON"));
}

/// Other columns, other numbers of blanks, lines of MPI between, and cuts: the same or an error.
#[test]
fn a_changed_output_gives_the_same_or_an_error() {
    let mut random = Random::new(28);
    let (mut kept, mut tried) = (0, 0);
    for whole in [TWO, TESTS, SCRIPT_30, SCRIPT_210, SEGMENTS_210, WEAR_OUT, JSON, CSV] {
        let lines: Vec<&str> = whole.lines().collect();
        for _ in 0..60 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            let mut perturbed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            match (random.uniform() * 5.0) as usize {
                0 => perturbed.insert(at, "[node1:4711] MCA btl: eager_limit 4096".to_owned()),
                1 => perturbed[at] = format!("{}   ", perturbed[at]),
                2 if !whole.contains("Finished") => perturbed.insert(0, "loading 3.1".to_owned()),
                2 => perturbed.truncate(at),
                3 => perturbed[at] = perturbed[at].replace("  ", " "),
                _ if perturbed[at].starts_with(['w', 'r', 'O']) => {
                    perturbed[at] = perturbed[at].replacen(' ', " extra ", 1);
                }
                _ => perturbed[at].push('\r'),
            }
            tried += 1;
            let text = format!("{}\n", perturbed.join("\n"));
            // A script of 2.10 that was cut behind its first test has no end.
            kept += usize::from(same_or_refused(&IOR, whole, &text, 0.0));
        }
    }
    assert!(kept * 3 > tried, "{kept} of {tried}");
}
