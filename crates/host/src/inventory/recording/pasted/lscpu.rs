//! `lscpu`, as text and with `-J`: processors in short (util-linux).
//!
//! It tells how many cores and caches there are, and not which CPU is of which: files of single
//! CPUs are made so that they count to the same. Versions before 2.34 tell the size of one cache
//! of each kind and not how many there are; later ones tell the sum of all.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::draft::Draft;
use super::piece::Piece;
use super::{PastedKind, Topic, lines};
use facts::inventory::cpus;

/// `lscpu`.
pub const LSCPU: PastedKind = PastedKind {
    name: "lscpu",
    programs: &["lscpu"],
    opens: |line, _| lines::pair(line, ":").is_some_and(|(key, _)| key == "Architecture"),
    json: |value| value.get("lscpu").is_some_and(Value::is_array),
    goes_on: false,
    tells: &[Topic::Processors],
    read,
};

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";

/// What lscpu printed, by its own names.
type LscpuFields = BTreeMap<String, String>;

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let told = match &piece.json {
        Some(json) => of_json(json)?,
        None => of_text(piece.text)?,
    };
    let number = |key: &str| -> Result<Option<u64>, String> {
        let Some(text) = told.get(key) else { return Ok(None) };
        // `-` is what it prints of what it does not know.
        if text == "-" {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| format!("{key} is {text:?}"))
    };
    let online = told.get("On-line CPU(s) list").ok_or("it lists no CPUs: was it cut short?")?;
    let numbers = list(online)?;
    let offline = told.get("Off-line CPU(s) list").map(|text| list(text)).transpose()?;
    let present = numbers.len() + offline.as_ref().map_or(0, Vec::len);
    if number("CPU(s)")?.is_some_and(|count| count != present as u64) {
        return Err(format!("CPU(s) is not the {present} of its lists: was it cut or changed?"));
    }
    draft.files.tell(&format!("{CPU}/online"), ranges(&numbers))?;
    let mut all: Vec<u32> = numbers.iter().chain(offline.iter().flatten()).copied().collect();
    all.sort_unstable();
    draft.files.tell(&format!("{CPU}/present"), ranges(&all))?;
    model(&told, draft)?;
    nodes(&told, &all, draft)?;
    let (threads, sockets) = (number("Thread(s) per core")?, number("Socket(s)")?);
    let per_socket = number("Core(s) per socket")?.or(number("Core(s) per cluster")?);
    if let Some(mhz) = told.get("CPU max MHz").and_then(|mhz| mhz.parse::<f64>().ok()) {
        let khz = format!("{:.0}", mhz * 1000.0);
        for cpu in &numbers {
            draft.files.tell(&format!("{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"), &khz)?;
        }
    }
    if threads.is_some_and(|threads| threads > 1) {
        draft.files.tell(&format!("{CPU}/smt/control"), "on")?;
    }
    if let Some(sockets) = sockets.filter(|count| *count > 0 && *count <= numbers.len() as u64) {
        deal(&numbers, sockets, |cpu, socket, _| {
            let at = format!("{CPU}/cpu{cpu}/topology/physical_package_id");
            draft.files.tell(&at, socket.to_string())
        })?;
    }
    let cores = sockets.zip(per_socket).and_then(|(sockets, cores)| sockets.checked_mul(cores));
    let even = cores
        .zip(threads)
        .is_some_and(|(cores, threads)| cores.checked_mul(threads) == Some(numbers.len() as u64));
    match cores.filter(|cores| *cores > 0 && *cores <= numbers.len() as u64) {
        Some(cores) => deal(&numbers, cores, |cpu, _, group| {
            let at = format!("{CPU}/cpu{cpu}/topology/thread_siblings_list");
            draft.files.tell(&at, group)
        })?,
        None => draft.miss(
            "how many cores there are",
            "lscpu",
            "it counts cores of which CPUs are offline",
            "lscpu -e",
        ),
    }
    caches(&told, &numbers, even, draft)
}

