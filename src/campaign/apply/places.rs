//! Where each setting lies on this machine: files of /sys and /proc, with what stands behind them.
//!
//! Which files hold a knob is said by the knob; here they are found.

use experiment::knob::system::lies::{Devices, KIB, KnobFiles, ValueFormat};
use facts::identity::Identity;
use facts::inventory::{DeviceKind, Target};
use host::journal::{identity, in_force};
use host::sys::{Error, Host};

pub mod interface;

/// A file of this machine that holds a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingFile {
    /// As a path of the machine.
    pub path: String,
    /// How values are written there.
    pub form: ValueFormat,
    /// The device behind it, where there is one.
    pub device: Option<Identity>,
    /// What must be written where instead to have the value before again.
    pub instead: Option<(String, String)>,
    /// Files that the kernel changes when this one is written.
    pub disturbs: Vec<String>,
    /// The only words that may be written; empty for all. Others would have the kernel load a
    /// module, which stays.
    pub choices: Vec<String>,
}

/// The files that hold a knob, for trials on these targets.
///
/// # Errors
/// When this machine has none of them, or one of the targets has no such device.
pub fn find(host: &Host, files: KnobFiles, targets: &[Target]) -> Result<Vec<SettingFile>, Error> {
    match files {
        KnobFiles::ReadAhead => read_ahead(host, targets),
        KnobFiles::Queue { file, form, of, disturbs } => {
            let names = |target: &Target| match of {
                Devices::Disks => target.disks.clone(),
                Devices::Stack => stack(target),
            };
            let mut places = queues(host, targets, file, form, names)?;
            for place in &mut places {
                let folder = place.path.strip_suffix(file).unwrap_or_default();
                let along = disturbs.map(|along| format!("{folder}{along}"));
                place.disturbs.extend(along.filter(|path| host.exists(path)));
            }
            Ok(places)
        }
        KnobFiles::Machine { path, form, instead } => {
            let mut place = one(host, path, form)?;
            let other = instead.and_then(|path| Some((path, host.read(path).ok()?)));
            let other = other.map(|(path, text)| (path.to_owned(), in_force(&text).to_owned()));
            place.instead = other.filter(|(_, text)| text != "0");
            Ok(vec![place])
        }
        KnobFiles::Network { paths, form, choices } => {
            let mut places = Vec::new();
            for path in paths {
                let device = identity::of_network(host);
                places.push(SettingFile { device, ..one(host, path, form)? });
            }
            for place in &mut places {
                if let ValueFormat::Last(_) = form {
                    place.form = ValueFormat::Last(first_two(host, &place.path)?);
                }
                if let Some(list) = choices {
                    let words = host.read(list)?;
                    place.choices = words.split_whitespace().map(str::to_owned).collect();
                }
            }
            Ok(places)
        }
        KnobFiles::Governors => cpu_governor(host),
    }
}

/// The first two of the three numbers that a file holds.
fn first_two(host: &Host, path: &str) -> Result<[u64; 2], Error> {
    let text = host.read(path)?;
    let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(Some(least)), Some(Some(first))) => Ok([least, first]),
        _ => {
            let why = format!("it holds {:?}, and three numbers were expected", text.trim());
            Err(Error::new(format!("cannot change {path}"), why))
        }
    }
}

fn of_machine(path: impl Into<String>, form: ValueFormat) -> SettingFile {
    let (disturbs, choices) = (Vec::new(), Vec::new());
    SettingFile { path: path.into(), form, device: None, instead: None, disturbs, choices }
}

/// A file that must be there.
fn one(host: &Host, path: &str, form: ValueFormat) -> Result<SettingFile, Error> {
    match host.exists(path) {
        true => Ok(of_machine(path, form)),
        false => Err(Error::new(format!("cannot change {path}"), "this kernel has no such file")),
    }
}

/// The name of the device with a queue: a partition's is its disk's.
fn whole(target: &Target, name: &str) -> String {
    let device = target.devices.iter().find(|device| device.name == name);
    let partition = device.filter(|device| device.kind == DeviceKind::Partition);
    partition.and_then(|device| device.below.first()).map_or(name, String::as_str).to_owned()
}

