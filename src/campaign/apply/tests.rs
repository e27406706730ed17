//! Every system knob on a recorded machine, and machines that refuse, round, change and vanish.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use super::*;
use experiment::knob::testing::settings;
use experiment::knob::{Scope, find};
use host::inventory::recording::Recording;
use host::inventory::target;
use host::sys::Kernel;

mod ends;
mod interface;

const MACHINE: &str = "\
/proc/self/mountinfo:
    20 1 8:1 / /srv rw,relatime - ext4 /dev/sda1 rw
    21 1 0:21 / /data rw,relatime - btrfs /dev/sdb rw
    22 1 0:22 / /mem rw,relatime - tmpfs tmpfs rw
    23 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
/proc/self/cgroup = 0::/
/proc/sys/kernel/random/boot_id = 6c6e0348-2966-4c69-92fb-ea307cf78b99
/proc/sys/vm/dirty_ratio = 20
/proc/sys/vm/dirty_bytes = 0
/proc/sys/vm/dirty_expire_centisecs = 3000
/proc/sys/vm/swappiness = 60
/proc/sys/vm/drop_caches = 0
/proc/sys/net/core/rmem_max = 212992
/proc/sys/net/core/wmem_max = 212992
/proc/sys/net/core/netdev_max_backlog = 1000
/proc/sys/net/core/optmem_max = 131072
/sys/class/net/eth0/ifindex = 2
/sys/class/net/eth0/address = 52:54:00:00:00:01
/sys/class/net/eth0/queues/rx-0/rps_cpus = 00
/sys/class/net/eth0/queues/rx-1/rps_cpus = 00
/sys/class/net/eth0/device -> ../../../devices/pci0000:00/0000:00:05.0
/sys/devices/pci0000:00/0000:00:05.0/vendor = 0x8086
/sys/bus/pci/devices/0000:00:05.0/msi_irqs/24 = msix
/sys/bus/pci/devices/0000:00:05.0/msi_irqs/25 = msix
/sys/bus/pci/devices/0000:00:05.0/msi_irqs/26 = msix
/proc/irq/24/smp_affinity = ff
/proc/irq/25/smp_affinity = 01
/interface/eth0/mtu = 1500
/interface/eth0/rx-usecs = 3
/interface/eth0/adaptive-rx = on
/interface/eth0/rx-ring = 256
/interface/eth0/tx-ring = 256
/interface/eth0/combined-channels = 4
/interface/eth0/qdisc = default
/interface/eth0/feature/tx-tcp-segmentation = on
/interface/eth0/feature/tx-tcp6-segmentation = on
/interface/eth0/feature/tx-tcp-ecn-segmentation = on
/interface/eth0/feature/tx-generic-segmentation = on
/interface/eth0/feature/rx-gro = on
/interface/eth0/feature/rx-lro = off
/proc/sys/net/ipv4/tcp_rmem = 4096\t131072\t6291456
/proc/sys/net/ipv4/tcp_wmem = 4096\t16384\t4194304
/proc/sys/net/ipv4/tcp_congestion_control = cubic
/proc/sys/net/ipv4/tcp_available_congestion_control = reno cubic
/proc/self/ns/net -> net:[4026531840]
/sys/kernel/mm/transparent_hugepage/enabled = always [madvise] never
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor = schedutil
/sys/devices/system/cpu/cpufreq/policy1/scaling_governor = schedutil
/sys/fs/cgroup/cgroup.subtree_control = memory
/sys/devices/a/block/sda/dev = 8:0
/sys/devices/a/block/sda/size = 1000000
/sys/devices/a/block/sda/diskseq = 3
/sys/devices/a/block/sda/queue/read_ahead_kb = 128
/sys/devices/a/block/sda/queue/scheduler = [none] mq-deadline
/sys/devices/a/block/sda/queue/nr_requests = 256
/sys/devices/a/block/sda/queue/max_sectors_kb = 1280
/sys/devices/a/block/sda/sda1/dev = 8:1
/sys/devices/a/block/sda/sda1/partition = 1
/sys/devices/b/block/sdb/dev = 8:16
/sys/devices/b/block/sdb/queue/read_ahead_kb = 128
/sys/class/block/sda -> /sys/devices/a/block/sda
/sys/class/block/sda1 -> /sys/devices/a/block/sda/sda1
/sys/class/block/sdb -> /sys/devices/b/block/sdb
/sys/dev/block/8:1 -> /sys/devices/a/block/sda/sda1
/sys/block/sda -> /sys/devices/a/block/sda
/sys/block/sdb -> /sys/devices/b/block/sdb
/sys/fs/btrfs/4e1d/devices/sdb -> /sys/devices/b/block/sdb
/sys/fs/btrfs/4e1d/bdi/read_ahead_kb = 4096
/srv/
/data/
/mem/
";
const QUEUE: &str = "/sys/block/sda/queue";

