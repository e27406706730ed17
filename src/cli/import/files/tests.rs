//! What is kept of files, and what is left out of them.

use super::super::sources::sources;
use super::*;
use experiment::measurement::figures::{cells, figures};
use std::io::Write as _;

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/tools/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn each(files: &[String], from: Option<&str>) -> Vec<FileImport> {
    let from = from.map(|name| tool(name).unwrap());
    sources(files).unwrap().iter().map(|source| read(source, from)).collect()
}

fn all(files: &[String], from: Option<&str>) -> Imported {
    let read = each(files, from);
    assert!(read.iter().all(|file| file.parts.is_ok()), "{read:?}");
    imported(read)
}

fn refused(files: &[String], from: Option<&str>) -> Error {
    let left = each(files, from).into_iter().find_map(|file| file.parts.err());
    left.expect("one is left out").error
}

#[test]
fn every_result_is_a_trial_with_reported_figures_and_no_others() {
    let files = ["fio-3.33-two-jobs.txt", "dbench-4.00-two-clients.txt"].map(fixture);
    let imported = all(&files, None);
    let records = imported.files.concat();
    assert_eq!((imported.engine.as_str(), records.len()), ("fio, dbench", 3));
    for (at, record) in records.iter().enumerate() {
        assert_eq!(record.trial.number as usize, at + 1);
        let figures = figures(record);
        assert!(!figures.is_empty() && figures.keys().all(|it| it.starts_with("reported_")));
        assert!(figures.iter().all(|(_, figure)| figure.interval.is_none()));
    }
    assert_eq!(records[0].trial.settings.get(knob::ACCESS), Some(knob::Access::Write));
    assert_eq!(records[2].trial.settings.get(knob::STREAMS), 2);
    assert_eq!(imported.inventory["imported"][0]["results"], 2);
}

/// The same file twice is two results with the same settings, and perhaps two machines.
#[test]
fn results_with_the_same_settings_are_not_taken_for_replicates() {
    let files = [fixture("fio-3.33-read.txt"), fixture("fio-3.33-two-jobs.txt")];
    let records = all(&files, None).files.concat();
    assert_eq!(cells(&records).len(), records.len());
}

/// A script's log holds what several tools printed, one after the other.
#[test]
#[expect(clippy::disallowed_methods, reason = "makes a fixture")]
fn the_outputs_of_several_tools_in_one_file_are_all_found() {
    let folder = tempfile::tempdir().unwrap();
    let text = |name: &str| std::fs::read_to_string(fixture(name)).unwrap();
    let parts = ["hdparm-disk.txt", "dd-8-coreutils.txt", "fio-2.1.9-four-groups.txt"];
    let log: String = parts.into_iter().map(text).collect();
    let file = folder.path().join("log");
    let names = [file.to_string_lossy().into_owned()];
    std::fs::write(&file, &log).unwrap();
    let imported = all(&names, None);
    let records = imported.files.concat();
    assert_eq!((imported.engine.as_str(), records.len()), ("fio, dd, hdparm", 7));
    // One of them that cannot be read is not left out.
    std::fs::write(&file, log.replace("126 MB/s", "926 MB/s")).unwrap();
    let error = refused(&names, None);
    assert!(error.what.ends_with("as the output of dd"), "{error:?}");
    assert!(error.hint.unwrap().contains("--from fio"));
    assert_eq!(all(&names, Some("hdparm")).files.concat().len(), 2);
}

/// Logs are kept packed.
#[test]
#[expect(clippy::disallowed_methods, reason = "makes a fixture")]
fn what_was_packed_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let plain = fixture("fio-3.33-two-jobs.txt");
    let due = all(std::slice::from_ref(&plain), None).files.concat();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&std::fs::read(&plain).unwrap()).unwrap();
    let packed = packer.finish().unwrap();
    let file = folder.path().join("a.txt.gz");
    let name = [file.to_string_lossy().into_owned()];
    std::fs::write(&file, &packed).unwrap();
    assert_eq!(all(&name, None).files.concat().len(), due.len());
    std::fs::write(&file, &packed[..packed.len() / 2]).unwrap();
    let why = refused(&name, None).why;
    assert!(why.contains("unpacked as by gzip(1)"), "{why}");
}

