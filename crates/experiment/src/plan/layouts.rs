//! (pure) What a cell's settings make of a plan's disks, and which cells make no sense.
//!
//! Sense is a matter of how many disks there are, not of which: a plan has the same trials on every
//! machine. Whether tools are there, and what is made of real disks, is for others to say.

use std::path::PathBuf;

use super::load::Load;
use crate::knob::typed::{OrAsIs, Word};
use crate::knob::{self, Knob, Scope, Settings};
use base::value::Value;
use facts::identity::Identity;
use facts::inventory::disk::Disk;
use facts::layout::Layout;

/// The only directory of trials on a plan's disks: wherever the layout of the trial is mounted.
pub const TARGET: &str = "target";

/// Size of the disks of which sense is asked: one that every file system and array takes.
const NOMINAL_BYTES: u64 = 1 << 40;

/// What is made where nothing is said, besides what depends on others: see [`resolve`].
const DEFAULTS: [(&str, &str); 5] = [
    ("raid", "single"),
    ("journal", "internal"),
    ("array-state", "clean"),
    ("snapshot", "none"),
    ("precondition", "none"),
];

/// Whether `knob` says what lies under the files.
pub fn is_layout(knob: &Knob) -> bool {
    knob.scope == Scope::Layout
}

/// Knobs that [`resolve`] fills in by what others are, and which those are.
pub const FILLED_IN: [(&str, &[&str]); 2] =
    [("volumes", &["filesystem"]), ("disks", &["raid", "filesystem", "volumes", "journal"])];

/// Whether `name`, one of [`FILLED_IN`], is in `settings` what it comes to on a target of `disks`
/// disks when nobody says it.
pub fn is_filled_in(settings: &Settings, name: &str, disks: u64) -> bool {
    let Some(held) = settings.named(name).filter(|held| !held.is_as_is()) else { return false };
    let mut open = settings.clone();
    open.set_named(name, Value::as_is());
    resolve(&mut open, disks);
    open.named(name) == Some(held)
}

/// Gives the knobs of a layout that are left `as-is` the values that they come to on `disks` disks:
/// what is stored is what was made. Options that are left to the tools stay `as-is`.
pub fn resolve(settings: &mut Settings, disks: u64) {
    for (name, text) in DEFAULTS {
        if is_open(settings, name) {
            settings.set_named(name, Value::Word(text.to_owned()));
        }
    }
    for knob in [knob::FSCK, knob::FSTRIM] {
        if is_open(settings, knob.name) {
            settings.set(knob, Some(false));
        }
    }
    if is_open(settings, knob::VOLUMES.name) {
        let by = match settings.get(knob::FILESYSTEM) {
            Some("btrfs") => "btrfs",
            Some("zfs") => "zfs",
            _ => "md",
        };
        settings.set(knob::VOLUMES, Some(by));
    }
    if is_open(settings, knob::DISKS.name) {
        let journal = u64::from(settings.get(knob::JOURNAL) == Some("external"));
        // A file system on one disk; what btrfs and LVM spread over all without any array is
        // `single` too.
        let by = settings.get(knob::VOLUMES);
        let one = settings.get(knob::RAID) == Some("single") && matches!(by, Some("md" | "zfs"));
        let count = if one { 1 } else { disks.saturating_sub(journal).max(1) };
        settings.set(knob::DISKS, Some(count));
    }
}

pub(super) fn is_open(settings: &Settings, name: &str) -> bool {
    settings.named(name).is_some_and(Value::is_as_is)
}

