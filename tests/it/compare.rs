//! `brickyard compare`, as typed: what changed between two simulated servers, and its exit status.

use std::path::Path;

use crate::program::{WITHOUT_CHECKSUMS, brickyard, document};

/// A campaign of a simulated server in a store of its own.
fn measured(folder: &Path, store: &str, more: &[&str]) {
    let plan = "[plan]\nname = \"two\"\nabout = \"Two levels\"\nengine = \"sim\"\nreplicates = 3\n\
                [[workload]]\nuse = \"sequential-read\"\nfile-size = \"1GiB\"\n\
                streams = [1, 4]\nstop = \"500ms\"\n";
    std::fs::write(folder.join("two.toml"), plan).expect("a plan");
    let asked = ["run", "two.toml", "--store", store, "--quiet"];
    let output = brickyard(folder, &[&asked[..], more].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn two_campaigns_of_one_server_are_the_same_and_those_of_others_say_what_is_not_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "a.db", &["--seed", "1"]);
    measured(at, "b.db", &["--seed", "2"]);
    let output = brickyard(at, &["compare", "a.db", "b.db:1", "--json", "--threshold", "40%"]);
    assert_eq!(output.status.code(), Some(0));
    let found = document(&output);
    let cells = found["comparisons"][0]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2, "{found:#}");
    for cell in cells {
        assert_eq!(cell["change"], "same", "{found:#}");
        let ratio = &cell["ratio"];
        let [low, high] = ["low", "high"].map(|end| ratio[end].as_f64().expect("an interval"));
        assert!(low <= high && low > 0.6 && high < 1.7, "{found:#}");
    }
    // The same store, by number; another load is another cell.
    measured(at, "a.db", &["block-size=64KiB"]);
    let output = brickyard(at, &["compare", "1", "2", "--store", "a.db"]);
    assert_eq!(output.status.code(), Some(2), "nothing could be compared");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it has one with block-size 64 KiB"), "{text}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("nothing was compared") && said.contains("hint: "), "{said}");
}

/// `throughput_bytes_per_s` as a heading, "Without a column here: write_latency_ns_mean": names of
/// columns are the program's words.
#[test]
fn a_report_in_words_has_no_names_of_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "a.db", &[]);
    for format in ["text", "markdown"] {
        let output = brickyard(at, &["report", "--store", "a.db", "--format", format]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("MB/s") && text.contains("p99"), "{format}: {text}");
        for word in ["_per_s", "_ns", "_bytes", "latency_"] {
            assert!(!text.contains(word), "{format}, {word}: {text}");
        }
    }
}

