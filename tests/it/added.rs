//! What adding one thing takes: a stub of each kind is put into a copy of the tree, as CONTRIBUTING
//! says it, and the copy is built. A kind whose recipe has grown beyond three files fails.
//!
//! Building takes minutes, so it is of the long form; that the recipes name the files that are
//! touched, and that all of these are there, is looked at each time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// No kind may take more files.
const FILES_MAX: usize = 3;
/// Of the kind of which there are most.
const IMPORTER_FILES_MAX: usize = 2;

/// One kind of thing, and how a stub of it is added.
struct Addition {
    /// As CONTRIBUTING begins its recipe.
    recipe: &'static str,
    /// New files, with their texts.
    new: &'static [(&'static str, &'static str)],
    /// Files that are there, the line after which something is put, and what.
    changed: &'static [(&'static str, &'static str, &'static str)],
    /// What the program then lists it by, and what stands in that.
    shows: (&'static [&'static str], &'static str),
}

const ADDITIONS: &[Addition] = &[
    Addition {
        recipe: "A workload",
        new: &[],
        changed: &[
            (
                "crates/experiment/src/workload/presets.rs",
                "use super::Workload;",
                "pub const STUB: Workload = Workload {\n    name: \"stub-load\",\n    about: \
                 \"A stub\",\n    engines: &[\"file\"],\n    settings: &[(\"access\", \
                 \"read\")],\n};\n",
            ),
            ("crates/experiment/src/workload.rs", "    &presets::REPLAY,", "    &presets::STUB,"),
        ],
        shows: (&["list", "workloads"], "stub-load"),
    },
    Addition {
        recipe: "A knob",
        new: &[],
        changed: &[
            (
                "crates/experiment/src/knob/job.rs",
                "use base::value::{Domain, Stop};",
                "pub const STUB: Knob<Count> =\n    of_job(\"stub-knob\", \"\", Domain::Count { \
                 min: 1, max: 9 }, \"1\", \"A stub\");",
            ),
            (
                "crates/experiment/src/knob.rs",
                "    &job::POLL.listed(),",
                "    &job::STUB.listed(),",
            ),
            (
                "crates/experiment/src/knob/engines.rs",
                "const BLOCKS: Family = knobs! {",
                "    STUB,",
            ),
        ],
        shows: (&["list", "knobs"], "stub-knob"),
    },
    Addition {
        recipe: "An importer",
        new: &[(
            "crates/importers/src/stub.rs",
            "//! (pure) A stub.\n\nuse super::Importer;\n\n/// A stub.\npub const STUB: Importer = \
             Importer {\n    name: \"stub-tool\",\n    about: \"A stub\",\n    forms: &[],\n    \
             words: &[],\n    mark: \"line of its\",\n    parse: |_| Err(\"a \
             stub\".to_owned()),\n    knows: |_| false,\n};\n",
        )],
        changed: &[
            (
                "crates/importers/src/lib.rs",
                "pub mod pgbench; //  (pure) its text",
                "pub mod stub; //     (pure) a stub",
            ),
            ("crates/importers/src/lib.rs", "    &pgbench::PGBENCH,", "    &stub::STUB,"),
        ],
        shows: (&["list", "importers"], "stub-tool"),
    },
    Addition {
        recipe: "An engine",
        new: &[(
            "crates/engines/src/engine/stub.rs",
            "//! A stub.\n\nuse super::{Context, Engine, Error, Serve};\nuse \
             experiment::knob::{EngineKind, Settings, engines};\nuse \
             experiment::measurement::Measurement;\nuse experiment::plan::Trial;\nuse \
             host::sys;\n\npub struct StubEngine;\n\nimpl Engine for StubEngine {\n    fn \
             kind(&self) -> &'static EngineKind {\n        &engines::STUB\n    }\n\n    fn \
             check(&self, _: &Settings) -> Result<(), sys::Error> {\n        Ok(())\n    \
             }\n\n    fn worker(&self) -> Option<Serve> {\n        None\n    }\n\n    \
             fn run(&self, _: &Trial, _: &mut Context<'_>) -> Result<Measurement, Error> {\n    \
             \x20   Err(Error::Unsupported(\"a stub\".to_owned()))\n    }\n}\n",
        )],
        changed: &[
            ("crates/engines/src/engine.rs", "mod sim;", "mod stub;"),
            ("crates/engines/src/engine.rs", "    &sim::SimEngine,", "    &stub::StubEngine,"),
            ("crates/experiment/src/knob/engines.rs", "    &SIM,", "    &STUB,"),
            (
                "crates/experiment/src/knob/engines.rs",
                "use super::engine::{Does, EngineKind, Family, FileSource, Keeps};",
                "\n/// A stub.\npub const STUB: EngineKind =\n    EngineKind { name: \
                 \"stub-engine\", about: \"A stub\", knobs: &[LOADS], ..PLAIN };",
            ),
        ],
        shows: (&["list", "engines"], "stub-engine"),
    },
    Addition {
        recipe: "A counter source",
        new: &[(
            "crates/host/src/counters/stub.rs",
            "//! A stub.\n\nuse super::{CounterSource, INTERVAL_NS};\nuse \
             facts::counters::table::Field;\n\npub const STUB: CounterSource = CounterSource \
             {\n    name: \"stub-source\",\n    about: \"A stub\",\n    fields: \
             &[Field::counter(\"stubs\")],\n    every_ns: INTERVAL_NS,\n    \
             born_at_zero: false,\n    open: |_, _| None,\n};\n",
        )],
        changed: &[
            ("crates/host/src/counters.rs", "mod throttling;", "mod stub;"),
            ("crates/host/src/counters.rs", "    throttling::THROTTLING,", "    stub::STUB,"),
        ],
        shows: (&["list", "counters"], "stub-source"),
    },
    Addition {
        recipe: "An inventory subsystem",
        new: &[(
            "crates/host/src/inventory/server/stub.rs",
            "//! A stub.\n\nuse super::{Read, Subsystem};\n\npub const STUB: Subsystem = Subsystem \
             {\n    name: \"stub-subsystem\",\n    about: \"A stub\",\n    read: \
             Read::Part {\n        \
             title: \"Stubs\",\n        facts: &[(\"stubs\", \"How many\")],\n        identity: \
             \"\",\n        moving: &[],\n        private: &[],\n        things: |_| \
             Vec::new(),\n    },\n};\n",
        )],
        changed: &[
            ("crates/host/src/inventory/server.rs", "pub mod smbios;", "mod stub;"),
            (
                "crates/host/src/inventory/server.rs",
                "    fibre_channel::FIBRE_CHANNEL,",
                "    stub::STUB,",
            ),
        ],
        shows: (&["list", "subsystems"], "stub-subsystem"),
    },
    Addition {
        recipe: "A question",
        new: &[(
            "crates/findings/src/analysis/stub.rs",
            "//! (pure) A stub.\n\nuse super::Question;\n\npub const QUESTION: Question =\n    \
             Question { name: \"stub-question\", about: \"A stub\", answer: |_| Vec::new() };\n",
        )],
        changed: &[
            ("crates/findings/src/analysis.rs", "mod steadiness;", "mod stub;"),
            ("crates/findings/src/analysis.rs", "    steadiness::QUESTION,", "    stub::QUESTION,"),
        ],
        shows: (&["list", "questions"], "stub-question"),
    },
    Addition {
        recipe: "A report format",
        new: &[(
            "crates/findings/src/report/stub.rs",
            "//! (pure) A stub.\n\nuse super::Input;\n\npub fn render(_: &Input<'_>) -> \
             Result<String, serde_json::Error> {\n    Ok(\"stub\\n\".to_owned())\n}\n\npub fn \
             is_ours(start: &[u8], _: &[u8]) -> bool {\n    start.starts_with(b\"stub\")\n}\n",
        )],
        changed: &[
            ("crates/findings/src/report.rs", "mod script;", "mod stub;"),
            (
                "crates/findings/src/report.rs",
                "pub const FORMATS: &[Format] = &[",
                "    Format {\n        name: \"stub-format\",\n        about: \"A stub\",\n        \
                 extension: \"stub\",\n        render: Render::Text(stub::render),\n        noun: \
                 \"stub of brickyard\",\n        mark: stub::is_ours,\n    },",
            ),
        ],
        shows: (&["list", "formats"], "stub-format"),
    },
    Addition {
        recipe: "A published set",
        new: &[(
            "published/stub-set.toml",
            "name = \"stub-set\"\nabout = \"A stub\"\ntitle = \"A stub\"\nby = \"A, 2000\"\ndate = \
             \"2000\"\nhost = \"stub\"\n\n[[table]]\nname = \"t\"\nplace = \"table 1\"\nsettings = \
             [\"streams\"]\nfigures = [\"elapsed_s in s\"]\nrows = [\n  [\"1\", \"2\"],\n]\n",
        )],
        changed: &[(
            "crates/experiment/src/published.rs",
            "const FILES: &[&str] = &[",
            "    include_str!(\"../../../published/stub-set.toml\"),",
        )],
        shows: (&["import", "--published", "--list"], "stub-set"),
    },
    Addition {
        recipe: "A command",
        new: &[(
            "src/cli/stub.rs",
            "//! `brickyard stub-command`: a stub.\n\nuse std::process::ExitCode;\n\nuse \
             super::talk;\n\n/// A stub.\npub fn run() -> anyhow::Result<ExitCode> {\n    \
             talk::data(\"a stub was run\\n\")?;\n    Ok(ExitCode::SUCCESS)\n}\n",
        )],
        changed: &[
            ("src/cli.rs", "mod talk;", "mod stub;"),
            ("src/cli.rs", "    Undo(undo::UndoArguments),", "    /// A stub\n    StubCommand,"),
            (
                "src/cli.rs",
                "        Command::Undo(arguments) => undo::run(arguments, common),",
                "        Command::StubCommand => stub::run(),",
            ),
        ],
        shows: (&["stub-command"], "a stub was run"),
    },
];

