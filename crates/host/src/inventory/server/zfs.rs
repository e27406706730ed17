//! ZFS: pools, vdevs and datasets by the commands of its own, the ARC by the kernel's files.
//!
//! The kernel shows no vdevs in files, so `zpool status` is asked for them, which needs no
//! privilege on Linux. A recording keeps what the commands said of each pool.

use std::time::Duration;

use super::{Reading, patient};
use crate::inventory::device;
use crate::sys::signal::Stop;
use crate::sys::{Host, command};
use facts::inventory::Mount;
use facts::inventory::server::Zfs;
use facts::inventory::server::zfs::Pool;

mod arc;
mod array;
pub mod properties;
pub mod status;

pub use array::array;

/// How long the commands are waited for, all together: those of a suspended pool may hang.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the kernel counts.
const KSTATS: &str = "/proc/spl/kstat/zfs";

/// What is asked, in this order.
const QUESTIONS: [&[&str]; 4] = [
    &["zpool", "status", "-P", "-L", "-D"],
    &["zpool", "get", "-Hp", "-o", "name,property,value", "all"],
    &["zfs", "get", "-Hp", "-o", "name,property,value", "-t", "filesystem,volume", "all"],
    // Prints what is cached of the configuration, and opens no pool.
    &["zdb", "-C"],
];

/// The file of a recording that holds what was said of a pool.
pub fn recorded_at(pool: &str) -> String {
    format!("/.brickyard/zfs/{pool}.json")
}

/// Reads it; `None` where there is none.
pub fn read(reading: &mut Reading<'_>, mounts: &[Mount]) -> Option<Zfs> {
    let host = reading.host();
    let names = names(host, mounts);
    let module = host.exists(KSTATS);
    if names.is_empty() && !module {
        return None;
    }
    let answers = if host.is_live() { ask() } else { Vec::new() };
    let mut pools = Vec::new();
    for name in names {
        let found = match host.is_live() {
            true => told(host, &name, &answers),
            false => recorded(host, &name),
        };
        let (pool, why) = match found {
            Ok(pool) if pool.vdevs.is_empty() => (pool, Some("nothing tells of them".to_owned())),
            Ok(pool) => (pool, None),
            Err(why) => (unseen(reading, &name), Some(why)),
        };
        if let Some(why) = why {
            let hint = format!("zpool status -P {name}");
            reading.miss(&format!("the disks of the ZFS pool {name}"), &hint, &why, &hint);
        }
        pools.push(pool);
    }
    Some(Zfs { version: host.word("/sys/module/zfs/version"), arc: arc::read(reading), pools })
}

/// What the kernel's files alone tell of a pool.
fn unseen(reading: &mut Reading<'_>, name: &str) -> Pool {
    let place = format!("{KSTATS}/{name}/state");
    let state = reading.word(&place, &format!("the state of the ZFS pool {name}"));
    Pool {
        name: name.to_owned(),
        state: state.map(|state| state.to_lowercase()),
        place,
        ..Pool::default()
    }
}

/// Pools that are imported, and those that something is mounted of.
fn names(host: &Host, mounts: &[Mount]) -> Vec<String> {
    let imported = host.list(KSTATS).into_iter();
    let mut names: Vec<String> =
        imported.filter(|pool| host.exists(format!("{KSTATS}/{pool}/state"))).collect();
    let mounted = mounts.iter().filter(|mount| mount.filesystem == "zfs");
    names.extend(mounted.filter_map(|mount| pool_of(&mount.source)));
    names.extend(host.list("/.brickyard/zfs").iter().filter_map(|file| {
        let name = file.strip_suffix(".json")?;
        (!host.is_live()).then(|| name.to_owned())
    }));
    names.sort();
    names.dedup();
    names
}

/// The pool of a dataset.
pub fn pool_of(dataset: &str) -> Option<String> {
    dataset.split('/').next().filter(|pool| !pool.is_empty()).map(str::to_owned)
}

/// What the commands say, or why they say nothing.
fn ask() -> Vec<Result<String, String>> {
    let answers = patient::ask(QUESTIONS.to_vec(), PATIENCE, |words| put(words));
    let late = || Err(format!("no answer within {} s", PATIENCE.as_secs()));
    answers.into_iter().map(|answer| answer.unwrap_or_else(late)).collect()
}

fn put(words: &[&str]) -> Result<String, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    command::run(&words, PATIENCE, &Stop::new()).map_err(|error| error.why)
}

/// The pool, of the answers to all questions.
fn told(host: &Host, name: &str, answers: &[Result<String, String>]) -> Result<Pool, String> {
    let said =
        |at: usize| answers.get(at).map_or(Ok(""), |of| of.as_deref().map_err(String::clone));
    let device = |name: &str| device::named(host, name);
    let parts = status::split(said(0)?);
    let own = parts.iter().find(|part| {
        let named = part.lines().next().and_then(|line| line.split_once("pool: "));
        named.is_some_and(|(_, pool)| pool.trim() == name)
    });
    let mut pool = status::pool(own.ok_or("`zpool status` does not tell of it")?, &device)?;
    properties::of_pool(&mut pool, said(1).unwrap_or_default());
    properties::datasets(&mut pool, said(2).unwrap_or_default());
    properties::ashifts(&mut pool, said(3).unwrap_or_default(), &device);
    Ok(pool)
}

fn recorded(host: &Host, name: &str) -> Result<Pool, String> {
    let text = host.word(recorded_at(name));
    let text = text.ok_or("the recording does not hold what `zpool status` says")?;
    serde_json::from_str(&text).map_err(|_| "the recording holds it damaged".to_owned())
}

/// What a recording keeps: files and their texts.
pub fn record(host: &Host, mounts: &[Mount]) -> Vec<(String, String)> {
    let names = names(host, mounts);
    if names.is_empty() {
        return Vec::new();
    }
    let answers = ask();
    let text = |name: &String| {
        let pool = told(host, name, &answers).ok()?;
        Some((recorded_at(name), serde_json::to_string(&pool).ok()?))
    };
    names.iter().filter_map(text).collect()
}

/// The pool of a dataset with its vdevs, and of its datasets that one, for what lies on it.
///
/// # Errors
/// With the reason, as a clause, when they cannot be told.
pub fn below(host: &Host, dataset: &str) -> Result<Pool, String> {
    let name = pool_of(dataset).ok_or("what is mounted has no name")?;
    if !host.is_live() {
        return recorded(host, &name);
    }
    let vdevs = put(&["zpool", "status", "-P", "-L", &name]);
    let settings = put(&["zfs", "get", "-Hp", "-o", "name,property,value", "all", dataset]);
    told(host, &name, &[vdevs, Ok(String::new()), settings])
}

#[cfg(test)]
mod tests;
