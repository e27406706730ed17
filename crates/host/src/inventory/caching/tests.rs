//! Caches of recorded machines: what LVM 2.03, dmsetup and bcache-tools made on a kernel 6.1, with
//! the UUIDs of LVM replaced.

use super::*;
use crate::inventory::device::walk;
use crate::inventory::recording::Recording;
use facts::inventory::{DeviceKind, Matter, leaves};

/// A device, by what /sys has of it: `dm-3 254:3 vg-lv LVM-1 dm-5 dm-6`; others have no name and
/// no UUID.
fn device(line: &str) -> String {
    let mut words = line.split(' ');
    let [name, number] = [words.next().unwrap(), words.next().unwrap()];
    let at = format!("/sys/class/block/{name}");
    let mut text = format!("{at}/size = 40960\n{at}/dev = {number}\n");
    if name.starts_with("dm-") {
        let (alias, uuid) = (words.next().unwrap(), words.next().unwrap());
        text += &format!("{at}/dm/name = {alias}\n{at}/dm/uuid = {uuid}\n");
    }
    words.for_each(|below| text += &format!("{at}/slaves/{below}/\n"));
    text
}

fn tree(lines: &[&str]) -> String {
    lines.iter().map(|line| device(line)).collect()
}

fn read(text: &str, name: &str) -> Device {
    let machine = Recording::unpack(text);
    walk(&machine.host(), &[], &[name.to_owned()]).remove(0)
}

const DISKS: [&str; 2] = ["ubda 98:0", "ubdb 98:16"];

/// A cached volume with a pool, one with a single volume as its cache, and one whose writes are
/// cached.
fn volumes() -> String {
    let lines = [
        "dm-0 254:0 vg-lv LVM-VGLV dm-1 dm-2 dm-3",
        "dm-1 254:1 vg-fast_cpool_cdata LVM-VGFAST-cdata ubdb",
        "dm-2 254:2 vg-fast_cpool_cmeta LVM-VGMETA-cmeta ubdb",
        "dm-3 254:3 vg-lv_corig LVM-VGORIG-real ubda",
        "dm-4 254:4 vg-wf_cvol LVM-VGWF-cvol ubdb",
        "dm-5 254:5 vg-lw_wcorig LVM-VGLW-real ubda",
        "dm-6 254:6 vg-lw LVM-VGLW dm-4 dm-5",
        "dm-7 254:7 vg-xf_cvol LVM-VGXF-cvol ubdb",
        "dm-8 254:8 vg-xf_cvol-cdata LVM-VGXF-cdata dm-7",
        "dm-9 254:9 vg-xf_cvol-cmeta LVM-VGXF-cmeta dm-7",
        "dm-10 254:10 vg-lx_corig LVM-VGLX-real ubda",
        "dm-11 254:11 vg-lx LVM-VGLX dm-8 dm-9 dm-10",
        "dm-12 254:12 vg-plain LVM-VGPLAIN ubda ubdb",
    ];
    tree(&lines) + &tree(&DISKS)
}

fn told(device: &Device) -> String {
    match (&device.caching, &device.opaque) {
        (Some(of), None) => {
            let mode = of.mode.as_deref().unwrap_or("-");
            format!("{} {mode} {} {}", of.by, of.cache.join("+"), of.records.join("+"))
        }
        (None, Some(why)) => format!("opaque: {why}"),
        _ => "plain".to_owned(),
    }
}

#[test]
fn cached_volumes_of_lvm_are_told_by_the_names_of_their_parts_naive_plain() {
    let text = volumes();
    let of = |name: &str| told(&read(&text, name));
    assert_eq!(of("dm-0"), "dm-cache - dm-1 dm-2");
    assert_eq!(of("dm-11"), "dm-cache - dm-8 dm-9");
    assert_eq!(of("dm-6"), "dm-writecache - dm-4 ");
    assert_eq!(of("dm-12"), "plain", "a volume on two disks");
    assert_eq!(of("dm-3"), "plain");
}