impl Addition {
    /// Each file that it touches, once.
    fn touched(&self) -> Vec<&'static str> {
        let new = self.new.iter().map(|(path, _)| *path);
        let mut all: Vec<&str> = new.chain(self.changed.iter().map(|(path, ..)| *path)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The paragraph of CONTRIBUTING that says how to add one.
fn recipe<'a>(text: &'a str, name: &str) -> &'a str {
    let begins = format!("**{name}**");
    let found = text.split("\n\n").find(|part| part.starts_with(&begins));
    found.unwrap_or_else(|| panic!("CONTRIBUTING does not say how to add {name}"))
}

#[test]
fn nothing_takes_more_than_three_files_and_the_recipes_name_them() {
    let contributing = read("CONTRIBUTING.md");
    for addition in ADDITIONS {
        let (name, touched) = (addition.recipe, addition.touched());
        let most = if name == "An importer" { IMPORTER_FILES_MAX } else { FILES_MAX };
        assert!(touched.len() <= most, "{name} takes {touched:?}");
        let told = recipe(&contributing, name);
        for (path, after, _) in addition.changed {
            // A family's file is one of several in its folder.
            let folder = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
            let is_told = told.contains(path) || told.contains(&format!("`{folder}/`"));
            assert!(is_told, "the recipe of {name} does not name {path}:\n{told}");
            assert!(read(path).lines().any(|line| line == *after), "{path} has no line {after:?}");
        }
        for (path, _) in addition.new {
            let folder = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
            assert!(told.contains(folder), "the recipe of {name} does not name {folder}:\n{told}");
        }
    }
}

