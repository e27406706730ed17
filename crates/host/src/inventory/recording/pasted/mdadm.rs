//! `mdadm --detail`: an md array, its state and its members (mdadm's Detail.c).
//!
//! Sizes are in KiB, as the numbers before the brackets are (`Array Size : 405504 (396.00 MiB
//! 415.24 MB)`). The heading is the name that was asked for: of `/dev/md/data` the kernel's name is
//! not told.

use std::collections::BTreeMap;

use super::piece::Piece;
use super::{PastedKind, Topic, draft::Draft, lines, no_json};

/// `mdadm --detail`.
pub const MDADM: PastedKind = PastedKind {
    name: "mdadm --detail",
    programs: &["mdadm"],
    opens,
    json: no_json,
    goes_on: false,
    tells: &[Topic::Arrays],
    read,
};

/// `/dev/md0:`, and below it a pair that is indented.
fn opens(line: &str, next: &str) -> bool {
    let heading = line.strip_prefix("/dev/md").and_then(|rest| rest.strip_suffix(':'));
    let keys = ["Version", "Container", "Raid Level", "Magic"];
    heading.is_some_and(|rest| !rest.contains(char::is_whitespace))
        && lines::pair(next, " : ").is_some_and(|(key, _)| keys.contains(&key))
}

/// A row of the table of members that mdadm prints.
struct MdadmMember<'a> {
    device: &'a str,
    state: Vec<&'a str>,
}

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut told: BTreeMap<&str, &str> = BTreeMap::new();
    let mut members: Vec<MdadmMember<'_>> = Vec::new();
    let mut table = false;
    for line in piece.text.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.starts_with(&["Number", "Major", "Minor"]) {
            table = true;
        } else if table {
            members.extend(member(&words));
        } else if let Some((key, value)) = lines::pair(line, " : ")
            && told.insert(key, value).is_some_and(|other| other != value)
        {
            return Err(format!("it tells {key:?} twice"));
        }
    }
    if told.contains_key("Magic") {
        return Err("this is `mdadm --examine` of one member: bring `mdadm --detail` of the array"
            .to_owned());
    }
    members.sort_by_key(|member| member.device);
    members.dedup_by_key(|member| member.device);
    let title = piece.text.lines().next().unwrap_or("").trim_end().trim_end_matches(':');
    let name = match title.strip_prefix("/dev/md/") {
        Some(alias) => {
            let name = lines::name(alias)?;
            let kernel = format!("md_{name}");
            draft.links.insert(format!("/dev/md/{name}"), format!("/dev/{kernel}"));
            kernel
        }
        None => lines::name(title)?.to_owned(),
    };
    array(&name, &told, &members, draft).map_err(|why| format!("of {title} {why}"))
}

/// `0  8  17  0  active sync  /dev/sdb1`; a slot whose member was removed has no device.
fn member<'a>(words: &[&'a str]) -> Option<MdadmMember<'a>> {
    let device = words.last().filter(|word| word.starts_with("/dev/"))?;
    let state = words.get(4..words.len() - 1).unwrap_or_default().to_vec();
    Some(MdadmMember { device, state })
}

fn array(
    name: &str,
    told: &BTreeMap<&str, &str>,
    members: &[MdadmMember<'_>],
    draft: &mut Draft,
) -> Result<(), String> {
    let count = |key: &str| match told.get(key) {
        None => Ok(None),
        Some(value) => {
            let count = value.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            count.map(Some).ok_or_else(|| format!("{key} is {value:?}"))
        }
    };
    let level = *told.get("Raid Level").ok_or("its `Raid Level` is not told: is it cut short?")?;
    let container = level == "container";
    let (raid, active) = (count("Raid Devices")?, count("Active Devices")?);
    let words = state_words(told);
    if !container {
        agree(told, members, raid, active)?;
        sizes(level, told, raid)?;
    }
    let block = draft.block(name)?;
    let mut tell = |file: &str, value: String| block.files.tell(&format!("md/{file}"), value);
    match told.get("Container").and_then(|container| container.split(',').next()) {
        Some(container) => tell("metadata_version", format!("external:{container}/0"))?,
        None if container => tell("metadata_version", "external:container".to_owned())?,
        None => tell("metadata_version", told.get("Version").unwrap_or(&"none").to_string())?,
    }
    if !container && !level.starts_with('-') {
        tell("level", level.to_owned())?;
    }
    let lacks = raid.zip(active).map(|(raid, active)| raid.saturating_sub(active));
    if let Some(raid) = raid {
        tell("raid_disks", raid.to_string())?;
    }
    // What has no copies cannot be degraded; of what does not run nobody counts.
    let copies = !["raid0", "linear"].contains(&level) && !container;
    let stopped = words.iter().any(|word| *word == "inactive" || *word == "Not Started");
    if let Some(lacks) = lacks.filter(|_| copies && !stopped) {
        tell("degraded", lacks.to_string())?;
    }
    if let Some(state) = words.first().filter(|_| !container) {
        let state = if stopped { "inactive" } else { state };
        tell("array_state", state.to_owned())?;
    }
    if let Some(bytes) = told.get("Chunk Size").and_then(|chunk| size(chunk)) {
        tell("chunk_size", bytes.to_string())?;
    }
    for member in members {
        let device = lines::name(member.device)?;
        let has = |word: &str| member.state.contains(&word);
        let state = match () {
            () if has("faulty") => "faulty",
            () if has("spare") => "spare",
            () if has("active") && has("sync") => "in_sync",
            () if has("journal") => "journal",
            () if container => "",
            () => continue,
        };
        tell(&format!("dev-{device}/state"), state.to_owned())?;
    }
    let action = words.iter().find_map(|word| action(word));
    let done = ["Rebuild Status", "Resync Status", "Check Status", "Reshape Status"];
    let done = done.iter().find_map(|key| percent(told.get(key)?));
    if !container {
        block.files.move_to("md/sync_action", action.unwrap_or("idle"));
    }
    if let Some(done) = done {
        block.files.move_to("md/sync_completed", format!("{done} / 100"));
    }
    block
        .below
        .extend(members.iter().filter_map(|it| lines::name(it.device).ok()).map(str::to_owned));
    let bytes = count("Array Size")?.and_then(|kib| kib.checked_mul(1024));
    bytes.map_or(Ok(()), |bytes| block.sized(bytes, true))
}

fn state_words<'a>(told: &BTreeMap<&str, &'a str>) -> Vec<&'a str> {
    let words = told.get("State").map_or("", |state| *state).split(',');
    words.map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// What the kernel calls what mdadm calls so; `(DELAYED)` and `(PENDING)` may follow.
