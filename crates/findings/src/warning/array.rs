//! Arrays that lack members, or are busy with themselves.

use super::WarningFinding;
use base::value::counted;
use facts::inventory::server::{Array, Server};

fn part(array: &Array) -> String {
    match array.alias.as_deref() {
        Some(alias) if alias != array.name => format!("{} ({alias})", array.name),
        _ => array.name.clone(),
    }
}

/// How to look at it, by what made it.
fn look(array: &Array) -> String {
    match array.kind.as_str() {
        "md" => format!("`mdadm --detail /dev/{}`", array.name),
        "btrfs" => "`btrfs device stats` and `btrfs filesystem show` of its mount point".to_owned(),
        "zfs" => format!("`zpool status -v {}`", array.name),
        "lvm" => "`lvs -a -o +devices,health_status`".to_owned(),
        _ => "`lsblk`, and the tool that made it".to_owned(),
    }
}

fn evidence(array: &Array) -> String {
    format!("{} = {}", array.place, array.said.as_deref().unwrap_or("(not told)"))
}

/// Arrays with missing or failed members.
pub fn degraded(server: &Server) -> Vec<WarningFinding> {
    let found = server.arrays.iter().filter_map(|array| {
        let said = array.state.as_deref().is_some_and(|state| state.contains("degraded"));
        let missing = array.missing.unwrap_or(0);
        if missing == 0 && !said {
            return None;
        }
        let level = array.level.as_deref().unwrap_or("array");
        let count = match missing {
            0 => "some of its members".to_owned(),
            1 => "a member".to_owned(),
            many => format!("{many} members"),
        };
        let more = (missing > 0).then(|| format!("{}: missing or failed = {missing}", array.name));
        Some(WarningFinding {
            part: part(array),
            text: format!("The {level} lacks {count}."),
            evidence: [evidence(array)].into_iter().chain(more).collect(),
            cost: cost(array, missing),
            command: match array.kind.as_str() {
                "md" => format!("{}; then `mdadm /dev/{} --add DISK`", look(array), array.name),
                "btrfs" => format!("{}; then `btrfs replace start`", look(array)),
                "zfs" => format!("{}; then `zpool replace {} OLD NEW`", look(array), array.name),
                _ => look(array),
            },
        })
    });
    found.collect()
}

/// What a read costs when a member is missing.
fn cost(array: &Array, missing: u64) -> String {
    let is = |names: &[&str]| {
        let level = array.level.as_deref().unwrap_or_default();
        names.iter().any(|name| level.starts_with(name))
    };
    let parity = match (is(&["raid4", "raid5"]), is(&["raid6"])) {
        (true, _) => Some(1),
        (_, true) => Some(2),
        _ => None,
    };
    // Members that are listed may be spares, or may lack what is missing.
    let whole = array.whole.unwrap_or(array.members.len() as u64);
    let others = parity.and_then(|parity| whole.checked_sub(parity)).filter(|others| *others > 0);
    match others.filter(|_| missing > 0 && missing < whole) {
        Some(others) => format!(
            "a block of a missing member is computed from those of {}: {} {others} or more; with \
             little or nothing left to lose before data is",
            counted(others, "other"),
            match missing {
                1 => format!("one read in {whole} becomes"),
                many => format!("{many} reads in {whole} become"),
            }
        ),
        None => "reads have fewer disks to be spread over, and data has fewer copies; figures \
                 measured now are not those of the whole array"
            .to_owned(),
    }
}

