//! What the program is built from: what is written down, and nothing else.

use std::path::{Path, PathBuf};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// A command that the README tells people to type built whatever the registry had that day: a crate
/// that was taken over last night came with it, as Cargo.lock was only asked for, not kept to.
#[test]
fn every_build_that_is_told_or_scripted_keeps_to_the_lock_file() {
    let scripts = [
        "README.md",
        "CONTRIBUTING.md",
        "test",
        "bench",
        "house",
        ".ci/run",
        "tests/browser/run",
        "fuzz/run",
    ];
    let builds = ["build", "run", "test", "clippy", "doc", "install", "deny"];
    let mut seen = 0;
    for script in scripts {
        // `bench` is Python and has its words apart.
        let text = read(script).replace("\", \"", " ");
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            for (at, _) in line.match_indices("cargo ") {
                let command = line[at..].split(['`', '|', ';', ']']).next().unwrap_or_default();
                let mut words = command.split_whitespace().skip(1);
                let builds = words.next().is_some_and(|word| builds.contains(&word));
                if builds {
                    seen += 1;
                    let keeps = command.split_whitespace().any(|word| word.contains("--locked"));
                    assert!(keeps, "{script}: {line}");
                }
            }
        }
    }
    assert!(seen > 10, "{seen} builds were seen");
}

#[test]
fn every_crate_comes_from_the_registry_under_a_checksum() {
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let text = read(lock);
        let packages: Vec<&str> = text.split("[[package]]").skip(1).collect();
        assert!(packages.len() > 50, "{lock}");
        for package in packages {
            let of = |key: &str| {
                let line = package.lines().find_map(|line| line.strip_prefix(key));
                line.and_then(|rest| rest.strip_prefix(" = \"")?.strip_suffix('"'))
            };
            let name = of("name").expect("a name");
            if is_own(name) {
                continue;
            }
            let registry = "registry+https://github.com/rust-lang/crates.io-index";
            assert_eq!(of("source"), Some(registry), "{lock}: {name}");
            assert!(of("checksum").is_some_and(|sum| sum.len() == 64), "{lock}: {name}");
        }
    }
}

/// Crates of this repository.
fn is_own(name: &str) -> bool {
    name == "brickyard" || name.starts_with("brickyard-")
}

/// A second version of a crate may stay for a reason, which goes when the reason does.
#[test]
fn what_is_let_pass_in_the_list_of_crates_is_still_there() {
    let lock = read("Cargo.lock");
    let text = read("deny.toml");
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("{ crate = \""));
    let named: Vec<&str> = named.filter_map(|line| line.split_once('"').map(|it| it.0)).collect();
    assert!(!named.is_empty());
    for one in named {
        let (name, version) = one.split_once('@').expect("name@version");
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "deny.toml names {one}, which is not built any more");
    }
}

/// The fuzzers have a lock file of their own, which a new dependency of the program leaves behind:
/// hours later `./test --long` could not build them.
#[test]
fn the_fuzzers_are_locked_to_what_the_program_is_built_from() {
    let (ours, theirs) = (read("Cargo.lock"), read("fuzz/Cargo.lock"));
    let folders = std::fs::read_dir("crates").expect("crates").map(|it| it.expect("one").path());
    let folders: Vec<PathBuf> = folders.chain([PathBuf::from(".")]).collect();
    assert!(folders.len() > 5, "{folders:?}");
    for folder in folders {
        let manifest = read(&folder.join("Cargo.toml").display().to_string());
        let package = manifest.split_once("[package]\nname = \"").expect("a name").1;
        let name = package.split('"').next().expect("a name");
        let (_, asked) = manifest.split_once("[dependencies]\n").expect("dependencies");
        let asked = asked.lines().take_while(|line| !line.starts_with('['));
        let asked = asked.filter_map(|line| line.strip_suffix(".workspace = true"));
        // Those of ours are called by the name of their library.
        let whole = |name: &str| match Path::new("crates").join(name).exists() {
            true => format!("brickyard-{name}"),
            false => name.to_owned(),
        };
        let mut asked: Vec<String> = asked.map(whole).collect();
        assert!(asked.len() > 2, "{name}: {asked:?}");
        let head = format!("name = \"{name}\"\n");
        let entry = theirs.split("[[package]]").find(|it| it.contains(&head));
        let entry = entry.expect("it is among theirs");
        let (_, listed) = entry.split_once("dependencies = [\n").expect("dependencies");
        let listed = listed.lines().take_while(|line| *line != "]");
        let name_of =
            |line: &str| line.trim().trim_matches([',', '"']).split(' ').next().map(str::to_owned);
        let mut listed: Vec<String> = listed.filter_map(name_of).collect();
        listed.sort_unstable();
        asked.sort_unstable();
        assert_eq!(
            asked, listed,
            "{name}: `cargo metadata` in fuzz/ brings its lock file up to date"
        );
    }
    for package in theirs.split("[[package]]").skip(1).map(str::trim) {
        let name = package.lines().next().expect("a name");
        let ours = ours.split("[[package]]").skip(1).map(str::trim);
        let same: Vec<&str> = ours.filter(|one| one.lines().next() == Some(name)).collect();
        let version = |text: &str| text.lines().nth(1).map(str::to_owned);
        let known = same.is_empty() || same.iter().any(|one| version(one) == version(package));
        assert!(known, "fuzz/Cargo.lock has another version: {package}");
    }
}