/// What is made of `disks`, the target's, under settings that [`resolve`] has completed.
///
/// # Errors
/// With why it makes no sense.
pub fn layout(settings: &Settings, disks: &[Disk]) -> Result<Layout, String> {
    let (count, there) = (settings.get(knob::DISKS).unwrap_or(0) as usize, disks.len());
    let word = |knob| settings.get::<OrAsIs<Word>>(knob).unwrap_or_default().to_owned();
    if count > there {
        return Err(format!("disks={count} is more than the {there} of the target"));
    }
    let external = settings.get(knob::JOURNAL) == Some("external");
    if external && count == there {
        return Err(format!("an external journal needs a disk besides the {count} of the array"));
    }
    let layout = Layout {
        disks: disks[..count].to_vec(),
        raid: word(knob::RAID),
        volumes: word(knob::VOLUMES),
        chunk_bytes: settings.get(knob::CHUNK_SIZE),
        filesystem: word(knob::FILESYSTEM),
        mkfs_options: word(knob::MKFS_OPTIONS).split_whitespace().map(str::to_owned).collect(),
        mount_options: word(knob::MOUNT_OPTIONS),
        properties: properties(settings)?,
        journal: disks.last().filter(|_| external).cloned(),
        array_state: word(knob::ARRAY_STATE),
        snapshot: word(knob::SNAPSHOT),
        precondition: word(knob::PRECONDITION),
        fsck: settings.get(knob::FSCK) == Some(true),
        fstrim: settings.get(knob::FSTRIM) == Some(true),
    };
    let checked = layout.check();
    checked.map(|()| layout).map_err(|senseless| senseless.why)
}

/// The properties of a dataset of ZFS that are said, as zfs(8) takes them.
fn properties(settings: &Settings) -> Result<Vec<(String, String)>, String> {
    let mut said = Vec::new();
    for name in knob::PROPERTIES {
        let value = match settings.named(name).filter(|held| !held.is_as_is()) {
            Some(Value::Word(word)) => word.clone(),
            Some(Value::Bytes(bytes)) if !bytes.is_power_of_two() => {
                return Err(format!("{name} is a power of two, and {bytes} bytes is not"));
            }
            Some(Value::Bytes(bytes)) => bytes.to_string(),
            _ => continue,
        };
        said.push((name.to_owned(), value));
    }
    Ok(said)
}

/// What decides whether a block fits into its file.
const SIZES: [&str; 2] = ["block-size", "file-size"];

/// Why a block that does not is left out.
const TOO_LARGE: &str = "a block-size above the file-size";

/// Which combinations of a load's layout factors and sizes make sense, looked up.
pub(super) struct Sense {
    /// Factors of layouts and sizes: which, and how far apart its levels are in `why`.
    places: Vec<(usize, usize)>,
    /// For each combination of them why it makes no sense.
    why: Vec<Option<String>>,
}

impl Sense {
    /// `None` where there are neither disks nor sizes that vary.
    pub fn for_load(load: &Load, disks: &[String]) -> Option<Sense> {
        let sized = SIZES.iter().all(|knob| load.settings.named(knob).is_some());
        let varies = load.factors.iter().any(|factor| SIZES.contains(&factor.knob.name));
        if disks.is_empty() && !(sized && varies) {
            return None;
        }
        let lies_on_disks = !disks.is_empty();
        let disks: Vec<Disk> = disks.iter().map(|named| nominal(named)).collect();
        let (mut places, mut count) = (Vec::new(), 1);
        for (place, factor) in load.factors.iter().enumerate() {
            if is_layout(factor.knob) || (sized && SIZES.contains(&factor.knob.name)) {
                places.push((place, count));
                count *= factor.levels.len();
            }
        }
        let why = (0..count).map(|index| {
            let mut settings = load.settings.clone();
            for (place, step) in &places {
                let factor = &load.factors[*place];
                let level = &factor.levels[index / step % factor.levels.len()];
                settings.set_named(factor.knob.name, level.clone());
            }
            if sized && settings.get(knob::BLOCK_SIZE) > settings.get(knob::FILE_SIZE) {
                return Some(TOO_LARGE.to_owned());
            }
            if !lies_on_disks {
                return None;
            }
            if !settings.has(knob::DISKS) {
                let engine = settings.engine();
                return Some(format!("the engine `{engine}` does not run on layouts"));
            }
            resolve(&mut settings, disks.len() as u64);
            layout(&settings, &disks).err()
        });
        let why = why.collect();
        Some(Sense { places, why })
    }

    /// Why the combination of these levels makes no sense.
    pub fn lacks(&self, levels: &[usize]) -> Option<&str> {
        let index: usize = self.places.iter().map(|(place, step)| levels[*place] * step).sum();
        self.why[index].as_deref()
    }
}

