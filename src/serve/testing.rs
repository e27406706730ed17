//! A store to be served, and requests without a socket. Compiled for tests alone.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::{ADDRESS, Site, answers};
use experiment::campaign::Campaign;
use experiment::measurement::Record;
use experiment::plan::blocked;
use findings::report::fixture;
use store::Store;

/// Markup where a name is expected.
pub const MARKUP: &str = "</script><img src=x onerror=alert(1)>\"'&<b>";

/// Runs a test to its end.
pub fn block_on<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test)
}

/// A folder with a store of four campaigns: two that can be compared, one of hostile names that was
/// not ended, an empty one.
pub fn stored() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let planned = fixture::planned();
    let small = fixture::campaign_of(blocked(&planned[..2], 2, 1), 3);
    fill(&folder.path().join("a.db"), &small.campaign, &small.records);
    folder
}

/// Fills a store; the two that can be compared are of these records.
pub fn fill(path: &Path, campaign: &Campaign, records: &[Record]) {
    let mut store = Store::open(path).unwrap();
    store.repeatable(true).unwrap();
    for (uid, seed) in [("one", 1), ("two", 2)] {
        let campaign = Campaign { uid: uid.into(), seed, ..campaign.clone() };
        let id = store.begin(&campaign).unwrap();
        records.iter().for_each(|record| store.append(id, record).unwrap());
        store.end(id, 1_795_297_999_000_000_000).unwrap();
    }
    let mut hostile = fixture::campaign_of(blocked(&fixture::planned()[..1], 2, 1), 3);
    for record in &mut hostile.records {
        record.trial.group = MARKUP.into();
    }
    let named = Campaign {
        uid: "three".into(),
        plan: MARKUP.into(),
        host: MARKUP.into(),
        ..hostile.campaign.clone()
    };
    let id = store.begin(&named).unwrap();
    hostile.records.iter().for_each(|record| store.append(id, record).unwrap());
    let empty = Campaign { uid: "four".into(), plan: "nothing".into(), ..campaign.clone() };
    store.begin(&empty).unwrap();
}

/// What came back.
#[derive(Debug)]
pub struct Got {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

/// A site that is asked without a socket.
#[derive(Clone)]
pub struct Asker(TowerToHyperService<Router>);

impl Asker {
    pub fn new(store: &Path) -> Asker {
        Asker::of(Site::new(store, ADDRESS))
    }

    /// One whose statements may take so long.
    pub fn patient(store: &Path, query_max: Duration) -> Asker {
        Asker::of(Site { query_max, ..Site::new(store, ADDRESS) })
    }

    fn of(site: Site) -> Asker {
        // A process of its own would be this test's program.
        let site = Site { ask: |statement| statement.here(&mut || {}), ..site };
        Asker(TowerToHyperService::new(answers::router(&Arc::new(site))))
    }

    pub async fn ask(&self, request: Request<Body>) -> Got {
        let response = self.0.call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let body = String::from_utf8_lossy(&body).into_owned();
        Got { status: parts.status, headers: parts.headers, body }
    }

    /// As a browser of this machine asks.
    pub async fn get(&self, address: &str) -> Got {
        let request = Request::builder().uri(address).header("host", ADDRESS.to_string());
        self.ask(request.body(Body::empty()).unwrap()).await
    }
}
