//! Pools with one fault each.

use super::*;
use facts::inventory::DeviceKind;
use facts::inventory::server::Zfs;
use facts::inventory::server::zfs::{ArcState, ArcUsage, DedupTable, PoolUsage, VdevLeaf};

fn vdev(kind: &str, role: Role, devices: &[&str]) -> Vdev {
    let leaf = |name: &&str| VdevLeaf {
        name: format!("/dev/{name}"),
        device: Some((*name).to_owned()),
        state: "online".to_owned(),
        ..VdevLeaf::default()
    };
    Vdev {
        name: if kind == "disk" { format!("/dev/{}", devices[0]) } else { format!("{kind}-0") },
        kind: kind.to_owned(),
        role,
        state: "online".to_owned(),
        ashift: Some(12),
        leaves: devices.iter().map(leaf).collect(),
    }
}

fn dataset(name: &str, settings: &[(&str, &str)]) -> Dataset {
    let settings =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Dataset { name: name.to_owned(), settings, ..Dataset::default() }
}

fn with(pool: Pool) -> Server {
    let pool = Pool { name: "tank".to_owned(), place: "zpool status tank".to_owned(), ..pool };
    let arc = ArcState { most_bytes: Some(8 << 30), ..ArcState::default() };
    let zfs = Zfs { arc: Some(arc), pools: vec![pool], ..Zfs::default() };
    Server { zfs: Some(zfs), ..Server::default() }
}

fn of_datasets(datasets: Vec<Dataset>) -> Server {
    with(Pool { datasets, ..Pool::default() })
}

/// Sentences of a good manual: under 25 words.
fn plain(found: &[WarningFinding]) {
    for one in found {
        for sentence in one.text.split_inclusive(". ") {
            assert!(sentence.split_whitespace().count() < 25, "{sentence}");
        }
        assert!(one.text.ends_with('.') && !one.evidence.is_empty() && !one.command.is_empty());
    }
}

#[test]
fn a_dataset_that_lies_about_safety_is_told_once_with_those_below_it() {
    let off = ("sync", "disabled");
    let found = sync_disabled(&of_datasets(vec![
        dataset("tank/db", &[off]),
        dataset("tank/db/log", &[off]),
        dataset("tank/safe", &[("sync", "standard")]),
        dataset("tank/other", &[off]),
    ]));
    let parts: Vec<&str> = found.iter().map(|one| one.part.as_str()).collect();
    assert_eq!(parts, ["tank/db", "tank/other"]);
    assert_eq!(found[0].evidence, ["zfs get sync tank/db: disabled"]);
    assert_eq!(found[0].command, "`zfs set sync=standard tank/db`");
    plain(&found);
    let found = checksum_off(&of_datasets(vec![
        dataset("tank/a", &[("checksum", "off")]),
        dataset("tank/b", &[("checksum", "on")]),
    ]));
    assert_eq!((found.len(), found[0].part.as_str()), (1, "tank/a"));
    plain(&found);
}

#[test]
fn an_ashift_below_the_sectors_of_the_disks_is_told_and_one_that_fits_is_not() {
    let disk = |name: &str, sector: u64| {
        let mut device = Device::bare(name, DeviceKind::Disk);
        device.physical_block_bytes = Some(sector);
        device
    };
    let mut part = Device::bare("sda1", DeviceKind::Partition);
    part.below = vec!["sda".to_owned()];
    let server = |shift, sector| {
        let vdevs = vec![Vdev { ashift: shift, ..vdev("disk", Role::Data, &["sda1"]) }];
        let pool = Pool { vdevs, ..Pool::default() };
        Server { devices: vec![disk("sda", sector), part.clone()], ..with(pool) }
    };
    let found = small_ashift(&server(Some(9), 4096));
    assert_eq!(found[0].text, "It writes 512 B at a time to disks whose sectors have 4096 B.");
    assert_eq!(found[0].evidence[1], "/sys/block/sda/queue/physical_block_size = 4096");
    plain(&found);
    for (shift, sector) in [(Some(12), 4096), (Some(9), 512), (None, 4096)] {
        assert_eq!(small_ashift(&server(shift, sector)), []);
    }
}

#[test]
fn a_pool_that_one_device_takes_with_it_is_told_unless_something_below_has_copies() {
    let of = |vdevs: Vec<Vdev>| with(Pool { vdevs, ..Pool::default() });
    let mirror = vdev("mirror", Role::Data, &["sda1", "sdb1"]);
    assert_eq!(no_redundancy(&of(vec![mirror.clone()])), []);
    let single = of(vec![vdev("disk", Role::Data, &["sda1"]), vdev("disk", Role::Log, &["sdc1"])]);
    let found = no_redundancy(&single);
    assert_eq!(found[0].text, "One device for data has no other to take its place.");
    plain(&found);
    let special = of(vec![mirror, vdev("disk", Role::Special, &["nvme0n1"])]);
    let found = no_redundancy(&special);
    assert_eq!(found[0].text, "One device for special has no other to take its place.");
    assert!(found[0].command.starts_with("`zpool attach tank /dev/nvme0n1"));
    // A virtual disk is the hypervisor's business; an array below has copies of its own.
    let mut guest = single.clone();
    guest.machine.virtual_machine = Some(true);
    assert_eq!(no_redundancy(&guest), []);
    let mut on_md = of(vec![vdev("disk", Role::Data, &["md0"])]);
    on_md.devices = vec![Device::bare("md0", DeviceKind::Stacked)];
    on_md.arrays =
        vec![facts::inventory::server::Array { name: "md0".to_owned(), ..Default::default() }];
    assert_eq!(no_redundancy(&on_md), []);
}

