//! `zpool status` and `zpool list`: pools of ZFS, and what they lie on (OpenZFS, cmd/zpool).

use std::collections::BTreeMap;

use super::draft::Draft;
use super::piece::Piece;
use super::{Kind, Topic, lines, no_json};
use crate::inventory::server::array::recorded_pool;
use facts::inventory::server::Array;

/// `zpool status`.
pub const STATUS: Kind = Kind {
    name: "zpool status",
    programs: &["zpool"],
    opens: |line, next| {
        // Deeper it is what a recording has of a file.
        let own = |line: &'static str, text: &str| {
            let rest = text.trim_start();
            rest.starts_with(line) && text.len() - rest.len() < 4
        };
        own("pool: ", line) && own("state: ", next)
    },
    json: no_json,
    goes_on: false,
    tells: &[Topic::Arrays],
    read: status,
};

/// `zpool list`.
pub const LIST: Kind = Kind {
    name: "zpool list",
    programs: &["zpool"],
    opens: |line, _| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let has = |word: &str| words.contains(&word);
        words.first() == Some(&"NAME")
            && has("SIZE")
            && has("ALLOC")
            && has("FREE")
            && has("HEALTH")
    },
    json: no_json,
    goes_on: false,
    tells: &[Topic::Arrays],
    read: list,
};

/// Groups of devices that are no data of the pool, by their headings.
const GROUPS: &[&str] = &["logs", "cache", "spares", "special", "dedup"];

/// A row of the table.
struct Row<'a> {
    depth: usize,
    name: &'a str,
    state: &'a str,
    errors: u64,
    group: Option<&'a str>,
}

