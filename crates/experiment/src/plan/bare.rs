//! (pure) Plans whose target is bare devices that are only read: what of them is refused by name,
//! and how much of a device is used.

use super::design::Plan;
use super::layouts::{is_layout, is_open};
use super::load::Load;
use super::refused::Refused;
use crate::knob::{self, Access, Knob, engines};
use base::value::Value;

/// Why one level of a knob cannot be had on a device, and what can.
struct Allowed {
    knob: &'static str,
    /// Levels that can.
    allows: fn(&Value) -> bool,
    why: &'static str,
    hint: &'static str,
}

/// Knobs of loads that only read, of which a device has not every level.
const ALLOWED: &[Allowed] = &[
    Allowed {
        knob: knob::FILES.name,
        allows: |level| *level == Value::Count(1),
        why: "each stream reads one part of one device",
        hint: "leave it out; more streams read more parts",
    },
    Allowed {
        knob: knob::IO_ENGINE.name,
        allows: |level| !matches!(level, Value::Word(word) if word == "stdio" || word == "putc"),
        why: "the C library goes through a file from its start to its end",
        hint: "choose uring, aio, sync or mmap",
    },
    Allowed {
        knob: knob::VERIFY.name,
        allows: |level| matches!(level, Value::Word(word) if word == "off"),
        why: "what is checked must have been written by the same campaign",
        hint: "leave it out; `brickyard verify` reads what exists against sums",
    },
    Allowed {
        knob: knob::CLOSE_IN_TIME.name,
        allows: |level| *level == Value::Flag(false),
        why: "a device is held open as long as the campaign runs",
        hint: "leave it out",
    },
    Allowed {
        knob: knob::FRESH_FILE.name,
        allows: |level| *level == Value::Flag(false),
        why: "nothing is made on it",
        hint: "leave it out",
    },
];

impl Plan {
    /// Whether all of it only reads, and can do so on bare devices.
    ///
    /// # Errors
    /// For the first workload that would write, make something, or run something else.
    pub(super) fn check_read_only(&self) -> Result<(), Refused> {
        self.loads.iter().try_for_each(check)
    }

    /// Lets workloads use all of devices of up to `bytes` where nobody says how much: a size that a
    /// plan has by default is that of files which are laid out.
    pub fn use_whole_devices(&mut self, bytes: u64) {
        for load in self.loads.iter_mut().filter(|load| !load.sized) {
            load.settings.set(knob::FILE_SIZE, bytes);
        }
    }
}

fn check(load: &Load) -> Result<(), Refused> {
    let (name, engine) = (&load.name, load.settings.engine());
    if engine != engines::FILE.name {
        return Err(Refused {
            why: format!(
                "the workload `{name}` runs on the engine `{engine}`, and read-only devices are \
                 read by the engine `file` alone"
            ),
            hint: "take it out of the plan, or measure it in a directory (--dir)".to_owned(),
        });
    }
    if let Some(level) = levels(load, knob::ACCESS.name).find(|level| !only_reads(load, level)) {
        return Err(Refused {
            why: format!(
                "the workload `{name}` writes (access={level}), and its devices are only read"
            ),
            hint: reading(),
        });
    }
    if let Some(knob) = knob::KNOBS.iter().find(|knob| makes_layouts(load, knob)) {
        return Err(Refused {
            why: format!(
                "`{}` is a setting of a file system that is made, and the devices of this plan \
                 are only read",
                knob.name
            ),
            hint: "leave it out, or name disks that may be destroyed as `devices` (--device)"
                .to_owned(),
        });
    }
    for only in ALLOWED {
        if let Some(level) = levels(load, only.knob).find(|level| !(only.allows)(level)) {
            return Err(Refused {
                why: format!(
                    "{}={level} cannot be had on a read-only device: {}",
                    only.knob, only.why
                ),
                hint: only.hint.to_owned(),
            });
        }
    }
    Ok(())
}

/// The accesses that only read, as a hint.
fn reading() -> String {
    let reads = Access::ALL.iter().filter(|access| !access.writes()).map(|access| access.name());
    let reads: Vec<&str> = reads.collect();
    format!("take it out of the plan, or choose an access that only reads: {}", reads.join(", "))
}

/// All levels that a knob has in a workload.
fn levels<'a>(load: &'a Load, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let factor = load.factors.iter().find(|factor| factor.knob.name == name);
    let levels = factor.map_or(&[][..], |factor| &factor.levels[..]);
    let own = load.settings.named(name).filter(|_| factor.is_none());
    levels.iter().chain(own)
}

fn only_reads(load: &Load, access: &Value) -> bool {
    let mut settings = load.settings.clone();
    settings.set_named(knob::ACCESS.name, access.clone());
    settings.only_reads()
}

fn makes_layouts(load: &Load, knob: &Knob) -> bool {
    let is_factor = load.factors.iter().any(|factor| factor.knob.name == knob.name);
    let is_set = load.settings.named(knob.name).is_some() && !is_open(&load.settings, knob.name);
    is_layout(knob) && (is_factor || is_set)
}

#[cfg(test)]
mod tests {
    use super::super::expand::of_workload;
    use super::super::{builtin, file};
    use super::*;
    use crate::workload;

