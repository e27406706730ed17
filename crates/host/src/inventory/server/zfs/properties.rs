//! What `zpool get`, `zfs get` and `zdb -C` say: properties of pools and datasets, and the ashift
//! of each vdev.

use std::collections::BTreeMap;

use super::status::count;
use facts::inventory::server::zfs::{Dataset, Pool};

/// Properties of datasets that matter to speed and safety (zfsprops(7)).
const SETTINGS: &[&str] = &[
    "atime",
    "checksum",
    "compression",
    "copies",
    "dedup",
    "direct",
    "encryption",
    "logbias",
    "mountpoint",
    "prefetch",
    "primarycache",
    "recordsize",
    "redundant_metadata",
    "refreservation",
    "relatime",
    "secondarycache",
    "special_small_blocks",
    "sync",
    "type",
    "volblocksize",
    "volsize",
    "volthreading",
    "xattr",
];

/// Properties that move by themselves.
const MOVING: &[&str] = &["available", "compressratio", "referenced", "used"];

/// More datasets than these are only counted: containers make one for each layer.
const DATASETS_MAX: usize = 256;

/// Lines `name <tab> property <tab> value`, with a fourth column or without; blanks stand for tabs
/// in what people paste.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.lines().filter_map(|line| {
        let cut = |separator: fn(char) -> bool, least: usize| {
            let words: Vec<&str> = line.split(separator).filter(|word| !word.is_empty()).collect();
            (words.len() >= least).then(|| (words[0], words[1], words[2]))
        };
        match line.contains('\t') {
            true => cut(|sign| sign == '\t', 3),
            false => cut(char::is_whitespace, 3),
        }
    })
}

/// Puts what `zpool get all` says of the pool into it.
pub fn of_pool(pool: &mut Pool, text: &str) {
    for (_, property, value) in lines(text).filter(|(name, ..)| *name == pool.name) {
        let bytes = || count(value);
        let percent = || Some(value.trim_end_matches('%').parse::<f64>().ok()? / 100.0);
        match property {
            "size" => pool.size_bytes = bytes(),
            "allocated" => pool.usage.allocated_bytes = bytes(),
            "free" => pool.usage.free_bytes = bytes(),
            "fragmentation" => pool.usage.fragmented_share = percent().filter(|it| *it <= 1.0),
            "dedupratio" => pool.usage.dedup_ratio = factor(value),
            "ashift" => pool.ashift = value.parse().ok().filter(|shift| *shift > 0),
            "autotrim" => pool.autotrim = Some(value.to_owned()),
            "readonly" => pool.read_only = Some(value == "on"),
            _ => {}
        }
    }
}

/// `1.00x`, or `1.00` with `-p`.
pub fn factor(word: &str) -> Option<f64> {
    word.trim_end_matches('x').parse::<f64>().ok().filter(|factor| factor.is_finite())
}

/// Puts the datasets of the pool into it, of what `zfs get all` says of all.
pub fn datasets(pool: &mut Pool, text: &str) {
    let mut found: BTreeMap<&str, Dataset> = BTreeMap::new();
    for (name, property, value) in lines(text) {
        let of_pool = name.split(['/', '@']).next() == Some(pool.name.as_str());
        // A value that is not set is `-`.
        if !of_pool || name.contains('@') || value == "-" {
            continue;
        }
        let (settings, moving) = (SETTINGS.contains(&property), MOVING.contains(&property));
        if !settings && !moving {
            continue;
        }
        let dataset = found
            .entry(name)
            .or_insert_with(|| Dataset { name: name.to_owned(), ..Dataset::default() });
        let held = if settings { &mut dataset.settings } else { &mut dataset.usage };
        held.insert(property.to_owned(), plain(property, value));
    }
    // Of snapshots, and of a text that was cut short, no type is known.
    let whole: Vec<Dataset> =
        found.into_values().filter(|dataset| dataset.get("type").is_some()).collect();
    pool.more_datasets = whole.len().saturating_sub(DATASETS_MAX) as u64;
    pool.datasets = whole.into_iter().take(DATASETS_MAX).collect();
}

/// Sizes as numbers, also where they were pasted as `128K`.
fn plain(property: &str, value: &str) -> String {
    let sizes = [
        "available",
        "recordsize",
        "referenced",
        "refreservation",
        "special_small_blocks",
        "used",
        "volblocksize",
        "volsize",
    ];
    match sizes.contains(&property).then(|| count(value)).flatten() {
        Some(bytes) => bytes.to_string(),
        None => value.to_owned(),
    }
}

