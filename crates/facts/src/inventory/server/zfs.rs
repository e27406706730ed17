//! (pure) ZFS: its pools with their vdevs and datasets, and the memory that it caches in (the ARC).
//!
//! Words are those of zpool(8), zpoolconcepts(7) and zfsprops(7). What the state of a pool means is
//! the business of warnings, what its counts say of a trial that of `measurement`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// ZFS on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Zfs {
    /// Version of the kernel module: `2.1.11-1`.
    pub version: Option<String>,
    /// The cache in memory; one for all pools.
    pub arc: Option<ArcState>,
    /// Imported pools, by name.
    pub pools: Vec<Pool>,
}

impl Zfs {
    /// The pool of that name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == name)
    }
}

/// The adaptive replacement cache (ARC).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArcState {
    /// What it may shrink to, bytes (`c_min`).
    pub least_bytes: Option<u64>,
    /// What it may grow to, bytes (`c_max`).
    pub most_bytes: Option<u64>,
    /// The same as an administrator set it (`zfs_arc_max`); `None` where the default holds.
    pub set_most_bytes: Option<u64>,
    /// What metadata may take of it, bytes, where there is such a limit (before 2.2).
    pub metadata_most_bytes: Option<u64>,
    /// What dnodes may take of it, bytes.
    pub dnode_most_bytes: Option<u64>,
    /// What it held when it was looked at.
    pub usage: ArcUsage,
}

/// What the ARC held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArcUsage {
    /// All of it, bytes.
    pub size_bytes: Option<u64>,
    /// What it aims at, bytes (`c`).
    pub target_bytes: Option<u64>,
    /// Metadata in it, bytes.
    pub metadata_bytes: Option<u64>,
    /// Dnodes in it, bytes.
    pub dnode_bytes: Option<u64>,
    /// Data on cache devices (L2ARC), bytes, as read back.
    pub second_level_bytes: Option<u64>,
    /// Memory that tells what lies on cache devices, bytes.
    pub second_level_header_bytes: Option<u64>,
    /// How often writers were held up since the machine started, as memory was short.
    pub throttled: Option<u64>,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// `online`, `degraded`, `suspended`, ...
    pub state: Option<String>,
    /// What it can hold before parity is taken off, bytes.
    pub size_bytes: Option<u64>,
    /// The property `ashift`, for vdevs to come; `None` where ZFS chooses.
    pub ashift: Option<u64>,
    /// Whether freed space is discarded at once.
    pub autotrim: Option<String>,
    /// Whether it was imported without leave to write.
    pub read_only: Option<bool>,
    /// Its parts at the top.
    pub vdevs: Vec<Vdev>,
    /// File systems and volumes, those without a place to mount too; snapshots are left out.
    pub datasets: Vec<Dataset>,
    /// How many more datasets there are than are listed.
    pub more_datasets: u64,
    /// What it is busy with: `scrub`, `resilver`; `None` when idle or unknown.
    pub busy_with: Option<String>,
    /// How far that is, 0 to 1.
    pub done_share: Option<f64>,
    /// How full it was, and what errors it had counted.
    pub usage: PoolUsage,
    /// Who told of its vdevs: a command, or a file.
    pub place: String,
}

/// What moves by itself of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolUsage {
    /// What is taken of its size, bytes.
    pub allocated_bytes: Option<u64>,
    /// What is left of its size, bytes.
    pub free_bytes: Option<u64>,
    /// How far the free space is cut up, 0 to 1.
    pub fragmented_share: Option<f64>,
    /// What blocks that are shared save, as a factor.
    pub dedup_ratio: Option<f64>,
    /// The table of deduplicated blocks, where there is one.
    pub dedup_table: Option<DedupTable>,
    /// Whether files are known to be damaged; `None` where that is not told.
    pub data_errors: Option<bool>,
}

