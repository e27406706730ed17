//! Processors: packages, cores, caches, NUMA nodes, clock (/sys/devices/system/{cpu,node}).

use std::collections::BTreeSet;

use super::Reading;
use crate::inventory::machine::{self, cpu_field, memory};
use crate::sys::Host;
use facts::inventory::cpus;
use facts::inventory::server::{Cache, Node, Processors};

mod arm;

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";
const CLOCK: &str = "the processors' clock";
const CACHES: &str = "the processors' caches";
const NODES: &str = "the NUMA nodes";

/// Reads them.
pub fn read(reading: &mut Reading<'_>) -> Processors {
    // The first processor stands first; each takes about 1.5 kB.
    let cpuinfo = reading.front("/proc/cpuinfo", 64 << 10).unwrap_or_default();
    let cpuinfo = String::from_utf8_lossy(&cpuinfo);
    let online = reading.word(format!("{CPU}/online"), "the CPUs");
    let online = online.unwrap_or_else(|| machine::online(reading.host()));
    let numbers = cpus(&online);
    let packages = of_each(reading, &numbers, "topology/physical_package_id", "the sockets");
    let mut siblings = of_each(reading, &numbers, "topology/thread_siblings_list", "the cores");
    if siblings.is_empty() {
        let masks = of_each(reading, &numbers, "topology/thread_siblings", "the cores");
        siblings = masks.iter().filter_map(|mask| machine::of_mask(mask)).collect();
    }
    let governors = of_each(reading, &numbers, "cpufreq/scaling_governor", CLOCK);
    let rates = of_each(reading, &numbers, "cpufreq/cpuinfo_max_freq", CLOCK);
    let drivers = of_each(reading, &numbers, "cpufreq/scaling_driver", CLOCK);
    // Without a topology an Arm kernel says -1.
    let sockets = packages.iter().filter(|text| text.parse::<u32>().is_ok()).count() as u64;
    let cores = siblings.len() as u64;
    Processors {
        model: model(&cpuinfo),
        sockets: (sockets > 0).then_some(sockets),
        cores: (cores > 0).then_some(cores),
        smt: reading.word(format!("{CPU}/smt/control"), "whether SMT is on"),
        governors: governors.into_iter().collect(),
        clock_driver: drivers.into_iter().next(),
        max_khz: rates.iter().filter_map(|text| text.parse().ok()).max(),
        microcode: cpu_field(&cpuinfo, "microcode").map(str::to_owned),
        caches: caches(reading, &numbers),
        nodes: nodes(reading, &online),
        online,
    }
}

/// What a file says of each CPU, each once.
fn of_each(reading: &mut Reading<'_>, numbers: &[u32], file: &str, what: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for number in numbers {
        all.extend(reading.word(format!("{CPU}/cpu{number}/{file}"), what));
    }
    all
}

/// x86 has `model name`, POWER `cpu`, MIPS `cpu model`, RISC-V `uarch`. On Arm `model name` is the
/// architecture at best; there the implementer and the part tell more.
fn model(cpuinfo: &str) -> Option<String> {
    let arm = || {
        let number = |key| {
            let text = cpu_field(cpuinfo, key)?.strip_prefix("0x")?;
            u32::from_str_radix(text, 16).ok()
        };
        Some(arm::name(number("CPU implementer")?, number("CPU part")?))
    };
    let named = || {
        let keys = ["model name", "Model Name", "cpu model", "cpu", "uarch"];
        keys.iter().find_map(|key| cpu_field(cpuinfo, key)).map(str::to_owned)
    };
    arm().or_else(named)
}

