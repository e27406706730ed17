//! The box for SQL: what can be asked, a statement, what came of it.

use std::path::Path;
use std::time::Duration;

use axum::http::StatusCode;
use maud::{Markup, html};

use super::asset::address;
use super::campaign::media;
use crate::serve::answer::Answer;
use base::value;
use experiment::query::{Answer as Found, Relation, RelationKind, SqlValue, typed};
use findings::report::html::tables::{boxed, coded};
use findings::report::query::{self as told, AnswerFormat, CELL_MAX, shown};
use findings::report::words::clipped;
use host::sys::Error;
use store::query::{Bounds, Query};

/// Rows beyond these are left out, and said to be.
const ROWS_MAX: usize = 1000;
/// The same of a file.
const FILE_ROWS_MAX: usize = 100_000;
/// Cells of a table on a page: SQL can ask for 2000 columns.
const CELLS_MAX: usize = 100_000;

/// Words about what is damaged.
const DAMAGE_MAX: usize = 20;

/// The box, empty, with what can be asked.
///
/// # Errors
/// When the store cannot be read.
pub fn list(path: &Path, time: Duration) -> Result<Answer, Error> {
    let relations = Query::open_read_only(path)?.relations()?;
    Ok(Answer::page(whole("", time, &html! {}, &relations)))
}

/// The box with a statement, and what it gave or why it gave nothing. `opened` is told once the
/// store can be asked.
///
/// # Errors
/// When the store cannot be read.
pub fn page(
    path: &Path,
    sql: &str,
    time: Duration,
    opened: &mut dyn FnMut(),
) -> Result<Answer, Error> {
    let query = Query::open_read_only(path)?;
    let relations = query.relations()?;
    opened();
    let (status, result) = match query.ask(sql, Bounds { time, rows: ROWS_MAX }) {
        Ok(found) => (StatusCode::OK, answer(sql, &found)),
        Err(error) => (StatusCode::BAD_REQUEST, refused(&error)),
    };
    Ok(Answer::page(whole(sql, time, &result, &relations)).with(status))
}

/// The media type of an answer that is saved in a format, or of a page.
pub fn media_of(format: Option<&str>) -> &'static str {
    format.map_or(media("html"), |name| media(extension(name)))
}

fn extension(format: &str) -> &str {
    if format == "text" { "txt" } else { format }
}

/// What a statement gave, to be saved.
///
/// # Errors
/// When the store cannot be read.
pub fn file(
    path: &Path,
    sql: &str,
    time: Duration,
    format: &AnswerFormat,
    opened: &mut dyn FnMut(),
) -> Result<Answer, Error> {
    let query = Query::open_read_only(path)?;
    opened();
    let found = match query.ask(sql, Bounds { time, rows: FILE_ROWS_MAX }) {
        Ok(found) => found,
        Err(error) => {
            return Ok(Answer::page(super::wrong(&error)).with(StatusCode::BAD_REQUEST));
        }
    };
    let what = format!("cannot print this answer as {}", format.name);
    let body = (format.render)(&found).map_err(|why| Error::new(what, why))?;
    Ok(Answer {
        status: StatusCode::OK,
        media: media_of(Some(format.name)),
        saved_as: Some(format!("brickyard-query.{}", extension(format.name))),
        policy: None,
        body: body.into_bytes(),
    })
}

fn whole(sql: &str, time: Duration, result: &Markup, relations: &[Relation]) -> Markup {
    let time = value::duration(time.as_nanos() as f64);
    let example = told::example(relations);
    let content = html! {
        form action="/query" {
            label for="sql" { "One statement that only reads" }
            textarea #sql name="sql" rows="5" spellcheck="false" autocapitalize="off"
                autocomplete="off" placeholder=(example) { "\n" (sql) }
            div.controls {
                button.main { "Ask" }
                span.quiet {
                    "At most " (time) " and " (ROWS_MAX) " rows. The address of the answer has the "
                    "statement in it."
                }
            }
        }
        (result)
        h2 { "What can be asked" }
        p { "For example: " (ready(&example)) }
        @for (kind, title) in [
            (
                RelationKind::View,
                "Views: one row a trial, one column a setting, one column a figure",
            ),
            (RelationKind::Table, "Tables: raw counts"),
        ] {
            h3 { (title) }
            @for relation in relations.iter().filter(|relation| relation.kind == kind) {
                (listed(relation))
            }
        }
    };
    super::page("Ask the store by SQL", &content)
}

/// A statement that is asked by a click.
fn ready(sql: &str) -> Markup {
    html! { a href=(address("/query", &[("sql", sql)])) { code { (sql) } } }
}

fn listed(relation: &Relation) -> Markup {
    let name = typed(&relation.name);
    html! {
        details {
            summary { code { (name) } " (" (relation.names().count()) " columns)" }
            p { (ready(&told::example_of(relation))) }
            ul.names {
                li { button type="button" data-insert=(name) { (name) } }
                @for column in relation.names() {
                    @let column = typed(column);
                    li { button type="button" data-insert=(column) { (column) } }
                }
            }
        }
    }
}

/// The error in SQLite's words, with what to do.
fn refused(error: &Error) -> Markup {
    html! {
        div.sql-error role="alert" {
            p { (error.what) ": " strong { (error.why) } }
            @if let Some(hint) = &error.hint { p.advice { (coded(hint)) } }
        }
    }
}

fn answer(sql: &str, found: &Found) -> Markup {
    let rows = found.rows.len().min(CELLS_MAX / found.columns.len().max(1));
    let cut = found.truncated || rows < found.rows.len();
    let noun = if rows == 1 { "row" } else { "rows" };
    html! {
        h2 { "Answer" }
        @for line in told::nature(found) { p { strong { (line) } } }
        @for damage in found.damage.iter().take(DAMAGE_MAX) {
            p.missing { "Warning: " (damage.to_string()) "." }
        }
        p #told role="status" {
            @if cut {
                "Only the first " (rows) " rows; " code { "LIMIT" } " asks for less, and "
                code { "OFFSET" } " for those that follow. "
            } @else if rows == 0 { "No rows. " } @else { (rows) " " (noun) ". " }
            "Saved as:"
            @for format in told::FORMATS {
                @let path = format!("/query/{}", format.name);
                " " a href=(address(&path, &[("sql", sql)])) download { (format.name) }
            }
        }
        (boxed("Answer", &table(found, rows)))
    }
}

fn table(found: &Found, rows: usize) -> Markup {
    html! {
        table.answer-table {
            thead { tr { @for name in &found.columns {
                th scope="col" { (clipped(&told::plain(name), CELL_MAX)) }
            } } }
            tbody { @for row in found.rows.iter().take(rows) {
                tr { @for cell in row { (one(cell)) } }
            } }
        }
    }
}

fn one(cell: &SqlValue) -> Markup {
    let class = match cell {
        SqlValue::Null => "null",
        SqlValue::Integer(_) | SqlValue::Real(_) => "number",
        SqlValue::Text(_) | SqlValue::Blob(_) => "text",
    };
    html! { td class=(class) { (shown(cell, CELL_MAX)) } }
}
