//! Verdicts on a power cut in words: at most 25 in a sentence, and 40 in all.

use super::doubt::Doubt;
use super::verdict::{Bound, Fate, Ground, PowerCutVerdict, Storage, WriteCacheMode, drain_s};
use crate::analysis::words;
use base::value::{bytes, duration, shell_words, throughput_short};

/// What the trials wrote, as far as it is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Written {
    /// Bytes of files.
    Writes,
    /// Files of a mail server.
    Messages,
    /// Transactions, each flushed.
    Commits,
    /// Transactions that nothing flushes one by one.
    LazyCommits,
    /// Transactions of which the last alone is not flushed.
    AllButTheLast,
}

impl Written {
    fn noun(self) -> &'static str {
        match self {
            Written::Writes => "writes",
            Written::Messages => "messages",
            _ => "commits",
        }
    }
}

/// The verdict in one or two sentences.
pub fn claim(of: &PowerCutVerdict, written: Written, storage: &Storage) -> String {
    if of.flushed == Fate::LostAll {
        return "A power cut loses all that was written here: the files are this machine's memory."
            .to_owned();
    }
    let noun = written.noun();
    match written {
        Written::Writes | Written::Messages => of_both(of, noun, storage),
        Written::Commits => of_commits(&of.flushed, storage),
        Written::LazyCommits => match &of.unflushed {
            Fate::Lost(s, bound) => {
                format!(
                    "A power cut loses {}: nothing flushes them one by one.",
                    last(*s, *bound, noun)
                )
            }
            other => format!("How many commits a power cut loses is not known. {}", why(other)),
        },
        Written::AllButTheLast => {
            "A power cut may lose the last commit of each client, though it was called done."
                .to_owned()
        }
    }
}

fn of_both(of: &PowerCutVerdict, noun: &str, storage: &Storage) -> String {
    if let (Some(by), Fate::Lost(s, bound)) = (&storage.ignores_fsync, &of.flushed) {
        return format!("A power cut loses {}, after fsync too: {by}.", last(*s, *bound, noun));
    }
    match (&of.flushed, &of.unflushed) {
        (Fate::Kept { trusting }, Fate::Lost(s, bound)) => {
            let lost = last(*s, *bound, &format!("{noun} without fsync"));
            format!("A power cut loses {lost}; after fsync none{}.", trust(*trusting, storage))
        }
        (Fate::Kept { trusting }, other) => format!(
            "A power cut loses no {noun} after fsync{}. How many without fsync is not known: {}",
            trust(*trusting, storage),
            words::lower(&why(other))
        ),
        (Fate::LostWithCache(disks, reason), other) => {
            let rest = match other {
                Fate::Lost(s, bound) => {
                    let lost = last(*s, *bound, noun);
                    format!(" Without fsync it loses {lost}.")
                }
                _ => String::new(),
            };
            format!(
                "A power cut loses what {} in cache, after fsync too: {reason}.{rest}",
                hold(disks)
            )
        }
        (unknown, Fate::Lost(s, bound)) => format!(
            "A power cut loses {}; whether fsync saves them is not known. {}",
            last(*s, *bound, &format!("{noun} without fsync")),
            why(unknown)
        ),
        (unknown, _) => format!("What a power cut loses here is not known. {}", why(unknown)),
    }
}

fn of_commits(flushed: &Fate, storage: &Storage) -> String {
    match flushed {
        Fate::Kept { trusting } => {
            format!("A power cut loses no commit{}.", trust(*trusting, storage))
        }
        Fate::LostWithCache(disks, reason) => {
            format!("A power cut loses the commits that {} in cache: {reason}.", hold(disks))
        }
        Fate::Lost(s, bound) => {
            let by = storage.ignores_fsync.as_deref().unwrap_or("nothing flushes them");
            format!("A power cut loses {}: {by}.", last(*s, *bound, "commits"))
        }
        other => format!("Whether a power cut loses commits is not known. {}", why(other)),
    }
}

/// `sda holds`, `sda and sdb hold`, `24 disks hold`.
fn hold(disks: &[String]) -> String {
    match disks {
        [one] => format!("{one} holds"),
        [one, two] => format!("{one} and {two} hold"),
        many => format!("{} disks hold", many.len()),
    }
}

/// Upon which condition.
fn trust(trusting: bool, storage: &Storage) -> String {
    let Ground::Disks(disks) = &storage.ground else { return String::new() };
    match (trusting, &disks[..]) {
        (false, _) => String::new(),
        (true, [one]) => format!(", if {} flushes when told", one.name),
        (true, _) => ", if the disks flush when told".to_owned(),
    }
}

/// `up to 40 s of writes`, `about 5 s of writes`, `40 s of writes or more`.
fn last(seconds: f64, bound: Bound, what: &str) -> String {
    let time = whole(seconds);
    match bound {
        Bound::Most => format!("up to {time} of {what}"),
        Bound::About => format!("about {time} of {what}"),
        Bound::Least => format!("{time} or more of {what}"),
    }
}

/// In whole seconds, never less than it is.
fn whole(seconds: f64) -> String {
    const IN_SECONDS: f64 = 120.0;
    match seconds.ceil() {
        minutes if minutes > IN_SECONDS => duration(minutes * 1e9),
        seconds => format!("{seconds} s"),
    }
}

/// Why nobody knows, as a sentence.
fn why(fate: &Fate) -> String {
    match fate {
        Fate::Unknown(why) => words::sentence(why),
        _ => String::new(),
    }
}

