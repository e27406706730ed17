//! (pure) Machine, board, processors, memory and settings as text.

use super::page::{Page, few};
use base::value;
use facts::bandwidth::Bandwidth;
use facts::inventory::server::{Cache, Memory, Module, Processors, Server, Setting, Slot};

/// Kernel, board, firmware, slots.
pub fn machine(page: &mut Page, server: &Server) {
    page.title("Machine");
    page.line(1, &server.machine.to_string());
    let firmware = &server.firmware;
    let told = |label: &str, word: &Option<String>| {
        word.as_ref().map_or(String::new(), |word| format!("{label}{word}"))
    };
    let system = [&firmware.vendor, &firmware.product].into_iter().flatten().cloned();
    let system = system.collect::<Vec<String>>().join(" ");
    let facts = [system, told("", &firmware.chassis), told("serial ", &firmware.serial)].to_vec();
    if facts.iter().any(|fact| !fact.is_empty()) {
        page.item(1, "system", &facts);
    }
    for (name, word) in [("board", &firmware.board), ("firmware", &firmware.bios)] {
        if let Some(word) = word {
            page.item(1, name, std::slice::from_ref(word));
        }
    }
    for slot in &firmware.slots {
        page.item(1, &slot.name, &slot_facts(slot));
    }
}

fn slot_facts(slot: &Slot) -> Vec<String> {
    let used = match (&slot.address, slot.occupied) {
        (Some(address), Some(true) | None) => format!("holds {address}"),
        (_, Some(true)) => "in use".to_owned(),
        (_, Some(false)) => "empty".to_owned(),
        (None, None) => String::new(),
    };
    let lanes = slot.lanes.map_or(String::new(), |lanes| format!("{lanes} lanes"));
    vec![slot.kind.clone().unwrap_or_default(), lanes, used]
}

/// Packages, cores, clock, caches, nodes.
pub fn processors(page: &mut Page, processors: &Processors) {
    page.title("Processors");
    let count = |number: Option<u64>, one: &str, many: &str| match number {
        Some(1) => format!("1 {one}"),
        Some(number) => format!("{number} {many}"),
        None => String::new(),
    };
    let khz = processors.max_khz;
    let clock = khz
        .map_or(String::new(), |khz| format!("up to {} GHz", value::significant(khz as f64 / 1e6)));
    let word = |label: &str, word: &Option<String>| {
        word.as_ref().map_or(String::new(), |word| format!("{label} {word}"))
    };
    let governors = match &processors.governors[..] {
        [] => String::new(),
        [one] => format!("governor {one}"),
        several => format!("governors {}", several.join(" and ")),
    };
    let online = match processors.online.as_str() {
        "" => String::new(),
        online => format!("CPUs {online}"),
    };
    let facts = [
        count(processors.sockets, "socket", "sockets"),
        count(processors.cores, "core", "cores"),
        online,
        processors.smt.as_deref().map_or(String::new(), smt),
        clock,
        governors,
        word("driver", &processors.clock_driver),
        word("microcode", &processors.microcode),
    ];
    page.item(1, processors.model.as_deref().unwrap_or("model not known"), &facts);
    let caches: Vec<String> = processors.caches.iter().map(cache).collect();
    if !caches.is_empty() {
        page.item(1, "caches", &caches);
    }
    for node in &processors.nodes {
        let distances: Vec<String> = node.distances.iter().map(u64::to_string).collect();
        let distances = match distances.len() {
            0 | 1 => String::new(),
            _ => format!("distances {}", distances.join(" ")),
        };
        let memory = node.memory_bytes.map_or(String::new(), |bytes| value::bytes(bytes as f64));
        let cpus = match node.cpus.as_str() {
            "" => "no CPUs".to_owned(),
            cpus => format!("CPUs {cpus}"),
        };
        page.item(1, &format!("node {}", node.number), &[cpus, memory, distances]);
    }
}

