//! Lines over one connection, each no longer than it may be, each here in time.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use socket2::{SockRef, TcpKeepalive};

use host::sys::clock::monotonic_ns;

/// A line that is longer is not read: of what a listener is told, and of what it answers.
pub(super) const TOLD_BYTES_MAX: usize = 1 << 20;
pub(super) const ANSWER_BYTES_MAX: usize = 1 << 30;
/// The same before both know each other: who answers may be anybody.
pub(super) const GREETING_BYTES_MAX: usize = 16 << 10;
/// So much is read at once.
const READ_BYTES: usize = 16 << 10;
/// A reader looks so often whether its time has moved.
const LOOK: Duration = Duration::from_millis(500);
/// Who does not take what is said to him for so long is gone.
const TAKING_MAX: Duration = Duration::from_secs(30);
/// After so long without a word the kernel asks whether the other end is there (tcp(7)),
const ASKED_AFTER: Duration = Duration::from_secs(20);
/// again after so long each time,
const ASKED_EVERY: Duration = Duration::from_secs(10);
/// and ends the connection after so many that nobody answered: more than a card needs whose link
/// goes down and comes up for a setting, and a switch that looks for loops first.
const ASKED_TIMES: u32 = 7;

/// The reading side of a connection.
#[derive(Debug)]
pub struct LineReader {
    socket: TcpStream,
    buffer: Vec<u8>,
    bytes_max: usize,
    until_ns: Arc<AtomicU64>,
}

/// The writing side, which several threads may share: each line is whole.
#[derive(Clone, Debug)]
pub struct LineWriter {
    socket: Arc<Mutex<TcpStream>>,
    /// When the reading side of this connection gives up, CLOCK_MONOTONIC, ns.
    until_ns: Arc<AtomicU64>,
}

impl LineReader {
    /// Both sides of a connection, of which nothing is expected after `within`.
    ///
    /// # Errors
    /// With the kernel's words.
    pub(super) fn new(
        socket: TcpStream,
        within: Duration,
        bytes_max: usize,
    ) -> io::Result<(LineReader, LineWriter)> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(TAKING_MAX))?;
        let until_ns = Arc::new(AtomicU64::new(0));
        let writer = Arc::new(Mutex::new(socket.try_clone()?));
        let voice = LineWriter { socket: writer, until_ns: until_ns.clone() };
        voice.expect_within(within);
        Ok((LineReader { socket, buffer: Vec::new(), bytes_max, until_ns }, voice))
    }

    /// The next line, without its end; `None` at the end of them.
    ///
    /// # Errors
    /// `TimedOut` when it did not come in time, `InvalidData` when it is too long or no UTF-8.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        let mut seen = 0;
        loop {
            if let Some(end) = self.buffer[seen..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(seen + end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                let line = String::from_utf8(line);
                return line
                    .map(Some)
                    .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why));
            }
            seen = self.buffer.len();
            if seen > self.bytes_max {
                let what = format!("a line of more than {} bytes", self.bytes_max);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// The connection, when nothing was read beyond the last line.
    pub(super) fn into_socket(self) -> Option<TcpStream> {
        self.buffer.is_empty().then_some(self.socket)
    }

    /// Lines may be this long from now on.
    pub(super) fn let_in(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    fn fill(&mut self) -> io::Result<usize> {
        let start = self.buffer.len();
        self.buffer.resize(start + READ_BYTES, 0);
        let read = self.read_in_time(start);
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        read
    }

    fn read_in_time(&mut self, start: usize) -> io::Result<usize> {
        loop {
            let left_ns = self.until_ns.load(Relaxed).saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it said nothing in time"));
            }
            // No timeout at all is what zero would be.
            let wait = Duration::from_nanos(left_ns).min(LOOK).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(wait))?;
            match self.socket.read(&mut self.buffer[start..]) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

impl LineWriter {
    /// Says one message.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn say(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(message).map_err(io::Error::other)?;
        line.push('\n');
        self.write_whole(line.as_bytes())
    }

    /// Says one word.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn word(&self, word: &str) -> io::Result<()> {
        self.write_whole(format!("{word}\n").as_bytes())
    }

    /// The reading side waits so long from now on.
    pub fn expect_within(&self, within: Duration) {
        let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        self.until_ns.store(monotonic_ns().saturating_add(within_ns), Relaxed);
    }

    /// Has the connection end within 90 s when the machine of its other end is gone and nobody says
    /// so, as it may be in talks in which nothing is said for hours.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn keep_alive(&self) -> io::Result<()> {
        keep_alive(&self.socket.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the connection both ways, whoever else holds it; one that has ended already stays so.
    pub fn hang_up(&self) {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = socket.shutdown(Shutdown::Both);
    }

    fn write_whole(&self, bytes: &[u8]) -> io::Result<()> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }
}

/// For those who write lines themselves, each by one call.
impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_whole(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    let asked = TcpKeepalive::new().with_time(ASKED_AFTER).with_interval(ASKED_EVERY);
    SockRef::from(socket).set_tcp_keepalive(&asked.with_retries(ASKED_TIMES))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    /// What the kernel holds: a machine that vanished was waited for as long as it has no limit.
    #[test]
    fn the_kernel_asks_after_an_end_that_says_nothing() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let held = SockRef::from(&socket);
        assert!(!held.keepalive().unwrap());
        keep_alive(&socket).unwrap();
        assert!(held.keepalive().unwrap());
        let (idle, step) = (held.tcp_keepalive_time(), held.tcp_keepalive_interval());
        let asked = idle.unwrap() + step.unwrap() * held.tcp_keepalive_retries().unwrap();
        assert_eq!(asked, Duration::from_secs(90));
    }
}
