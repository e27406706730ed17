//! What is done to a file system before each trial that is measured: it is checked while nobody has
//! it mounted (fsck), and told to discard what it does not use (fstrim).
//!
//! Both find it as its disks hold it. It is unmounted for fstrim alone, too: a file system that
//! stays mounted remembers what it has discarded, and leaves that out the next time. The journal
//! needs no further line: that of the mount stands in it since the layout was made, and undo looks
//! whether it is mounted just then.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::step::{Does, Phase, Step, node, words};
use super::{MadeLayout, filesystem};
use crate::sys::signal::Stop;
use crate::sys::{Error, clock, command};
use facts::layout::filesystem::kind;
use facts::layout::{Layout, Times};

/// Checking a large file system takes hours; after a day it hangs.
const AT_MOST: Duration = Duration::from_secs(24 * 3600);
/// How long a file system that nobody of ours uses any more may stay busy: a child that was forked
/// a moment ago, or udev, holds it.
const BUSY_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What it came to.
#[derive(Debug, Default)]
pub struct Upkeep {
    /// [`Times::fsck_ns`], [`Times::fstrim_ns`] and [`Times::fstrim_bytes`]; no others.
    pub times: Times,
    /// Why it cannot discard, in the words of fstrim. It is mounted all the same.
    pub cannot: Option<Error>,
}

impl MadeLayout {
    /// Whether anything is to be done before each trial.
    pub fn has_upkeep(&self) -> bool {
        self.layout.fsck || self.layout.fstrim
    }

    /// Checks the file system and has it discard what it does not use, as the layout asks. Nothing
    /// of ours may be open on it.
    ///
    /// # Errors
    /// With the command that failed, also when the check found errors: then the layout is not
    /// mounted, or may not be used any more.
    pub fn keep_up(&self, tell: &mut dyn FnMut(&str), stop: &Stop) -> Result<Upkeep, Error> {
        let mut upkeep = Upkeep::default();
        for step in steps(&self.layout, &self.nodes, &self.mount_point) {
            let Does::Run(words) = &step.does else { continue };
            tell(&command::line(words));
            let begun_ns = clock::monotonic_ns();
            let said = match step.phase {
                Phase::Fsck => checked(words, stop).map(|()| String::new()),
                _ => patiently(words, stop),
            };
            let took_ns = clock::monotonic_ns() - begun_ns;
            match (step.phase, said) {
                (Phase::Fstrim, Err(error)) if error.errno == Some(libc::EOPNOTSUPP) => {
                    upkeep.cannot = Some(error.hint("leave fstrim out for this layout"));
                    continue;
                }
                (Phase::Fstrim, Ok(said)) => {
                    upkeep.times.fstrim_bytes = discarded_bytes(&said).unwrap_or(0);
                }
                (_, said) => said.map(|_| ())?,
            }
            step.phase.add(took_ns, &mut upkeep.times);
        }
        Ok(upkeep)
    }
}

/// What is done, in its order; nothing where the layout asks for none of it.
pub fn steps(layout: &Layout, nodes: &[PathBuf], at: &Path) -> Vec<Step> {
    if !layout.fsck && !layout.fstrim {
        return Vec::new();
    }
    let place = at.display().to_string();
    let mut steps = vec![Step::run(Phase::None, words(&["umount", &place]))];
    steps.push(Step::run(Phase::None, forget(layout, nodes)));
    if layout.fsck {
        steps.push(Step::run(Phase::Fsck, check(layout, nodes)));
    }
    let mount = filesystem::mount(layout, nodes, at);
    steps.push(Step { phase: Phase::None, acts: Vec::new(), ..mount });
    if layout.fstrim {
        steps.push(Step::run(Phase::Fstrim, words(&["fstrim", "-v", &place])));
    }
    steps
}

/// Drops what memory holds of the devices below it: the kernel keeps pages of one that somebody has
/// open, and we do, lest others take the disks.
fn forget(layout: &Layout, nodes: &[PathBuf]) -> Vec<String> {
    let mut command = words(&["blockdev", "--flushbufs"]);
    let below = layout.all_disks().map(node);
    for node in nodes.iter().map(|node| node.display().to_string()).chain(below) {
        if !command.contains(&node) {
            command.push(node);
        }
    }
    command
}

fn check(layout: &Layout, nodes: &[PathBuf]) -> Vec<String> {
    let known = kind(&layout.filesystem);
    let mut command = words(known.and_then(|kind| kind.check.ok()).unwrap_or_default());
    if let Some(journal) = &layout.journal {
        let option = if layout.filesystem == "xfs" { "-l" } else { "-j" };
        command.extend(words(&[option, &node(journal)]));
    }
    // It finds the other devices of btrfs by itself.
    command.extend(nodes.first().map(|node| node.display().to_string()));
    command
}

/// Runs a check, whose exit status tells what it found.
fn checked(words: &[String], stop: &Stop) -> Result<(), Error> {
    let answer = command::ask(words, AT_MOST, stop)?;
    match answer.status.success() {
        true => Ok(()),
        false => {
            let what = format!("the file system did not pass `{}`", command::line(words));
            Err(Error::new(what, answer.told()).hint("see what the disks said: dmesg"))
        }
    }
}

