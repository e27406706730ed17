//! The README's commands are typed as they stand there.

use std::path::Path;
use std::process::Command;

/// The lines of the README's `sh` blocks.
fn commands() -> Vec<String> {
    let text = std::fs::read_to_string("README.md").expect("the README is here");
    let blocks = text.split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    lines.map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// Each command runs, in order, in one folder. Only these are changed: the program is the one under
/// test, directories are ours, and no time is longer than it must be.
#[test]
fn every_command_in_the_readme_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(&path).expect("made");
        path.display().to_string()
    };
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for line in &commands {
        if line == "./test" {
            let text = std::fs::read_to_string("test").expect("./test is here");
            assert!(text.starts_with("#!/usr/bin/env bash"), "this test runs inside it");
            continue;
        }
        let arguments = line
            .strip_prefix("cargo run --locked --release -- ")
            .or_else(|| line.strip_prefix("brickyard "))
            .unwrap_or_else(|| panic!("neither brickyard nor ./test: {line}"));
        let words = arguments.split(' ').map(|word| match word {
            "/var/tmp" | "/srv/a" | "/srv/b" => ours(word.trim_start_matches('/')),
            "1h" => "20s".to_owned(),
            "stop=3s" => "stop=100ms".to_owned(),
            "stop=8h" => "stop=1s".to_owned(),
            word => word.to_owned(),
        });
        let mut words: Vec<String> = words.collect();
        if words[0] == "evaluate" {
            words.extend(["--space", "32MiB"].map(str::to_owned));
            if !words.iter().any(|word| word == "--budget") {
                words.extend(["--budget", "20s"].map(str::to_owned));
            }
        }
        if words[0] == "verify" {
            std::fs::write(Path::new(&ours("srv/a")).join("data"), [7; 5000]).expect("written");
        }
        if words[0] == "run" {
            words.push("file-size=8MiB".to_owned());
        }
        let output = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(&words)
            .current_dir(folder.path())
            .output()
            .expect("brickyard can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{said}");
        assert!(!output.stdout.is_empty() || words[0] == "report", "{line} prints something");
    }
    assert!(folder.path().join("brickyard-report.html").exists());
    assert!(folder.path().join("brickyard.db").exists());
    let left = Path::new(&ours("var/tmp")).read_dir().expect("readable").count();
    assert_eq!(left, 0, "nothing of ours is left");
}
