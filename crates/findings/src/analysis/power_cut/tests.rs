//! Scenarios of what a power cut loses, held against an oracle that knows them, and the sentences.

use serde_json::json;

use super::*;
use experiment::measurement::limit::testing::Scene;
use experiment::measurement::{Amount, Durable, Integrity, Note, Outcome, Verified};
use facts::inventory::server::{Drive, Health, Server, Setting, Usage};
use facts::inventory::{Device, DeviceKind, OnPool, Target};

/// What lies below the files of a scene.
#[derive(Clone, Debug)]
struct Below {
    transport: &'static str,
    rotational: bool,
    kernel: Option<&'static str>,
    own: Option<&'static str>,
    protected: Option<bool>,
    filesystem: &'static str,
    options: &'static str,
    guest: bool,
    /// `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`.
    centisecs: Option<(u64, u64)>,
    zfs_sync: Option<&'static str>,
    remote: bool,
}

impl Default for Below {
    /// A SATA disk with its cache on, ext4, and a kernel as it comes.
    fn default() -> Below {
        Below {
            transport: "sata",
            rotational: true,
            kernel: Some("write back"),
            own: Some("write back"),
            protected: None,
            filesystem: "ext4",
            options: "rw,relatime",
            guest: false,
            centisecs: Some((3000, 500)),
            zfs_sync: None,
            remote: false,
        }
    }
}

impl Below {
    fn device(&self) -> Device {
        let mut device = Device::bare("sda", DeviceKind::Disk);
        device.transport = self.transport.to_owned();
        device.rotational = Some(self.rotational);
        device.write_cache = self.kernel.map(str::to_owned);
        device
    }

    /// As a campaign keeps it.
    fn inventory(&self) -> serde_json::Value {
        let memory = self.filesystem == "tmpfs";
        let on = if memory || self.remote { vec![] } else { vec!["sda".to_owned()] };
        let target = Target {
            pool: self.zfs_sync.map(|sync| OnPool {
                dataset: "tank/db".into(),
                settings: [("sync".to_owned(), sync.to_owned())].into(),
                ..OnPool::default()
            }),
            directory: "/srv".into(),
            filesystem: self.filesystem.into(),
            holding_filesystem: self.filesystem.into(),
            mount_point: "/srv".into(),
            mount_options: self.options.into(),
            source: "tank/db".into(),
            disks: on.clone(),
            devices: if on.is_empty() { vec![] } else { vec![self.device()] },
            on,
            total_bytes: None,
            available_bytes: None,
            read_only: false,
            process_io_reliable: true,
            remote: self.remote,
            memory,
            ceiling: None,
        };
        let mut server = Server { devices: vec![self.device()], ..Server::default() };
        server.machine.virtual_machine = Some(self.guest);
        server.memory.total_bytes = Some(10_000_000_000);
        let health = Health { power_loss_protected: self.protected, ..Health::default() };
        server.drives = vec![Drive {
            name: "sda".into(),
            rpm: self.rotational.then_some(7200),
            own_write_cache: self.own.map(str::to_owned),
            health: Some(health),
            ..Drive::default()
        }];
        let setting = |name: &str, value: u64| Setting {
            name: name.into(),
            value: value.to_string(),
            place: String::new(),
        };
        if let Some((expire, wake)) = self.centisecs {
            server.settings = vec![
                setting("vm.dirty_expire_centisecs", expire),
                setting("vm.dirty_writeback_centisecs", wake),
                setting("vm.dirty_ratio", 20),
                setting("vm.dirty_bytes", 0),
            ];
        }
        json!({ "targets": [target], "server": server })
    }
}

