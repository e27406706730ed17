//! What the standard library does not say to a socket.

use std::io::{Error, Result};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

/// SOL_SOCKET options of linux/socket.h, and those of TCP.
const ZEROCOPY: i32 = 60;
/// SO_EE_ORIGIN_ZEROCOPY and SO_EE_CODE_ZEROCOPY_COPIED of linux/errqueue.h.
const FROM_ZEROCOPY: u8 = 5;
const COPIED: u8 = 1;

/// Sets an option to a number.
pub fn set(socket: &impl AsFd, level: i32, option: i32, value: i32) -> Result<()> {
    let bytes = value.to_ne_bytes();
    set_bytes(socket, level, option, &bytes)
}

fn set_bytes(socket: &impl AsFd, level: i32, option: i32, value: &[u8]) -> Result<()> {
    let (data, length) = (value.as_ptr().cast(), value.len() as libc::socklen_t);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `length` bytes of `value`, which outlives the call.
    match unsafe { libc::setsockopt(socket, level, option, data, length) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Bytes that may wait to be read, as asked: the kernel doubles it, for its own bookkeeping.
pub fn set_receive_buffer(socket: &impl AsFd, bytes: u64) -> Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Bytes that must have come before who waits for them is woken; the kernel makes room for them.
pub fn set_low_water(socket: &impl AsFd, bytes: u64) -> Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Bytes that may wait to be sent, as asked.
pub fn set_send_buffer(socket: &impl AsFd, bytes: u64) -> Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// What the kernel made of the two calls above: send and receive buffer, bytes.
pub fn buffers(socket: &impl AsFd) -> Result<(u64, u64)> {
    Ok((socket_option(socket, libc::SO_SNDBUF)?, socket_option(socket, libc::SO_RCVBUF)?))
}

/// What the kernel made of [`set_low_water`], bytes.
pub fn low_water(socket: &impl AsFd) -> Result<u64> {
    socket_option(socket, libc::SO_RCVLOWAT)
}

/// A number of a socket's own.
fn socket_option(socket: &impl AsFd, option: i32) -> Result<u64> {
    let (mut value, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let (socket, data) = (socket.as_fd().as_raw_fd(), (&raw mut value).cast());
    // SAFETY: the kernel writes at most `length` bytes into `value`.
    match unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, option, data, &raw mut length) } {
        0 => Ok(value.max(0) as u64),
        _ => Err(Error::last_os_error()),
    }
}

/// Bytes that were sent and that the other end's kernel has not acknowledged (tcp(7), SIOCOUTQ).
pub fn unacknowledged(socket: &TcpStream) -> Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int into `bytes`.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) } {
        0 => Ok(bytes.max(0) as u64),
        _ => Err(Error::last_os_error()),
    }
}

/// The algorithm that says how fast it sends.
pub fn set_congestion(socket: &TcpStream, name: &str) -> Result<()> {
    set_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}

/// Has the kernel send no more than so many bytes a second (socket(7), SO_MAX_PACING_RATE).
pub fn pace(socket: &TcpStream, bytes_per_s: u64) -> Result<()> {
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s.to_ne_bytes())
}

/// Allows MSG_ZEROCOPY.
pub fn allow_zerocopy(socket: &TcpStream) -> Result<()> {
    set(socket, libc::SOL_SOCKET, ZEROCOPY, 1)
}

/// send(2) without copying: `bytes` must stay as they are until the kernel says that it is done.
#[inline]
pub fn send_zerocopy(socket: &TcpStream, bytes: &[u8]) -> Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
    // SAFETY: the kernel reads `bytes` only, now and later; the caller keeps them.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| Error::last_os_error())
}

/// recv(2) that drops up to `bytes` without copying them (tcp(7), MSG_TRUNC).
#[inline]
pub fn drop_received(socket: &TcpStream, bytes: usize) -> Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel writes nothing to a TCP receiver's buffer.
    let got =
        unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), bytes, libc::MSG_TRUNC) };
    usize::try_from(got).map_err(|_| Error::last_os_error())
}

/// What the kernel said of sends without copying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZerocopyCompletions {
    /// Sends that are over.
    pub sends: u64,
    /// Of these, sends whose bytes were copied after all.
    pub copied: u64,
}

/// Room for one control message of an error with the address that it came from.
#[repr(C, align(8))]
struct ErrorControlBuffer([u8; 128]);

/// Reads one such message; `None` when there is none now. Never waits.
#[inline]
pub fn completed(socket: &TcpStream) -> Result<Option<ZerocopyCompletions>> {
    let mut control = ErrorControlBuffer([0; 128]);
    // SAFETY: all zeros are a valid header without name and data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes into `message` and `control`, both ours, within their lengths.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) } < 0 {
        let why = Error::last_os_error();
        return if why.kind() == std::io::ErrorKind::WouldBlock { Ok(None) } else { Err(why) };
    }
    let length = (message.msg_controllen as usize).min(control.0.len());
    Ok(Some(completion(&control.0[..length])))
}

/// Reads a control message: `struct cmsghdr` of 16 bytes, then `struct sock_extended_err`: errno at
/// 0, origin at 4, code at 6, the first send at 8 and the last at 12 (numbers that wrap).
fn completion(control: &[u8]) -> ZerocopyCompletions {
    const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
    let Some(error) = control.get(HEADER_BYTES..HEADER_BYTES + 16) else {
        return ZerocopyCompletions::default();
    };
    let word =
        |at: usize| u32::from_ne_bytes([error[at], error[at + 1], error[at + 2], error[at + 3]]);
    if error[4] != FROM_ZEROCOPY || word(0) != 0 {
        return ZerocopyCompletions::default();
    }
    let sends = u64::from(word(12).wrapping_sub(word(8))) + 1;
    ZerocopyCompletions { sends, copied: if error[6] & COPIED != 0 { sends } else { 0 } }
}

