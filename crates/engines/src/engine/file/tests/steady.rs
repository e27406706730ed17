//! `stop=steady`, from the settings to the verdict.

use serde_json::json;

use super::{MIB, directory, done, names, note, with};
use experiment::knob::Settings;
use experiment::measurement::steady::{Steady, steady};

#[test]
fn a_load_of_even_rate_ends_after_five_rounds_and_is_steady() {
    let folder = directory();
    let base = json!({"block-size": 4096, "file-size": MIB, "direct": false, "queue-depth": 1});
    done(with(&base, json!({"access": "write", "stop": "pass"})), names(folder.path(), 1, 1));
    // An open loop is as even as the clock, however busy the machine is.
    let read = json!({
        "access": "random-read", "cold": false, "rate": 200, "stop": "steady",
        "at-most": 60_000_000_000_u64,
    });
    let read = with(&base, read);
    let result = done(read.clone(), names(folder.path(), 1, 1));
    assert!(!note(&result, "not-settled"), "{:?}", result.notes);
    let mut settings = Settings::defaults("file");
    for (name, value) in Settings::from_json("file", &read).iter() {
        settings.set_named(name, value.clone());
    }
    let measurement = result.into_measurement().unwrap();
    let seconds = measurement.window.unwrap().seconds();
    assert!((5.0..20.0).contains(&seconds), "{seconds}");
    assert_eq!(steady(&measurement, &settings), Steady::Tested(true));
    assert!(measurement.streams[0].pass_end_ns.is_some());
}

#[test]
fn a_load_that_is_cut_before_five_rounds_says_that_it_had_not_settled() {
    let folder = directory();
    let base = json!({"block-size": 4096, "file-size": MIB, "direct": false, "queue-depth": 1});
    done(with(&base, json!({"access": "write", "stop": "pass"})), names(folder.path(), 1, 1));
    let read = json!({
        "access": "random-read", "cold": false, "stop": "steady", "at-most": 1_200_000_000,
    });
    let result = done(with(&base, read), names(folder.path(), 1, 1));
    assert!(note(&result, "not-settled"), "{:?}", result.notes);
    assert!((1.1..3.0).contains(&result.window.unwrap().seconds()), "{:?}", result.window);
    assert_eq!(result.streams[0].pass_end_ns, None, "a pass that was cut has no end");
}