/// The caches of these CPUs, each kind once.
fn caches(reading: &mut Reading<'_>, numbers: &[u32]) -> Vec<Cache> {
    let mut found: Vec<Cache> = Vec::new();
    let mut seen: BTreeSet<(u32, String, String)> = BTreeSet::new();
    for number in numbers {
        let folder = format!("{CPU}/cpu{number}/cache");
        for index in reading.host().list(&folder) {
            let index = index.strip_prefix("index").and_then(|index| index.parse::<u8>().ok());
            let Some(index) = index else { continue };
            let mut word =
                |file: &str| reading.word(format!("{folder}/index{index}/{file}"), CACHES);
            let level = word("level").and_then(|level| level.parse::<u32>().ok());
            let (Some(level), Some(kind)) = (level, word("type")) else { continue };
            let shared = word("shared_cpu_list");
            let shared = shared.or_else(|| machine::of_mask(&word("shared_cpu_map")?));
            let shared = shared.unwrap_or_else(|| number.to_string());
            let sharing = cpus(&shared).len() as u64;
            if !seen.insert((level, kind.clone(), shared)) {
                continue;
            }
            let size = word("size").and_then(|size| size_bytes(&size));
            let Some(size_bytes) = size else { continue };
            let one = Cache { level, kind, size_bytes, cpus: sharing, count: 1 };
            match found.iter_mut().find(|same| one == Cache { count: 1, ..(**same).clone() }) {
                Some(same) => same.count += 1,
                None => found.push(one),
            }
        }
    }
    found.sort_by(|a, b| (a.level, &a.kind).cmp(&(b.level, &b.kind)));
    found
}

/// `32768K`; the kernel knows no other unit, some hypervisors' recordings do.
fn size_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// NUMA nodes in order of number; a kernel that knows of none has one with all CPUs.
fn nodes(reading: &mut Reading<'_>, online: &str) -> Vec<Node> {
    let names = reading.host().list(NODE);
    let number = |name: &String| name.strip_prefix("node")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    if numbers.is_empty() {
        let meminfo = reading.word("/proc/meminfo", "the size of the memory").unwrap_or_default();
        let memory_bytes = memory(&meminfo, "MemTotal:");
        let cpus = online.to_owned();
        return vec![Node { number: 0, cpus, memory_bytes, distances: vec![10] }];
    }
    numbers.into_iter().map(|number| node(reading, number)).collect()
}

fn node(reading: &mut Reading<'_>, number: u32) -> Node {
    let mut word = |file: &str| reading.word(format!("{NODE}/node{number}/{file}"), NODES);
    let distance = word("distance").unwrap_or_default();
    let distances: Option<Vec<u64>> =
        distance.split_whitespace().map(|text| text.parse().ok()).collect();
    let meminfo = word("meminfo").unwrap_or_default();
    let cpus = word("cpulist").or_else(|| machine::of_mask(&word("cpumap")?));
    Node {
        number,
        cpus: cpus.unwrap_or_default(),
        memory_bytes: node_memory(&meminfo),
        distances: distances.unwrap_or_default(),
    }
}

/// `Node 0 MemTotal:       24684096 kB`.
fn node_memory(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix("Node ")?;
        memory(rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start(), "MemTotal:")
    })
}

