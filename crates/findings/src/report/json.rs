//! (pure) The JSON document: a contract, to which keys are only ever added.
//!
//! `docs/reference/json.md` explains it and `docs/reference/report.schema.json` is its schema.
//! Sizes are integers in bytes, times in ns, rates per second, shares 0 to 1; a number that is not
//! finite is `null`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::nature::Nature;
use super::{Input, TrialView};
use crate::analysis::Finding;
use crate::analysis::effects::Effects;
use crate::analysis::integrity::{CheckedTotals, ErrorRate, Pool, Promise};
use crate::analysis::summary::Summary;
use experiment::campaign::NotBought;
use experiment::knob::Settings;
use experiment::measurement::again::run_again;
use experiment::measurement::figures::{Figures, Name};
use experiment::measurement::origin::Verdict;
use experiment::measurement::{Integrity, Note, Outcome, Record, Reported, Verified, machine};

/// Prints the document, indented, with a line end.
///
/// # Errors
/// Never in practice: everything in it can be serialized.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Document::of(input))?;
    text.push('\n');
    Ok(text)
}

/// Whether a file is such a document, of whatever version: how it begins.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    begins_with(start, "campaign")
}

/// Whether a document begins with our version, and `next` after it.
pub(super) fn begins_with(start: &[u8], next: &str) -> bool {
    let head: String = String::from_utf8_lossy(&start[..start.len().min(256)])
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    let version = head.strip_prefix("{\"brickyard\":\"").and_then(|rest| rest.split_once("\","));
    version.is_some_and(|(_, rest)| rest.starts_with(&format!("\"{next}\":")))
}

#[derive(Serialize)]
struct Document<'a> {
    brickyard: &'a str,
    campaign: Campaign<'a>,
    answer: &'a [String],
    summary: &'a Summary,
    trials: Vec<JsonTrial<'a>>,
    cells: Vec<JsonCell<'a>>,
    effects: &'a [Effects],
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<Checked>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    left_out: &'a BTreeMap<String, u64>,
    not_bought: &'a [NotBought],
    inventory: &'a serde_json::Value,
}

#[derive(Serialize)]
struct Campaign<'a> {
    id: u64,
    plan: &'a str,
    host: &'a str,
    started_unix_ns: u64,
    seed: u64,
    engine: &'a str,
    kind: &'static str,
    uid: &'a str,
    command: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    prices: &'a BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    currency: &'a str,
}

#[derive(Serialize)]
struct JsonTrial<'a> {
    number: u32,
    replicate: u32,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_again_as: Option<u32>,
    group: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_unix_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    durable_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_pass_ns: Option<u64>,
    engine: &'a str,
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Option::is_none")]
    reported: Option<Cow<'a, Reported>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<&'a Integrity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<&'a Verified>,
    figures: &'a Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin<'a>>,
    steady: Option<bool>,
    steady_text: &'a str,
    counters: BTreeMap<&'static str, f64>,
    notes: &'a [Note],
}

/// What all trials that checked what they read come to.
#[derive(Serialize)]
struct Checked {
    checked_bytes: u64,
    /// Evidence: what surely came from the device.
    device_bits: f64,
    silently_wrong: Option<ErrorRate>,
    unreadable: Option<ErrorRate>,
    promises: Vec<Promise>,
    kinds: BTreeMap<String, u64>,
    lasting: BTreeMap<&'static str, u64>,
    again: u64,
    apart: Vec<ForeignFaults>,
}

/// What is no evidence about the device.
#[derive(Serialize)]
struct ForeignFaults {
    origin: Verdict,
    bits: f64,
    wrong: u64,
    unreadable: u64,
    reason: String,
}

#[derive(Serialize)]
struct Origin<'a> {
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_share: Option<f64>,
    reason: &'a str,
}