/// `key: value` at any depth; a value that goes on stands on a line without a key.
fn of_text(text: &str) -> Result<LscpuFields, String> {
    let mut told = LscpuFields::new();
    for line in lines::whole(text) {
        let Some((key, value)) = lines::pair(line, ":") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        add(&mut told, key, value)?;
    }
    Ok(told)
}

fn of_json(json: &Value) -> Result<LscpuFields, String> {
    let mut told = LscpuFields::new();
    let mut ahead: Vec<&Value> =
        json.get("lscpu").and_then(Value::as_array).into_iter().flatten().collect();
    while let Some(one) = ahead.pop() {
        let field = one.get("field").and_then(Value::as_str).unwrap_or("");
        if let Some(data) = one.get("data").and_then(Value::as_str) {
            add(&mut told, field.trim().trim_end_matches(':'), data.trim())?;
        }
        ahead.extend(one.get("children").and_then(Value::as_array).into_iter().flatten());
    }
    Ok(told)
}

fn add(told: &mut LscpuFields, key: &str, value: &str) -> Result<(), String> {
    // Names of old versions: `L1d cache`.
    let key = key.strip_suffix(" cache").unwrap_or(key);
    match told.insert(key.to_owned(), value.to_owned()) {
        Some(other) if other != value && READ.contains(&key) => {
            Err(format!("{key} is {value:?} here and {other:?} elsewhere"))
        }
        _ => Ok(()),
    }
}

/// What is read, and may not be told twice.
const READ: &[&str] = &[
    "CPU(s)",
    "On-line CPU(s) list",
    "Thread(s) per core",
    "Core(s) per socket",
    "Socket(s)",
    "Model name",
    "L1d",
    "L1i",
    "L2",
    "L3",
];

fn list(text: &str) -> Result<Vec<u32>, String> {
    let mut numbers = cpus(text);
    numbers.sort_unstable();
    numbers.dedup();
    let good = |c: char| c.is_ascii_digit() || ",- ".contains(c);
    let whole = text.chars().all(good) && text.ends_with(|c: char| c.is_ascii_digit());
    match numbers.is_empty() || !whole {
        true => Err(format!("{text:?} is no list of CPUs")),
        false => Ok(numbers),
    }
}

fn ranges(numbers: &[u32]) -> String {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => found.push((*number, *number)),
        }
    }
    let said = found.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    said.collect::<Vec<String>>().join(",")
}

/// Deals CPUs in order into so many groups, the first of which have one more.
fn deal(
    numbers: &[u32],
    groups: u64,
    mut tell: impl FnMut(u32, u64, String) -> Result<(), String>,
) -> Result<(), String> {
    let (each, more) = (numbers.len() as u64 / groups, numbers.len() as u64 % groups);
    let mut rest = numbers;
    for group in 0..groups {
        let count = usize::try_from(each + u64::from(group < more)).unwrap_or(usize::MAX);
        let (these, after) = rest.split_at(count.min(rest.len()));
        rest = after;
        for cpu in these {
            tell(*cpu, group, ranges(these))?;
        }
    }
    Ok(())
}

fn model(told: &LscpuFields, draft: &mut Draft) -> Result<(), String> {
    let mut text = "processor\t: 0\n".to_owned();
    if let Some(model) = told.get("Model name").filter(|model| *model != "-") {
        text.push_str(&format!("model name\t: {model}\n"));
    }
    let guest = told.contains_key("Hypervisor vendor");
    let bare = told.contains_key("Flags");
    match (guest, bare) {
        (true, _) => text.push_str("flags\t\t: hypervisor\n"),
        (false, true) => text.push_str("flags\t\t: untold\n"),
        (false, false) => {}
    }
    draft.files.suppose("/proc/cpuinfo", text);
    Ok(())
}

