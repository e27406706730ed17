//! A plan over what only a person can change: it stops, says what to change, and goes on.

use std::path::Path;

use serde_json::Value;

use crate::program::brickyard;

const PLAN: &str = r#"
[plan]
name = "cards"
about = "Which card reads faster?"
replicates = 2
seed = 11
stop = "2s"
engine = "sim"

[factors]
card = ["areca-16", "3ware-8", "lsi"]
streams = [1, 4]

[[workload]]
use = "sequential-read"
"#;

fn run(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = brickyard(folder, &[&["run", "cards.toml", "--quiet", "--json"], more].concat());
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

fn report(folder: &Path) -> Value {
    let output = brickyard(folder, &["report", "--format", "json"]);
    serde_json::from_slice(&output.stdout).expect("one document")
}

/// Trials done of each card, and how often the card changes from one to the next.
fn cards(document: &Value) -> (Vec<String>, usize) {
    let trials = document["trials"].as_array().expect("trials").iter();
    let card = |trial: &Value| trial["settings"]["card"].as_str().expect("a card").to_owned();
    let cards: Vec<String> = trials.map(card).collect();
    let changes = cards.windows(2).filter(|pair| pair[0] != pair[1]).count();
    (cards, changes)
}

/// The words after "then type: brickyard run cards.toml --quiet --json".
fn next(said: &str) -> Vec<&str> {
    let line = said.lines().find_map(|line| line.split_once("then type: ")).expect(said).1;
    line.split_whitespace().skip_while(|word| *word != "--json").skip(1).collect()
}

#[test]
fn a_person_changes_cards_between_runs_and_is_told_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("cards.toml"), PLAN).expect("a plan");
    let shown = brickyard(folder, &["plan", "cards.toml"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("by hand: 3 set-ups; the run stops after each"), "{shown}");
    assert!(shown.contains("4 trials with --label card=areca-16"), "{shown}");

    let (status, said) = run(folder, &[]);
    assert_eq!(status, Some(2), "nobody knows which card is there: {said}");
    assert!(said.contains("card=areca-16") && said.contains("card=lsi"), "{said}");
    assert!(said.contains("then type: ") && said.contains("--label card="), "{said}");
    assert!(!folder.join("brickyard.db").exists(), "nothing was run");
    assert!(run(folder, &["--label", "card=adaptec"]).1.contains("no cell"));

    let (status, said) = run(folder, &["--label", "card=3ware-8"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("card=3ware-8 is done, 2 of 3 set-ups are left"), "{said}");
    assert!(said.contains("by hand: change card from 3ware-8 to "), "{said}");
    assert_eq!(cards(&report(folder)), (vec!["3ware-8".to_owned(); 4], 0));

    // Once more with the same card does nothing twice.
    let (status, said) = run(folder, &["--resume", "--label", "card=3ware-8"]);
    assert_eq!((status, cards(&report(folder)).0.len()), (Some(0), 4), "{said}");

    // What it says is what to type, to the end.
    let second = next(&said);
    assert_eq!(second[..2], ["--resume", "--label"]);
    let (status, said) = run(folder, &second);
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = run(folder, &next(&said));
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("all 3 set-ups of `cards` are done"), "{said}");
    let document = report(folder);
    let (all, changes) = cards(&document);
    assert_eq!((all.len(), changes), (12, 2), "no card was put in twice: {all:?}");
    // Nobody exchanged a part of this machine, and the records say so.
    let notes = document["trials"][4]["notes"].as_array().expect("notes");
    let kinds: Vec<&str> = notes.iter().filter_map(|note| note["kind"].as_str()).collect();
    let told = ["inventory-unchanged", "inventory-changed"];
    assert!(kinds.iter().any(|kind| told.contains(kind)), "{kinds:?}");
    assert_eq!(document["campaign"]["id"], 1);

    // The same trials as of a plan that nobody had to stop, but for the order of the cards.
    let cell = |document: &Value| document["cells"].as_array().map(Vec::len);
    assert_eq!(cell(&document), Some(6));
    let text = brickyard(folder, &["report", "--format", "text"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("areca-16") && text.contains("card"), "{text}");
}
