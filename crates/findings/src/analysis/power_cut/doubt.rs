//! Commits that return sooner than the medium can have taken them: a suspicion, never a fact.

use super::verdict::{Disk, Ground, Storage};

/// The fastest disks that were made: of one whose speed is not known, half a turn is no shorter.
const RPM_MOST: u64 = 15_000;

/// A flush that costs less than this share of the write before it costs nothing.
const COSTS_NOTHING: f64 = 0.5;

/// What was measured of commits: writes that return when they are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Commits {
    /// Median of one, ns.
    pub commit_ns: f64,
    /// Median of a direct write of that size that nothing flushed, one at a time; ns.
    pub write_ns: Option<f64>,
}

/// Why flushes look as if nothing honoured them.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// Half a turn of this disk takes so many ns.
    HalfTurn(String, f64),
    /// A write alone takes so many ns, on a drive that has nothing to protect it.
    CostsNothing(String, f64),
}

impl Doubt {
    /// What the commits are held against, ns.
    fn ns(&self) -> f64 {
        let (Doubt::HalfTurn(_, ns) | Doubt::CostsNothing(_, ns)) = self;
        *ns
    }
}

/// Whether commits are faster than the disks below can be without a cache that outlives a cut.
pub fn doubt(storage: &Storage, commits: &Commits) -> Option<Doubt> {
    let Ground::Disks(disks) = &storage.ground else { return None };
    // One of several disks that is fast enough may have taken all that was committed, and what is
    // hidden or protected may well be so fast.
    let is_open = |disk: &Disk| disk.hidden.is_none() && disk.protected != Some(true);
    if !disks.iter().all(is_open) {
        return None;
    }
    let doubts: Option<Vec<Doubt>> = disks.iter().map(|disk| of_disk(disk, commits)).collect();
    doubts?.into_iter().min_by(|one, other| one.ns().total_cmp(&other.ns()))
}

fn of_disk(disk: &Disk, commits: &Commits) -> Option<Doubt> {
    if disk.rotational? {
        let rpm = disk.rpm.filter(|rpm| *rpm > 1).unwrap_or(RPM_MOST);
        let half_turn_ns = 30e9 / rpm as f64;
        let faster = commits.commit_ns < half_turn_ns;
        return faster.then(|| Doubt::HalfTurn(disk.name.clone(), half_turn_ns));
    }
    let write_ns = commits.write_ns.filter(|_| disk.protected == Some(false))?;
    let nothing = commits.commit_ns < (1.0 + COSTS_NOTHING) * write_ns;
    nothing.then(|| Doubt::CostsNothing(disk.name.clone(), write_ns))
}
