//! (pure) What a query gave: as a table for people, as one document, as lines of CSV; and what can
//! be asked.

use serde_json::{Value as Json, json};

pub use super::lines::plain;
use super::nature::Nature;
use super::text::grid::{Grid, Side};
use super::text::{WIDTH, wrapped};
use super::{csv, words};
use experiment::query::{Answer, Relation, RelationKind, SqlValue, typed};

/// One way to print an answer.
pub struct AnswerFormat {
    /// As typed after `--format`.
    pub name: &'static str,
    /// Prints it, whole.
    pub render: fn(&Answer) -> Result<String, serde_json::Error>,
}

/// The first is the default.
pub const FORMATS: &[AnswerFormat] = &[
    AnswerFormat { name: "text", render: text },
    AnswerFormat { name: "json", render: json },
    AnswerFormat { name: "csv", render: comma_separated },
];

/// A cell of a table shows no more characters than this; that of a single row, more.
pub const CELL_MAX: usize = 60;
const LONE_CELL_MAX: usize = 1000;

/// Which campaigns were not measured, of those that the answer may be of: those of its column
/// `campaign`, all of the store's where it has none.
fn not_measured(answer: &Answer) -> Vec<(i64, Nature)> {
    let column = answer.columns.iter().position(|name| name == "campaign");
    let is_of = |campaign: i64| {
        column.is_none_or(|at| answer.rows.iter().any(|row| row[at] == SqlValue::Integer(campaign)))
    };
    let all = answer
        .ran
        .iter()
        .map(|ran| (ran.campaign, Nature::from_engines(&ran.engines, ran.imported)));
    all.filter(|(campaign, nature)| *nature != Nature::Measured && is_of(*campaign)).collect()
}

/// What the first line says of them: `SIMULATED, no server was measured: campaign 1`; nothing where
/// all were measured.
pub fn nature(answer: &Answer) -> Vec<String> {
    const NAMED_MAX: usize = 8;
    let all = not_measured(answer);
    let of = |nature: Nature| all.iter().filter(move |(_, it)| *it == nature);
    let told = [Nature::Simulated, Nature::Published, Nature::Imported].into_iter();
    told.filter(|nature| of(*nature).next().is_some())
        .map(|nature| {
            let numbers: Vec<String> = of(nature).map(|(number, _)| number.to_string()).collect();
            let which = match numbers.as_slice() {
                [one] => format!("campaign {one}"),
                some if some.len() <= NAMED_MAX => format!("campaigns {}", some.join(", ")),
                many => format!("{} campaigns", many.len()),
            };
            format!("{}: {which}", nature.told())
        })
        .collect()
}

/// The table, below what whoever copies it must see.
fn text(answer: &Answer) -> Result<String, serde_json::Error> {
    let first: String = nature(answer).iter().map(|line| format!("{line}\n")).collect();
    Ok(first + &table(answer)?)
}

/// Columns for people. What is wider than a page loses the columns that are the same in all rows,
/// which stand below once; a single row stands upright then.
fn table(answer: &Answer) -> Result<String, serde_json::Error> {
    let names: Vec<String> =
        answer.columns.iter().map(|name| words::clipped(&plain(name), CELL_MAX)).collect();
    if answer.rows.is_empty() {
        return Ok(format!("  no rows\n{}", wrapped("  columns: ", &names.join(", "))));
    }
    let all: Vec<usize> = (0..names.len()).collect();
    let whole = grid(answer, &names, &all);
    let too_wide = |text: &str| text.lines().any(|line| line.chars().count() > WIDTH);
    if !too_wide(&whole) {
        return Ok(whole);
    }
    if let [row] = answer.rows.as_slice() {
        return Ok(upright(row, &names));
    }
    // A short name says nothing that the whole one beside it does not say.
    let of = |column: usize| answer.rows.iter().map(move |row| &row[column]);
    let repeats = |short: &usize| {
        let lead = format!("{}_", names[*short]);
        let whole = |other: usize| names[other].starts_with(&lead) && of(*short).eq(of(other));
        (0..names.len()).any(whole)
    };
    let all = all.into_iter().filter(|column| !repeats(column));
    let same =
        |column: &usize| answer.rows.iter().all(|row| row[*column] == answer.rows[0][*column]);
    let (alike, differing): (Vec<usize>, Vec<usize>) = all.partition(same);
    let mut text = grid(answer, &names, &differing);
    let told = alike.iter().map(|column| (column, shown(&answer.rows[0][*column], CELL_MAX)));
    let told: Vec<String> =
        told.map(|(column, cell)| format!("{} {cell}", names[*column])).collect();
    if !told.is_empty() {
        text.push_str(&wrapped("  the same in all rows: ", &told.join("; ")));
    }
    Ok(text)
}

