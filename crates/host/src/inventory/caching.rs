//! Which of the devices below a stack only keeps what the others hold: bcache, and the caches of
//! the device mapper.
//!
//! bcache says so in /sys. Of the device mapper its tables do, which only root may read; else
//! names that LVM and Stratis give to the parts of a cached volume, as nobody else may use them.
//! Where a stack on several devices may be a cache and nothing tells, that is said: its reads have
//! no origin then.

use std::path::Path;

use super::sysfs::{in_force, name_of};
use crate::sys::mapper::{self, Segment};
use crate::sys::{Error, Host};
use facts::inventory::{Caching, Device};

/// Targets that keep nothing of one device on another.
const PLAIN: &[&str] = &[
    "clone",
    "crypt",
    "delay",
    "dust",
    "ebs",
    "era",
    "error",
    "flakey",
    "integrity",
    "linear",
    "log-writes",
    "mirror",
    "multipath",
    "raid",
    "snapshot",
    "snapshot-merge",
    "snapshot-origin",
    "striped",
    "switch",
    "thin",
    "thin-pool",
    "unstripe",
    "vdo",
    "verity",
    "zero",
];

/// Who made a device of the device mapper, by its UUID.
pub fn maker(uuid: &str) -> &'static str {
    let owners = [
        ("LVM-", "lvm"),
        ("CRYPT-VERITY-", "verity"),
        ("CRYPT-INTEGRITY-", "integrity"),
        ("CRYPT-", "crypt"),
        ("mpath-", "multipath"),
        ("DMRAID-", "dmraid"),
        ("stratis-", "stratis"),
        ("VDO-", "vdo"),
    ];
    // kpartx makes `part1-mpath-...`.
    if uuid.starts_with("part") && uuid.contains('-') {
        return "partition";
    }
    owners.iter().find(|(owner, _)| uuid.starts_with(owner)).map_or("dm", |(_, kind)| kind)
}

/// How the device whose directory in /sys is `path` keeps on some of those `below` it what the
/// others hold; or why that is not known, as a clause.
pub fn read_caching(host: &Host, path: &Path, below: &[String]) -> Result<Option<Caching>, String> {
    let name = name_of(Some(path.to_owned())).unwrap_or_default();
    // One device alone is no cache of another.
    if below.len() < 2 {
        return Ok(None);
    }
    if host.exists(path.join("dm")) {
        let stack = Mapped { host, path, name: &name, below };
        return match table(host, &name, host.word(path.join("dev")).as_deref()) {
            Ok(table) => stack.by_table(&table),
            Err(_) => stack.by_names(),
        };
    }
    if name.starts_with("bcache") {
        return bcache(host, path, &name, below);
    }
    Ok(None)
}

/// See Documentation/admin-guide/bcache.rst.
fn bcache(
    host: &Host,
    path: &Path,
    name: &str,
    below: &[String],
) -> Result<Option<Caching>, String> {
    // Only a device that keeps is cut into buckets.
    let keeps = |of: &&String| host.exists(format!("/sys/class/block/{of}/bcache/nbuckets"));
    let cache: Vec<String> = below.iter().filter(keeps).cloned().collect();
    if cache.is_empty() || cache.len() == below.len() {
        return Err(format!("which of {} is the cache of {name} is not told", below.join(", ")));
    }
    let mode = host.word(path.join("bcache/cache_mode")).map(|text| in_force(&text));
    Ok(Some(Caching { by: "bcache".to_owned(), mode, cache, records: Vec::new() }))
}

/// A device of the device mapper.
struct Mapped<'a> {
    host: &'a Host,
    path: &'a Path,
    name: &'a str,
    below: &'a [String],
}

