//! (pure) Levels of arrays.

/// The levels of the lower arrays of a nested one.
pub fn nested(raid: &str) -> Option<&'static str> {
    match raid {
        "raid50" => Some("raid5"),
        "raid60" => Some("raid6"),
        _ => None,
    }
}

/// How many disks' worth of data a level keeps on so many `disks`, joined by `volumes` (`btrfs`
/// keeps two copies where md keeps one on every disk); `None` of a level that is not known, or that
/// leaves nothing on so few.
pub fn disks_of_data(raid: &str, volumes: &str, disks: u64) -> Option<f64> {
    let all = disks as f64;
    let data = match raid {
        "single" | "raid0" => all,
        "raid1" if volumes != "btrfs" => 1.0,
        "raid1" | "raid10" => all / 2.0,
        "raid4" | "raid5" => all - 1.0,
        "raid6" | "raid50" => all - 2.0,
        "raid60" => all - 4.0,
        _ => return None,
    };
    (data > 0.0).then_some(data)
}

/// Whether a level can lose a disk, so that its array has states.
pub fn is_redundant(raid: &str) -> bool {
    !matches!(raid, "single" | "raid0")
}
