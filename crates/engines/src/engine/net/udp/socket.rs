//! What the standard library does not say to a socket of datagrams: many at a time, cut and joined
//! by the kernel, with the time at which each came.

use crate::engine::net::job::{DATAGRAM_MAX, HEADER_BYTES};
use std::io::{Error, Result};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

use crate::engine::net::socket::set;

/// Options of linux/udp.h, and what getsockopt(SO_MEMINFO) has of drops (linux/sock_diag.h).
const UDP_SEGMENT: i32 = 103;
const UDP_GRO: i32 = 104;
const MEMINFO_DROPS: usize = 8;

/// The kernel cuts no more than so many datagrams from one call (UDP_MAX_SEGMENTS of older ones).
const SEGMENTS_MAX: usize = 64;
/// Calls hand over, and take, so many datagrams at most.
const AT_ONCE: usize = 32;
/// Room for a time and a length as control messages, bytes.
const CONTROL_BYTES: usize = 128;

/// A socket on an address and a port that others like it may have as well (SO_REUSEADDR), each
/// connected to somebody else: what comes goes to the one that is connected to where it comes from.
pub fn reusable(at: SocketAddr) -> Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    Ok(socket.into())
}

/// Has the kernel cut what is sent into datagrams of so many bytes.
pub fn segment(socket: &UdpSocket, bytes: usize) -> Result<()> {
    set(socket, libc::SOL_UDP, UDP_SEGMENT, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Lets the kernel hand over several datagrams as one.
pub fn coalesce(socket: &UdpSocket) -> Result<()> {
    set(socket, libc::SOL_UDP, UDP_GRO, 1)
}

/// Has each datagram come with the time at which the kernel got it.
pub fn stamp(socket: &UdpSocket) -> Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Datagrams that the socket had no room for, since it was made.
pub fn dropped(socket: &UdpSocket) -> Result<u64> {
    let mut info = [0_u32; 16];
    let mut length = size_of_val(&info) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
    let data = info.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes into `info`.
    match unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, data, &raw mut length) } {
        0 => Ok(u64::from(info[MEMINFO_DROPS])),
        _ => Err(Error::last_os_error()),
    }
}

/// Datagrams that go out by one call: each has a header of its own, and the same body or its own.
pub struct OutgoingDatagrams {
    headers: Vec<[u8; HEADER_BYTES]>,
    /// Read by the kernel through `parts`: one, or one a datagram.
    bodies: Vec<u8>,
    /// Read by the kernel through `messages`.
    _parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

impl OutgoingDatagrams {
    /// How many datagrams of so many bytes fit into one call.
    pub fn most(datagram_bytes: usize, segmented: bool) -> usize {
        match segmented {
            true => (DATAGRAM_MAX / datagram_bytes.max(1)).clamp(1, SEGMENTS_MAX),
            false => AT_ONCE,
        }
    }

    /// `count` datagrams with this body, or each with its own of so many `bodies` that follow each
    /// other; with `segmented` they are one message for the kernel to cut.
    pub fn new(
        count: usize,
        mut bodies: Vec<u8>,
        of_each: bool,
        segmented: bool,
    ) -> OutgoingDatagrams {
        let each = if of_each { bodies.len() / count.max(1) } else { bodies.len() };
        let mut headers = vec![[0_u8; HEADER_BYTES]; count];
        let mut parts = Vec::with_capacity(2 * count);
        for (number, header) in headers.iter_mut().enumerate() {
            let base = header.as_mut_ptr().cast();
            parts.push(libc::iovec { iov_base: base, iov_len: HEADER_BYTES });
            let body = &mut bodies[if of_each { number * each } else { 0 }..][..each];
            parts.push(libc::iovec { iov_base: body.as_mut_ptr().cast(), iov_len: each });
        }
        let each = if segmented { parts.len() } else { 2 };
        let message = |parts: &mut [libc::iovec]| {
            // SAFETY: all zeros are a valid header without name, control and data.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = parts.len() as _;
            message
        };
        let messages = parts.chunks_mut(each).map(message).collect();
        OutgoingDatagrams { headers, bodies, _parts: parts, messages }
    }

    /// Datagrams of one call.
    pub fn count(&self) -> usize {
        self.headers.len()
    }

    /// Numbers them from `first` on, sent at `now_ns`.
    #[inline]
    pub fn number(&mut self, first: u64, now_ns: u64) {
        for (header, number) in self.headers.iter_mut().zip(first..) {
            header[..8].copy_from_slice(&number.to_le_bytes());
            header[8..].copy_from_slice(&now_ns.to_le_bytes());
        }
    }

    /// The bodies, one after another, to be filled before they are sent.
    #[inline]
    pub fn bodies(&mut self) -> &mut [u8] {
        &mut self.bodies
    }

    /// sendmmsg(2) of the messages from number `from` on; how many went.
    #[inline]
    pub fn send(&mut self, socket: &UdpSocket, from: usize) -> Result<usize> {
        let rest = &mut self.messages[from..];
        // SAFETY: the messages point into headers, bodies and parts, which are ours and live as
        // long as they do; none of them is moved or grown after `new`.
        let went =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as u32, 0) };
        usize::try_from(went).map_err(|_| Error::last_os_error())
    }

    /// Messages of one call: the kernel cuts one, or takes each datagram by itself.
    pub fn messages(&self) -> usize {
        self.messages.len()
    }
}

/// Room for a control message, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct DatagramControlBuffer([u8; CONTROL_BYTES]);

