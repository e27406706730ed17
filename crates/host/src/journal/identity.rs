//! What tells a device from another one that has taken its name.

use serde::{Deserialize, Serialize};

use crate::sys::{Host, port};

/// What identifies the block device behind a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The kernel's name: `sda`, `md0`, `loop3`; for btrfs the file system's UUID; for a network
    /// namespace `net:[INODE]`; for a network interface its name.
    pub name: String,
    /// Major and minor number, `8:0`; none for a file system or a namespace.
    pub number: Option<String>,
    /// Counts up with every disk that this boot has seen, so that it tells two on one loop device
    /// apart; since Linux 5.15 (Documentation/ABI/stable/sysfs-block, `diskseq`). Of a network
    /// interface its number, which counts up with every one that its namespace has seen.
    pub sequence: Option<String>,
    /// What it is known by elsewhere: a serial number, a WWID, a UUID, a loop's backing file.
    pub known_as: Option<String>,
}

/// Files of a block device that tell it from others, with the word for it.
const MARKS: [(&str, &str); 7] = [
    ("wwid", "wwid"),
    ("device/wwid", "wwid"),
    ("serial", "serial"),
    ("device/serial", "serial"),
    ("dm/uuid", "dm"),
    ("md/uuid", "md"),
    ("loop/backing_file", "file"),
];

/// Names our network namespace by its inode, `net:[4026531840]`.
const NETWORK: &str = "/proc/self/ns/net";
const NETWORK_MARK: &str = "network-namespace";
/// Marks an interface: after it come its namespace, its address and the one that it was made with.
const INTERFACE_MARK: &str = "interface-of:";

impl Identity {
    /// Of a whole block device, by the kernel's name; `None` when there is none of that name.
    pub fn of_device(host: &Host, name: &str) -> Option<Identity> {
        let folder = format!("/sys/block/{name}");
        let word = |file: &str| host.word(format!("{folder}/{file}"));
        let mark = |(file, kind): &(&str, &str)| Some(format!("{kind}:{}", word(file)?));
        Some(Identity {
            name: name.to_owned(),
            number: Some(word("dev")?),
            sequence: word("diskseq"),
            known_as: MARKS.iter().find_map(mark),
        })
    }

    /// Of a mounted btrfs, by its UUID; `None` when there is none.
    pub fn of_btrfs(host: &Host, uuid: &str) -> Option<Identity> {
        let there = host.exists(format!("/sys/fs/btrfs/{uuid}"));
        there.then(|| Identity {
            name: uuid.to_owned(),
            number: None,
            sequence: None,
            known_as: Some(format!("uuid:{uuid}")),
        })
    }

    /// Of the network namespace that we are in: what /proc/sys/net holds is that one's
    /// (network_namespaces(7)). `None` on a kernel without.
    pub fn of_network(host: &Host) -> Option<Identity> {
        let name = host.link(NETWORK)?.file_name()?.to_str()?.to_owned();
        let known_as = Some(NETWORK_MARK.to_owned());
        Some(Identity { name, number: None, sequence: None, known_as })
    }

    /// Of an interface of the network namespace that we are in; `None` when there is none of that
    /// name, or the kernel does not tell.
    pub fn of_interface(host: &Host, name: &str) -> Option<Identity> {
        let namespace = Identity::of_network(host)?.name;
        let port::Marks { index, address, permanent } = port::marks(host, name)?;
        let known_as = format!("{INTERFACE_MARK}{namespace} address {address} made {permanent}");
        let (number, sequence) = (None, Some(index.to_string()));
        Some(Identity { name: name.to_owned(), number, sequence, known_as: Some(known_as) })
    }

    /// The network namespace that this is, or that this interface is in.
    pub fn network(&self) -> Option<&str> {
        let marked = self.known_as.as_deref()?.strip_prefix(INTERFACE_MARK);
        let named = || self.is_network().then_some(self.name.as_str());
        marked.and_then(|rest| rest.split(' ').next()).or_else(named)
    }

    /// Whether it is a network namespace.
    pub fn is_network(&self) -> bool {
        self.known_as.as_deref() == Some(NETWORK_MARK)
    }

    /// Whether the device of that name is still this one; of a network namespace, whether we are in
    /// it.
    pub fn still_there(&self, host: &Host) -> bool {
        let now = match self.number {
            Some(_) => Identity::of_device(host, &self.name),
            None if self.is_network() => Identity::of_network(host),
            None if self.network().is_some() => Identity::of_interface(host, &self.name),
            None => Identity::of_btrfs(host, &self.name),
        };
        now.as_ref() == Some(self)
    }

    /// The kernel's name of this disk after the machine was started anew, by its serial number or
    /// WWID. `None` when it has neither (a loop device, many virtual disks), is not there, or when
    /// more than one bears it, as on two paths to one disk.
    pub fn name_after_reboot(&self, host: &Host) -> Option<String> {
        let known_as = self.known_as.as_deref()?;
        if !["wwid:", "serial:"].iter().any(|kind| known_as.starts_with(kind)) {
            return None;
        }
        let names = host.list("/sys/block").into_iter();
        let mut same = names.filter(|name| {
            Identity::of_device(host, name).and_then(|now| now.known_as).as_deref()
                == Some(known_as)
        });
        let first = same.next()?;
        same.next().is_none().then_some(first)
    }
}
