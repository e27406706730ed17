//! The machine itself: kernel, processors, memory, whether it is virtual.

use std::collections::BTreeSet;

use crate::sys::Host;
use facts::inventory::{Machine, cpus};

/// Reads the inventory of the machine. What cannot be read is left out.
pub fn machine(host: &Host) -> Machine {
    let cpuinfo = host.read("/proc/cpuinfo").unwrap_or_default();
    let meminfo = host.read("/proc/meminfo").unwrap_or_default();
    let cpu = "/sys/devices/system/cpu";
    let online = cpus(&online(host));
    let present = host.word(format!("{cpu}/present")).map_or_else(Vec::new, |text| cpus(&text));
    let of_each = |file: &str| -> BTreeSet<String> {
        online.iter().filter_map(|number| host.word(format!("{cpu}/cpu{number}/{file}"))).collect()
    };
    let governors: Vec<String> = of_each("cpufreq/scaling_governor").into_iter().collect();
    let siblings = online.first().and_then(|number| {
        let at = format!("{cpu}/cpu{number}/topology/thread_siblings");
        host.word(format!("{at}_list")).or_else(|| of_mask(&host.word(at)?))
    });
    let sockets = of_each("topology/physical_package_id").len() as u64;
    let nodes = host.word("/sys/devices/system/node/online").map_or(1, |text| cpus(&text).len());
    // x86 lists the flag in `flags`; other architectures have no such flag.
    let guest = cpu_field(&cpuinfo, "flags")
        .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let firmware = |file: &str| host.word(format!("/sys/class/dmi/id/{file}"));
    Machine {
        hostname: host.word("/proc/sys/kernel/hostname"),
        kernel: host.word("/proc/sys/kernel/osrelease"),
        cpu_model: cpu_field(&cpuinfo, "model name").map(str::to_owned),
        cpus_online: online.len() as u64,
        cpus_present: present.len().max(online.len()) as u64,
        threads_per_core: siblings.map(|text| cpus(&text).len() as u64).filter(|n| *n > 0),
        sockets: (sockets > 0).then_some(sockets),
        governor: (!governors.is_empty()).then(|| governors.join("+")),
        numa_nodes: nodes.max(1) as u64,
        memory_total_bytes: memory(&meminfo, "MemTotal:"),
        memory_available_bytes: memory(&meminfo, "MemAvailable:"),
        swap_total_bytes: memory(&meminfo, "SwapTotal:"),
        clocksource: host.word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        virtual_machine: guest,
        vendor: firmware("sys_vendor").or_else(|| host.word("/sys/hypervisor/type")),
        product: firmware("product_name"),
    }
}

/// The CPUs that are online, in the kernel's list notation. Recordings of kernels before 2.6.26,
/// and of tools that copy only some files, have no such list: there it is the CPUs that have a
/// topology, which those that are offline lose, and do not say themselves that they are offline.
pub(super) fn online(host: &Host) -> String {
    const CPU: &str = "/sys/devices/system/cpu";
    if let Some(list) = host.word(format!("{CPU}/online")) {
        return list;
    }
    let number = |name: &String| name.strip_prefix("cpu")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = host.list(CPU).iter().filter_map(number).collect();
    numbers.sort_unstable();
    let on = |number: &u32| {
        let at = format!("{CPU}/cpu{number}");
        host.word(format!("{at}/online")).is_none_or(|word| word != "0")
            && host.exists(format!("{at}/topology"))
    };
    let numbers = numbers.into_iter().filter(on).map(|number| number.to_string());
    numbers.collect::<Vec<String>>().join(",")
}

/// A set of CPUs as older kernels write it, in words of 32 bits with the highest first
/// (`00000000,00000101`), in the list notation; `None` where it is none, or is empty.
pub(super) fn of_mask(text: &str) -> Option<String> {
    let mut numbers = Vec::new();
    for (at, word) in text.trim().split(',').rev().enumerate() {
        let plain = (1..=8).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_hexdigit());
        let bits = plain.then(|| u32::from_str_radix(word, 16).ok())??;
        let first = u32::try_from(at).ok()?.checked_mul(32)?;
        numbers.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
    }
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    (!numbers.is_empty()).then(|| numbers.join(","))
}

