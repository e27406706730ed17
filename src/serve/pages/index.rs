//! The first page: all campaigns of the store, filtered, some of them chosen to be compared.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};

use super::asset::{self, UrlQuery, address};
use crate::serve::answer::Answer;
use findings::report::html::tables::boxed;
use findings::report::nature::Nature;
use findings::report::words;
use host::sys::Error;
use store::{Overview, Store};

/// Campaigns on one page.
const SHOWN: usize = 200;

/// A campaign as it stands in its row.
#[derive(Debug)]
struct Line {
    of: Overview,
    date: String,
    outcomes: BTreeMap<String, u64>,
}

/// The page of those campaigns that have all words of `filter`, from `before` on down.
///
/// # Errors
/// When the store cannot be read.
pub fn page(path: &Path, asked: &UrlQuery) -> Result<Answer, Error> {
    let store = Store::open_read_only(path)?;
    let filter = asked.first("filter").unwrap_or_default();
    let before = asked.first("before").and_then(|before| asset::number(&before));
    let all = store.overviews()?;
    let of = all.len();
    let wanted = wanted(&filter);
    let mut found = Vec::new();
    let mut more = false;
    for overview in all.into_iter().rev() {
        let date = words::date(overview.started_unix_ns);
        let text = text(&overview, &date);
        if before.is_some_and(|before| overview.id >= before)
            || !wanted.iter().all(|word| text.contains(word))
        {
            continue;
        }
        if found.len() == SHOWN {
            more = true;
            break;
        }
        let outcomes = store.outcomes(overview.id)?;
        found.push(Line { of: overview, date, outcomes });
    }
    // What is filtered here and there is the same only where all rows are there.
    let whole = found.len() == of;
    let last = more.then(|| found.last().map(|line| line.of.id)).flatten();
    let content = html! {
        p.quiet { "The store " code { (path.display()) } ", which is only read." }
        @if of == 0 {
            p.missing {
                "There is no campaign in it. " code { "brickyard evaluate DIR" } " makes one."
            }
        } @else {
            (filter_form(&filter, found.len(), of, before.is_some()))
            (chooser(&found, whole))
            @if found.is_empty() { p.missing { "No campaign has all these words." } }
            @if let Some(last) = last {
                @let last = last.to_string();
                p { a rel="next" href=(address("/", &[("filter", &filter), ("before", &last)])) {
                    "Older campaigns"
                } }
            }
        }
    };
    Ok(Answer::page(super::page("Campaigns", &content)))
}

/// The words of a filter; capitals are no others.
fn wanted(filter: &str) -> Vec<String> {
    filter.to_lowercase().split_whitespace().map(str::to_owned).collect()
}

/// What a filter looks at.
fn text(of: &Overview, date: &str) -> String {
    let ended = if of.ended { "" } else { "not ended" };
    let text = format!("{} {} {} {} {date} {ended}", of.id, of.plan, of.host, engine(of));
    text.to_lowercase()
}

fn engine(of: &Overview) -> String {
    match Nature::from_engines(&of.engine, false) {
        Nature::Simulated => format!("{}, simulated", of.engine),
        Nature::Published | Nature::Imported | Nature::Measured => of.engine.clone(),
    }
}

fn filter_form(filter: &str, shown: usize, of: usize, further: bool) -> Markup {
    html! {
        form.controls action="/" role="search" {
            label for="filter" { "Show those with " }
            input #filter name="filter" type="search" value=(filter) autocomplete="off"
                placeholder="words of plan, host, engine, date";
            button { "Filter" }
            span #count role="status" { (shown) " of " (of) }
            @if !filter.is_empty() || further { a href="/" { "all" } }
        }
    }
}

fn chooser(lines: &[Line], whole: bool) -> Markup {
    let table = html! {
        table.campaigns #campaigns data-whole[whole] {
            thead { tr {
                th scope="col" { "compare" } th scope="col" { "plan" } th scope="col" { "host" }
                th scope="col" { "started" } th scope="col" { "trials" } th scope="col" { "engine" }
            } }
            tbody { @for line in lines { (row(line)) } }
        }
    };
    html! {
        form action="/compare" {
            (boxed("Campaigns", &table))
            div.controls {
                button.main #compare { "Compare" }
                span.quiet #chosen role="status" { "two or more that are ticked; the oldest is A" }
            }
        }
    }
}

fn row(line: &Line) -> Markup {
    let of = &line.of;
    let id = of.id;
    html! {
        tr data-words=(text(of, &line.date)) {
            td { label {
                input type="checkbox" name="campaign" value=(id)
                    aria-label=(format!("compare campaign {id}"));
                " " (id)
            } }
            th.plan scope="row" { a href=(format!("/campaign/{id}")) { (of.plan) } }
            td.host { (of.host) }
            td { (line.date) }
            td { (outcomes(line)) }
            td { (engine(of)) }
        }
    }
}

/// `12 done, 1 failed`; a campaign that did not come to its end says so.
fn outcomes(line: &Line) -> Markup {
    html! {
        @if line.outcomes.is_empty() { "none" }
        @for (place, (outcome, trials)) in line.outcomes.iter().enumerate() {
            @if place > 0 { ", " }
            @if outcome == "failed" { span.failed { (trials) " failed" } }
            @else { (trials) " " (outcome) }
        }
        @if !line.of.ended { ", not ended" }
    }
}
