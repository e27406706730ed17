//! The adaptive replacement cache (ARC), as /proc/spl/kstat/zfs/arcstats tells of it.

use crate::inventory::server::Reading;
use facts::inventory::server::zfs::{ArcState, ArcUsage};

const PLACE: &str = "/proc/spl/kstat/zfs/arcstats";

/// Reads it; `None` where there is none.
pub fn read(reading: &mut Reading<'_>) -> Option<ArcState> {
    let text = reading.word(PLACE, "the size of the ARC of ZFS")?;
    let set = reading
        .number("/sys/module/zfs/parameters/zfs_arc_max", "the largest size of the ARC")
        .filter(|bytes| *bytes > 0);
    let of = |name: &str| value(&text, name);
    Some(ArcState {
        least_bytes: of("c_min"),
        most_bytes: of("c_max"),
        set_most_bytes: set,
        metadata_most_bytes: of("arc_meta_limit"),
        dnode_most_bytes: of("arc_dnode_limit"),
        usage: ArcUsage {
            size_bytes: of("size"),
            target_bytes: of("c"),
            metadata_bytes: of("arc_meta_used"),
            dnode_bytes: of("dnode_size"),
            second_level_bytes: of("l2_size"),
            second_level_header_bytes: of("l2_hdr_size"),
            throttled: of("memory_throttle_count"),
        },
    })
}

/// A line `name type value` of a kstat.
pub fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.nth(1)?.parse().ok())?
    })
}
