//! What both ends of a trial on two machines say to each other, once they have met.
//!
//! near: [`PeerOrder`] · far: [`PeerWord::Ticket`] · near: the streams, each over a connection of
//! its own · far: `prepared` · near: `go` · then whoever receives says when the trial is over,
//! `stopping` or `stop` · far: [`PeerWord::Yielded`] · near: `bye`. In between the far end says how
//! it goes, as a worker does to its parent, and `failed` at any time. The near end may ask for the
//! time whenever it likes. Of files whose blocks are checked the order says which are due, and the
//! far end says [`PeerWord::Wrong`] of each that came otherwise.
//!
//! Datagrams have no connections: after the ticket each stream of the near end sends its greeting
//! (`udp::meet`) until the far end says [`PeerWord::Met`]. No end of them is seen either, so that
//! whoever sends says how much it was, [`PeerNotice::Sent`] or as what it yielded; and nobody else
//! notices that who receives is gone, who says [`PeerNotice::Here`] once a second.

use serde::{Deserialize, Serialize};

use super::due::{DueFiles, WrongBlock};
use super::work::NetEndResult;
use crate::engine::load::protocol::{LoadResult, LoadSpec, WorkerMessage};
use crate::fleet::Alignment;
use experiment::measurement::{Note, datagrams, network};
use facts::counters::series::Series;

/// The order of a trial: what the far end is to do its half of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerOrder {
    /// The engine.
    pub engine: String,
    /// The trial; without files, which are the near end's.
    pub order: LoadSpec,
    /// Of each stream what its files are, where their blocks are to be checked there.
    pub due: Vec<DueFiles>,
}

/// What the far end says besides what a worker says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerWord {
    /// What each stream is to begin with.
    Ticket(String),
    /// Of datagrams: each stream's greeting has come.
    Met {},
    /// A block of a file did not arrive as it was written.
    Wrong(WrongBlock),
    /// The trial is over.
    Stopping {},
    /// Its half.
    Yielded(Box<HalfResult>),
}

/// What the near end tells while the trial runs, besides what a worker is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerNotice {
    /// Bytes that each stream has sent in all, and no more will.
    Sent(Vec<u64>),
    /// Whoever receives is still there.
    Here {},
}

/// A line of the far end, as the near end reads it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum PeerMessage {
    /// One of the above.
    Word(PeerWord),
    /// As of a worker.
    Message(WorkerMessage),
}

/// The result of one machine's half of a trial. Times are of that machine's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HalfResult {
    /// What the receivers' controller saw; `None` of senders.
    pub load: Option<LoadResult>,
    /// One a stream.
    pub yields: Vec<NetEndResult>,
    /// What was sampled beside them, on the monotonic clock.
    pub samples: Series,
    /// What the kernel counted there, on the monotonic clock.
    pub counters: Vec<Series>,
    /// What must be said.
    pub notes: Vec<Note>,
}

/// Rows of the far end's clock become rows of ns since `zero_ns` of ours.
pub fn align(series: &mut Series, clocks: &Alignment, zero_ns: u64) {
    for at in &mut series.at_ns {
        *at = (clocks.ours_ns((*at).max(0) as u64) as i64).saturating_sub(zero_ns as i64);
    }
}

/// One series of both halves, on one clock. Of TCP the rows are the sender's, and what the receiver
/// knows is read between the rows of its own. Of datagrams they are the receiver's, which goes on
/// until the last has come, and what the sender knows is read between; the last row has all that
/// was sent, since nothing was any more by then.
pub fn join(sender: Series, receiver: Series) -> Series {
    let of_datagrams = sender.source == datagrams::SOURCE;
    let (mut rows, other) = if of_datagrams { (receiver, sender) } else { (sender, receiver) };
    for column in &mut rows.columns {
        let is_others = match of_datagrams {
            true => datagrams::is_of_sender(&column.name),
            false => network::is_of_receiver(&column.name),
        };
        if is_others && let Some(known) = other.read_at(&column.name, &rows.at_ns) {
            column.values = known;
            let all = other.column(&column.name).and_then(|all| all.values.last());
            if let (true, Some(all), Some(last)) = (of_datagrams, all, column.values.last_mut()) {
                *last = *all;
            }
        }
    }
    rows
}
