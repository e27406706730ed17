//! The second source's server from its recordings, and machines that differ from it in one thing.

use serde_json::json;

use super::*;
use experiment::published;
use facts::inventory::pcie::Pace;
use facts::inventory::server::Link;
use host::inventory::recording::Recording;
use host::inventory::server::server;

/// The set's records, and an inventory of its machines in which `change` changed each.
pub fn sara(change: impl Fn(&str, &mut Server)) -> (Vec<Record>, Json) {
    let set = published::find("sara-2010").unwrap();
    let mut all = serde_json::Map::new();
    for machine in &set.configurations {
        let recording = Recording::of_shipped(&machine.name, &machine.recording).unwrap();
        let mut of = server(&recording.host());
        change(&machine.name, &mut of);
        all.insert(machine.name.clone(), json!({ "server": of }));
    }
    (set.records.clone(), json!({ "configurations": all }))
}

/// What held the throughputs.
fn held(records: &[Record], inventory: &Json) -> Vec<Finding> {
    let mut all = findings(records, inventory);
    all.retain(|finding| finding.question == QUESTION);
    all
}

fn said<'a>(findings: &'a [Finding], words: &str) -> &'a Finding {
    let mut all = findings.iter().filter(|finding| finding.whole().contains(words));
    let first = all.next().unwrap_or_else(|| panic!("{words:?} is not in {findings:#?}"));
    assert!(all.next().is_none(), "{words:?} is there twice");
    first
}

/// Gives the link of every storage controller so many lanes at such a speed, at both ends.
fn storage_link(server: &mut Server, gt_per_s: f64, lanes: u32) {
    const STORAGE: u32 = 0x01;
    let pace = Some(Pace { gt_per_s, lanes });
    let parents: Vec<Option<String>> = server
        .pci
        .iter_mut()
        .filter(|function| function.class >> 16 == STORAGE && function.link.is_some())
        .map(|function| {
            function.link = Some(Link { current: pace, max: pace });
            function.parent.clone()
        })
        .collect();
    assert!(!parents.is_empty());
    for bridge in &mut server.pci {
        if parents.contains(&Some(bridge.address.clone())) {
            bridge.link = Some(Link { current: pace, max: pace });
        }
    }
}

#[test]
fn the_link_of_four_lanes_is_named_without_being_told() {
    let (records, inventory) = sara(|_, _| ());
    let all = findings(&records, &inventory);
    let finding = said(&all, "852 MB/s from 5 disks");
    assert_eq!(finding.limit.as_deref(), Some("link"));
    let claim = finding.whole();
    assert!(claim.contains("Held by the x4 PCIe 1.0 link of"), "{claim}");
    assert!(claim.contains("(0000:03:00.0), of whose"), "{claim}");
    assert!(claim.contains("of whose 1000 MB/s it is 85 %"), "{claim}");
    assert!(claim.contains("8/10") && claim.contains("van der Pol and Dijkstra, 2010"), "{claim}");
    assert!(claim.contains("more of them brought no more"), "{claim}");
    assert!(claim.contains("21 % more, which confirms it"), "{claim}");
    assert!(finding.advice.as_ref().unwrap().contains("2000 MB/s"), "{finding:?}");
    assert_eq!(finding.evidence.len(), 2);
}

#[test]
fn in_the_wide_slot_link_and_disks_are_cleared_and_the_controller_is_the_first_suspect() {
    let (records, inventory) = sara(|_, _| ());
    let all = findings(&records, &inventory);
    let finding = said(&all, "1028 MB/s from 6 disks");
    assert_eq!(finding.limit.as_deref(), Some("unknown"));
    let claim = finding.whole();
    assert!(claim.contains("51 % of 2000 MB/s"), "{claim}");
    assert!(claim.contains("the 6 disks (69 % to 86 % of 1200 to 1500 MB/s; more"), "{claim}");
    assert!(claim.contains("First suspect: the controller"), "{claim}");
    assert!(claim.contains("we are not sure why"), "{claim}");
}

/// "A user of a 10 Gb/s card in a slot of four lanes gets 7."
#[test]
fn three_network_cards_are_judged_by_their_slots() {
    let (records, inventory) = sara(|_, _| ());
    let all = findings(&records, &inventory);
    let narrow = said(&all, "through slot 1 with cpu-pinning");
    assert_eq!(narrow.limit.as_deref(), Some("link"), "{narrow:?}");
    assert!(narrow.whole().contains("86 %"), "{narrow:?}");
    let wide = said(&all, "through slot 2 with cpu-pinning");
    assert_eq!(wide.limit.as_deref(), Some("network"), "{wide:?}");
    let unpinned = said(&all, "through slot 2 without pinning");
    assert_eq!(unpinned.limit.as_deref(), Some("unknown"), "{unpinned:?}");
    assert!(unpinned.whole().contains("`cpu-pinning`"), "{unpinned:?}");
}

