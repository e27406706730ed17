//! A pool as an array among others: its level, its members, what it lacks.

use std::collections::BTreeSet;

use facts::inventory::server::Array;
use facts::inventory::server::zfs::{Pool, Role, Vdev, VdevLeaf};

/// The array that a pool is.
pub fn array(pool: &Pool) -> Array {
    let mut levels: Vec<&str> = Vec::new();
    let data = pool.vdevs.iter().filter(|vdev| vdev.role == Role::Data);
    for vdev in data.clone() {
        let level = if vdev.kind == "disk" { "stripe" } else { &vdev.kind };
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let vdevs_told = !pool.vdevs.is_empty();
    let whole = data.clone().map(|vdev| members(vdev).len() as u64).sum();
    let needed = pool.vdevs.iter().filter(|vdev| !matches!(vdev.role, Role::Cache | Role::Spare));
    let missing = needed.clone().map(missing).sum();
    let errors = needed.flat_map(|vdev| &vdev.leaves).map(|leaf| leaf.errors);
    let damaged = pool.usage.data_errors == Some(true);
    let more = if damaged { ", errors in its data" } else { "" };
    Array {
        name: pool.name.clone(),
        kind: "zfs".to_owned(),
        level: vdevs_told.then(|| levels.join(", ")),
        members: data.flat_map(|vdev| &vdev.leaves).map(named).collect(),
        whole: vdevs_told.then_some(whole),
        state: pool.state.as_ref().map(|state| format!("{state}{more}")),
        missing: vdevs_told.then_some(missing),
        errors: vdevs_told.then(|| errors.fold(0, u64::saturating_add)),
        busy_with: pool.busy_with.clone(),
        done_share: pool.done_share,
        place: pool.place.clone(),
        said: pool.state.as_ref().map(|state| state.to_uppercase()),
        ..Array::default()
    }
}

fn named(leaf: &VdevLeaf) -> String {
    let name = || leaf.name.trim_start_matches("/dev/").to_owned();
    leaf.device.clone().unwrap_or_else(name)
}

/// Its members; several that stand for one, as while a disk is replaced, are one.
fn members(vdev: &Vdev) -> Vec<Vec<&VdevLeaf>> {
    let mut groups: BTreeSet<&str> = BTreeSet::new();
    let mut members = Vec::new();
    for leaf in &vdev.leaves {
        match leaf.stands_in.as_deref() {
            None => members.push(vec![leaf]),
            Some(group) if groups.insert(group) => {
                let of_group = |other: &&VdevLeaf| other.stands_in.as_deref() == Some(group);
                members.push(vdev.leaves.iter().filter(of_group).collect());
            }
            Some(_) => {}
        }
    }
    members
}

fn missing(vdev: &Vdev) -> u64 {
    let gone = members(vdev).into_iter().filter(|of| !of.iter().any(|leaf| leaf.is_there()));
    gone.count() as u64
}
