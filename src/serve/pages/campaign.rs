//! A campaign: its report as `brickyard report` draws it, and every other format to be saved.

use std::path::Path;

use axum::http::StatusCode;
use maud::html;

use crate::retrieve::{Retrieved, StoredSamples};
use crate::serve::answer::Answer;
use findings::report::{FORMATS, Format, html::assets};
use host::sys::Error;
use store::Store;

/// The report.
///
/// # Errors
/// When the store cannot be read.
pub fn page(path: &Path, id: u64) -> Result<Answer, Error> {
    let Some(format) = FORMATS.iter().find(|format| format.name == "html") else {
        return Err(Error::new("cannot draw a report", "this program has no format html"));
    };
    let answer = file(path, id, format)?;
    if answer.status != StatusCode::OK {
        return Ok(answer);
    }
    let more = html! {
        span.quiet { "Campaign " (id) " as" }
        @for format in FORMATS {
            " " a href=(format!("/campaign/{id}/{}", format.name)) title=(format.about) download {
                (format.name)
            }
        }
    };
    let policy = Some(policy());
    Ok(Answer { saved_as: None, policy, body: super::linked(answer.body, &more), ..answer })
}

/// The policy of a page that `report` made, which has scripts of its own.
pub fn policy() -> String {
    format!("{}; frame-ancestors 'none'", assets::policy())
}

/// The campaign in that format, to be saved.
///
/// # Errors
/// When the store cannot be read, or the format cannot print it.
pub fn file(path: &Path, id: u64, format: &Format) -> Result<Answer, Error> {
    let store = Store::open_read_only(path)?;
    let Some(campaign) = store.campaign(id)? else { return Ok(missing(id)) };
    let samples = StoredSamples { store: &store, campaign: id };
    let retrieved = Retrieved::new(&store, campaign)?;
    let what = format!("cannot print campaign {id} as {}", format.name);
    let body = format
        .bytes(&retrieved.input(&samples))
        .map_err(|why| Error::new(what, why.to_string()))?;
    Ok(Answer {
        status: StatusCode::OK,
        media: media(format.extension),
        saved_as: Some(format!("brickyard-campaign-{id}.{}", format.extension)),
        policy: None,
        body,
    })
}

/// A page that says that there is no such campaign.
pub fn missing(id: u64) -> Answer {
    let error = Error::new("there is no such page", format!("the store has no campaign {id}"))
        .hint("all campaigns are on the first page");
    Answer::page(super::wrong(&error)).with(StatusCode::NOT_FOUND)
}

/// The media type of a file (IANA's registry); one that is not known is only ever saved.
pub fn media(extension: &str) -> &'static str {
    match extension.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("csv") => "text/csv; charset=utf-8",
        Some("parquet") => "application/vnd.apache.parquet",
        Some("md") => "text/markdown; charset=utf-8",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