/// CONTRIBUTING said "one file", and adding an engine touched twenty.
#[test]
fn a_stub_of_every_kind_builds_and_is_listed() {
    if std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1") {
        build_and_look();
    }
}

fn build_and_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("tree");
    let listed = Command::new("git").args(["ls-files", "-z"]).output().expect("git");
    let names = String::from_utf8(listed.stdout).expect("names");
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let to = copy.join(name);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        std::fs::copy(name, &to).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for addition in ADDITIONS {
        for (path, after, more) in addition.changed {
            let text = texts.entry(path).or_insert_with(|| read(copy.join(path)));
            *text = text.replacen(&format!("\n{after}\n"), &format!("\n{after}\n{more}\n"), 1);
            assert!(text.contains(more), "{path}: nothing came after {after:?}");
        }
        texts.extend(addition.new.iter().map(|(path, text)| (*path, (*text).to_owned())));
    }
    for (path, text) in texts {
        std::fs::write(copy.join(path), text).expect("written");
    }
    let target = folder.path().join("target");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--quiet"])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", &target)
        .status();
    assert!(built.expect("cargo").success(), "a tree with a stub of every kind does not build");
    for Addition { recipe, shows: (arguments, shown), .. } in ADDITIONS {
        let output = Command::new(target.join("debug/brickyard"))
            .args(*arguments)
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains(shown), "{recipe}: {said}");
    }
}