/// `NUMA node0 CPU(s): 0-7`; a node without CPUs has an empty list.
fn nodes(told: &LscpuFields, all: &[u32], draft: &mut Draft) -> Result<(), String> {
    let mut found = Vec::new();
    let mut on_nodes = BTreeSet::new();
    for (key, value) in told {
        let number = key.strip_prefix("NUMA node").and_then(|rest| rest.strip_suffix(" CPU(s)"));
        let Some(number) = number.and_then(|number| number.trim().parse::<u32>().ok()) else {
            continue;
        };
        let cpus = if value.is_empty() { Vec::new() } else { list(value)? };
        let value = ranges(&cpus);
        on_nodes.extend(cpus);
        draft.files.tell(&format!("{NODE}/node{number}/cpulist"), value)?;
        found.push(number);
    }
    found.sort_unstable();
    let said = told.get("NUMA node(s)").and_then(|count| count.parse::<usize>().ok());
    if said.is_some_and(|count| count != found.len()) {
        return Err("it lists fewer or more nodes than it counts: was it cut short?".to_owned());
    }
    // CPUs that are offline are on no node.
    if !found.is_empty() && !on_nodes.iter().all(|cpu| all.contains(cpu)) {
        return Err("its nodes have CPUs that the machine has not".to_owned());
    }
    let online = told.get("On-line CPU(s) list").map(|text| list(text)).transpose()?;
    if !found.is_empty() && online.is_some_and(|it| !it.iter().all(|cpu| on_nodes.contains(cpu))) {
        return Err("not all CPUs are on a node: was it cut short or changed?".to_owned());
    }
    match found.is_empty() {
        true => Ok(()),
        false => draft.files.tell(&format!("{NODE}/online"), ranges(&found)),
    }
}

fn caches(
    told: &LscpuFields,
    numbers: &[u32],
    even: bool,
    draft: &mut Draft,
) -> Result<(), String> {
    let kinds =
        [("L1d", 1, "Data"), ("L1i", 1, "Instruction"), ("L2", 2, "Unified"), ("L3", 3, "Unified")];
    let mut untold = Vec::new();
    for (index, (name, level, kind)) in kinds.into_iter().enumerate() {
        let Some(text) = told.get(name) else { continue };
        let parts = instances(text);
        let whole = parts.filter(|(bytes, count)| {
            even && *count > 0
                && bytes % count == 0
                && (numbers.len() as u64).is_multiple_of(*count)
        });
        let Some((bytes, count)) = whole else {
            untold.push(format!("{name} {text}"));
            continue;
        };
        let size = match (bytes / count) % 1024 {
            0 => format!("{}K", bytes / count / 1024),
            _ => (bytes / count).to_string(),
        };
        deal(numbers, count, |cpu, _, group| {
            let at = format!("{CPU}/cpu{cpu}/cache/index{index}");
            draft.files.tell(&format!("{at}/level"), level.to_string())?;
            draft.files.tell(&format!("{at}/type"), kind)?;
            draft.files.tell(&format!("{at}/size"), &size)?;
            draft.files.tell(&format!("{at}/shared_cpu_list"), group)
        })?;
    }
    if !untold.is_empty() {
        let what = format!("the size and number of each cache ({})", untold.join(", "));
        let why = "this output does not tell both";
        draft.miss(&what, "lscpu", why, "lscpu -C, or hwloc's lstopo in XML");
    }
    Ok(())
}

/// `64 KiB (2 instances)`, `8 MiB (2 instances)`: all together, and how many they are.
fn instances(text: &str) -> Option<(u64, u64)> {
    let (size, rest) = text.split_once(" (")?;
    let count: u64 = rest.split_once(" instance")?.0.parse().ok()?;
    let (number, unit) = size.split_once(' ')?;
    let scale = match unit {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * scale;
    // It rounds to one digit after the point; what is no whole number of KiB was rounded.
    let whole = bytes.fract() == 0.0 && (bytes as u64).is_multiple_of(1024);
    (whole && bytes > 0.0 && bytes < 1e12).then_some((bytes as u64, count))
}
