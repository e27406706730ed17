//! Datagrams that can be checked where they arrive: with `verify` each has one block behind its
//! header, made anew by the sender, that says of which stream it is and which number it has
//! ([`base::pattern::block`]).
//!
//! One that is lost, doubled or late is no fault of it: the number tells which block is due. What
//! is looked at has passed UDP's own checksum where there was one: it has 16 bits, may be off, and
//! is computed anew by cards, tunnels and proxies. What is wrong here was wrong to whoever reads
//! the socket.

use crate::engine::load::protocol::{Failure, LoadFailure};
use crate::engine::net::checked::ON_ARRIVAL;
use crate::engine::net::job::{HEADER_BYTES, NetJob};
use base::pattern::block::{Format, Identity, NAME};
use base::pattern::judge::{Evidence, Kind, judge};
use experiment::measurement::Note;

/// How the blocks of one stream are made.
#[derive(Clone, Copy, Debug)]
pub struct DatagramBlocks {
    format: Format,
    campaign: u64,
    stream: usize,
}

impl DatagramBlocks {
    /// Of this stream; `None` where nothing is checked.
    pub fn for_stream(job: &NetJob, stream: usize) -> Option<DatagramBlocks> {
        let (format, campaign) = (job.verify?, job.seed);
        Some(DatagramBlocks { format, campaign, stream })
    }

    /// Fills whole bodies, those of the datagrams from `number` on, sent at `now_ns`.
    #[inline]
    pub fn make(&self, bodies: &mut [u8], number: u64, now_ns: u64) {
        self.format.write(bodies, self.due(number), now_ns);
    }

    /// Whether the datagram of this number is the one that was sent: its block, and the time before
    /// it, which stands in the block as well.
    #[inline]
    pub fn is_right(&self, datagram: &[u8], number: u64) -> bool {
        let Some((header, block)) = datagram.split_at_checked(HEADER_BYTES) else { return false };
        self.format.is_right(block, &self.due(number)) && is_timed_so(header, block)
    }

    /// The number of a datagram by its block alone, where that names this stream.
    #[cold]
    pub fn named(&self, datagram: &[u8]) -> Option<u64> {
        let borne = self.format.bears(datagram.get(HEADER_BYTES..)?)?;
        let number = borne.offset / self.format.block_bytes as u64;
        (borne == self.due(number)).then_some(number)
    }

    /// What is to be said of one that is not as it was sent.
    #[cold]
    pub fn differs(&self, datagram: &[u8], number: u64) -> LoadFailure {
        let (header, found) = datagram.split_at_checked(HEADER_BYTES).unwrap_or_default();
        let right = |number| self.format.is_right(found, &self.due(number));
        let whole = self.named(datagram).filter(|number| right(*number));
        let (kind, what) = match whole {
            Some(other) if other != number => {
                let what =
                    format!("its block is whole and that of number {other}: its number is wrong");
                (Kind::BitFlip, what)
            }
            Some(_) if !is_timed_so(header, found) => {
                let what = "its block is whole, and has another time: its time is wrong";
                (Kind::BitFlip, what.to_owned())
            }
            _ => {
                let (format, expected) = (self.format, self.due(number));
                let (named, again, oldest_generation) = (None, None, 0);
                let evidence =
                    Evidence { format, expected, found, named, again, oldest_generation };
                let judged = judge(&evidence);
                (judged.kind, format!("of its block, from byte {HEADER_BYTES} on, {}", judged.what))
            }
        };
        let what = format!(
            "stream {}: the datagram of number {number} (the first has 0) did not arrive as it was \
             sent ({}): {what}",
            self.stream + 1,
            kind.name()
        );
        (Failure::Failed, what)
    }

    /// What must be said of a trial with such datagrams.
    pub fn said(&self) -> Note {
        let text = format!(
            "every datagram was made anew by the sender, as one block that names itself, and \
             checked where it arrived ({}): that work is in the rate and in the cost of both ends",
            self.format.checksum.name()
        );
        Note::new(ON_ARRIVAL, text)
    }

    /// The block of the datagram of this number.
    #[inline]
    fn due(&self, number: u64) -> Identity {
        let offset = number.wrapping_mul(self.format.block_bytes as u64);
        Identity { campaign: self.campaign, file: self.stream as u64, offset, generation: 0 }
    }
}

/// Whether the time in a header is that in the block behind it.
#[inline]
fn is_timed_so(header: &[u8], block: &[u8]) -> bool {
    header.get(8..HEADER_BYTES) == block.get(NAME.end..NAME.end + 8)
}
