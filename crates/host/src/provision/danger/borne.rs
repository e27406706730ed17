//! What a disk may bear that speaks against writing on it: partitions, signatures, or bytes that
//! nobody knows. All that `--wipe` allows.

use super::DangerReason;
use super::scene::Seen;

pub fn unreadable(seen: &Seen<'_>) -> Option<DangerReason> {
    let error = seen.bearing.as_ref().err()?;
    let hint = error.hint.clone().unwrap_or_else(|| "run as root, on a disk in health".to_owned());
    DangerReason::hint(format!("what it bears cannot be found out: {error}"), hint)
}

/// Another host may have it mounted, which nothing here can see.
pub fn network_disk(seen: &Seen<'_>) -> Option<DangerReason> {
    let transport = crate::inventory::transport_of(seen.scene.host, &seen.disk.name);
    if !facts::inventory::is_wire(&transport) {
        return None;
    }
    DangerReason::new(format!(
        "it comes over a wire ({transport}): another machine may use it, unseen from here"
    ))
}

pub fn partitions(seen: &Seen<'_>) -> Option<DangerReason> {
    let partitions = &seen.names[1..];
    (!partitions.is_empty()).then_some(())?;
    DangerReason::new(format!("it has the partitions {}", partitions.join(", ")))
}

pub fn partition_table(seen: &Seen<'_>) -> Option<DangerReason> {
    let table = seen.bearing.as_ref().ok()?.tag("ID_PART_TABLE_TYPE")?;
    DangerReason::new(format!("it bears a partition table ({table})"))
}

pub fn ambiguous(seen: &Seen<'_>) -> Option<DangerReason> {
    let bearing = seen.bearing.as_ref().ok()?;
    bearing.tag("AMBIVALENT")?;
    let said = bearing.tag("ID_FS_AMBIVALENT").unwrap_or("blkid does not say which");
    DangerReason::new(format!("it bears more than one signature: {said}"))
}

/// What a signature stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SignatureOwner {
    Md,
    Card,
    Lvm,
    Zfs,
    Bcache,
    Encrypted,
    Other,
}

/// As libblkid names them (its superblocks.c).
fn mark(kind: &str) -> SignatureOwner {
    match kind {
        "linux_raid_member" => SignatureOwner::Md,
        "LVM1_member" | "LVM2_member" => SignatureOwner::Lvm,
        "zfs_member" => SignatureOwner::Zfs,
        "bcache" => SignatureOwner::Bcache,
        "crypto_LUKS" | "BitLocker" | "cs_fvault2" => SignatureOwner::Encrypted,
        // ddf, isw, lsi_mega, via, silicon_medley, nvidia, promise, highpoint, adaptec, jmicron.
        _ if kind.ends_with("_raid_member") => SignatureOwner::Card,
        _ => SignatureOwner::Other,
    }
}

fn marked(seen: &Seen<'_>, wanted: SignatureOwner) -> Option<DangerReason> {
    let bearing = seen.bearing.as_ref().ok()?;
    let kind = bearing.kind().filter(|kind| mark(kind) == wanted)?;
    let id = bearing.tag("ID_FS_LABEL").or(bearing.tag("ID_FS_UUID"));
    DangerReason::new(match id {
        Some(id) => format!("it bears {kind} ({id})"),
        None => format!("it bears {kind}"),
    })
}

pub fn raid_member(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Md)
}

pub fn raid_card(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Card)
}

pub fn lvm_member(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Lvm)
}

pub fn zfs_member(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Zfs)
}

pub fn bcache_member(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Bcache)
}

pub fn encrypted(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Encrypted)
}

pub fn signature(seen: &Seen<'_>) -> Option<DangerReason> {
    marked(seen, SignatureOwner::Other)
}

/// Databases, virtual machines and encryption without a header write on raw disks.
pub fn data(seen: &Seen<'_>) -> Option<DangerReason> {
    let bearing = seen.bearing.as_ref().ok()?;
    if !bearing.tags.is_empty() || seen.names.len() > 1 {
        return None;
    }
    let at = bearing.data_at?;
    DangerReason::new(format!(
        "it bears no signature, but bytes that are not zero (the first at {at})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_cards_are_told_from_marks_of_md() {
        assert!(
            mark("linux_raid_member") == SignatureOwner::Md
                && mark("isw_raid_member") == SignatureOwner::Card
        );
        assert!(
            mark("ddf_raid_member") == SignatureOwner::Card && mark("xfs") == SignatureOwner::Other
        );
    }
}