fn action(word: &str) -> Option<&'static str> {
    let word = word.split_whitespace().next()?;
    let known = [
        ("recovering", "recover"),
        ("resyncing", "resync"),
        ("checking", "check"),
        ("reshaping", "reshape"),
        ("repairing", "repair"),
    ];
    known.iter().find(|(said, _)| *said == word).map(|(_, action)| *action)
}

/// `24% complete`.
fn percent(text: &str) -> Option<u64> {
    text.split_once('%')?.0.trim().parse().ok().filter(|done| *done <= 100)
}

/// `512K`.
fn size(text: &str) -> Option<u64> {
    let kib: u64 = text.strip_suffix('K')?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The table of members has as many that are in sync, failed and spare as the counts above it say.
fn agree(
    told: &BTreeMap<&str, &str>,
    members: &[MdadmMember<'_>],
    raid: Option<u64>,
    active: Option<u64>,
) -> Result<(), String> {
    let words = state_words(told);
    if words.is_empty() {
        return Err("its `State` is not told: is it cut short?".to_owned());
    }
    let counted =
        |word: &str| members.iter().filter(|member| member.state.contains(&word)).count() as u64;
    let in_sync = members.iter().filter(|it| it.state.starts_with(&["active"]));
    let in_sync = in_sync.filter(|it| it.state.contains(&"sync")).count() as u64;
    let number = |key: &str| told.get(key).and_then(|value| value.parse::<u64>().ok());
    let checks = [
        ("Active Devices", active, in_sync),
        ("Failed Devices", number("Failed Devices"), counted("faulty")),
        ("Spare Devices", number("Spare Devices"), counted("spare")),
    ];
    for (key, said, there) in checks {
        // An array that is not running has no count of those that would be.
        if said.is_some_and(|said| said != there) && !words.contains(&"inactive") {
            return Err(format!(
                "`{key}` is {} and its table has {there}: was it cut short or changed?",
                said.unwrap_or(0)
            ));
        }
    }
    let (Some(raid), Some(active)) = (raid, active) else {
        return match words.contains(&"inactive") {
            true => Ok(()),
            false => Err("its count of devices is not told: is it cut short?".to_owned()),
        };
    };
    let says = words.iter().any(|word| *word == "degraded" || *word == "FAILED");
    let running = !words.contains(&"inactive") && !words.contains(&"Not Started");
    match says != (active < raid) && running {
        true => Err(format!(
            "its state is {:?}, and {active} of {raid} devices are active: one of them is wrong",
            words.join(", ")
        )),
        false => Ok(()),
    }
}

/// The array's size is what its level leaves of its members'.
fn sizes(level: &str, told: &BTreeMap<&str, &str>, raid: Option<u64>) -> Result<(), String> {
    let kib = |key: &str| {
        let number = told.get(key)?.split_whitespace().next()?;
        number.parse::<u64>().ok()
    };
    // While its shape changes it has the smaller size of both.
    if told.contains_key("Delta Devices") {
        return Ok(());
    }
    let Some(((all, one), raid)) = kib("Array Size").zip(kib("Used Dev Size")).zip(raid) else {
        return Ok(());
    };
    let data = match level {
        "raid1" => 1,
        "raid4" | "raid5" => raid.saturating_sub(1),
        "raid6" => raid.saturating_sub(2),
        _ => return Ok(()),
    };
    let due = one.saturating_mul(data);
    match due.abs_diff(all) as f64 > due as f64 * 0.01 {
        true => Err(format!(
            "a {level} of {raid} devices of {one} KiB has {due} KiB, and it says {all}: one of \
             them is wrong"
        )),
        false => Ok(()),
    }
}
