//! Whole disks that a plan names as its target: found by what tells them apart, never by `sdX`.
//!
//! Whether one may be written is decided elsewhere (`provision`). A link under /dev/disk is made by
//! rules that any package may install, from what the disk says of itself: it is followed, not
//! believed.

use crate::journal::identity;
use std::path::{Component, Path, PathBuf};

use super::device;
use crate::sys::{Error, Host, block};
use base::value::bytes;

mod name;

use facts::inventory::disk::Disk;
pub use name::{list, name_for_plan, serials, size_bytes, unshared_serials};

/// Finds the whole disk that a plan names: `serial:` and its serial number or world-wide name;
/// a link in /dev/disk/by-id; `loop:` and the file that a loop device shows; and for a disk that
/// has none of these `path:/dev/disk/by-path/...,size=BYTES` or `path:/dev/vdb,size=BYTES`.
///
/// # Errors
/// When no disk, or more than one, bears the name; when it is a partition, an array or another
/// device made of disks; when the name may be another disk's tomorrow.
pub fn find(host: &Host, named: &str) -> Result<Disk, Error> {
    find_for(host, named, Use::Layout)
}

/// Finds the whole device that a plan names to read it: by the same names, and arrays, volumes and
/// other devices that are made of disks as well. These have links in /dev/disk/by-id too.
///
/// # Errors
/// As [`find`]; a partition is refused.
pub fn find_to_read(host: &Host, named: &str) -> Result<Disk, Error> {
    find_for(host, named, Use::Reading)
}

/// What a device is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Layouts are made on it, which takes disks.
    Layout,
    /// It is read as it is.
    Reading,
}

fn find_for(host: &Host, named: &str, wanted: Use) -> Result<Disk, Error> {
    let found = if let Some(serial) = named.strip_prefix("serial:") {
        by_serial(host, serial)
    } else if let Some(file) = named.strip_prefix("loop:") {
        by_file(host, file)
    } else if let Some(path) = named.strip_prefix("path:") {
        by_path(host, path, wanted)
    } else if named.starts_with("/dev/disk/by-id/") {
        by_link(host, Path::new(named))
    } else {
        Err(bare(host, named, wanted))
    };
    let disk = found.and_then(|name| describe(host, named, &name, wanted));
    disk.map_err(|problem| Error {
        what: format!("cannot use the disk `{named}`"),
        why: problem.why,
        hint: Some(problem.hint),
        errno: None,
    })
}

/// Why a name is not taken, and what to write.
struct Problem {
    why: String,
    hint: String,
}

impl Problem {
    fn new(why: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { why: why.into(), hint: hint.into() }
    }
}

fn describe(host: &Host, named: &str, name: &str, wanted: Use) -> Result<Disk, Problem> {
    if let Some(whole) = block::whole_of(host, name) {
        return Err(a_part(host, name, &whole, wanted));
    }
    if let Some(below) = name::made_of(host, name).filter(|_| wanted == Use::Layout) {
        let names: Vec<String> = below.iter().map(|below| name_for_plan(host, below)).collect();
        return Err(Problem::new(
            format!("{name} is made of other devices, and only whole disks are taken"),
            format!("name its disks, once it is stopped: {}", names.join(", ")),
        ));
    }
    let node = name::node_of(name);
    let missing = || {
        Problem::new(
            format!("/sys/block/{name} does not say its number and size"),
            "mount /sys, or run outside the container",
        )
    };
    let identity = identity::of_device(host, name).ok_or_else(missing)?;
    let size_bytes = name::size_bytes(host, name).ok_or_else(missing)?;
    if host.is_live() && block::number_of(&node) != identity.number {
        return Err(Problem::new(
            format!("{} is not the device {name}", node.display()),
            format!(
                "look at `ls -l {}`: udev makes it a block device {}",
                node.display(),
                identity.number.as_deref().unwrap_or_default()
            ),
        ));
    }
    Ok(Disk { named: named.to_owned(), name: name.to_owned(), node, size_bytes, identity })
}

/// A partition is refused: its disk does all that is done for it.
fn a_part(host: &Host, name: &str, whole: &str, wanted: Use) -> Problem {
    let why = format!("{name} is a partition of {whole}, and only whole disks are taken");
    let part = match wanted {
        Use::Layout => "",
        Use::Reading => "; file-size=... reads a part of it",
    };
    Problem::new(why, format!("write `{}` for all of {whole}{part}", name_for_plan(host, whole)))
}

fn by_serial(host: &Host, serial: &str) -> Result<String, Problem> {
    let all = name::whole_disks(host);
    let bears = |name: &&String| name::serials(host, name).iter().any(|word| word == serial);
    let bearers: Vec<&String> = all.iter().filter(bears).collect();
    match bearers[..] {
        [] => Err(Problem::new("no disk of this machine has that serial number", list(host))),
        [one] => Ok(one.clone()),
        _ => {
            let names: Vec<String> = bearers
                .iter()
                .map(|name| format!("{name} as `{}`", name_for_plan(host, name)))
                .collect();
            let names = names.join(" and ");
            Err(Problem::new(
                format!("more than one disk has that serial number: {names}"),
                "name one of them so; two paths to one disk need one of them taken away",
            ))
        }
    }
}

