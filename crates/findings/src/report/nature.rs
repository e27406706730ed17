//! (pure) What the figures of a campaign are: measured here, or not.
//!
//! Whoever copies the head of a report, or looks at its first line alone, must see when no server
//! was measured. Each format says so in its first line, or in a key, as far as its readers allow.

use experiment::campaign::Campaign;
use experiment::knob::EngineKind;
use experiment::published;

/// Whose figures they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Nature {
    /// Of a server that was measured.
    Measured,
    /// Of a simulated server.
    Simulated,
    /// Of a published paper.
    Published,
    /// Of what another tool printed, and somebody imported.
    Imported,
}

impl Nature {
    /// Of a campaign, by the engine that ran it and by what it was made from.
    pub fn of_campaign(campaign: &Campaign) -> Nature {
        Nature::from_engines(&campaign.engine, campaign.inventory.get("imported").is_some())
    }

    /// Of what these engines ran, as a campaign names them, or of what was imported.
    pub fn from_engines(engines: &str, imported: bool) -> Nature {
        let mut names = engines.split(", ");
        if names.clone().filter_map(EngineKind::named).any(EngineKind::is_simulated) {
            return Nature::Simulated;
        }
        match imported {
            _ if names.any(|name| name == published::ENGINE) => Nature::Published,
            true => Nature::Imported,
            false => Nature::Measured,
        }
    }

    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What a first line says of it; nothing where a server was measured.
    pub fn told(self) -> &'static str {
        match self {
            Nature::Measured => "",
            Nature::Simulated => "SIMULATED, no server was measured",
            Nature::Published => "PUBLISHED figures of others, not measured here",
            Nature::Imported => "IMPORTED figures of others, not measured here",
        }
    }

    /// The same before what follows on the line: `SIMULATED, no server was measured: `.
    pub fn lead(self) -> String {
        match self.told() {
            "" => String::new(),
            told => format!("{told}: "),
        }
    }

    /// The same as a line of its own, where what follows is long.
    pub fn line(self) -> String {
        match self.told() {
            "" => String::new(),
            told => format!("{told}\n"),
        }
    }

    /// The same at the end of a line, in brackets.
    pub fn tail(self) -> String {
        match self.told() {
            "" => String::new(),
            told => format!(" ({told})"),
        }
    }
}

/// What the first line says of two campaigns side by side, in brackets: ` (A measured, B
/// SIMULATED)`.
pub fn of_both(one: &Campaign, other: &Campaign) -> String {
    let (one, other) = (Nature::of_campaign(one), Nature::of_campaign(other));
    let word = |nature: Nature| match nature {
        Nature::Measured => nature.name().to_owned(),
        _ => nature.name().to_uppercase(),
    };
    match one == other {
        true => one.tail(),
        false => format!(" (A {}, B {})", word(one), word(other)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::report::{FORMATS, compare, fixture};

    /// Campaigns of each nature, with no trials and with some.
    fn of(nature: Nature, full: bool) -> fixture::Fixture {
        let mut fixture = match full {
            true => fixture::evaluated(),
            false => fixture::campaign_of(Vec::new(), 0),
        };
        match nature {
            Nature::Measured => {}
            Nature::Simulated => fixture.campaign.engine = "sim".into(),
            Nature::Published => fixture.campaign.engine = published::ENGINE.into(),
            Nature::Imported => fixture.campaign.inventory = json!({ "imported": {} }),
        }
        assert_eq!(Nature::of_campaign(&fixture.campaign), nature);
        fixture
    }

    const ALL: [Nature; 4] =
        [Nature::Measured, Nature::Simulated, Nature::Published, Nature::Imported];

    /// "The device delivers 1000 MB/s": a simulated server in the words of a measured one, and
    /// nothing in the report but a cell of a table told it apart.
    #[test]
    fn every_format_says_in_its_first_line_that_no_server_was_measured() {
        for (nature, full) in ALL.iter().flat_map(|nature| [(*nature, true), (*nature, false)]) {
            let fixture = of(nature, full);
            let input = fixture.input();
            for format in FORMATS {
                let bytes = format.bytes(&input).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                let first = match format.name {
                    // The first line of a page is the page.
                    "html" => text.split_once("</title>").unwrap().0,
                    "python" => text.lines().nth(1).unwrap(),
                    _ => text.lines().next().unwrap_or_default(),
                };
                match format.name {
                    "json" => {
                        let document: Value = serde_json::from_str(&text).unwrap();
                        assert_eq!(document["campaign"]["kind"], nature.name());
                    }
                    // Its readers take its first line for names; each trial names its engine.
                    "csv" => assert!(first.contains(",engine,"), "{first}"),
                    "parquet" => {
                        let after = text.rsplit_once("kind").expect("a key of its own").1;
                        let value: String = after.chars().take(24).collect();
                        assert!(value.contains(nature.name()), "{nature:?}: {value:?}");
                    }
                    name => {
                        assert!(first.contains(nature.told()), "{name}: {first:.300}");
                        let others = ALL.iter().filter(|it| **it != nature);
                        let mut others = others.map(|it| it.told()).filter(|it| !it.is_empty());
                        assert!(others.all(|it| !first.contains(it)), "{name}: {first:.300}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_comparison_says_which_of_the_two_was_not_measured() {
        let (real, sim) = (of(Nature::Measured, false), of(Nature::Simulated, false));
        let [real, sim] = [real.campaign, sim.campaign];
        assert_eq!(of_both(&real, &real), "");
        assert_eq!(of_both(&sim, &sim), " (SIMULATED, no server was measured)");
        assert_eq!(of_both(&real, &sim), " (A measured, B SIMULATED)");
        assert_eq!(of_both(&sim, &real), " (A SIMULATED, B measured)");
        // All that `compare` prints, of simulated campaigns.
        for (name, bytes) in compare::tests::printed() {
            let text = String::from_utf8_lossy(&bytes);
            let head = match text.split_once("</title>") {
                Some((head, _)) => head,
                None => text.lines().next().unwrap_or_default(),
            };
            let json = name.contains("JSON") && text.contains("\"kind\": \"simulated\"");
            assert!(json || head.contains("SIMULATED"), "{name}: {head:.300}");
        }
    }
}
