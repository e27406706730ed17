//! Planted truth: simulated servers whose disks were exchanged, each set-up worth a little more or
//! less than planned.

use super::super::tests::server;
use super::*;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use experiment::knob;

const BY: [&str; 2] = ["label", "disk-model"];
const ASKED: ComparisonRequest = ComparisonRequest { threshold: 0.05, figure: None };
const FOUR: [[usize; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];

/// One campaign of a server with a set of disks, which together deliver so many MB/s.
pub fn set_up(cell: [usize; 2], mb_per_s: f64, seed: u64) -> Vec<Record> {
    let mut records = server(mb_per_s, "0.02", seed);
    for record in &mut records {
        let settings = &mut record.trial.settings;
        settings.set(knob::LABEL, Some(["server-a", "server-b", "server-c"][cell[0]]));
        settings.set(knob::DISK_MODEL, Some(["set-1", "set-2", "set-3"][cell[1]]));
    }
    records
}

/// Campaigns of these set-ups, which scatter by `scatter`; the second server is `slow[0]` times as
/// fast as the first, the second set of disks `slow[1]` times.
fn planted(cells: &[[usize; 2]], slow: [f64; 2], scatter: f64, seed: u64) -> Vec<Vec<Record>> {
    let mut random = Random::new(seed);
    let of = |(place, cell): (usize, &[usize; 2])| {
        let [server, disks] = [0, 1].map(|it| if cell[it] == 1 { slow[it] } else { 1.0 });
        let worth = 400.0 * server * disks * (scatter * random.normal()).exp();
        set_up(*cell, worth, seed + ((place as u64 + 1) << 20))
    };
    cells.iter().enumerate().map(of).collect()
}

fn exchanged(campaigns: &[Vec<Record>]) -> Exchange {
    let all: Vec<&[Record]> = campaigns.iter().map(Vec::as_slice).collect();
    exchange(&all, &BY, &ASKED).unwrap()
}

fn effects(found: &Exchange) -> [&Share; 2] {
    let [workload] = &found.workloads[..] else { panic!("{found:#?}") };
    let [server, disks] = &workload.effects[..] else { panic!("{found:#?}") };
    [server, disks]
}

fn is_claimed(effect: &Share) -> bool {
    matches!(effect.change, Some(Change::Better | Change::Worse))
}

/// The first source sent for the disks of the faster server, to learn whether the slower one or its
/// disks were slow, and could tell neither how much of it was which nor how surely.
#[test]
fn what_is_slow_is_found_and_nothing_else_is() {
    // Each combination twice: five degrees of freedom.
    let twice = [FOUR, FOUR].concat();
    for (slow, what) in [([1.0, 0.7], "disks"), ([0.7, 1.0], "server"), ([0.8, 0.6], "both")] {
        let mut coverage = [Coverage::default(), Coverage::default()];
        let (mut missed, mut wrong) = (0, 0);
        for seed in seeds() {
            let found = exchanged(&planted(&twice, slow, 0.02, seed));
            assert_eq!((found.freedom, found.set_ups.len()), (5.0, 8));
            for ((effect, truth), covered) in effects(&found).iter().zip(slow).zip(&mut coverage) {
                covered.add(effect.ratio.unwrap().interval, truth);
                match truth < 1.0 {
                    true => missed += u32::from(effect.change != Some(Change::Worse)),
                    false => wrong += u32::from(is_claimed(effect)),
                }
            }
        }
        let share = |count: u32| f64::from(count) / seeds().count() as f64;
        coverage.iter().for_each(|it| it.check_least(what));
        assert!(share(missed) <= 0.05, "{what}: {missed} missed");
        assert!(share(wrong) <= null_limit(), "{what}: {wrong} claimed of what does nothing");
    }
}

/// Four campaigns of one and the same: claims by repeats alone were one in three, as each set-up is
/// worth a little more or less.
#[test]
fn where_nothing_differs_nothing_is_claimed_however_set_ups_scatter() {
    for scatter in [0.0, 0.05] {
        let mut coverage = Coverage::default();
        let (mut claimed, mut perhaps) = (0, 0);
        for seed in seeds() {
            let found = exchanged(&planted(&FOUR, [1.0, 1.0], scatter, seed));
            let all = effects(&found);
            claimed += u32::from(all.iter().any(|it| is_claimed(it)));
            let open = |it: &&&Share| {
                matches!(it.change, Some(Change::PerhapsBetter | Change::PerhapsWorse))
            };
            perhaps += u32::from(all.iter().any(|it| open(&it)));
            coverage.add(all[1].ratio.unwrap().interval, 1.0);
        }
        let share = |count: u32| f64::from(count) / seeds().count() as f64;
        coverage.check_least(&format!("set-ups that scatter by {scatter}"));
        assert!(share(claimed) <= null_limit() / 2.0, "{scatter}: {claimed} claims");
        assert!(share(perhaps) <= 0.13, "{scatter}: {perhaps} perhaps");
    }
}

/// Four set-ups, each once, tell a factor of two.
#[test]
fn an_exchange_tells_a_factor_of_two_of_the_disks_and_what_each_server_says_of_them() {
    let mut told = 0;
    for seed in 0..20 {
        let found = exchanged(&planted(&FOUR, [1.0, 0.5], 0.005, seed));
        let [server, disks] = effects(&found);
        told += u32::from(disks.change == Some(Change::Worse));
        assert!(!is_claimed(server), "{found:#?}");
        let with: Vec<String> = disks.alone.iter().map(|it| it.with[0].to_string()).collect();
        assert_eq!(with, ["server-a", "server-b"]);
        for ratio in disks.alone.iter().map(|it| it.ratio).chain(disks.of_loads.iter().copied()) {
            assert!((ratio / 0.5 - 1.0).abs() < 0.15, "{found:#?}");
        }
        assert_eq!((disks.of_loads.len(), found.freedom), (2, 1.0));
    }
    assert!(told >= 18, "{told}");
}

/// One server with its disks and another with its own: all of the difference was "the server's".
#[test]
fn what_was_never_exchanged_cannot_be_told_apart_and_one_set_up_would_tell() {
    let named = |levels: &Vec<Value>| levels.iter().map(Value::to_string).collect::<Vec<_>>();
    let found = exchanged(&planted(&[[0, 0], [1, 1]], [1.0, 0.5], 0.01, 1));
    let [server, disks] = effects(&found);
    assert_eq!((server.ratio, disks.ratio, disks.change), (None, None, None));
    assert_eq!(
        (&server.entangled[..], &disks.entangled[..]),
        (&["disk-model"][..], &["label"][..])
    );
    assert_eq!(found.workloads[0].said, "label and disk-model cannot be told apart.");
    assert_eq!(found.would_tell.iter().map(named).collect::<Vec<_>>(), [["server-a", "set-2"]]);
    assert_eq!(found.would_narrow, None);

    // As far as the first source came: a ratio of each, and nothing that tests them.
    let found = exchanged(&planted(&[[0, 0], [0, 1], [1, 1]], [1.0, 0.5], 0.01, 1));
    let [server, disks] = effects(&found);
    assert_eq!((server.change, disks.change), (Some(Change::Untested), Some(Change::Untested)));
    assert!(disks.ratio.unwrap().interval.is_none() && disks.chance.is_none());
    let by_repeats = disks.by_repeats.unwrap();
    assert!((by_repeats.value / 0.5 - 1.0).abs() < 0.1 && by_repeats.interval.is_some());
    assert!(found.would_tell.is_empty());
    assert_eq!(
        found.would_narrow.as_ref().map(named),
        Some(named(&vec![Value::Word("server-b".into()), Value::Word("set-1".into()),]))
    );
    assert!(found.rests_on().contains("nothing is tested"), "{}", found.rests_on());
}

/// Set-ups that one campaign stopped between, as a plan over labels does, are as good as campaigns.
#[test]
fn set_ups_of_one_campaign_are_told_apart_too() {
    let all = planted(&FOUR, [1.0, 0.5], 0.005, 3);
    let found = exchanged(&[all[..3].concat(), all[3].clone()]);
    let of: Vec<usize> = found.set_ups.iter().map(|it| it.campaign).collect();
    assert_eq!(of, [0, 0, 0, 1]);
    assert_eq!(effects(&found)[1].change, effects(&exchanged(&all))[1].change);
}

#[test]
fn what_is_not_labelled_or_not_exchanged_is_refused() {
    let all = planted(&FOUR, [1.0, 0.5], 0.01, 1);
    let refused = |campaigns: &[Vec<Record>]| {
        let all: Vec<&[Record]> = campaigns.iter().map(Vec::as_slice).collect();
        exchange(&all, &BY, &ASKED).unwrap_err()
    };
    let mut bare = all.clone();
    for record in &mut bare[2] {
        record.trial.settings.set(knob::DISK_MODEL, None);
    }
    assert_eq!(refused(&bare), Unfit::Unlabelled(2, "disk-model"));
    assert_eq!(refused(&all[..2]), Unfit::Same("label", "server-a".to_owned()));
    assert_eq!(refused(&[all[0].clone(), Vec::new()]), Unfit::Empty(1));
}

/// A card that was exchanged with the server is in what goes with the server.
#[test]
fn what_else_differs_and_what_one_set_up_lacks_is_told() {
    let mut all = planted(&FOUR, [1.0, 0.5], 0.01, 1);
    for records in &mut all[2..] {
        records.iter_mut().for_each(|it| it.trial.settings.set(knob::CARD, Some("areca")));
    }
    all[3].retain(|record| record.trial.settings.get(knob::BLOCK_SIZE) == 131_072);
    let found = exchanged(&all);
    assert_eq!(found.also, ["card: areca, as-is"]);
    let workload = &found.workloads[0];
    assert_eq!((workload.loads.len(), found.apart.len()), (1, 1), "{found:#?}");
    assert_eq!(found.apart[0].reason, "not every set-up has it");
}