/// What speaks for flushes that nothing honours.
pub fn suspicion(doubt: &Doubt, commit_ns: f64) -> (String, String) {
    let claim = "A power cut may lose writes after fsync, too: flushes look unhonoured.".to_owned();
    let took = duration(commit_ns);
    let by = match doubt {
        Doubt::HalfTurn(disk, ns) => {
            format!("a commit takes {took}; half a turn of {disk} takes {}", duration(*ns))
        }
        Doubt::CostsNothing(disk, ns) => format!(
            "a commit takes {took}, a write alone {}; nothing protects the cache of {disk}",
            duration(*ns)
        ),
    };
    (format!("{claim} {}", words::sentence(&by)), "a suspicion, no fact: a cut decides".to_owned())
}

/// What the verdict rests on, a clause each.
pub fn evidence(storage: &Storage) -> Vec<String> {
    let mut all = Vec::new();
    if let Ground::Disks(disks) = &storage.ground {
        all.extend(disks.iter().take(DISKS_TOLD).flat_map(of_disk));
        if let more @ 1.. = disks.len().saturating_sub(DISKS_TOLD) {
            all.push(format!("and {more} more disks"));
        }
    }
    all.extend(storage.ignores_fsync.clone());
    all.extend(storage.no_barriers.as_ref().map(|option| {
        format!("{} is mounted with {option}, so it sends no flush", storage.filesystem)
    }));
    if storage.ground == Ground::Memory {
        return all;
    }
    match storage.group_s {
        Some(s) => all.push(format!(
            "ZFS writes what it gathered every {} s (zfs_txg_timeout), and what is being written \
             then is lost as well",
            s
        )),
        None => all.extend(of_writeback(storage)),
    }
    all
}

/// So many disks are told of one by one.
const DISKS_TOLD: usize = 3;

fn of_disk(disk: &super::verdict::Disk) -> Vec<String> {
    let name = &disk.name;
    let word = |cache: WriteCacheMode| match cache {
        WriteCacheMode::Back => "write back",
        WriteCacheMode::Through => "write through",
    };
    let kernel =
        disk.kernel.map(|it| format!("/sys/block/{name}/queue/write_cache = {}", word(it)));
    let own = disk.own.map(|it| format!("its own cache: {}", word(it)));
    let protected = match disk.protected {
        Some(true) => "it says that its cache outlives a power cut".to_owned(),
        Some(false) => "it says that nothing protects its cache".to_owned(),
        None => "whether anything protects its cache is not told".to_owned(),
    };
    let first = kernel.unwrap_or_else(|| format!("what cache {name} has is not told"));
    let all: Vec<String> = [Some(first), own, Some(protected)].into_iter().flatten().collect();
    let of_hidden = disk.hidden.iter().cloned();
    std::iter::once(all.join("; ")).chain(of_hidden).collect()
}

fn of_writeback(storage: &Storage) -> Vec<String> {
    let writeback = &storage.writeback;
    let mut all = Vec::new();
    if let (Some(expire), Some(wake)) = (writeback.expire_s, writeback.wake_s) {
        all.push(format!(
            "the kernel looks every {} s (vm.dirty_writeback_centisecs) for what is {} s old \
             (vm.dirty_expire_centisecs)",
            wake, expire
        ));
    }
    all.push(match storage.commit_s {
        Some(s) => format!("{} commits every {} s", storage.filesystem, s),
        None => format!("how often {} commits is not known", storage.filesystem),
    });
    if storage.caches_below > 0 {
        all.push("a loop device has the page cache of its file below, which waits as long".into());
    }
    if let (Some(most), Some(drain), Some(rate)) =
        (writeback.most_bytes, drain_s(storage), storage.durable_bytes_per_s)
    {
        all.push(format!(
            "memory may hold {} of writes, which takes {} at the measured {}",
            bytes(most),
            whole(drain),
            throughput_short(rate)
        ));
    }
    all
}

/// What to do, and what to type; `directory` is one that was measured.
pub fn next(
    of: &PowerCutVerdict,
    doubted: bool,
    storage: &Storage,
    directory: Option<&str>,
) -> (String, Option<String>) {
    let test = || {
        let directory = directory?;
        let words = ["brickyard", "run", "flush-test", "--dir", directory];
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words.push("flush-log=/mnt/other/flush.log".to_owned());
        Some(shell_words(&words))
    };
    let cut = "cut the power while flush-test runs, then `brickyard verify --flushed` tells";
    match &of.flushed {
        Fate::LostAll => ("name a directory on a disk".to_owned(), None),
        Fate::Unknown(_) if storage.no_barriers.is_some() => (barriers(&[], storage), test()),
        Fate::Unknown(_) => (cut.to_owned(), test()),
        _ if doubted => (cut.to_owned(), test()),
        Fate::Kept { .. } => (
            "programs whose data matter call fsync; a shorter dirty-expire loses less".into(),
            None,
        ),
        Fate::LostWithCache(disks, _) => (barriers(disks, storage), None),
        Fate::Lost(..) => (
            "let fsync work again: `zfs set sync=standard`, or the overlay without `volatile`"
                .to_owned(),
            None,
        ),
    }
}

fn barriers(disks: &[String], storage: &Storage) -> String {
    let disk = disks.first().map_or("", String::as_str);
    match &storage.no_barriers {
        Some(option) => format!("mount it without {option}, or turn the caches off"),
        None => format!("echo write back > /sys/block/{disk}/queue/write_cache, as root"),
    }
}
