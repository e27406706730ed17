//! The question `effects`, through the whole program on the simulated server.

use std::process::Command;

use serde_json::Value;

/// A plan of two knobs of which one does something: that one is named, and the other is not.
#[test]
fn the_knob_that_matters_is_named_and_the_other_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(arguments)
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .output()
            .expect("brickyard can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let sim = ["run", "sequential-read", "--engine", "sim", "--json", "--seed", "3"];
    let knobs = ["sim-stream-rate=20MB/s,50MB/s", "sim-write-cache=0B,1GiB", "stop=1s"];
    let noise = ["sim-trial-noise=0.02", "sim-service-time=0s"];
    let document = run(&[&sim[..], &knobs, &noise].concat());
    let document: Value = serde_json::from_str(&document).expect("one JSON document");
    let found = &document["effects"][0];
    assert_eq!(found["replicates"], 3);
    let knobs = found["knobs"].as_array().expect("knobs");
    assert_eq!(
        (&knobs[0]["knob"], &knobs[0]["matters"]),
        (&"sim-stream-rate".into(), &true.into())
    );
    assert_eq!(knobs[1]["matters"], false, "{found:#}");
    let ratio = &knobs[0]["span"]["ratio"];
    let end = |name: &str| ratio[name].as_f64().expect("an interval");
    assert!(end("low") < 2.5 && 2.5 < end("high"), "{ratio}");
    let findings = document["findings"].as_array().expect("findings");
    let claims = findings.iter().filter(|finding| finding["question"] == "effects");
    let claims: Vec<&str> = claims.filter_map(|finding| finding["claim"].as_str()).collect();
    assert_eq!(claims.len(), 1, "{claims:?}");
    assert!(claims[0].contains("`sim-stream-rate` matters most"), "{}", claims[0]);
    let same = "`sim-write-cache`: no difference of 10 % or more: ";
    let effects = findings.iter().find(|finding| finding["question"] == "effects");
    let details = &effects.expect("one of them")["details"];
    let told = |it: &Value| it.as_str().is_some_and(|text| text.starts_with(same));
    assert!(details.as_array().is_some_and(|all| all.iter().any(told)), "{details}");
    let text = run(&["report", "--format", "text"]);
    assert!(text.contains("Effects in "), "{text}");
    let table = text.lines().skip_while(|line| !line.starts_with("Effects in "));
    let mut table = table.take_while(|line| !line.is_empty());
    assert!(table.all(|line| line.chars().count() <= 100), "{text}");
    let markdown = run(&["report", "--format", "markdown"]);
    let (_, table) = markdown.split_once("\n## Effects in ").expect("a table");
    let rows = table.lines().filter(|line| line.starts_with('|'));
    assert_eq!(rows.filter(|row| row.matches('|').count() == 9).count(), 4, "{markdown}");
    run(&["report", "--format", "html", "--output", "page.html"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("What each knob does"));

    // The standard evaluation crosses nothing: its own questions answer it.
    let document = run(&["evaluate", "--engine", "sim", "--json", "--quiet", "--seed", "5"]);
    let document: Value = serde_json::from_str(&document).expect("one JSON document");
    assert_eq!(document["effects"].as_array().map(Vec::len), Some(0));
}
