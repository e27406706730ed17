//! Checks what the compiler does not: the order of a crate's modules, their purity, the size of
//! files, that every file is compiled, and that nothing of a workplace is in the source. The order
//! of the crates is the compiler's business; what they are built from stands in their manifests.

use std::path::{Path, PathBuf};

const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;
/// What a module marked (pure) may not touch: files, sockets, processes, clocks.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "Instant::now",
    "SystemTime::now",
    "crate::sys",
    "host::sys",
    "rustix::",
    "libc::",
];
/// Where `unsafe` may stand.
const UNSAFE: &[&str] = &[
    "crates/engines/src/engine/",
    "crates/host/src/sys/",
    "crates/base/src/pattern/",
    "crates/base/src/hash/",
];
/// The map: crates in the order in which data flows, each with the folder of its source.
pub(super) const CRATES: &[(&str, &str)] = &[
    ("base", "crates/base/src"),
    ("facts", "crates/facts/src"),
    ("experiment", "crates/experiment/src"),
    ("importers", "crates/importers/src"),
    ("host", "crates/host/src"),
    ("engines", "crates/engines/src"),
    ("store", "crates/store/src"),
    ("findings", "crates/findings/src"),
    ("brickyard", "src"),
];
/// What a crate may be built from that gives no way to a machine.
const HARMLESS: &[&str] = &[
    "annotate-snippets",
    "base64",
    "blake3",
    "chrono",
    "crc-fast",
    "flate2",
    "hdrhistogram",
    "maud",
    "md-5",
    "parquet",
    "rand_xoshiro",
    "rayon",
    "serde",
    "roxmltree",
    "serde_json",
    "sha2",
    "statrs",
    "strum",
    "thiserror",
    "toml",
    "twox-hash",
];