/// A trial of this engine that wrote, at so many MB/s, of which a median operation took so long.
fn trial(number: u32, changes: &[(&'static str, &str)], mb_per_s: u64, median_ns: u64) -> Record {
    let block = (mb_per_s as f64 * 1e6 * median_ns as f64 / 1e9) as u64;
    let scene = Scene { bytes_per_s: mb_per_s as f64 * 1e6, block, ..Scene::default() };
    let mut record = scene.record(number);
    let engine = changes.iter().find(|it| it.0 == "engine").map_or("file", |it| it.1);
    let knobs: Vec<(&str, &str)> = changes.iter().filter(|it| it.0 != "engine").copied().collect();
    record.trial.settings = experiment::knob::testing::settings(engine, &knobs);
    if record.trial.settings.has(knob::BLOCK_SIZE) {
        record.trial.settings.set(knob::BLOCK_SIZE, block);
    }
    record.trial.settings.set(knob::DIRECTORIES, &["/srv".to_owned()][..]);
    let Outcome::Done(measurement) = &mut record.outcome else { panic!("it is done") };
    measurement.notes.clear();
    measurement.counters.clear();
    let evidence = &mut measurement.evidence;
    std::mem::swap(&mut evidence.device_read_bytes, &mut evidence.device_write_bytes);
    std::mem::swap(&mut evidence.process_read_bytes, &mut evidence.process_write_bytes);
    let bytes = mb_per_s * 4_000_000;
    measurement.durable =
        Some(Durable { bytes, accepted_ns: 2_000_000_000, durable_ns: 4_000_000_000 });
    let written = |of: &mut Amount| {
        std::mem::swap(&mut of.read_bytes, &mut of.write_bytes);
        std::mem::swap(&mut of.read_ops, &mut of.write_ops);
    };
    written(&mut measurement.evidence.delivered);
    measurement.window.iter_mut().for_each(|window| written(&mut window.done));
    for stream in &mut measurement.streams {
        written(&mut stream.total);
        written(&mut stream.pass);
    }
    for (kind, _) in &mut measurement.latency {
        *kind = experiment::measurement::Operation::Write;
    }
    Record::new(record.trial.clone(), record.outcome.clone())
}

/// As a page cache takes it.
const WRITE: &[(&str, &str)] = &[("access", "write"), ("direct", "false")];

fn told(below: &Below, records: &[Record]) -> Vec<Finding> {
    let (inventory, prices) = (below.inventory(), BTreeMap::new());
    answer(&AnalysisInput::new(records, &inventory, &prices))
}

fn claim(below: &Below) -> String {
    claim_of(below, &[trial(1, WRITE, 1000, 1_000_000)])
}

fn claim_of(below: &Below, records: &[Record]) -> String {
    let found = told(below, records);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].claim.clone()
}

fn all_say(cases: &[(Below, &str)]) {
    for (below, expected) in cases {
        assert_eq!(claim(below), *expected, "{below:?}");
    }
}

#[test]
fn each_kind_of_storage_has_its_sentence() {
    let usual = Below::default();
    let cases = [
        (
            usual.clone(),
            "A power cut loses up to 40 s of writes without fsync; after fsync none, if sda \
             flushes when told.",
        ),
        (
            Below { own: Some("write through"), kernel: Some("write through"), ..usual.clone() },
            "A power cut loses up to 40 s of writes without fsync; after fsync none.",
        ),
        (
            Below { protected: Some(true), options: "rw,nobarrier", ..usual.clone() },
            "A power cut loses up to 40 s of writes without fsync; after fsync none.",
        ),
        (
            Below { options: "rw,nobarrier", ..usual.clone() },
            "A power cut loses what sda holds in cache, after fsync too: it is mounted with \
             nobarrier. Without fsync it loses 40 s or more of writes.",
        ),
        (
            Below { kernel: Some("write through"), ..usual.clone() },
            "A power cut loses what sda holds in cache, after fsync too: the kernel was told that \
             sda has no cache. Without fsync it loses 40 s or more of writes.",
        ),
        (
            Below { filesystem: "zfs", zfs_sync: Some("disabled"), ..usual.clone() },
            "A power cut loses about 5 s of writes, after fsync too: sync=disabled on tank/db.",
        ),
        (
            Below { filesystem: "zfs", zfs_sync: Some("standard"), ..usual.clone() },
            "A power cut loses about 5 s of writes without fsync; after fsync none, if sda \
             flushes when told.",
        ),
        (
            Below { filesystem: "tmpfs", ..usual.clone() },
            "A power cut loses all that was written here: the files are this machine's memory.",
        ),
    ];
    all_say(&cases);
}

#[test]
fn what_is_not_seen_is_said_not_to_be_known() {
    let usual = Below::default();
    let cases = [
        (
            Below { transport: "virtio", own: None, ..usual.clone() },
            "A power cut loses 40 s or more of writes without fsync; whether fsync saves them is \
             not known. The hypervisor's cache behind sda is not seen here.",
        ),
        (
            Below { transport: "virtio", own: None, options: "rw,nobarrier", ..usual.clone() },
            "A power cut loses 40 s or more of writes without fsync; whether fsync saves them is \
             not known. It is mounted with nobarrier, and the hypervisor's cache behind sda is not \
             seen here.",
        ),
        (
            Below { filesystem: "nfs4", remote: true, ..usual.clone() },
            "A power cut loses 35 s or more of writes without fsync; whether fsync saves them is \
             not known. What the server keeps through a power cut cannot be seen from here.",
        ),
        (
            Below { centisecs: Some((3000, 0)), ..usual.clone() },
            "A power cut loses no writes after fsync, if sda flushes when told. How many without \
             fsync is not known: the kernel writes back only when memory is full \
             (vm.dirty_writeback_centisecs=0).",
        ),
        (
            Below { transport: "usb", centisecs: None, ..usual.clone() },
            "What a power cut loses here is not known. A USB bridge may keep flushes from sda.",
        ),
        (
            Below { centisecs: Some((50, 100)), options: "rw,commit=1", ..usual.clone() },
            "A power cut loses up to 3 s of writes without fsync; after fsync none, if sda \
             flushes when told.",
        ),
    ];
    all_say(&cases);
}

/// What must come out, by another way: of each fact in turn, what it takes from the promise.
fn expected(of: &Below) -> (&'static str, u8) {
    let seconds = match (of.filesystem, of.centisecs) {
        ("tmpfs", _) => 0,
        ("zfs", _) => 5,
        (_, None | Some((_, 0))) => 0,
        ("ext4", Some(_)) if of.options.contains("commit=15") => 50,
        ("ext4", Some(_)) => 40,
        ("xfs" | "btrfs", Some(_)) => 65,
        _ => 35,
    };
    let has_cache = of.own.or(of.kernel).map(|it| it == "write back");
    let barriers = !of.options.contains("nobarrier") && !of.options.contains("barrier=0");
    let sent = barriers && (of.kernel != Some("write through"));
    let visible = ["sata", "sas", "nvme"].contains(&of.transport) && !of.guest;
    let after_fsync = if of.filesystem == "tmpfs" {
        "all that was written here"
    } else if of.zfs_sync == Some("disabled") {
        "after fsync too: sync=disabled"
    } else if of.remote || (of.protected != Some(true) && (!visible || has_cache.is_none())) {
        "not known"
    } else if of.protected == Some(true) || has_cache == Some(false) && of.own.is_some() {
        "after fsync none."
    } else if has_cache == Some(true) && !sent {
        "in cache, after fsync too"
    } else {
        "after fsync none, if sda flushes when told"
    };
    (after_fsync, seconds)
}

/// Every storage that can be made of these facts has the verdict that its facts allow, and no
/// sentence of it is longer than a person reads in one go.
#[test]
fn verdicts_agree_with_what_the_facts_allow_one_by_one() {
    let (mut count, mut kinds) = (0, BTreeMap::new());
    let records = [trial(1, WRITE, 1000, 1_000_000)];
    for below in all() {
        let (after_fsync, seconds) = expected(&below);
        let claim = claim_of(&below, &records);
        let no_time = seconds == 0 && after_fsync.starts_with("after fsync none");
        match no_time {
            true => assert!(claim.contains("no writes after fsync"), "{claim} {below:?}"),
            false => assert!(claim.contains(after_fsync), "{after_fsync}: {claim} {below:?}"),
        }
        if seconds > 0 {
            let has = claim.contains(&format!(" {seconds} s "));
            assert!(has, "{seconds} s: {claim} {below:?}");
        }
        let most = claim.contains("up to");
        let sure = after_fsync.starts_with("after fsync none") && below.filesystem != "ext2";
        let sure = sure && seconds > 0 && below.filesystem != "zfs";
        assert_eq!(most, sure, "{claim} {below:?}");
        let longest = claim.split(". ").map(|it| it.split_whitespace().count()).max();
        let words = claim.split_whitespace().count();
        assert!(longest <= Some(25) && words <= 40, "{words}: {claim}");
        count += 1;
        *kinds.entry(after_fsync).or_insert(0) += 1;
    }
    assert!(count > 5000 && kinds.len() == 6, "{count} {kinds:?}");
}

fn all() -> Vec<Below> {
    let caches = [None, Some("write back"), Some("write through")];
    let mut all = Vec::new();
    let places = [
        ("sata", true, false),
        ("sas", true, false),
        ("nvme", false, false),
        ("sata", false, true),
        ("virtio", true, true),
        ("usb", true, false),
        ("scsi", true, false),
    ];
    let systems = [
        ("ext4", None, false),
        ("xfs", None, false),
        ("btrfs", None, false),
        ("ext2", None, false),
        ("zfs", Some("standard"), false),
        ("zfs", Some("disabled"), false),
        ("tmpfs", None, false),
        ("nfs4", None, true),
    ];
    for (transport, rotational, guest) in places {
        for (kernel, own) in caches.iter().flat_map(|one| caches.map(|other| (*one, other))) {
            for protected in [None, Some(true), Some(false)] {
                for (filesystem, zfs_sync, remote) in systems {
                    for options in ["rw", "rw,nobarrier", "rw,barrier=0", "rw,commit=15"] {
                        // Others have no such option, or another time.
                        if filesystem != "ext4" && options != "rw" {
                            continue;
                        }
                        for centisecs in [None, Some((3000, 500)), Some((3000, 0))] {
                            all.push(Below {
                                transport,
                                rotational,
                                kernel,
                                own,
                                protected,
                                filesystem,
                                options,
                                guest,
                                centisecs,
                                zfs_sync,
                                remote,
                            });
                        }
                    }
                }
            }
        }
    }
    all
}

/// A disk that turns cannot have a commit in less than half a turn: unless its cache is safe.
#[test]
fn commits_faster_than_the_medium_are_a_suspicion_and_no_fact() {
    let every: &[(&str, &str)] =
        &[("access", "random-write"), ("direct", "true"), ("fsync", "every")];
    let of =
        |below: &Below, commit_ns: u64| told(below, &[trial(1, every, 10, commit_ns)]).remove(0);
    let disk = Below::default();
    let record = trial(1, every, 10, 300_000);
    let known = standing(&record).contains_key("latency_ns_p50");
    assert!(known, "{:?}", notes_of(&record));
    let found = of(&disk, 300_000);
    assert_eq!(
        found.claim,
        "A power cut may lose writes after fsync, too: flushes look unhonoured. A commit takes \
         300 us; half a turn of sda takes 4.17 ms."
    );
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.details[0].starts_with("A suspicion, no fact"), "{found:?}");
    assert!(found.command.is_some_and(|it| it.starts_with("brickyard run flush-test --dir /srv")));
    let believed = |below: &Below, ns| of(below, ns).claim.contains("after fsync none");
    assert!(believed(&disk, 6_000_000));
    assert!(believed(&Below { protected: Some(true), ..disk.clone() }, 300_000));
    assert!(believed(&Below { rotational: false, ..disk.clone() }, 300_000), "it may be protected");
    let hidden = of(&Below { transport: "scsi", ..disk.clone() }, 300_000);
    assert!(hidden.claim.contains("not known"), "{hidden:?}");

    // Of flash that says that nothing protects it, a commit costs more than a write.
    let flash = Below { rotational: false, protected: Some(false), ..disk };
    let alone: &[(&str, &str)] = &[("access", "random-write"), ("direct", "true")];
    // All of one size: so many MB/s at so many ns each are 4400 bytes.
    let both = |mb_per_s: u64, commit_ns: u64| {
        let records = [trial(1, every, mb_per_s, commit_ns), trial(2, alone, 44, 100_000)];
        told(&flash, &records).remove(0)
    };
    let free = both(40, 110_000).claim;
    assert!(free.contains("A commit takes 110 us, a write alone 100 us"), "{free}");
    assert!(both(5, 880_000).claim.contains("after fsync none, if"), "{:?}", both(5, 880_000));
}