#[derive(Serialize)]
struct JsonCell<'a> {
    group: &'a str,
    groups: &'a [String],
    engine: &'a str,
    settings: &'a Settings,
    replicates: usize,
    trials: &'a [u32],
    figures: &'a Figures,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pooled_spread_cells: &'a BTreeMap<Name, u32>,
}

impl<'a> Document<'a> {
    fn of(input: &'a Input<'_>) -> Document<'a> {
        let campaign = input.campaign;
        let cells = input.cells.iter().map(|cell| JsonCell {
            group: cell.groups.first().map_or("", String::as_str),
            groups: &cell.groups,
            engine: cell.settings.engine(),
            settings: &cell.settings,
            replicates: cell.trials.len(),
            trials: &cell.trials,
            figures: &cell.figures,
            pooled_spread_cells: &cell.pooled,
        });
        let (again, trials) = (run_again(input.records), input.records.iter().zip(&input.trials));
        Document {
            brickyard: &campaign.version,
            campaign: Campaign {
                id: campaign.id,
                plan: &campaign.plan,
                host: &campaign.host,
                started_unix_ns: campaign.started_unix_ns,
                seed: campaign.seed,
                engine: &campaign.engine,
                kind: Nature::of_campaign(campaign).name(),
                uid: &campaign.uid,
                command: &campaign.argv,
                prices: &campaign.prices,
                currency: &campaign.currency,
            },
            answer: &input.answer,
            summary: &input.summary,
            trials: trials
                .map(|one| JsonTrial { reported: reported(input, one.0), ..trial(one, &again) })
                .collect(),
            cells: cells.collect(),
            effects: &input.shown.effects,
            findings: &input.findings,
            integrity: Pool::from_records(input.records).map(checked),
            left_out: &campaign.left_out,
            not_bought: &campaign.not_bought,
            inventory: &campaign.inventory,
        }
    }
}

fn checked(pool: Pool) -> Checked {
    let apart = |(origin, part): &(Verdict, CheckedTotals)| ForeignFaults {
        origin: *origin,
        bits: part.bits,
        wrong: part.wrong,
        unreadable: part.unreadable,
        reason: part.reason.clone(),
    };
    Checked {
        checked_bytes: pool.checked_bytes,
        device_bits: pool.device.bits,
        silently_wrong: pool.silent(),
        unreadable: pool.lost(),
        promises: pool.promises(),
        apart: pool.apart.iter().map(apart).collect(),
        kinds: pool.kinds,
        lasting: pool.lasting,
        again: pool.again,
    }
}

/// What others printed, with the series and histograms of an import: these are in the store alone.
fn reported<'a>(input: &Input<'_>, record: &'a Record) -> Option<Cow<'a, Reported>> {
    let measurement = record.outcome.measurement()?;
    let reported = measurement.reported.as_ref()?;
    let is_light = measurement.digest.is_some();
    if is_light && matches!(Nature::of_campaign(input.campaign), Nature::Imported) {
        let full = input.samples.and_then(|samples| samples.of(record.trial.number));
        let full = full.and_then(|record| record.outcome.measurement()?.reported.clone());
        if let Some(full) = full {
            return Some(Cow::Owned(full));
        }
    }
    Some(Cow::Borrowed(reported))
}

