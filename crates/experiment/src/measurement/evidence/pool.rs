//! (pure) What ZFS says about the bytes of a trial.

use serde::{Deserialize, Serialize};

use facts::counters::PoolCounts;
use facts::inventory::Target;

/// What is known of the pool that a trial's directories lie on, and what ZFS counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZfsPoolEvidence {
    /// Names of the pools.
    pub pools: Vec<String>,
    /// The datasets that are mounted there.
    pub datasets: Vec<String>,
    /// Version of ZFS in the kernel.
    pub version: Option<String>,
    /// Kernel names of the devices that hold what was read before (L2ARC).
    pub cache_devices: Vec<String>,
    /// A dataset on which fsync does nothing (`sync=disabled`).
    pub unsafe_dataset: Option<String>,
    /// Why not all of its devices are known, as a clause.
    pub unseen: Option<String>,
    /// Bytes of the files' blocks: a record, or all of a file that is smaller; `None` when they
    /// differ, or nobody looked.
    pub record_bytes: Option<u64>,
    /// What the files take of the pool, after compression and without holes; parity is left out.
    pub stored_bytes: Option<u64>,
    /// What was counted between just before the streams were let go and just after the last had
    /// stopped.
    pub counts: Option<PoolCounts>,
}

impl ZfsPoolEvidence {
    /// Of these directories; `None` unless all lie on ZFS.
    pub fn from_targets(targets: &[Target]) -> Option<ZfsPoolEvidence> {
        let mut pooled = ZfsPoolEvidence::default();
        for target in targets {
            let on = target.pool.as_ref()?;
            let lists = [
                (&mut pooled.pools, vec![on.name.clone()]),
                (&mut pooled.datasets, vec![on.dataset.clone()]),
                (&mut pooled.cache_devices, on.cache_devices.clone()),
            ];
            for (list, more) in lists {
                let new: Vec<String> =
                    more.into_iter().filter(|name| !list.contains(name)).collect();
                list.extend(new);
            }
            if let Some(dataset) = on.unsafe_dataset() {
                pooled.unsafe_dataset.get_or_insert_with(|| dataset.to_owned());
            }
            pooled.version = pooled.version.or_else(|| on.version.clone());
            pooled.unseen = pooled.unseen.or_else(|| on.unseen.clone());
        }
        (!targets.is_empty()).then_some(pooled)
    }

    /// The share of the files' bytes that the pool holds of them: less than 1 where they are
    /// compressed, or have holes; `None` when that is not known.
    pub fn stored_share(&self, file_bytes: u64) -> Option<f64> {
        let stored = self.stored_bytes? as f64;
        (file_bytes > 0).then(|| (stored / file_bytes as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Evidence;
    use facts::inventory::OnPool;

    #[test]
    fn directories_of_two_datasets_are_told_together_and_one_elsewhere_makes_nothing_sure() {
        let on = |dataset: &str, unseen: Option<&str>| {
            let pool = OnPool {
                name: "tank".to_owned(),
                dataset: dataset.to_owned(),
                unseen: unseen.map(str::to_owned),
                ..OnPool::default()
            };
            let known = crate::measurement::evidence::tests::target("zfs", &["sda1"], None);
            Target { pool: Some(pool), ..known }
        };
        let two = [on("tank/a", None), on("tank/b", Some("/x is a file"))];
        let pooled = ZfsPoolEvidence::from_targets(&two).unwrap();
        assert_eq!((pooled.pools.len(), pooled.datasets.join(" ")), (1, "tank/a tank/b".into()));
        assert!(pooled.unseen.is_some());
        assert_eq!(Evidence::on(&two[..1]).pool.unwrap().datasets, ["tank/a"]);
        let ext4 = crate::measurement::evidence::tests::target("ext4", &["sdb"], None);
        assert_eq!(ZfsPoolEvidence::from_targets(&[on("tank/a", None), ext4]), None);
        assert_eq!(ZfsPoolEvidence::from_targets(&[]), None);
    }

    #[test]
    fn what_the_pool_holds_is_no_more_than_the_files() {
        let share = |stored| {
            ZfsPoolEvidence { stored_bytes: stored, ..ZfsPoolEvidence::default() }
                .stored_share(1000)
        };
        assert_eq!(
            (share(Some(250)), share(Some(1200)), share(None)),
            (Some(0.25), Some(1.0), None)
        );
        assert_eq!(ZfsPoolEvidence::default().stored_share(0), None);
    }
}
