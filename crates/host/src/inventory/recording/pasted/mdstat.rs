//! /proc/mdstat: the md arrays in short (the kernel's `md_seq_show`, drivers/md/md.c).

use super::piece::Piece;
use super::{PastedKind, Topic, draft::Draft, lines, no_json};

/// /proc/mdstat.
pub const MDSTAT: PastedKind = PastedKind {
    name: "/proc/mdstat",
    programs: &["cat"],
    opens: |line, _| line.starts_with("Personalities :"),
    json: no_json,
    goes_on: false,
    tells: &[Topic::Arrays],
    read,
};

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut lines = piece.text.lines().skip(1).peekable();
    while let Some(line) = lines.next() {
        let Some((name, rest)) = line.split_once(" : ") else {
            if line.starts_with("unused devices") {
                return Ok(());
            }
            continue;
        };
        if line.starts_with(' ') {
            continue;
        }
        let mut more = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
            more.push(line.trim());
        }
        array(name.trim(), rest, &more, draft).map_err(|why| format!("of {name} {why}"))?;
    }
    Err("it has no line `unused devices`: it was cut short".to_owned())
}

/// `active raid5 sde1[0] sdf1[4](F)`, and the lines below it.
fn array(name: &str, rest: &str, more: &[&str], draft: &mut Draft) -> Result<(), String> {
    let mut words = rest.split_whitespace().peekable();
    let state = words.next().unwrap_or("");
    let running = match state {
        "active" => true,
        "inactive" => false,
        _ => return Err(format!("the state is {state:?}")),
    };
    let guard = words.next_if(|word| word.starts_with('('));
    let is_member = |word: &&str| word.contains('[');
    let level = words.next_if(|word| !is_member(word)).filter(|_| running);
    let mut members: Vec<(&str, &str)> = Vec::new();
    for word in words {
        let part =
            word.split_once('[').and_then(|(name, rest)| Some((name, rest.split_once(']')?.1)));
        members.push(part.ok_or_else(|| format!("a member is {word:?}"))?);
    }
    let sizes = more.first().copied().unwrap_or("");
    let block = draft.block(name)?;
    let external = sizes.split_once("super external:").map(|(_, rest)| rest);
    let version = sizes.split_once("super ").and_then(|(_, rest)| rest.split_whitespace().next());
    match (external, version) {
        (None, Some(version)) => block.files.suppose("md/metadata_version", version),
        (Some(_), Some(version)) => block.files.suppose("md/metadata_version", version),
        // The oldest metadata is not named.
        _ => block.files.suppose("md/metadata_version", "0.90"),
    }
    if let Some(level) = level {
        block.files.tell("md/level", level)?;
    }
    let state = match (running, guard) {
        (false, _) => "inactive",
        (true, Some("(read-only)")) => "readonly",
        (true, Some("(auto-read-only)")) => "read-auto",
        (true, _) => "active",
    };
    block.files.suppose("md/array_state", state);
    // What is not running has no members that are up.
    let slots = if running { slots(sizes)? } else { None };
    let spare = |flags: &str| flags.contains("(S)") || flags.contains("(F)");
    let there = members.iter().filter(|(_, flags)| !spare(flags)).count() as u64;
    match slots {
        Some((raid, active)) => {
            if there < active {
                return Err(format!("{active} members are up, and {there} are named"));
            }
            block.files.tell("md/raid_disks", raid.to_string())?;
            block.files.tell("md/degraded", (raid - active).to_string())?;
        }
        None if running && level.is_some_and(|it| ["raid0", "linear"].contains(&it)) => {
            block.files.tell("md/raid_disks", there.to_string())?;
        }
        None if running && external.is_none() => {
            return Err("how many members are up is not told: was it cut short?".to_owned());
        }
        None => {}
    }
    let all_up = slots.is_some_and(|(_, active)| active == there);
    for (member, flags) in &members {
        let member = lines::name(member)?;
        let state = match () {
            () if flags.contains("(F)") => "faulty",
            () if flags.contains("(S)") => "spare",
            () if all_up => "in_sync",
            // Of one that is being rebuilt it is not told which it is.
            () => "",
        };
        block.files.suppose(&format!("md/dev-{member}/state"), state);
        block.below.insert(member.to_owned());
    }
    more_of_it(sizes, more, running, block)
}

/// Chunk, what it is busy with, and size: `5860270080 blocks level 5, 64k chunk, algorithm 2`.
fn more_of_it(
    sizes: &str,
    more: &[&str],
    running: bool,
    block: &mut super::draft::Block,
) -> Result<(), String> {
    let chunk = sizes
        .split(", ")
        .find_map(|part| part.split_once("k chunk"))
        .and_then(|(kib, _)| kib.split_whitespace().last()?.parse::<u64>().ok());
    if let Some(kib) = chunk {
        block.files.tell("md/chunk_size", kib.saturating_mul(1024).to_string())?;
    }
    if running {
        busy(more, &mut block.files);
    }
    let kib = sizes.split_once(" blocks").and_then(|(kib, _)| kib.trim().parse::<u64>().ok());
    let bytes = kib.filter(|_| running).and_then(|kib| kib.checked_mul(1024));
    bytes.map_or(Ok(()), |bytes| block.sized(bytes, true))
}

/// `[3/2] [UU_]`: how many there should be and how many are up; both must say the same.
fn slots(line: &str) -> Result<Option<(u64, u64)>, String> {
    let brackets: Vec<&str> =
        line.split('[').skip(1).filter_map(|part| Some(part.split_once(']')?.0)).collect();
    let Some((counts, letters)) = brackets.iter().rev().nth(1).zip(brackets.last()) else {
        return Ok(None);
    };
    let numbers = counts.split_once('/');
    let numbers = numbers.and_then(|(all, up)| Some((all.parse().ok()?, up.parse().ok()?)));
    let Some((all, up)): Option<(u64, u64)> = numbers else { return Ok(None) };
    let ups = letters.matches('U').count() as u64;
    let fits = letters.len() as u64 == all && ups == up && up <= all;
    match fits && letters.chars().all(|c| matches!(c, 'U' | '_')) {
        true => Ok(Some((all, up))),
        false => Err(format!("[{counts}] and [{letters}] do not agree")),
    }
}

/// `[=>...]  recovery = 8.5% (16775552/195310144) finish=17.0min`, or `resync=DELAYED`.
fn busy(more: &[&str], files: &mut super::draft::Facts) {
    let known = [
        ("recovery", "recover"),
        ("resync", "resync"),
        ("reshape", "reshape"),
        ("check", "check"),
        ("repair", "repair"),
    ];
    for line in more.iter().skip(1) {
        let told = known.iter().find_map(|(word, action)| {
            let (_, after) = line.split_once(word)?;
            Some((*action, after.trim_start().strip_prefix('=')?))
        });
        let Some((action, rest)) = told else { continue };
        files.suppose("md/sync_action", action);
        let share = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        if let Some((done, all)) = share.and_then(|(share, _)| share.split_once('/')) {
            files.suppose("md/sync_completed", format!("{done} / {all}"));
        }
        return;
    }
    files.suppose("md/sync_action", "idle");
}
