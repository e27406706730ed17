//! (pure) Scripts that carry the table of trials, load it with its types and draw the first plot:
//! what R and Python have in common.
//!
//! A script is a template with places for literals. Whatever came from outside (names of groups,
//! reasons, hosts) stands in the script as a quoted literal of ASCII and nowhere else; the table
//! itself is digits and commas, its words numbers of a list. So no text can be code or a comment.

use std::collections::BTreeMap;

use super::columns::{self, ColumnType, ColumnValue, TrialColumn};
use super::nature::Nature;
use super::{Input, words};
use base::value::Domain;
use experiment::knob;

mod plot;
pub mod python;
pub mod r;

/// How a language writes literals.
struct Language {
    /// The script, with `{{places}}`.
    template: &'static str,
    /// Text between quotes, in ASCII.
    text: fn(&str) -> String,
    /// A list of literals.
    list: fn(&[String]) -> String,
    /// Lines of the table.
    table: fn(&str) -> String,
    /// Names with their literals, in order.
    map: fn(&[(String, String)]) -> String,
    /// No value.
    none: &'static str,
}

/// The table of trials, as numbers.
struct Table<'a> {
    columns: Vec<TrialColumn<'a>>,
    /// Names of the columns that each of these languages takes without quotes.
    names: Vec<String>,
    /// Of each column of words: those that occur, in the order of their levels.
    levels: BTreeMap<usize, Vec<String>>,
    /// A line a trial.
    text: String,
}

impl<'a> Table<'a> {
    fn of(input: &'a Input<'_>) -> Table<'a> {
        let columns = columns::trial_columns(input);
        let trials = || input.records.iter().zip(&input.trials);
        let mut levels = BTreeMap::new();
        let mut numbers: BTreeMap<usize, BTreeMap<String, usize>> = BTreeMap::new();
        for (place, column) in columns.iter().enumerate() {
            if column.kind != ColumnType::Text {
                continue;
            }
            let cells = trials().filter_map(|(record, view)| column.cell(record, view));
            let mut found: Vec<String> = cells.map(|cell| cell.to_string()).collect();
            found.sort_unstable();
            found.dedup();
            found.sort_by_key(|level| rank(column, level));
            let numbered = found.iter().cloned().zip(1..).collect();
            numbers.insert(place, numbered);
            levels.insert(place, found);
        }
        let mut text = String::new();
        for (record, view) in trials() {
            for (place, column) in columns.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                let Some(cell) = column.cell(record, view) else { continue };
                match numbers.get(&place) {
                    Some(numbers) => {
                        let number = numbers.get(&cell.to_string());
                        text.extend(number.map(usize::to_string));
                    }
                    None => text.push_str(&digits(&cell)),
                }
            }
            text.push('\n');
        }
        Table { names: names(&columns), columns, levels, text }
    }

    /// The script's name of the column for which `is` holds.
    fn name(&self, is: impl Fn(&TrialColumn<'_>) -> bool) -> Option<&str> {
        self.columns.iter().position(is).map(|place| self.names[place].as_str())
    }

    /// Names of the columns of a kind.
    fn of_kind(&self, kind: ColumnType) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().zip(&self.names);
        columns.filter(move |(column, _)| column.kind == kind).map(|(_, name)| name.as_str())
    }
}

/// A number in the fewest digits that give it back, with an exponent where that is shorter.
fn digits(cell: &ColumnValue<'_>) -> String {
    match cell {
        ColumnValue::Integer(number) => number.to_string(),
        ColumnValue::Number(number) => format!("{number:?}"),
        ColumnValue::Switch(on) => u8::from(*on).to_string(),
        ColumnValue::Text(_) => String::new(),
    }
}

/// The place of a level: that of its knob's words, else by number, else by letter.
fn rank(column: &TrialColumn<'_>, level: &str) -> (usize, u64, String) {
    if let Some(Domain::OneOf(words)) = column.knob().and_then(knob::find).map(|it| it.domain) {
        let place = words.iter().position(|word| *word == level);
        return (place.unwrap_or(words.len()), 0, level.to_owned());
    }
    match level.parse::<u64>() {
        Ok(number) => (0, number, String::new()),
        Err(_) => (1, 0, level.to_lowercase()),
    }
}

