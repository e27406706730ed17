//! What a machine does with its disks at one instant, read once for all checks.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::absolute;
use super::bearing::Bearing;
use crate::inventory;
use crate::inventory::disk::{name_for_plan, serials, unshared_serials};
use crate::sys::{Error, Host, block, clock, gate};
use facts::inventory::Mount;
use facts::inventory::disk::Disk;

/// A mount, and who sees it.
pub struct VisibleMount {
    /// Kernel names of the devices that it lies on.
    pub on: Vec<String>,
    /// Its `st_dev`, major and minor.
    pub number: String,
    /// Where it is mounted.
    pub point: String,
    /// The process that sees it; `None` when we do.
    pub process: Option<String>,
}

/// A loop device.
pub struct Loop {
    /// The kernel's name.
    pub name: String,
    /// What it shows, in the kernel's words.
    pub file: String,
    /// Which file that is, where its path still leads to one.
    pub which: Option<(u64, u64)>,
}

/// What the machine does with its disks.
pub struct Scene<'a> {
    pub host: &'a Host,
    pub disks: &'a [Disk],
    pub wipe: &'a [String],
    pub mounts: Vec<VisibleMount>,
    /// What the kernel swaps to: devices and files.
    pub swaps: Vec<PathBuf>,
    pub loops: Vec<Loop>,
    /// Kernel names of everything that the root file system lies on.
    pub below_root: Vec<String>,
    /// What must survive, with the kernel names of everything that it lies on.
    pub avoid: Vec<(PathBuf, Vec<String>)>,
    bearings: Vec<Result<Bearing, Error>>,
    /// When all that was found out, monotonic clock, ns.
    pub looked_ns: u64,
    /// Opens a node for us alone; a test has another.
    pub open_alone: fn(&Path) -> std::io::Result<()>,
}

/// One disk in a scene.
pub struct Seen<'a> {
    pub scene: &'a Scene<'a>,
    pub disk: &'a Disk,
    /// Which of the plan's disks, from 0.
    pub at: usize,
    /// Kernel names of the disk and of its partitions.
    pub names: Vec<String>,
    /// Their numbers.
    pub numbers: Vec<String>,
    /// What it bears.
    pub bearing: &'a Result<Bearing, Error>,
}

impl<'a> Scene<'a> {
    /// Looks at the machine.
    ///
    /// # Errors
    /// When what is mounted cannot be read, or what the root file system lies on.
    pub fn look(
        host: &'a Host,
        disks: &'a [Disk],
        wipe: &'a [String],
        avoid: &[PathBuf],
    ) -> Result<Scene<'a>, Error> {
        Scene::look_with(host, disks, wipe, avoid, "blkid")
    }

    /// The same with another program to ask for signatures.
    pub fn look_with(
        host: &'a Host,
        disks: &'a [Disk],
        wipe: &'a [String],
        avoid: &[PathBuf],
        blkid: &str,
    ) -> Result<Scene<'a>, Error> {
        let below = |path: &Path| {
            let path = existing(host, &absolute(path));
            let target = inventory::target(host, &path)?;
            let below = target.device_names();
            let names: Vec<String> = target.on.into_iter().chain(below).collect();
            Ok::<_, Error>((path, names))
        };
        let avoid = avoid.iter().map(|path| Ok((path.clone(), below(path)?.1)));
        Ok(Scene {
            host,
            disks,
            wipe,
            mounts: mounts(host)?,
            swaps: swaps(host)?,
            loops: loops(host),
            below_root: below(Path::new("/"))?.1,
            avoid: avoid.collect::<Result<_, Error>>()?,
            bearings: disks.iter().map(|disk| Bearing::read_disk(host, disk, blkid)).collect(),
            looked_ns: clock::monotonic_ns(),
            open_alone: |node| {
                let open = || block::open(node, block::How::ReadAlone).map(drop);
                gate::while_none_starts(open)
            },
        })
    }

    /// Each disk in it.
    pub fn seen(&'a self) -> Vec<Seen<'a>> {
        let one = |(at, disk): (usize, &'a Disk)| {
            let names = names(self.host, disk);
            let number = |name: &String| self.host.word(format!("/sys/class/block/{name}/dev"));
            let numbers = names.iter().filter_map(number).chain(disk.identity.number.clone());
            let numbers = numbers.collect();
            Seen { scene: self, disk, at, names, numbers, bearing: &self.bearings[at] }
        };
        self.disks.iter().enumerate().map(one).collect()
    }
}

