//! What both ends of a trial on two machines ask of the load of which each does one half, whatever
//! it sends.

use super::runner::StreamEnds;
use super::work::NetEndResult;
use experiment::measurement::{Integrity, Note};

/// One machine's half of a load. Ends of streams on the other machine have no socket here.
pub trait HalfLoad: StreamEnds<Yield = NetEndResult> {
    /// What must be said of it so far.
    fn notes(&self) -> Vec<Note>;

    /// Whoever waits for one of its sockets no longer does.
    fn shut(&self);

    /// Bytes that this end has moved, sent and got.
    fn moved_bytes(&self) -> u64;

    /// What was checked here of files that the other end has; `None` where nothing was.
    fn integrity(&self) -> Option<Integrity> {
        None
    }

    /// Bytes that each stream has sent, once its senders are all through and the end that receives
    /// cannot see that by itself.
    fn sent(&self) -> Option<Vec<u64>> {
        None
    }

    /// What the other end says of each stream: its senders, if it has them, have sent so many
    /// bytes, and no more come.
    fn were_sent(&self, _bytes: &[u64]) {}
}
