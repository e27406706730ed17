//! The commands as the help lists them: in groups, the one that a newcomer wants first.

use clap::Subcommand;

use super::Command;

/// Every command that is shown, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Measure", &["evaluate", "run", "plan", "verify", "receive", "send"]),
    ("Read what was measured", &["report", "compare", "size", "query", "serve", "import", "check"]),
    ("This machine", &["inspect", "doctor", "undo"]),
    ("Reference", &["list", "generate"]),
];

/// What the help looks like.
pub const TEMPLATE: &str = "\
{about-with-newline}
Examples:
  brickyard evaluate /srv                 three minutes, then one page of HTML
  brickyard run random-read --dir /srv block-size=4KiB queue-depth=1,32
  brickyard compare 1 2                   what became better or worse
  brickyard inspect                       what the server is made of

{usage-heading} {usage}{after-help}

Options:
{options}
";

/// The groups, a line for each command.
pub fn text() -> String {
    let all = Command::augment_subcommands(clap::Command::new("brickyard"));
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let widest = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &format!("{group}:\n");
        for name in *names {
            let about = all.find_subcommand(name).and_then(|it| it.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            text += &format!("  {name:<widest$}  {about}\n");
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_is_in_one_group_and_fits_a_line() {
        let all = Command::augment_subcommands(clap::Command::new("brickyard"));
        let shown = all.get_subcommands().filter(|it| !it.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        for line in text().lines().chain(TEMPLATE.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    /// Three empty lines stood before the groups, and none before the options.
    #[test]
    fn parts_of_the_help_are_one_line_apart() {
        let help = <super::super::Cli as clap::CommandFactory>::command().render_help().to_string();
        assert!(!help.contains("\n\n\n"), "{help}");
        let after = help.split("\n\n").map(|part| part.lines().next().unwrap_or_default());
        for heading in GROUPS.iter().map(|(group, _)| format!("{group}:")) {
            assert!(after.clone().any(|line| line == heading), "{heading} in {help}");
        }
        assert!(after.clone().any(|line| line == "Options:"), "{help}");
    }
}
