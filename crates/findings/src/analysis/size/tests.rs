//! The second source's server, machines that differ from it, and trials made by hand.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use base::value::Value;
use experiment::knob::{self, Settings};
use experiment::measurement::Outcome;
use experiment::measurement::limit::testing::Scene;
use experiment::published;
use facts::counters::series::{Column, ColumnKind, Series};
use facts::inventory::server::Slot;
use host::inventory::recording::Recording;
use host::inventory::server::server;

const TARGET: f64 = 5e9;

/// The set's records, and an inventory of its machines in which `change` changed each.
fn sara(change: impl Fn(&mut Server)) -> (Vec<Record>, Json) {
    let set = published::find("sara-2010").unwrap();
    let mut all = serde_json::Map::new();
    for machine in &set.configurations {
        let recording = Recording::of_shipped(&machine.name, &machine.recording).unwrap();
        let mut of = server(&recording.host());
        change(&mut of);
        all.insert(machine.name.clone(), json!({ "server": of }));
    }
    (set.records.clone(), json!({ "configurations": all }))
}

fn asked(throughput_bytes_per_s: f64) -> SizingRequest {
    SizingRequest { throughput_bytes_per_s, ..SizingRequest::default() }
}

fn sized(change: impl Fn(&mut Server)) -> Sizing {
    let (records, inventory) = sara(change);
    size(&records, &inventory, &asked(TARGET))
}

fn ends(need: &PartsNeeded) -> [Option<u64>; 3] {
    [need.value, need.low, need.high]
}

/// So many slots of that width, instead of those that there are.
fn slots(server: &mut Server, number: usize, lanes: u32) {
    let kind = Some(format!("PCI Express Gen 2 x{lanes}"));
    server.firmware.slots = vec![Slot { kind, lanes: Some(lanes), ..Slot::default() }; number];
}

#[test]
fn the_second_source_needs_what_its_authors_expected_and_its_slots_bind_first() {
    let of = sized(|_| ());
    assert_eq!(of.basis, Basis::Reported);
    assert_eq!(ends(&of.controllers), [Some(5), Some(5), Some(6)]);
    assert_eq!(ends(&of.disks), [Some(30), Some(30), Some(30)]);
    let exact: Vec<f64> = of.disks.rates.iter().map(|it| TARGET / it.bytes_per_s).collect();
    assert!(exact.iter().all(|disks| (29.0..30.0).contains(disks)), "{exact:?}");
    assert_eq!(ends(&of.disks_alone), [Some(25), Some(20), Some(25)]);
    let filled = of.disks_filled.as_ref().unwrap();
    assert_eq!((filled.ports, filled.value, filled.low, filled.high), (8, 40, 40, Some(48)));
    assert_eq!(ends(&of.nics), [Some(5), Some(5), Some(6)]);
    assert!(of.nics.rates.iter().any(|rate| rate.cards == 3), "{:#?}", of.nics);
    let there = (of.slots.there, of.slots.value, of.slots.high);
    assert_eq!(there, (Some(6), Some(10), Some(12)));
    assert_eq!((of.binds.first, of.binds.below_target), (Some("slots"), Some(true)));
    // Of two slots of 8 lanes and four of 4: 3 controllers with 1027.6 + 2 x 852.5 MB/s.
    let reach = of.slots.reach_bytes_per_s.unwrap();
    assert!((reach / 2.7326e9 - 1.0).abs() < 1e-3 && of.slots.filled == [3, 3], "{reach}");
    let expected = of.expected.unwrap();
    assert_eq!(expected.controllers, Some([5.0, 6.0]));
    assert_eq!((expected.disks, expected.nics), (Some([40.0, 50.0]), Some(2.0)));
    assert!(of.notes.iter().any(|note| note.contains("815 MiByte/s with perc-6i+areca-1680")));
    assert!(of.notes.iter().any(|note| note.contains("several controllers")), "{:?}", of.notes);
}

#[test]
fn what_was_expected_of_another_throughput_is_not_told() {
    let (records, inventory) = sara(|_| ());
    assert_eq!(size(&records, &inventory, &asked(2e9)).expected, None);
}