#[test]
fn the_source_is_tidy() {
    let mut problems = Vec::new();
    for (_, folder) in CRATES {
        let lib = Path::new(folder).join("lib.rs");
        let modules = modules(folder);
        // What holds of all modules holds of their list, which may have code of its own.
        let pure = modules.iter().all(|(_, pure)| *pure);
        problems.extend(check(&lib, &read(&lib), &[], pure));
        for (rank, (name, pure)) in modules.iter().enumerate() {
            let later: Vec<&str> =
                modules[rank + 1..].iter().map(|(name, _)| name.as_str()).collect();
            for path in files_of(folder, name) {
                problems.extend(check(&path, &read(&path), &later, *pure));
                problems.extend(orphan(&path));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn every_source_file_belongs_to_a_module_of_the_map() {
    let folders = CRATES.iter().map(|(_, folder)| *folder);
    let mut listed: Vec<PathBuf> = folders
        .clone()
        .flat_map(|folder| {
            let modules = modules(folder);
            assert!(!modules.is_empty(), "{folder}/lib.rs lists no module");
            modules.into_iter().flat_map(move |(name, _)| files_of(folder, &name))
        })
        .collect();
    listed.extend(folders.map(|folder| Path::new(folder).join("lib.rs")));
    listed.push(PathBuf::from("src/main.rs"));
    let all = [rust_files(Path::new("src")), rust_files(Path::new("crates"))].concat();
    let lost: Vec<&PathBuf> =
        all.iter().filter(|path| !listed.contains(path) && !path.ends_with("build.rs")).collect();
    assert!(lost.is_empty(), "in no list of modules: {lost:?}");
}

/// A crate depends on none that comes later in the map; and one whose modules are all (pure) on
/// nothing that can touch a machine, so that its purity is more than a promise.
#[test]
fn crates_are_built_from_what_stands_above_them() {
    for (rank, (name, folder)) in CRATES.iter().enumerate() {
        let manifest = Path::new(folder).parent().expect("a folder").join("Cargo.toml");
        let manifest = read(&manifest);
        // Other ways to name what a crate is built from, which are not looked through.
        let other = ["[target.", "[dependencies.", "\ndefault ="].map(|way| manifest.contains(way));
        assert_eq!(other, [false; 3], "{name}: say it in `[dependencies]`, and for all");
        let wanted = dependencies(&manifest);
        assert!(!wanted.is_empty(), "{name} is built from something");
        let later = CRATES[rank..].iter().find(|(later, _)| wanted.iter().any(|it| it == later));
        assert!(later.is_none(), "{name} depends on {later:?}");
        if is_pure(folder) {
            let before = CRATES[..rank].iter().filter(|(_, folder)| is_pure(folder));
            let before = before.map(|(name, _)| *name);
            let may: Vec<&str> = before.chain(HARMLESS.iter().copied()).collect();
            let other = wanted.iter().find(|it| !may.contains(&it.as_str()));
            assert!(other.is_none(), "{name} is (pure) and depends on {other:?}");
        }
    }
}

/// Whether every module of a crate is (pure).
fn is_pure(folder: &str) -> bool {
    modules(folder).iter().all(|(name, pure)| *pure || name == "simulated")
}

/// The names in a manifest's `[dependencies]`, without what only tests switch on.
fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| !line.contains("optional = true") && !line.starts_with('#'));
    lines
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn the_tests_are_tidy_too() {
    let mut problems = Vec::new();
    for path in rust_files(Path::new("tests")) {
        problems.extend(check(&path, &read(&path), &[], false));
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Reads `mod plan; // (pure) factors and levels` out of a crate's list.
fn modules(folder: &str) -> Vec<(String, bool)> {
    let lib = read(&Path::new(folder).join("lib.rs"));
    // Its crate is one module, whose parts need no map.
    let map = !folder.ends_with("store/src");
    let module = |line: &str| {
        let line = line.trim_start_matches("pub ").strip_prefix("mod ")?;
        let (name, about) = line.split_once(';')?;
        let is_told = about.trim_start().starts_with("//") || !map;
        assert!(is_told, "mod {name}: say what it is");
        Some((name.to_owned(), about.contains("(pure)")))
    };
    lib.lines().filter_map(module).collect()
}

fn files_of(folder: &str, module: &str) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from(format!("{folder}/{module}.rs"))];
    files.extend(rust_files(&PathBuf::from(format!("{folder}/{module}"))));
    files
}

pub(super) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A source file that no `mod` line names is compiled by nobody.
fn orphan(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    if folder.ends_with("src") {
        return None;
    }
    let parent = folder.with_extension("rs");
    let child = path.file_stem()?.to_str()?;
    let text = read(&parent);
    let named = text.lines().any(|line| {
        let line = line.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
        line.trim_start_matches("pub ") == format!("mod {child};")
    });
    (!named).then(|| format!("{}: no `mod {child};` in {}", path.display(), parent.display()))
}

fn check(path: &Path, text: &str, later: &[&str], pure: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let name = path.display().to_string();
    if text.lines().count() > LINES_MAX {
        problems.push(format!("{name}: longer than {LINES_MAX} lines"));
    }
    if !text.starts_with("//!") {
        problems.push(format!("{name}: opens without `//!`"));
    }
    // Files of tests: `tests.rs`, `tests/`, and `testing.rs`, compiled for tests alone.
    let of_tests = ["tests", "testing.rs", "/simulated"].iter().any(|it| name.contains(it));
    let for_tests = for_tests(text);
    for (number, line) in text.lines().enumerate() {
        let at = format!("{name}:{}", number + 1);
        let in_tests = of_tests || for_tests[number];
        if line.chars().count() > COLUMNS_MAX {
            problems.push(format!("{at}: longer than {COLUMNS_MAX} columns"));
        }
        if line.trim_start().starts_with("//") {
            continue;
        }
        if has_word(line, "unsafe") && !UNSAFE.iter().any(|at| name.starts_with(at)) && !in_tests {
            problems.push(format!("{at}: `unsafe` outside {}", UNSAFE.join(", ")));
        }
        if in_tests {
            continue;
        }
        for look in LOOK_UPS.iter().filter(|look| line.contains(*look)) {
            problems.push(format!("{at}: `{look}...` is known by name alone: use the constant"));
        }
        for module in later.iter().filter(|module| has_word(line, &format!("crate::{module}"))) {
            problems.push(format!("{at}: uses `{module}`, which comes later in lib.rs"));
        }
        for banned in IMPURE.iter().filter(|banned| pure && line.contains(*banned)) {
            problems.push(format!("{at}: `{banned}` in a module marked (pure)"));
        }
    }
    problems
}

/// Of each line, whether it is compiled for tests alone: what stands behind an attribute that says
/// so, up to its own end. All that followed the first of them in a file was taken for tests once,
/// and of 48 files nobody looked at 10 000 lines.
fn for_tests(text: &str) -> Vec<bool> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    // How deep the item stands, and whether it is one in braces, once that is known.
    let mut item: Option<(usize, Option<bool>)> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        let asks = trimmed.starts_with("#[cfg(test)]") || trimmed.starts_with("#[cfg(any(test,");
        if item.is_none() && asks {
            item = Some((depth(line), None));
        }
        found.push(item.is_some());
        let Some((at, braces)) = &mut item else { continue };
        if braces.is_none() && !trimmed.starts_with(['#', '/']) && !trimmed.is_empty() {
            *braces = Some(trimmed.ends_with('{'));
        }
        let closed = depth(line) == *at && trimmed.starts_with('}');
        let over = match braces {
            None => false,
            Some(true) => closed,
            Some(false) => {
                trimmed.ends_with(';') || (depth(line) == *at && trimmed.ends_with([',', '}']))
            }
        };
        if over {
            item = None;
        }
    }
    found
}

#[test]
fn only_what_is_for_tests_is_taken_for_it() {
    let text = [
        "#[cfg(test)]",
        "use a::b;",
        "fn f() {",
        "    #[cfg(test)]",
        "    hook(",
        "        1,",
        "    );",
        "    g();",
        "}",
        "#[cfg(test)]",
        "#[expect(x)]",
        "mod tests {",
        "    fn h() {",
        "    }",
        "}",
        "fn i() {}",
    ]
    .join("\n");
    let kept: Vec<&str> =
        text.lines().zip(for_tests(&text)).filter(|(_, it)| !it).map(|(line, _)| line).collect();
    assert_eq!(kept, ["fn f() {", "    g();", "}", "fn i() {}"]);
}

/// A setting that is looked up by the name in a literal: a misspelt one is silently off, and
/// nothing says what it holds.
const LOOK_UPS: &[&str] = &[".named(\"", ".set_named(\"", ".is_moot(\"", "knob::find(\""];

fn has_word(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[at + word.len()..].starts_with(inside) && !line[..at].ends_with(inside)
    })
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page that the book does not list is read by nobody.
#[test]
fn the_book_lists_every_page() {
    let summary = read(Path::new("docs/SUMMARY.md"));
    for part in ["guides", "sources", "concepts", "reference", "internals"] {
        let pages = Path::new("docs").join(part).read_dir().expect("a part of the book");
        for page in pages {
            let name = page.expect("readable").file_name().to_string_lossy().into_owned();
            let listed = !name.ends_with(".md") || summary.contains(&format!("({part}/{name})"));
            assert!(listed, "docs/SUMMARY.md does not list {part}/{name}");
        }
    }
}

/// The rules themselves: each is broken once.
#[test]
fn sees_what_it_is_there_to_see() {
    let text = "//! x\nuse crate::engine::Sim;\nuse crate::engine_x::Y;\nlet t = Instant::now();\n\
                std::fs::write(p);\nunsafe { f() }\n// crate::engine in a comment\n\
                settings.named(\"stop\");\nsettings.named(name);\n";
    let problems = check(Path::new("src/plan.rs"), text, &["engine"], true);
    assert_eq!(problems.len(), 5, "{problems:?}");
    let long = format!("//! x\n{}", "a\n".repeat(LINES_MAX));
    assert_eq!(check(Path::new("src/x.rs"), &long, &[], false).len(), 1);
    assert_eq!(check(Path::new("src/x.rs"), &"é".repeat(101), &[], false).len(), 2);
    assert!(
        check(Path::new("crates/host/src/sys/x.rs"), "//! x\nunsafe {}", &[], false).is_empty()
    );
}