struct Lab {
    _recording: Recording,
    host: Host,
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Lab {
        let recording = Recording::unpack(MACHINE);
        let host = recording.host();
        Lab { _recording: recording, host, folder: tempfile::tempdir().unwrap() }
    }

    fn with_kernel(kernel: Kernel) -> Lab {
        let lab = Lab::new();
        Lab { host: lab.host.clone().with_kernel(kernel), ..lab }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("brickyard.db-undo")
    }

    fn applier(&self) -> Applier<'_> {
        Applier::new(&self.host, &self.journal(), "0123")
    }

    fn held(&self, path: &str) -> String {
        in_force(&self.host.read(path).unwrap()).to_owned()
    }

    fn put(&self, path: &str, text: &str) {
        std::fs::write(self.host.path(path), text).unwrap();
    }

    fn apply(
        &self,
        applier: &mut Applier<'_>,
        directory: &str,
        changes: &[(&str, &str)],
    ) -> Result<Vec<Note>, Error> {
        let target = target(&self.host, directory.as_ref()).unwrap();
        applier.apply(&settings("file", changes), &[target])
    }
}

/// Knob, level, and where it lies: path and text.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const TABLE: &[Row] = &[
    ("read-ahead", "1MiB", &[("/sys/block/sda/queue/read_ahead_kb", "1024")]),
    ("io-scheduler", "mq-deadline", &[("/sys/block/sda/queue/scheduler", "mq-deadline")]),
    ("nr-requests", "64", &[("/sys/block/sda/queue/nr_requests", "64")]),
    ("max-sectors", "512KiB", &[("/sys/block/sda/queue/max_sectors_kb", "512")]),
    ("dirty-ratio", "5", &[("/proc/sys/vm/dirty_ratio", "5")]),
    ("dirty-expire", "500ms", &[("/proc/sys/vm/dirty_expire_centisecs", "50")]),
    ("swappiness", "0", &[("/proc/sys/vm/swappiness", "0")]),
    (
        "cpu-governor",
        "performance",
        &[
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance"),
            ("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance"),
        ],
    ),
    (
        "tcp-buffer-max",
        "64KiB",
        &[
            // It begins with no more than it may grow to.
            ("/proc/sys/net/ipv4/tcp_rmem", "4096\t65536\t65536"),
            ("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t65536"),
        ],
    ),
    (
        "socket-buffer-max",
        "1MiB",
        &[("/proc/sys/net/core/rmem_max", "1048576"), ("/proc/sys/net/core/wmem_max", "1048576")],
    ),
    ("tcp-congestion", "reno", &[("/proc/sys/net/ipv4/tcp_congestion_control", "reno")]),
    ("optmem-max", "1MiB", &[("/proc/sys/net/core/optmem_max", "1048576")]),
    ("interface-mtu", "9000", &[("/interface/eth0/mtu", "9000")]),
    ("interrupt-coalescing", "66us", &[("/interface/eth0/rx-usecs", "66")]),
    ("adaptive-coalescing", "false", &[("/interface/eth0/adaptive-rx", "off")]),
    ("rx-ring", "4096", &[("/interface/eth0/rx-ring", "4096")]),
    ("tx-ring", "512", &[("/interface/eth0/tx-ring", "512")]),
    (
        "tso",
        "false",
        &[
            ("/interface/eth0/feature/tx-tcp-segmentation", "off"),
            ("/interface/eth0/feature/tx-tcp6-segmentation", "off"),
            ("/interface/eth0/feature/tx-tcp-ecn-segmentation", "off"),
        ],
    ),
    ("gso", "false", &[("/interface/eth0/feature/tx-generic-segmentation", "off")]),
    ("gro", "false", &[("/interface/eth0/feature/rx-gro", "off")]),
    ("lro", "true", &[("/interface/eth0/feature/rx-lro", "on")]),
    ("rss-queues", "2", &[("/interface/eth0/combined-channels", "2")]),
    (
        "rps",
        "0-1,6",
        &[
            ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "43"),
            ("/sys/class/net/eth0/queues/rx-1/rps_cpus", "43"),
        ],
    ),
    (
        "interrupt-cpus",
        "2-3",
        &[("/proc/irq/24/smp_affinity", "0c"), ("/proc/irq/25/smp_affinity", "0c")],
    ),
    ("qdisc", "fq", &[("/interface/eth0/qdisc", "fq")]),
    ("netdev-backlog-max", "5000", &[("/proc/sys/net/core/netdev_max_backlog", "5000")]),
    ("transparent-hugepages", "never", &[("/sys/kernel/mm/transparent_hugepage/enabled", "never")]),
];

