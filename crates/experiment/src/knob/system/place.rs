//! Where each setting lies: files of /sys and /proc, with what stands behind them.

use base::value::{Value, cpu_list};
use host::inventory::{Kind, Target};
use host::journal::{Identity, in_force};
use host::sys::{Error, Host};

/// A file that holds a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// As a path of the machine.
    pub path: String,
    /// How values are written there.
    pub form: Form,
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

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A whole number of this many base units (bytes, ns, or ones).
    Number(u64),
    /// A word.
    Word,
    /// The last of three numbers of bytes, with the first two as they are: smallest and first size.
    Last([u64; 2]),
    /// `on` or `off`.
    Switch,
    /// CPUs as a mask of this many hexadecimal digits, a comma after each eighth from the right.
    Mask(usize),
}

impl Form {
    /// A value as the file takes it, to the nearest that it can hold.
    pub fn text(self, value: &Value) -> String {
        match (self, value) {
            (
                Form::Number(unit),
                Value::Bytes(n) | Value::Count(n) | Value::Duration(n) | Value::BytesPerSecond(n),
            ) => (n.saturating_add(unit / 2) / unit).to_string(),
            // What a buffer begins with may not be more than what it may grow to.
            (Form::Last([least, first]), Value::Bytes(n)) => {
                format!("{}\t{}\t{n}", least.min(*n), first.min(*n))
            }
            (Form::Switch, Value::Flag(on)) => if *on { "on" } else { "off" }.to_owned(),
            (Form::Mask(digits), value) => mask(&value.to_string(), digits),
            (_, value) => value.to_string(),
        }
    }

    /// What the file's text says, in the kind of `like`; `None` when it is no number.
    pub fn value(self, text: &str, like: &Value) -> Option<Value> {
        let unit = match self {
            Form::Number(unit) => unit,
            Form::Word => return Some(Value::Word(text.to_owned())),
            Form::Switch => return Some(Value::Flag(text == "on")),
            // The kernel takes a mask exactly, or refuses it.
            Form::Mask(_) => return None,
            Form::Last(_) => {
                return text.split_whitespace().nth(2)?.parse().ok().map(Value::Bytes);
            }
        };
        let number = text.parse::<u64>().ok()?.checked_mul(unit)?;
        Some(match like {
            Value::Bytes(_) => Value::Bytes(number),
            Value::Duration(_) => Value::Duration(number),
            _ => Value::Count(number),
        })
    }
}

/// A list of CPUs as the kernel prints a mask of so many digits (`%*pb`), longer when they do not
/// fit: that it refuses.
fn mask(list: &str, digits: usize) -> String {
    let cpus = cpu_list(list).unwrap_or_default();
    let needed = cpus.iter().max().map_or(1, |cpu| cpu / 4 + 1);
    let mut nibbles = vec![0_u32; digits.max(needed)];
    for cpu in cpus {
        nibbles[cpu / 4] |= 1 << (cpu % 4);
    }
    let mut text = String::new();
    for (at, nibble) in nibbles.iter().enumerate().rev() {
        text.extend(char::from_digit(*nibble, 16));
        if at > 0 && at % 8 == 0 {
            text.push(',');
        }
    }
    text
}

pub(super) fn of_machine(path: impl Into<String>, form: Form) -> Place {
    let (disturbs, choices) = (Vec::new(), Vec::new());
    Place { path: path.into(), form, device: None, instead: None, disturbs, choices }
}

/// A file that must be there.
pub(super) fn one(host: &Host, path: &str, form: Form) -> Result<Vec<Place>, Error> {
    match host.exists(path) {
        true => Ok(vec![of_machine(path, form)]),
        false => Err(Error::new(format!("cannot change {path}"), "this kernel has no such file")),
    }
}

/// The name of the device with a queue: a partition's is its disk's.
fn whole(target: &Target, name: &str) -> String {
    let device = target.devices.iter().find(|device| device.name == name);
    let partition = device.filter(|device| device.kind == Kind::Partition);
    partition.and_then(|device| device.below.first()).map_or(name, String::as_str).to_owned()
}

/// A file of the queues of these devices; each once.
fn queues(
    host: &Host,
    targets: &[Target],
    file: &str,
    form: Form,
    names: impl Fn(&Target) -> Vec<String>,
) -> Result<Vec<Place>, Error> {
    let mut places: Vec<Place> = Vec::new();
    for target in targets {
        let names = names(target);
        if names.is_empty() {
            return Err(Error::new(
                format!("cannot change the queue of what {} lies on", target.directory),
                format!("it is {}, on no block device of this machine", target.filesystem),
            )
            .hint("leave this knob out for that directory"));
        }
        for name in names {
            let name = whole(target, &name);
            let path = format!("/sys/block/{name}/queue/{file}");
            if places.iter().any(|place| place.path == path) {
                continue;
            }
            let device = Identity::of_device(host, &name).filter(|_| host.exists(&path));
            if device.is_none() {
                let why = "there is no such file: the device is gone, or has no such setting";
                return Err(Error::new(format!("cannot change {path}"), why)
                    .hint(format!("ls /sys/block/{name}/queue")));
            }
            places.push(Place { device, ..of_machine(path, form) });
        }
    }
    Ok(places)
}

