//! Two machines with real drivers of cards between them: what both ends did, and what a card was
//! set to.

use std::time::Duration;

use super::{Machine, bootable};
use crate::disk::beside_this_machine;
use crate::run::{draw, figure, trials};

/// Rows 1e and 1h of the sources, between two machines instead of two namespaces. A machine that is
/// emulated beside another may be slower than the wire, and is never faster.
#[test]
fn both_machines_are_in_one_table_and_a_card_is_set_for_each_trial_and_put_back() {
    if !bootable("two machines with cards", "pair") {
        return;
    }
    let _beside = beside_this_machine();
    let wire = draw("bits per second of the wire", 4_000_000, 8_000_000);
    let bits = wire.to_string();
    let script = format!("wire={bits}\n{}", include_str!("guest/pair.sh"));
    let environment = [("CARD", "e1000e")];
    let machine = Machine::run("pair", &environment, &script, Duration::from_secs(600));
    let document = machine.json("wire.json");
    for trial in trials(&document) {
        // Of a frame of 1514 bytes TCP has 1448, with its time stamps.
        let most = wire as f64 / 8.0 * 1448.0 / 1514.0;
        let share = figure(trial, "throughput_bytes_per_s") / most;
        println!("{}: {share:.3} of the wire", trial["settings"]["direction"]);
        assert!((0.5..1.03).contains(&share), "{share}: {trial:#}");
        for end in ["", "peer_"] {
            let of = |name: &str| figure(trial, &format!("{end}{name}"));
            assert!(of("interrupts_per_s") > 10.0, "{trial:#}");
            assert!(of("context_switches_per_s") > 10.0, "{trial:#}");
            let busy = of("cpu_busy_share");
            assert!((0.001..=1.0).contains(&busy), "{busy}: {trial:#}");
        }
    }
    assert_eq!(trials(&document).len(), 2, "{}", machine.said);
    assert!(machine.said.contains("switches/s there"), "{}", machine.said);
    let asked = machine.wrote("wire.csv");
    assert_eq!(asked.lines().filter(|line| line.contains("receive,")).count(), 1, "{asked}");
    // The link goes down with each change of the ring: a trial at once had no route to the other.
    let document = machine.json("card.json");
    let (seen, all) = (machine.wrote("seen"), trials(&document));
    assert_eq!(all.len(), 4, "{}", machine.said);
    for trial in all {
        assert_eq!(trial["outcome"], "done", "{}", machine.said);
        let of = |knob: &str| trial["settings"][knob].as_u64().expect("a number");
        let set = format!("{} {}", of("interrupt-coalescing") / 1000, of("rx-ring"));
        assert!(
            seen.lines().any(|line| line.trim().ends_with(&format!(" {set}"))),
            "{set}:\n{seen}"
        );
        println!(
            "rx-usecs and ring {set}: {:.0} interrupts/s, {:.1} MB/s",
            figure(trial, "interrupts_per_s"),
            figure(trial, "throughput_bytes_per_s") / 1e6
        );
    }
    assert_eq!(machine.wrote("before"), machine.wrote("after"));
}