/// Names that both languages take as they stand, no two the same.
fn names(columns: &[TrialColumn<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let usable = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = column.name.chars().map(usable).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, "figure_");
        }
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// The script of a campaign in a language.
fn render(input: &Input<'_>, language: &Language) -> String {
    let table = Table::of(input);
    let Language { text, list, map, .. } = language;
    let texts = |all: &[String]| list(&all.iter().map(|it| text(it)).collect::<Vec<_>>());
    let some = |names: &[&str]| list(&names.iter().map(|name| text(name)).collect::<Vec<_>>());
    let campaign = input.campaign;
    let told = [
        ("id", campaign.id.to_string()),
        ("plan", text(&campaign.plan)),
        ("host", text(&campaign.host)),
        ("engine", text(&campaign.engine)),
        ("kind", text(Nature::of_campaign(campaign).name())),
        ("started", text(&words::date(campaign.started_unix_ns))),
        // Of 64 bits, which R has no number for.
        ("seed", text(&campaign.seed.to_string())),
        ("brickyard", text(&campaign.version)),
        ("command", text(&words::command(campaign))),
    ];
    let told: Vec<(String, String)> =
        told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let units = table.columns.iter().zip(&table.names);
    let units = units.filter(|(column, _)| !column.unit.is_empty());
    let units: Vec<(String, String)> =
        units.map(|(column, name)| (name.clone(), text(column.unit))).collect();
    let levels = table.levels.iter();
    let levels: Vec<(String, String)> =
        levels.map(|(place, levels)| (table.names[*place].clone(), texts(levels))).collect();
    let integers: Vec<&str> = table.of_kind(ColumnType::Integer).collect();
    let switches: Vec<&str> = table.of_kind(ColumnType::Switch).collect();
    let mut places = BTreeMap::from([
        // Words of ours alone, as it stands in a comment.
        ("nature", Nature::of_campaign(campaign).lead()),
        ("campaign", map(&told)),
        ("picture", text(&format!("brickyard-campaign-{}.png", campaign.id))),
        ("columns", texts(&table.names)),
        ("units", map(&units)),
        ("levels", map(&levels)),
        ("integers", some(&integers)),
        ("switches", some(&switches)),
        ("table", (language.table)(&table.text)),
    ]);
    places.extend(plot::places(&plot::first(input, &table), language));
    places.extend(plot::of_bars(input, &table, language));
    filled(language.template, &places)
}

/// A template with its places filled, each once read: what fills one is not searched for others.
fn filled(template: &str, places: &BTreeMap<&str, String>) -> String {
    let mut text = String::with_capacity(template.len());
    for (place, part) in template.split("{{").enumerate() {
        match part.split_once("}}").filter(|_| place > 0) {
            Some((name, rest)) => {
                text.extend(places.get(name).map(String::as_str));
                text.push_str(rest);
            }
            None => text.push_str(part),
        }
    }
    text
}

/// Literals between two words, as many on a line as fit.
fn folded(open: &str, parts: &[String], close: &str) -> String {
    let mut text = open.to_owned();
    let mut column = 0;
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            text.push(',');
            if column + part.len() > 90 {
                text.push_str("\n  ");
                column = 0;
            } else {
                text.push(' ');
            }
        }
        text.push_str(part);
        column += part.len() + 2;
    }
    text + close
}