#[test]
fn commits_of_databases_are_told_as_commits_and_messages_as_messages() {
    let disk = Below::default();
    let of = |below: &Below, changes: &[(&'static str, &str)], note: Option<&str>| {
        let mut record = trial(1, changes, 10, 20_000_000);
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("it is done") };
        measurement.notes.extend(note.map(|kind| Note::new(kind, "it was so")));
        // As the engine leaves it where commits are not durable.
        if note.is_some() {
            measurement.durable = None;
            measurement.evidence.delivered = Amount::default();
        }
        let record = Record::new(record.trial.clone(), record.outcome.clone());
        told(below, &[record]).remove(0).claim
    };
    let bank: &[(&str, &str)] = &[("engine", "database")];
    assert_eq!(of(&disk, bank, None), "A power cut loses no commit, if sda flushes when told.");
    assert_eq!(
        of(&Below { options: "rw,barrier=0", ..disk.clone() }, bank, None),
        "A power cut loses the commits that sda holds in cache: it is mounted with barrier=0."
    );
    let off: &[(&str, &str)] = &[("engine", "database"), ("synchronous", "off")];
    let lazy = of(&disk, off, Some("not-durable"));
    assert!(lazy.starts_with("A power cut loses up to "), "{lazy}");
    assert!(lazy.ends_with(" of commits: nothing flushes them one by one."), "{lazy}");
    let delete: &[(&str, &str)] = &[("engine", "database"), ("journal-mode", "delete")];
    assert!(of(&disk, delete, Some("not-durable")).contains("may lose the last commit"));
    let undone = of(&disk, bank, Some("commits-not-on-device"));
    assert!(undone.starts_with("Whether a power cut loses commits is not known."), "{undone}");
    let zfs = Below { filesystem: "zfs", zfs_sync: Some("disabled"), ..disk.clone() };
    assert_eq!(
        of(&zfs, bank, None),
        "A power cut loses about 5 s of commits: sync=disabled on tank/db."
    );
    let mail = of(&disk, &[("engine", "mail")], None);
    assert!(mail.contains("of messages without fsync; after fsync none, if sda"), "{mail}");
}

