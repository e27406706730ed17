//! Planted effects through the engine: what was planted is covered, and nothing else is claimed,
//! with noise within the trials that resembles what went before it.

use super::*;

/// A campaign of every combination of the levels of `factors`, so many times, with
/// `noise` on the simulated server.
fn campaign(
    factors: &[(&str, &[&str])],
    noise: &[(&str, &str)],
    replicates: u32,
    seed: u64,
) -> Effects {
    // Small blocks: how many fit into the time is no noise of its own.
    let load = [("sim-service-time", "0s"), ("stop", "300ms"), ("block-size", "64KiB")];
    let cells: Vec<(String, Settings)> = combined(&[&load[..], noise].concat(), factors)
        .iter()
        .map(|cell| ("scan".to_owned(), sim::settings(cell)))
        .collect();
    let mut records = sim::light_campaign(&cells, replicates, seed);
    for record in &mut records {
        record.trial.planned = Some(record.trial.number);
    }
    effects(&records).remove(0)
}

fn knob<'a>(found: &'a Effects, name: &str) -> &'a KnobEffect {
    found.knobs.iter().find(|of| of.knob == name).unwrap()
}

/// Four streams are four times as fast as one where the server can deliver that, and no faster
/// where it cannot: each knob doubles the rate on average, and what they do together is a ratio of
/// 4.
#[test]
fn on_the_simulated_server_what_was_planted_is_covered_and_nothing_else_is_claimed() {
    let factors: [(&str, &[&str]); 3] = [
        ("sim-capacity", &["400MB/s", "1600MB/s"]),
        ("streams", &["1", "4"]),
        ("sim-write-cache", &["0B", "1GiB"]),
    ];
    for phi in ["0", "0.5", "0.9"] {
        let noise = [
            ("sim-stream-rate", "400MB/s"),
            ("sim-noise", "0.1"),
            ("sim-correlation", phi),
            ("sim-trial-noise", "0.03"),
        ];
        let mut covered: [Coverage; 3] = Default::default();
        let (mut claims, mut missed) = (0, 0);
        for seed in seeds() {
            let found = campaign(&factors, &noise, 3, seed);
            let ratio = |name: &str| knob(&found, name).span.as_ref().unwrap().ratio.interval;
            covered[0].add(ratio("sim-capacity"), 2.0);
            covered[1].add(ratio("streams"), 2.0);
            let pairs = found.interactions.as_ref().unwrap();
            let nothing = |it: &Interaction| [it.knob, it.on].contains(&"sim-write-cache");
            let pair = pairs.iter().find(|it| !nothing(it)).unwrap();
            covered[2].add(pair.most.as_ref().unwrap().ratio_of_ratios.interval, 4.0);
            let real = ["sim-capacity", "streams"].map(|name| knob(&found, name).matters);
            missed += u32::from([real[0], real[1], pair.matters] != [Some(true); 3]);
            let wrong = knob(&found, "sim-write-cache").matters == Some(true)
                || pairs.iter().any(|it| nothing(it) && it.matters == Some(true))
                || found.knobs.iter().any(|it| it.spread_matters == Some(true));
            claims += u32::from(wrong);
        }
        for (coverage, what) in covered.iter().zip(["capacity", "streams", "together"]) {
            coverage.check(&format!("{what}, phi {phi}"));
        }
        let share = |many: u32| f64::from(many) / seeds().end as f64;
        assert!(share(claims) <= null_limit(), "phi {phi}: {claims} claims of what does nothing");
        assert_eq!(missed, 0, "phi {phi}: missed");
    }
}

/// Noise of one level is twelve times that of the other, whatever it resembles: so far do repeats
/// differ.
#[test]
fn on_the_simulated_server_a_planted_spread_is_covered_and_no_rate_is_claimed() {
    let factors: [(&str, &[&str]); 3] = [
        ("sim-noise", &["0.01", "0.12"]),
        ("sim-stream-rate", &["200MB/s", "500MB/s"]),
        ("sim-write-cache", &["0B", "1GiB"]),
    ];
    for phi in ["0", "0.5", "0.9"] {
        let (mut covered, mut claims, mut missed) = (Coverage::default(), 0, 0);
        for seed in seeds() {
            let found = campaign(&factors, &[("sim-correlation", phi)], 8, seed);
            let noise = knob(&found, "sim-noise");
            covered.add(noise.spread.as_ref().unwrap().ratio.interval, 12.0);
            missed += u32::from(noise.spread_matters != Some(true));
            let of = |name: &str| knob(&found, name);
            let wrong = noise.matters == Some(true)
                || of("sim-write-cache").matters == Some(true)
                || ["sim-stream-rate", "sim-write-cache"]
                    .iter()
                    .any(|name| of(name).spread_matters == Some(true));
            claims += u32::from(wrong);
        }
        covered.check(&format!("spread, phi {phi}"));
        let share = |many: u32| f64::from(many) / seeds().end as f64;
        assert!(share(claims) <= null_limit(), "phi {phi}: {claims} claims of what does nothing");
        assert!(share(missed) <= 0.05, "phi {phi}: {missed} missed");
    }
}
