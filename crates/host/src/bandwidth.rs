//! What memory and one core can do at most, measured in seconds.
//!
//! Nothing here knows of trials. `inspect` prints it; a campaign keeps it beside its inventory, so
//! that the analysis can hold figures against it. Threads are in `bandwidth/team.rs`, loops in
//! `bandwidth/kernel.rs`; how much memory may be taken is decided in `bandwidth/room.rs`.

use std::sync::OnceLock;
use std::time::Duration;

use crate::inventory::server;
use crate::inventory::server::processors::last_level_bytes;
use crate::sys::clock::monotonic_ns;
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, processors};
use facts::bandwidth::{Bandwidth, NodeBandwidth};
use facts::inventory::cpus;
use facts::inventory::server::{Node, Processors};

mod copy;
mod kernel;
mod room;
mod team;

/// A node gets no more than this.
const NODE_AT_MOST: Duration = Duration::from_millis(1500);
/// The copies of one core get no more than this.
const COPY_AT_MOST: Duration = Duration::from_millis(300);
/// Each array is so many times as large as the caches before it (STREAM's rule).
const TIMES_CACHES: u64 = 4;
/// No array is smaller, bytes, whatever caches the machine admits to.
const ARRAY_AT_LEAST: u64 = 64 << 20;

/// Measures the bandwidth of each node's memory, one node after the other, with one thread on each
/// of the node's cores that we may use; then what one core copies. What is reported is the best of
/// several passes, as STREAM has it: others can only make it less. `at_most` bounds the passes;
/// making the arrays may take longer on a machine with much cache and slow memory.
///
/// # Errors
/// On a recording, when the user asked to stop, or when an eighth of the memory that is available
/// (to this process: control groups count) does not hold the arrays.
pub fn measure(
    host: &Host,
    processors: &Processors,
    at_most: Duration,
    stop: &Stop,
) -> Result<Bandwidth, Error> {
    let failed = |why: &str| Error::new("cannot measure the bandwidth of memory", why);
    if !host.is_live() {
        return Err(failed("this is a recording").hint("measure on the machine itself"));
    }
    let teams: Vec<(&Node, Vec<usize>)> = teams(host, processors);
    if teams.is_empty() {
        return Err(failed("no CPU of a known node is ours").hint("see `lscpu --extended`"));
    }
    let share = at_most.saturating_sub(COPY_AT_MOST) / teams.len() as u32;
    let mut bandwidth = Bandwidth::default();
    for (node, cores) in &teams {
        let array_bytes = array_bytes(processors, node);
        let needed = array_bytes.saturating_mul(3);
        enough(host, needed, &format!("node {}", node.number))?;
        let until_ns = after(share.min(NODE_AT_MOST));
        let best = team::run(cores, array_bytes, until_ns, stop)?;
        bandwidth.nodes.push(NodeBandwidth {
            node: node.number,
            threads: cores.len() as u64,
            array_bytes,
            triad_bytes_per_s: best.triad,
            read_bytes_per_s: best.read,
        });
    }
    let cache = last_level_bytes(host);
    let size = copy::source_bytes(cache);
    enough(host, size.saturating_mul(2), "the copy of one core")?;
    let at_most = COPY_AT_MOST.min(at_most);
    bandwidth.copy_bytes_per_s = copy::to_a_warm_buffer(size, cache, at_most);
    bandwidth.copy_to_memory_bytes_per_s = copy::to_memory(size, at_most);
    Ok(bandwidth)
}

/// As [`measure`], once for this process, of the machine that it runs on; `None` where it cannot be
/// measured, and in a build without optimisation, whose figures nothing must be held against.
pub fn once(host: &Host, stop: &Stop) -> Option<&'static Bandwidth> {
    const AT_MOST: Duration = Duration::from_secs(3);
    static MEASURED: OnceLock<Option<Bandwidth>> = OnceLock::new();
    if cfg!(debug_assertions) {
        return None;
    }
    let measured = || measure(host, &server::processors(host), AT_MOST, stop).ok();
    MEASURED.get_or_init(measured).as_ref()
}

/// Bytes per second that one core copies from memory into a small buffer that it uses again and
/// again: the upper bound of what one stream of buffered reads gets from the page cache when the
/// file is larger than the caches of the processor. (Reads of a file that lies in these caches can
/// be faster.) `at_most`, 20 to 60 ms of the thread's own time, bounds the copies; to fill memory
/// before may take four times as long, and by the clock on the wall ten times that where others use
/// the processor. `None` when that is too little, or when there is too little memory.
pub fn copy_rate(at_most: Duration) -> Option<f64> {
    let host = Host::live();
    let cache = last_level_bytes(&host);
    let size = copy::source_bytes(cache);
    enough(&host, size, "the copy of one core").ok()?;
    copy::to_a_warm_buffer(size, cache, at_most)
}