#[test]
fn what_a_check_after_a_cut_found_decides() {
    let checked = |wrong: u64| {
        let mut record = trial(1, &[("access", "read")], 10, 1_000_000);
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("it is done") };
        let mut integrity = Integrity::default();
        integrity.wrong.insert("stale".into(), wrong);
        measurement.integrity = Some(integrity);
        let facts = vec![("acknowledged".to_owned(), "12 writes, flushed and all".to_owned())];
        measurement.verified = Some(Verified { facts, ..Verified::default() });
        told(&Below::default(), &[record]).remove(0)
    };
    let lost = checked(3);
    assert_eq!(lost.severity, Severity::Error);
    assert_eq!(
        lost.claim,
        "A power cut loses writes after fsync: 3 blocks that were acknowledged are not there."
    );
    // A later campaign on the same file system knows of it.
    let mut inventory = Below::default().inventory();
    let later = |inventory: &serde_json::Value| {
        let (records, prices) = ([trial(1, WRITE, 1000, 1_000_000)], BTreeMap::new());
        answer(&AnalysisInput::new(&records, inventory, &prices)).remove(0)
    };
    let earlier = |mount: &str, lost_blocks| {
        json!([EarlierCheck { campaign: 7, mount_point: mount.into(), lost_blocks }])
    };
    inventory[EARLIER] = earlier("/srv", 3);
    let found = later(&inventory);
    assert_eq!(
        (found.claim.as_str(), found.severity),
        (
            "A power cut loses writes after fsync: the check of campaign 7 found 3 blocks lost.",
            Severity::Warning
        )
    );
    inventory[EARLIER] = earlier("/other", 3);
    assert!(later(&inventory).claim.contains("after fsync none, if sda"));
    inventory[EARLIER] = earlier("/srv", 0);
    assert!(later(&inventory).whole().contains("check of campaign 7 found nothing lost"));
    let kept = checked(0);
    assert!(kept.claim.starts_with("Nothing that fsync had made safe is lost"), "{kept:?}");
    assert_eq!(kept.severity, Severity::Info);
}