    fn on_device(mut plan: Plan, typed: &[&str]) -> Result<Plan, Refused> {
        let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
        plan.read_only = vec!["serial:1".to_owned()];
        plan.vary(&typed)?;
        plan.check_target().map(|()| plan)
    }

    fn one(workload: &str, engine: &str, typed: &[&str]) -> Result<Plan, Refused> {
        on_device(of_workload(engine, workload::find(workload).unwrap()), typed)
    }

    /// Nothing that writes may come as far as opening a device.
    #[test]
    fn every_workload_that_may_write_is_refused_by_name_and_every_other_runs() {
        let mut read = Vec::new();
        for found in workload::WORKLOADS {
            for engine in found.engines {
                let plan = of_workload(engine, found);
                let all = plan.cells().all(|cell| plan.settings(&cell).only_reads());
                let may = *engine == "file" && all;
                match on_device(plan, &[]) {
                    Ok(_) if may => read.push(found.name),
                    Ok(_) => panic!("{} on {engine}", found.name),
                    Err(refused) if refused.why.contains("cannot be had on a read-only") => {}
                    Err(refused) => {
                        assert!(!may, "{} on {engine}: {refused}", found.name);
                        assert!(refused.why.contains(&format!("`{}`", found.name)), "{refused}");
                    }
                }
            }
        }
        assert!(["sequential-read", "random-read"].iter().all(|it| read.contains(it)), "{read:?}");
        for &access in Access::ALL {
            let typed = format!("access={}", access.name());
            let refused = one("sequential-read", "file", &[&typed]);
            assert_eq!(refused.is_err(), access.writes(), "{typed}");
        }
        let some = one("random-read", "file", &["access=random-read,random-write"]).unwrap_err();
        assert!(some.why.contains("`random-read` writes (access=random-write)"), "{some}");
        assert!(some.hint.contains("read, random-read, read-backward, read-strided"), "{some:?}");
    }

    #[test]
    fn what_cannot_be_done_on_a_bare_device_is_refused_with_what_can() {
        for (typed, why, hint) in [
            ("filesystem=ext4", "`filesystem` is a setting of a file system", "--device"),
            ("precondition=fill", "`precondition` is a setting", "--device"),
            ("raid=raid0,raid5", "`raid` is a setting", "--device"),
            ("files=1,4", "files=4 cannot be had", "more streams"),
            ("io-engine=putc", "io-engine=putc cannot be had", "uring, aio, sync or mmap"),
            ("verify=crc32c", "verify=crc32c cannot be had", "brickyard verify"),
            ("close-in-time=true", "held open", "leave it out"),
            ("fresh-file=true", "nothing is made on it", "leave it out"),
        ] {
            let refused = one("sequential-read", "file", &[typed]).unwrap_err();
            assert!(refused.why.contains(why), "{typed}: {refused}");
            assert!(refused.hint.contains(hint), "{typed}: {refused:?}");
        }
        for typed in ["io-engine=uring,aio,sync,mmap", "streams=1,8", "read-ahead=1MiB"] {
            assert!(one("sequential-read", "file", &[typed]).is_ok(), "{typed}");
        }
        let streams = file::read(builtin::find("streams").unwrap().text, "streams", None).unwrap();
        let refused = on_device(streams, &[]).unwrap_err();
        assert!(refused.why.contains("`sequential-write` writes"), "{refused}");
    }

    /// A disk whose first GiB is read seeks no further than that.
    #[test]
    fn all_of_a_device_is_used_unless_somebody_says_how_much() {
        let size = |plan: &Plan| -> Vec<u64> {
            let cells = plan.cells();
            cells.map(|cell| plan.settings(&cell).get(knob::FILE_SIZE)).collect()
        };
        let whole = |mut plan: Plan| {
            plan.use_whole_devices(4 << 40);
            size(&plan)
        };
        assert_eq!(whole(one("random-read", "file", &[]).unwrap()), [4 << 40]);
        assert_eq!(whole(one("random-read", "file", &["streams=1,8"]).unwrap()), [4 << 40; 2]);
        let typed = one("random-read", "file", &["file-size=1GiB"]).unwrap();
        assert_eq!(whole(typed), [1 << 30], "though it is the default");
        let typed = one("random-read", "file", &["file-size=1GiB,2GiB"]).unwrap();
        assert_eq!(whole(typed), [1 << 30, 2 << 30]);
        let text = "[plan]\nname = \"p\"\n[target]\nread-only-devices = [\"serial:1\"]\n";
        let read = |more: &str| file::read(&format!("{text}{more}"), "p.toml", None).unwrap();
        let both = read(
            "[[workload]]\nuse = \"sequential-read\"\nfile-size = \"3GiB\"\n\
             [[workload]]\nuse = \"random-read\"\n",
        );
        assert_eq!(both.read_only, ["serial:1"]);
        assert_eq!(whole(both), [3 << 30, 4 << 40]);
        let varied = read(
            "[factors]\nfile-size = [\"1GiB\", \"2GiB\"]\n[[workload]]\nuse = \"random-read\"\n",
        );
        assert_eq!(whole(varied), [1 << 30, 2 << 30]);
    }
}