/// The largest cache that the first CPU can fill, bytes; `None` where the kernel shows none.
pub fn last_level_bytes(host: &Host) -> Option<u64> {
    let mut reading = Reading::new(host);
    let first = cpus(&machine::online(host)).into_iter().next()?;
    caches(&mut reading, &[first]).iter().map(|cache| cache.size_bytes).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    fn recorded(text: &str) -> Processors {
        let recording = Recording::unpack(text);
        let host = recording.host();
        let mut reading = Reading::new(&host);
        read(&mut reading)
    }

    /// Two sockets with two cores of two threads each; one L3 a socket, one L2 a core.
    fn two_sockets() -> String {
        let mut text = "/proc/cpuinfo:\n    processor\t: 0\n    model name\t: Xeon X5550\n    \
            microcode\t: 0x1d\n/sys/devices/system/cpu/online = 0-7\n\
            /sys/devices/system/cpu/smt/control = on\n\
            /sys/devices/system/node/node0/cpulist = 0-1,4-5\n\
            /sys/devices/system/node/node1/cpulist = 2-3,6-7\n\
            /sys/devices/system/node/node0/distance = 10 21\n\
            /sys/devices/system/node/node1/distance = 21 10\n\
            /sys/devices/system/node/node0/meminfo:\n    Node 0 MemTotal:       12000000 kB\n    \
            Node 0 MemFree:        1 kB\n\
            /sys/devices/system/node/possible = 0-1\n"
            .to_owned();
        for cpu in 0..8 {
            let core = cpu % 4;
            let (package, other) = (core / 2, core + 4);
            let l3 = ["0-1,4-5", "2-3,6-7"][package];
            let at = format!("/sys/devices/system/cpu/cpu{cpu}");
            text += &format!(
                "{at}/topology/physical_package_id = {package}\n\
                 {at}/topology/thread_siblings_list = {core},{other}\n\
                 {at}/cpufreq/scaling_governor = ondemand\n\
                 {at}/cpufreq/scaling_driver = acpi-cpufreq\n\
                 {at}/cpufreq/cpuinfo_max_freq = {}\n\
                 {at}/cache/index2/level = 2\n{at}/cache/index2/type = Unified\n\
                 {at}/cache/index2/size = 256K\n\
                 {at}/cache/index2/shared_cpu_list = {core},{other}\n\
                 {at}/cache/index3/level = 3\n{at}/cache/index3/type = Unified\n\
                 {at}/cache/index3/size = 8192K\n{at}/cache/index3/shared_cpu_list = {l3}\n",
                2_667_000 + cpu,
            );
        }
        text
    }

    #[test]
    fn two_sockets_are_read_with_caches_and_nodes() {
        let found = recorded(&two_sockets());
        assert_eq!(found.model.as_deref(), Some("Xeon X5550"));
        assert_eq!((found.sockets, found.cores), (Some(2), Some(4)));
        assert_eq!((found.smt.as_deref(), found.microcode.as_deref()), (Some("on"), Some("0x1d")));
        assert_eq!(
            (found.governors.join(" "), found.max_khz),
            ("ondemand".into(), Some(2_667_007))
        );
        assert_eq!(found.clock_driver.as_deref(), Some("acpi-cpufreq"));
        let caches: Vec<(u32, u64, u64, u64)> =
            found.caches.iter().map(|c| (c.level, c.size_bytes, c.cpus, c.count)).collect();
        assert_eq!(caches, [(2, 256 << 10, 2, 4), (3, 8 << 20, 4, 2)]);
        assert_eq!(found.nodes.len(), 2);
        assert_eq!(found.nodes[0].memory_bytes, Some(12_000_000 << 10));
        assert_eq!((found.nodes[1].number, found.nodes[1].cpus.as_str()), (1, "2-3,6-7"));
        assert_eq!((&found.nodes[1].distances, found.nodes[1].memory_bytes), (&vec![21, 10], None));
        let recording = Recording::unpack(&two_sockets());
        assert_eq!(last_level_bytes(&recording.host()), Some(8 << 20));
    }

    /// An i7-1370P has six cores of two threads and eight of one: "14 x L1d 48 KiB for 2 CPUs, 14 x
    /// L1i 32 KiB, 8 x L2 1.25 MiB for 2 CPUs". The caches of the first CPU stood for all.
    #[test]
    fn cores_of_two_kinds_have_caches_of_two_kinds() {
        let recording = Recording::open("hybrid-caches");
        let host = recording.host();
        let found = read(&mut Reading::new(&host));
        let caches: Vec<(u32, &str, u64, u64, u64)> = found
            .caches
            .iter()
            .map(|it| (it.level, it.kind.as_str(), it.count, it.size_bytes >> 10, it.cpus))
            .collect();
        let expected = [
            (1, "Data", 6, 48, 2),
            (1, "Data", 8, 32, 1),
            (1, "Instruction", 6, 32, 2),
            (1, "Instruction", 8, 64, 1),
            (2, "Unified", 6, 1280, 2),
            (2, "Unified", 2, 2048, 4),
            (3, "Unified", 1, 24_576, 20),
        ];
        assert_eq!(caches, expected);
        // Four cores of the first kind and one of the other are offline.
        const TEXT: &str = include_str!("../../../../../tests/fixtures/sys/hybrid-caches.txt");
        let few = recorded(&TEXT.replace("cpu/online = 0-19", "cpu/online = 0-3,12,14-19"));
        let counts: Vec<u64> = few.caches.iter().map(|cache| cache.count).collect();
        assert_eq!(counts, [2, 7, 2, 7, 2, 2, 1], "{:?}", few.caches);
        // What does not say its size is no cache of another's.
        let at = "cpu19/cache/index0/size = 32K";
        assert!(TEXT.contains(at));
        let untold = recorded(&TEXT.replace(at, "cpu19/cache/index0/ways = 8"));
        assert_eq!((untold.caches[0].count, untold.caches[1].count), (6, 7));
        assert_eq!(last_level_bytes(&host), Some(24 << 20));
    }

    /// A cache that two CPUs share was counted twice where the kernel tells that by a mask alone.
    #[test]
    fn sets_of_cpus_that_are_told_by_masks_are_read() {
        let mut text = String::new();
        for (cpu, mask) in [(0, "00000101"), (8, "00000101"), (1, "00000002")] {
            let at = format!("/sys/devices/system/cpu/cpu{cpu}");
            text += &format!(
                "{at}/topology/thread_siblings = 00000000,{mask}\n{at}/cache/index0/level = 1\n\
                 {at}/cache/index0/type = Data\n{at}/cache/index0/size = 16K\n\
                 {at}/cache/index0/shared_cpu_map = 00000000,{mask}\n"
            );
        }
        text += "/sys/devices/system/node/node0/cpumap = 00000000,00000103\n";
        let found = recorded(&text);
        assert_eq!((found.online.as_str(), found.cores), ("0,1,8", Some(2)));
        let caches: Vec<(u64, u64)> = found.caches.iter().map(|it| (it.cpus, it.count)).collect();
        assert_eq!(caches, [(2, 1), (1, 1)]);
        assert_eq!(found.nodes[0].cpus, "0,1,8");
    }

    #[test]
    fn a_guest_without_clock_control_has_caches_that_its_cpus_share() {
        let recording = Recording::open("virtio-guest");
        let host = recording.host();
        let mut reading = Reading::new(&host);
        let found = read(&mut reading);
        assert_eq!(found.model.as_deref(), Some("AMD EPYC"));
        assert_eq!((found.governors.len(), found.max_khz, found.clock_driver), (0, None, None));
        assert_eq!(found.nodes.len(), 1);
    }

    #[test]
    fn an_arm_processor_is_known_by_its_part() {
        let arm = |implementer: &str, part: &str| {
            model(&format!(
                "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\n\
                 CPU implementer\t: {implementer}\nCPU part\t: {part}\n"
            ))
        };
        assert_eq!(arm("0x41", "0xd0c").as_deref(), Some("Arm Neoverse-N1"));
        assert_eq!(arm("0x41", "0xfff").as_deref(), Some("Arm part 0xfff"));
        assert_eq!(arm("0x99", "0x001").as_deref(), Some("implementer 0x99 part 0x001"));
        assert_eq!(arm("x", "0xd0c").as_deref(), Some("ARMv8 Processor rev 1 (v8l)"));
        assert_eq!(model("cpu\t\t: POWER9, altivec supported\n").as_deref().unwrap().len(), 25);
    }

    #[test]
    fn an_empty_or_hostile_tree_yields_no_numbers() {
        let found = recorded("");
        let one = Node { distances: vec![10], ..Node::default() };
        assert_eq!(found, Processors { nodes: vec![one], ..Processors::default() });
        let at = "/sys/devices/system";
        let found = recorded(&format!(
            "{at}/cpu/online = 0-99999999999\n{at}/node/node0/distance = 10 x\n\
             {at}/node/node0/meminfo = Node 0 MemTotal: 99999999999999999999 kB\n\
             {at}/node/nodex/cpulist = 0\n"
        ));
        assert_eq!((found.cores, found.nodes.len()), (None, 1));
        assert_eq!(found.nodes[0], Node::default());
        let found = recorded(&format!(
            "{at}/cpu/online = 0\n{at}/cpu/cpu0/topology/physical_package_id = -1\n\
             {at}/cpu/cpu0/cache/index0/level = 1\n{at}/cpu/cpu0/cache/index0/type = Data\n\
             {at}/cpu/cpu0/cache/index0/size = 18446744073709551615G\n\
             {at}/cpu/cpu0/cache/index900/level = 1\n"
        ));
        assert_eq!((found.sockets, found.caches.len()), (None, 0));
    }

    #[test]
    fn text_cut_at_every_byte_is_no_trouble() {
        let text = "Node 0 MemTotal:       24684096 kB\n";
        for end in 0..text.len() {
            assert!(node_memory(&text[..end]).is_none_or(|bytes| bytes == 24_684_096 << 10));
            size_bytes(&text[..end]);
            model(&text[..end]);
        }
        let sizes = ["32K", "8M", "1G", "7", "K", "0K", "3X", ""].map(size_bytes);
        let (k, m) = (Some(32 << 10), Some(8 << 20));
        assert_eq!(sizes, [k, m, Some(1 << 30), Some(7), None, None, None, None]);
    }
}