#[test]
fn tables_tell_more_than_names_and_devices_that_were_made_by_hand() {
    let json = |name: &str, target: &str, parameters: &str| {
        let segment = format!(r#"{{"target":"{target}","parameters":"{parameters}"}}"#);
        format!("/.brickyard/dm/{name}.json = [{segment}]\n")
    };
    let cache = "254:2 254:1 254:3 128 2 metadata2 writeback smq 0";
    let text = volumes() + &json("dm-0", "cache", cache);
    assert_eq!(told(&read(&text, "dm-0")), "dm-cache writeback dm-1 dm-2");
    let text = volumes() + &json("dm-6", "writecache", "s 254:5 254:4 4096 0");
    assert_eq!(told(&read(&text, "dm-6")), "dm-writecache - dm-4 ");
    // Nobody's names.
    let hand = tree(&["dm-0 254:0 mine none ubda ubdb ubdc", "ubdc 98:32"]) + &tree(&DISKS);
    let of = |more: &str| told(&read(&(hand.clone() + more), "dm-0"));
    let at_hand = json("dm-0", "cache", "98:32 98:16 98:0 128 1 writethrough smq 0");
    assert_eq!(of(&at_hand), "dm-cache writethrough ubdb ubdc");
    assert_eq!(of(&json("dm-0", "striped", "2 128 98:0 0 98:16 0")), "plain");
    assert!(of(&json("dm-0", "flashcache", "x")).contains("target flashcache"));
    assert!(of(&json("dm-0", "cache", "98:32 9:9 98:0")).contains("which device 9:9 is"));
    assert!(of(&json("dm-0", "cache", "")).starts_with("opaque: which device"));
    // A table that cannot be read is no table.
    for nonsense in ["", "/.brickyard/dm/dm-0.json = [\n", "/.brickyard/dm/dm-0.json = {}\n"] {
        assert!(of(nonsense).contains("only root can read its table"), "{nonsense}");
    }
}

#[test]
fn a_pool_of_stratis_and_an_encrypted_volume_are_told_by_their_makers() {
    let lines = [
        "dm-0 254:0 stratis-1-private-a-physical-cache stratis-1-a dm-1 dm-2 dm-3",
        "dm-1 254:1 stratis-1-private-a-physical-cachesub stratis-1-b ubdb",
        "dm-2 254:2 stratis-1-private-a-physical-metasub stratis-1-c ubdb",
        "dm-3 254:3 stratis-1-private-a-physical-originsub stratis-1-d ubda",
        "dm-4 254:4 both CRYPT-LUKS2-a-both ubda ubdb",
    ];
    let text = tree(&lines) + &tree(&DISKS);
    assert_eq!(told(&read(&text, "dm-0")), "dm-cache - dm-1 dm-2");
    assert_eq!(told(&read(&text, "dm-4")), "plain");
}

fn bcache(more: &str) -> Device {
    let text = tree(&["bcache0 251:0 ubda ubdb"]) + &tree(&DISKS) + more;
    read(&text, "bcache0")
}

#[test]
fn the_cache_of_bcache_is_the_device_that_is_cut_into_buckets() {
    let mode = "/sys/class/block/bcache0/bcache/cache_mode = writethrough [writeback] none\n";
    let found = bcache(&format!("{mode}/sys/class/block/ubdb/bcache/nbuckets = 2048\n"));
    assert_eq!(told(&found), "bcache writeback ubdb ");
    assert_eq!((found.kind, found.transport.as_str()), (DeviceKind::Stacked, "bcache"));
    let text = found.to_string();
    assert!(text.starts_with("bcache0: bcache, writeback; cache ubdb on ubda, 20.0 MiB"), "{text}");
    assert!(told(&bcache("")).contains("which of ubda, ubdb is the cache of bcache0"));
    // Without a set of caches it lies on one device.
    let alone = tree(&["bcache0 251:0 ubda"]) + &tree(&DISKS);
    assert_eq!(told(&read(&alone, "bcache0")), "plain");
}

#[test]
fn what_is_no_disk_though_sys_shows_one_is_told_by_its_place() {
    let place = |name: &str, folder: &str| {
        format!(
            "/sys/class/block/{name} -> /sys/devices/{folder}/block/{name}\n\
             /sys/devices/{folder}/block/{name}/size = 2048\n"
        )
    };
    let of = |name: &str, folder: &str, more: &str| {
        let machine = Recording::unpack(&(place(name, folder) + more));
        let devices = walk(&machine.host(), &[], &[name.to_owned()]);
        leaves(&devices, &[name.to_owned()]).remove(0).matter
    };
    let unseen = |matter: Matter| match matter {
        Matter::Unseen(why) => why,
        other => format!("{other:?}"),
    };
    assert!(unseen(of("zd0", "virtual", "")).contains("volume of ZFS, whose cache (ARC)"));
    let own = of("sdb", "tcm_loop_0/tcm_loop_adapter_0/host2/target2:0:1/2:0:1:0", "");
    assert!(unseen(own).contains("target in this machine's own kernel"));
    let session = "platform/host3/session1/target3:0:0/3:0:0:1";
    assert_eq!(of("sdc", session, ""), Matter::Remote, "iSCSI");
    let fibre = "pci0000:00/0000:00:05.0/host1/rport-1:0-0/target1:0:0/1:0:0:0";
    assert_eq!(of("sdd", fibre, ""), Matter::Remote);
    let srp = "pci0000:00/0000:00:06.0/infiniband_srp/srp-mlx4_0-1/host7/target7:0:0/7:0:0:0";
    assert_eq!(of("sde", srp, ""), Matter::Remote);
    assert_eq!(of("sdf", "pseudo_0/adapter0/host9/target9:0:0/9:0:0:0", ""), Matter::Memory);
    for fabric in ["tcp", "rdma", "fc"] {
        let at = "virtual/nvme-fabrics/ctl/nvme0";
        let more = format!(
            "/sys/devices/{at}/block/nvme0n1/device -> /sys/devices/{at}\n\
             /sys/devices/{at}/transport = {fabric}\n"
        );
        assert_eq!(of("nvme0n1", at, &more), Matter::Remote, "{fabric}");
        let more = more.replace(&format!("= {fabric}"), "= loop");
        assert!(unseen(of("nvme0n1", at, &more)).contains("own kernel"));
    }
    assert_eq!(of("vda", "pci0000:00/0000:00:03.0/virtio0", ""), Matter::Disk);
}
