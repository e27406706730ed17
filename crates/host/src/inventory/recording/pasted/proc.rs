//! Files of /proc that people paste as they are: /proc/meminfo and /proc/cpuinfo.

use std::collections::{BTreeMap, BTreeSet};

use super::piece::Piece;
use super::{PastedKind, Topic, draft::Draft, lines, no_json};

/// /proc/meminfo.
pub const MEMINFO: PastedKind = PastedKind {
    name: "/proc/meminfo",
    programs: &["cat"],
    opens: |line, _| is_total(line),
    json: no_json,
    goes_on: false,
    tells: &[Topic::Memory],
    read: meminfo,
};

fn is_total(line: &str) -> bool {
    line.starts_with("MemTotal:") && line.trim_end().ends_with(" kB")
}

/// /proc/cpuinfo.
pub const CPUINFO: PastedKind = PastedKind {
    name: "/proc/cpuinfo",
    programs: &["cat"],
    opens: |line, next| {
        let first = line.split_once(':').filter(|(key, _)| key.trim_end() == "processor");
        let index = first.is_some_and(|(_, value)| value.trim().parse::<u32>().is_ok());
        index && !line.starts_with(' ') && next.contains(':')
    },
    json: no_json,
    goes_on: true,
    tells: &[Topic::Processors],
    read: cpuinfo,
};

/// Which CPUs there are, and on x86 which are of one core and one socket.
fn cpuinfo(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut cpus: Vec<BTreeMap<&str, &str>> = Vec::new();
    for line in piece.text.lines() {
        let Some((key, value)) = lines::pair(line, ":") else { continue };
        if key == "processor" {
            cpus.push(BTreeMap::new());
        }
        if let Some(cpu) = cpus.last_mut() {
            cpu.insert(key, value);
        }
    }
    let number = |cpu: &BTreeMap<&str, &str>, key: &str| cpu.get(key)?.parse::<u32>().ok();
    let numbers: BTreeSet<u32> = cpus.iter().filter_map(|cpu| number(cpu, "processor")).collect();
    if numbers.len() != cpus.len() || numbers.iter().any(|number| *number >= 8192) {
        return Err("it tells of one CPU twice, or of none".to_owned());
    }
    // Each says how many there are on its socket: fewer are here when it was cut short.
    let mut cores: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for cpu in &cpus {
        let place = number(cpu, "physical id").zip(number(cpu, "core id"));
        if let (Some(place), Some(name)) = (place, number(cpu, "processor")) {
            cores.entry(place).or_default().push(name.to_string());
        }
    }
    for cpu in &cpus {
        let Some((socket, siblings)) = number(cpu, "physical id").zip(number(cpu, "siblings"))
        else {
            continue;
        };
        let there = cores.iter().filter(|((of, _), _)| *of == socket);
        let there: usize = there.map(|(_, names)| names.len()).sum();
        if there != siblings as usize {
            return Err(format!(
                "socket {socket} has {siblings} CPUs and {there} of them are here: is it cut short?"
            ));
        }
    }
    const CPU: &str = "/sys/devices/system/cpu";
    let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let known = draft.files.get(&format!("{CPU}/online")).is_some();
    if !known {
        draft.files.tell(&format!("{CPU}/online"), list.join(","))?;
    }
    for ((socket, _), names) in &cores {
        for name in names {
            let at = format!("{CPU}/cpu{name}/topology");
            draft.files.suppose(&format!("{at}/physical_package_id"), socket.to_string());
            draft.files.suppose(&format!("{at}/thread_siblings_list"), names.join(","));
        }
    }
    // As a recording has it: the first processor is enough, and its flags tell of a guest.
    let first = piece.text.split("\n\n").next().unwrap_or(piece.text);
    draft.files.move_to("/proc/cpuinfo", format!("{first}\n"));
    Ok(())
}

/// Sizes alone: what is free moves.
fn meminfo(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut text = String::new();
    for key in ["MemTotal", "SwapTotal"] {
        let value = piece.text.lines().find_map(|line| {
            let (name, value) = lines::pair(line, ":")?;
            (name == key).then_some(value)
        });
        let Some(value) = value else { continue };
        let kib = value.strip_suffix(" kB").and_then(|kib| kib.trim().parse::<u64>().ok());
        let kib = kib.ok_or_else(|| format!("its {key} is {value:?}"))?;
        text.push_str(&format!("{key}: {kib} kB\n"));
    }
    draft.files.tell("/proc/meminfo", text)
}
