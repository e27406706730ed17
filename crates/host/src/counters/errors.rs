//! What the machine itself counted of errors, before a trial and after it: a block that came back
//! wrong tells of nobody, and a counter that grew meanwhile may.
//!
//! Each counter is a line of [`FILES`], or of [`DRIVES`] where drives are asked. One that is not
//! there, or that nobody may read, is no zero. All of them are of the machine, not of the load:
//! what else ran at that time is counted as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::links;
use super::text::{lines, number, words};
use crate::inventory::server::Reading;
use crate::inventory::server::drive::{self, health};
use crate::inventory::server::memory::edac;
use crate::sys::Host;
use facts::counters::errors::{Counted, DRIVES};
use facts::inventory::server::Unread;
use facts::inventory::{Device, Target};

/// A counter in a file of /sys. Reading one asks the kernel, not a device.
#[derive(Debug)]
pub struct File {
    /// Of what, more than one of them.
    pub what: &'static str,
    /// The directories that hold it, and whose each is.
    places: fn(&Host, &[Device]) -> Vec<CounterDirectory>,
    /// In such a directory.
    pub name: &'static str,
    /// Before its number; empty where the file is one number.
    word: &'static str,
}

/// What the counters in a directory of /sys are of, and the path of that directory.
type CounterDirectory = (String, PathBuf);

const fn file(
    what: &'static str,
    places: fn(&Host, &[Device]) -> Vec<CounterDirectory>,
    name: &'static str,
    word: &'static str,
) -> File {
    File { what, places, name, word }
}

/// In the kernel's Documentation: ABI/testing/sysfs-block-device (SCSI), sysfs-bus-pci-devices-
/// aer_stats, sysfs-fs-ext4, sysfs-devices-edac, and admin-guide/md.rst; and btrfs' own, ch-sysfs.
pub const FILES: &[File] = &[
    file("failed commands", scsi, "ioerr_cnt", ""),
    file("timed-out commands", scsi, "iotmo_cnt", ""),
    file("correctable PCIe errors", pcie, "aer_dev_correctable", "TOTAL_ERR_COR"),
    file("non-fatal PCIe errors", pcie, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    file("fatal PCIe errors", pcie, "aer_dev_fatal", "TOTAL_ERR_FATAL"),
    file("corrected memory errors", memory, "ce_count", ""),
    file("uncorrected memory errors", memory, "ue_count", ""),
    file("file system errors", ext4, "errors_count", ""),
    file("write errors", btrfs, "error_stats", "write_errs"),
    file("read errors", btrfs, "error_stats", "read_errs"),
    file("flush errors", btrfs, "error_stats", "flush_errs"),
    file("wrong checksums", btrfs, "error_stats", "corruption_errs"),
    file("wrong generations", btrfs, "error_stats", "generation_errs"),
    file("mismatched sectors", md, "mismatch_cnt", ""),
    file("corrected read errors", md_members, "errors", ""),
];

/// Counters that are kept of a trial: a machine has some hundreds.
const COUNTED_MAX: usize = 4096;

/// No file of /sys is longer than a page, bytes.
const PAGE_BYTES: u64 = 4096;

/// Counters that were read before a trial.
#[derive(Debug)]
pub struct Before {
    host: Host,
    devices: Vec<Device>,
    counts: Vec<Count>,
}

/// A counter at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    of: String,
    what: &'static str,
    from: String,
    count: u64,
}

impl Before {
    /// Reads what counts errors of memory and of all that the directories lie on. Waits for drives
    /// up to [`health::TRIAL_PATIENCE`].
    pub fn read(host: &Host, targets: &[Target]) -> Before {
        let all = targets.iter().flat_map(|target| &target.devices);
        Before::with_devices(host, all.cloned().collect())
    }

    /// The same of memory and of these devices, with all that they lie on.
    pub fn with_devices(host: &Host, mut devices: Vec<Device>) -> Before {
        let mut known = BTreeSet::new();
        devices.retain(|device| known.insert(device.name.clone()));
        let (counts, _) = read(host, &devices);
        Before { host: host.clone(), devices, counts }
    }

    /// Reads the same again; gives each counter that was read at least once, and in words what
    /// could not be read.
    pub fn and_after(self) -> (Vec<Counted>, Vec<String>) {
        let (after, unread) = read(&self.host, &self.devices);
        (joined(self.counts, after), unread)
    }
}

/// Counters of both times, in the order of the first.
fn joined(before: Vec<Count>, after: Vec<Count>) -> Vec<Counted> {
    let counted = |count: Count| Counted {
        of: count.of,
        what: count.what.to_owned(),
        from: count.from,
        ..Counted::default()
    };
    let mut all: Vec<Counted> = Vec::new();
    for count in before.into_iter().take(COUNTED_MAX) {
        let before = Some(count.count);
        all.push(Counted { before, ..counted(count) });
    }
    for count in after {
        // A drive may be asked another way the second time, and count the same.
        let after = Some(count.count);
        match all.iter().position(|it| it.of == count.of && it.what == count.what) {
            Some(place) => all[place].after = after,
            None if all.len() < COUNTED_MAX => all.push(Counted { after, ..counted(count) }),
            None => {}
        }
    }
    all
}

