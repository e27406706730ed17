//! Which program this is, for whoever has to ask about it.

use std::process::Command;

use crate::program::brickyard;

/// `brickyard --version` told `0.1.0` of every program that was ever built.
#[test]
fn the_version_tells_the_commit_the_profile_and_the_features() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |option: &str| {
        let output = brickyard(folder.path(), &[option]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).expect("text")
    };
    let long = said("--version");
    let lines: Vec<&str> = long.lines().collect();
    let first = format!("brickyard {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(lines.first(), Some(&first.as_str()));
    assert_eq!(said("-V").trim(), first);
    let of = |name: &str| {
        let mut all = lines.iter().filter_map(|line| line.strip_prefix(name));
        all.next().unwrap_or_else(|| panic!("no {name} in {long}"))
    };
    let git = Command::new("git").args(["log", "-1", "--format=%h", "--abbrev=12"]).output();
    match git.ok().filter(|it| it.status.success()) {
        // That of the build may be an earlier one: cargo does not build again for a commit of text.
        Some(_) => assert!(of("commit: ").contains(" of 20"), "{long}"),
        None => assert!(of("commit: ").starts_with("unknown"), "{long}"),
    }
    assert!(of("profile: ").contains(", for "), "{long}");
    assert!(!of("features: ").is_empty(), "{long}");
}
