//! Campaigns side by side, as `brickyard compare` draws them.

use std::path::Path;

use axum::http::StatusCode;
use maud::html;

use super::asset::{self, UrlQuery, address};
use super::campaign;
use crate::retrieve::{Retrieved, side_by_side};
use crate::serve::answer::Answer;
use findings::analysis::compare;
use findings::report::compare::FORMATS;
use findings::report::pairs::View;
use host::sys::Error;
use store::Store;

/// So many are held against each other: beyond, nobody sees anything, and each takes memory.
const CAMPAIGNS_MAX: usize = 8;

/// The page of all `campaign`s; the one that is `first`, else the oldest, is what the others are
/// held against.
///
/// # Errors
/// When the store cannot be read.
pub fn page(path: &Path, asked: &UrlQuery) -> Result<Answer, Error> {
    let bad = |why: &str, hint: &str| {
        let error = Error::new("these are not compared", why).hint(hint);
        Ok(Answer::page(super::wrong(&error)).with(StatusCode::BAD_REQUEST))
    };
    let ids: Option<Vec<u64>> = asked.all("campaign").map(asset::number).collect();
    let Some(mut ids) = ids else { return bad("one of them is no number", "campaign=1") };
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < 2 {
        return bad("two campaigns at least are compared", "tick two on the first page");
    }
    if ids.len() > CAMPAIGNS_MAX {
        let hint = "`brickyard compare` takes as many as you type";
        return bad("these are more than eight", hint);
    }
    let first = asked.first("first").and_then(|id| asset::number(&id));
    if let Some(place) = ids.iter().position(|id| Some(*id) == first) {
        ids[..=place].rotate_right(1);
    }
    let store = Store::open_read_only(path)?;
    let mut sides = Vec::new();
    for id in &ids {
        let Some(of) = store.campaign(*id)? else { return Ok(campaign::missing(*id)) };
        sides.push((id.to_string(), Retrieved::new(&store, of)?));
    }
    drawn(&sides)
}

fn drawn(sides: &[(String, Retrieved)]) -> Result<Answer, Error> {
    let what = "cannot draw these campaigns side by side";
    let named: Vec<(&str, &Retrieved)> =
        sides.iter().map(|(id, side)| (id.as_str(), side)).collect();
    let format = FORMATS.iter().find(|format| format.name == "html");
    let (Some(format), Some((first, others))) = (format, named.split_first()) else {
        return Err(Error::new(what, "this program has no format html"));
    };
    let asked = compare::ComparisonRequest { threshold: compare::THRESHOLD, figure: None };
    let (page, _) = side_by_side(*first, others, &asked, &View::default(), format)
        .map_err(|why| Error::new(what, why))?;
    let against = |first: &str| {
        let all = named.iter().map(|(id, _)| ("campaign", *id));
        address("/compare", &all.chain([("first", first)]).collect::<Vec<_>>())
    };
    let more = html! {
        @for (id, _) in &named {
            a href=(format!("/campaign/{id}")) { "Campaign " (id) } " "
        }
        @for (id, _) in others {
            a href=(against(id)) { "Use " (id) " as the baseline" } " "
        }
    };
    Ok(Answer {
        status: StatusCode::OK,
        media: campaign::media("html"),
        saved_as: None,
        policy: Some(campaign::policy()),
        body: super::linked(Vec::from(page), &more),
    })
}