/// The table of deduplicated blocks (DDT).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DedupTable {
    /// Blocks in it.
    pub entries: u64,
    /// What it takes of the pool, bytes.
    pub on_disk_bytes: u64,
    /// What it takes of memory when it is there, bytes.
    pub in_memory_bytes: u64,
}

/// A part of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vdev {
    /// `mirror-0`, `raidz2-1`, `draid2:4d:10c:1s-0`; of a device alone its own.
    pub name: String,
    /// `mirror`, `raidz1`, `draid2`, or `disk`.
    pub kind: String,
    /// What lies on it.
    pub role: Role,
    /// `online`, `degraded`, ...
    pub state: String,
    /// The smallest block that is written to it is 2 to this power, bytes.
    pub ashift: Option<u64>,
    /// The devices or files below, those that stand in for others too.
    pub leaves: Vec<VdevLeaf>,
}

/// What a vdev is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// Data, and all else that has no vdev of its own.
    #[default]
    Data,
    /// Metadata, and small blocks where a dataset asks for it.
    Special,
    /// The table of deduplicated blocks.
    Dedup,
    /// The intent log (SLOG).
    Log,
    /// A copy of what was read (L2ARC).
    Cache,
    /// It stands by.
    Spare,
}

impl Role {
    /// As in the JSON document.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the pool is lost when such a vdev is.
    pub fn is_vital(self) -> bool {
        matches!(self, Role::Data | Role::Special | Role::Dedup)
    }
}

/// A device or file in a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VdevLeaf {
    /// As `zpool status` has it; a number where the device is gone.
    pub name: String,
    /// The block device's kernel name; `None` of a file, and of what is gone.
    pub device: Option<String>,
    /// `online`, `faulted`, `avail`, ...
    pub state: String,
    /// Errors of reads, writes and checksums that were counted since they were cleared.
    pub errors: u64,
    /// `replacing-0`, `spare-1`: with others of that name it stands for one member.
    pub stands_in: Option<String>,
}

/// A file system or volume of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dataset {
    /// `tank/data`.
    pub name: String,
    /// Its properties that matter to speed and safety, as `zfs get -p` has them: numbers are bytes.
    pub settings: BTreeMap<String, String>,
    /// What moves by itself: how much it holds, and how well that was compressed.
    pub usage: BTreeMap<String, String>,
}

impl Dataset {
    /// A property; `None` where this version has none of that name.
    pub fn get(&self, property: &str) -> Option<&str> {
        let held = self.settings.get(property).or_else(|| self.usage.get(property));
        held.map(String::as_str)
    }

    /// Whether it is a volume: a block device.
    pub fn is_volume(&self) -> bool {
        self.get("type") == Some("volume")
    }

    /// Bytes of its blocks: `recordsize`, of a volume `volblocksize`.
    pub fn block_bytes(&self) -> Option<u64> {
        let property = if self.is_volume() { "volblocksize" } else { "recordsize" };
        self.get(property)?.parse().ok()
    }
}

impl Pool {
    /// The dataset of that name.
    pub fn dataset(&self, name: &str) -> Option<&Dataset> {
        self.datasets.iter().find(|dataset| dataset.name == name)
    }

    /// Kernel names of the block devices that its data goes to and comes from: all but those that
    /// hold what was read before (L2ARC), and that stand by.
    ///
    /// # Errors
    /// With the reason, as a clause, when not all of them are known.
    pub fn devices(&self) -> Result<Vec<String>, String> {
        self.leaves_of(|role| !matches!(role, Role::Cache | Role::Spare))
    }

    /// The same of those that hold what was read before (L2ARC); devices that cannot be told are
    /// left out.
    pub fn cache_devices(&self) -> Vec<String> {
        let leaves = self.vdevs.iter().filter(|vdev| vdev.role == Role::Cache);
        let leaves = leaves.flat_map(|vdev| &vdev.leaves);
        leaves.filter_map(|leaf| leaf.device.clone()).collect()
    }

