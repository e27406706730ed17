//! `zpool status`, `zpool list`, `zpool get` and `zfs get`: pools of ZFS, what they lie on and how
//! they are set (OpenZFS, cmd/zpool and cmd/zfs).

use super::draft::Draft;
use super::piece::Piece;
use super::{PastedKind, Topic, lines, no_json};
use crate::inventory::server::zfs::{properties, status};
use facts::inventory::server::zfs::{Pool, PoolUsage};

/// `zpool status`.
pub const STATUS: PastedKind = PastedKind {
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
pub const LIST: PastedKind = PastedKind {
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

/// `zpool get` and `zfs get`: a table of properties.
pub const GET: PastedKind = PastedKind {
    name: "zpool get and zfs get",
    programs: &["zpool", "zfs"],
    opens: |line, next| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.starts_with(&["NAME", "PROPERTY", "VALUE"]) && !next.trim().is_empty()
    },
    json: no_json,
    goes_on: true,
    tells: &[Topic::Arrays],
    read: get,
};

fn status(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    // Disks stand there by whatever name; those that the kernel gives are known as such.
    let device = |name: &str| {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        kernel_name(name).then(|| name.to_owned())
    };
    let told = status::pool(piece.text, &device)?;
    let name = lines::name(&told.name)?.to_owned();
    let state = told.state.as_deref().unwrap_or("").to_uppercase();
    draft.files.tell(&format!("/proc/spl/kstat/zfs/{name}/state"), state)?;
    let known = draft.pool(&name)?;
    if !known.vdevs.is_empty() && (known.vdevs != told.vdevs || known.state != told.state) {
        return Err(format!(
            "the vdevs of {name} are others here than elsewhere: are the texts of one machine, and \
             of one time?"
        ));
    }
    let (usage, told) = (known.usage.clone(), told);
    let usage = PoolUsage {
        data_errors: told.usage.data_errors,
        dedup_table: told.usage.dedup_table.clone().or(usage.dedup_table),
        ..usage
    };
    let known = known.clone();
    *draft.pool(&name)? = Pool {
        usage,
        size_bytes: known.size_bytes,
        ashift: known.ashift,
        autotrim: known.autotrim,
        read_only: known.read_only,
        datasets: known.datasets,
        more_datasets: known.more_datasets,
        ..told
    };
    Ok(())
}

/// `sda1`, `nvme0n1p2`, `vdb`, `dm-3`; a name of another kind is an alias.
fn kernel_name(name: &str) -> bool {
    let lower = |rest: &str| rest.starts_with(|sign: char| sign.is_ascii_lowercase());
    let digit = |rest: &str| rest.starts_with(|sign: char| sign.is_ascii_digit());
    let short = name.len() <= 16 && !name.contains(['/', ':', '_']);
    let disk = ["sd", "vd", "xvd", "hd"].iter().find_map(|start| name.strip_prefix(start));
    let other = ["nvme", "dm-", "md", "loop"].iter().find_map(|start| name.strip_prefix(start));
    short && (disk.is_some_and(lower) || other.is_some_and(digit))
}

fn get(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let mut names: Vec<&str> = Vec::new();
    for line in piece.text.lines() {
        let name = line.split_whitespace().next().unwrap_or("");
        let name = name.split(['/', '@']).next().unwrap_or("");
        if !name.is_empty() && name != "NAME" && !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let pool = draft.pool(name)?;
        properties::of_pool(pool, piece.text);
        let before = std::mem::take(&mut pool.datasets);
        properties::datasets(pool, piece.text);
        if pool.datasets.is_empty() {
            pool.datasets = before;
        }
    }
    Ok(())
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
        let told = |name: &str| cell(name).and_then(|word| status::count(word));
        let pool = draft.pool(pool)?;
        pool.size_bytes = told("SIZE");
        pool.usage.allocated_bytes = told("ALLOC");
        pool.usage.free_bytes = told("FREE");
        pool.usage.fragmented_share = cell("FRAG")
            .and_then(|word| Some(word.strip_suffix('%')?.parse::<f64>().ok()? / 100.0));
        pool.usage.dedup_ratio = cell("DEDUP").and_then(|word| properties::factor(word));
        pool.state = Some(health.to_lowercase());
        found = true;
    }
    match found {
        true => Ok(()),
        false => Err("it lists no pool: was it cut short?".to_owned()),
    }
}