fn grid(answer: &Answer, names: &[String], columns: &[usize]) -> String {
    let side = |column: usize| {
        let words =
            |row: &Vec<SqlValue>| matches!(row[column], SqlValue::Text(_) | SqlValue::Blob(_));
        if answer.rows.iter().any(words) { Side::Left } else { Side::Right }
    };
    let head: Vec<(&str, Side)> =
        columns.iter().map(|column| (names[*column].as_str(), side(*column))).collect();
    let mut grid = Grid::new(&head);
    for row in &answer.rows {
        grid.row(columns.iter().map(|column| shown(&row[*column], CELL_MAX)).collect());
    }
    grid.render()
}

/// One line a column.
fn upright(row: &[SqlValue], names: &[String]) -> String {
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let lines = names.iter().zip(row);
    let lines =
        lines.map(|(name, cell)| format!("  {name:<width$}  {}\n", shown(cell, LONE_CELL_MAX)));
    lines.collect()
}

/// A value for people: nothing in it that a terminal would obey.
pub fn shown(cell: &SqlValue, width: usize) -> String {
    match cell {
        // An empty text would be taken for none at all.
        SqlValue::Null => "-".to_owned(),
        SqlValue::Text(text) if text.is_empty() => "''".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => rounded(*number),
        SqlValue::Text(text) => {
            // Of a text of megabytes no more is looked at than is shown.
            let some: String = text.chars().take(width + 1).collect();
            words::clipped(&plain(&some), width)
        }
        SqlValue::Blob(bytes) => {
            let some = bytes.get(..width).unwrap_or(bytes);
            words::clipped(&hexadecimal(some), width)
        }
    }
}

