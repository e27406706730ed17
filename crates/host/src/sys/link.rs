//! Network namespaces, and pairs of virtual Ethernet interfaces (veth(4)) that join two of them.
//!
//! A namespace made here has no name: it is gone with the last thread in it and the last descriptor
//! or socket of it, and its interfaces are gone with it. There is nothing to undo.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::Error;
use super::netlink::{self, value};

// linux/rtnetlink.h.
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const MAKE: u16 = NLM_F_EXCL | NLM_F_CREATE;
// linux/if_link.h: IFLA_IFNAME, IFLA_MTU, IFLA_LINKINFO with its IFLA_INFO_KIND and IFLA_INFO_DATA,
// IFLA_NET_NS_FD; linux/veth.h: VETH_INFO_PEER.
const NAME: u16 = 3;
const MTU: u16 = 4;
const INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const NAMESPACE: u16 = 28;
const PEER: u16 = 1;
// linux/if_addr.h: IFA_ADDRESS, IFA_LOCAL.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
/// Where `ip netns` keeps its names.
const NAMED: &str = "/run/netns";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// That of the calling thread.
    ///
    /// # Errors
    /// When /proc does not tell.
    pub fn own() -> Result<Namespace, Error> {
        Namespace::at("/proc/thread-self/ns/net".as_ref())
    }

    /// The one that `ip netns add NAME` has made.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn named(name: &str) -> Result<Namespace, Error> {
        let hint = "`ip netns list` lists those that there are";
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        if !plain {
            let what = format!("cannot use the network namespace `{name}`");
            return Err(Error::new(what, "that is no name of one").hint(hint));
        }
        Namespace::at(&Path::new(NAMED).join(name)).map_err(|error| error.hint(hint))
    }

    /// That of a process.
    ///
    /// # Errors
    /// When there is none of that number, or it is not ours to see.
    pub fn of_process(pid: u32) -> Result<Namespace, Error> {
        Namespace::at(format!("/proc/{pid}/ns/net").as_ref())
    }

    fn at(path: &Path) -> Result<Namespace, Error> {
        let opened = File::open(path);
        let opened = opened.map_err(|why| {
            Error::new(format!("cannot open the network namespace {}", path.display()), why)
        })?;
        Ok(Namespace(opened.into()))
    }

    /// A new one, in which the calling thread is from now on.
    ///
    /// # Errors
    /// When the kernel refuses: it takes CAP_SYS_ADMIN.
    pub fn make() -> Result<Namespace, Error> {
        // SAFETY: changes which network the calling thread sees, and nothing in memory.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            let why = std::io::Error::last_os_error();
            return Err(Error::new("cannot make a network namespace", why));
        }
        Namespace::own()
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// When the kernel refuses: it takes CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|why| {
            Error::new("cannot enter a network namespace", std::io::Error::from(why))
        })
    }
}

/// Makes a pair of virtual Ethernet interfaces: `name` in the calling thread's namespace, `peer` in
/// another one. `mtu` in bytes; `None` leaves it to the kernel (1500).
///
/// # Errors
/// When the kernel refuses: it takes CAP_NET_ADMIN and the module `veth`.
pub fn make_pair(name: &str, peer: &str, there: &Namespace, mtu: Option<u32>) -> Result<(), Error> {
    let mtu = mtu.map(|mtu| value(MTU, &mtu.to_ne_bytes()));
    let end = |name: &str, other: DefaultNla| {
        let named = [netlink::text(NAME, name)].into_iter();
        let all: Vec<DefaultNla> = named.chain(mtu.clone()).chain([other]).collect();
        netlink::body(&interface(0, 0), &all)
    };
    let peer = end(peer, value(NAMESPACE, &there.0.as_raw_fd().to_ne_bytes()));
    let data = value(INFO_DATA, &netlink::body(&[], &[value(PEER, &peer)]));
    let info = value(INFO, &netlink::body(&[], &[value(INFO_KIND, b"veth"), data]));
    netlink::ask(NEW_LINK, MAKE, &end(name, info))
        .map_err(|why| Error::new("cannot make a pair of virtual Ethernet interfaces", why))
}

