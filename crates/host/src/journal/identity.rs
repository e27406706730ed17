//! Finds what tells a device from another one that has taken its name.

use crate::sys::{Host, port};
use facts::identity::{INTERFACE_MARK, Identity, NETWORK_MARK};

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
    let namespace = of_network(host)?.name;
    let port::Marks { index, address, permanent } = port::marks(host, name)?;
    let known_as = format!("{INTERFACE_MARK}{namespace} address {address} made {permanent}");
    let (number, sequence) = (None, Some(index.to_string()));
    Some(Identity { name: name.to_owned(), number, sequence, known_as: Some(known_as) })
}

/// Whether the device of that name is still this one; of a network namespace, whether we are in
/// it.
pub fn still_there(identity: &Identity, host: &Host) -> bool {
    let now = match identity.number {
        Some(_) => of_device(host, &identity.name),
        None if identity.is_network() => of_network(host),
        None if identity.network().is_some() => of_interface(host, &identity.name),
        None => of_btrfs(host, &identity.name),
    };
    now.as_ref() == Some(identity)
}

/// The kernel's name of this disk after the machine was started anew, by its serial number or
/// WWID. `None` when it has neither (a loop device, many virtual disks), is not there, or when
/// more than one bears it, as on two paths to one disk.
pub fn name_after_reboot(identity: &Identity, host: &Host) -> Option<String> {
    let known_as = identity.known_as.as_deref()?;
    if !["wwid:", "serial:"].iter().any(|kind| known_as.starts_with(kind)) {
        return None;
    }
    let names = host.list("/sys/block").into_iter();
    let mut same = names.filter(|name| {
        of_device(host, name).and_then(|now| now.known_as).as_deref() == Some(known_as)
    });
    let first = same.next()?;
    same.next().is_none().then_some(first)
}