#[test]
fn every_knob_of_the_machine_is_written_where_it_lies_and_put_back() {
    let mounted = experiment::knob::system::mount::ALL.map(|knob| knob.name);
    let own = ["drop-caches", "memory-limit", "cpuset"];
    let apart = [&own[..], &mounted[..]].concat();
    let of_machine =
        |knob: &&&Knob| knob.scope == Scope::System && !matches!(knob.apply, Apply::Name);
    for knob in KNOBS.iter().filter(of_machine) {
        assert!(knob.default_value().is_as_is(), "{}", knob.name);
        let told = TABLE.iter().any(|(name, ..)| *name == knob.name);
        assert!(told || apart.contains(&knob.name), "{}: where does it lie?", knob.name);
    }
    for (name, level, places) in TABLE {
        let lab = Lab::new();
        let before: Vec<String> = places.iter().map(|(path, _)| lab.held(path)).collect();
        let mut applier = lab.applier();
        let changes = [("network-interface", "eth0"), (name, level)];
        assert_eq!(lab.apply(&mut applier, "/srv", &changes), Ok(Vec::new()), "{name}");
        for (path, text) in *places {
            assert_eq!(lab.held(path), *text, "{name}");
        }
        assert!(lab.journal().exists());
        assert_eq!(applier.after(), []);
        let said = applier.restore(&mut |_| {});
        assert!(said.len() >= places.len() && !said.iter().any(UndoOutcome::is_left), "{said:?}");
        let after: Vec<String> = places.iter().map(|(path, _)| lab.held(path)).collect();
        assert_eq!(after, before, "{name}");
        assert!(!lab.journal().exists());
    }
}

#[test]
fn what_is_left_as_it_is_touches_nothing_and_what_is_in_force_is_not_written() {
    let refuses: Kernel = |path, _| panic!("{} was written", path.display());
    let lab = Lab::with_kernel(refuses);
    let mut applier = lab.applier();
    assert!(!asks(&settings("file", &[])) && !asks(&settings("sim", &[])));
    assert_eq!(lab.apply(&mut applier, "/srv", &[]), Ok(Vec::new()));
    let same = [("read-ahead", "128KiB"), ("io-scheduler", "none"), ("swappiness", "60")];
    assert_eq!(lab.apply(&mut applier, "/srv", &same), Ok(Vec::new()));
    assert!(!lab.journal().exists());
}

#[test]
fn between_two_trials_only_what_differs_is_written_and_as_is_puts_back() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    let path = format!("{QUEUE}/read_ahead_kb");
    lab.apply(&mut applier, "/srv", &[("read-ahead", "1MiB"), ("swappiness", "1")]).unwrap();
    let lines = || std::fs::read_to_string(lab.journal()).unwrap().lines().count();
    let before = lines();
    lab.apply(&mut applier, "/srv", &[("read-ahead", "1MiB"), ("swappiness", "1")]).unwrap();
    assert_eq!(lines(), before, "nothing was to be done");
    lab.apply(&mut applier, "/srv", &[("read-ahead", "2MiB"), ("swappiness", "1")]).unwrap();
    assert_eq!((lab.held(&path).as_str(), lines()), ("2048", before + 1));
    lab.apply(&mut applier, "/srv", &[("swappiness", "1")]).unwrap();
    assert_eq!(
        (lab.held(&path).as_str(), lab.held("/proc/sys/vm/swappiness").as_str()),
        ("128", "1")
    );
    // However it ends.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _applier = applier;
        panic!("a trial");
    }));
    assert!(ended.is_err());
    assert_eq!(lab.held("/proc/sys/vm/swappiness"), "60");
    assert!(!lab.journal().exists());
}

