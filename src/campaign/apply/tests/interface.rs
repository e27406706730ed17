//! Knobs of a network interface: only the one that was named, by trials that go over it.

use super::*;

#[test]
fn an_interface_that_nobody_named_and_a_wire_of_the_trials_own_are_left_alone() {
    let lab = Lab::new();
    let mut applier = lab.applier();
    let mut refused = |engine: &str, changes: &[(&str, &str)]| {
        let error = applier.apply(&settings(engine, changes), &[]).unwrap_err();
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("leave")), "{error:?}");
        error.why
    };
    let why = refused("command", &[("interface-mtu", "9000")]);
    assert!(why.contains("names none") && why.contains("eth0"), "{why}");
    let named = [("interface-mtu", "9000"), ("network-interface", "eth1")];
    let why = refused("command", &named);
    assert!(why.contains("no `eth1`") && why.contains("eth0"), "{why}");
    let named = [("interface-mtu", "9000"), ("network-interface", "eth0")];
    let why = refused("net", &named);
    assert!(why.contains("veth pair of its own"), "{why}");
    assert!(!lab.journal().exists(), "nothing was to be undone");
    for (knob, value) in [("wire", "loopback"), ("peer-namespace", "b"), ("peer", "server2")] {
        let all = [named[0], named[1], (knob, value)];
        lab.applier().apply(&settings("net", &all), &[]).unwrap();
    }
    assert_eq!(lab.held("/interface/eth0/mtu"), "1500");
}

#[test]
fn a_name_alone_changes_nothing_and_asks_for_nothing() {
    let lab = Lab::with_kernel(|path, _| panic!("{} was written", path.display()));
    let alone = settings("command", &[("network-interface", "eth0")]);
    assert!(!asks(&alone));
    assert_eq!(lab.applier().apply(&alone, &[]), Ok(Vec::new()));
}

/// What the driver sets along while it chooses by itself is put back, too.
#[test]
fn the_time_that_a_driver_chose_meanwhile_is_put_back() {
    let lab = Lab::new();
    lab.put("/interface/eth0/adaptive-rx", "off");
    let mut applier = lab.applier();
    let changes = [("network-interface", "eth0"), ("adaptive-coalescing", "true")];
    lab.apply(&mut applier, "/srv", &changes).unwrap();
    lab.put("/interface/eth0/rx-usecs", "41");
    drop(applier);
    let held = |name: &str| lab.held(&format!("/interface/eth0/{name}"));
    assert_eq!((held("adaptive-rx").as_str(), held("rx-usecs").as_str()), ("off", "3"));
}

#[test]
fn undo_writes_to_no_other_interface_of_that_name_and_to_none_of_another_namespace() {
    for (path, text, fate) in [
        ("/sys/class/net/eth0/ifindex", "7", Some("another device")),
        ("/sys/class/net/eth0/address", "52:54:00:00:00:09", Some("another device")),
        ("namespace", "net:[4026532999]", None),
    ] {
        let lab = Lab::new();
        let mut applier = lab.applier();
        let changes = [("network-interface", "eth0"), ("interface-mtu", "9000"), ("rps", "1")];
        lab.apply(&mut applier, "/srv", &changes).unwrap();
        match fate {
            Some(_) => lab.put(path, text),
            None => {
                let link = lab.host.path("/proc/self/ns/net");
                std::fs::remove_file(&link).unwrap();
                std::os::unix::fs::symlink(text, &link).unwrap();
                std::fs::remove_file(lab.host.path("/interface/eth0/mtu")).unwrap();
            }
        }
        let said = applier.restore(&mut |_| {});
        assert_eq!(said.len(), 3, "{said:?}");
        for one in &said {
            match fate {
                Some(words) => assert!(one.to_string().contains(words), "{one}"),
                None => assert!(one.failed() && one.to_string().contains("4026531840"), "{one}"),
            }
        }
        assert_eq!(lab.journal().exists(), fate.is_none(), "what is elsewhere stays noted");
        assert_eq!(lab.held("/sys/class/net/eth0/queues/rx-0/rps_cpus"), "02");
    }
}

#[test]
fn what_a_driver_does_not_tell_is_told_before_a_run_and_keeps_it_from_nothing() {
    let lab = Lab::new();
    std::fs::remove_file(lab.host.path("/interface/eth0/rx-ring")).unwrap();
    let all = [("network-interface", "eth0"), ("rx-ring", "512"), ("interface-mtu", "9000")];
    let cells = [settings("command", &all)];
    let lines = preview::writes(&lab.host, cells.iter(), &[]).unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("write 9000 to interface:eth0/mtu"), "{lines:?}");
    assert!(lines[1].contains("rx-ring=512: its trials are skipped: cannot"), "{lines:?}");
    preview::check(&lab.host, cells.iter(), &[]).unwrap();
    assert!(lab.applier().apply(&cells[0], &[]).is_err());
    assert_eq!(lab.held("/interface/eth0/mtu"), "1500", "what was set first is put back");
}

/// A card of Intel's is down for two seconds after each change of its ring: two of twelve trials
/// failed with "No route to host".
#[test]
fn a_card_whose_link_goes_down_with_a_change_is_waited_for() {
    static CARRIER: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let lab = Lab::with_kernel(|path, text| {
        if path.to_string_lossy().ends_with("eth0/rx-ring") {
            let carrier = CARRIER.get().expect("where it is");
            std::fs::write(carrier, "0")?;
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(150));
                std::fs::write(carrier, "1").unwrap();
            });
        }
        Ok(text.to_owned())
    });
    CARRIER.set(lab.host.path("/sys/class/net/eth0/carrier")).unwrap();
    lab.put("/sys/class/net/eth0/carrier", "1");
    let mut applier = lab.applier();
    let changes = [("network-interface", "eth0"), ("rx-ring", "1024")];
    lab.apply(&mut applier, "/srv", &changes).unwrap();
    assert_eq!(lab.held("/sys/class/net/eth0/carrier"), "1");
    assert_eq!(lab.held("/interface/eth0/rx-ring"), "1024");
    // Nor may the next trial find it down, which names no card: the ring is put back for it.
    lab.apply(&mut applier, "/srv", &[]).unwrap();
    assert_eq!(lab.held("/interface/eth0/rx-ring"), "256");
    assert_eq!(lab.held("/sys/class/net/eth0/carrier"), "1");
    // One that had no link before is not waited for.
    lab.put("/sys/class/net/eth0/carrier", "0");
    let changes = [("network-interface", "eth0"), ("interface-mtu", "9000")];
    lab.apply(&mut applier, "/srv", &changes).unwrap();
}