#[test]
fn a_file_that_nothing_knows_asks_for_its_tool_and_a_wrong_tool_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    std::fs::write(&path, b"elephant \xff\n").unwrap();
    let file = [path.to_string_lossy().into_owned()];
    let error = refused(&file, None);
    assert!(error.hint.unwrap().contains("--from TOOL"));
    assert!(refused(&file, Some("dbench")).why.contains("no run of dbench"));
    assert!(tool("dbnech").unwrap_err().hint.unwrap().contains("--from dbench"));
    assert!(refused(&["/nonexistent/file".to_owned()], None).what.contains("/nonexistent"));
}

/// PowerShell's `>` writes UTF-16: a whole output was "no tool's that is known".
#[test]
#[expect(clippy::disallowed_methods, reason = "makes a fixture")]
fn what_powershell_redirected_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let plain = fixture("crystaldiskmark-6.0.0-card.txt");
    let text = std::fs::read_to_string(&plain).unwrap();
    let due = all(&[plain], None).files.concat();
    type Ends = fn(u16) -> [u8; 2];
    for (mark, ends) in [(b"\xff\xfe", u16::to_le_bytes as Ends), (b"\xfe\xff", u16::to_be_bytes)] {
        let units = text.encode_utf16().flat_map(ends);
        let bytes: Vec<u8> = mark.iter().copied().chain(units).collect();
        let file = folder.path().join("cdm.txt");
        std::fs::write(&file, bytes).unwrap();
        let told = all(&[file.to_string_lossy().into_owned()], None).files.concat();
        let figures = |records: &[Record]| records.iter().map(figures).collect::<Vec<_>>();
        assert_eq!(figures(&told), figures(&due));
    }
}

/// Of three files one was bad, and nothing was kept of the others.
#[test]
#[expect(clippy::disallowed_methods, reason = "makes a fixture")]
fn what_cannot_be_read_is_left_out_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(fixture("fio-3.33-read.txt"), at("good")).unwrap();
    std::fs::write(at("notes"), "elephant\n").unwrap();
    let text = std::fs::read_to_string(fixture("fio-3.33-read.txt")).unwrap();
    std::fs::write(at("cut"), &text[..text.len() / 2]).unwrap();
    let read = each(&[folder.path().to_string_lossy().into_owned()], None);
    let missed: Vec<bool> = read.iter().map(FileImport::is_missed).collect();
    // A file of another kind in a folder is not missed.
    assert_eq!(missed, [true, false, false]);
    let lines = super::super::summary::lines(&read).join("\n");
    assert!(lines.contains("cut: left out: its JSON was cut short"), "{lines}");
    assert!(lines.contains("good: fio 3.33: 1 result\n"), "{lines}");
    assert!(lines.ends_with("1 file read, 1 result, 2 left out"), "{lines}");
    let imported = imported(read);
    assert_eq!(imported.files.concat().len(), 1);
    assert_eq!(imported.inventory["left_out"].as_array().unwrap().len(), 2);
}

/// fio's own log files, as they lie there: what they are of stands in their names alone.
#[test]
#[expect(clippy::disallowed_methods, reason = "makes a fixture")]
fn a_log_of_fio_is_known_by_the_name_that_fio_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let rows = "500, 80764, 0, 0, 0\n1000, 80812, 0, 0, 0\n1500, 80799, 0, 0, 0\n";
    std::fs::write(at("seq_bw.1.log"), rows).unwrap();
    std::fs::write(at("numbers.csv"), rows).unwrap();
    let records = all(&[at("seq_bw.1.log")], None).files.concat();
    let measurement = records[0].outcome.measurement().unwrap();
    let series: Vec<_> = measurement.reported_series().collect();
    assert_eq!(series.len(), 1);
    // 80764 KiB/s are 80764 * 1024 bytes per second.
    assert_eq!(series[0].values[0], 80764.0 * 1024.0);
    assert_eq!(series[0].at_ns[0], 500_000_000);
    assert!(
        measurement.has_course()
            && records[0].clone().light().outcome.measurement().unwrap().has_course()
    );
    let why = refused(&[at("numbers.csv")], None).why;
    assert!(why.contains("nothing in it says of what"), "{why}");
}