/// A value that was refused must not count as in force when it is asked for again.
#[test]
fn a_kernel_that_refuses_is_quoted_each_time_and_the_rest_is_put_back() {
    let refuses: Kernel = |path, text| match path.ends_with("scheduler") && text == "bfq" {
        true => Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
        false => Ok(text.to_owned()),
    };
    let lab = Lab::with_kernel(refuses);
    let mut applier = lab.applier();
    for _ in 0..2 {
        let changes = [("read-ahead", "1MiB"), ("io-scheduler", "bfq")];
        let error = lab.apply(&mut applier, "/srv", &changes).unwrap_err();
        assert!(error.why.contains("Invalid argument"), "{error}");
        let hint = error.hint.unwrap();
        assert!(hint.contains("[none] mq-deadline") && hint.contains("`io-scheduler`"), "{hint}");
    }
    drop(applier);
    assert_eq!(lab.held(&format!("{QUEUE}/read_ahead_kb")), "128");
    assert!(!lab.journal().exists());
}

#[test]
fn what_the_kernel_rounds_is_noted_and_what_it_ignores_is_refused() {
    let rounds: Kernel = |path, text| match text {
        "1" if path.ends_with("nr_requests") => Ok("4".into()),
        text if path.ends_with("max_sectors_kb") && text != "1280" => Ok("1280".into()),
        "never" => Ok("always [madvise] never".into()),
        text => Ok(text.to_owned()),
    };
    let lab = Lab::with_kernel(rounds);
    let mut applier = lab.applier();
    for _ in 0..2 {
        let notes = lab.apply(&mut applier, "/srv", &[("nr-requests", "1")]).unwrap();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].kind, "setting-rounded");
        assert!(notes[0].text.contains("1 was asked for; in force was 4"), "{}", notes[0].text);
    }
    // The kernel counts in 10 ms.
    let notes = lab.apply(&mut applier, "/srv", &[("dirty-expire", "15ms")]).unwrap();
    assert!(notes[0].text.contains("in force was 20ms"), "{}", notes[0].text);
    for ignored in [("max-sectors", "512KiB"), ("transparent-hugepages", "never")] {
        let error = lab.apply(&mut applier, "/srv", &[ignored]).unwrap_err();
        assert!(error.why.contains("took it and holds"), "{error}");
    }
    assert!(!applier.restore(&mut |_| {}).iter().any(UndoOutcome::is_left));
    assert_eq!(lab.held(&format!("{QUEUE}/nr_requests")), "256");
    assert_eq!(lab.held("/proc/sys/vm/dirty_expire_centisecs"), "3000");
}

#[test]
fn a_device_that_vanishes_or_is_replaced_between_two_trials_is_not_written() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    let srv = target(&lab.host, "/srv".as_ref()).unwrap();
    let one = settings("file", &[("read-ahead", "1MiB")]);
    applier.apply(&one, std::slice::from_ref(&srv)).unwrap();
    lab.put("/sys/block/sda/diskseq", "4");
    let other = settings("file", &[("nr-requests", "8")]);
    // Another disk has the name: what is in force there is its own.
    applier.apply(&other, std::slice::from_ref(&srv)).unwrap();
    assert_eq!(lab.held(&format!("{QUEUE}/read_ahead_kb")), "1024", "not ours any more");
    std::fs::remove_file(lab.host.path("/sys/block/sda")).unwrap();
    let error = applier.apply(&one, std::slice::from_ref(&srv)).unwrap_err();
    assert!(error.why.contains("gone"), "{error}");
    assert!(error.hint.is_some());
    let said = applier.restore(&mut |_| {});
    assert!(!said.iter().any(UndoOutcome::is_left), "{said:?}");
    assert!(!lab.journal().exists());
}

#[test]
fn somebody_who_changes_a_setting_during_a_trial_is_told_of() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    lab.apply(&mut applier, "/srv", &[("swappiness", "1")]).unwrap();
    lab.put("/proc/sys/vm/swappiness", "99");
    let notes = applier.after();
    assert_eq!(notes[0].kind, "setting-changed");
    assert!(notes[0].text.contains("1 was in force at its start, 99 at its end"));
    // The next trial gets what it asks for.
    lab.apply(&mut applier, "/srv", &[("swappiness", "1")]).unwrap();
    assert_eq!((lab.held("/proc/sys/vm/swappiness").as_str(), applier.after().len()), ("1", 0));
}

