//! The store in a browser, read-only: campaigns, their reports, comparisons, SQL.
//!
//! Every page is made for the request that asks for it, from a store that is opened for reading and
//! closed again: a run may write in it meanwhile. Who may ask is the business of [`door`], how long
//! a connection lasts that of [`connection`], how many pages are made at once that of [`gate`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use host::sys::Error;
use host::sys::signal::Stop;
use store::Store;

mod answer;
mod answers;
mod connection;
mod door;
mod gate;
pub mod pages;
pub mod statement;
#[cfg(test)]
mod testing;

use answer::Answer;
use gate::Gate;
use statement::Statement;
pub use statement::worker;

/// Where it listens when nobody says where.
pub const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7410);
/// Threads that read stores, make pages and wait for statements: more than all gates let in.
const THREADS: usize = 8;
/// A thread that makes a page calls as deep as the main one does for a report.
const STACK_BYTES: usize = 8 << 20;

/// A store that is about to be served.
#[derive(Debug)]
pub struct Server {
    socket: TcpListener,
    site: Arc<Site>,
}

/// What is served, and how much of it at once.
#[derive(Debug)]
struct Site {
    store: PathBuf,
    /// As the kernel gave it: with the port that was free.
    at: SocketAddr,
    /// Lists: of campaigns, of what can be asked.
    lists: Gate,
    /// Reports and comparisons, each of which may take half a GiB.
    reports: Gate,
    /// SQL: one at a time, each of which may take a GiB.
    queries: Gate,
    /// How a statement is answered.
    ask: fn(&Statement) -> Result<Answer, Error>,
    /// How long a statement of SQL may take.
    query_max: Duration,
}

impl Site {
    fn new(store: &Path, at: SocketAddr) -> Site {
        Site {
            store: store.to_owned(),
            at,
            lists: Gate::new(2, 32),
            reports: Gate::new(2, 8),
            queries: Gate::new(1, 8),
            ask: Statement::apart,
            query_max: Duration::from_secs(10),
        }
    }
}

impl Server {
    /// Listens on this address; answers nobody yet.
    ///
    /// # Errors
    /// When the store cannot be read, and when the address is not this machine's, or taken.
    pub fn bind(at: SocketAddr, store: &Path) -> Result<Server, Error> {
        Store::open_read_only(store)?.overviews()?;
        let failed = |error: std::io::Error| {
            let hint = match error.kind() {
                std::io::ErrorKind::AddrInUse => {
                    format!("--listen {} takes any port that is free", SocketAddr::new(at.ip(), 0))
                }
                _ => format!("--listen {ADDRESS}"),
            };
            Error::new(format!("cannot listen on {at}"), error).hint(hint)
        };
        let socket = TcpListener::bind(at).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let at = socket.local_addr().map_err(failed)?;
        Ok(Server { socket, site: Arc::new(Site::new(store, at)) })
    }

    /// What to open in a browser on this machine: `http://127.0.0.1:7410/`.
    pub fn url(&self) -> String {
        let at = self.site.at;
        // No browser is told to go to "every address".
        let host = match at.ip() {
            any if !any.is_unspecified() => any,
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        format!("http://{}/", SocketAddr::new(host, at.port()))
    }

    /// Answers until the user asks it to stop.
    ///
    /// # Errors
    /// When the kernel gives no threads or no timers.
    pub fn serve(self, stop: &Stop) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::new("cannot answer requests", error);
        // Pages are made on threads of their own; one is enough to talk to browsers.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS)
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(failed)?;
        let done = runtime.block_on(async {
            let socket = tokio::net::TcpListener::from_std(self.socket)?;
            connection::accept(&socket, answers::router(&self.site), stop).await;
            Ok(())
        });
        // A page that is still being made is for nobody any more, and reading has nothing to undo.
        runtime.shutdown_background();
        done.map_err(failed)
    }
}
