//! Stacks of the device mapper, told apart by the owner that their UUID begins with, and bcache.
//!
//! The tables of the device mapper are not in /sys: the level of an LVM RAID and how it is are told
//! by `lvs`.

use crate::inventory::caching::maker;
use crate::inventory::server::Reading;
use crate::inventory::sysfs::in_force;
use crate::sys::Host;
use facts::inventory::Device;
use facts::inventory::server::Array;

/// Those among `devices`.
pub fn read(reading: &mut Reading<'_>, devices: &[Device]) -> Vec<Array> {
    let host = reading.host();
    let mut arrays = Vec::new();
    for device in devices {
        if host.exists(format!("/sys/class/block/{}/dm", device.name)) {
            arrays.push(mapped(host, device));
        } else if host.exists(format!("/sys/class/block/{}/bcache/state", device.name))
            && device.name.starts_with("bcache")
        {
            arrays.push(cached(host, device));
        }
    }
    raids_of_lvm(reading, devices, &arrays);
    arrays
}

fn mapped(host: &Host, device: &Device) -> Array {
    let word = |file: &str| host.word(format!("/sys/class/block/{}/dm/{file}", device.name));
    let kind = maker(&word("uuid").unwrap_or_default());
    let state = word("suspended").and_then(|word| match word.as_str() {
        "0" => Some("active".to_owned()),
        "1" => Some("suspended".to_owned()),
        _ => None,
    });
    // Of the paths to one disk, those that lead nowhere now.
    let states = || {
        let states = device.below.iter();
        states.filter_map(|name| host.word(format!("/sys/class/block/{name}/device/state")))
    };
    let lost = || states().filter(|state| !["running", "live"].contains(&state.as_str())).count();
    // Where no path tells its state nobody knows.
    let known = kind == "multipath" && states().next().is_some();
    let missing = known.then(|| lost() as u64);
    Array {
        name: device.name.clone(),
        alias: word("name").map(|name| format!("/dev/mapper/{name}")),
        kind: kind.to_owned(),
        caching: device.caching.clone(),
        members: device.below.clone(),
        state,
        missing,
        place: format!("/sys/block/{}/dm/suspended", device.name),
        ..Array::default()
    }
}

fn raids_of_lvm(reading: &mut Reading<'_>, devices: &[Device], arrays: &[Array]) {
    let host = reading.host();
    let is_image = |name: &String| {
        let name = host.word(format!("/sys/class/block/{name}/dm/name"));
        name.is_some_and(|name| name.contains("_rimage_") || name.contains("_mimage_"))
    };
    let raids = arrays.iter().filter(|array| array.kind == "lvm");
    let raids: Vec<&Array> = raids
        .filter(|array| {
            let device = devices.iter().find(|device| device.name == array.name);
            device.is_some_and(|device| device.below.iter().any(is_image))
        })
        .collect();
    for raid in raids {
        let name = raid.alias.as_deref().unwrap_or(&raid.name);
        reading.miss(
            &format!("the RAID level and state of {name}"),
            &raid.place,
            "the kernel shows no table of the device mapper in /sys",
            &format!("lvs -o +segtype,raid_sync_action,copy_percent,lv_health_status {name}"),
        );
    }
}

/// See Documentation/admin-guide/bcache.rst.
fn cached(host: &Host, device: &Device) -> Array {
    let place = format!("/sys/block/{}/bcache", device.name);
    let word = |file: &str| host.word(format!("/sys/class/block/{}/bcache/{file}", device.name));
    Array {
        name: device.name.clone(),
        alias: word("label"),
        kind: "bcache".to_owned(),
        level: word("cache_mode").map(|text| in_force(&text)),
        caching: device.caching.clone(),
        members: device.below.clone(),
        state: word("state"),
        said: word("state"),
        place: format!("{place}/state"),
        ..Array::default()
    }
}