/// The value of the first line `key : value` of /proc/cpuinfo.
pub(super) fn cpu_field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The value of a line of /proc/meminfo, whose `kB` are 1024 bytes.
pub(super) fn memory(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    #[test]
    fn a_recorded_guest_is_read() {
        let recording = Recording::open("virtio-guest");
        let machine = machine(&recording.host());
        assert_eq!(machine.kernel.as_deref(), Some("6.18.44"));
        assert_eq!(machine.cpu_model.as_deref(), Some("AMD EPYC"));
        assert_eq!((machine.cpus_online, machine.cpus_present), (2, 2));
        assert_eq!((machine.threads_per_core, machine.sockets), (Some(1), Some(1)));
        assert_eq!((machine.virtual_machine, machine.governor), (Some(true), None));
        assert_eq!(machine.memory_total_bytes, Some(24_684_096 << 10));
        assert_eq!(machine.clocksource.as_deref(), Some("tsc"));
    }

    #[test]
    fn a_server_with_two_sockets_and_an_offline_cpu_is_read() {
        let recording = Recording::open("nvme");
        let machine = machine(&recording.host());
        assert_eq!((machine.cpus_online, machine.cpus_present), (7, 8));
        assert_eq!((machine.threads_per_core, machine.sockets), (Some(2), Some(2)));
        assert_eq!(machine.governor.as_deref(), Some("performance+powersave"));
        assert_eq!((machine.numa_nodes, machine.virtual_machine), (2, Some(false)));
        assert_eq!(machine.vendor.as_deref(), Some("LabCo"));
    }

    /// Of a dump of hwloc, whose kernel had no list of CPUs, "0 CPUs" was printed.
    #[test]
    fn without_a_list_of_cpus_those_with_a_topology_are_online() {
        let cpu = "/sys/devices/system/cpu";
        let text = format!(
            "{cpu}/cpu0/topology/physical_package_id = 0\n\
             {cpu}/cpu0/topology/thread_siblings_list = 0,2\n\
             {cpu}/cpu2/topology/physical_package_id = 0\n{cpu}/cpu2/online = 1\n\
             {cpu}/cpu2/topology/thread_siblings_list = 0,2\n\
             {cpu}/cpu1/online = 0\n{cpu}/cpu1/topology/physical_package_id = 0\n\
             {cpu}/cpu3/crash_notes = 0\n{cpu}/cpuidle/current_driver = none\n"
        );
        let recording = Recording::unpack(&text);
        let host = recording.host();
        assert_eq!(online(&host), "0,2");
        assert_eq!((machine(&host).cpus_online, machine(&host).sockets), (2, Some(1)));
        let processors = crate::inventory::server::processors(&host);
        assert_eq!((processors.online.as_str(), processors.cores), ("0,2", Some(1)));
        // Kernels of that time write masks.
        let masks =
            text.replace("thread_siblings_list = 0,2", "thread_siblings = 00000000,00000005");
        let old = Recording::unpack(&masks);
        assert_eq!(super::machine(&old.host()).threads_per_core, Some(2));
        assert_eq!(crate::inventory::server::processors(&old.host()).cores, Some(1));
        assert_eq!(of_mask("00000001,80000000").as_deref(), Some("31,32"));
        for nonsense in ["", "0", "00000000,00000000", "x", "0-3", ",", "000000001"] {
            assert_eq!(of_mask(nonsense), None, "{nonsense}");
        }
        assert_eq!(
            online(&Recording::unpack(&format!("{text}{cpu}/online = 0-7\n")).host()),
            "0-7"
        );
    }

    #[test]
    fn an_empty_tree_yields_an_inventory_without_facts() {
        let machine = machine(&Recording::unpack("").host());
        assert_eq!((machine.cpus_online, machine.numa_nodes), (0, 1));
        assert_eq!((machine.kernel, machine.virtual_machine), (None, None));
    }

    #[test]
    fn lists_of_cpus_are_counted_and_nonsense_is_not() {
        assert_eq!(cpus("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus("0-4294967295,x,7-,5"), [5]);
        assert_eq!(cpus(&"0-8191,".repeat(1000)).len(), 8192);
        let text = "processor\t: 0\nflags\t\t: a hypervisor b\n";
        for end in 0..text.len() {
            cpu_field(&text[..end], "flags");
            memory(&text[..end], "MemTotal:");
            cpus(&text[..end]);
        }
    }
}
