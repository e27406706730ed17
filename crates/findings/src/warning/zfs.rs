//! Pools and datasets of ZFS that are not safe, or whose figures are not what they seem.

use super::{WarningFinding, is_virtual, names};
use base::value::{bytes, percent};
use facts::inventory::Device;
use facts::inventory::server::Server;
use facts::inventory::server::zfs::{Dataset, Pool, Role, Vdev};

fn pools(server: &Server) -> impl Iterator<Item = &Pool> {
    server.zfs.iter().flat_map(|zfs| &zfs.pools)
}

fn datasets(server: &Server) -> impl Iterator<Item = &Dataset> {
    pools(server).flat_map(|pool| &pool.datasets)
}

fn size(of: u64) -> String {
    bytes(of as f64)
}

/// Datasets that say that data is safe before it is. Those below one that says so are not told.
pub fn sync_disabled(server: &Server) -> Vec<WarningFinding> {
    let off = |dataset: &Dataset| dataset.get("sync") == Some("disabled");
    let parent_is_off = |name: &str| {
        let parent = name.rsplit_once('/').map(|(parent, _)| parent);
        parent.is_some_and(|parent| datasets(server).any(|it| it.name == parent && off(it)))
    };
    let found = datasets(server).filter(|it| off(it) && !parent_is_off(&it.name));
    let told = found.map(|dataset| WarningFinding {
        part: dataset.name.clone(),
        text: "Programs are told that data is on the disks while it is in memory alone.".to_owned(),
        evidence: vec![format!("zfs get sync {}: disabled", dataset.name)],
        cost:
            "a power cut takes the last seconds of writes that were confirmed; figures of writes \
               made safe are memory's"
                .to_owned(),
        command: format!("`zfs set sync=standard {}`", dataset.name),
    });
    told.collect()
}

/// Datasets whose blocks bear no checksum.
pub fn checksum_off(server: &Server) -> Vec<WarningFinding> {
    let found = datasets(server).filter(|dataset| dataset.get("checksum") == Some("off"));
    let told = found.map(|dataset| WarningFinding {
        part: dataset.name.clone(),
        text: "Its blocks bear no checksum: what a disk returns wrong is not noticed.".to_owned(),
        evidence: vec![format!("zfs get checksum {}: off", dataset.name)],
        cost: "silent corruption stays, and a mirror cannot tell which half is right".to_owned(),
        command: format!(
            "`zfs set checksum=on {}`; it holds for what is written later",
            dataset.name
        ),
    });
    told.collect()
}

/// Vdevs that write 512 bytes at a time to disks whose sectors have 4096.
pub fn small_ashift(server: &Server) -> Vec<WarningFinding> {
    let mut all = Vec::new();
    for pool in pools(server) {
        for vdev in &pool.vdevs {
            let Some(shift) = vdev.ashift.filter(|shift| *shift < 12) else { continue };
            let unit = 1_u64 << shift;
            let coarse: Vec<&Device> = vdev
                .leaves
                .iter()
                .filter_map(|leaf| whole(server, leaf.device.as_deref()?))
                .filter(|device| device.physical_block_bytes.is_some_and(|bytes| bytes > unit))
                .collect();
            let Some(first) = coarse.first() else { continue };
            let sector = first.physical_block_bytes.unwrap_or(4096);
            let disks: Vec<&str> = coarse.iter().map(|device| device.name.as_str()).collect();
            all.push(WarningFinding {
                part: format!("{} of {}", vdev.name, pool.name),
                text: format!(
                    "It writes {unit} B at a time to disks whose sectors have {sector} B."
                ),
                evidence: vec![
                    format!("zdb -C {}: {} has ashift {shift}", pool.name, vdev.name),
                    format!("/sys/block/{}/queue/physical_block_size = {sector}", first.name),
                ],
                cost: format!(
                    "each smaller write is a read, a change and a write inside the disk ({})",
                    names(&disks)
                ),
                command: "ashift cannot be changed: make the vdev anew with `-o ashift=12`"
                    .to_owned(),
            });
        }
    }
    all
}

/// The disk that a device is, or is a part of.
fn whole<'a>(server: &'a Server, name: &str) -> Option<&'a Device> {
    let own = server.devices.iter().find(|device| device.name == name)?;
    let parent = own
        .below
        .first()
        .and_then(|below| server.devices.iter().find(|device| device.name == *below));
    Some(parent.unwrap_or(own))
}