/// A server that lost half: the exit status is what a script asks for.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run says so")]
fn a_regression_ends_with_1_and_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "a.db", &["--seed", "1"]);
    measured(at, "b.db", &["--seed", "2"]);
    // Half of what was done in each window of the second.
    let half = "UPDATE trial SET window_read_bytes = window_read_bytes / 2";
    let half = format!("{half}; {WITHOUT_CHECKSUMS}");
    let status = std::process::Command::new("sqlite3").arg(at.join("b.db")).arg(half).status();
    match status {
        Ok(status) => assert!(status.success()),
        Err(_) => return println!("SKIP compare: sqlite3 is not installed"),
    }
    let output = brickyard(at, &["compare", "a.db", "b.db"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("2 worse") && text.contains("WORSE"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The other way round it is better, and no regression.
    let output = brickyard(at, &["compare", "b.db", "a.db", "--format", "html"]);
    assert_eq!(output.status.code(), Some(0));
    let page = std::fs::read_to_string(at.join("brickyard-compare.html")).expect("a page");
    assert!(page.contains("2 better"));
}

/// The one cell that became worse stood somewhere among all that are the same, as a line of
/// numbers.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run says so")]
fn what_became_worse_is_drawn_first_and_what_is_the_same_is_shown_when_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "a.db", &["--seed", "1", "streams=1,2,4,8"]);
    std::fs::copy(at.join("a.db"), at.join("b.db")).expect("the same again");
    // Of the second, half with two streams; of the first, half with four.
    let half = |store: &str, streams: u32| {
        let half = format!(
            "UPDATE trial SET window_read_bytes = window_read_bytes / 2 \
             WHERE json_extract(settings, '$.streams') = {streams}; {WITHOUT_CHECKSUMS}"
        );
        std::process::Command::new("sqlite3").arg(at.join(store)).arg(half).status()
    };
    for (store, streams) in [("b.db", 2), ("a.db", 4)] {
        match half(store, streams) {
            Ok(status) => assert!(status.success()),
            Err(_) => return println!("SKIP compare: sqlite3 is not installed"),
        }
    }
    let printed = |more: &[&str]| {
        let output = brickyard(at, &[&["compare", "a.db", "b.db"], more].concat());
        assert_eq!(output.status.code(), Some(1), "a regression");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = printed(&[]);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}`: {text}"));
    let command =
        "2 cells not shown: 2 the same. To see them:\n  brickyard compare a.db b.db --all\n";
    let order = ["WORSE, 1 cell", "2 streams", "better, 1 cell", "4 streams", command];
    assert!(order.map(at).is_sorted(), "{text}");
    assert!(!text.contains(": 1 stream:") && !text.contains("8 streams"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 && line.is_ascii()), "{text}");
    assert!(text.contains("#|") && text.contains("|#"), "a bar to the left and one to the right");
    let all = printed(&["--all"]);
    assert!(all.contains("the same, 2 cells") && all.contains("8 streams"), "{all}");
    assert!(!all.contains("not shown"), "{all}");
    let markdown = printed(&["--format", "markdown"]);
    assert!(markdown.contains("## WORSE, 1 cell") && markdown.contains("## better, 1 cell"));
    assert!(markdown.contains("brickyard compare a.db b.db --format markdown --all"), "{markdown}");
}

/// `compare` against an import printed the machine's raw JSON, "import / unknown" and no file's
/// name; "what else differs" is of no use where nobody knows the other machine.
#[test]
fn an_import_is_named_by_its_file_and_has_no_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "a.db", &[]);
    let name = "fio-3.33-read.txt";
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tools/");
    std::fs::copy(format!("{fixtures}{name}"), at.join(name)).expect("a fixture");
    let imported = brickyard(at, &["import", name, "--store", "b.db"]);
    assert_eq!(imported.status.code(), Some(0));
    for sides in [["a.db", "b.db"], ["b.db", "a.db"]] {
        let output = brickyard(at, &[&["compare"], &sides[..]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("import of {name}")), "{text}");
        assert!(text.lines().next().is_some_and(|line| line.contains("IMPORTED")), "{text}");
        let raw = ["unknown", "{", "null", "\": "].into_iter().filter(|raw| text.contains(raw));
        assert_eq!(raw.collect::<Vec<_>>(), [""; 0], "{text}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at, "a.db", &[]);
    for (typed, word) in [
        (&["a.db", "none.db"][..], "none.db"),
        (&["a.db", "a.db:7"], "the newest is 1"),
        (&["a.db"], "2 values required"),
        (&["a.db", "a.db", "--threshold", "0"], "no share"),
        (&["a.db", "a.db", "--figure", "latency_ns_p9"], "--figure latency_ns_p9"),
        (&["a.db", "a.db", "--format", "pdf"], "choose one of text"),
    ] {
        let output = brickyard(at, &[&["compare"], typed].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{typed:?}: {said}");
        assert!(said.contains(word), "{typed:?}: {said}");
    }
}

/// The first source exchanged the disks of two servers, and read its tables by eye.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run says so")]
fn servers_and_their_disks_are_told_apart_once_they_were_exchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let labels =
        |server: &str, disks: &str| [format!("label={server}"), format!("disk-model={disks}")];
    let run = |seed: &str, server: &str, disks: &str| {
        let [label, disks] = labels(server, disks);
        measured(at, "brickyard.db", &["--seed", seed, &label, &disks]);
    };
    run("1", "server-a", "set-1");
    run("2", "server-b", "set-2");
    let compared = |more: &[&str]| brickyard(at, &[&["compare"], more].concat());
    let told = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let output = compared(&["1", "2", "--by", "label,disk-model"]);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("cannot be told apart from disk-model"), "{text}");
    // What it says is what to type.
    let line = text.lines().find_map(|line| line.strip_prefix("  brickyard ")).expect(&text);
    assert!(line.contains("label=server-a disk-model=set-2"), "{text}");
    // One draw in some dozens leaves the label not decided, and a line to type that is longer.
    let typed = line.split(' ').chain(["--seed", "3"]).collect::<Vec<_>>();
    let output = brickyard(at, &typed);
    assert_eq!(output.status.code(), Some(0), "{line}");
    run("4", "server-b", "set-1");
    // The second set is half as fast, in both servers.
    let half = "UPDATE trial SET window_read_bytes = window_read_bytes / 2 \
                WHERE json_extract(settings, '$.disk-model') = 'set-2'"
        .replace("$.disk-model", "$.\"disk-model\"");
    let half = format!("{half}; {WITHOUT_CHECKSUMS}");
    let status =
        std::process::Command::new("sqlite3").arg(at.join("brickyard.db")).arg(half).status();
    match status {
        Ok(status) => assert!(status.success()),
        Err(_) => return println!("SKIP compare: sqlite3 is not installed"),
    }
    let asked = ["1", "2", "3", "4", "--by", "label,disk-model"];
    let output = compared(&asked);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("disk-model set-2 / set-1") && !text.contains("told apart from"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80 && line.is_ascii()), "{text}");
    let found = document(&compared(&[&asked[..], &["--json"]].concat()));
    let effects = found["by_label"]["workloads"][0]["effects"].as_array().expect("effects");
    let ratio = |place: usize| effects[place]["ratio"]["value"].as_f64().expect("a ratio");
    assert!((ratio(0) - 1.0).abs() < 0.15 && (ratio(1) - 0.5).abs() < 0.1, "{found:#}");
    assert!(effects[1]["ratio"]["low"].is_number(), "{found:#}");

    for (typed, word) in [
        (&["1", "2", "--by", "disk"][..], "--by disk-model"),
        (&["1", "2", "--by", "card"], "without a `card`"),
        (&["1", "4", "--by", "disk-model"], "disk-model=set-1"),
        (&["1", "1", "--by", "label"], "the same campaign"),
        (&["1", "2", "--by", "label", "--format", "html"], "text or json"),
    ] {
        let output = compared(typed);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{typed:?}: {said}");
        assert!(said.contains(word), "{typed:?}: {said}");
    }
}
