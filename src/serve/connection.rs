//! Connections: so many at once, each for so long, and none for who says nothing.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::sys::signal::Stop;

/// So many at once; the kernel has more wait.
const CONNECTIONS_MAX: u32 = 64;
/// Who has not said by then what it asks for never will; one that asks nothing more is closed.
const HEAD_MAX: Duration = Duration::from_secs(5);
/// A head of a request is no longer than this, bytes; more is answered with 431.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Nor has it more fields.
const FIELDS_MAX: usize = 64;
/// After this time a connection answers what it has begun and takes nothing more.
const LIFE: Duration = Duration::from_secs(300);
/// Who takes longer to read the last answer is cut off.
const LAST_MAX: Duration = Duration::from_secs(120);
/// The same once the user has asked to stop.
const END_MAX: Duration = Duration::from_secs(2);
/// How often the user's wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// After an error of accept(2), as when there are too many open files.
const BREATH: Duration = Duration::from_millis(100);

/// Answers whoever connects, until the user asks to stop.
pub async fn accept(socket: &TcpListener, router: Router, stop: &Stop) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let (ending, end) = watch::channel(false);
    let next = async || {
        let place = Arc::clone(&places).acquire_owned().await.ok()?;
        match socket.accept().await {
            Ok((stream, _)) => Some((stream, place)),
            Err(_) => {
                sleep(BREATH).await;
                None
            }
        }
    };
    while !stop.asked() {
        let (router, end) = (router.clone(), end.clone());
        if let Ok(Some((stream, place))) = timeout(LOOK, next()).await {
            tokio::spawn(async move {
                attend(stream, router, end).await;
                drop(place);
            });
        }
    }
    let _ = ending.send(true);
    let _ = timeout(END_MAX, places.acquire_many(CONNECTIONS_MAX)).await;
}

/// Answers one connection, to its end.
async fn attend(stream: TcpStream, router: Router, mut end: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(FIELDS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let mut over = pin!(timeout(LIFE, end.changed()));
    // Whatever went wrong, it went wrong for who is gone: nobody is there to be told.
    let ended = poll_fn(|context| match connection.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending => over.as_mut().poll(context).map(|_| false),
    });
    if ended.await {
        return;
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LAST_MAX, connection).await;
}
