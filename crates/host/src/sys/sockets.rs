//! What waits in one connection of TCP: sock_diag(7), asked of that connection alone.
//!
//! Reading /proc/net/tcp walks through all the kernel's tables, which takes milliseconds on any
//! machine; a connection that is known by its addresses and ports is found at once.

use std::fs::File;
use std::io::{Read, Write};

use netlink_packet_core::NetlinkBuffer;

use super::link::Namespace;
use super::{Error, netlink};

/// SOCK_DIAG_BY_FAMILY of linux/sock_diag.h, which is the answer's kind, too.
const BY_FAMILY: u16 = 20;
/// `struct inet_diag_sockid` of linux/inet_diag.h.
const ID_BYTES: usize = 48;
/// TCP_ESTABLISHED of net/tcp_states.h.
const ESTABLISHED: u8 = 1;
/// Where the answer has its state, from its head's end: `struct inet_diag_msg`.
const STATE_AT: usize = 1;
/// And its queues.
const RECEIVE_AT: usize = 4 + ID_BYTES + 4;
const SEND_AT: usize = RECEIVE_AT + 4;

/// An end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    family: u8,
    id: [u8; ID_BYTES],
}

/// Bytes that wait at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Handed to TCP, and not acknowledged by the other end.
    pub send_bytes: u64,
    /// Arrived, and not taken by whoever reads.
    pub receive_bytes: u64,
}

impl Connection {
    /// By the local and the remote address, each as the kernel's four words of it (one for version
    /// 4, in the order of the network), with their ports.
    pub fn new(local: (&[u32], u16), remote: (&[u32], u16)) -> Connection {
        let mut id = [0; ID_BYTES];
        id[..2].copy_from_slice(&local.1.to_be_bytes());
        id[2..4].copy_from_slice(&remote.1.to_be_bytes());
        for (words, at) in [(local.0, 4), (remote.0, 20)] {
            for (word, place) in words.iter().zip(id[at..at + 16].chunks_exact_mut(4)) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
        }
        // Whatever its cookie (INET_DIAG_NOCOOKIE).
        id[40..].fill(0xff);
        let family = if local.0.len() > 1 { libc::AF_INET6 } else { libc::AF_INET };
        Connection { family: family as u8, id }
    }

    /// `struct inet_diag_req_v2`, of connections in any state.
    fn request(&self) -> Vec<u8> {
        let mut body = vec![self.family, libc::IPPROTO_TCP as u8, 0, 0, 0xff, 0xff, 0xff, 0xff];
        body.extend(self.id);
        netlink::request(BY_FAMILY, 0, &body)
    }
}

/// A socket by which the kernel is asked for the connections of one network namespace.
#[derive(Debug)]
pub struct SockDiagSocket(File);

impl SockDiagSocket {
    /// Of the namespace of the process `pid`; of our own for `None`.
    ///
    /// # Errors
    /// When the kernel refuses: another namespace takes CAP_SYS_ADMIN.
    pub fn open(pid: Option<u32>) -> Result<SockDiagSocket, Error> {
        let own = || {
            let what = "cannot open a socket of sock_diag";
            netlink::open(netlink::SOCK_DIAG)
                .map(SockDiagSocket)
                .map_err(|why| Error::new(what, why))
        };
        let Some(pid) = pid else { return own() };
        let there = Namespace::of_process(pid)?;
        // A socket belongs to the namespace of the thread that made it: that thread ends with it.
        let opened = std::thread::spawn(move || there.enter().and_then(|()| own())).join();
        opened.unwrap_or_else(|_| {
            Err(Error::new("cannot open a socket of sock_diag", "a thread ended"))
        })
    }

    /// What waits in a connection; `None` when it is not established any more (the kernel knows of
    /// an ended one for another minute, in which nothing waits), or the kernel does not tell.
    pub fn queues(&mut self, connection: &Connection) -> Option<Queues> {
        self.0.write_all(&connection.request()).ok()?;
        let mut answer = [0; 4096];
        let length = self.0.read(&mut answer).ok()?;
        queues(&answer[..length])
    }
}

fn queues(answer: &[u8]) -> Option<Queues> {
    let message = NetlinkBuffer::new_checked(answer).ok()?;
    let body = message.payload();
    if message.message_type() != BY_FAMILY || *body.get(STATE_AT)? != ESTABLISHED {
        return None;
    }
    let number = |at| Some(u64::from(u32::from_ne_bytes(*body.get(at..)?.first_chunk()?)));
    Some(Queues { send_bytes: number(SEND_AT)?, receive_bytes: number(RECEIVE_AT)? })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn an_answer_is_read_or_is_none_and_no_cut_of_it_panics() {
        const HEADER_BYTES: usize = 16;
        let mut answer = netlink::request(BY_FAMILY, 0, &[0; 72]);
        answer[HEADER_BYTES + STATE_AT] = ESTABLISHED;
        answer[HEADER_BYTES + 56..][..4].copy_from_slice(&7_u32.to_ne_bytes());
        answer[HEADER_BYTES + 60..][..4].copy_from_slice(&9_u32.to_ne_bytes());
        assert_eq!(queues(&answer), Some(Queues { send_bytes: 9, receive_bytes: 7 }));
        for end in 0..HEADER_BYTES + 64 {
            assert_eq!(queues(&answer[..end]), None);
        }
        answer[4] = 2;
        assert_eq!(queues(&answer), None, "an error");
    }

    #[test]
    fn what_nobody_reads_waits_at_the_receiver() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        sender.write_all(&[7; 1234]).unwrap();
        let loopback = [u32::from_ne_bytes([127, 0, 0, 1])];
        let end = |of: &TcpStream| {
            let ports = (of.local_addr().unwrap().port(), of.peer_addr().unwrap().port());
            Connection::new((&loopback, ports.0), (&loopback, ports.1))
        };
        let mut asker = SockDiagSocket::open(None).unwrap();
        let Some(there) = asker.queues(&end(&receiver)) else {
            return; // This kernel has no tcp_diag.
        };
        assert_eq!(there.receive_bytes, 1234);
        // Who ends it first waits for a minute, and the kernel goes on telling that nothing is in
        // its queues: that was taken for a server that had nothing to send.
        let first = end(&sender);
        drop(sender);
        drop(receiver);
        assert_eq!(asker.queues(&first), None);
        let nobody = Connection::new((&loopback, 1), (&loopback, 1));
        assert_eq!(asker.queues(&nobody), None);
    }
}
