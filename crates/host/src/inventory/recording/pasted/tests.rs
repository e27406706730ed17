//! Texts that people pasted, and what becomes of them.

#![expect(clippy::disallowed_methods, reason = "reads fixtures, and makes folders of them")]

use base::stats::testing::Random;
use facts::inventory::server::{Array, Server};

use super::*;
use crate::inventory::recording::Recording;
use crate::inventory::server;

mod values;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/sys/pasted");

fn of(text: &str) -> Result<Server, String> {
    let what = || "cannot read".to_owned();
    let recording = Recording::of_bytes(text.as_bytes().to_vec(), what);
    let recording = recording.map_err(|error| error.why)?;
    Ok(server::server(&recording.host()))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{name}.txt")).unwrap()
}

fn read(name: &str) -> Server {
    of(&text(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn array(name: &str) -> Array {
    read(name).arrays[0].clone()
}

/// All of them, by name.
fn fixtures() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Files of a tree that decide on ceilings and on warnings, by the end of their path.
fn figures(text: &str) -> Option<Vec<(String, Vec<u8>)>> {
    const ENDS: &[&str] = &[
        "_link_speed",
        "_link_width",
        "/speed",
        "/size",
        "/md/level",
        "/md/raid_disks",
        "/md/degraded",
        "/md/chunk_size",
        "/physical_package_id",
        "/cpu/online",
        "/cpuinfo_max_freq",
        "/numa_node",
    ];
    let tree = tree(&[Named { name: "text", text }]).ok()?;
    let of = |(path, node): (&str, &Node)| {
        let Node::File(bytes) = node else { return None };
        let ends = ENDS.iter().any(|end| path.ends_with(end));
        let parts: Vec<&str> = path.rsplit('/').take(3).collect();
        // Where a function hangs may be lost with the bridge above it.
        let known = if parts[1] == "md" { parts.join("/") } else { parts[..2].join("/") };
        ends.then(|| (known, bytes.clone()))
    };
    Some(tree.nodes().filter_map(of).collect())
}

/// What a damaged text tells that the whole one does not; `None` where it is refused.
fn others(whole: &[(String, Vec<u8>)], damaged: &str) -> Option<Vec<String>> {
    // Without its prompt a disk has another name.
    let known = |figure: &(String, Vec<u8>)| whole.contains(figure) || figure.0.contains("unnamed");
    let found = figures(damaged)?.into_iter().filter(|figure| !known(figure));
    Some(found.map(|(path, text)| format!("{path} = {}", String::from_utf8_lossy(&text))).collect())
}

#[test]
fn every_text_is_read_and_says_what_it_was_made_from() {
    for name in fixtures() {
        let server = read(&name);
        let texts = server.parts.iter().find(|part| part.name == "texts");
        assert!(texts.is_some_and(|part| !part.things.is_empty()), "{name}");
        assert!(knows(&text(&name)) && !kinds_of(&text(&name)).is_empty());
        let told = |what: &str| server.unread.iter().any(|unread| unread.what == what);
        assert_eq!(server.processors.online.is_empty(), told("the processors"), "{name}");
        if told("the disks") && told("the health of the disks") {
            assert!(server.drives.is_empty() || name.starts_with("hwloc"), "{name}");
        }
        assert!(server.unread.iter().all(|unread| !unread.place.is_empty()), "{name}");
    }
}

/// Cut at every byte with BRICKYARD_LONG=1, else of long ones at five hundred places.
#[test]
fn a_text_that_is_cut_tells_the_same_or_less_or_is_refused() {
    let mut wrong = Vec::new();
    for name in fixtures() {
        let all = text(&name);
        let whole = figures(&all).unwrap();
        let long = std::env::var_os("BRICKYARD_LONG").is_some();
        let step = if long { 1 } else { (all.len() / 500).max(1) };
        for end in (0..all.len()).step_by(step).filter(|end| all.is_char_boundary(*end)) {
            let found = others(&whole, &all[..end]).unwrap_or_default();
            wrong.extend(found.into_iter().map(|figure| format!("{name} cut at {end}: {figure}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn lines_that_are_lost_or_doubled_make_no_other_machine() {
    let mut random = Random::new(28);
    let (mut kept, mut wrong) = (0, Vec::new());
    for name in fixtures() {
        let all = text(&name);
        let whole = figures(&all).unwrap();
        let lines: Vec<&str> = all.lines().collect();
        for round in 0..60 {
            let at = ((random.uniform() * lines.len() as f64) as usize).min(lines.len() - 1);
            let mut changed = lines.clone();
            match round % 2 {
                0 => drop(changed.remove(at)),
                _ => changed.insert(at, lines[at]),
            }
            let how = ["lost", "doubled"][round % 2];
            let Some(found) = others(&whole, &(changed.join("\n") + "\n")) else { continue };
            kept += 1;
            let told = found.into_iter();
            wrong.extend(told.map(|it| format!("{name}, line {} {how}: {it}", at + 1)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(60)].join("\n"));
    assert!(kept > 1000, "{kept}");
}

/// Windows, mails and web pages change line ends, and add signs before lines.
#[test]
fn what_mails_and_windows_do_to_a_text_changes_nothing() {
    for name in ["mdadm-raid5", "lspci-flit", "lsblk", "smartctl-sata-6.2", "lscpu-2.37"] {
        let all = text(name);
        let whole = figures(&all).unwrap();
        let quoted: String = all.lines().map(|line| format!("> {line}\n")).collect();
        let windows = all.replace('\n', "\r\n");
        let coloured = all.replace("Raid", "\u{1b}[1mRaid\u{1b}[0m");
        for changed in [quoted, windows, coloured] {
            assert_eq!(figures(&changed).as_ref(), Some(&whole), "{name}");
        }
    }
}

#[test]
fn several_texts_are_one_machine_and_one_file_may_hold_several() {
    let names = ["mdadm-raid5", "lscpu-2.38", "lspci-flit", "nvme-list2", "smartctl-sata-6.2"];
    let all: String = names.iter().map(|name| text(name)).collect();
    let server = of(&all).unwrap();
    assert_eq!((server.arrays.len(), server.processors.cores), (1, Some(2)));
    assert_eq!((server.pci.len(), server.drives.len()), (1, 2));
    let part = server.parts.iter().find(|part| part.name == "texts").unwrap();
    let made: Vec<&str> = part.things.iter().map(|thing| thing.name.as_str()).collect();
    let due = ["mdadm --detail", "lscpu", "lspci", "nvme list", "smartctl -a /dev/sda"];
    assert_eq!(made, due);
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<std::path::PathBuf> = names
        .iter()
        .map(|name| {
            let path = folder.path().join(name);
            std::fs::write(&path, text(name)).unwrap();
            path
        })
        .collect();
    let recording = Recording::open_paths(&paths).unwrap();
    assert!(recording.is_pasted());
    let apart = server::server(&recording.host());
    assert_eq!((apart.arrays, apart.pci, apart.drives), (server.arrays, server.pci, server.drives));
    // A recording is a whole machine.
    let recorded = folder.path().join("recorded");
    std::fs::write(&recorded, "/proc/version = x\n").unwrap();
    let both = [paths[0].clone(), recorded];
    let refused = Recording::open_paths(&both).unwrap_err();
    assert!(refused.why.contains("whole machine"), "{refused}");
}

/// Two machines put together would have the disks of both.
#[test]
fn texts_that_contradict_each_other_are_refused_with_both_words() {
    let one = text("mdadm-raid5");
    let other = one.replace("Chunk Size : 512K", "Chunk Size : 64K");
    let why = of(&format!("{one}{other}")).unwrap_err();
    assert!(why.contains("md/chunk_size") && why.contains("one machine"), "{why}");
    let disk = text("smartctl-sata-6.2");
    let other = disk.replace("SERIAL0001", "SERIAL0002");
    let why = of(&format!("{disk}{other}")).unwrap_err();
    assert!(why.contains("SERIAL0001") && why.contains("SERIAL0002"), "{why}");
    // What moves by itself may be told anew.
    let later = disk.replace("Always       -       41 (", "Always       -       44 (");
    assert_eq!(of(&format!("{disk}{later}")).unwrap().drives.len(), 1);
}

#[test]
fn names_that_lead_out_of_the_tree_are_refused() {
    for (name, from, to) in [
        ("mdadm-raid5", "/dev/vda1", "/dev/../../etc/passwd"),
        ("mdadm-raid5", "/dev/md0:", "/dev/md/../../x:"),
        ("lsblk", "sda1", "../x"),
        ("lsblk-2.38-json", "\"vda\"", "\"../../vda\""),
        ("ip-d-addr", "enp0s31f6", "../../../x"),
        ("nvme-list", "/dev/nvme0n1", "/dev/../../x"),
        ("ethtool-g", "eth0", "../eth0"),
        ("zpool-list", "otus1", "../otus1"),
        ("mdstat", "sdj2[1]", "../j2[1]"),
    ] {
        let changed = text(name).replace(from, to);
        assert!(changed.contains(to), "{name}");
        match tree(&[Named { name, text: &changed }]) {
            Err(why) => assert!(!why.is_empty()),
            Ok(tree) => assert!(tree.nodes().all(|(path, _)| !path.contains("..")), "{name}"),
        }
    }
}

#[test]
fn what_is_no_text_of_a_machine_is_refused_truly() {
    let why = of("hello\nworld\n").unwrap_err();
    assert!(why.contains("it is no recording") && why.contains("mdadm --detail"), "{why}");
    let json = text("lsblk-2.38-json");
    let why = of(&json[..json.len() / 2]).unwrap_err();
    assert!(why.contains("does not end"), "{why}");
    for (bytes, word) in [(&b"BZh91AY"[..], "bzip2"), (b"PK\x03\x04", "zip")] {
        let error = Recording::of_bytes(bytes.to_vec(), String::new).unwrap_err();
        assert!(error.why.contains(word) && error.hint.is_some(), "{error}");
    }
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(Recording::of_bytes(tar, String::new).unwrap_err().why.contains("tar"));
    // A recording that holds such texts is a recording.
    let recorded = "/proc/meminfo:\n    MemTotal:       100 kB\n/proc/mdstat:\n    \
                    Personalities : [raid1]\n    unused devices: <none>\n";
    let recording = Recording::of_bytes(recorded.into(), String::new).unwrap();
    assert!(!recording.is_pasted());
}

/// `sos report` names files after commands, and some outputs in it may be broken.
#[test]
fn the_folder_of_a_sosreport_is_read_and_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("sos_commands/block/lsblk", &text("lsblk-multipath"));
    put("sos_commands/pci/lspci_-nnvv", &text("lspci-flit"));
    put("sos_commands/processor/lscpu", &text("lscpu-2.38"));
    put("sos_commands/md/mdadm_-D_.dev.md0", "/dev/md0:\n   Version : 1.2\n");
    put("sos_commands/networking/ethtool_-i_eth0", &text("ethtool-i").replace("# ethtool", "#"));
    put("proc/sys/vm/dirty_ratio", "20\n");
    put("sys/devices/system/cpu/online", "0-1\n");
    put("sos_commands/networking/ip_-d_address", &text("ip-d-addr-text"));
    std::os::unix::fs::symlink("/etc", folder.path().join("sys/class")).unwrap();
    let recording = Recording::open_path(folder.path()).unwrap();
    let server = server::server(&recording.host());
    assert_eq!((server.drives.len(), server.pci.len()), (7, 1));
    assert_eq!(server.processors.cores, Some(2));
    let eth0 = server.interfaces.iter().find(|it| it.name == "eth0").unwrap();
    assert_eq!(eth0.driver.as_deref(), Some("virtio_net"));
    assert_eq!(server.settings.len(), 1);
    let broken = server.unread.iter().find(|unread| unread.what.contains("mdadm_-D")).unwrap();
    assert!(broken.why.contains("Raid Level"), "{broken:?}");
    // "settings of the kernel: nothing that is read of them tells it" stood below the settings.
    let is_missed = |what: &str| server.unread.iter().any(|it| it.what == what);
    assert!(!is_missed("settings of the kernel") && is_missed("mounted file systems"));
    assert!(server.interfaces.iter().any(|it| it.kind == "bridge"));
}
