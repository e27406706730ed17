//! (pure) Pools of ZFS with their vdevs and datasets, and the ARC, as text.

use super::page::{Page, few};
use base::value::{self, counted};
use facts::inventory::server::zfs::{ArcState, Dataset, Pool, Role, Vdev};
use facts::inventory::server::{Server, Zfs};

/// Datasets that are told one by one, of each pool.
const DATASETS: usize = 32;
/// Devices of a vdev that are named.
const DEVICES: usize = 12;

/// All of it; nothing where there is no ZFS.
pub fn zfs(page: &mut Page, server: &Server) {
    let Some(zfs) = &server.zfs else { return };
    page.title(&heading(zfs));
    if let Some(arc) = &zfs.arc {
        page.item(1, "ARC (cache in memory)", &arc_facts(arc));
    }
    for pool in &zfs.pools {
        page.item(1, &pool.name, &pool_facts(pool));
        for vdev in &pool.vdevs {
            page.item(2, &vdev.name, &vdev_facts(vdev));
        }
        for dataset in pool.datasets.iter().take(DATASETS) {
            page.item(2, &dataset.name, &dataset_facts(dataset));
        }
        let more = pool.datasets.len().saturating_sub(DATASETS) as u64 + pool.more_datasets;
        if more > 0 {
            page.line(2, &format!("and {}", counted(more, "dataset")));
        }
    }
}

fn heading(zfs: &Zfs) -> String {
    let version = zfs.version.as_ref();
    version.map_or("ZFS".to_owned(), |version| format!("ZFS {version}"))
}

fn size(bytes: u64) -> String {
    value::bytes(bytes as f64)
}

fn arc_facts(arc: &ArcState) -> Vec<String> {
    let told = |bytes: Option<u64>, before: &str, after: &str| {
        bytes.map_or(String::new(), |bytes| format!("{before}{}{after}", size(bytes)))
    };
    let set = if arc.set_most_bytes.is_some() { ", as it was set" } else { "" };
    let second = arc.usage.second_level_bytes.filter(|bytes| *bytes > 0);
    vec![
        told(arc.usage.size_bytes, "", " held"),
        told(arc.most_bytes, "at most ", set),
        told(arc.least_bytes, "at least ", ""),
        told(arc.usage.metadata_bytes, "", " of it metadata"),
        told(second, "", " on cache devices"),
    ]
}

fn pool_facts(pool: &Pool) -> Vec<String> {
    let usage = &pool.usage;
    let filled = usage.allocated_bytes.zip(pool.size_bytes.filter(|bytes| *bytes > 0));
    let busy = pool.busy_with.as_ref().map_or(String::new(), |what| {
        let done = pool.done_share.map(|share| format!(" {}", value::percent(share)));
        format!("busy with {what}{}", done.unwrap_or_default())
    });
    let shared = usage.dedup_ratio.filter(|ratio| *ratio > 1.0);
    vec![
        pool.state.clone().unwrap_or_default(),
        pool.size_bytes.map_or(String::new(), size),
        filled.map_or(String::new(), |(used, all)| {
            format!("{} full", value::percent(used as f64 / all as f64))
        }),
        usage.fragmented_share.map_or(String::new(), |share| {
            format!("free space {} fragmented", value::percent(share))
        }),
        shared.map_or(String::new(), |ratio| format!("deduplicated {ratio:.2} times")),
        if usage.data_errors == Some(true) {
            "FILES ARE DAMAGED".to_owned()
        } else {
            String::new()
        },
        busy,
    ]
}

fn vdev_facts(vdev: &Vdev) -> Vec<String> {
    let names: Vec<String> = vdev
        .leaves
        .iter()
        .map(|leaf| {
            let name = leaf.device.as_ref().unwrap_or(&leaf.name);
            let state = match leaf.is_there() || vdev.role == Role::Spare {
                true => String::new(),
                false => format!(" {}", leaf.state.to_uppercase()),
            };
            let errors = match leaf.errors {
                0 => String::new(),
                many => format!(" ({})", counted(many, "error")),
            };
            format!("{name}{state}{errors}")
        })
        .collect();
    let alone = vdev.leaves.len() == 1 && names[0] == vdev.name;
    vec![
        if vdev.kind == "disk" { String::new() } else { vdev.kind.clone() },
        match vdev.role {
            Role::Data => String::new(),
            other => format!("for {}", other.name()),
        },
        vdev.state.clone(),
        vdev.ashift.map_or(String::new(), |shift| format!("ashift {shift}")),
        if alone { String::new() } else { format!("of {}", few(&names, DEVICES)) },
    ]
}