#[test]
fn the_network_cards_are_too_slow_for_their_ports_and_not_downtrained() {
    let (records, inventory) = sara(|_, _| ());
    let all = findings(&records, &inventory);
    for card in ["0000:04:00.0", "0000:07:00.0", "0000:08:00.0"] {
        let of = |finding: &&Finding| {
            finding.severity == Severity::Warning && finding.whole().contains(card)
        };
        let of: Vec<&Finding> = all.iter().filter(of).collect();
        let slow = of.iter().filter(|finding| finding.whole().contains("too slow for its port"));
        assert_eq!(slow.count(), 1, "{card}: {of:#?}");
        assert!(of.iter().all(|finding| !finding.whole().contains("runs below")), "{of:#?}");
    }
}

#[test]
fn a_link_of_a_later_generation_in_the_same_slot_is_not_blamed() {
    let (records, inventory) = sara(|_, server| storage_link(server, 5.0, 4));
    let all = findings(&records, &inventory);
    let finding = said(&all, "852 MB/s from 5 disks");
    assert_eq!(finding.limit.as_deref(), Some("unknown"), "{finding:?}");
    assert!(finding.whole().contains("43 % of 2000 MB/s"), "{finding:?}");
}

/// The wide slot as narrow as the other: then 980 MiB/s are more than can come through it.
#[test]
fn a_machine_that_cannot_have_delivered_it_is_not_the_one_that_was_measured() {
    let (records, inventory) = sara(|_, server| storage_link(server, 2.5, 4));
    let all = findings(&records, &inventory);
    let finding = said(&all, "1028 MB/s from 6 disks");
    assert_eq!(finding.limit.as_deref(), Some("unknown"), "{finding:?}");
    assert!(finding.whole().contains("not the one that was measured"), "{finding:?}");
}

fn with_rates(records: &mut [Record], change: impl Fn(&str, &mut f64)) {
    for record in records {
        let experiment::measurement::Outcome::Done(measurement) = &mut record.outcome else {
            continue;
        };
        let Some(reported) = &mut measurement.reported else { continue };
        let name = reported.configuration.clone().unwrap_or_default();
        for figure in &mut reported.figures {
            if figure.name == "level_off_throughput_bytes_per_s" {
                change(&name, &mut figure.value);
            }
        }
    }
}

/// Had the wide slot brought no more, the narrow one would not have been the limit.
#[test]
fn a_wider_link_without_more_through_it_speaks_against_the_narrow_one() {
    let (mut records, inventory) = sara(|_, _| ());
    with_rates(&mut records, |machine, rate| {
        if machine == "x8" {
            *rate = 860e6;
        }
    });
    let all = findings(&records, &inventory);
    let finding = said(&all, "852 MB/s from 5 disks");
    assert_eq!(finding.limit.as_deref(), Some("unknown"), "{finding:?}");
    assert!(finding.whole().contains("speaks against it"), "{finding:?}");
    assert!(finding.whole().contains("then the controller"), "{finding:?}");
}

/// Nine lines that say "unknown" are better than one that guesses.
#[test]
fn without_a_recording_nothing_is_named() {
    let (records, _) = sara(|_, _| ());
    for inventory in [json!(null), json!({ "configurations": { "x4": {} } }), json!([1])] {
        let all = held(&records, &inventory);
        assert!(!all.is_empty());
        assert!(all.iter().all(|finding| finding.limit.as_deref() == Some("unknown")), "{all:#?}");
    }
}

/// A text of servers that are described without their slots gave a finding for each of its 156
/// throughputs, all of which said the same.
#[test]
fn what_is_not_known_for_one_reason_is_said_once_for_each_place() {
    let set = experiment::published::find("cdf-2002").expect("a set");
    let all = held(&set.records, &json!(null));
    assert_eq!(all.len(), 7, "{all:#?}");
    let raid = said(&all, "(section Raid Configurations)");
    assert!(raid.claim.starts_with("24 throughputs from disks, 39.0 MB/s"), "{raid:?}");
    assert_eq!((raid.evidence.len(), raid.limit.as_deref()), (24, Some("unknown")));
}

#[test]
fn what_was_measured_here_is_not_judged_here() {
    let trial = experiment::plan::Trial {
        number: 1,
        replicate: 1,
        group: "g".into(),
        settings: Settings::defaults("file"),
        first_file: 0,
        seed: 1,
        planned: None,
    };
    let record = Record::new(trial, experiment::measurement::Outcome::Done(Box::default()));
    let (mut records, inventory) = sara(|_, _| ());
    assert!(findings(std::slice::from_ref(&record), &inventory).is_empty());
    assert!(answer(std::slice::from_ref(&record)).is_none());
    assert!(answer(&records).unwrap()[0].contains("Nothing of this was measured here"));
    records.push(record);
    assert!(answer(&records).is_none());
}