#[test]
fn other_slots_change_what_binds() {
    let of = sized(|server| slots(server, 12, 8));
    assert_eq!((of.binds.first, of.binds.below_target), (Some("slots"), None), "memory may");
    assert!(of.slots.reach_bytes_per_s.unwrap() >= TARGET);
    // Wider slots alone help a little: there are as few as before.
    let narrow = sized(|_| ()).slots.reach_bytes_per_s.unwrap();
    let of = sized(|server| slots(server, 6, 16));
    assert!(of.slots.reach_bytes_per_s.unwrap() > narrow);
    assert_eq!(of.binds.below_target, Some(true));
    // In slots that are narrower than any link that was measured nothing is known to work.
    let of = sized(|server| slots(server, 40, 1));
    assert_eq!(of.slots.reach_bytes_per_s, Some(0.0));
    // Of many slots, memory is what is left; half of its nominal rate is below, all of it above.
    let of = sized(|server| slots(server, 32, 8));
    assert_eq!(of.binds.limits.len(), 2);
    let of = sized(|server| server.firmware.slots.clear());
    assert!(of.slots.why.unwrap().contains("root"));
    assert_eq!((of.slots.there, of.binds.first), (None, Some("memory")));
}

#[test]
fn ports_are_those_that_were_given_else_those_of_the_inventory() {
    let (records, inventory) = sara(|_| ());
    let asked = SizingRequest { ports: Some(16), ..asked(TARGET) };
    let filled = size(&records, &inventory, &asked).disks_filled.unwrap();
    assert_eq!((filled.low, filled.high), (80, Some(96)));
    assert!(filled.from.contains("--ports"));
}

#[test]
fn without_its_machines_only_what_one_disk_gives_is_known() {
    let (records, _) = sara(|_| ());
    let of = size(&records, &json!({}), &asked(TARGET));
    assert_eq!(ends(&of.controllers), [None; 3]);
    assert!(of.controllers.why.as_ref().unwrap().contains("brickyard run"));
    assert_eq!((of.nics.value, of.slots.there, of.binds.first), (None, None, None));
    assert_eq!(of.disks.value, Some(25));
    for name in ["ccd-1996", "cdf-2002", "jackrabbit-2007", "brick-2007"] {
        let records = &published::find(name).unwrap().records;
        let of = size(records, &json!({ "configurations": {} }), &asked(TARGET));
        assert_eq!((of.controllers.value, of.nics.value), (None, None), "{name}");
        assert!(of.disks_filled.is_none() && of.cost.is_none(), "{name}");
    }
    for nonsense in [json!(null), json!([1]), json!({ "server": 1, "configurations": [2] })] {
        assert_eq!(size(&[], &nonsense, &asked(TARGET)).disks.value, None);
    }
}

#[test]
fn capacity_may_ask_for_more_disks_and_prices_add_up() {
    let (records, inventory) = sara(|_| ());
    let prices = Prices { disk: Some(300.0), nic: Some(400.0), ..Prices::default() };
    let capacity_bytes = Some(200_000_000_000_000);
    let mut asked = SizingRequest { capacity_bytes, prices, ..asked(TARGET) };
    let of = size(&records, &inventory, &asked);
    assert_eq!(of.disks_capacity.unwrap().value, None, "nobody knows what a disk holds");
    let cost = of.cost.unwrap();
    assert_eq!((cost.value, cost.low, cost.high), (11e3, 11e3, Some(11.4e3)));
    assert_eq!(cost.without, ["controllers"]);
    asked.disk_bytes = Some(160_000_000_000);
    let of = size(&records, &inventory, &asked);
    assert_eq!(of.disks_capacity.unwrap().value, Some(1250));
    assert_eq!(of.cost.unwrap().items[0].count, 1250);
}

/// Trials of reading from the disks of the second source's server.
fn measured(rates: &[(usize, f64)], change: impl Fn(Scene) -> Scene) -> Vec<Record> {
    let mut records = Vec::new();
    for (disks, bytes_per_s) in rates {
        for replicate in 0..3 {
            let scene = Scene {
                disks: vec![(0.9, 1.0, 400.0); *disks],
                bytes_per_s: bytes_per_s * (1.0 + 0.01 * f64::from(replicate)),
                ..Scene::default()
            };
            let scene = change(scene).with("streams", Value::Count(*disks as u64));
            records.push(scene.with("direct", Value::Flag(true)).record(records.len() as u32 + 1));
        }
    }
    records
}

fn own_server() -> Json {
    let (_, inventory) = sara(|_| ());
    json!({ "server": inventory["configurations"]["x8"]["server"] })
}

