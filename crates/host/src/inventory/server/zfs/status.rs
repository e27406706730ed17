//! What `zpool status` says of pools (OpenZFS, cmd/zpool): state, vdevs, errors, scrubs.

use std::collections::BTreeMap;

use facts::inventory::server::zfs::{DedupTable, Pool, Role, Vdev, VdevLeaf};

/// What it tells, by key.
const KEYS: &[&str] = &[
    "pool", "state", "status", "action", "see", "scan", "scrub", "config", "errors", "remove",
    "dedup",
];

/// Groups of devices that hold no data of files, by their headings.
const GROUPS: &[(&str, Role)] = &[
    ("logs", Role::Log),
    ("cache", Role::Cache),
    ("spares", Role::Spare),
    ("special", Role::Special),
    ("dedup", Role::Dedup),
];

/// What a device or group of devices can be.
const STATES: &[&str] =
    &["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "AVAIL", "INUSE"];

/// A row of the table that `zpool status` prints.
struct ZpoolRow<'a> {
    depth: usize,
    name: &'a str,
    state: &'a str,
    errors: u64,
    role: Role,
}

/// The parts of a text that are of one pool each.
pub fn split(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("pool: ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

/// The pool that such a part tells of. `device` gives the kernel's name of a block device by what
/// the table calls it.
///
/// # Errors
/// With the reason, as a clause, when it is cut short or changed.
pub fn pool(text: &str, device: &dyn Fn(&str) -> Option<String>) -> Result<Pool, String> {
    let mut told: BTreeMap<&str, String> = BTreeMap::new();
    let mut rows: Vec<ZpoolRow<'_>> = Vec::new();
    let (mut table, mut role, mut key) = (false, Role::Data, "");
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.starts_with(&["NAME", "STATE"]) {
            table = true;
        } else if let Some((name, value)) = pair(line) {
            table = false;
            key = name;
            if told.insert(name, value.to_owned()).is_some_and(|other| other != value) {
                return Err(format!("it tells {name:?} twice"));
            }
        } else if table {
            let group = |heading: &str| GROUPS.iter().find(|(name, _)| *name == heading);
            match words[..] {
                [] => {}
                [heading] if group(heading).is_some() => {
                    role = group(heading).map_or(Role::Data, |(_, role)| *role);
                }
                _ => rows.extend(row(line, &words, role)?),
            }
        } else if let Some(text) = told.get_mut(key) {
            // What is told goes on below.
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    let name = told.get("pool").cloned().unwrap_or_default();
    let pool = whole(&name, &told, &rows, device).map_err(|why| format!("of {name} {why}"))?;
    Ok(pool)
}

/// `key: value` of a known key.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    KEYS.contains(&key).then_some((key, value))
}

/// `  mirror-0  ONLINE  0  0  0`; a spare has a state alone.
fn row<'a>(line: &'a str, words: &[&'a str], role: Role) -> Result<Option<ZpoolRow<'a>>, String> {
    let (Some(name), Some(state)) = (words.first(), words.get(1)) else { return Ok(None) };
    if !STATES.contains(state) {
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
    Ok(Some(ZpoolRow { depth, name, state, errors, role }))
}

/// `35`, `1.2K`, `124M`, `526B`.
pub fn count(word: &str) -> Option<u64> {
    if let Ok(count) = word.parse() {
        return Some(count);
    }
    let (at, unit) = word.char_indices().next_back()?;
    let scale = match unit {
        'B' => 1.0,
        _ => {
            let power = "KMGTPE".chars().position(|known| known == unit)?;
            1024_f64.powi(power as i32 + 1)
        }
    };
    word[..at].parse::<f64>().ok().filter(|it| *it >= 0.0).map(|it| (it * scale) as u64)
}

fn whole(
    name: &str,
    told: &BTreeMap<&str, String>,
    rows: &[ZpoolRow<'_>],
    device: &dyn Fn(&str) -> Option<String>,
) -> Result<Pool, String> {
    let text = |key: &str| told.get(key).map_or("", String::as_str);
    let errors = told.get("errors").ok_or("it has no line `errors`: was it cut short?")?;
    let state = text("state");
    let first = rows.first().filter(|row| row.name == name && !name.is_empty());
    let first = first.ok_or("its table does not begin with the pool itself")?;
    if first.state != state {
        return Err(format!("the state is {state:?} above and {:?} in the table", first.state));
    }
    let vdevs = vdevs(&rows[1..], device);
    if !vdevs.iter().any(|vdev| vdev.role == Role::Data) {
        return Err("its table has no device: was it cut short?".to_owned());
    }
    let scan = if text("scan").is_empty() { text("scrub") } else { text("scan") };
    let busy =
        ["scrub", "resilver"].iter().find(|word| scan.starts_with(&format!("{word} in progress")));
    let done = scan
        .split_once("% done")
        .and_then(|(before, _)| before.rsplit([' ', ',']).next()?.parse::<f64>().ok());
    let mut pool = Pool {
        name: name.to_owned(),
        state: Some(state.to_lowercase()),
        vdevs,
        busy_with: busy.map(|word| (*word).to_owned()),
        done_share: busy
            .and(done)
            .map(|percent| percent / 100.0)
            .filter(|share| (0.0..=1.0).contains(share)),
        place: format!("zpool status {name}"),
        ..Pool::default()
    };
    pool.usage.data_errors = Some(!errors.starts_with("No known data errors"));
    pool.usage.dedup_table = dedup_table(text("dedup"));
    Ok(pool)
}

/// The vdevs at the top, each with all devices below it, whatever stands between.
fn vdevs(rows: &[ZpoolRow<'_>], device: &dyn Fn(&str) -> Option<String>) -> Vec<Vdev> {
    let mut vdevs: Vec<Vdev> = Vec::new();
    let mut stands_in: Option<(usize, &str)> = None;
    for (at, row) in rows.iter().enumerate() {
        // Logs and their like stand at the depth of the pool's own vdevs.
        if row.depth <= 1 {
            vdevs.push(Vdev {
                name: row.name.to_owned(),
                kind: kind(row.name).to_owned(),
                role: row.role,
                state: row.state.to_lowercase(),
                ..Vdev::default()
            });
        }
        if stands_in.is_some_and(|(depth, _)| row.depth <= depth) {
            stands_in = None;
        }
        let below =
            rows.get(at + 1).is_some_and(|next| next.depth > row.depth && next.role == row.role);
        if below {
            if row.name.starts_with("replacing-") || row.name.starts_with("spare-") {
                stands_in = Some((row.depth, row.name));
            }
            continue;
        }
        if let Some(vdev) = vdevs.last_mut() {
            vdev.leaves.push(VdevLeaf {
                name: row.name.to_owned(),
                device: device(row.name),
                state: row.state.to_lowercase(),
                errors: row.errors,
                stands_in: stands_in.map(|(_, name)| name.to_owned()),
            });
        }
    }
    vdevs
}

/// `mirror` of `mirror-0`, `draid2` of `draid2:4d:10c:1s-0`; else a device alone.
fn kind(name: &str) -> &str {
    let known =
        ["mirror", "raidz", "raidz1", "raidz2", "raidz3", "draid", "draid1", "draid2", "draid3"];
    let name = match name.rsplit_once('-') {
        Some((kind, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => name,
    };
    let name = name.split(':').next().unwrap_or(name);
    known.iter().find(|kind| **kind == name).copied().unwrap_or("disk")
}

/// `DDT entries 445552, size 124M on disk, 72.1M in core`. Before 2.3 the sizes are of one entry.
fn dedup_table(text: &str) -> Option<DedupTable> {
    let rest = text.strip_prefix("DDT entries ")?;
    let (entries, rest) = rest.split_once(", size ")?;
    let (on_disk, rest) = rest.split_once(" on disk, ")?;
    let (in_memory, _) = rest.split_once(" in core")?;
    let entries: u64 = entries.parse().ok()?;
    // A whole table is larger, in bytes, than it has entries.
    let all = |word: &str| {
        let bytes = count(word)?;
        Some(if bytes < entries { bytes.saturating_mul(entries) } else { bytes })
    };
    Some(DedupTable { entries, on_disk_bytes: all(on_disk)?, in_memory_bytes: all(in_memory)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by hand after zpool(8), with what the tables of several versions have.
    const TANK: &str = "  pool: tank
 state: DEGRADED
status: One or more devices is currently being resilvered.
  scan: resilver in progress since Sun Nov 29 10:00:00 2026
\t1.20T scanned at 1.50G/s, 400G issued at 500M/s, 2.40T total
\t98.1G resilvered, 16.28% done, 01:09:54 to go
config:

\tNAME                        STATE     READ WRITE CKSUM
\ttank                        DEGRADED     0     0     0
\t  raidz2-0                  DEGRADED     0     0     0
\t    /dev/sda1               ONLINE       0     0     0
\t    /dev/sdb1               ONLINE       3     0 1.20K
\t    replacing-2             DEGRADED     0     0     0
\t      1234567890123456789   UNAVAIL      0     0     0  was /dev/sdc1
\t      /dev/sde1             ONLINE       0     0     0  (resilvering)
\t    /dev/sdd1               ONLINE       0     0     0
\tspecial\t
\t  mirror-1                  ONLINE       0     0     0
\t    /dev/nvme0n1p1          ONLINE       0     0     0
\t    /dev/nvme1n1p1          ONLINE       0     0     0
\tlogs\t
\t  /dev/nvme2n1p1            ONLINE       0     0     0
\tcache
\t  /dev/nvme2n1p2            ONLINE       0     0     0
\tspares
\t  /dev/sdf1                 AVAIL

errors: No known data errors

 dedup: DDT entries 445552, size 124M on disk, 72.1M in core
";

    fn device(name: &str) -> Option<String> {
        Some(name.strip_prefix("/dev/")?.to_owned())
    }

    #[test]
    fn every_group_is_told_with_its_devices_and_what_stands_in_for_what() {
        let pool = pool(TANK, &device).unwrap();
        assert_eq!((pool.name.as_str(), pool.state.as_deref()), ("tank", Some("degraded")));
        let told: Vec<String> = pool
            .vdevs
            .iter()
            .map(|vdev| format!("{} {} {}", vdev.role.name(), vdev.kind, vdev.leaves.len()))
            .collect();
        assert_eq!(
            told,
            ["data raidz2 5", "special mirror 2", "log disk 1", "cache disk 1", "spare disk 1"]
        );
        let leaves = &pool.vdevs[0].leaves;
        assert_eq!((leaves[1].device.as_deref(), leaves[1].errors), (Some("sdb1"), 1231));
        assert_eq!((leaves[2].device.as_deref(), leaves[2].state.as_str()), (None, "unavail"));
        assert_eq!(leaves[2].stands_in.as_deref(), Some("replacing-2"));
        assert_eq!((leaves[3].is_there(), &leaves[4].stands_in), (true, &None));
        assert_eq!(
            pool.devices().unwrap(),
            ["sda1", "sdb1", "sde1", "sdd1", "nvme0n1p1", "nvme1n1p1", "nvme2n1p1"]
        );
        assert_eq!(pool.cache_devices(), ["nvme2n1p2"]);
        assert_eq!((pool.busy_with.as_deref(), pool.done_share), (Some("resilver"), Some(0.1628)));
        let table = pool.usage.dedup_table.unwrap();
        assert_eq!((table.entries, table.in_memory_bytes >> 20), (445_552, 72));
    }

    /// Up to 2.2 `zpool status -D` prints what one entry takes, later what all of them do.
    #[test]
    fn the_table_of_deduplicated_blocks_is_told_whole_whichever_way_it_is_printed() {
        let of = |text| dedup_table(text).map(|table| table.in_memory_bytes);
        let each = "DDT entries 40516427, size 763 on disk, 154 in core";
        assert_eq!(of(each), Some(40_516_427 * 154));
        assert_eq!(of("DDT entries 12426, size 526B on disk, 169B in core"), Some(12_426 * 169));
        let cached = "DDT entries 445552, size 124M on disk, 72.1M in core, 70M cached (97.09%)";
        assert_eq!(of(cached), Some(75_602_329));
        assert_eq!(of("no DDT entries"), None);
    }

    #[test]
    fn a_text_that_is_cut_short_is_refused_and_none_makes_it_up() {
        let whole = pool(TANK, &device).unwrap();
        for end in (0..TANK.len()).filter(|end| TANK.is_char_boundary(*end)) {
            if let Ok(cut) = pool(&TANK[..end], &device) {
                assert_eq!(cut.vdevs, whole.vdevs, "cut at {end}");
            }
        }
        let all = format!("{TANK}\n{}", TANK.replace("tank", "dozer"));
        let names: Vec<String> =
            split(&all).iter().map(|part| pool(part, &device).unwrap().name).collect();
        assert_eq!(names, ["tank", "dozer"]);
    }

    #[test]
    fn counts_have_the_units_of_zpool() {
        assert_eq!((count("35"), count("1.20K"), count("0B")), (Some(35), Some(1228), Some(0)));
        assert_eq!(
            (count("2T"), count("x"), count("-1K"), count("")),
            (Some(2 << 40), None, None, None)
        );
    }
}
