//! Trials between two machines: what each of them writes of what a trial asks.

use super::*;

fn trial(at: &str) -> Settings {
    settings(
        "net-file",
        &[
            ("peer", "10.0.0.2"),
            ("settings-at", at),
            ("network-interface", "eth0"),
            ("peer-interface", "eth0"),
            ("read-ahead", "1MiB"),
            ("netdev-backlog-max", "5000"),
            ("rps", "0-1,6"),
            ("gro", "false"),
        ],
    )
}

const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
const RPS: &str = "/sys/class/net/eth0/queues/rx-0/rps_cpus";
const GRO: &str = "/interface/eth0/feature/rx-gro";
const READ_AHEAD: &str = "/sys/block/sda/queue/read_ahead_kb";

/// What is asked of the other machine alone was written here as well, or what is of files there.
#[test]
fn each_machine_writes_what_is_asked_of_it_and_puts_it_back() {
    for (at, here, there) in [("here", true, false), ("peer", false, true), ("both", true, true)] {
        let lab = Lab::new();
        let before = [BACKLOG, RPS, GRO, READ_AHEAD].map(|path| lab.held(path));
        let holds = |set: bool| {
            let held = [BACKLOG, RPS, GRO].map(|path| lab.held(path));
            assert_eq!(held == ["5000", "43", "off"], set, "{at}: {held:?}");
        };
        let targets = [target(&lab.host, "/srv".as_ref()).unwrap()];
        let mut applier = lab.applier();
        assert_eq!(applier.apply(&trial(at), &targets), Ok(Vec::new()), "{at}");
        holds(here);
        assert_eq!(lab.held(READ_AHEAD), "1024", "{at}: files are here");
        applier.restore(&mut |_| {});
        let mut applier = lab.applier();
        assert_eq!(applier.apply(&trial(at).asked_of_peer(), &[]), Ok(Vec::new()), "{at}");
        holds(there);
        assert_eq!(lab.held(READ_AHEAD), before[3], "{at}: no file is there");
        let told = applier.in_force();
        let told: Vec<(&str, &str)> =
            told.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let all = [("gro", "false"), ("netdev-backlog-max", "5000"), ("rps", "0-1,6")];
        assert_eq!(told, if there { &all[..] } else { &[] }, "{at}");
        drop(applier);
        assert_eq!([BACKLOG, RPS, GRO, READ_AHEAD].map(|path| lab.held(path)), before, "{at}");
    }
}
