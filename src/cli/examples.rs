//! What to type, in the help of each command: the first thing that it shows.

/// What is typed, and what for; nothing where the line says it itself.
type Example = (&'static str, &'static str);

/// The examples of each command, by its name behind `brickyard`. Those of `run` and `plan` are
/// loads that there are, with knobs that they have: a test reads them all.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "evaluate",
        &[
            ("brickyard evaluate /srv", "three minutes, then one page of HTML"),
            ("brickyard evaluate /srv/a /srv/b", "each alone, then both at once"),
            ("brickyard evaluate . --budget 15m -o server.html", ""),
            ("brickyard evaluate --engine sim", "a simulated server: touches nothing"),
        ],
    ),
    (
        "run",
        &[
            ("brickyard run random-read --dir /srv block-size=4KiB queue-depth=1,32", ""),
            ("brickyard run streams --dir /srv -o streams.html", "a plan that ships"),
            ("brickyard run my-plan.toml --dry-run", "what it would change"),
            ("brickyard run my-plan.toml --resume", "goes on where it was stopped"),
            ("brickyard run integrity --dir /srv stop=8h", "does every byte come back?"),
        ],
    ),
    (
        "plan",
        &[
            ("brickyard plan", "the plans that ship"),
            ("brickyard plan streams --dir /srv", "its trials, time and space"),
            ("brickyard plan random-read streams=1,8 queue-depth=1,32", ""),
        ],
    ),
    (
        "inspect",
        &[
            ("brickyard inspect", "what this server is made of"),
            ("brickyard inspect --json -o server.json", "the same for programs"),
            ("brickyard inspect --record server.txt.gz", "to send to somebody"),
            ("brickyard inspect --root server.txt.gz", "what somebody has sent"),
        ],
    ),
    (
        "verify",
        &[
            ("brickyard verify /srv/archive --passes 3", "reads all of it three times"),
            ("brickyard verify --checksums SHA256SUMS", "against a list"),
            ("brickyard verify /dev/sdb --hours 8", "a whole disk; only reads"),
        ],
    ),
    (
        "receive",
        &[
            ("brickyard receive", "for this machine alone"),
            ("brickyard receive --listen 10.0.0.2", "for others, who need its token"),
        ],
    ),
    (
        "send",
        &[
            ("brickyard send 10.0.0.2 network", "a plan that ships"),
            ("brickyard send 10.0.0.2 tcp-stream streams=1,4 stop=10s -o net.html", ""),
        ],
    ),
    (
        "report",
        &[
            ("brickyard report", "the newest campaign as a page"),
            ("brickyard report 3 --format text", "tables for the terminal"),
            ("brickyard report --format csv -o trials.csv", ""),
            ("brickyard report --format python -o trials.py", "draws the first chart"),
        ],
    ),
    (
        "compare",
        &[
            ("brickyard compare 1 2", "what became worse or better"),
            ("brickyard compare before.db after.db --all", "also what is the same"),
            ("brickyard compare 1 2 --figure latency_ns_p99 --threshold 10%", ""),
            ("brickyard compare 1 2 --format html -o compared.html", ""),
            ("brickyard compare 3 4 5 6 --by label,disk-model", "server, or disks?"),
        ],
    ),
    (
        "size",
        &[
            ("brickyard size --throughput 40Gb/s", "from the newest campaign"),
            ("brickyard size 2 --throughput 5GB/s --capacity 200TB", ""),
            ("brickyard size --throughput 5GB/s --cost --disk-price 300USD", ""),
        ],
    ),
    (
        "query",
        &[
            ("brickyard query", "the views, their columns, an example"),
            ("brickyard query 'SELECT trial, throughput FROM trials'", ""),
            ("brickyard query 'SELECT * FROM trials' --format csv -o trials.csv", ""),
        ],
    ),
    (
        "check",
        &[
            ("brickyard check", "the store that lies here"),
            ("brickyard check --store copy.db", "another, as a copy of it"),
        ],
    ),
    (
        "serve",
        &[
            ("brickyard serve", "then open what it says in a browser"),
            ("brickyard serve --listen 127.0.0.1:8080 --store server.db", ""),
        ],
    ),
    (
        "import",
        &[
            ("brickyard import fio.json iozone.txt", "one campaign of both"),
            ("brickyard import --published --list", "tables that ship"),
            ("brickyard import --published sara-2010", ""),
        ],
    ),
    (
        "doctor",
        &[
            ("brickyard doctor", "what is missing, and how to get it"),
            ("brickyard doctor --store server.db", "also what its last run lacked"),
        ],
    ),
    (
        "undo",
        &[
            ("brickyard undo --dry-run", "what would be put back"),
            ("brickyard undo", "puts it back"),
        ],
    ),
    (
        "list",
        &[
            ("brickyard list knobs", "all that can be varied, in groups"),
            ("brickyard list knobs network", "those of a group, or with a word"),
            ("brickyard list campaigns", "what the store holds"),
        ],
    ),
    (
        "generate",
        &[
            ("brickyard generate completions bash -o brickyard.bash", ""),
            ("brickyard generate man -o /usr/local/share/man/man1", ""),
        ],
    ),
    ("generate man", &[("brickyard generate man -o /usr/local/share/man/man1", "")]),
    (
        "generate completions",
        &[
            ("brickyard generate completions bash", "to standard output"),
            ("brickyard generate completions zsh -o _brickyard", ""),
        ],
    ),
    ("generate sources", &[("brickyard generate sources -o tree --files 500", "")]),
    ("generate netcdf", &[("brickyard generate netcdf -o arrays --files 4 --file-size 1GiB", "")]),
    (
        "generate reference",
        &[
            ("brickyard generate reference", "writes docs/reference"),
            ("brickyard generate reference --check", "is what is there current?"),
        ],
    ),
];