/// What TCP knows of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments that were sent again, in all.
    pub retransmits: u64,
    /// Smoothed round-trip time, ns.
    pub rtt_ns: u64,
    /// The shortest round trip of late, ns; 0 when there was none yet.
    pub rtt_min_ns: u64,
    /// Congestion window, bytes.
    pub window_bytes: u64,
    /// Time in which bytes were waiting to be sent or acknowledged, in all, ns.
    pub busy_ns: u64,
    /// Of that, time in which the receiver's window let no more go,
    pub receiver_limited_ns: u64,
    /// and in which the send buffer held no more.
    pub buffer_limited_ns: u64,
}

/// `struct tcp_info` of linux/tcp.h up to the last field that is read here; the C library's ends
/// sooner.
const INFO_BYTES: usize = 192;

/// Asks for it (TCP_INFO).
pub fn info(socket: &TcpStream) -> Result<TcpInfo> {
    let mut bytes = [0_u8; INFO_BYTES];
    let mut length = bytes.len() as libc::socklen_t;
    let (socket, data) = (socket.as_raw_fd(), bytes.as_mut_ptr().cast());
    // SAFETY: the kernel writes at most `length` bytes into `bytes`.
    let asked = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, data, &raw mut length)
    };
    if asked != 0 {
        return Err(Error::last_os_error());
    }
    Ok(known(&bytes[..(length as usize).min(INFO_BYTES)]))
}

/// Reads a `struct tcp_info`, by the kernel's offsets; what an older kernel does not say is 0.
fn known(info: &[u8]) -> TcpInfo {
    fn field<const N: usize>(info: &[u8], at: usize) -> [u8; N] {
        let bytes = info.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
        bytes.unwrap_or([0; N])
    }
    let word = |at| u64::from(u32::from_ne_bytes(field(info, at)));
    let long_ns = |at| u64::from_ne_bytes(field(info, at)).saturating_mul(1000);
    // All ones stand for none.
    let least_us = Some(word(148)).filter(|us| *us != u64::from(u32::MAX)).unwrap_or(0);
    TcpInfo {
        retransmits: word(100),
        rtt_ns: word(68) * 1000,
        rtt_min_ns: least_us * 1000,
        window_bytes: word(80) * word(16),
        busy_ns: long_ns(168),
        receiver_limited_ns: long_ns(176),
        buffer_limited_ns: long_ns(184),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(origin: u8, code: u8, first: u32, last: u32) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<libc::cmsghdr>()];
        bytes.extend([0, 0, 0, 0, origin, 0, code, 0]);
        bytes.extend([first, last].iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn completions_tell_how_many_sends_and_whether_the_kernel_copied_them() {
        let of = |bytes: &[u8]| {
            let ZerocopyCompletions { sends, copied } = completion(bytes);
            (sends, copied)
        };
        assert_eq!(of(&control(FROM_ZEROCOPY, 0, 3, 7)), (5, 0));
        assert_eq!(of(&control(FROM_ZEROCOPY, COPIED, 3, 3)), (1, 1));
        assert_eq!(of(&control(FROM_ZEROCOPY, COPIED, u32::MAX, 1)), (3, 3), "numbers wrap");
        assert_eq!(of(&control(2, COPIED, 3, 3)), (0, 0), "an ICMP error is something else");
        let whole = control(FROM_ZEROCOPY, 0, 3, 7);
        for length in 0..whole.len() {
            assert_eq!(of(&whole[..length]), (0, 0), "{length}");
        }
    }

    #[test]
    fn a_receiver_is_woken_by_the_byte_that_reaches_its_low_water() {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        set_low_water(&receiver, 1000).unwrap();
        assert_eq!(low_water(&receiver).unwrap(), 1000);
        let woken = |ms: i64| {
            let limit = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
            poll(&mut [PollFd::new(&receiver, PollFlags::IN)], Some(&limit)).unwrap() > 0
        };
        sender.write_all(&[1; 999]).unwrap();
        assert!(!woken(50));
        sender.write_all(&[1]).unwrap();
        assert!(woken(10_000));
    }

    /// The fields after the C library's last one, at the offsets of linux/tcp.h, and cut at every
    /// byte as an older kernel cuts it.
    #[test]
    fn what_an_older_kernel_does_not_say_is_0() {
        let mut raw = vec![0_u8; INFO_BYTES];
        for (at, value) in [(16, 1448_u32), (68, 250), (80, 10), (100, 7), (148, 40)] {
            raw[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in [(168, 900_u64), (176, 20), (184, 30)] {
            raw[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let whole = known(&raw);
        let (rtt_ns, rtt_min_ns, window_bytes) = (250_000, 40_000, 14_480);
        let (busy_ns, receiver_limited_ns, buffer_limited_ns) = (900_000, 20_000, 30_000);
        let expected = TcpInfo {
            retransmits: 7,
            rtt_ns,
            rtt_min_ns,
            window_bytes,
            busy_ns,
            receiver_limited_ns,
            buffer_limited_ns,
        };
        assert_eq!(whole, expected);
        for length in 0..raw.len() {
            let cut = known(&raw[..length]);
            assert!(cut.busy_ns == if length >= 176 { 900_000 } else { 0 }, "{length}");
            assert!(cut.retransmits == if length >= 104 { 7 } else { 0 }, "{length}");
        }
        raw[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(known(&raw).rtt_min_ns, 0, "no round trip was seen yet");
    }
}