#[test]
fn trials_of_ones_own_give_intervals() {
    let mut records = measured(&[(6, 900e6)], |scene| scene);
    for name in ["sda", "sdb", "sdc", "sdd", "sde", "sdf"] {
        for mut record in measured(&[(1, 200e6)], |scene| scene) {
            record.trial.number += records.len() as u32;
            record.trial.settings.set(knob::DIRECTORIES, &[name.to_owned()]);
            let Outcome::Done(of) = &mut record.outcome else { panic!("done") };
            of.evidence.disks = vec![name.to_owned()];
            records.push(record);
        }
    }
    let of = size(&records, &own_server(), &asked(TARGET));
    assert_eq!(of.basis, Basis::Measured);
    // 5e9 over 909 MB/s with an interval of 22 MB/s on either side.
    assert_eq!(ends(&of.controllers), [Some(6), Some(6), Some(6)]);
    let [rate] = &of.disks.rates[..] else { panic!("{:#?}", of.disks) };
    assert!(rate.low_bytes_per_s < 150e6 && rate.high_bytes_per_s.unwrap() > 153e6, "{rate:?}");
    assert_eq!(ends(&of.disks), [Some(34), Some(33), Some(34)]);
    assert_eq!(of.disks_alone.value, Some(25));
    assert_eq!(of.disks_filled.as_ref().unwrap().ports, 8);
    assert_eq!(of.nics.value, None);
    assert!(of.nics.why.as_ref().unwrap().contains("brickyard send"));
}

/// Trials of sending 1.2 GB/s to `peer` through an interface.
fn sent(interface: &str, peer: &str) -> Vec<Record> {
    let mut records = measured(&[(1, 1.1e9)], |scene| scene);
    for record in &mut records {
        record.trial.settings = Settings::defaults("net");
        record.trial.settings.set(knob::PEER, Some(peer));
        let Outcome::Done(of) = &mut record.outcome else { panic!("done") };
        let column = |name: &str, per_s: f64| Column {
            name: format!("{name}.sent_bytes"),
            kind: ColumnKind::Counter,
            values: (0..7).map(|second| (f64::from(second) * per_s) as u64).collect(),
        };
        of.counters = vec![Series {
            source: "interfaces".to_owned(),
            at_ns: (0..7).map(|second| (second - 1) * 1_000_000_000).collect(),
            columns: vec![column(interface, 1.2e9), column("eth0", 1e3)],
        }];
    }
    records
}

/// The card is the one whose interface counted the bytes; loopback is none.
#[test]
fn a_network_card_is_told_by_what_its_interface_counted() {
    let over = |interface: &str, peer: &str| {
        size(&sent(interface, peer), &own_server(), &asked(TARGET)).nics
    };
    let nics = over("eth3", "10.0.0.2");
    assert_eq!((nics.value, nics.rates[0].lanes), (Some(5), Some(8)), "{nics:#?}");
    assert_eq!(over("lo", "10.0.0.2").value, None);
    assert_eq!(over("eth3", "as-is").value, None, "it stayed on this machine");
}

