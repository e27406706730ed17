//! What checks after power cuts found earlier, of the file systems that a campaign measures: a fact
//! of its inventory.

use experiment::measurement::verified::outcome::VERIFY;
use facts::inventory::{Device, Target};
use findings::analysis::power_cut::{EarlierCheck, checked};
use store::Store;

/// Those of this machine in the store. What cannot be read is told by whoever asks for it.
pub fn earlier(store: &Store, hostname: &str, targets: &[Target]) -> Vec<EarlierCheck> {
    let all = store.overviews().unwrap_or_default();
    let checks = all.iter().filter(|it| it.plan == VERIFY && it.host == hostname);
    checks.flat_map(|it| of_campaign(store, it.id, targets)).collect()
}

fn of_campaign(store: &Store, id: u64, targets: &[Target]) -> Vec<EarlierCheck> {
    let records = store.light_records(id).unwrap_or_default();
    let Some((_, lost_blocks)) = checked(&records) else { return Vec::new() };
    let Ok(Some(campaign)) = store.campaign(id) else { return Vec::new() };
    let then: Vec<Target> = campaign.inventory["targets"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| serde_json::from_value(it.clone()).ok())
        .collect();
    let same = |now: &&Target| then.iter().any(|then| is_same(then, now));
    let now = targets.iter().filter(same);
    let mut points: Vec<&String> = now.map(|target| &target.mount_point).collect();
    points.dedup();
    let check =
        |point: &String| EarlierCheck { campaign: id, mount_point: point.clone(), lost_blocks };
    points.into_iter().map(check).collect()
}

/// Whether both are the same file system, as far as is known: it is mounted at the same place, and
/// lies on disks with the same serial numbers, of loop devices files, else names.
fn is_same(then: &Target, now: &Target) -> bool {
    let disks = |target: &Target| {
        let known = |name: &String| {
            let device = target.devices.iter().find(|device| device.name == *name);
            let file = |of: &Device| Some(of.backing.as_ref()?.file.clone());
            let marks = |of: &Device| of.serial.clone().or_else(|| file(of));
            device.and_then(marks).unwrap_or_else(|| name.clone())
        };
        let mut all: Vec<String> = target.disks.iter().map(known).collect();
        all.sort();
        all
    };
    then.mount_point == now.mount_point
        && then.filesystem == now.filesystem
        && disks(then) == disks(now)
}
