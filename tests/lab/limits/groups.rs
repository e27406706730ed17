//! Control groups of version 1 that a test makes, with limits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const ROOT: &str = "/sys/fs/cgroup";

/// Whether groups with limits can be made here.
pub fn usable() -> bool {
    let files = ["blkio/blkio.throttle.read_bps_device", "cpu/cpu.cfs_quota_us"];
    // The root group of `cpu` has no quota; whether its children have is seen in one of them.
    let first = Path::new(ROOT).join(files[0]).exists();
    first && Group::new("cpu", 0).folder.join("cpu.cfs_quota_us").exists()
}

/// A group; gone when dropped.
pub struct Group {
    /// Where.
    pub folder: PathBuf,
}

impl Group {
    /// A group of that controller.
    pub fn new(controller: &str, number: u64) -> Group {
        let name = format!("brickyard-lab-{}-{number}", std::process::id());
        let folder = Path::new(ROOT).join(controller).join(name);
        let _ = std::fs::create_dir(&folder);
        Group { folder }
    }

    /// Limits a device, given by its path: `read_bps` or `read_iops`; 0 lifts it.
    pub fn limit(&self, device: &str, what: &str, most: u64) {
        let output = Command::new("lsblk").args(["-dno", "MAJ:MIN", device]).output();
        let output = output.expect("lsblk can be started");
        let number = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let file = self.folder.join(format!("blkio.throttle.{what}_device"));
        std::fs::write(file, format!("{number} {most}")).expect("a limit");
    }

    /// With the largest weight that there is.
    pub fn foremost(&self) {
        std::fs::write(self.folder.join("cpu.shares"), "262144").expect("a weight");
    }

    /// So many thousandths of a CPU; `None` lifts it.
    pub fn quota(&self, thousandths: Option<u64>) {
        let quota = thousandths.map_or("-1".to_owned(), |most| (most * 100).to_string());
        std::fs::write(self.folder.join("cpu.cfs_quota_us"), quota).expect("a quota");
    }
}

/// This process and all that it starts come before everything else on the machine, until dropped:
/// what others compile meanwhile is a limit too, and none that was planted.
pub struct Foremost(Group);

impl Foremost {
    /// A group with the largest weight.
    pub fn new() -> Foremost {
        let group = Group::new("cpu", u64::MAX);
        group.foremost();
        Foremost::move_to(&group.folder);
        Foremost(group)
    }

    fn move_to(folder: &Path) {
        let id = std::process::id().to_string();
        std::fs::write(folder.join("cgroup.procs"), id).expect("this process may be moved");
    }
}

impl Drop for Foremost {
    fn drop(&mut self) {
        Foremost::move_to(&Path::new(ROOT).join("cpu"));
        // Whatever else is still in it.
        let left = std::fs::read_to_string(self.0.folder.join("cgroup.procs")).unwrap_or_default();
        for process in left.lines() {
            let _ = std::fs::write(Path::new(ROOT).join("cpu/cgroup.procs"), process);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..40 {
            if std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        eprintln!("{} is still there", self.folder.display());
    }
}
