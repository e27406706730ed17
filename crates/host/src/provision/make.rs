//! Makes a layout step by step: noted before, looked at again, done, timed.

use crate::journal::identity;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::step::{self, Does, LayoutIds, Step};
use super::{MadeLayout, Progress, array, lacks, pool, precondition, steps};
use crate::journal::{self, Journal, Line, UndoOutcome};
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, block, clock, command};
use facts::layout::{Layout, Times, Volumes};

/// mkfs of a large array, with all its inode tables, takes minutes; a day means that it hangs.
const AT_MOST: Duration = Duration::from_secs(24 * 3600);
/// How long udev is waited for, and how often it is looked at.
const UDEV_MAX: Duration = Duration::from_secs(120);
const UDEV_EVERY: Duration = Duration::from_millis(20);

/// Makes and mounts a layout; each act is in the journal before it is done. `at` is a directory
/// that is not there yet, in one that is; a part of its path begins with `brickyard`, since undo
/// unmounts nothing else. On an error, and when it is asked to `stop`, everything made so far is
/// unmade.
///
/// # Errors
/// When it makes no sense, this machine lacks something, a disk is not what it was, a step fails,
/// or it was stopped.
pub fn make(
    host: &Host,
    layout: &Layout,
    journal: &mut Journal,
    at: &Path,
    tell: &mut dyn FnMut(&str),
    stop: &Stop,
) -> Result<MadeLayout, Error> {
    let at = check(host, layout, journal, at)?;
    let ids = choose(host, layout)?;
    let since = journal.position();
    let mut maker = Maker {
        host,
        layout,
        boot: journal::boot(host)?,
        salt: ids.salt(),
        times: Times::default(),
        notes: Vec::new(),
        progress: Progress::new(tell, stop),
    };
    let known = lacks::is_registered(host, &layout.filesystem);
    let (steps, nodes) = steps::all(layout, &ids, &at);
    let mut made = maker.modules();
    for step in &steps {
        made = made.and_then(|()| maker.step(step, journal));
    }
    let point = at.display().to_string();
    let made = made.and_then(|()| match journal::mounted_at(host, &point) {
        Some(_) => Ok(()),
        None => Err(Error::new(format!("cannot mount at {point}"), "nothing is mounted there")),
    });
    if let Err(error) = made {
        let left = journal.undo_layout(host, since).into_iter().find(UndoOutcome::is_left);
        return Err(match left {
            Some(left) => error.hint(format!("{left}: brickyard undo, as root")),
            None => error,
        });
    }
    if !known && lacks::is_registered(host, &layout.filesystem) {
        maker.loaded(&layout.filesystem);
    }
    let (times, notes) = (maker.times, maker.notes);
    let layout = layout.clone();
    Ok(MadeLayout { mount_point: at, times, notes, layout, nodes, group: ids.group, since })
}

/// Everything that can be said before anything is touched; gives `at` without links.
fn check(host: &Host, layout: &Layout, journal: &Journal, at: &Path) -> Result<PathBuf, Error> {
    let what = || format!("cannot make {}", layout.brief());
    layout.check().map_err(|senseless| Error::new(what(), senseless.to_string()))?;
    if let Some(lacks) = super::lacks(layout, host) {
        return Err(Error::new(what(), lacks));
    }
    let place = || format!("cannot mount at {}", at.display());
    let (parent, name) = (at.parent(), at.file_name());
    let (Some(parent), Some(name), true) = (parent, name, at.is_absolute()) else {
        return Err(Error::new(place(), "it is not the absolute path of a directory"));
    };
    let real = parent.canonicalize().map_err(|error| Error::new(place(), error))?.join(name);
    let ours = |part: std::path::Component<'_>| {
        part.as_os_str().to_str().is_some_and(|part| part.starts_with("brickyard"))
    };
    if real.to_str().is_none() || !real.components().any(ours) {
        let why = "undo unmounts only below a directory whose name begins with brickyard";
        return Err(Error::new(place(), why));
    }
    if real.symlink_metadata().is_ok() {
        let hint = format!("brickyard undo; or rmdir {}", real.display());
        return Err(Error::new(place(), "it is there already").hint(hint));
    }
    let busy = |disk: &&facts::inventory::disk::Disk| {
        journal.acts().iter().any(|act| act.disks().iter().any(|held| held.name == disk.name))
    };
    match layout.all_disks().find(busy) {
        Some(disk) => Err(Error::new(
            what(),
            format!("what was made on {} before could not be undone", disk.named),
        )
        .hint("brickyard undo, as root")),
        None => Ok(real),
    }
}

/// A random UUID, by the kernel; see random(4).
fn uuid(host: &Host) -> Result<String, Error> {
    Ok(host.read("/proc/sys/kernel/random/uuid")?.trim().to_owned())
}