impl Mapped<'_> {
    fn by_table(&self, table: &[Segment]) -> Result<Option<Caching>, String> {
        let mut found: Option<Caching> = None;
        for segment in table {
            let words: Vec<&str> = segment.parameters.split_whitespace().collect();
            let word = |at: usize| words.get(at).copied().unwrap_or_default();
            // See Documentation/admin-guide/device-mapper/cache.rst and writecache.rst.
            let (cache, records) = match segment.target.as_str() {
                "cache" => (self.named(word(1))?, Some(self.named(word(0))?)),
                "writecache" => (self.named(word(2))?, None),
                plain if PLAIN.contains(&plain) => continue,
                other => {
                    return Err(format!(
                        "what {} makes of {} is not known (device mapper, target {other})",
                        self.name,
                        self.below.join(", ")
                    ));
                }
            };
            let features = words.iter().find(|word| MODES.contains(word));
            let caching = found.get_or_insert_default();
            caching.by = format!("dm-{}", segment.target);
            caching.mode = features.map(|mode| (*mode).to_owned());
            caching.cache.push(cache);
            caching.records.extend(records);
        }
        Ok(found)
    }

    /// The device below that has a number such as `253:4`.
    fn named(&self, number: &str) -> Result<String, String> {
        let has = |name: &&String| {
            let of = self.host.word(format!("/sys/class/block/{name}/dev"));
            of.is_some_and(|of| of == number)
        };
        let name = self.below.iter().find(has).cloned();
        name.ok_or_else(|| format!("which device {number} is, below {}, is not told", self.name))
    }

    fn by_names(&self) -> Result<Option<Caching>, String> {
        let maker = maker(&self.host.word(self.path.join("dm/uuid")).unwrap_or_default());
        let (by, ends): (&str, &[[&str; 2]]) = match maker {
            "lvm" if self.among(&["_wcorig"]).is_empty() => ("dm-cache", &LVM),
            "lvm" => ("dm-writecache", &[["_cvol", ""]]),
            "stratis" => ("dm-cache", &STRATIS),
            "dm" => {
                return Err(format!(
                    "what {} makes of {} is not known: only root can read its table",
                    self.name,
                    self.below.join(", ")
                ));
            }
            _ => return Ok(None),
        };
        let of = |at: usize| {
            let ends: Vec<&str> = ends.iter().map(|pair| pair[at]).collect();
            self.among(&ends)
        };
        let (cache, records) = (of(0), of(1));
        let caching = Caching { by: by.to_owned(), mode: None, cache, records };
        Ok((!caching.cache.is_empty()).then_some(caching))
    }

    /// Those below whose names with the device mapper end so.
    fn among(&self, ends: &[&str]) -> Vec<String> {
        let ends_so = |name: &&String| {
            let mapped = self.host.word(format!("/sys/class/block/{name}/dm/name"));
            let ends = ends.iter().filter(|end| !end.is_empty());
            mapped.is_some_and(|mapped| ends.into_iter().any(|end| mapped.ends_with(end)))
        };
        self.below.iter().filter(ends_so).cloned().collect()
    }
}

/// How names of the parts of a cached volume end: what is kept, and the records of it (lvmcache(7);
/// stratisd's `format_physical_ids`).
const LVM: [[&str; 2]; 2] = [["_cdata", "_cmeta"], ["-cdata", "-cmeta"]];
const STRATIS: [[&str; 2]; 1] = [["-physical-cachesub", "-physical-metasub"]];

/// Modes of dm-cache.
const MODES: [&str; 3] = ["writethrough", "writeback", "passthrough"];

/// The file of a recording that holds a table.
fn recorded_at(name: &str) -> String {
    format!("/.brickyard/dm/{name}.json")
}

/// Reads a table of this machine, or of a recording.
fn table(host: &Host, name: &str, number: Option<&str>) -> Result<Vec<Segment>, Error> {
    if host.is_live() {
        return ask_live(host, number);
    }
    let text = host.read(recorded_at(name))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::new("cannot understand a recorded table", error))
}

fn ask_live(host: &Host, number: Option<&str>) -> Result<Vec<Segment>, Error> {
    let number = number.and_then(|text| {
        let (major, minor) = text.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    let number = number.ok_or_else(|| Error::new("cannot read a table", "it has no number"))?;
    mapper::table(&host.open("/dev/mapper/control")?, number)
}

/// The tables of this machine's devices that may be caches, for a recording: the parameters of
/// caches alone, as those of others may have keys.
pub fn record(host: &Host, devices: &[Device]) -> Vec<(String, String)> {
    let stacks = devices.iter().filter(|device| {
        let mapped = host.exists(format!("/sys/class/block/{}/dm", device.name));
        mapped && device.below.len() > 1
    });
    let texts = stacks.filter_map(|device| {
        let mut table = ask_live(host, Some(&device.number)).ok()?;
        for segment in &mut table {
            if !["cache", "writecache"].contains(&segment.target.as_str()) {
                segment.parameters.clear();
            }
        }
        Some((recorded_at(&device.name), serde_json::to_string(&table).ok()?))
    });
    texts.collect()
}

#[cfg(test)]
mod tests;