/// Pools that the failure of one device destroys.
pub fn no_redundancy(server: &Server) -> Vec<WarningFinding> {
    let mut all = Vec::new();
    for pool in pools(server) {
        let single = |vdev: &&Vdev| vdev.role.is_vital() && vdev.kind == "disk";
        let alone: Vec<&Vdev> = pool.vdevs.iter().filter(single).collect();
        let Some(first) = alone.first() else { continue };
        // An array or a hypervisor below may keep copies; a special device beside mirrors has none.
        let weakest = pool.vdevs.iter().any(|vdev| vdev.role.is_vital() && vdev.kind != "disk");
        let below = |vdev: &&&Vdev| {
            let device = vdev.leaves.first().and_then(|leaf| leaf.device.as_deref());
            let device = device.and_then(|name| whole(server, name));
            device.is_some_and(|device| server.arrays.iter().any(|it| it.name == device.name))
        };
        if !weakest && (is_virtual(server) || alone.iter().all(|vdev| below(&vdev))) {
            continue;
        }
        let devices: Vec<&str> = alone.iter().map(|vdev| vdev.name.as_str()).collect();
        let what = match first.role {
            Role::Data => "data",
            other => other.name(),
        };
        all.push(WarningFinding {
            part: pool.name.clone(),
            text: match alone.len() {
                1 => format!("One device for {what} has no other to take its place."),
                many => format!("{many} devices have no others to take their place."),
            },
            evidence: vec![format!(
                "{}: {} with neither mirror nor raidz",
                pool.place,
                names(&devices)
            )],
            cost: "when it fails the whole pool is lost, and damaged blocks cannot be repaired"
                .to_owned(),
            command: format!("`zpool attach {} {} DISK`", pool.name, first.name),
        });
    }
    all
}

/// Pools in which little room is left.
pub fn full(server: &Server) -> Vec<WarningFinding> {
    const FULL: f64 = 0.8;
    let found = pools(server).filter_map(|pool| {
        let used = pool.usage.allocated_bytes?;
        let all = pool.size_bytes.filter(|bytes| *bytes > 0)?;
        let share = used as f64 / all as f64;
        if !(FULL..=1.0).contains(&share) {
            return None;
        }
        let cut_up = pool.usage.fragmented_share.map_or(String::new(), |share| {
            format!("; {} of what is free is fragmented", percent(share))
        });
        Some(WarningFinding {
            part: pool.name.clone(),
            text: format!("{} of it is taken.", percent(share)),
            evidence: vec![format!(
                "zpool get allocated,size {}: {used}, {all}{cut_up}",
                pool.name
            )],
            cost: "new blocks go into the gaps that are left, so that writes become slower the \
                   fuller it is; figures are lower than those of an emptier pool"
                .to_owned(),
            command: "delete snapshots and files, or add a vdev: `zfs list -t all -o space`"
                .to_owned(),
        })
    });
    found.collect()
}

/// An ARC that is held smaller than it could be, or that something else fills.
pub fn arc_bound(server: &Server) -> Vec<WarningFinding> {
    const SMALL: f64 = 0.25;
    const FILLED: f64 = 0.95;
    let Some(arc) = server.zfs.as_ref().and_then(|zfs| zfs.arc.as_ref()) else { return Vec::new() };
    let mut all = Vec::new();
    let mut tell = |text: String, evidence: String, cost: &str, command: &str| {
        all.push(WarningFinding {
            part: "ARC".to_owned(),
            text,
            evidence: vec![evidence],
            cost: cost.to_owned(),
            command: command.to_owned(),
        });
    };
    let memory = server.memory.total_bytes.or(server.machine.memory_total_bytes);
    if let (Some(set), Some(memory)) = (arc.set_most_bytes, memory)
        && (set as f64) < SMALL * memory as f64
    {
        tell(
            format!("It was set to at most {} of {} of memory.", size(set), size(memory)),
            format!("/sys/module/zfs/parameters/zfs_arc_max = {set}"),
            "fewer reads come from memory than could; figures of reads that fit hold for this \
             setting alone",
            "`echo 0 > /sys/module/zfs/parameters/zfs_arc_max` for the default",
        );
    }
    let usage = &arc.usage;
    for (what, held, most, file) in [
        (
            "Metadata",
            usage.metadata_bytes,
            arc.metadata_most_bytes,
            "arc_meta_used, arc_meta_limit",
        ),
        ("Dnodes", usage.dnode_bytes, arc.dnode_most_bytes, "dnode_size, arc_dnode_limit"),
    ] {
        let (Some(held), Some(most)) = (held, most.filter(|most| *most > 0)) else { continue };
        if (held as f64) < FILLED * most as f64 {
            continue;
        }
        tell(
            format!("{what} in it are at their limit: {} of {}.", size(held), size(most)),
            format!("/proc/spl/kstat/zfs/arcstats: {file} = {held}, {most}"),
            "names and inodes are dropped and read again, and threads of ZFS work to make room",
            "raise zfs_arc_dnode_limit_percent or zfs_arc_meta_limit_percent in \
             /sys/module/zfs/parameters",
        );
    }
    let headers = usage.second_level_header_bytes.unwrap_or(0);
    if let Some(most) = arc.most_bytes
        && headers as f64 > SMALL * most as f64
    {
        tell(
            format!("What tells of cache devices takes {} of it.", size(headers)),
            format!("/proc/spl/kstat/zfs/arcstats: l2_hdr_size = {headers}, c_max = {most}"),
            "memory that could hold data holds places on cache devices, which are slower",
            "smaller cache devices, or larger records",
        );
    }
    all
}

