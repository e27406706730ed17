//! Names of disks: what the kernel calls them, what they bear themselves, and which of these a plan
//! should use.

use std::path::{Path, PathBuf};

use super::{bytes, device, follow};
use crate::sys::Host;

/// Whole block devices that a plan could name, by the kernel's name: none that is made of others,
/// hidden, in memory or empty.
pub fn whole_disks(host: &Host) -> Vec<String> {
    let of_memory = |name: &str| name.starts_with("ram") || name.starts_with("zram");
    let mut all = host.list("/sys/block");
    all.retain(|name| {
        let hidden = host.word(format!("/sys/block/{name}/hidden")).is_some_and(|word| word != "0");
        let empty = size_bytes(host, name).unwrap_or(0) == 0;
        !hidden && !empty && !of_memory(name) && made_of(host, name).is_none()
    });
    all
}

/// Size, bytes. In sectors of 512 bytes, whatever the device's are
/// (Documentation/ABI/stable/sysfs-block).
pub fn size_bytes(host: &Host, name: &str) -> Option<u64> {
    host.word(format!("/sys/block/{name}/size"))?.parse::<u64>().ok()?.checked_mul(512)
}

/// What a disk says that it is: serial numbers first, then world-wide names. Blanks at the ends are
/// cut off.
pub fn serials(host: &Host, name: &str) -> Vec<String> {
    let folder = PathBuf::from(format!("/sys/block/{name}"));
    let word = |file: &str| host.word(folder.join(file));
    let all = [device::serial(host, &folder), word("wwid"), word("device/wwid")];
    let mut serials: Vec<String> = all.into_iter().flatten().collect();
    serials.dedup();
    serials
}

/// Of [`serials`] those that no other disk bears: two namespaces of one NVMe drive share its serial
/// number, and some cheap disks all have the same.
pub fn unshared_serials(host: &Host, name: &str) -> Vec<String> {
    let mut words = serials(host, name);
    if words.is_empty() {
        return words;
    }
    for other in whole_disks(host).iter().filter(|other| *other != name) {
        let theirs = serials(host, other);
        words.retain(|word| !theirs.contains(word));
    }
    words
}

/// How a plan should name a disk, given the kernel's name of it.
pub fn name_for_plan(host: &Host, name: &str) -> String {
    if let Some(file) = shown_file(host, name) {
        return format!("loop:{file}");
    }
    if let Some(serial) = unshared_serials(host, name).first() {
        return format!("serial:{serial}");
    }
    if let Some(link) = link_to(host, "/dev/disk/by-id", name) {
        return link;
    }
    let place = link_to(host, "/dev/disk/by-path", name);
    let place = place.unwrap_or_else(|| node_of(name).to_string_lossy().into_owned());
    format!("path:{place},size={}", size_bytes(host, name).unwrap_or(0))
}

/// The disks of this machine and what a plan calls them, as a hint.
pub fn list(host: &Host) -> String {
    let described = |name: &String| {
        let size = bytes(size_bytes(host, name).unwrap_or(0) as f64);
        format!("`{}` ({name}, {size})", name_for_plan(host, name))
    };
    let all: Vec<String> = whole_disks(host).iter().map(described).collect();
    match all.is_empty() {
        true => "this machine shows no disk: mount /sys, or run outside the container".to_owned(),
        false => format!("the disks of this machine are {}", all.join(", ")),
    }
}

/// The first link in `folder` that leads to the device.
fn link_to(host: &Host, folder: &str, name: &str) -> Option<String> {
    let node = node_of(name);
    let links = host.list(folder).into_iter().map(|link| format!("{folder}/{link}"));
    links.into_iter().find(|link| follow(host, Path::new(link)).is_ok_and(|to| to == node))
}

/// The file that a loop device shows, in the kernel's words.
pub fn shown_file(host: &Host, name: &str) -> Option<String> {
    host.word(format!("/sys/block/{name}/loop/backing_file"))
}

/// What an array, a volume or a cache is made of; `None` when it is a disk.
pub fn made_of(host: &Host, name: &str) -> Option<Vec<String>> {
    let below = host.list(format!("/sys/block/{name}/slaves"));
    let stacked = ["md", "dm"].iter().any(|kind| host.exists(format!("/sys/block/{name}/{kind}")));
    (stacked || !below.is_empty()).then_some(below)
}

/// Its node: the kernel writes `!` where a device's name has a slash (`cciss!c0d0`).
pub fn node_of(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// The kernel's name of a device node.
pub fn name_of_node(host: &Host, node: &Path) -> Option<String> {
    let name = node.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    (!name.is_empty() && host.exists(format!("/sys/class/block/{name}"))).then_some(name)
}