/// Buffers for datagrams that come by one call.
pub struct IncomingDatagrams {
    buffers: Vec<u8>,
    each: usize,
    whole: usize,
    controls: Vec<DatagramControlBuffer>,
    /// Read by the kernel through `messages`.
    _parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

/// What came: one datagram, or several of a length that the kernel joined.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDatagrams<'a> {
    /// Their bytes.
    pub bytes: &'a [u8],
    /// Bytes of each but the last, which may have fewer.
    pub each: usize,
    /// When the kernel got it, Unix time, ns; 0 when it did not say.
    pub at_ns: u64,
}

impl IncomingDatagrams {
    /// For datagrams of so many bytes; with `coalesced` for several of them in one.
    pub fn new(datagram_bytes: usize, coalesced: bool) -> IncomingDatagrams {
        let (count, each) = if coalesced { (8, 1 << 16) } else { (AT_ONCE, datagram_bytes) };
        let mut buffers = vec![0; count * each];
        let mut controls = vec![DatagramControlBuffer([0; CONTROL_BYTES]); count];
        let part = |buffer: &mut [u8]| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let mut parts: Vec<libc::iovec> = buffers.chunks_mut(each).map(part).collect();
        let message = |(part, control): (&mut libc::iovec, &mut DatagramControlBuffer)| {
            // SAFETY: all zeros are a valid header without name, control and data.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            message
        };
        let messages = parts.iter_mut().zip(&mut controls).map(message).collect();
        IncomingDatagrams {
            buffers,
            each,
            whole: datagram_bytes,
            controls,
            _parts: parts,
            messages,
        }
    }

    /// Bytes of a datagram of this load.
    #[inline]
    pub fn whole(&self) -> usize {
        self.whole
    }

    /// recvmmsg(2): waits for one, and takes those that are there; how many came.
    #[inline]
    pub fn receive(&mut self, socket: &UdpSocket) -> Result<usize> {
        for message in &mut self.messages {
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        let (messages, count) = (self.messages.as_mut_ptr(), self.messages.len() as u32);
        let flags = libc::MSG_WAITFORONE;
        // SAFETY: the messages point into buffers, controls and parts, which are ours and live as
        // long as they do; none of them is moved or grown after `new`.
        let came = unsafe {
            libc::recvmmsg(socket.as_raw_fd(), messages, count, flags as _, std::ptr::null_mut())
        };
        usize::try_from(came).map_err(|_| Error::last_os_error())
    }

    /// What came in the place of this number.
    #[inline]
    pub fn came(&self, number: usize) -> ReceivedDatagrams<'_> {
        let message = &self.messages[number];
        let length = (message.msg_len as usize).min(self.each);
        let bytes = &self.buffers[number * self.each..][..length];
        let control = &self.controls[number].0;
        let told = message.msg_hdr.msg_controllen.min(CONTROL_BYTES);
        let AncillaryData { at_ns, each } = told_by(&control[..told]);
        ReceivedDatagrams { bytes, each: each.unwrap_or(length), at_ns }
    }
}

/// What the kernel says beside datagrams: when they came, and how long each is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AncillaryData {
    at_ns: u64,
    each: Option<usize>,
}

/// Reads control messages: `struct cmsghdr` of 16 bytes (length, level, type), then the data, each
/// from a multiple of 8 on.
fn told_by(control: &[u8]) -> AncillaryData {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let mut told = AncillaryData::default();
    let mut rest = control;
    while let Some((head, after)) = rest.split_at_checked(HEADER) {
        let word =
            |at: usize| i32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = usize::from_ne_bytes(head[..8].try_into().unwrap_or_default());
        let Some(data) = length.checked_sub(HEADER).and_then(|bytes| after.get(..bytes)) else {
            break;
        };
        let long = |at: usize| {
            let bytes = data.get(at..at + 8)?.try_into().ok()?;
            u64::try_from(i64::from_ne_bytes(bytes)).ok()
        };
        match (word(8), word(12)) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                let at_ns = long(0)
                    .zip(long(8))
                    .and_then(|(seconds, ns)| seconds.checked_mul(1_000_000_000)?.checked_add(ns));
                told.at_ns = at_ns.unwrap_or_default();
            }
            (libc::SOL_UDP, UDP_GRO) => {
                let bytes = data.get(..4).and_then(|bytes| bytes.try_into().ok());
                let each =
                    bytes.map(i32::from_ne_bytes).and_then(|each| usize::try_from(each).ok());
                told.each = each.filter(|each| *each > 0);
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time of 3 s and 7 ns, and a length of 1448, as the kernel writes them.
    fn control() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut message = |kind: (i32, i32), data: &[u8]| {
            bytes.extend((16 + data.len()).to_ne_bytes());
            bytes.extend(kind.0.to_ne_bytes());
            bytes.extend(kind.1.to_ne_bytes());
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        };
        let time = [3_i64.to_ne_bytes(), 7_i64.to_ne_bytes()].concat();
        message((libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS), &time);
        message((libc::SOL_UDP, UDP_GRO), &1448_i32.to_ne_bytes());
        bytes
    }

    #[test]
    fn the_time_and_the_length_are_read_and_what_is_cut_yields_nothing() {
        let whole = control();
        assert_eq!(told_by(&whole), AncillaryData { at_ns: 3_000_000_007, each: Some(1448) });
        for end in 0..whole.len() {
            let told = told_by(&whole[..end]);
            assert!([0, 3_000_000_007].contains(&told.at_ns), "{end}: {told:?}");
            assert!(told.each.is_none_or(|each| each == 1448), "{end}");
        }
        let mut hostile = whole;
        hostile[..8].copy_from_slice(&usize::MAX.to_ne_bytes());
        assert_eq!(told_by(&hostile), AncillaryData::default());
    }
}