/// Puts the ashift of each vdev of the pool into it, of what `zdb -C` prints of the cached
/// configuration of all pools. A vdev that is not found there keeps none.
pub fn ashifts(pool: &mut Pool, text: &str, device: &dyn Fn(&str) -> Option<String>) {
    let heading = format!("{}:", pool.name);
    let own = text.lines().skip_while(|line| *line != heading).skip(1);
    let own = own.take_while(|line| line.starts_with(char::is_whitespace) || line.is_empty());
    let (mut shift, mut paths): (Option<u64>, Vec<String>) = (None, Vec::new());
    let mut found: Vec<(u64, Vec<String>)> = Vec::new();
    let mut close = |shift: &mut Option<u64>, paths: &mut Vec<String>| {
        let paths = std::mem::take(paths);
        found.extend(shift.take().map(|shift| (shift, paths)));
    };
    for line in own {
        let depth = line.len() - line.trim_start().len();
        let line = line.trim();
        if line.starts_with("children[") && depth <= 8 {
            close(&mut shift, &mut paths);
        }
        if let Some(value) = line.strip_prefix("ashift: ") {
            shift = value.parse().ok();
        }
        if let Some(path) = line.strip_prefix("path: ") {
            paths.push(path.trim_matches('\'').to_owned());
        }
    }
    close(&mut shift, &mut paths);
    for (shift, paths) in found {
        let names: Vec<String> = paths.iter().filter_map(|path| device(path)).collect();
        let holds = |leaf: &facts::inventory::server::zfs::VdevLeaf| {
            leaf.device.as_ref().is_some_and(|own| names.contains(own))
                || paths.contains(&leaf.name)
        };
        for vdev in pool.vdevs.iter_mut().filter(|vdev| vdev.leaves.iter().any(holds)) {
            vdev.ashift = Some(shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::inventory::server::zfs::{Vdev, VdevLeaf};

    fn tank() -> Pool {
        Pool { name: "tank".to_owned(), ..Pool::default() }
    }

    #[test]
    fn a_pool_says_how_large_and_how_full_it_is() {
        let mut pool = tank();
        let text = "tank\tsize\t3985729650688\ntank\tallocated\t3587156684800\n\
            tank\tfree\t398572965888\ntank\tfragmentation\t41\ntank\tdedupratio\t1.00\n\
            tank\tashift\t0\ntank\tautotrim\toff\ntank\treadonly\toff\ntank2\tsize\t1\n";
        of_pool(&mut pool, text);
        assert_eq!((pool.size_bytes, pool.ashift), (Some(3_985_729_650_688), None));
        assert_eq!(pool.usage.fragmented_share, Some(0.41));
        assert_eq!((pool.usage.dedup_ratio, pool.read_only), (Some(1.0), Some(false)));
        of_pool(&mut pool, "tank  ashift  12  local\ntank fragmentation - -\ntank size 4.50G -\n");
        assert_eq!((pool.ashift, pool.size_bytes), (Some(12), Some(4_831_838_208)));
        assert_eq!(pool.usage.fragmented_share, None);
    }

    #[test]
    fn datasets_have_what_matters_and_neither_snapshots_nor_names_that_people_gave() {
        let mut pool = tank();
        let text = "tank\ttype\tfilesystem\t-\ntank\trecordsize\t131072\tdefault\n\
            tank\tused\t12288\t-\ntank\tcom.example:owner\tsomebody\tlocal\n\
            tank/vm\ttype\tvolume\t-\ntank/vm\tvolblocksize\t16384\tdefault\n\
            tank/vm\tsync\tdisabled\tlocal\ntank@now\ttype\tsnapshot\t-\n\
            tankard\ttype\tfilesystem\t-\ntank\tdirect\tstandard\tdefault\n";
        datasets(&mut pool, text);
        let names: Vec<&str> = pool.datasets.iter().map(|dataset| dataset.name.as_str()).collect();
        assert_eq!(names, ["tank", "tank/vm"]);
        assert_eq!(pool.datasets[0].block_bytes(), Some(131_072));
        assert_eq!(pool.datasets[0].get("used"), Some("12288"));
        assert!(!format!("{pool:?}").contains("somebody"));
        let volume = &pool.datasets[1];
        assert_eq!((volume.block_bytes(), volume.get("sync")), (Some(16_384), Some("disabled")));
        // As people paste it.
        datasets(&mut pool, "tank  type  filesystem  -\ntank  recordsize  128K  default\n");
        assert_eq!(pool.datasets[0].block_bytes(), Some(131_072));
    }

    #[test]
    fn more_datasets_than_anybody_reads_are_counted() {
        let mut pool = tank();
        let text: String =
            (0..300).map(|number| format!("tank/{number}\ttype\tfilesystem\t-\n")).collect();
        datasets(&mut pool, &text);
        assert_eq!((pool.datasets.len(), pool.more_datasets), (256, 44));
    }

    /// Written by hand after what zdb(8) prints.
    const CACHED: &str = "dozer:
    version: 5000
    vdev_tree:
        children[0]:
            type: 'disk'
            ashift: 13
            path: '/dev/sda1'
tank:
    version: 5000
    name: 'tank'
    vdev_tree:
        type: 'root'
        id: 0
        children[0]:
            type: 'mirror'
            id: 0
            ashift: 9
            children[0]:
                type: 'disk'
                path: '/dev/disk/by-id/x-part1'
            children[1]:
                type: 'disk'
                path: '/dev/sdb1'
        children[1]:
            type: 'disk'
            path: '/dev/sdc1'
            ashift: 12
            is_log: 1
    features_for_read:
";

    #[test]
    fn each_vdev_has_the_ashift_of_its_own_devices() {
        let vdev = |device: &str| Vdev {
            leaves: vec![VdevLeaf { device: Some(device.to_owned()), ..VdevLeaf::default() }],
            ..Vdev::default()
        };
        let mut pool = Pool { vdevs: ["sda1", "sdc1", "sdd1"].map(vdev).to_vec(), ..tank() };
        let named = |path: &str| match path {
            "/dev/disk/by-id/x-part1" => Some("sda1".to_owned()),
            other => Some(other.strip_prefix("/dev/")?.to_owned()),
        };
        ashifts(&mut pool, CACHED, &named);
        let found: Vec<Option<u64>> = pool.vdevs.iter().map(|vdev| vdev.ashift).collect();
        assert_eq!(found, [Some(9), Some(12), None]);
    }
}