/// All counters as they are now, and in words those that could not be read.
fn read(host: &Host, devices: &[Device]) -> (Vec<Count>, Vec<String>) {
    let (mut counts, mut unread) = of_drives(host, devices);
    let reading = Reading::new(host);
    for file in FILES {
        let mut why = None;
        let known = counts.len();
        for (of, directory) in (file.places)(host, devices) {
            let path = directory.join(file.name);
            let told = reading.front(&path, PAGE_BYTES).map_err(|error| error.to_string());
            let told = told.and_then(|text| {
                count(&text, file.word).ok_or_else(|| "it is no count".to_owned())
            });
            match told {
                Ok(count) => {
                    let from = file.name.to_owned();
                    counts.push(Count { of, what: file.what, from, count });
                }
                Err(error) => why = why.or(Some(format!("{}: {error}", path.display()))),
            }
        }
        if let Some(why) = why.filter(|_| counts.len() == known) {
            unread.push(format!("{} ({why})", file.what));
        }
    }
    (counts, unread)
}

fn of_drives(host: &Host, devices: &[Device]) -> (Vec<Count>, Vec<String>) {
    let mut reading = Reading::new(host);
    let drives = drive::read_within(&mut reading, devices, health::TRIAL_PATIENCE);
    let mut counts = Vec::new();
    for (drive, health) in drives.iter().filter_map(|it| Some((it, it.health.as_ref()?))) {
        let told = serde_json::to_value(health).unwrap_or_default();
        for (key, what) in DRIVES {
            let count = told.get(key).and_then(serde_json::Value::as_u64);
            counts.extend(count.map(|count| Count {
                of: drive.name.clone(),
                what,
                from: health.source.clone(),
                count,
            }));
        }
    }
    let words = |unread: Unread| match unread.hint.is_empty() {
        true => format!("{} ({})", unread.what, unread.why),
        false => format!("{} ({}; {})", unread.what, unread.why, unread.hint),
    };
    let silent = reading.into_unread().into_iter().filter(|it| it.what.starts_with("the health"));
    (counts, silent.map(words).collect())
}

/// The one number of a file, decimal or `0x1f`, or the number behind a word. `None` for anything
/// else, and for a text that was cut off: the front of a number is another number.
fn count(text: &[u8], word: &str) -> Option<u64> {
    if !word.is_empty() {
        return lines(text).find_map(|line| {
            let mut told = words(line);
            let known = told.next()? == word.as_bytes();
            told.next().filter(|_| known).and_then(number)
        });
    }
    let mut all = lines(text).flat_map(words);
    let (one, none) = (all.next()?, all.next());
    if none.is_some() || !text.ends_with(b"\n") {
        return None;
    }
    let Some(digits) = one.strip_prefix(b"0x") else { return number(one) };
    let digits = std::str::from_utf8(digits).ok()?;
    // What is parsed may bear a sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain)
}

fn class(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name)
}

/// Disks that are SCSI to the kernel, as SATA, SAS and USB are.
fn scsi(host: &Host, devices: &[Device]) -> Vec<CounterDirectory> {
    let place = |device: &Device| (device.name.clone(), class(&device.name).join("device"));
    let is_scsi = |(_, path): &CounterDirectory| host.exists(path.join("scsi_level"));
    devices.iter().map(place).filter(is_scsi).collect()
}

/// Both ends of each link on the way to the disks.
fn pcie(host: &Host, devices: &[Device]) -> Vec<CounterDirectory> {
    let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    let ports = links::ports(host, &names).into_iter();
    ports.map(|port| (port.address, port.directory)).collect()
}

/// Controllers of the memory, whatever the devices are. Where none is known the first one stands
/// for what nobody counts.
fn memory(host: &Host, _: &[Device]) -> Vec<CounterDirectory> {
    let mut names = edac::controllers(&Reading::new(host));
    if names.is_empty() {
        names.push("mc0".to_owned());
    }
    let place = |name: String| (name.clone(), Path::new(edac::MC).join(name));
    names.into_iter().map(place).collect()
}

fn ext4(host: &Host, devices: &[Device]) -> Vec<CounterDirectory> {
    let place =
        |device: &Device| (device.name.clone(), Path::new("/sys/fs/ext4").join(&device.name));
    devices.iter().map(place).filter(|(_, path)| host.exists(path)).collect()
}

/// Each device of the file systems that lie on one of these, by its number there.
fn btrfs(host: &Host, devices: &[Device]) -> Vec<CounterDirectory> {
    let all = Path::new("/sys/fs/btrfs");
    let mut places = Vec::new();
    for uuid in host.list(all) {
        let on = host.list(all.join(&uuid).join("devices"));
        if !devices.iter().any(|device| on.contains(&device.name)) {
            continue;
        }
        let numbers = all.join(&uuid).join("devinfo");
        places.extend(
            host.list(&numbers)
                .into_iter()
                .map(|number| (format!("btrfs {uuid} device {number}"), numbers.join(&number))),
        );
    }
    places
}

fn md(host: &Host, devices: &[Device]) -> Vec<CounterDirectory> {
    let place = |device: &Device| (device.name.clone(), class(&device.name).join("md"));
    // Levels without redundancy have nothing to compare.
    let compares = |(_, path): &CounterDirectory| host.exists(path.join("mismatch_cnt"));
    devices.iter().map(place).filter(compares).collect()
}

/// Members of arrays, each by the array's name and its own.
fn md_members(host: &Host, devices: &[Device]) -> Vec<CounterDirectory> {
    let mut places = Vec::new();
    for device in devices {
        let array = class(&device.name).join("md");
        for entry in host.list(&array) {
            if let Some(member) = entry.strip_prefix("dev-") {
                places.push((format!("{} {member}", device.name), array.join(&entry)));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests;
