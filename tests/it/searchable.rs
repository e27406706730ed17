//! Names that can be searched: who looks for a type finds it, and no other of the name.

use std::collections::BTreeMap;
use std::path::Path;

use super::tidy::{CRATES, rust_files};

/// Whether nothing but tests is in this file.
fn is_of_tests(path: &Path) -> bool {
    path.iter().any(|part| {
        let name = part.to_string_lossy();
        matches!(name.trim_end_matches(".rs"), "tests" | "testing")
    })
}

/// What stands in a file before the tests at its end.
fn without_tests(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod ").or(text.find("#[cfg(test)]\npub mod "));
    // A module that is a file of its own: what follows is no test.
    let inline = tests.filter(|at| text[*at..].lines().nth(1).is_some_and(|it| it.ends_with('{')));
    inline.map_or(text, |at| &text[..at])
}

/// The line without who may see it; `None` where nobody else may.
fn shown(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(narrow) => narrow.split_once(')')?.1,
        None => rest,
    };
    rest.strip_prefix(' ')
}

/// The name of the type that begins on this line. An alias within something is its associated type.
fn type_named(line: &str) -> Option<&str> {
    let plain = shown(line).unwrap_or(line.trim_start());
    let inner = line.starts_with(' ');
    let kinds = ["struct ", "enum ", "trait ", "union ", "type "];
    let mut kinds = kinds.iter().filter(|kind| !inner || **kind != "type ");
    let rest = kinds.find_map(|kind| plain.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether a function that others may call is named `of`, which tells nothing and is found 10 000
/// times.
fn is_bare(line: &str) -> bool {
    let plain = shown(line).map(|rest| rest.trim_start_matches("const "));
    plain.is_some_and(|rest| rest.starts_with("fn of(") || rest.starts_with("fn of<"))
}

#[test]
fn a_types_name_is_said_once_in_a_crate_and_no_function_that_others_call_is_named_of() {
    let (mut problems, mut types) = (Vec::new(), 0);
    for (krate, folder) in CRATES {
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in rust_files(Path::new(folder)).iter().filter(|path| !is_of_tests(path)) {
            let text = std::fs::read_to_string(path).expect("source");
            for (number, line) in without_tests(&text).lines().enumerate() {
                let place = format!("{}:{}", path.display(), number + 1);
                if is_bare(line) {
                    problems.push(format!("{place}: `of` says nothing of what it gives"));
                }
                if let Some(name) = type_named(line) {
                    named.entry(name.to_owned()).or_default().push(place);
                    types += 1;
                }
            }
        }
        for (name, places) in named.iter().filter(|(_, places)| places.len() > 1) {
            problems.push(format!("{krate} has {name} at {}", places.join(", ")));
        }
    }
    assert!(types > 1000, "{types}");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn types_and_bare_names_are_seen_however_they_are_shown() {
    for (line, name) in [
        ("pub struct Trial {", Some("Trial")),
        ("pub(super) enum Cell<'a> {", Some("Cell")),
        ("    struct Inner(u32);", Some("Inner")),
        ("type Answer = Result<(), Error>;", Some("Answer")),
        ("    type Output = u32;", None),
        ("    structure of", None),
        ("trait Cause {", Some("Cause")),
    ] {
        assert_eq!(type_named(line), name, "{line}");
    }
    assert!(is_bare("    pub fn of(&self) {") && is_bare("pub(super) const fn of<T>(it: T) {"));
    assert!(!is_bare("fn of(it: u32) {") && !is_bare("pub fn of_kind(it: u32) {"));
    assert!(without_tests("struct A;\n#[cfg(test)]\nmod tests;\nstruct B;\n").contains("struct B"));
    let inline = "struct A;\n#[cfg(test)]\nmod tests {\n    struct B;\n}\n";
    assert!(!without_tests(inline).contains("struct B"));
}