/// nr_requests comes anew with each scheduler, so that giving it up means asking the kernel for
/// that scheduler's own.
#[test]
fn the_scheduler_and_what_it_disturbs_come_back_in_any_order() {
    let lab = Lab::new();
    let requests = format!("{QUEUE}/nr_requests");
    let mut applier = lab.applier();
    let both = [("io-scheduler", "mq-deadline"), ("nr-requests", "32")];
    lab.apply(&mut applier, "/srv", &both).unwrap();
    assert_eq!(lab.held(&requests), "32");
    lab.apply(&mut applier, "/srv", &both[..1]).unwrap();
    assert_eq!(lab.held(&requests), "256", "the scheduler was written anew");
    lab.apply(&mut applier, "/srv", &both[1..]).unwrap();
    assert_eq!(
        (lab.held(&requests).as_str(), lab.held(&format!("{QUEUE}/scheduler")).as_str()),
        ("32", "none")
    );
    lab.apply(&mut applier, "/srv", &both).unwrap();
    drop(applier);
    assert_eq!(
        (lab.held(&requests).as_str(), lab.held(&format!("{QUEUE}/scheduler")).as_str()),
        ("256", "none")
    );
}

#[test]
fn two_runs_do_not_change_the_same_setting() {
    let lab = Lab::new();
    let (mut one, elsewhere) = (lab.applier(), tempfile::tempdir().unwrap());
    lab.apply(&mut one, "/srv", &[("read-ahead", "1MiB")]).unwrap();
    let mut two = Applier::new(&lab.host, &elsewhere.path().join("undo"), "4567");
    let error = lab.apply(&mut two, "/srv", &[("read-ahead", "2MiB")]).unwrap_err();
    assert!(error.why.contains("another run"), "{error}");
    drop(two);
    assert_eq!(lab.held(&format!("{QUEUE}/read_ahead_kb")), "1024");
    drop(one);
    let mut two = Applier::new(&lab.host, &elsewhere.path().join("undo"), "4567");
    lab.apply(&mut two, "/srv", &[("read-ahead", "2MiB")]).unwrap();
}

#[test]
fn btrfs_reads_ahead_by_its_own_setting_and_memory_has_none() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    lab.apply(&mut applier, "/data", &[("read-ahead", "1MiB")]).unwrap();
    assert_eq!(lab.held("/sys/fs/btrfs/4e1d/bdi/read_ahead_kb"), "1024");
    assert_eq!(lab.held("/sys/block/sdb/queue/read_ahead_kb"), "128");
    let error = lab.apply(&mut applier, "/mem", &[("read-ahead", "1MiB")]).unwrap_err();
    assert!(error.why.contains("tmpfs") && error.hint.is_some(), "{error}");
    drop(applier);
    assert_eq!(lab.held("/sys/fs/btrfs/4e1d/bdi/read_ahead_kb"), "4096");
}

#[test]
fn caches_are_dropped_the_cpus_are_kept_for_the_load_and_a_group_without_limit_is_no_group() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    lab.apply(&mut applier, "/srv", &[("drop-caches", "false")]).unwrap();
    assert_eq!(lab.held("/proc/sys/vm/drop_caches"), "0");
    lab.apply(&mut applier, "/srv", &[("drop-caches", "true"), ("cpuset", "0-1,3")]).unwrap();
    assert_eq!(lab.held("/proc/sys/vm/drop_caches"), "3");
    assert_eq!(applier.cpus, [0, 1, 3]);
    assert!(!lab.journal().exists(), "there is nothing to put back");
    // No kernel behind this tree: the group gets no file for its limit.
    let error = lab.apply(&mut applier, "/srv", &[("memory-limit", "64MiB")]).unwrap_err();
    assert!(error.what.contains("brickyard-0123-1/memory.max"), "{error}");
    assert!(lab.host.exists("/sys/fs/cgroup/brickyard-0123-1"));
    applier.after();
    assert!(!lab.host.exists("/sys/fs/cgroup/brickyard-0123-1"));
    assert!(applier.cpus.is_empty());
}