/// Six digits that mean something, and never fewer than stand before the point.
fn rounded(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() || number == 0.0 {
        return number.to_string();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{number:.5e}");
    }
    let before = size.log10().floor() as i32 + 1;
    let places = usize::try_from(6 - before).unwrap_or(0);
    let text = format!("{number:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Bytes as SQL writes them: `x'00FF'`.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("x'{digits}'")
}

/// The document, as `docs/reference/query.schema.json` says.
fn json(answer: &Answer) -> Result<String, serde_json::Error> {
    let cell = |cell: &SqlValue| match cell {
        SqlValue::Null => Json::Null,
        SqlValue::Integer(number) => json!(number),
        // One that is not finite is null.
        SqlValue::Real(number) => json!(number),
        SqlValue::Text(text) => json!(text),
        SqlValue::Blob(bytes) => json!(hexadecimal(bytes)),
    };
    let rows: Vec<Json> = answer.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    serde_json::to_string(&json!({
        "brickyard": env!("CARGO_PKG_VERSION"),
        "columns": answer.columns,
        "rows": rows,
        "truncated": answer.truncated,
        "not_measured": not_measured(answer)
            .into_iter()
            .map(|(campaign, nature)| json!({ "campaign": campaign, "kind": nature.name() }))
            .collect::<Vec<_>>(),
    }))
}

fn comma_separated(answer: &Answer) -> Result<String, serde_json::Error> {
    let mut text = csv::line(&answer.columns);
    for row in &answer.rows {
        let cells = row.iter().map(|cell| match cell {
            SqlValue::Null => String::new(),
            SqlValue::Integer(number) => number.to_string(),
            SqlValue::Real(number) => csv::number(Some(*number)),
            SqlValue::Text(text) => text.clone(),
            SqlValue::Blob(bytes) => hexadecimal(bytes),
        });
        text.push_str(&csv::line(&cells.collect::<Vec<_>>()));
    }
    Ok(text)
}

/// What can be asked, for people, with an example.
pub fn listing(relations: &[Relation]) -> String {
    let mut text = String::new();
    for (kind, title) in [
        (RelationKind::View, "Views: one row a trial, one column a setting, one column a figure"),
        (RelationKind::Table, "Tables: raw counts; docs/reference/store.md"),
    ] {
        text.push_str(title);
        text.push('\n');
        let of_kind = || relations.iter().filter(|relation| relation.kind == kind);
        for (place, relation) in of_kind().enumerate() {
            let alias = relation.alias.as_ref().map(|alias| format!(" or {alias}"));
            let name = plain(&typed(&relation.name));
            text.push_str(&format!("\n  {name}{}\n", alias.map_or(String::new(), |it| plain(&it))));
            let names: Vec<&str> = relation.names().collect();
            // Workloads of one engine have the same columns.
            let before =
                of_kind().take(place).find(|other| other.names().eq(names.iter().copied()));
            match before {
                Some(other) => {
                    let same = format!("the columns of {}", typed(&other.name));
                    text.push_str(&wrapped("    ", &same));
                }
                None => text.push_str(&wrapped("    ", &names.join(", "))),
            }
        }
        text.push('\n');
    }
    text.push_str(&format!("Example\n\n  brickyard query '{}'\n", example(relations)));
    text
}

/// What can be asked, as rows: `kind`, `name`, `column`.
pub fn listed(relations: &[Relation]) -> Answer {
    let word = |text: &str| SqlValue::Text(text.to_owned());
    let rows = relations.iter().flat_map(|relation| {
        let row = move |column: &str| {
            vec![word(relation.kind.name()), word(&relation.name), word(column)]
        };
        relation.names().map(row).collect::<Vec<_>>()
    });
    let columns = ["kind", "name", "column"].map(str::to_owned).to_vec();
    Answer { columns, rows: rows.collect(), ..Answer::default() }
}

/// SQL that works in this store, between single quotes of a shell too.
pub fn example(relations: &[Relation]) -> String {
    let views = relations.iter().filter(|relation| relation.kind == RelationKind::View);
    let mut views =
        views.filter(|view| !view.name.contains('\'') && plain(&view.name) == view.name);
    match views.clone().skip(1).find(|view| rate(view).is_some()).or(views.next()) {
        Some(view) => example_of(view),
        None => "SELECT * FROM campaign".to_owned(),
    }
}

/// The column of a view by which its fastest are told.
fn rate(view: &Relation) -> Option<&'static str> {
    const COLUMNS: [&str; 3] = ["throughput", "iops", "ops"];
    COLUMNS.into_iter().find(|column| view.names().any(|name| name == *column))
}