/// How the help of a command looks: what it is, examples, then what it takes.
pub fn template(command: &str) -> String {
    let found = EXAMPLES.iter().find(|(name, _)| *name == command);
    let examples = found.map_or(&[][..], |(_, examples)| examples);
    let told = examples.iter().filter(|(_, about)| !about.is_empty());
    let typed = told.map(|(line, _)| line.len()).max().unwrap_or(0);
    let lines: Vec<String> = examples
        .iter()
        .map(|(line, about)| match about.is_empty() {
            true => format!("  {line}"),
            false => format!("  {line:<typed$}  {about}"),
        })
        .collect();
    let examples = lines.join("\n");
    format!(
        "{{about-with-newline}}\nExamples:\n{examples}\n\n{{usage-heading}} {{usage}}\n\n\
         {{all-args}}"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;
    use experiment::{knob, plan, workload};

    /// No line of help is wider.
    const WIDTH: usize = 80;

    /// All commands that are shown, by their names behind `brickyard`.
    fn commands() -> Vec<(String, clap::Command)> {
        fn walk(at: &clap::Command, path: &str, all: &mut Vec<(String, clap::Command)>) {
            let subs = at.get_subcommands();
            for sub in subs.filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
                let path = format!("{path} {}", sub.get_name()).trim().to_owned();
                walk(sub, &path, all);
                all.push((path, sub.clone()));
            }
        }
        let mut all = Vec::new();
        let mut root = Cli::command();
        root.build();
        walk(&root, "", &mut all);
        all
    }

    /// `brickyard help run` began with a screen of options, and had no line that could be typed.
    #[test]
    fn the_help_of_every_command_begins_with_examples_that_parse() {
        let all = commands();
        assert!(all.len() >= 22, "{}", all.len());
        let named: BTreeSet<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        let known: BTreeSet<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, known, "each command has its examples, and nothing else has");
        for (name, mut command) in all {
            let (_, examples) = EXAMPLES.iter().find(|(of, _)| *of == name).unwrap();
            assert!(!examples.is_empty(), "{name}");
            let help = command.render_long_help().to_string();
            let at = |part: &str| help.find(part).unwrap_or_else(|| panic!("{name}: {help}"));
            assert!(at("Examples:\n  brickyard ") < at("Usage: "), "{help}");
            assert!(help.contains("Options:"), "{help}");
            for (line, about) in *examples {
                assert!(help.contains(&format!("  {line}")) && help.contains(about), "{help}");
                let words = shlex::split(line).unwrap();
                assert!(words.join(" ").starts_with(&format!("brickyard {name}")), "{line}");
                let parsed = Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
            let lines = template(&name);
            let lines = lines.lines().filter(|line| line.starts_with("  "));
            lines.for_each(|line| assert!(line.len() <= WIDTH, "{line}"));
        }
    }

    #[test]
    fn examples_name_loads_and_knobs_that_there_are() {
        let loads = |name: &str| {
            let ships = plan::builtin::find(name).is_some() || workload::find(name).is_some();
            assert!(ships || name.ends_with(".toml"), "{name}");
        };
        for (name, place) in [("run", 2), ("plan", 2), ("send", 3)] {
            let (_, examples) = EXAMPLES.iter().find(|(of, _)| *of == name).unwrap();
            for (line, _) in *examples {
                let words = shlex::split(line).unwrap();
                words.get(place).into_iter().for_each(|load| loads(load));
                for (knob, level) in words.iter().filter_map(|word| word.split_once('=')) {
                    let knob = knob::find(knob).unwrap_or_else(|| panic!("{line}: {knob}"));
                    assert!(knob.domain.levels(level).is_ok(), "{line}");
                }
            }
        }
    }
}
