//! Where the other end listens.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

/// The port where nothing else is said. iperf3 has 5201; nobody is registered at this one (IANA,
/// Service Name and Transport Protocol Port Number Registry, 2026).
pub const PORT: u16 = 5210;

/// A host by its name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    host: String,
    port: u16,
}

impl PeerAddress {
    /// Reads `HOST`, `HOST:PORT`, `[IPV6]:PORT` or an IPv6 address.
    ///
    /// # Errors
    /// With what would do.
    pub fn parse(text: &str) -> Result<PeerAddress, String> {
        let wrong =
            || Err(format!("`{text}` is no HOST or HOST:PORT, such as server2, 10.0.0.2:{PORT}"));
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None => return wrong(),
            },
            None => match text.split_once(':') {
                // An IPv6 address has several.
                Some((_, rest)) if rest.contains(':') => (text, None),
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let good = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
        if host.is_empty() || host.len() > 255 || !host.chars().all(good) {
            return wrong();
        }
        let port = match port.map(str::parse::<u16>) {
            None => PORT,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return wrong(),
        };
        Ok(PeerAddress { host: host.to_owned(), port })
    }

    /// Its addresses, by the resolver of the machine.
    ///
    /// # Errors
    /// In its words.
    pub fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        (self.host.as_str(), self.port).to_socket_addrs().map(Iterator::collect)
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = (&self.host, self.port);
        match (host.contains(':'), port) {
            (false, PORT) => write!(f, "{host}"),
            (true, PORT) => write!(f, "[{host}]"),
            (false, _) => write!(f, "{host}:{port}"),
            (true, _) => write!(f, "[{host}]:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_with_and_without_a_port_and_written_the_same() {
        for (text, host, port) in [
            ("server2", "server2", PORT),
            ("server2:99", "server2", 99),
            ("10.0.0.2:65535", "10.0.0.2", 65535),
            ("[fe80::1%eth0]:7", "fe80::1%eth0", 7),
            ("[::1]", "::1", PORT),
        ] {
            let address = PeerAddress::parse(text).unwrap();
            assert_eq!((address.host.as_str(), address.port), (host, port), "{text}");
            assert_eq!(address.to_string(), text);
        }
        assert_eq!(PeerAddress::parse("::1").unwrap().to_string(), "[::1]");
    }

    #[test]
    fn what_is_no_host_is_refused_with_what_would_do() {
        for text in ["", ":1", "a:", "a:0", "a:65536", "a b", "[::1", "[::1]x", "a/b", "a:b"] {
            let why = PeerAddress::parse(text).unwrap_err();
            assert!(why.contains("HOST:PORT"), "{text}: {why}");
        }
    }
}
