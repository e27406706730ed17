//! `brickyard import`, as typed: files, folders, standard input; what is left out and what it says.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::{brickyard, document};

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tools/");
    std::fs::read_to_string(format!("{folder}{name}")).expect("a fixture")
}

fn put(folder: &Path, name: &str, text: &str) {
    let at = folder.join(name);
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("made");
    std::fs::write(at, text).expect("written");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One bad file of three, and nothing of the others was kept.
#[test]
fn a_folder_is_imported_and_what_is_left_out_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    put(at, "old/fio.json", &fixture("fio-3.33-two-jobs.txt"));
    put(at, "old/disk/hdparm.log", &fixture("hdparm-disk.txt"));
    put(at, "old/README", "Results of last year.\n");
    let output = brickyard(at, &["import", "old", "--store", "s.db"]);
    // A file of another kind in a folder is not missed.
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let told = said(&output);
    for line in [
        "old/disk/hdparm.log: hdparm: ",
        "old/fio.json: fio 3.33: 2 results",
        "old/README: left out: it looks like the output of no tool that is known",
        "2 files read, ",
        ", 1 left out",
        "kept as campaign 1 in s.db",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("fio 3.33") && text.contains("hdparm"), "{text}");
    assert!(text.contains("old/fio.json"), "the report names its file: {text}");
    // One that a tool printed and that is left out is missed.
    let whole = fixture("fio-3.33-read.txt");
    put(at, "old/cut.json", &whole[..whole.len() / 2]);
    let output = brickyard(at, &["import", "old", "--store", "s.db", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = said(&output);
    assert!(told.contains("old/cut.json: left out: its JSON was cut short"), "{told}");
    let told = document(&output);
    assert_eq!(told["inventory"]["imported"].as_array().map(Vec::len), Some(2), "{told:#}");
    let left = &told["inventory"]["left_out"];
    assert_eq!(left[0]["file"], "old/README", "{left:#}");
    assert!(left[1]["why"].as_str().is_some_and(|why| why.contains("cut short")), "{left:#}");
    // Where nothing is left there is no campaign.
    let output = brickyard(at, &["import", "old/cut.json", "old/README", "--store", "none.db"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("none of 2 files can be imported"), "{}", said(&output));
    assert!(!at.join("none.db").exists());
}

#[test]
fn standard_input_is_a_point_of_its_own_and_may_be_packed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = fixture("dbench-4.00-two-clients.txt");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).expect("packed");
    for bytes in [text.clone().into_bytes(), packer.finish().expect("packed")] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["import", "-", "--store", "s.db", "--json"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brickyard can be started");
        child.stdin.take().expect("piped").write_all(&bytes).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(document(&output)["inventory"]["imported"][0]["tool"], "dbench");
    }
}

/// Somebody's fio beside ours: nothing stood beside it, as no cell has just its settings.
#[test]
fn an_import_is_held_against_the_nearest_cell_of_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let plan =
        ["run", "random-read", "--engine", "sim", "--store", "s.db", "--quiet", "stop=300ms"];
    let levels = ["block-size=4KiB,64KiB", "queue-depth=1,8", "--replicates", "2", "--seed", "3"];
    let output = brickyard(at, &[&plan[..], &levels[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    put(at, "fio.json", &fixture("fio-3.33-read.txt"));
    let output = brickyard(at, &["import", "fio.json", "--store", "s.db", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for (format, words) in [
        ("text", &["fio 3.33 in fio.json", "nearest: random-read", "reported", "differs: "][..]),
        ("markdown", &["| figure | reported | here |", "Nearest: random-read"]),
        ("json", &["\"held\"", "\"reported\"", "\"untold\""]),
    ] {
        let output = brickyard(at, &["compare", "1", "2", "--store", "s.db", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for word in words {
            assert!(text.contains(word), "{format}, {word}: {text}");
        }
        assert!(!text.contains("WORSE"), "{text}");
    }
}