/// Gives the interface `name` of the calling thread's namespace an address, and sets it up.
///
/// # Errors
/// When there is no such interface, or the kernel refuses.
pub fn set_up(name: &str, address: Ipv4Addr, prefix: u8) -> Result<(), Error> {
    const UP: u32 = libc::IFF_UP as u32;
    let failed = |why: std::io::Error| {
        Error::new(format!("cannot set up the interface {name} with {address}/{prefix}"), why)
    };
    let index = index_of(name).map_err(failed)?;
    let mut head = vec![libc::AF_INET as u8, prefix, 0, 0];
    head.extend(index.to_ne_bytes());
    let own = [LOCAL, ADDRESS].map(|kind| value(kind, &address.octets()));
    netlink::ask(NEW_ADDRESS, MAKE, &netlink::body(&head, &own)).map_err(failed)?;
    netlink::ask(NEW_LINK, 0, &interface(index, UP)).map_err(failed)
}

/// The IPv4 addresses of the interfaces of the calling thread's namespace that are up, without
/// those of loopback, each once.
///
/// # Errors
/// When the kernel does not tell.
pub fn addresses() -> Result<Vec<Ipv4Addr>, Error> {
    let mut found = Vec::new();
    for (_, address) in named_addresses()? {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}

/// The same, each with the name of its interface.
///
/// # Errors
/// When the kernel does not tell.
fn named_addresses() -> Result<Vec<(String, Ipv4Addr)>, Error> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: writes the head of a list that it allocates, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        let why = std::io::Error::last_os_error();
        return Err(Error::new("cannot ask for the addresses of network interfaces", why));
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: entries are valid until the list is freed; an address of AF_INET is a `sockaddr_in`,
    // which is copied out unaligned.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        let is_up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
        // SAFETY: as above.
        let Some(address) = (unsafe { entry.ifa_addr.as_ref() }) else { continue };
        if !is_up || i32::from(address.sa_family) != libc::AF_INET {
            continue;
        }
        // SAFETY: as above.
        let ip = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
        let ip = Ipv4Addr::from(u32::from_be(ip.sin_addr.s_addr));
        // SAFETY: each entry has a name, which ends with a zero and is valid as the entry is.
        let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
        if !ip.is_loopback() {
            found.push((name.to_string_lossy().into_owned(), ip));
        }
    }
    // SAFETY: the list was made above, and nothing of it is held.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// The interface that packets to `address` leave by, when it has an address of version 4 of its
/// own; `None` for loopback, and where there is no way.
pub fn towards(address: IpAddr) -> Option<String> {
    // Connecting a socket of UDP asks for the way, and sends nothing.
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, 2049)).ok()?;
    having(socket.local_addr().ok()?.ip()).ok()?
}

/// The interface that has this address; none has one of version 6 here, or of loopback.
///
/// # Errors
/// When the kernel does not tell.
pub fn having(own: IpAddr) -> Result<Option<String>, Error> {
    let all = named_addresses()?.into_iter();
    Ok(all.filter(|(_, address)| IpAddr::V4(*address) == own).map(|(name, _)| name).next())
}

/// Number of the interface of that name, in the network namespace that we are in.
///
/// # Errors
/// When there is none.
pub fn index_of(name: &str) -> std::io::Result<u32> {
    Ok(netdevice::name_to_index(any_socket()?, name)?)
}

/// Name of the interface of that number, in the network namespace that we are in.
pub fn name_of(index: u32) -> Option<String> {
    let name = netdevice::index_to_name_inlined(any_socket().ok()?, index).ok()?;
    Some(String::from_utf8_lossy(name.as_bytes()).into_owned())
}

/// What the requests of netdevice(7) go through: a socket, of whatever kind.
fn any_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
}

/// `struct ifinfomsg`, with the flags to be set.
fn interface(index: u32, flags: u32) -> Vec<u8> {
    let words = [0, index, flags, flags];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_named_without_a_way_out_of_the_folder() {
        for name in ["", ".", "..", "../self/ns/net", "no-such-namespace"] {
            let refused = Namespace::named(name).unwrap_err();
            assert!(refused.hint.is_some_and(|hint| hint.contains("ip netns")), "{name}");
        }
    }
}