/// Disks were measured one day and the network another, and `size` answered half of the question
/// each time: the other half was "not known".
#[test]
fn the_disks_of_one_campaign_and_the_cards_of_another_are_one_answer() {
    let inventory = own_server();
    let source = |campaign: u64, records| SizingCampaign {
        campaign,
        host: "x8",
        records,
        inventory: &inventory,
    };
    let disks = measured(&[(6, 900e6)], |scene| scene);
    let slower = measured(&[(6, 850e6)], |scene| scene);
    let cards = sent("eth3", "10.0.0.2");
    let joined = |sources: &[SizingCampaign<'_>]| size_of_several(sources, &asked(TARGET)).unwrap();
    let (third, fifth) = (source(3, &disks), source(5, &cards));
    let of = joined(&[third, fifth]);
    let [alone, network] = [&disks, &cards].map(|of| size(of, &inventory, &asked(TARGET)));
    assert_eq!((alone.nics.value, network.disks.value), (None, None));
    let all = (ends(&of.controllers), ends(&of.disks), ends(&of.nics));
    assert_eq!(all, (ends(&alone.controllers), ends(&alone.disks), ends(&network.nics)));
    assert_eq!((of.slots.value, of.slots.there), (Some(11), Some(6)));
    let said = |need: &PartsNeeded| (need.rates[0].campaign, need.rates[0].said.clone());
    let (campaign, told) = said(&of.nics);
    assert!(campaign == Some(5) && told.ends_with("campaign 5"), "{told}");
    assert!(said(&of.disks).1.ends_with("campaign 3"));
    // Two campaigns of the same disks: from the highest of their ends to the lowest.
    let of = joined(&[third, fifth, source(7, &slower)]);
    let other = size(&slower, &inventory, &asked(TARGET));
    assert_eq!(of.controllers.value, alone.controllers.value);
    assert_eq!(of.controllers.high, other.controllers.high.max(alone.controllers.high));
    assert_eq!(of.controllers.rates.len(), 2);
    // The memory of the machine, which one of them measured.
    let mut known = inventory.clone();
    known["bandwidth"] = json!({ "nodes": [{ "node": 0, "read_bytes_per_s": 9e9 }] });
    let fifth = SizingCampaign { inventory: &known, ..fifth };
    let of = [joined(&[third, fifth]), joined(&[fifth, third])];
    let memory = |it: &Sizing| it.binds.limits.iter().find(|of| of.what == "memory").cloned();
    assert!(memory(&of[0]).is_some() && memory(&of[0]) == memory(&of[1]), "{of:#?}");
}

/// The disks of one server and the cards of another are no server that anybody has.
#[test]
fn campaigns_of_two_machines_or_of_others_figures_are_not_joined() {
    let (inventory, other) = (own_server(), {
        let mut other = own_server();
        other["server"]["firmware"]["product"] = json!("PowerEdge 1");
        other
    });
    let (disks, cards) = (measured(&[(6, 900e6)], |scene| scene), sent("eth3", "10.0.0.2"));
    let third = SizingCampaign { campaign: 3, host: "a", records: &disks, inventory: &inventory };
    let fifth = SizingCampaign { campaign: 5, records: &cards, ..third };
    let refused =
        |other: SizingCampaign<'_>| size_of_several(&[third, other], &asked(TARGET)).unwrap_err();
    let host = refused(SizingCampaign { host: "b", ..fifth });
    assert_eq!(host, Unjoined::Machines(3, 5, "name: a, and b".to_owned()));
    let product = refused(SizingCampaign { inventory: &other, ..fifth });
    assert!(matches!(product, Unjoined::Machines(3, 5, why) if why.starts_with("product: ")));
    let (reported, machines) = sara(|_| ());
    let sara = SizingCampaign { campaign: 1, host: "a", records: &reported, inventory: &machines };
    assert_eq!(refused(sara), Unjoined::Reported(1));
    // Nothing is known of a machine without an inventory but its name.
    let bare = json!({});
    assert!(
        size_of_several(&[third, SizingCampaign { inventory: &bare, ..fifth }], &asked(TARGET))
            .is_ok()
    );
}

#[test]
fn memory_that_was_measured_clears_or_binds() {
    let records = measured(&[(1, 200e6), (6, 900e6)], |scene| scene);
    let of = |read: f64| {
        let mut inventory = own_server();
        inventory["bandwidth"] = json!({ "nodes": [{ "node": 0, "read_bytes_per_s": read }] });
        let mut server: Server = serde_json::from_value(inventory["server"].take()).unwrap();
        slots(&mut server, 20, 8);
        inventory["server"] = json!(server);
        size(&records, &inventory, &asked(TARGET)).binds
    };
    assert_eq!((of(9e9).first, of(9e9).below_target), (Some("memory"), Some(true)));
    assert_eq!((of(11e9).first, of(11e9).below_target), (Some("memory"), None));
    assert_eq!((of(90e9).first, of(90e9).below_target), (Some("slots"), Some(false)));
}

/// Disks that gave as much as each alone do not tell what more of them would get.
#[test]
fn a_controller_that_was_not_full_is_bounded_by_its_way_alone() {
    let records = measured(&[(1, 200e6), (2, 400e6)], |scene| scene);
    let of = size(&records, &own_server(), &asked(TARGET));
    // 1730 MB/s pass a link of 8 lanes at most: 2.9, and 404 MB/s were seen.
    assert_eq!(ends(&of.controllers), [Some(13), Some(3), Some(13)]);
    assert_eq!(of.disks.value, Some(25));
}

#[test]
fn what_came_from_memory_is_no_rate_of_a_disk() {
    let cached = |scene: Scene| scene.cached();
    let mut records = measured(&[(1, 200e6), (6, 900e6)], cached);
    for record in &mut records {
        record.trial.settings.set(knob::DIRECT, false);
    }
    let of = size(&records, &own_server(), &asked(TARGET));
    assert_eq!((of.disks.value, of.controllers.value), (None, None));
    assert!(of.disks.why.unwrap().contains("left out"));
}

proptest! {
    // Each case reads the whole inventory twice.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn more_is_never_had_with_less(one in 1.0_f64..1e13, times in 1.0_f64..100.0) {
        let (records, inventory) = sara(|_| ());
        let [less, more] = [one, one * times].map(|it| size(&records, &inventory, &asked(it)));
        for (less, more) in [
            (&less.controllers, &more.controllers),
            (&less.disks, &more.disks),
            (&less.nics, &more.nics),
        ] {
            prop_assert!(less.value <= more.value && less.high <= more.high);
            prop_assert!(less.low <= more.low && less.low <= less.value);
        }
    }

}

proptest! {
    #[test]
    fn no_rate_panics(rate in any::<f64>(), target in any::<f64>(), low in any::<f64>()) {
        let rate = PartRate { bytes_per_s: rate, low_bytes_per_s: low, ..PartRate::default() };
        let need = PartsNeeded::for_target(target, vec![rate], "none");
        prop_assert!(need.value.is_some() == need.why.is_none());
    }
}
