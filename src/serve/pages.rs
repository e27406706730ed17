//! Our pages, as markup: what all have around what each of them says.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use findings::report::html::assets::STYLE;
use findings::report::html::tables::coded;
use host::sys::Error;

pub mod asset;
pub mod campaign;
pub mod compared;
pub mod index;
pub mod query;

/// A whole page.
fn page(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - Brickyard" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(asset::STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (bar(&html! {}))
                main #main { h1 { (title) } (content) }
                script { (PreEscaped(asset::SCRIPT)) }
            }
        }
    }
}

/// The way to the other pages, and what more there is to go to from this one.
fn bar(more: &Markup) -> Markup {
    html! {
        nav aria-label="Store" {
            a href="/" { "Campaigns" } " "
            a href="/query" { "Ask by SQL" } " "
            (more)
        }
    }
}

/// A page of `report`, which knows of no other page, with the way to them.
fn linked(page: Vec<u8>, more: &Markup) -> Vec<u8> {
    // All text in a title is escaped, so that this is the element itself.
    const BODY: &[u8] = b"<body>";
    let Some(place) = page.windows(BODY.len()).position(|part| part == BODY) else { return page };
    let (head, rest) = page.split_at(place + BODY.len());
    [head, bar(more).into_string().as_bytes(), rest].concat()
}

/// A page that says why there is no other.
pub fn wrong(error: &Error) -> Markup {
    let content = html! {
        p { "Error: " (coded(&error.what)) ": " (coded(&error.why)) }
        @if let Some(hint) = &error.hint { p.advice { (coded(hint)) } }
    };
    page("Not possible", &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_report_gets_the_way_to_the_others_once_and_first() {
        let fixture = findings::report::fixture::evaluated();
        let format = findings::report::find("html").unwrap();
        let page = format.bytes(&fixture.input()).unwrap();
        let more = html! { a href="/campaign/7/csv" { "csv" } };
        let linked = String::from_utf8(linked(page.clone(), &more)).unwrap();
        assert_eq!(linked.matches("<nav aria-label=\"Store\">").count(), 1);
        let body = linked.split_once("<body>").unwrap().1;
        assert!(body.starts_with("<nav aria-label=\"Store\"><a href=\"/\">Campaigns</a>"));
        assert_eq!(linked.len(), page.len() + bar(&more).into_string().len());
    }
}
