//! Which address gives what: every page is made on a thread of its own, behind a gate, within a
//! time.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;

use super::Site;
use super::answer::{Answer, response};
use super::door::{door, refusal};
use super::gate::Gate;
use super::pages::{asset, campaign, compared, index, query};
use super::statement::Statement;
use host::sys::Error;

/// A page that takes longer is for nobody.
const PAGE_MAX: Duration = Duration::from_secs(60);
/// When who was turned away may come again, s.
const AGAIN_S: &str = "5";

/// All addresses.
pub(super) fn router(site: &Arc<Site>) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/campaign/{id}", get(report))
        .route("/campaign/{id}/{format}", get(download))
        .route("/compare", get(compare))
        .route("/query", get(ask))
        .route("/query/{format}", get(ask_for_file))
        // Browsers ask for it whatever a page says; an error would stand on their console.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .fallback(async || nothing_there())
        .layer(from_fn_with_state(Arc::clone(site), door))
        .with_state(Arc::clone(site))
}

async fn index(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let asked = asset::UrlQuery::from_uri(&uri);
    made(&site, &site.lists, move |site| index::page(&site.store, &asked)).await
}

async fn report(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    let Some(id) = asset::number(&id) else { return nothing_there() };
    made(&site, &site.reports, move |site| campaign::page(&site.store, id)).await
}

async fn download(
    State(site): State<Arc<Site>>,
    Path((id, format)): Path<(String, String)>,
) -> Response {
    let format = findings::report::find(&format);
    let (Some(id), Some(format)) = (asset::number(&id), format) else { return nothing_there() };
    made(&site, &site.reports, move |site| campaign::file(&site.store, id, format)).await
}

async fn compare(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let asked = asset::UrlQuery::from_uri(&uri);
    made(&site, &site.reports, move |site| compared::page(&site.store, &asked)).await
}

async fn ask(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let sql = asset::UrlQuery::from_uri(&uri).first("sql").filter(|sql| !sql.trim().is_empty());
    let Some(sql) = sql else {
        let listed = move |site: &Site| query::list(&site.store, site.query_max);
        return made(&site, &site.lists, listed).await;
    };
    let statement = Statement::new(&site.store, sql, None, site.query_max);
    let answered = move |site: &Site| (site.ask)(&statement);
    made(&site, &site.queries, answered).await
}

async fn ask_for_file(
    State(site): State<Arc<Site>>,
    Path(format): Path<String>,
    uri: Uri,
) -> Response {
    let format = findings::report::query::FORMATS.iter().find(|it| it.name == format);
    let Some(format) = format else { return nothing_there() };
    let sql = asset::UrlQuery::from_uri(&uri).first("sql").unwrap_or_default();
    let statement = Statement::new(&site.store, sql, Some(format.name), site.query_max);
    let answered = move |site: &Site| (site.ask)(&statement);
    made(&site, &site.queries, answered).await
}

/// Has `work` make an answer once the gate lets it, for no longer than [`PAGE_MAX`]. Work that goes
/// on longer keeps its place at the gate until it ends, so that no more of it piles up.
async fn made<W>(site: &Arc<Site>, gate: &Gate, work: W) -> Response
where
    W: FnOnce(&Site) -> Result<Answer, Error> + Send + 'static,
{
    let Some(pass) = gate.enter().await else {
        let why = "so many pages are being made that this one would have to wait";
        let error = Error::new("this cannot be answered now", why)
            .hint("try again in a few seconds; `brickyard query` and `report` ask nobody to wait");
        let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, &error);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(AGAIN_S));
        return response;
    };
    let site = Arc::clone(site);
    let making = tokio::task::spawn_blocking(move || {
        let answer = work(&site);
        drop(pass);
        answer
    });
    match tokio::time::timeout(PAGE_MAX, making).await {
        Ok(Ok(Ok(answer))) => response(answer),
        Ok(Ok(Err(error))) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error),
        Ok(Err(_)) => {
            let error = Error::new("this page cannot be made", "a mistake of this program's")
                .hint("please report it, with the address of this page");
            refusal(StatusCode::INTERNAL_SERVER_ERROR, &error)
        }
        Err(_) => {
            let why = format!(
                "it took longer than {}",
                base::value::duration(PAGE_MAX.as_nanos() as f64)
            );
            let error = Error::new("this page cannot be made", why)
                .hint("`brickyard report` and `brickyard query` take the time that they need");
            refusal(StatusCode::GATEWAY_TIMEOUT, &error)
        }
    }
}

fn nothing_there() -> Response {
    let error = Error::new("there is no such page", "nothing of the store has this address")
        .hint("all campaigns are on the first page");
    refusal(StatusCode::NOT_FOUND, &error)
}

#[cfg(test)]
mod tests;