#[test]
fn a_killed_runs_settings_are_put_back_before_the_next_measures() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    lab.apply(&mut applier, "/srv", &[("read-ahead", "1MiB"), ("dirty-ratio", "3")]).unwrap();
    let error = recover(&lab.host, &lab.journal(), &mut |_| {}).unwrap_err();
    assert!(error.why.contains("a run that changes settings"), "it lives: {error}");
    // A kill closes the files and runs nothing.
    applier.journal = None;
    drop(applier);
    let mut said = Vec::new();
    recover(&lab.host, &lab.journal(), &mut |one| said.push(one.to_string())).unwrap();
    assert_eq!(said.len(), 2);
    assert_eq!(said[0], "restored /proc/sys/vm/dirty_ratio: 20 (was 3)");
    assert_eq!(lab.held(&format!("{QUEUE}/read_ahead_kb")), "128");
    assert!(recover(&lab.host, &lab.journal(), &mut |_| {}).is_ok());
}

#[test]
fn a_preview_names_every_write_once_and_makes_none() {
    let refuses: Kernel = |path, _| panic!("{} was written", path.display());
    let lab = Lab::with_kernel(refuses);
    let targets = [target(&lab.host, "/srv".as_ref()).unwrap()];
    let of = |changes: &[(&str, &str)]| settings("file", changes);
    let cells = [
        of(&[("read-ahead", "1MiB"), ("memory-limit", "64MiB")]),
        of(&[("read-ahead", "1MiB"), ("drop-caches", "true")]),
        of(&[("read-ahead", "128KiB"), ("cpuset", "0,1")]),
    ];
    let lines = preview::writes(&lab.host, cells.iter(), &targets).unwrap();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert_eq!(
        lines[0],
        format!("read-ahead=1MiB: write 1024 to {QUEUE}/read_ahead_kb, which holds 128")
    );
    assert!(lines[1].contains("67108864") && lines[1].contains("/sys/fs/cgroup/brickyard-"));
    assert!(lines[2].contains("drop_caches"));
    assert!(lines[3].contains("leave") && lines[4].contains("cpuset=0,1"));
    assert!(find("cpuset").is_some() && preview::check(&lab.host, cells.iter(), &targets).is_ok());
    let none = preview::writes(&lab.host, [of(&[])].iter(), &targets);
    assert_eq!(none, Ok(Vec::new()));
}

/// A kernel loads the module of a congestion control that it has not, and keeps it: a trial would
/// leave the machine another one than it was.
#[test]
fn a_congestion_control_that_the_kernel_lacks_is_refused_with_those_that_it_has() {
    let refuses: Kernel = |path, _| panic!("{} was written", path.display());
    let lab = Lab::with_kernel(refuses);
    let mut applier = lab.applier();
    let refused = lab.apply(&mut applier, "/srv", &[("tcp-congestion", "bbr")]).unwrap_err();
    assert_eq!(refused.why, "this kernel has reno, cubic");
    assert!(refused.hint.is_some_and(|hint| hint.contains("leave `tcp-congestion` out")));
    assert!(!lab.journal().exists());
}

/// Each network namespace has these settings under the same names: what was changed in one must not
/// be "put back" in another.
#[test]
fn a_setting_of_another_network_namespace_is_left_alone_and_stays_in_the_journal() {
    let lab = Lab::new();
    let (path, link) = ("/proc/sys/net/ipv4/tcp_congestion_control", "/proc/self/ns/net");
    let mut applier = lab.applier();
    lab.apply(&mut applier, "/srv", &[("tcp-congestion", "reno")]).unwrap();
    let move_to = |namespace: &str| {
        std::fs::remove_file(lab.host.path(link)).unwrap();
        std::os::unix::fs::symlink(namespace, lab.host.path(link)).unwrap();
    };
    move_to("net:[4026532000]");
    let said = applier.restore(&mut |_| {});
    assert!(said.iter().any(|said| said.to_string().contains("another network namespace")));
    assert_eq!(lab.held(path), "reno");
    drop(applier);
    assert!(lab.journal().exists());
    move_to("net:[4026531840]");
    let mut journal = Journal::open(&lab.journal()).unwrap();
    let said = journal.undo(&lab.host, false, &mut |_| {});
    assert!(!said.iter().any(UndoOutcome::is_left), "{said:?}");
    assert_eq!(lab.held(path), "cubic");
}