/// Tables of deduplicated blocks that memory does not hold.
pub fn dedup_table(server: &Server) -> Vec<WarningFinding> {
    const PART: f64 = 0.25;
    let most = server.zfs.as_ref().and_then(|zfs| zfs.arc.as_ref()?.most_bytes);
    let found = pools(server).filter_map(|pool| {
        let (table, most) = (pool.usage.dedup_table.as_ref()?, most?);
        if (table.in_memory_bytes as f64) < PART * most as f64 {
            return None;
        }
        Some(WarningFinding {
            part: pool.name.clone(),
            text: format!(
                "The table of deduplicated blocks needs {} of memory, of {} that the ARC may have.",
                size(table.in_memory_bytes),
                size(most)
            ),
            evidence: vec![format!(
                "zpool status -D {}: {} entries, {} in core",
                pool.name,
                table.entries,
                size(table.in_memory_bytes)
            )],
            cost: "where it is not in memory each write first reads a part of the table at random"
                .to_owned(),
            command: "more memory, or `zfs set dedup=off` and write the data anew".to_owned(),
        })
    });
    found.collect()
}

/// Pools in which files are known to be damaged.
pub fn damaged(server: &Server) -> Vec<WarningFinding> {
    let found = pools(server).filter(|pool| pool.usage.data_errors == Some(true));
    let told = found.map(|pool| WarningFinding {
        part: pool.name.clone(),
        text: "Files in it are damaged, and no copy was left to repair them from.".to_owned(),
        evidence: vec![format!("zpool status {}: errors in its data", pool.name)],
        cost: "reads of these files fail".to_owned(),
        command: format!("`zpool status -v {}` names them; restore them", pool.name),
    });
    told.collect()
}

/// Small blocks on raidz, which pads each to a whole number of stripes.
pub fn small_blocks(server: &Server) -> Vec<WarningFinding> {
    let mut all = Vec::new();
    for pool in pools(server) {
        let raidz = pool.vdevs.iter().find(|vdev| {
            vdev.role == Role::Data && vdev.kind.starts_with("raidz") && vdev.ashift.is_some()
        });
        let Some(vdev) = raidz else { continue };
        for dataset in &pool.datasets {
            let Some(taken) = dataset.block_bytes().and_then(|block| taken(vdev, block)) else {
                continue;
            };
            let block = dataset.block_bytes().unwrap_or(0);
            let whole = best(vdev);
            if taken < 1.3 * whole {
                continue;
            }
            let property = if dataset.is_volume() { "volblocksize" } else { "recordsize" };
            all.push(WarningFinding {
                part: dataset.name.clone(),
                text: format!(
                    "A block of {} takes {taken:.1} times its size on {}, where {whole:.1} is \
                     enough.",
                    size(block),
                    vdev.name
                ),
                evidence: vec![
                    format!("zfs get {property} {}: {block}", dataset.name),
                    format!("{} has ashift {}", vdev.name, vdev.ashift.unwrap_or(0)),
                ],
                cost: "room that is lost, and parity that is written for every block".to_owned(),
                command: match dataset.is_volume() {
                    true => "make the volume anew with `-o volblocksize=64K`".to_owned(),
                    false => format!("`zfs set recordsize=128K {}`", dataset.name),
                },
            });
        }
    }
    all
}

/// Parity disks and all disks of a raidz vdev.
fn shape(vdev: &Vdev) -> Option<(u64, u64)> {
    let parity = match vdev.kind.as_str() {
        "raidz" | "raidz1" => 1,
        "raidz2" => 2,
        "raidz3" => 3,
        _ => return None,
    };
    let groups = vdev.leaves.iter().filter(|leaf| leaf.stands_in.is_none()).count() as u64;
    let mut stand_ins: Vec<&str> =
        vdev.leaves.iter().filter_map(|leaf| leaf.stands_in.as_deref()).collect();
    stand_ins.sort_unstable();
    stand_ins.dedup();
    let disks = groups + stand_ins.len() as u64;
    (disks > parity).then_some((parity, disks))
}

/// What a block of so many bytes takes of the vdev, as a multiple of its size (`vdev_raidz_asize`
/// of OpenZFS: parity for each row, then padding to a multiple of one more than the parity).
fn taken(vdev: &Vdev, block: u64) -> Option<f64> {
    let (parity, disks) = shape(vdev)?;
    let sector = 1_u64.checked_shl(u32::try_from(vdev.ashift?).ok()?)?;
    let data = block.div_ceil(sector).max(1);
    let with_parity = data + parity * data.div_ceil(disks - parity);
    let padded = with_parity.div_ceil(parity + 1) * (parity + 1);
    (block > 0).then(|| (padded * sector) as f64 / block as f64)
}

/// The least that large blocks take, likewise.
fn best(vdev: &Vdev) -> f64 {
    shape(vdev).map_or(1.0, |(parity, disks)| disks as f64 / (disks - parity) as f64)
}

#[cfg(test)]
mod tests;