/// Text between double quotes, in ASCII; `escaped` writes what is no printable character of it.
fn quoted(text: &str, escaped: fn(char) -> String) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            ' '..='~' => literal.push(c),
            _ => literal.push_str(&escaped(c)),
        }
    }
    literal + "\""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::fixture::{self, Fixture};
    use experiment::measurement::Outcome;

    const HOSTILE: [&str; 8] = [
        "\"); system(\"touch owned\"); (\"",
        "'''\"\"\"\nimport os\nos.system('touch owned')\n#",
        "\\\"); quit(status = 3) #",
        "%s %d {0} {{table}} ${HOME} `touch owned`",
        "\0\u{1}\u{1b}[2J\r\n\t",
        "\u{202e}\u{2028}\u{fffd}\u{1f600}\u{e9}",
        "",
        "\\",
    ];

    /// A campaign whose every text is hostile.
    pub fn hostile() -> Fixture {
        let mut fixture = fixture::evaluated();
        let texts = || HOSTILE.iter().cycle().map(|text| (*text).to_owned());
        for (record, text) in fixture.records.iter_mut().zip(texts()) {
            record.trial.group = text.clone();
            if record.trial.number % 7 == 0 {
                record.outcome = Outcome::Failed(text);
            }
        }
        for (cell, text) in fixture.cells.iter_mut().zip(texts()) {
            cell.groups = vec![text];
        }
        let figure = base::stats::Estimate::bare(1.0);
        for (view, text) in fixture.trials.iter_mut().zip(texts()) {
            view.note(experiment::measurement::Note::new(&text, &text));
            view.set(&text, figure);
        }
        let campaign = &mut fixture.campaign;
        campaign.host = HOSTILE.concat();
        campaign.plan = HOSTILE[1].to_owned();
        campaign.version = HOSTILE[0].to_owned();
        campaign.argv = HOSTILE.map(str::to_owned).to_vec();
        fixture
    }

    /// A literal's text, read back by the rules that both languages share.
    fn read(literal: &str) -> (String, &str) {
        let mut text = String::new();
        let mut rest = literal.strip_prefix('"').expect("a quote");
        loop {
            let c = rest.chars().next().expect("an end");
            rest = &rest[c.len_utf8()..];
            match c {
                '"' => return (text, rest),
                '\\' => {
                    let kind = rest.chars().next().expect("what is escaped");
                    rest = &rest[1..];
                    let length = match kind {
                        'x' => 2,
                        'u' => 4,
                        'U' => 8,
                        other => {
                            text.push(other);
                            continue;
                        }
                    };
                    let number = u32::from_str_radix(&rest[..length], 16).expect("digits");
                    text.push(char::from_u32(number).expect("a character"));
                    rest = &rest[length..];
                }
                c => text.push(c),
            }
        }
    }

    proptest! {
        #[test]
        fn a_literal_gives_its_text_back_and_ends_where_it_ends(
            text in prop_oneof![any::<String>(), "[\"'\\\\\n\0u{}#`$%]{0,20}"],
            after in "[\"\\\\a-z]{0,4}",
        ) {
            for language in [&r::R, &python::PYTHON] {
                let literal = (language.text)(&text);
                prop_assert!(literal.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
                let program = format!("{literal}{after}");
                let (back, rest) = read(&program);
                // R has no such character.
                let told = match language.none {
                    "NA" => text.replace('\0', "\\0"),
                    _ => text.clone(),
                };
                prop_assert_eq!(back, told);
                prop_assert_eq!(rest, after.as_str());
            }
        }
    }

    #[test]
    fn every_place_is_filled_once_and_what_fills_it_fills_none() {
        let fixture = hostile();
        let input = fixture.input();
        for language in [&r::R, &python::PYTHON] {
            let text = render(&input, language);
            assert!(text.is_ascii() && !text.contains('\0') && text.ends_with('\n'));
            // The only place left is the one in a group's name, within its quotes.
            let left = text.matches("{{").count();
            assert_eq!(left, text.matches("{0} {{table}} $").count());
            let marks = language.template.matches("{{").count();
            assert!(marks > 10, "{marks}");
        }
        let places = BTreeMap::from([("a", "{{b}}".to_owned()), ("b", "no".to_owned())]);
        assert_eq!(filled("x{{a}}y{{b}}z{{", &places), "x{{b}}ynoz");
    }

    #[test]
    fn the_table_is_digits_and_commas_as_many_as_there_are_columns() {
        let fixture = hostile();
        let input = fixture.input();
        let table = Table::of(&input);
        let plain = |c: char| c.is_ascii_digit() || ",.-e\n".contains(c);
        assert!(table.text.chars().all(plain), "{:.2000}", table.text);
        assert_eq!(table.text.lines().count(), input.records.len());
        for line in table.text.lines() {
            assert_eq!(line.matches(',').count() + 1, table.columns.len());
        }
        let mut names = table.names.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.columns.len());
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(names.iter().all(|name| name.chars().all(usable) && !name.starts_with('_')));
    }

    #[test]
    fn levels_stand_in_the_order_of_their_knob_or_of_their_numbers() {
        let fixture = fixture::evaluated();
        let input = fixture.input();
        let table = Table::of(&input);
        let of = |name: &str| {
            let place = table.names.iter().position(|known| known == name).unwrap();
            table.levels[&place].clone()
        };
        assert_eq!(of("access"), ["read", "write", "random-read", "random-mix"]);
        assert_eq!(of("outcome"), ["done", "failed"]);
        let mut levels = ["as-is", "131072", "4096", "Zoo", "apple"];
        levels.sort_by_key(|level| rank(&table.columns[2], level));
        assert_eq!(levels, ["4096", "131072", "apple", "as-is", "Zoo"]);
    }

    /// For the tests that run the scripts, which say where.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes where it is told")]
    fn samples_for_other_programs_are_written_where_asked() {
        let Some(folder) = std::env::var_os("BRICKYARD_SCRIPTS") else { return };
        let folder = std::path::Path::new(&folder);
        std::fs::create_dir_all(folder).unwrap();
        let all = [("evaluated", fixture::evaluated()), ("hostile", hostile())];
        let all = all
            .into_iter()
            .chain([("names", fixture::names()), ("empty", fixture::campaign_of(Vec::new(), 0))]);
        for (name, fixture) in all {
            for format in ["r", "python", "parquet", "csv"] {
                let format = crate::report::find(format).unwrap();
                let path = folder.join(format!("{name}.{}", format.extension));
                std::fs::write(path, format.bytes(&fixture.input()).unwrap()).unwrap();
            }
        }
    }
}
