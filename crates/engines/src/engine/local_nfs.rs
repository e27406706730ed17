//! What lies behind the directories of a trial that this machine serves to itself by NFS, or that a
//! program mirrors through FUSE.
//!
//! Then the evidence of a disk's trial is there as well: which devices, what the server's threads
//! had them read, which limits are set for these, what of the mirrored files is in memory. Of other
//! directories this adds nothing.

use std::path::{Path, PathBuf};

use experiment::measurement::Evidence;
use facts::counters::bounds::Bound;
use facts::inventory::{Ceiling, Target};
use host::counters::{Probe, bounds, nfs_server};
use host::inventory::served;
use host::sys::Host;

/// The directories behind the mounts of a trial: those that this machine serves to itself by NFS,
/// and those that a program mirrors through FUSE. None when another machine serves them, or
/// nobody.
#[derive(Debug)]
pub struct LocalNfsBackend {
    served: Vec<Target>,
    mirrored: Vec<Target>,
}

impl LocalNfsBackend {
    /// Looks for them.
    pub fn for_targets(host: &Host, targets: &[Target]) -> LocalNfsBackend {
        LocalNfsBackend {
            served: served::behind(host, targets),
            mirrored: served::mirrored(host, targets),
        }
    }

    /// Adds the names of their devices to those that are watched.
    pub fn watch(&self, watched: &mut Vec<String>) {
        let all = self.served.iter().chain(&self.mirrored);
        watched.extend(all.flat_map(Target::device_names));
        watched.sort();
        watched.dedup();
    }

    /// Has the server counted as well.
    pub fn probe(&self, host: &Host, probe: Probe) -> Probe {
        let Some(on) = self.evidence(Evidence::default()).served else { return probe };
        probe.with_server(host, &on.devices)
    }

    /// What is set for the server's threads on its devices.
    pub fn bounds(&self, host: &Host) -> Vec<Bound> {
        let pid = if self.served.is_empty() { None } else { nfs_server::pid(host) };
        pid.map_or(Vec::new(), |pid| bounds::on(host, pid, &self.served))
    }

    /// What is known of a trial beforehand, with the server's side.
    pub fn evidence(&self, evidence: Evidence) -> Evidence {
        evidence.served_by(&self.served).mirrored_from(&self.mirrored)
    }

    /// Where the program that mirrors the directories `work` has these files; none where nobody
    /// does, or it is not known of all.
    pub fn mirrored(&self, work: &[PathBuf], files: &[PathBuf]) -> Vec<PathBuf> {
        let place = |file: &PathBuf| {
            let of = |(work, there): (&PathBuf, &Target)| {
                Some(Path::new(&there.directory).join(file.strip_prefix(work).ok()?))
            };
            work.iter().zip(&self.mirrored).find_map(of)
        };
        let all: Option<Vec<PathBuf>> = files.iter().map(place).collect();
        all.unwrap_or_default()
    }
}

/// What TCP can carry between this machine and the servers of these mounts, by the interface on the
/// way; `None` when they are several ways, or nobody knows.
pub fn wire(host: &Host, targets: &[Target]) -> Option<Ceiling> {
    let mut names: Vec<String> = Vec::new();
    for target in targets.iter().filter(|target| target.filesystem.starts_with("nfs")) {
        let mut options = target.mount_options.split(',');
        let server = options.find_map(|option| option.strip_prefix("addr="))?.parse().ok()?;
        let name = host::sys::link::towards(server)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let [name] = &names[..] else { return None };
    let capacity = host::inventory::server::interface::capacity(host, name)?;
    Some(Ceiling {
        bytes_per_s: Some(capacity.bytes_per_s),
        why: format!("{name} ({})", capacity.derivation),
        ..Ceiling::default()
    })
}