/// Runs a command, again for as long as it says that something is busy.
fn patiently(words: &[String], stop: &Stop) -> Result<String, Error> {
    let begun_ns = clock::monotonic_ns();
    loop {
        let result = command::run(words, AT_MOST, stop);
        let waited = Duration::from_nanos(clock::monotonic_ns() - begun_ns);
        match result {
            Err(error) if error.errno == Some(libc::EBUSY) && waited < BUSY_MAX => {
                std::thread::sleep(LOOK_EVERY);
            }
            result => return result,
        }
    }
}

/// What fstrim(8) of util-linux says that it discarded: `/mnt: 1 GiB (1073741824 bytes) trimmed`.
fn discarded_bytes(said: &str) -> Option<u64> {
    let (before, _) = said.split_once(" bytes) trimmed")?;
    before.rsplit_once('(')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::layout::testing::layout;

    fn shown(layout: &Layout, nodes: &[&str]) -> Vec<String> {
        assert_eq!(layout.check(), Ok(()), "{layout:?}");
        let nodes: Vec<PathBuf> = nodes.iter().map(PathBuf::from).collect();
        let steps = steps(layout, &nodes, Path::new("/run/brickyard-1"));
        assert!(steps.iter().all(|step| step.acts.is_empty()), "the mount is noted already");
        steps.iter().map(|step| step.shown(layout)).collect()
    }

    #[test]
    fn a_file_system_is_checked_unmounted_and_out_of_memory_and_discards_when_mounted_anew() {
        let plain = layout("md", "single", 1);
        assert!(shown(&plain, &["/dev/loop0"]).is_empty());
        let (unmount, mount) = ("umount /run/brickyard-1", "mount -t ext4 /dev/loop0");
        let flush = "blockdev --flushbufs /dev/loop0";
        let mount = format!("{mount} /run/brickyard-1");
        let both = Layout { fsck: true, fstrim: true, ..plain.clone() };
        let all = [unmount, flush, "e2fsck -f -n /dev/loop0", &mount, "fstrim -v /run/brickyard-1"];
        assert_eq!(shown(&both, &["/dev/loop0"]), all);
        let checked = Layout { fsck: true, ..plain.clone() };
        assert_eq!(shown(&checked, &["/dev/loop0"]), all[..4]);
        let trimmed = Layout { fstrim: true, ..plain };
        assert_eq!(shown(&trimmed, &["/dev/loop0"]), [unmount, flush, &mount, all[4]]);
    }

    #[test]
    fn each_kind_has_its_check_which_finds_what_lies_on_other_disks() {
        let with = |kind: &str, journal: bool| {
            let journal = journal.then(|| layout("md", "raid0", 9).disks.remove(8));
            let plain = layout("md", "single", 1);
            let layout = Layout { filesystem: kind.into(), fsck: true, journal, ..plain };
            shown(&layout, &["/dev/loop0"])[1..3].join("; ")
        };
        let flush = "blockdev --flushbufs /dev/loop0";
        for (kind, check) in [
            ("ext2", "e2fsck -f -n"),
            ("ext3", "e2fsck -f -n"),
            ("xfs", "xfs_repair -n"),
            ("btrfs", "btrfs check --readonly"),
            ("jfs", "fsck.jfs -n -f"),
            ("f2fs", "fsck.f2fs --dry-run"),
            ("bcachefs", "bcachefs fsck -n"),
        ] {
            assert_eq!(with(kind, false), format!("{flush}; {check} /dev/loop0"));
        }
        let flush = format!("{flush} /dev/loop8");
        assert_eq!(with("xfs", true), format!("{flush}; xfs_repair -n -l /dev/loop8 /dev/loop0"));
        assert_eq!(with("ext4", true), format!("{flush}; e2fsck -f -n -j /dev/loop8 /dev/loop0"));
        let array = Layout { fsck: true, ..layout("md", "raid1", 2) };
        let on_array = shown(&array, &["/dev/md100"])[1..3].join("; ");
        let nodes = "/dev/md100 /dev/loop0 /dev/loop1";
        assert_eq!(on_array, format!("blockdev --flushbufs {nodes}; e2fsck -f -n /dev/md100"));
    }

    /// e2fsck tells its version on standard error whatever it finds, and what it finds on the other
    /// output: a check that failed would have told its version.
    #[test]
    fn what_a_check_found_is_told_and_not_only_its_version() {
        let script = "echo e2fsck 1.47.0 >&2; echo 'Free blocks count wrong'; exit 4";
        let error = checked(&words(&["sh", "-c", script]), &Stop::new()).unwrap_err();
        assert_eq!(error.why, "exit status 4: e2fsck 1.47.0; Free blocks count wrong");
        assert!(error.what.starts_with("the file system did not pass `sh -c"), "{error}");
        assert!(checked(&words(&["true"]), &Stop::new()).is_ok());
    }

    #[test]
    fn what_was_discarded_is_read_and_a_cut_answer_is_not() {
        let said = "/run/brickyard-1: 472.9 MiB (495833088 bytes) trimmed\n";
        assert_eq!(discarded_bytes(said), Some(495_833_088));
        assert_eq!(discarded_bytes("/a (b): 0 B (0 bytes) trimmed on /dev/loop0"), Some(0));
        for end in 0..said.len() - 2 {
            assert_eq!(discarded_bytes(&said[..end]), None, "{end}");
        }
    }
}