    fn leaves_of(&self, wanted: impl Fn(Role) -> bool) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = Vec::new();
        let vdevs = self.vdevs.iter().filter(|vdev| wanted(vdev.role));
        for leaf in vdevs.flat_map(|vdev| &vdev.leaves) {
            match &leaf.device {
                Some(device) if names.contains(device) => {}
                Some(device) => names.push(device.clone()),
                None if leaf.is_there() && leaf.is_file() => {
                    return Err(format!("{} of the pool {} is a file", leaf.name, self.name));
                }
                None if leaf.is_there() => {
                    let (name, pool) = (&leaf.name, &self.name);
                    return Err(format!("which device {name} of the pool {pool} is is not known"));
                }
                None => {}
            }
        }
        match names.is_empty() {
            true => Err(format!("the devices of the pool {} are not known", self.name)),
            false => Ok(names),
        }
    }
}

impl VdevLeaf {
    /// Whether it can be read.
    pub fn is_there(&self) -> bool {
        matches!(self.state.as_str(), "online" | "degraded")
    }

    /// Whether it is a file of another file system.
    pub fn is_file(&self) -> bool {
        self.name.starts_with('/') && !self.name.starts_with("/dev/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vdev(role: Role, leaves: &[(&str, Option<&str>, &str)]) -> Vdev {
        let leaf = |(name, device, state): &(&str, Option<&str>, &str)| VdevLeaf {
            name: (*name).to_owned(),
            device: device.map(str::to_owned),
            state: (*state).to_owned(),
            ..VdevLeaf::default()
        };
        Vdev { role, leaves: leaves.iter().map(leaf).collect(), ..Vdev::default() }
    }

    #[test]
    fn data_is_on_the_devices_of_data_metadata_and_log_and_not_of_cache_or_spares() {
        let pool = Pool {
            name: "tank".to_owned(),
            vdevs: vec![
                vdev(Role::Data, &[("sda1", Some("sda1"), "online")]),
                vdev(Role::Special, &[("nvme0n1p1", Some("nvme0n1p1"), "online")]),
                vdev(Role::Log, &[("nvme1n1p1", Some("nvme1n1p1"), "online")]),
                vdev(Role::Cache, &[("sdz", Some("sdz"), "online")]),
                vdev(Role::Spare, &[("sdy", Some("sdy"), "avail")]),
            ],
            ..Pool::default()
        };
        assert_eq!(pool.devices().unwrap(), ["sda1", "nvme0n1p1", "nvme1n1p1"]);
        assert_eq!(pool.cache_devices(), ["sdz"]);
    }

    /// Files of other file systems have a cache of their own below.
    #[test]
    fn a_pool_on_files_or_without_known_members_has_no_devices_and_a_gone_one_does_not_matter() {
        let pool = |leaves: &[(&str, Option<&str>, &str)]| Pool {
            name: "tank".to_owned(),
            vdevs: vec![vdev(Role::Data, leaves)],
            ..Pool::default()
        };
        let of_file = pool(&[("/var/a", None, "online"), ("sda", Some("sda"), "online")]);
        assert_eq!(of_file.devices().unwrap_err(), "/var/a of the pool tank is a file");
        assert!(pool(&[]).devices().unwrap_err().contains("not known"));
        let named = pool(&[("wwn-0x5000", None, "online")]).devices().unwrap_err();
        assert!(named.contains("which device wwn-0x5000"), "{named}");
        let gone = pool(&[("1234", None, "unavail"), ("sda", Some("sda"), "online")]);
        assert_eq!(gone.devices().unwrap(), ["sda"]);
    }

    #[test]
    fn blocks_of_a_volume_are_its_own() {
        let of = |kind: &str| {
            let settings = [("type", kind), ("recordsize", "131072"), ("volblocksize", "16384")];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            Dataset { settings, ..Dataset::default() }.block_bytes()
        };
        assert_eq!((of("filesystem"), of("volume")), (Some(131_072), Some(16_384)));
    }
}