/// Where read-ahead is counted in: files, KiB.
const KIB: Form = Form::Number(1024);

/// The kernel reads ahead by what the file system's own backing device says: the queue of the
/// device that it lies on directly, never of those below; on btrfs, the file system's.
pub(super) fn read_ahead(host: &Host, targets: &[Target]) -> Result<Vec<Place>, Error> {
    let mut places: Vec<Place> = Vec::new();
    for target in targets {
        let found = match target.holding_filesystem.as_str() {
            "btrfs" => vec![of_btrfs(host, target)?],
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

fn of_btrfs(host: &Host, target: &Target) -> Result<Place, Error> {
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
    Ok(Place { device: Identity::of_btrfs(host, &uuid), ..of_machine(path(&uuid), KIB) })
}

/// The kernel sets nr_requests anew with the scheduler (block/elevator.c).
pub(super) fn io_scheduler(host: &Host, targets: &[Target]) -> Result<Vec<Place>, Error> {
    let disks = |target: &Target| target.disks.clone();
    let mut places = queues(host, targets, "scheduler", Form::Word, disks)?;
    for place in &mut places {
        let along = place.path.replace("/scheduler", "/nr_requests");
        place.disturbs.extend(Some(along).filter(|path| host.exists(path)));
    }
    Ok(places)
}

pub(super) fn nr_requests(host: &Host, targets: &[Target]) -> Result<Vec<Place>, Error> {
    queues(host, targets, "nr_requests", Form::Number(1), |target| target.disks.clone())
}

/// Arrays cut what comes to them too: everything from the file system down to the disks.
pub(super) fn max_sectors(host: &Host, targets: &[Target]) -> Result<Vec<Place>, Error> {
    queues(host, targets, "max_sectors_kb", KIB, stack)
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

/// Writing the ratio sets dirty_bytes to 0, and that is undone by writing those
/// (Documentation/admin-guide/sysctl/vm.rst).
pub(super) fn dirty_ratio(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    const BYTES: &str = "/proc/sys/vm/dirty_bytes";
    let mut places = one(host, "/proc/sys/vm/dirty_ratio", Form::Number(1))?;
    let bytes = host.read(BYTES).ok().map(|text| in_force(&text).to_owned());
    places[0].instead = bytes.filter(|bytes| bytes != "0").map(|bytes| (BYTES.to_owned(), bytes));
    Ok(places)
}

pub(super) fn dirty_expire(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    one(host, "/proc/sys/vm/dirty_expire_centisecs", Form::Number(10_000_000))
}

pub(super) fn swappiness(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    one(host, "/proc/sys/vm/swappiness", Form::Number(1))
}

pub(super) fn transparent_hugepages(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    one(host, "/sys/kernel/mm/transparent_hugepage/enabled", Form::Word)
}

pub(super) fn cpu_governor(host: &Host, _: &[Target]) -> Result<Vec<Place>, Error> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpufreq";
    let policies = host.list(FOLDER).into_iter().filter(|name| name.starts_with("policy"));
    let paths = policies.map(|policy| format!("{FOLDER}/{policy}/scaling_governor"));
    let places: Vec<Place> =
        paths.filter(|path| host.exists(path)).map(|path| of_machine(path, Form::Word)).collect();
    match places.is_empty() {
        false => Ok(places),
        true => Err(Error::new(
            "cannot change the CPUs' governor",
            format!("{FOLDER} has no policy: the kernel does not choose frequencies here"),
        )
        .hint("leave `cpu-governor` out; a virtual machine's host decides, or the firmware")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_as_the_kernel_prints_it() {
        let of = |list: &str, digits| Form::Mask(digits).text(&Value::Word(list.to_owned()));
        assert_eq!((of("0-1", 1), of("1", 2)), ("3".to_owned(), "02".to_owned()));
        assert_eq!(of("0,35", 16), "00000008,00000001");
        assert_eq!(of("4-7", 1), "f0", "longer than the machine's: the kernel refuses it");
        assert_eq!(Form::Switch.text(&Value::Flag(true)), "on");
        assert_eq!(Form::Switch.value("off", &Value::Flag(true)), Some(Value::Flag(false)));
    }
}