impl Seen<'_> {
    /// The disk as the plan names it, with the kernel's name.
    pub fn title(&self) -> String {
        format!("{} ({})", self.disk.named, self.disk.name)
    }

    /// Whether the person has confirmed that this very disk may be destroyed.
    pub fn confirmed(&self) -> bool {
        wipe_words(self.scene.host, self.disk).iter().any(|word| self.scene.wipe.contains(word))
    }

    /// What to give to `--wipe`.
    pub fn wipe_word(&self) -> String {
        let words = wipe_words(self.scene.host, self.disk);
        words.into_iter().next().unwrap_or_else(|| self.disk.named.clone())
    }

    /// Nodes of the disk and of its partitions.
    pub fn nodes(&self) -> Vec<PathBuf> {
        self.names.iter().map(|name| Path::new("/dev").join(name.replace('!', "/"))).collect()
    }
}

/// By which words `--wipe` names a disk. Where it bears a serial number or a world-wide name, only
/// by these: a link in /dev/disk/by-id may lead to another disk than its name says, and who types a
/// serial number has looked at the disk. Else by its name in a plan.
pub fn wipe_words(host: &Host, disk: &Disk) -> Vec<String> {
    let mut words = unshared_serials(host, &disk.name);
    if !words.is_empty() {
        let prefixed: Vec<String> = words.iter().map(|word| format!("serial:{word}")).collect();
        words.extend(prefixed);
        return words;
    }
    words.push(name_for_plan(host, &disk.name));
    // Disks that share their serial numbers are told apart by their links.
    if serials(host, &disk.name).is_empty() && !words.contains(&disk.named) {
        words.push(disk.named.clone());
    }
    words
}

/// Kernel names of the disk and of its partitions.
fn names(host: &Host, disk: &Disk) -> Vec<String> {
    let mut names = vec![disk.name.clone()];
    names.extend(block::partitions(host, &disk.name));
    names
}

/// The nearest directory that there is, `path` itself or above.
fn existing(host: &Host, path: &Path) -> PathBuf {
    let mut path = path;
    while !host.path(path).is_dir() {
        match path.parent() {
            Some(parent) => path = parent,
            None => break,
        }
    }
    path.to_owned()
}

/// What is mounted here and where other processes live; each mount namespace is read once
/// (mount_namespaces(7)).
fn mounts(host: &Host) -> Result<Vec<VisibleMount>, Error> {
    let seen = |mount: &Mount, process: Option<&String>| VisibleMount {
        on: inventory::mounted_on(host, mount),
        number: format!("{}:{}", mount.device.0, mount.device.1),
        point: mount.point.clone(),
        process: process.cloned(),
    };
    let own = inventory::mounts(host)?;
    if own.is_empty() {
        return Err(Error::new("cannot tell what is mounted", "/proc/self/mountinfo is empty"));
    }
    let mut all: Vec<VisibleMount> = own.iter().map(|mount| seen(mount, None)).collect();
    let mut namespaces: Vec<PathBuf> = host.link("/proc/self/ns/mnt").into_iter().collect();
    let number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    for pid in host.list("/proc").iter().filter(|name| number(name)) {
        if let Some(namespace) = host.link(format!("/proc/{pid}/ns/mnt")) {
            if namespaces.contains(&namespace) {
                continue;
            }
            namespaces.push(namespace);
        }
        let theirs = inventory::mounts_of_process(host, pid);
        all.extend(theirs.iter().map(|mount| seen(mount, Some(pid))));
    }
    Ok(all)
}

/// What the kernel swaps to; no such file means a kernel without swap.
fn swaps(host: &Host) -> Result<Vec<PathBuf>, Error> {
    if !host.exists("/proc/swaps") {
        return Ok(Vec::new());
    }
    Ok(swapped_to(&host.read("/proc/swaps")?))
}

/// The first column of /proc/swaps; blanks are written as octal escapes, as in mountinfo.
pub fn swapped_to(text: &str) -> Vec<PathBuf> {
    let first = |line: &str| {
        Some(PathBuf::from(facts::inventory::mount::unescape(line.split([' ', '\t']).next()?)))
    };
    text.lines().filter(|line| line.starts_with('/')).filter_map(first).collect()
}

fn loops(host: &Host) -> Vec<Loop> {
    let one = |name: String| {
        let file = host.word(format!("/sys/block/{name}/loop/backing_file"))?;
        let which = file.starts_with('/').then(|| block::which_file(&host.path(&file)));
        Some(Loop { name, which: which.flatten(), file })
    };
    host.list("/sys/block").into_iter().filter_map(one).collect()
}

/// Whether an error says that somebody else has the device for himself.
pub fn is_busy(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::ResourceBusy
}