/// A disk of which only the name matters.
fn nominal(named: &str) -> Disk {
    let (name, known_as) = (named.to_owned(), Some(named.to_owned()));
    Disk {
        named: named.to_owned(),
        name: name.clone(),
        node: PathBuf::from("/dev").join(named),
        size_bytes: NOMINAL_BYTES,
        identity: Identity { name, number: None, sequence: None, known_as },
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::Plan;
    use super::super::expand::of_workload;
    use super::*;
    use crate::workload;
    use base::value::Domain;

    fn plan(disks: usize, arguments: &[&str]) -> Plan {
        let mut plan = of_workload("file", workload::find("random-read").unwrap());
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        plan.disks = (0..disks).map(|n| format!("serial:{n}")).collect();
        plan.vary(&arguments).unwrap();
        plan
    }

    #[test]
    fn what_is_not_said_is_stored_as_what_was_made() {
        let plan = plan(4, &["filesystem=ext4,btrfs", "raid=single,raid10", "journal=internal"]);
        let said: Vec<String> = plan
            .cells()
            .map(|cell| {
                let settings = plan.settings(&cell);
                let word = |knob| settings.get::<OrAsIs<Word>>(knob).unwrap().to_owned();
                let disks = settings.get(knob::DISKS).unwrap_or(0);
                let (of, by) = (word(knob::RAID), word(knob::VOLUMES));
                format!(
                    "{} {of} of {disks} by {by} {}",
                    word(knob::FILESYSTEM),
                    word(knob::ARRAY_STATE)
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                "ext4 single of 1 by md clean",
                "ext4 raid10 of 4 by md clean",
                "btrfs single of 4 by btrfs clean",
                "btrfs raid10 of 4 by btrfs clean"
            ]
        );
        let settings = plan.settings(&plan.cells().next().unwrap());
        assert!(is_open(&settings, "chunk-size") && is_open(&settings, "mkfs-options"));
    }

    #[test]
    fn cells_that_make_no_sense_are_left_out_and_counted() {
        let plan = plan(2, &["filesystem=ext4", "raid=raid0,raid5", "disks=2,3", "streams=1,2"]);
        assert_eq!(plan.check_target(), Ok(()));
        assert_eq!(plan.cells().count(), 2);
        assert_eq!(plan.trials(1).count(), 6);
        let senseless = plan.senseless();
        assert_eq!(senseless.values().sum::<u64>(), 6, "{senseless:?}");
        assert_eq!(senseless["disks=3 is more than the 2 of the target"], 4);
        assert!(senseless.keys().any(|why| why.contains("raid5")), "{senseless:?}");
    }

    /// A plan that ships, on disks.
    fn built_in(name: &str, disks: usize, arguments: &[&str]) -> Plan {
        let text = crate::plan::builtin::find(name).unwrap().text;
        let mut plan = crate::plan::file::read(text, name, None).unwrap();
        plan.disks = (0..disks).map(|n| format!("serial:{n}")).collect();
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        plan.vary(&arguments).unwrap();
        plan
    }

    /// Work on names was left out of every plan on disks: "the engine `tree` does not run on
    /// layouts".
    #[test]
    fn work_on_names_runs_on_layouts_and_shares_each_with_all_else_of_its_plan() {
        for name in ["metadata", "bonnie"] {
            let plan = built_in(name, 3, &["filesystem=ext4,xfs", "raid=raid0,raid5"]);
            assert!(plan.senseless().is_empty(), "{name}: {:?}", plan.senseless());
            let trials: Vec<_> = plan.trials(7).collect();
            assert!(trials.iter().any(|trial| trial.settings.engine() == "tree"), "{name}");
            let of = |trial: &super::super::Trial| {
                let word = |knob| trial.settings.get::<OrAsIs<Word>>(knob).map(str::to_owned);
                (trial.replicate, word(knob::FILESYSTEM), word(knob::RAID))
            };
            let made = trials.chunk_by(|one, next| of(one) == of(next)).count();
            assert_eq!(made, 4 * plan.replicates as usize, "{name}: one layout was made twice");
        }
    }

    /// `plan metadata --device A --device B` said "24 cells make no sense: there is no disk".
    #[test]
    fn an_engine_that_runs_on_no_layout_is_told_and_no_disk_is_said_to_be_missing() {
        let senseless = built_in("integrity", 2, &[]).senseless();
        assert!(senseless["the engine `integrity` does not run on layouts"] > 0, "{senseless:?}");
        assert!(senseless.keys().all(|why| !why.contains("no disk")), "{senseless:?}");
        // Of plans that ship and lie on disks no reason is untrue either.
        for built_in in crate::plan::builtin::PLANS {
            let mut plan = crate::plan::file::read(built_in.text, built_in.name, None).unwrap();
            plan.disks = (0..4).map(|disk| format!("serial:{disk}")).collect();
            let reasons = plan.senseless();
            let untrue = |why: &&String| why.contains("there is no disk");
            assert_eq!(reasons.keys().find(untrue), None, "{}", built_in.name);
        }
    }

    /// `precondition=random`, `filesystem=zfs` and `snapshot=zfs` were offered, and every cell with
    /// them was left out: "not built".
    #[test]
    fn every_level_that_is_offered_of_a_layout_can_be_made() {
        let bases = [
            ["filesystem=ext4", "raid=raid5", "volumes=md"],
            ["filesystem=ext4", "raid=raid0", "volumes=lvm"],
            ["filesystem=btrfs", "raid=raid0", "volumes=btrfs"],
            ["filesystem=ext4", "raid=single", "disks=1"],
            ["filesystem=zfs", "raid=raid5", "volumes=zfs"],
        ];
        for knob in knob::KNOBS.iter().filter(|knob| is_layout(knob)) {
            let Domain::OrAsIs(Domain::OneOf(words)) = knob.domain else { continue };
            for word in *words {
                let made = bases.iter().any(|base| {
                    let others = base.iter().filter(|it| !it.starts_with(knob.name));
                    let typed = format!("{}={word}", knob.name);
                    let all: Vec<&str> = others.copied().chain([typed.as_str()]).collect();
                    plan(8, &all).cells().next().is_some()
                });
                assert!(made, "{}={word} makes sense with nothing", knob.name);
            }
        }
    }

    #[test]
    fn an_external_journal_takes_the_last_disk() {
        let plan = plan(3, &["filesystem=ext4", "raid=raid0", "journal=external"]);
        let settings = plan.settings(&plan.cells().next().unwrap());
        let disks: Vec<Disk> = plan.disks.iter().map(|named| nominal(named)).collect();
        let made = layout(&settings, &disks).unwrap();
        assert_eq!(made.disks, disks[..2]);
        assert_eq!(made.journal.as_ref(), Some(&disks[2]));
        assert!(layout(&settings, &disks[..2]).unwrap_err().contains("besides"));
    }

    #[test]
    fn a_target_that_does_not_fit_is_refused_with_what_to_write() {
        let refused = |disks: usize, arguments: &[&str]| {
            plan(disks, arguments).check_target().expect_err("refused")
        };
        let no_disks = refused(0, &["filesystem=ext4,xfs"]);
        assert!(no_disks.why.contains("`filesystem` needs disks"), "{no_disks}");
        assert!(no_disks.hint.contains("[target]"), "{no_disks:?}");
        assert!(refused(1, &[]).hint.contains("filesystem = \"ext4\""));
        assert!(refused(2, &["filesystem=ext4"]).hint.contains("raid = "));
        assert_eq!(plan(2, &["filesystem=ext4", "disks=1"]).check_target(), Ok(()));
        assert!(refused(1, &["filesystem=ext4", "raid=raid5"]).why.contains("no cell"));
        assert_eq!(plan(0, &[]).check_target(), Ok(()));
    }

    #[test]
    fn a_campaign_on_other_disks_is_another() {
        assert_ne!(
            plan(1, &["filesystem=ext4"]).identity(),
            plan(2, &["filesystem=ext4"]).identity()
        );
    }
}