fn choose(host: &Host, layout: &Layout) -> Result<LayoutIds, Error> {
    let file_system = uuid(host)?;
    let short: String = file_system.chars().filter(char::is_ascii_hexdigit).take(6).collect();
    let volume = || {
        // LVM cuts 32 characters into 6-4-4-4-4-4-6.
        let bare: String = uuid(host)?.chars().filter(char::is_ascii_hexdigit).collect();
        let cuts = [0, 6, 10, 14, 18, 22, 26, 32];
        let parts = cuts.windows(2).filter_map(|cut| bare.get(cut[0]..cut[1]));
        Ok(parts.collect::<Vec<&str>>().join("-"))
    };
    Ok(LayoutIds {
        label: format!("brickyard-{short}"),
        group: format!("brickyard_{short}"),
        uuid: file_system,
        arrays: array::free_numbers(host),
        array_uuids: [uuid(host)?, uuid(host)?, uuid(host)?],
        journal_uuid: uuid(host)?,
        volume_uuids: layout.disks.iter().map(|_| volume()).collect::<Result<_, Error>>()?,
    })
}

impl LayoutIds {
    /// Tells the bytes of one filling from those of another.
    fn salt(&self) -> u64 {
        let digits = self.uuid.bytes().filter_map(|byte| char::from(byte).to_digit(16));
        digits.fold(0, |salt, digit| (salt << 4) ^ u64::from(digit) ^ (salt >> 60))
    }
}

struct Maker<'a> {
    host: &'a Host,
    layout: &'a Layout,
    boot: String,
    salt: u64,
    times: Times,
    notes: Vec<(String, String)>,
    progress: Progress<'a>,
}

impl Maker<'_> {
    /// mdadm needs the module before it can make a node; all others come by themselves.
    fn modules(&mut self) -> Result<(), Error> {
        if self.layout.volumes() == Volumes::Md && !self.host.exists("/proc/mdstat") {
            command::run(&step::words(&["modprobe", "md_mod"]), AT_MOST, &Stop::new())?;
            self.loaded("md_mod");
        }
        Ok(())
    }

    fn loaded(&mut self, module: &str) {
        let text = format!("The kernel's module {module} was loaded for this trial, and stays.");
        self.notes.push(("module-loaded".to_owned(), text));
    }

    fn step(&mut self, step: &Step, journal: &mut Journal) -> Result<(), Error> {
        let shown = step.shown(self.layout);
        self.progress.check(&format!("cannot go on with `{shown}`"))?;
        for act in &step.acts {
            journal.note(Line::Layout { act: act.clone(), boot: self.boot.clone() })?;
        }
        // A disk may have been taken out, and another have come, since the last look.
        self.still_there(&shown)?;
        self.progress.say(&shown);
        let begun_ns = clock::monotonic_ns();
        self.run(&step.does)?;
        let took_ns = clock::monotonic_ns() - begun_ns;
        step.phase.add(took_ns, &mut self.times);
        Ok(())
    }

    /// udev keeps a file while events wait for it (udevadm(8), settle). One that never ends them
    /// is another's fault, and what is made next says so.
    fn until_udev_is_through(&mut self) -> Result<(), Error> {
        let begun_ns = clock::monotonic_ns();
        while self.host.exists("/run/udev/queue") {
            self.progress.check("cannot wait for udev")?;
            if Duration::from_nanos(clock::monotonic_ns() - begun_ns) > UDEV_MAX {
                break;
            }
            std::thread::sleep(UDEV_EVERY);
        }
        Ok(())
    }

    fn still_there(&self, shown: &str) -> Result<(), Error> {
        let lost = self.layout.all_disks().find(|disk| {
            let number = disk.identity.number.as_deref().unwrap_or_default();
            !identity::still_there(&disk.identity, self.host) || !block::is(&disk.node, number)
        });
        match lost {
            None => Ok(()),
            Some(disk) => {
                let what = format!("cannot run `{shown}`");
                let why = format!("{} is not the disk {} any more", disk.name, disk.named);
                Err(Error::new(what, why).hint("see what has changed: lsblk; dmesg"))
            }
        }
    }

    fn run(&mut self, does: &Does) -> Result<(), Error> {
        match does {
            Does::Run(words) => {
                let run = |stop| command::run(words, AT_MOST, stop).map(|_| ());
                let ended = run(self.progress.stop);
                if !ended.as_ref().is_err_and(pool::udev_was_late) {
                    return ended;
                }
                self.progress.say("udev was late; once more");
                self.until_udev_is_through()?;
                run(self.progress.stop)
            }
            Does::Fill(passes) => {
                precondition::fill(&self.layout.disks, *passes, self.salt, &mut self.progress)
            }
            Does::Settle(name, goal) => {
                let noted = array::settle(self.host, name, *goal, &mut self.progress)?;
                self.notes.extend(noted);
                Ok(())
            }
            Does::Flush(nodes) => nodes.iter().try_for_each(|node| block::flush(node)),
            Does::Udev => self.until_udev_is_through(),
            Does::Directory(path) => {
                self.host.make_directory(path)?;
                let mode = rustix::fs::Mode::RWXU;
                rustix::fs::chmod(self.host.path(path), mode).map_err(|error| {
                    let error = std::io::Error::from(error);
                    Error::new(format!("cannot shut {} to others", path.display()), error)
                })
            }
        }
    }
}
