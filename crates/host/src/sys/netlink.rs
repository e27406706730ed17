//! The socket by which the kernel is asked of its network, and told (netlink(7)), and what all its
//! messages have: heads, attributes, answers.

use std::fs::File;
use std::io::{Read, Write};

use netlink_packet_core::{
    DefaultNla, Emitable, ErrorBuffer, NLA_HEADER_SIZE, NLM_F_ACK, NLM_F_REQUEST, NLMSG_ERROR,
    NetlinkBuffer, NetlinkHeader, NlasIterator,
};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

/// rtnetlink(7): `NETLINK_ROUTE` is 0, as no protocol is.
pub const ROUTE: Option<Protocol> = None;
/// sock_diag(7).
pub const SOCK_DIAG: Option<Protocol> = Some(rustix::net::netlink::SOCK_DIAG);

/// Opens one, of the network namespace that the calling thread is in. It never waits: what is
/// written without an address goes to the kernel, which has its answer ready when that returns.
///
/// # Errors
/// When we may open no such socket.
pub fn open(protocol: Option<Protocol>) -> std::io::Result<File> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?.into())
}

/// A request of this kind, with `NLM_F_REQUEST` and other flags.
pub fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut head = NetlinkHeader::default();
    let mut whole = vec![0; head.buffer_len()];
    head.length = (whole.len() + body.len()) as u32;
    (head.message_type, head.flags) = (kind, NLM_F_REQUEST | flags);
    head.emit(&mut whole);
    whole.extend(body);
    whole
}

/// What a request has after its head: a structure of its kind, and attributes.
pub fn body(structure: &[u8], attributes: &[DefaultNla]) -> Vec<u8> {
    let mut whole = structure.to_vec();
    whole.resize(structure.len() + attributes.buffer_len(), 0);
    attributes.emit(&mut whole[structure.len()..]);
    whole
}

/// An attribute of a kind.
pub fn value(kind: u16, value: &[u8]) -> DefaultNla {
    DefaultNla::new(kind, value.to_vec())
}

/// One that is a text.
pub fn text(kind: u16, text: &str) -> DefaultNla {
    DefaultNla::new(kind, text.bytes().chain([0]).collect())
}

/// The value of the first attribute of a kind.
pub fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut whole = NlasIterator::new(attributes).map_while(Result::ok);
    let found = whole.find(|attribute| attribute.kind() == kind)?;
    let end = usize::from(found.length());
    found.into_inner().get(NLA_HEADER_SIZE..end)
}

/// Sends one request of rtnetlink(7), and reads what the kernel says to it.
///
/// # Errors
/// In the kernel's words.
pub fn ask(kind: u16, flags: u16, body: &[u8]) -> std::io::Result<()> {
    let mut socket = open(ROUTE)?;
    socket.write_all(&request(kind, NLM_F_ACK | flags, body))?;
    let mut answer = [0; 4096];
    let length = socket.read(&mut answer)?;
    acknowledged(&answer[..length])
}

/// Reads the kernel's answer: an error, of which 0 is "done".
fn acknowledged(answer: &[u8]) -> std::io::Result<()> {
    let strange = || std::io::Error::from_raw_os_error(libc::EPROTO);
    let message = NetlinkBuffer::new_checked(answer).map_err(|_| strange())?;
    if message.message_type() != NLMSG_ERROR {
        return Err(strange());
    }
    let error = ErrorBuffer::new_checked(message.payload()).map_err(|_| strange())?;
    error
        .code()
        .map_or(Ok(()), |code| Err(std::io::Error::from_raw_os_error(code.get().saturating_neg())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_filled_up_to_four_bytes_and_count_without() {
        let bytes = body(&[], &[text(3, "ab"), value(4, &7_u32.to_ne_bytes())]);
        assert_eq!((bytes.len(), bytes[7]), (16, 0));
        assert_eq!(bytes[..4], [7_u16.to_ne_bytes(), 3_u16.to_ne_bytes()].concat());
        assert_eq!(bytes[8..10], 8_u16.to_ne_bytes());
    }

    #[test]
    fn an_answer_is_done_or_an_error_in_the_kernels_words_and_never_a_panic() {
        let answer = |code: i32| request(NLMSG_ERROR, 0, &code.to_ne_bytes());
        assert!(acknowledged(&answer(0)).is_ok());
        let refused = acknowledged(&answer(-libc::EPERM)).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
        assert!(acknowledged(&answer(i32::MIN)).is_err());
        for length in 0..answer(0).len() {
            assert!(acknowledged(&answer(0)[..length]).is_err(), "{length}");
        }
    }
}