fn cache(cache: &Cache) -> String {
    let kind = match cache.kind.as_str() {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    let times = if cache.count > 1 { format!("{} x ", cache.count) } else { String::new() };
    let shared = match cache.cpus {
        0 | 1 => String::new(),
        cpus => format!(" for {cpus} CPUs"),
    };
    format!("{times}L{}{kind} {}{shared}", cache.level, value::bytes(cache.size_bytes as f64))
}

/// Size, modules, and what was measured.
pub fn memory(page: &mut Page, memory: &Memory, bandwidth: Option<&Bandwidth>) {
    page.title("Memory");
    let size = |bytes: Option<u64>| bytes.map(|bytes| value::bytes(bytes as f64));
    let errors = [
        (memory.corrected_errors, "corrected errors"),
        (memory.uncorrected_errors, "uncorrected errors"),
    ];
    let mut facts: Vec<String> = Vec::new();
    facts.extend(memory.channels.map(|channels| format!("{channels} channels in use")));
    facts.extend(size(memory.swap_bytes).map(|bytes| format!("swap {bytes}")));
    facts.extend(memory.transparent_huge_pages.as_ref().map(|word| format!("huge pages {word}")));
    facts.extend(errors.iter().filter_map(|(count, what)| Some(format!("{} {what}", (*count)?))));
    page.item(1, &size(memory.total_bytes).unwrap_or("size not known".into()), &facts);
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for module in &memory.modules {
        let what = module_words(module);
        match kinds.iter_mut().find(|(known, _)| *known == what) {
            Some((_, places)) => places.push(module.place.clone()),
            None => kinds.push((what, vec![module.place.clone()])),
        }
    }
    for (what, places) in kinds {
        page.item(1, &format!("{} x {what}", places.len()), &[few(&places, 8)]);
    }
    let Some(bandwidth) = bandwidth else { return };
    for node in &bandwidth.nodes {
        let rate = |name: &str, rate: Option<f64>| {
            rate.map_or(String::new(), |rate| format!("{name} {}", value::throughput(rate)))
        };
        let name = format!("measured, node {}, {} threads", node.node, node.threads);
        let read = rate("read", node.read_bytes_per_s);
        page.item(1, &name, &[read, rate("triad", node.triad_bytes_per_s)]);
    }
    if let Some(rate) = bandwidth.copy_bytes_per_s {
        page.item(1, "measured, one core copies", &[value::throughput(rate)]);
    }
}

fn module_words(module: &Module) -> String {
    let Some(bytes) = module.size_bytes else { return "empty".to_owned() };
    let mut words = vec![value::bytes(bytes as f64)];
    words.extend(module.kind.clone());
    words.extend(match (module.configured_mt_per_s, module.speed_mt_per_s) {
        (Some(set), Some(most)) if set != most => Some(format!("at {set} of {most} MT/s")),
        (Some(speed), _) | (None, Some(speed)) => Some(format!("at {speed} MT/s")),
        (None, None) => None,
    });
    words.extend(module.part.as_ref().map(|part| format!("({part})")));
    words.join(" ")
}

/// Settings of the kernel.
pub fn settings(page: &mut Page, settings: &[Setting]) {
    if settings.is_empty() {
        return;
    }
    page.title("Settings");
    for Setting { name, value, .. } in settings {
        page.line(1, &format!("{name} = {value}"));
    }
}
/// What the kernel's word says of several threads a core (cpu/smt/control).
fn smt(control: &str) -> String {
    match control {
        "notsupported" => "no SMT".to_owned(),
        "notimplemented" => "SMT not known".to_owned(),
        "forceoff" => "SMT off for good".to_owned(),
        word => format!("SMT {word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "SMT notsupported" is the kernel's word, and no reader's.
    #[test]
    fn what_the_kernel_says_of_threads_is_put_in_words() {
        let told = ["on", "off", "forceoff", "notsupported", "notimplemented"].map(smt);
        assert_eq!(told, ["SMT on", "SMT off", "SMT off for good", "no SMT", "SMT not known"]);
    }
}