/// [`monotonic_ns`] when `time` from now has passed.
fn after(time: Duration) -> u64 {
    monotonic_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn enough(host: &Host, needed: u64, what: &str) -> Result<(), Error> {
    let room = room::bytes(host);
    if needed <= room {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    let why = format!(
        "{what} needs {} MiB, and an eighth of the memory that is available is {} MiB",
        mib(needed),
        mib(room)
    );
    Err(Error::new("cannot measure the bandwidth of memory", why)
        .hint("stop what fills the memory, or raise the memory limit of this control group"))
}

/// The nodes, and for each of their cores the first CPU that is ours.
fn teams<'a>(host: &Host, processors: &'a Processors) -> Vec<(&'a Node, Vec<usize>)> {
    let ours = processors::allowed();
    let mut teams = Vec::new();
    for node in &processors.nodes {
        let mut taken: Vec<u32> = Vec::new();
        let mut cores = Vec::new();
        for cpu in cpus(&node.cpus) {
            if taken.contains(&cpu) || !ours.contains(&(cpu as usize)) {
                continue;
            }
            let topology = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
            let siblings = host.word(format!("{topology}/thread_siblings_list"));
            taken.extend(siblings.map_or_else(Vec::new, |list| cpus(&list)));
            cores.push(cpu as usize);
        }
        if !cores.is_empty() {
            teams.push((node, cores));
        }
    }
    teams
}

/// Four times what all last-level caches of the node hold together.
fn array_bytes(processors: &Processors, node: &Node) -> u64 {
    let last = processors.caches.iter().max_by_key(|cache| (cache.level, cache.size_bytes));
    let caches = last.map_or(0, |cache| {
        let count = (cpus(&node.cpus).len() as u64).div_ceil(cache.cpus.max(1));
        cache.size_bytes.saturating_mul(count.max(1))
    });
    caches.saturating_mul(TIMES_CACHES).max(ARRAY_AT_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;
    use crate::inventory::server::Reading;
    use crate::inventory::server::processors::read;
    use facts::inventory::server::Cache;

    fn processors(l3: u64, sharing: u64, of_node: &str) -> Processors {
        let cache =
            |level, size_bytes| Cache { level, size_bytes, cpus: sharing, ..Cache::default() };
        Processors {
            caches: vec![cache(2, 1 << 40), cache(3, l3)],
            nodes: vec![Node { cpus: of_node.to_owned(), ..Node::default() }],
            ..Processors::default()
        }
    }

    #[test]
    fn arrays_are_four_times_all_last_level_caches_of_the_node() {
        let size = |l3, sharing, cpus| {
            let processors = processors(l3, sharing, cpus);
            array_bytes(&processors, &processors.nodes[0])
        };
        assert_eq!(size(32 << 20, 8, "0-31"), 4 * 4 * (32 << 20));
        assert_eq!(size(32 << 20, 8, "0-2"), 4 * (32 << 20));
        assert_eq!(size(1 << 20, 8, "0-7"), ARRAY_AT_LEAST);
        // What a hostile file says overflows nothing.
        assert_eq!(size(u64::MAX, 0, "0-31"), u64::MAX);
        assert_eq!(array_bytes(&Processors::default(), &Node::default()), ARRAY_AT_LEAST);
    }

    #[test]
    fn a_core_has_one_thread_and_a_node_without_our_cpus_has_none() {
        let ours = processors::allowed();
        let first = ours[0];
        let recording = Recording::unpack(&format!(
            "/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list = 0-8191\n"
        ));
        let list: Vec<String> = ours.iter().map(usize::to_string).collect();
        let mut processors = processors(1, 1, &list.join(","));
        processors.nodes.push(Node { number: 1, cpus: "8000-8001".to_owned(), ..Node::default() });
        let teams = teams(&recording.host(), &processors);
        assert_eq!(teams.len(), 1);
        assert_eq!(teams[0].1, [first]);
    }

    #[test]
    fn a_recording_is_not_measured_and_an_impossible_size_is_refused_by_name() {
        let stop = Stop::new();
        let recording = Recording::unpack("");
        let host = recording.host();
        let found = read(&mut Reading::new(&host));
        let error = measure(&host, &found, Duration::from_secs(1), &stop).unwrap_err();
        assert_eq!(error.why, "this is a recording");
        let huge = processors(1 << 50, 1, "0-8191");
        let error = measure(&Host::live(), &huge, Duration::from_secs(1), &stop).unwrap_err();
        assert!(error.why.starts_with("node 0 needs "), "{error}");
        assert!(error.hint.is_some());
    }

    #[test]
    fn this_machine_has_a_bandwidth_on_every_node_and_a_copy_rate() {
        let host = Host::live();
        let mut found = read(&mut Reading::new(&host));
        // A guest may see all of its host's cache, and have too little memory for four times that.
        let fits = room::bytes(&host) / 2 / 3 / TIMES_CACHES;
        for cache in &mut found.caches {
            cache.size_bytes = cache.size_bytes.min(fits / found.nodes.len() as u64);
        }
        let got = measure(&host, &found, Duration::from_secs(1), &Stop::new()).unwrap();
        let measured: Vec<u32> = got.nodes.iter().map(|node| node.node).collect();
        let there: Vec<u32> = found.nodes.iter().map(|node| node.number).collect();
        assert_eq!(measured, there);
        // From a tape's to what no machine has: this build's loops may be slow, not absurd.
        let sane = |rate: Option<f64>| rate.is_some_and(|rate| (1e6..1e13).contains(&rate));
        for node in &got.nodes {
            assert!(node.threads > 0 && node.array_bytes > 0, "{node:?}");
            assert!(sane(node.read_bytes_per_s) && sane(node.triad_bytes_per_s), "{node:?}");
        }
        // What a processor of so much cache copies is known where it can be filled in time.
        let cache = Some(8 << 20);
        let time = Duration::from_millis(50);
        assert!(sane(copy::to_a_warm_buffer(copy::source_bytes(cache), cache, time)));
        assert!(copy_rate(time).is_none_or(|rate| sane(Some(rate))));
    }
}