/// What memory may hold is bounded in bytes: slow disks take longer to write it than its age says.
#[test]
fn what_waits_in_memory_is_held_against_the_measured_rate() {
    let slow = told(&Below::default(), &[trial(1, WRITE, 20, 1_000_000)]).remove(0);
    assert!(slow.claim.starts_with("A power cut loses up to 100 s of writes"), "{slow:?}");
    let whole = slow.whole();
    assert!(whole.contains("takes 100 s at the measured 20.0 MB/s"), "{whole}");
    // Nothing that only read, and nothing simulated, is told of.
    assert_eq!(told(&Below::default(), &[trial(1, &[("engine", "sim")], 20, 1_000_000)]), []);
    assert_eq!(answer(&AnalysisInput::from_records(&[trial(1, WRITE, 20, 1_000_000)])), []);
}

/// A container's files lie on an overlay, whose options are not those of the disk's file system.
#[test]
fn options_below_an_overlay_count() {
    let told = |below: Option<&str>, upper: &str| {
        let disk = Below::default();
        let mut inventory = disk.inventory();
        let target = &mut inventory["targets"][0];
        target["filesystem"] = json!("overlay");
        target["mount_options"] = json!(upper);
        let usage = below.map(|options| Usage {
            mount_point: "/".into(),
            filesystem: "ext4".into(),
            source: "/dev/sda".into(),
            options: options.into(),
            on: vec!["sda".into()],
            ..Usage::default()
        });
        inventory["server"]["filesystems"] = json!(usage.into_iter().collect::<Vec<_>>());
        let prices = BTreeMap::new();
        let records = [trial(1, WRITE, 1000, 1_000_000)];
        answer(&AnalysisInput::new(&records, &inventory, &prices)).remove(0).claim
    };
    assert!(told(Some("rw"), "rw").contains("after fsync none, if sda"));
    assert!(told(Some("rw,nobarrier"), "rw").contains("mounted with nobarrier"));
    assert!(told(None, "rw").contains("How the ext4 below is mounted is not known."));
    let lost = told(Some("rw"), "rw,volatile");
    assert!(lost.contains("after fsync too: /srv is an overlay with `volatile`"), "{lost}");
}