/// Arrays that are being resynchronised, rebuilt, reshaped or checked.
pub fn busy(server: &Server) -> Vec<WarningFinding> {
    let found = server.arrays.iter().filter_map(|array| {
        let with = array.busy_with.as_deref().filter(|with| !matches!(*with, "idle" | "frozen"))?;
        let done = array.done_share.filter(|share| (0.0..=1.0).contains(share));
        let done = done.map(|share| format!(", {:.0} % done", share * 100.0)).unwrap_or_default();
        let command = match (array.kind.as_str(), with) {
            ("md", "check" | "repair") => {
                format!("wait, or `echo idle > /sys/block/{}/md/sync_action`", array.name)
            }
            ("md", _) => format!("wait: `mdadm --wait /dev/{}`", array.name),
            ("zfs", "scrub") => format!("wait, or `zpool scrub -p {}` to pause it", array.name),
            _ => format!("wait; {}", look(array)),
        };
        Some(WarningFinding {
            part: part(array),
            text: format!("It is busy with a {with}{done}."),
            evidence: vec![match array.kind.as_str() {
                "md" => format!("/sys/block/{}/md/sync_action = {with}{done}", array.name),
                _ => format!("{}: busy with {with}{done}", array.name),
            }],
            cost: "its disks read or write for themselves what they could read or write for you; \
                   figures measured now are too low by a share that nobody knows"
                .to_owned(),
            command,
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::inventory::recording::Recording;

    fn server_of(array: Array) -> Server {
        let array = Array {
            name: "md0".to_owned(),
            kind: "md".to_owned(),
            place: "/sys/block/md0/md/degraded".to_owned(),
            said: Some("1".to_owned()),
            state: Some("clean".to_owned()),
            members: ["sda", "sdb", "sdc"].map(str::to_owned).to_vec(),
            ..array
        };
        Server { arrays: vec![array], ..Server::default() }
    }

    #[test]
    fn an_array_that_lacks_a_member_is_told() {
        let raid = Array { level: Some("raid5".to_owned()), missing: Some(1), ..Array::default() };
        let found = &degraded(&server_of(raid))[0];
        assert_eq!(
            (found.part.as_str(), found.text.as_str()),
            ("md0", "The raid5 lacks a member.")
        );
        assert_eq!(found.evidence[0], "/sys/block/md0/md/degraded = 1");
        assert!(found.cost.contains("computed from those of 2 others"), "{}", found.cost);
        assert!(found.command.contains("--add DISK"), "{}", found.command);
    }

    /// Of a RAID 5 of three with one disk removed "one read in 2 becomes 1 or more", and with a
    /// failed one and a spare "one read in 4 becomes 3": the members that were listed were counted.
    #[test]
    fn reads_are_counted_over_the_members_of_the_whole_array() {
        for name in ["md-degraded-removed", "md-degraded-spare"] {
            let found = degraded(&host::inventory::server::server(&Recording::open(name).host()));
            let cost = &found[0].cost;
            assert_eq!(found.len(), 1, "{name}");
            assert!(cost.contains("one read in 3 becomes 2 or more"), "{name}: {cost}");
        }
        let cost = |level: &str, whole, missing| {
            cost(&Array { level: Some(level.to_owned()), whole, ..Array::default() }, missing)
        };
        assert!(cost("raid6", Some(8), 1).contains("one read in 8 becomes 6 or more"));
        assert!(cost("raid6", Some(8), 2).contains("2 reads in 8 become 6 or more"));
        assert!(cost("raid4", Some(4), 1).contains("one read in 4 becomes 3 or more"));
        assert!(cost("raid5", Some(2), 1).contains("one read in 2 becomes 1 or more"));
        // Nothing is computed of what has no parity, and of numbers that cannot be.
        for (level, whole) in
            [("raid10", Some(4)), ("raid5", Some(1)), ("raid5", None), ("raid6", Some(2))]
        {
            assert!(cost(level, whole, 1).contains("fewer disks"), "{level} {whole:?}");
        }
    }

    #[test]
    fn an_array_that_is_whole_and_idle_or_frozen_is_fine() {
        let whole = Array { missing: Some(0), ..Array::default() };
        assert_eq!(degraded(&server_of(whole)), []);
        assert_eq!(
            (degraded(&server_of(Array::default())), busy(&server_of(Array::default()))),
            (vec![], vec![])
        );
        let frozen = Array { busy_with: Some("frozen".to_owned()), ..Array::default() };
        assert_eq!(busy(&server_of(frozen)), []);
    }

    #[test]
    fn an_array_that_is_rebuilt_or_checked_is_told_with_how_far_it_is() {
        let with = |with: &str| Array {
            busy_with: Some(with.to_owned()),
            done_share: Some(0.415),
            alias: Some("/dev/md/data".to_owned()),
            ..Array::default()
        };
        let found = &busy(&server_of(with("recover")))[0];
        assert_eq!(found.text, "It is busy with a recover, 42 % done.");
        assert_eq!(
            (found.part.as_str(), found.command.as_str()),
            ("md0 (/dev/md/data)", "wait: `mdadm --wait /dev/md0`")
        );
        assert!(busy(&server_of(with("check")))[0].command.contains("sync_action"));
    }
}