#[test]
fn a_pool_that_is_nearly_full_or_damaged_is_told() {
    let of = |used: u64, damaged: Option<bool>| {
        with(Pool {
            size_bytes: Some(1000),
            usage: PoolUsage {
                allocated_bytes: Some(used),
                fragmented_share: Some(0.41),
                data_errors: damaged,
                ..PoolUsage::default()
            },
            ..Pool::default()
        })
    };
    let found = full(&of(900, None));
    assert_eq!(found[0].text, "90 % of it is taken.");
    assert!(found[0].evidence[0].contains("900, 1000") && found[0].evidence[0].contains("41 %"));
    plain(&found);
    assert_eq!((full(&of(790, None)), full(&of(2000, None))), (vec![], vec![]));
    let found = damaged(&of(1, Some(true)));
    assert_eq!(found[0].command, "`zpool status -v tank` names them; restore them");
    plain(&found);
    assert_eq!((damaged(&of(1, Some(false))), damaged(&of(1, None))), (vec![], vec![]));
}

#[test]
fn an_arc_that_something_binds_is_told_with_what_it_is() {
    let of = |arc: ArcState| {
        let mut server = with(Pool::default());
        server.memory.total_bytes = Some(64 << 30);
        let arc = ArcState { most_bytes: Some(32 << 30), ..arc };
        server.zfs = Some(Zfs { arc: Some(arc), ..Zfs::default() });
        arc_bound(&server)
    };
    assert_eq!(of(ArcState::default()), []);
    let set = of(ArcState { set_most_bytes: Some(4 << 30), ..ArcState::default() });
    assert_eq!(set[0].text, "It was set to at most 4.00 GiB of 64.0 GiB of memory.");
    assert_eq!(set[0].evidence, ["/sys/module/zfs/parameters/zfs_arc_max = 4294967296"]);
    assert_eq!(of(ArcState { set_most_bytes: Some(40 << 30), ..ArcState::default() }), []);
    let usage = ArcUsage {
        metadata_bytes: Some(970),
        dnode_bytes: Some(10),
        second_level_header_bytes: Some(9 << 30),
        ..ArcUsage::default()
    };
    let found = of(ArcState {
        usage,
        metadata_most_bytes: Some(1000),
        dnode_most_bytes: Some(1000),
        ..ArcState::default()
    });
    let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Metadata in it are at their limit: 970 B of 1000 B.",
            "What tells of cache devices takes 9.00 GiB of it.",
        ]
    );
    plain(&set);
    plain(&found);
}

#[test]
fn a_table_of_deduplicated_blocks_that_memory_hardly_holds_is_told() {
    let of = |in_memory_bytes| {
        let table = DedupTable { entries: 40_516_427, in_memory_bytes, ..DedupTable::default() };
        let usage = PoolUsage { dedup_table: Some(table), ..PoolUsage::default() };
        dedup_table(&with(Pool { usage, ..Pool::default() }))
    };
    let found = of(6 << 30);
    assert!(found[0].text.contains("needs 6.00 GiB of memory, of 8.00 GiB"), "{}", found[0].text);
    assert!(found[0].evidence[0].contains("40516427 entries"));
    plain(&found);
    assert_eq!(of(1 << 30), []);
}

/// The arithmetic is `vdev_raidz_asize`: 8 KiB on raidz2 of six disks of 4 KiB sectors take six.
#[test]
fn small_blocks_on_raidz_are_told_with_what_they_take() {
    let six = ["a", "b", "c", "d", "e", "f"];
    let of = |kind: &str, settings: &[(&str, &str)]| {
        small_blocks(&with(Pool {
            vdevs: vec![vdev(kind, Role::Data, &six)],
            datasets: vec![dataset("tank/vm", settings)],
            ..Pool::default()
        }))
    };
    let volume = [("type", "volume"), ("volblocksize", "8192")];
    let found = of("raidz2", &volume);
    assert_eq!(
        found[0].text,
        "A block of 8.00 KiB takes 3.0 times its size on raidz2-0, where 1.5 is enough."
    );
    plain(&found);
    assert_eq!(of("mirror", &volume), []);
    assert_eq!(of("raidz2", &[("type", "filesystem"), ("recordsize", "131072")]), []);
}
