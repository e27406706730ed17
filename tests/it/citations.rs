//! The rules of measurement are in the repository, with their tests, and each citation of one finds
//! it there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const RULES: &str = "docs/concepts/rules.md";

/// Texts of this repository that somebody reads: source, tests, docs and scripts, but not the
/// record of changes, which tells what was.
fn texts() -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["src", "crates", "tests", "docs", "fuzz", "plans", "published"].map(PathBuf::from).into();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            // Recorded outputs of other tools, and libraries that are shipped.
            if name == "fixtures" || name == "plotly" || name == "target" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                all.push((path, text));
            }
        }
    }
    for name in ["README.md", "CONTRIBUTING.md", "Cargo.toml", "test", "bench", "house"] {
        all.push((name.into(), std::fs::read_to_string(name).expect("a text")));
    }
    all
}

/// Numbers that follow `rule ` in a text.
fn cited(text: &str) -> Vec<u32> {
    let number = |after: &str| {
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    text.to_lowercase().split("rule ").skip(1).filter_map(number).collect()
}

/// The tests that a text names: words in quotes of code that are long enough to be one.
fn named(text: &str) -> BTreeSet<String> {
    let is_word = |word: &&str| {
        word.len() > 20
            && word.bytes().all(|b| b == b'_' || b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    text.split('`').skip(1).step_by(2).filter(is_word).map(str::to_owned).collect()
}

/// Every function that is marked as a test, by its name.
fn tests_of(texts: &[(PathBuf, String)]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, text) in texts.iter().filter(|(path, _)| path.extension().is_some_and(|it| it == "rs"))
    {
        let mut marked = false;
        for line in text.lines().map(str::trim) {
            marked |= line == "#[test]";
            if let Some(name) = line.strip_prefix("fn ").filter(|_| marked) {
                let name = name.split('(').next().unwrap_or_default();
                all.insert(name.to_owned());
                marked = false;
            }
        }
    }
    all
}

/// Sixty places cited rules by the numbers of a text that nobody has who clones the repository.
#[test]
fn every_rule_that_is_cited_stands_in_the_rules() {
    let all = texts();
    let rules = &all.iter().find(|(path, _)| path == Path::new(RULES)).expect("the rules").1;
    let headings: Vec<u32> =
        rules.lines().filter(|line| line.starts_with("## Rule ")).flat_map(cited).collect();
    assert_eq!(headings, (1..=12).collect::<Vec<_>>());
    let mut places = BTreeMap::<u32, Vec<String>>::new();
    for (path, text) in &all {
        let path = path.display().to_string();
        for number in cited(text) {
            places.entry(number).or_default().push(path.clone());
        }
        let elsewhere = path != file!() && text.contains("DESIGN");
        assert!(!elsewhere, "{path} cites what is not in the repository");
    }
    for (number, places) in &places {
        assert!(headings.contains(number), "rule {number} is in no text, and cited in {places:?}");
    }
    assert!(places.len() >= 10, "hardly any rule is cited: {places:?}");
}

/// A file that the docs send a reader to is there.
#[test]
fn every_file_that_the_docs_name_exists() {
    let is_path = |word: &&str| {
        let (top, rest) = word.split_once('/').unwrap_or((word, ""));
        let known = ["src", "crates", "tests", "docs", "fuzz", "published"].contains(&top);
        known && !rest.contains(['*', '<', '{', ' ']) && rest.contains('.')
    };
    let (mut all, mut missing) = (0, Vec::new());
    for (path, text) in texts().iter().filter(|(path, _)| path.extension() == Some("md".as_ref())) {
        for word in text.split('`').skip(1).step_by(2).filter(is_path) {
            all += 1;
            if !Path::new(word).exists() {
                missing.push(format!("{}: {word}", path.display()));
            }
        }
    }
    // The recipes name files that somebody may make.
    let may_be_made = ["/NAME.rs", "/NAME.toml", "/workload/scan.rs"];
    missing.retain(|it| !may_be_made.iter().any(|end| it.ends_with(end)));
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(all > 40, "{all} files are named");
}

/// What a page says that a test holds, one does.
#[test]
fn every_test_that_a_rule_names_exists() {
    let all = texts();
    let known = tests_of(&all);
    assert!(known.len() > 2000, "{} tests", known.len());
    let rules = &all.iter().find(|(path, _)| path == Path::new(RULES)).expect("the rules").1;
    for rule in rules.split("\n## ").skip(1) {
        let title = rule.lines().next().unwrap_or_default();
        let named = named(rule);
        assert!(named.len() >= 2, "{title} is held by {named:?}");
        let missing: Vec<_> = named.difference(&known).collect();
        assert!(missing.is_empty(), "{title} is said to be held by {missing:?}");
    }
}
