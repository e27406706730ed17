//! The pages of the five sources: one a row, in the book, and every command of theirs is one.

use std::path::Path;

use crate::program::brickyard;

/// Rows of each source, as its experiments are counted: 1a to 1k, 2a to 2e and so on.
const ROWS: [(u8, char); 5] = [(1, 'k'), (2, 'e'), (3, 'c'), (4, 'd'), (5, 'e')];

/// What begins a line of the program's in a `sh` block.
const OURS: &str = "brickyard ";

/// Options of `run` and `send` that `plan` does not have, and whether a value follows.
const NOT_OF_PLAN: [(&str, bool); 7] = [
    ("--wipe", true),
    ("--label", true),
    ("--again", true),
    ("-o", true),
    ("--resume", false),
    ("--dry-run", false),
    ("--force", false),
];

struct Page {
    row: String,
    file: String,
    text: String,
}

fn pages() -> Vec<Page> {
    let folder = Path::new("docs/sources");
    let names = folder.read_dir().expect("docs/sources is there").map(|entry| {
        entry.expect("readable").file_name().into_string().expect("its name is a text")
    });
    let names: Vec<String> = names.filter(|name| name != "README.md").collect();
    let rows = ROWS
        .iter()
        .flat_map(|(source, last)| ('a'..=*last).map(move |letter| format!("{source}{letter}")));
    let pages: Vec<Page> = rows
        .map(|row| {
            let begins = format!("{row}-");
            let its: Vec<&String> = names.iter().filter(|name| name.starts_with(&begins)).collect();
            let [file] = its[..] else { panic!("row {row} has not one page, but {its:?}") };
            let text = std::fs::read_to_string(folder.join(file)).expect("readable");
            Page { row, file: file.clone(), text }
        })
        .collect();
    assert_eq!(pages.len(), names.len(), "a page is of no row: {names:?}");
    pages
}

/// The texts of all fenced blocks of this kind.
fn blocks<'a>(text: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let opened = text.split("\n```").skip(1).step_by(2);
    opened.filter_map(move |block| block.strip_prefix(kind)?.strip_prefix('\n'))
}

/// The commands of a page, each on one line, without what a shell does with their output.
fn commands(text: &str) -> Vec<String> {
    let joined: Vec<String> = blocks(text, "sh").map(|block| block.replace("\\\n", " ")).collect();
    let lines = joined.iter().flat_map(|block| block.lines());
    lines.filter(|line| line.starts_with(OURS)).map(str::to_owned).collect()
}

/// The words of a command as a shell parts them; single and double quotes hold words together.
/// What stands behind `|`, `>`, `<`, `&` or `#` is no argument.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = None;
    for letter in line.chars() {
        let last = words.last_mut().expect("one is there");
        match (quoted, letter) {
            (Some(quote), _) if letter == quote => quoted = None,
            (None, '\'' | '"') => quoted = Some(letter),
            (None, '|' | '>' | '<' | '&' | '#') if last.is_empty() => break,
            (None, ' ') if last.is_empty() => {}
            (None, ' ') => words.push(String::new()),
            _ => last.push(letter),
        }
    }
    assert_eq!(quoted, None, "a quote stays open: {line}");
    words.retain(|word| !word.is_empty());
    words
}

/// A command that runs a plan, as `plan` takes it: its directories are ours, and what only a run
/// has is left out.
fn planned(words: &[String], folder: &Path) -> Vec<String> {
    let mut planned = vec!["plan".to_owned()];
    let mut rest = words[1..].iter().skip(usize::from(words[0] == "send"));
    while let Some(word) = rest.next() {
        if let Some((_, valued)) = NOT_OF_PLAN.iter().find(|(name, _)| name == word) {
            if *valued {
                rest.next();
            }
            continue;
        }
        planned.push(word.clone());
        if word == "--dir" {
            let named = rest.next().expect("a directory follows");
            // What an NFS server exports is mounted by a run, and a plan asks nobody for it.
            let ours = folder.join(named.trim_start_matches('/').replace('/', "-"));
            if named.contains(":/") {
                planned.push(named.clone());
            } else {
                std::fs::create_dir_all(&ours).expect("made");
                planned.push(ours.display().to_string());
            }
        }
    }
    // What is asked of the other end is refused where there is none.
    if let ("send", Some(host)) = (words[0].as_str(), words.get(1)) {
        planned.push(format!("peer={host}"));
    }
    planned
}

/// The plan files that a page shows: a `toml` block whose first line is its name.
fn write_plans(text: &str, folder: &Path) {
    for block in blocks(text, "toml") {
        let name = block.lines().next().and_then(|line| line.strip_prefix("# "));
        let name = name.unwrap_or_else(|| panic!("a plan without its name: {block}"));
        std::fs::write(folder.join(name), block).expect("written");
    }
}

#[test]
fn each_row_of_the_sources_has_a_page_in_index_and_book() {
    let index = std::fs::read_to_string("docs/sources/README.md").expect("the index is there");
    let book = std::fs::read_to_string("docs/SUMMARY.md").expect("the book is there");
    for Page { row, file, text } in pages() {
        assert_eq!(index.matches(&format!("]({file})")).count(), 1, "{file} in the index");
        assert_eq!(book.matches(&format!("](sources/{file})")).count(), 1, "{file} in the book");
        assert!(text.starts_with(&format!("# {row}: ")), "{file} begins with its row");
        assert!(text.contains("\nSource: ") && text.contains("\nRow: "), "{file} says of what");
        assert!(blocks(&text, "text").next().is_some(), "{file} shows what came of it");
    }
}

/// Options are parsed by asking for help behind them, knobs and levels by `plan`; no command runs.
#[test]
fn every_command_of_their_pages_is_understood() {
    for Page { file, text, .. } in pages() {
        let folder = tempfile::tempdir().expect("a folder");
        write_plans(&text, folder.path());
        let commands = commands(&text);
        assert!(!commands.is_empty(), "{file} has no command");
        for line in commands {
            let words = words(&line[OURS.len()..]);
            let told = |arguments: &[String]| {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let output = brickyard(folder.path(), &arguments);
                (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
            };
            let (understood, said) = told(&[&words[..], &["--help".to_owned()]].concat());
            assert!(understood, "{file}: {line}\n{said}");
            if ["run", "plan", "send"].contains(&words[0].as_str()) && words.len() > 1 {
                let (understood, said) = told(&planned(&words, folder.path()));
                // Knobs are looked up before disks, and the disks are another machine's.
                let elsewhere = said.contains("cannot use the disk `serial:")
                    || said.contains("cannot use the disk `loop:");
                assert!(understood || elsewhere, "{file}: {line}\n{said}");
            }
        }
    }
}

#[test]
fn words_are_parted_as_a_shell_does() {
    let line = "query 'SELECT a, \"b\" FROM c' --format csv > out.csv";
    assert_eq!(words(line), ["query", "SELECT a, \"b\" FROM c", "--format", "csv"]);
    let text = "\n```sh\nbrickyard a \\\n  b # c\nls\n```\n\n```text\nbrickyard d\n```\n";
    assert_eq!(commands(text), ["brickyard a    b # c"]);
    assert_eq!(words("a    b # c"), ["a", "b"]);
}
