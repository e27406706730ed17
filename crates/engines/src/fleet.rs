//! The other end of a trial on two machines: how both meet, what keeps strangers out, how their
//! clocks compare.
//!
//! One machine listens (`brickyard receive`), the other calls. Every connection begins with one
//! line: that of a caller who wants to talk, or that of a stream of bytes which a talk has
//! announced, with its ticket. Whoever says anything else, or nothing, is gone after seconds and
//! has cost a small thread. What both talk about is the business of the engine; but for the talk in
//! which settings of the listener's machine are changed ([`setting`]).

mod address;
mod call;
mod clock;
pub mod greeting;
mod link;
mod listen;
pub mod setting;
#[cfg(test)]
mod tests;
mod token;

pub use address::{PORT, PeerAddress};
pub use call::Call;
pub use clock::{Alignment, ClockOffset, Tick};
pub use greeting::{PeerMachine, Purpose};
pub use link::{LineReader, LineWriter};
pub use listen::{Bounds, Listener, Session};
pub use token::Token;

/// What both ends must have in common. It grows with every change of what they say to each other.
const PROTOCOL: u32 = 5;