fn dataset_facts(dataset: &Dataset) -> Vec<String> {
    let block = if dataset.is_volume() { "volblocksize" } else { "recordsize" };
    let mut facts: Vec<String> = Vec::new();
    facts.extend(dataset.is_volume().then(|| "volume".to_owned()));
    facts.extend(dataset.block_bytes().map(|bytes| format!("{block} {}", size(bytes))));
    let ratio = dataset
        .get("compressratio")
        .map_or(String::new(), |ratio| format!(" ({}x)", ratio.trim_end_matches('x')));
    facts.extend(dataset.get("compression").map(|word| format!("compression {word}{ratio}")));
    // What is as it is by default is left out.
    for (property, usual) in [
        ("sync", "standard"),
        ("primarycache", "all"),
        ("secondarycache", "all"),
        ("atime", "off"),
        ("direct", "standard"),
        ("dedup", "off"),
        ("logbias", "latency"),
        ("checksum", "on"),
        ("copies", "1"),
        ("encryption", "off"),
    ] {
        let held = dataset.get(property).filter(|word| *word != usual);
        facts.extend(held.map(|word| format!("{property} {word}")));
    }
    let used = dataset.get("used").and_then(|word| word.parse().ok());
    facts.extend(used.map(|bytes: u64| format!("{} used", size(bytes))));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::inventory::server::zfs::{ArcUsage, PoolUsage, VdevLeaf};

    #[test]
    fn a_pool_is_told_with_its_vdevs_and_what_of_its_datasets_is_not_as_usual() {
        let leaf = |name: &str, errors| VdevLeaf {
            name: name.to_owned(),
            device: Some(name.to_owned()),
            state: "online".to_owned(),
            errors,
            ..VdevLeaf::default()
        };
        let settings = [
            ("type", "filesystem"),
            ("recordsize", "1048576"),
            ("compression", "lz4"),
            ("sync", "disabled"),
            ("atime", "off"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let dataset = Dataset { name: "tank/data".to_owned(), settings, ..Dataset::default() };
        let pool = Pool {
            name: "tank".to_owned(),
            state: Some("online".to_owned()),
            size_bytes: Some(4 << 40),
            usage: PoolUsage { allocated_bytes: Some(1 << 40), ..PoolUsage::default() },
            vdevs: vec![Vdev {
                name: "mirror-0".to_owned(),
                kind: "mirror".to_owned(),
                state: "online".to_owned(),
                ashift: Some(12),
                leaves: vec![leaf("sda1", 0), leaf("sdb1", 3)],
                ..Vdev::default()
            }],
            datasets: vec![dataset],
            more_datasets: 7,
            ..Pool::default()
        };
        let arc = ArcState {
            most_bytes: Some(8 << 30),
            set_most_bytes: Some(8 << 30),
            usage: ArcUsage { size_bytes: Some(5 << 30), ..ArcUsage::default() },
            ..ArcState::default()
        };
        let zfs_there =
            Zfs { version: Some("2.1.11-1".to_owned()), arc: Some(arc), pools: vec![pool] };
        let mut page = Page::default();
        zfs(&mut page, &Server { zfs: Some(zfs_there), ..Server::default() });
        assert_eq!(
            page.into_text(),
            "ZFS 2.1.11-1\n\
             \x20 ARC (cache in memory): 5.00 GiB held, at most 8.00 GiB, as it was set\n\
             \x20 tank: online, 4.00 TiB, 25 % full\n\
             \x20   mirror-0: mirror, online, ashift 12, of sda1, sdb1 (3 errors)\n\
             \x20   tank/data: recordsize 1.00 MiB, compression lz4, sync disabled\n\
             \x20   and 7 datasets\n"
        );
    }
}