/// SQL that works on it.
pub fn example_of(view: &Relation) -> String {
    let name = view.alias.as_deref().filter(|alias| !alias.contains('\'')).unwrap_or(&view.name);
    let name = typed(name);
    if view.kind == RelationKind::Table {
        return format!("SELECT * FROM {name} LIMIT 20");
    }
    match rate(view) {
        // Never without where the bytes came from: the highest figures of a store are memory's.
        Some(by) => format!("SELECT trial, {by}, origin FROM {name} ORDER BY 2 DESC LIMIT 20"),
        None => format!("SELECT campaign, trial, outcome FROM {name} LIMIT 20"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema::check;
    use experiment::query::Ran;

    fn answer(columns: &[&str], rows: Vec<Vec<SqlValue>>) -> Answer {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Answer { columns, rows, ..Answer::default() }
    }

    fn hostile() -> Answer {
        let cells = vec![
            SqlValue::Text("\u{1b}[2Jred\r\n\u{202e}txt".into()),
            SqlValue::Text("x".repeat(1 << 20)),
            SqlValue::Blob(vec![0, 255, 27]),
            SqlValue::Real(f64::INFINITY),
            SqlValue::Real(f64::NAN),
            SqlValue::Null,
            SqlValue::Integer(i64::MIN),
            SqlValue::Text("=1+1".into()),
        ];
        let names = ["a\u{7}", "b", "c", "d", "e", "f", "g", "g"];
        answer(&names, vec![cells.clone(), cells])
    }

    #[test]
    fn nothing_in_a_cell_is_obeyed_by_a_terminal() {
        for rows in 0..=2 {
            let mut answer = hostile();
            answer.rows.truncate(rows);
            let text = text(&answer).unwrap();
            let odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(odd), "{text:?}");
            assert!(text.len() < 3000, "{}", text.len());
        }
    }

    #[test]
    fn the_document_obeys_its_schema_whatever_is_in_it() {
        let schema = include_str!("../../../../docs/reference/query.schema.json");
        let schema: Json = serde_json::from_str(schema).unwrap();
        for answer in [hostile(), answer(&[], Vec::new())] {
            let document: Json = serde_json::from_str(&json(&answer).unwrap()).unwrap();
            check("", &document, &schema, &schema).unwrap();
            assert_eq!(document["rows"].as_array().unwrap().len(), answer.rows.len());
        }
        let document: Json = serde_json::from_str(&json(&hostile()).unwrap()).unwrap();
        assert_eq!(document["rows"][0][2], "x'00FF1B'");
        assert!(document["rows"][0][3].is_null());
    }

    #[test]
    fn every_line_of_csv_has_as_many_fields_as_the_head() {
        let mut answer = hostile();
        answer.rows.iter_mut().for_each(|row| row[0] = SqlValue::Text("a,\"b".into()));
        let text = comma_separated(&answer).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("\"a,\"\"b\","), "{text:.40}");
        assert!(text.contains(",'=1+1\n"), "a spreadsheet would compute it");
    }

    /// `SELECT *` of a view has a hundred columns, and most of them say the same in every row.
    #[test]
    fn what_is_the_same_in_all_rows_of_a_wide_table_stands_below_once() {
        let names: Vec<String> = (0..40).map(|n| format!("column_{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = |n: i64| {
            let cells =
                (0..40).map(|column| SqlValue::Integer(if column == 7 { n } else { column }));
            cells.collect::<Vec<_>>()
        };
        let wide = text(&answer(&names, vec![row(1), row(2)])).unwrap();
        assert!(wide.starts_with("  column_7\n         1\n         2\n"), "{wide}");
        assert!(wide.contains("the same in all rows: column_0 0; column_1 1;"), "{wide}");
        assert!(wide.lines().all(|line| line.len() <= WIDTH), "{wide}");
        let pairs = answer(&["a_bytes", "a"], vec![vec![SqlValue::Integer(1); 2]; 2]);
        assert!(text(&pairs).unwrap().starts_with("  a_bytes  a\n"), "it is not wide");
        let lone = text(&answer(&names, vec![row(1)])).unwrap();
        assert_eq!(lone.lines().count(), 40, "{lone}");
    }

    /// A simulated campaign's figures stood in a table of SQL as a server's.
    #[test]
    fn an_answer_says_first_which_campaigns_were_not_measured() {
        let ran = |campaign, engines: &str, imported| Ran {
            campaign,
            engines: engines.to_owned(),
            imported,
        };
        let mut of_two =
            answer(&["campaign", "iops"], vec![vec![SqlValue::Integer(2), SqlValue::Null]]);
        of_two.ran = vec![ran(1, "file", false), ran(2, "file, sim", false), ran(3, "fio", true)];
        let told = text(&of_two).unwrap();
        assert!(told.starts_with("SIMULATED, no server was measured: campaign 2\n"), "{told}");
        assert!(!told.contains("IMPORTED"), "{told}");
        let document: Json = serde_json::from_str(&json(&of_two).unwrap()).unwrap();
        assert_eq!(document["not_measured"], json!([{ "campaign": 2, "kind": "simulated" }]));
        // Without a column of campaigns it may be of any.
        of_two.columns[0] = "trial".to_owned();
        let told = text(&of_two).unwrap();
        assert!(told.contains("measured here: campaign 3\n"), "{told}");
        of_two.ran.truncate(1);
        assert!(text(&of_two).unwrap().starts_with("  trial"), "{told}");
    }

    #[test]
    fn figures_are_rounded_but_never_before_the_point() {
        for (number, text) in [
            (523_456_789.123, "523456789"),
            (0.123_456_78, "0.123457"),
            (12.5, "12.5"),
            (0.0, "0"),
            (-1e-9, "-1.00000e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(rounded(number), text);
        }
    }
}
