//! A drive that gets slower and warns of its temperature in the midst of a load.

use super::boots::NVME;
use crate::run::{draw, noted, trials, verdict};

/// What is run in the server, with a limit that is drawn.
pub fn script() -> String {
    let fast = draw("bytes per second of a cool drive", 6_000_000, 9_000_000);
    format!("fast={fast}\n{}", include_str!("guest/heated.sh"))
}

/// The first source looked at its drives with a thermometer in the morning after.
#[test]
fn a_drive_that_slows_down_and_warns_of_heat_is_told_with_both_rates() {
    let Some(piece) = NVME.piece("a drive that gets hot", "heated") else { return };
    let fast: f64 = piece.machine.wrote("fast").trim().parse().expect("a rate");
    let document = piece.machine.json("heated.json");
    let trial = *trials(&document).last().expect("a trial");
    assert_eq!(verdict(trial), "device", "{trial:#}");
    assert!(noted(trial, "drive-hot"), "{trial:#}");
    let notes = trial["notes"].as_array().expect("notes");
    let text = |kind: &str| {
        let note = notes.iter().find(|note| note["kind"] == kind);
        note.unwrap_or_else(|| panic!("no {kind}: {notes:#?}"))["text"].as_str().expect("a text")
    };
    assert!(text("drive-hot").contains("warned that its temperature"), "{}", text("drive-hot"));
    // It counted no throttling, so that this is not said.
    assert!(!noted(trial, "drive-throttled-for-heat"), "{trial:#}");
    let burst = text("burst");
    let rates: Vec<f64> =
        burst.split(" MB/s").filter_map(|before| before.rsplit(' ').next()?.parse().ok()).collect();
    println!("{fast} bytes per second, then a third: {burst}");
    for (rate, planted) in rates.iter().zip([fast / 1e6, fast / 3e6]) {
        assert!((rate / planted - 1.0).abs() < 0.05, "{rate} of {planted}: {burst}");
    }
    assert!(rates.len() >= 2, "{burst}");
    // A warm drive is no failing one.
    let inspected = piece.machine.json("hot.json");
    let warnings = inspected["warnings"].as_array().expect("warnings");
    let has = |words: &str| {
        warnings.iter().any(|it| it["text"].as_str().is_some_and(|text| text.contains(words)))
    };
    assert!(has("warns that its temperature is beyond its limits"), "{warnings:#?}");
    assert!(!has("says itself"), "{warnings:#?}");
}