fn by_file(host: &Host, file: &str) -> Result<String, Problem> {
    if !file.starts_with('/') {
        return Err(Problem::new("the file must be an absolute path", format!("loop:/{file}")));
    }
    let wanted = host.resolve(file);
    let shows = |name: &&String| {
        let shown = name::shown_file(host, name);
        shown.is_some_and(|shown| {
            shown == file || (wanted.is_some() && host.resolve(&shown) == wanted)
        })
    };
    let all = host.list("/sys/block");
    let found: Vec<&String> = all.iter().filter(shows).collect();
    match found[..] {
        [] => Err(Problem::new(
            "no loop device shows that file",
            format!("losetup --find --show {file}"),
        )),
        [one] => Ok(one.clone()),
        _ => {
            let names: Vec<&str> = found.iter().map(|name| name.as_str()).collect();
            Err(Problem::new(
                format!("more than one loop device shows that file: {}", names.join(" and ")),
                format!("losetup -d /dev/{}, until one is left", names.last().unwrap_or(&"loop0")),
            ))
        }
    }
}

fn by_path(host: &Host, path: &str, wanted: Use) -> Result<String, Problem> {
    let shape = "path:/dev/disk/by-path/...,size=BYTES or path:/dev/vdb,size=BYTES";
    let parts = path.rsplit_once(",size=");
    let parts = parts.and_then(|(node, size)| Some((node, size.parse::<u64>().ok()?)));
    let Some((node, size)) = parts else {
        let why = "a path alone may be another disk's at the next boot: it takes its size as well";
        return Err(Problem::new(why, format!("write {shape}")));
    };
    let name = by_link(host, Path::new(node))?;
    let made = wanted == Use::Layout && name::made_of(host, &name).is_some();
    if made || block::whole_of(host, &name).is_some() {
        return Ok(name);
    }
    let better = name_for_plan(host, &name);
    if !better.starts_with("path:") {
        return Err(Problem::new(
            format!("{name} can be told from every other disk, and is not named by its place"),
            format!("write `{better}`"),
        ));
    }
    match name::size_bytes(host, &name) {
        Some(there) if there == size => Ok(name),
        there => Err(Problem::new(
            format!(
                "{name} has {} bytes, not {size}: it may be another disk",
                there.map_or("an unknown number of".to_owned(), |there| there.to_string())
            ),
            format!("look whether it is the one that you mean, then write `{better}`"),
        )),
    }
}

/// The device that a path under /dev leads to, each link on the way looked at.
fn by_link(host: &Host, path: &Path) -> Result<String, Problem> {
    let node = follow(host, path).map_err(|why| Problem::new(why, list(host)))?;
    let name = name::name_of_node(host, &node);
    name.ok_or_else(|| {
        let why = match host.exists(&node) {
            true => format!("{} is no block device of this machine", node.display()),
            false => format!("there is no {}", node.display()),
        };
        Problem::new(why, list(host))
    })
}

/// Where anybody may make files and links, though it is below /dev.
const ANYBODYS: [&str; 2] = ["/dev/shm", "/dev/mqueue"];

/// Follows a chain of links by hand, none of which may lead out of /dev: whoever may write where
/// such a link leads could point it at any disk after it was checked.
fn follow(host: &Host, path: &Path) -> Result<PathBuf, String> {
    // As many as the kernel follows itself (path_resolution(7)).
    const LINKS_MAX: usize = 40;
    let mut at = plain(path);
    for _ in 0..LINKS_MAX {
        if !at.starts_with("/dev") {
            return Err(format!("it leads to {}, outside /dev", at.display()));
        }
        if ANYBODYS.iter().any(|folder| at.starts_with(folder)) {
            return Err(format!("it leads to {}, where anybody may write", at.display()));
        }
        let Some(target) = host.link(&at) else {
            // A directory on the way may be a link as well.
            return match host.resolve(&at) {
                Some(real) if real != at => {
                    Err(format!("{} is really {}", at.display(), real.display()))
                }
                _ => Ok(at),
            };
        };
        at = plain(&at.parent().unwrap_or(Path::new("/")).join(target));
    }
    Err("its links lead in a circle".to_owned())
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            _ => {}
        }
    }
    plain
}

/// What to write instead of `sdb`, `/dev/sdb`, a UUID or nonsense.
fn bare(host: &Host, named: &str, wanted: Use) -> Problem {
    let path = if named.starts_with('/') { named.into() } else { Path::new("/dev").join(named) };
    let known = by_link(host, &path).ok();
    let Some(name) = known else {
        return Problem::new("it is no name of a disk", list(host));
    };
    let whole = block::whole_of(host, &name);
    if let Some(whole) = whole {
        return a_part(host, &name, &whole, wanted);
    }
    Problem::new(
        format!("today that is {name}; at the next boot it may be another disk"),
        format!("write `{}`", name_for_plan(host, &name)),
    )
}

#[cfg(test)]
mod tests;