/// A file of the queues of these devices; each once.
fn queues(
    host: &Host,
    targets: &[Target],
    file: &str,
    form: ValueFormat,
    names: impl Fn(&Target) -> Vec<String>,
) -> Result<Vec<SettingFile>, Error> {
    let mut places: Vec<SettingFile> = Vec::new();
    for target in targets {
        let names = names(target);
        if names.is_empty() {
            return Err(Error::new(
                format!("cannot change the queue of what {} lies on", target.directory),
                format!("it is {}, on no block device of this machine", target.filesystem),
            ));
        }
        for name in names {
            let name = whole(target, &name);
            let path = format!("/sys/block/{name}/queue/{file}");
            if places.iter().any(|place| place.path == path) {
                continue;
            }
            let device = identity::of_device(host, &name).filter(|_| host.exists(&path));
            if device.is_none() {
                let why = "there is no such file: the device is gone, or has no such setting";
                return Err(Error::new(format!("cannot change {path}"), why)
                    .hint(format!("ls /sys/block/{name}/queue")));
            }
            places.push(SettingFile { device, ..of_machine(path, form) });
        }
    }
    Ok(places)
}

/// The kernel reads ahead by what the file system's own backing device says: the queue of the
/// device that it lies on directly, never of those below; on btrfs, the file system's.
fn read_ahead(host: &Host, targets: &[Target]) -> Result<Vec<SettingFile>, Error> {
    let mut places: Vec<SettingFile> = Vec::new();
    for target in targets {
        let found = match target.holding_filesystem.as_str() {
            "btrfs" => vec![of_btrfs(host, target)?],
            "zfs" => {
                let what = format!("cannot change the read-ahead of ZFS at {}", target.mount_point);
                let why = "ZFS reads ahead by itself, whatever the devices do";
                return Err(Error::new(what, why));
            }
            _ => queues(host, std::slice::from_ref(target), "read_ahead_kb", KIB, |target| {
                target.on.clone()
            })?,
        };
        places.extend(found);
    }
    places.sort_by(|a, b| a.path.cmp(&b.path));
    places.dedup_by(|a, b| a.path == b.path);
    Ok(places)
}

fn of_btrfs(host: &Host, target: &Target) -> Result<SettingFile, Error> {
    let holds = |uuid: &String| {
        let devices = host.list(format!("/sys/fs/btrfs/{uuid}/devices"));
        target.on.iter().any(|name| devices.contains(name))
    };
    let uuid = host.list("/sys/fs/btrfs").into_iter().find(holds);
    let path = |uuid: &String| format!("/sys/fs/btrfs/{uuid}/bdi/read_ahead_kb");
    let uuid = uuid.filter(|uuid| host.exists(path(uuid))).ok_or_else(|| {
        let what = format!("cannot change the read-ahead of the btrfs at {}", target.mount_point);
        Error::new(what, "this kernel shows it nowhere in /sys/fs/btrfs (Linux 5.9 and newer do)")
    })?;
    Ok(SettingFile { device: identity::of_btrfs(host, &uuid), ..of_machine(path(&uuid), KIB) })
}

/// What a file system lies on, down to the disks; not what a loop device's file lies on.
fn stack(target: &Target) -> Vec<String> {
    let mut names: Vec<String> = target.on.clone();
    let mut at = 0;
    while let Some(name) = names.get(at) {
        let device = target.devices.iter().find(|device| device.name == *name);
        let below = device.map_or(&[][..], |device| &device.below);
        let new: Vec<String> = below.iter().filter(|name| !names.contains(name)).cloned().collect();
        names.extend(new);
        at += 1;
    }
    names
}

fn cpu_governor(host: &Host) -> Result<Vec<SettingFile>, Error> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpufreq";
    let policies = host.list(FOLDER).into_iter().filter(|name| name.starts_with("policy"));
    let paths = policies.map(|policy| format!("{FOLDER}/{policy}/scaling_governor"));
    let places: Vec<SettingFile> = paths
        .filter(|path| host.exists(path))
        .map(|path| of_machine(path, ValueFormat::Word))
        .collect();
    match places.is_empty() {
        false => Ok(places),
        true => Err(Error::new(
            "cannot change the CPUs' governor",
            format!("{FOLDER} has no policy: the kernel does not choose frequencies here"),
        )
        .hint("set it in the firmware, or where the virtual machine's host runs")),
    }
}