fn status(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut told: BTreeMap<&str, String> = BTreeMap::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    let (mut table, mut group, mut key) = (false, None, "");
    for line in piece.text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pair = lines::pair(line, ":").filter(|(key, _)| KEYS.contains(key));
        if words.starts_with(&["NAME", "STATE"]) {
            table = true;
        } else if let Some((name, value)) = pair {
            table = false;
            key = name;
            if told.insert(name, value.to_owned()).is_some_and(|other| other != value) {
                return Err(format!("it tells {name:?} twice"));
            }
        } else if table {
            match words[..] {
                [] => {}
                [heading] if GROUPS.contains(&heading) => group = Some(heading),
                _ => rows.extend(row(line, &words, group)?),
            }
        } else if let Some(text) = told.get_mut(key) {
            // What is told goes on below.
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    let pool = lines::name(told.get("pool").map_or("", String::as_str))?.to_owned();
    let array = array(&pool, &told, &rows).map_err(|why| format!("of {pool} {why}"))?;
    let state = told.get("state").map_or("", String::as_str);
    draft.files.tell(&format!("/proc/spl/kstat/zfs/{pool}/state"), state)?;
    let json = serde_json::to_string(&array).map_err(|error| error.to_string())?;
    draft.files.tell(&recorded_pool(&pool), json)
}

const KEYS: &[&str] =
    &["pool", "state", "status", "action", "see", "scan", "scrub", "config", "errors", "remove"];

/// `  mirror-0  ONLINE  0  0  0`; a spare has a state alone.
fn row<'a>(
    line: &'a str,
    words: &[&'a str],
    group: Option<&'a str>,
) -> Result<Option<Row<'a>>, String> {
    let known =
        ["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "AVAIL", "INUSE"];
    let (Some(name), Some(state)) = (words.first(), words.get(1)) else { return Ok(None) };
    if !known.contains(state) {
        return Err(format!("the state of {name:?} is {state:?}: was it cut short?"));
    }
    let indent = line.strip_prefix('\t').or_else(|| line.strip_prefix("        ")).unwrap_or(line);
    let depth = (indent.len() - indent.trim_start_matches(' ').len()) / 2;
    let counts = words.get(2..5).unwrap_or_default().iter().map(|word| count(word));
    let errors = counts.collect::<Option<Vec<u64>>>();
    let errors = errors.ok_or_else(|| format!("the errors of {name:?} are no numbers"))?;
    let spare = ["AVAIL", "INUSE"].contains(state);
    if errors.len() != 3 && !spare {
        return Err(format!("the row of {name:?} is cut short"));
    }
    let errors = errors.into_iter().fold(0, u64::saturating_add);
    Ok(Some(Row { depth, name, state, errors, group }))
}

/// `35`, `1.2K`.
fn count(word: &str) -> Option<u64> {
    if let Ok(count) = word.parse() {
        return Some(count);
    }
    let (number, scale) = match word.char_indices().next_back()? {
        (at, 'K') => (&word[..at], 1024.0),
        (at, 'M') => (&word[..at], 1_048_576.0),
        (at, 'G') => (&word[..at], 1_073_741_824.0),
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|it| *it >= 0.0).map(|it| (it * scale) as u64)
}

fn array(pool: &str, told: &BTreeMap<&str, String>, rows: &[Row<'_>]) -> Result<Array, String> {
    let text = |key: &str| told.get(key).map_or("", String::as_str);
    let errors = told.get("errors").ok_or("it has no line `errors`: was it cut short?")?;
    let state = text("state");
    let first = rows.first().filter(|row| row.name == pool);
    let first = first.ok_or("its table does not begin with the pool itself")?;
    if first.state != state {
        return Err(format!("the state is {state:?} above and {:?} in the table", first.state));
    }
    // A device that is being replaced counts once, with what stands for it.
    let stand_in = |name: &str| name.starts_with("replacing-") || name.starts_with("spare-");
    let mut leaves: Vec<&Row<'_>> = Vec::new();
    let mut skipped: Option<usize> = None;
    for (at, row) in rows.iter().enumerate().skip(1) {
        if skipped.is_some_and(|depth| row.depth > depth) {
            continue;
        }
        skipped = stand_in(row.name).then_some(row.depth);
        let below =
            rows.get(at + 1).is_some_and(|next| next.depth > row.depth && next.group == row.group);
        if (!below || stand_in(row.name)) && !["cache", "spares"].contains(&row.group.unwrap_or(""))
        {
            leaves.push(row);
        }
    }
    let kinds = rows.iter().filter(|row| row.depth == 1 && row.group.is_none()).map(kind);
    let mut levels: Vec<&str> = Vec::new();
    for level in kinds {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let data: Vec<&&Row<'_>> = leaves.iter().filter(|row| row.group.is_none()).collect();
    if data.is_empty() {
        return Err("its table has no device: was it cut short?".to_owned());
    }
    let missing = leaves.iter().filter(|row| !["ONLINE", "DEGRADED"].contains(&row.state)).count();
    let scan = if text("scan").is_empty() { text("scrub") } else { text("scan") };
    let busy =
        ["scrub", "resilver"].iter().find(|word| scan.starts_with(&format!("{word} in progress")));
    let done = scan
        .split_once("% done")
        .and_then(|(before, _)| before.rsplit([' ', ',']).next()?.parse::<f64>().ok());
    let sound = errors.starts_with("No known data errors");
    let more = if sound { "" } else { ", errors in its data" };
    Ok(Array {
        name: pool.to_owned(),
        kind: "zfs".to_owned(),
        level: Some(levels.join(", ")),
        members: data.iter().map(|row| row.name.trim_start_matches("/dev/").to_owned()).collect(),
        whole: Some(data.len() as u64),
        state: Some(format!("{}{more}", state.to_lowercase())),
        missing: Some(missing as u64),
        errors: Some(leaves.iter().map(|row| row.errors).fold(0, u64::saturating_add)),
        busy_with: busy.map(|word| (*word).to_owned()),
        done_share: busy
            .and(done)
            .map(|percent| percent / 100.0)
            .filter(|share| (0.0..=1.0).contains(share)),
        place: format!("zpool status {pool}"),
        said: Some(state.to_owned()),
        ..Array::default()
    })
}

/// `mirror` of `mirror-0`, `draid2` of `draid2:4d:10c:1s-0`; a device alone is striped.
fn kind<'a>(row: &Row<'a>) -> &'a str {
    let name = row.name.rsplit_once('-').map_or(row.name, |(name, number)| {
        match number.bytes().all(|byte| byte.is_ascii_digit()) {
            true => name,
            false => row.name,
        }
    });
    let name = name.split(':').next().unwrap_or(name);
    let known =
        ["mirror", "raidz", "raidz1", "raidz2", "raidz3", "draid", "draid1", "draid2", "draid3"];
    known.iter().find(|kind| **kind == name).copied().unwrap_or("stripe")
}

fn list(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut lines = piece.text.lines();
    let headings: Vec<&str> = lines.next().unwrap_or("").split_whitespace().collect();
    let mut found = false;
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            break;
        }
        // With -v the devices of each pool stand below it.
        if line.starts_with([' ', '\t']) {
            continue;
        }
        if words.len() != headings.len() {
            if found {
                break;
            }
            return Err("a row has not as many cells as there are headings".to_owned());
        }
        let cell = |name: &str| {
            headings.iter().position(|heading| *heading == name).and_then(|at| words.get(at))
        };
        let pool = super::lines::name(words[0])?;
        let Some(health) = cell("HEALTH") else { continue };
        let known = ["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "SUSPENDED"];
        if !known.contains(health) {
            return Err(format!("the health of {pool} is {health:?}: was it cut short?"));
        }
        draft.files.tell(&format!("/proc/spl/kstat/zfs/{pool}/state"), health)?;
        let room = ["SIZE", "ALLOC", "FREE"].map(|name| cell(name).copied().unwrap_or("-"));
        let what = format!("how full the pool {pool} is");
        let why = format!(
            "an inventory has no room of pools; it says {} of which {} are used and {} free",
            room[0], room[1], room[2]
        );
        draft.miss(&what, "zpool list", &why, "df of its mount points");
        found = true;
    }
    match found {
        true => Ok(()),
        false => Err("it lists no pool: was it cut short?".to_owned()),
    }
}