fn trial<'a>(
    (record, view): (&'a Record, &'a TrialView),
    again: &BTreeMap<u32, u32>,
) -> JsonTrial<'a> {
    let reason = match &record.outcome {
        Outcome::Failed(why) | Outcome::Skipped(why) => Some(why.as_str()),
        Outcome::Done(_) | Outcome::Interrupted => None,
    };
    let measurement = record.outcome.measurement();
    JsonTrial {
        number: record.trial.number,
        replicate: record.trial.replicate,
        outcome: record.outcome.name(),
        reason,
        run_again_as: again.get(&record.trial.number).copied(),
        group: &record.trial.group,
        started_unix_ns: measurement.map(|measurement| measurement.started_unix_ns),
        elapsed_ns: measurement.map(|measurement| measurement.elapsed_ns),
        durable_ns: measurement
            .and_then(|measurement| Some(measurement.durable.as_ref()?.durable_ns)),
        second_pass_ns: measurement
            .and_then(|measurement| Some(measurement.second_pass.as_ref()?.second_ns)),
        engine: record.trial.settings.engine(),
        settings: &record.trial.settings,
        reported: None,
        integrity: measurement.and_then(|measurement| measurement.integrity.as_ref()),
        verified: measurement.and_then(|measurement| measurement.verified.as_ref()),
        figures: &view.figures,
        origin: view.origin.as_ref().map(|origin| Origin {
            verdict: origin.verdict,
            device_share: origin.device_share,
            reason: &origin.reason,
        }),
        steady: view.steady,
        steady_text: &view.steady_text,
        counters: measurement.map(machine::counters).unwrap_or_default(),
        notes: &view.notes,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::report::fixture;
    use crate::report::schema::check;
    use base::stats::Estimate;

    const SCHEMA: &str = include_str!("../../../../docs/reference/report.schema.json");

    fn document() -> Value {
        let fixture = fixture::evaluated();
        serde_json::from_str(&render(&fixture.input()).unwrap()).unwrap()
    }

    /// Keys of a schema, each with the way to it.
    fn keys(at: &str, schema: &Value, found: &mut BTreeSet<String>) {
        let parts = schema.as_object().into_iter().flatten();
        for (name, part) in parts {
            let inside = part.as_object().into_iter().flatten();
            match name.as_str() {
                "properties" => inside.for_each(|(key, of)| {
                    let key = format!("{at}/{key}");
                    keys(&key, of, found);
                    found.insert(key);
                }),
                "$defs" => inside.for_each(|(name, of)| keys(&format!("${name}"), of, found)),
                _ => keys(at, part, found),
            }
        }
        schema.as_array().into_iter().flatten().for_each(|part| keys(at, part, found));
    }

    /// Programs rely on every key: `json/keys.txt` has those that there ever were, and only grows.
    #[test]
    fn no_key_of_the_document_ever_disappears() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let mut now = BTreeSet::new();
        keys("", &schema, &mut now);
        let ever: BTreeSet<String> =
            include_str!("json/keys.txt").lines().map(str::to_owned).collect();
        assert!(ever.len() >= 258, "{} keys: some were taken out of json/keys.txt", ever.len());
        let gone: Vec<&String> = ever.difference(&now).collect();
        assert!(gone.is_empty(), "keys are only ever added, and these are gone: {gone:?}");
        let new: Vec<&String> = now.difference(&ever).collect();
        assert!(new.is_empty(), "add these to json/keys.txt, so that they stay: {new:?}");
    }

    #[test]
    fn the_document_obeys_its_schema() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let document = document();
        check("", &document, &schema, &schema).unwrap();
        assert!(document["trials"].as_array().unwrap().len() > 60);
    }

    /// A reader could not tell an interval of pooled spread from one of the cell's own.
    #[test]
    fn every_format_says_where_spread_is_pooled_and_json_over_how_many_cells() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let fixture = fixture::evaluated();
        let mut input = fixture.input();
        let told = |input: &Input<'_>, format: &str| {
            let bytes = crate::report::find(format).unwrap().bytes(input).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let says = "Of 2 cells the intervals of rates are of a spread that is pooled over cells of \
                    one workload that scatter alike (up to 5).";
        for format in ["text", "markdown", "html"] {
            assert!(!told(&input, format).contains("spread that is pooled over cells of"));
        }
        input.cells[0].pooled.insert("iops".into(), 5);
        input.cells[2].pooled.insert("throughput_bytes_per_s".into(), 4);
        for format in ["text", "markdown", "html"] {
            assert!(told(&input, format).contains(says), "{format}");
        }
        let document: Value = serde_json::from_str(&render(&input).unwrap()).unwrap();
        check("", &document, &schema, &schema).unwrap();
        let of = |cell: usize| document["cells"][cell]["pooled_spread_cells"].to_string();
        assert_eq!([of(0), of(1)], [r#"{"iops":5}"#, "null"].map(str::to_owned));
    }

    #[test]
    fn the_schema_notices_what_breaks_the_contract() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let broken: &[(&str, Value)] = &[
            ("/trials/0/outcome", "well".into()),
            ("/trials/0/settings/block-size", "1MiB".into()),
            ("/trials/0/figures/throughput_bytes_per_s/value", "fast".into()),
            ("/trials/0/origin/verdict", "disk".into()),
            ("/trials/0/origin/device_share", 1.5.into()),
            ("/trials/0/number", 1.5.into()),
            ("/findings/0/severity", "grave".into()),
            ("/cells/0/replicates", Value::Null),
            ("/campaign/started_unix_ns", (-1).into()),
        ];
        for (pointer, wrong) in broken {
            let mut document = document();
            *document.pointer_mut(pointer).expect(pointer) = wrong.clone();
            assert!(check("", &document, &schema, &schema).is_err(), "{pointer}");
        }
    }

    #[test]
    fn faults_and_the_two_rates_are_there_where_something_was_checked() {
        assert!(document().get("integrity").is_none(), "nothing was checked");
        let (campaign, records) = fixture::damaged();
        let input = Input::new(&campaign, &records);
        let mut document: Value = serde_json::from_str(&render(&input).unwrap()).unwrap();
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        check("", &document, &schema, &schema).unwrap();
        let rate = &document["integrity"]["silently_wrong"];
        assert_eq!(rate["events"], 8);
        let (value, bits) = (rate["per_bit"].as_f64().unwrap(), rate["bits"].as_f64().unwrap());
        assert!((value * bits - 8.0).abs() < 1e-9, "{rate}");
        assert_eq!(document["integrity"]["promises"][0]["standing"], "open");
        assert_eq!(document["integrity"]["apart"][0]["origin"], "cache");
        let trial = &document["trials"][0]["integrity"];
        assert_eq!(
            (&trial["wrong"]["stale"], &trial["faults"][0]["kind"]),
            (&1.into(), &"bit-flip".into())
        );
        for (pointer, wrong) in [
            ("/trials/0/integrity/faults/0/lasting", "for long"),
            ("/integrity/unreadable/events", "two"),
            ("/integrity/promises/0/standing", "so so"),
        ] {
            let kept = document.pointer(pointer).unwrap().clone();
            *document.pointer_mut(pointer).unwrap() = wrong.into();
            assert!(check("", &document, &schema, &schema).is_err(), "{pointer}");
            *document.pointer_mut(pointer).unwrap() = kept;
        }
    }

    #[test]
    fn sizes_are_integers_times_ns_and_what_is_not_finite_is_null() {
        let mut fixture = fixture::evaluated();
        fixture.trials[0].set("iops", Estimate::bare(f64::NAN));
        let text = render(&fixture.input()).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let trial = &document["trials"][0];
        assert!(trial["settings"]["block-size"].is_u64());
        assert!(trial["settings"]["at-most"].as_u64().unwrap() >= 1_000_000_000);
        assert!(trial["figures"]["iops"]["value"].is_null());
        let busy = trial["counters"]["cpu_busy_share"].as_f64().unwrap();
        assert!(busy > 0.0 && busy < 1.0, "{busy}");
    }

    #[test]
    fn what_failed_and_what_was_not_bought_is_there_with_its_reason() {
        let document = document();
        let trials = document["trials"].as_array().unwrap();
        let failed = trials.iter().find(|trial| trial["outcome"] == "failed").unwrap();
        assert!(failed["reason"].as_str().unwrap().contains("No space left"));
        assert!(failed["figures"].as_object().unwrap().is_empty());
        assert!(document["not_bought"][0]["budget_ns"].is_u64());
    }
}
