//! Connections over which nothing may be said for hours, and whose other end is missed all the
//! same when its machine is gone: nobody ends them then.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use libc::c_int;

/// After so long without a word the kernel asks whether the other end is there,
const IDLE_S: c_int = 20;
/// again after so long each time,
const STEP_S: c_int = 10;
/// and ends the connection after so many that nobody answered: more than a card needs whose link
/// goes down and comes up for a setting, and a switch that looks for loops first.
const ASKED: c_int = 7;

/// Has the kernel end this connection within 90 s of its other end's machine going away (tcp(7)).
///
/// # Errors
/// With the kernel's words.
pub fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    for (level, option, value) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, IDLE_S),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, STEP_S),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, ASKED),
    ] {
        let length = size_of::<c_int>() as libc::socklen_t;
        let data = (&raw const value).cast();
        // SAFETY: the kernel reads `length` bytes of `value`, which lives until this returns, and
        // the descriptor is that of `socket`, which is borrowed as long.
        if unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, data, length) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
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
        let held = |level, option| {
            let (mut value, mut length): (c_int, _) = (-1, size_of::<c_int>() as libc::socklen_t);
            let data = (&raw mut value).cast();
            // SAFETY: the kernel writes at most `length` bytes to `value`, and their number to
            // `length`; both live until this returns.
            let done =
                unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, data, &mut length) };
            assert_eq!(done, 0);
            value
        };
        assert_eq!(held(libc::SOL_SOCKET, libc::SO_KEEPALIVE), 0);
        keep_alive(&socket).unwrap();
        assert_eq!(held(libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1);
        let idle = held(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE);
        let step = held(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL);
        assert_eq!(idle + step * held(libc::IPPROTO_TCP, libc::TCP_KEEPCNT), 90);
    }
}
