//! Connections: so many at once, each for so long, and none for who says nothing.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use host::sys::crowd::{Crowd, CrowdSlot, Doing};
use host::sys::signal::Stop;

/// So many at once, and of one address: a browser makes six, and several people may come through
/// one machine. See [`Crowd`] for who has to go for the next one.
const CONNECTIONS_MAX: usize = 128;
const CONNECTIONS_OF_ONE_MAX: usize = 48;
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
    let crowd = Crowd::new(CONNECTIONS_MAX, CONNECTIONS_OF_ONE_MAX);
    let (ending, end) = watch::channel(false);
    while !stop.asked() {
        let (stream, from) = match timeout(LOOK, socket.accept()).await {
            Ok(Ok(connected)) => connected,
            Ok(Err(_)) => {
                sleep(BREATH).await;
                continue;
            }
            Err(_) => continue,
        };
        let sent_away = Arc::new(Notify::new());
        let leave = Arc::clone(&sent_away);
        // Where all are being answered, the next one finds his connection closed.
        if let Some(place) = crowd.enter(from.ip(), move || leave.notify_one()) {
            let (router, end) = (router.clone(), end.clone());
            tokio::spawn(async move {
                let mut answering = pin!(attend(stream, router, end, place));
                let mut away = pin!(sent_away.notified());
                poll_fn(|context| match away.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => answering.as_mut().poll(context),
                })
                .await;
            });
        }
    }
    let _ = ending.send(true);
    let all_gone = async {
        while crowd.taken() > 0 {
            sleep(LOOK).await;
        }
    };
    let _ = timeout(END_MAX, all_gone).await;
}

/// Answers one connection, to its end.
async fn attend(
    stream: TcpStream,
    router: Router,
    mut end: watch::Receiver<bool>,
    place: CrowdSlot,
) {
    let service = Answering { router: TowerToHyperService::new(router), place: Arc::new(place) };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(FIELDS_MAX)
        .serve_connection(TokioIo::new(stream), service);
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

/// The pages of one connection, which says when one is being made.
struct Answering {
    router: TowerToHyperService<Router>,
    place: Arc<CrowdSlot>,
}

type Answered = Result<Response, Infallible>;

impl Service<Request<Incoming>> for Answering {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (answer, place) = (self.router.call(request), Arc::clone(&self.place));
        place.set(Doing::Served);
        Box::pin(async move {
            let answered = answer.await;
            place.set(Doing::Waits);
            answered
        })
    }
}
