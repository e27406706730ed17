//! What others measured and printed: figures with their author, never mixed with counts.
//!
//! rule 3. Nothing is computed of them but the change of unit; no interval and no verdict of
//! ours stands at them. Which texts there are is the business of `published`.

use crate::measurement::figure_names;
use serde::{Deserialize, Serialize};

/// Names of reported figures begin so: none of them can be taken for one that we measured.
pub const PREFIX: &str = "reported_";

/// Figures of one row of somebody's table, or of one sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    /// Who and when: `van der Pol and Dijkstra, 2010`.
    pub by: String,
    /// Where in their text: `section 3.3`.
    pub place: String,
    /// Their words, or the row as it was printed.
    pub says: String,
    /// Which of the machines that the campaign's inventory describes it was measured on; `None` for
    /// what was not measured on any of them.
    pub configuration: Option<String>,
    /// Which way the bytes went.
    pub way: ReportedPath,
    /// What was printed.
    pub figures: Vec<Figure>,
    /// What a log of its tells over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<ReportedSeries>,
    /// How its figures are spread, where it tells that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<ReportedHistogram>,
}

/// One figure over time, as a log of another tool has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedSeries {
    /// Its name with the unit last, as of a figure.
    pub name: String,
    /// When each value stood there, in ns since the tool began; none is before the one above it.
    pub at_ns: Vec<u64>,
    /// In the unit of the name, one for each time.
    pub values: Vec<f64>,
}

/// How often each value came, as another tool counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedHistogram {
    /// What was counted, with the unit last: `completion_latency_ns`.
    pub name: String,
    /// The value that stands for each bin, in the unit of the name, rising.
    pub values: Vec<u64>,
    /// How often it came, one for each value.
    pub counts: Vec<u64>,
}

/// Which way the bytes of a reported figure went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportedPath {
    /// From disks to memory.
    Disks,
    /// Between memory and a network.
    Network,
    /// None, or one that the text does not tell.
    #[default]
    Untold,
}

/// One printed figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    /// Its name with the unit last, as in the JSON contract but without [`PREFIX`].
    pub name: String,
    /// In the unit of the name.
    pub value: f64,
    /// As it was printed: `813 MiByte/s`.
    pub printed: String,
    /// What its author said of it.
    pub bound: Bound,
}

/// How an author's words bound a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// It is the figure.
    #[default]
    Exact,
    /// It is near the figure.
    About,
    /// It is above the figure.
    Above,
    /// It is the figure or below.
    UpTo,
}

impl Bound {
    /// Stands before the figure: `about `, `above `, `up to `, or nothing.
    pub fn before(self) -> &'static str {
        match self {
            Bound::Exact => "",
            Bound::About => "about ",
            Bound::Above => "above ",
            Bound::UpTo => "up to ",
        }
    }
}

impl Reported {
    /// Without its series and histograms, which are long: figures are all that is computed with.
    pub fn light(&self) -> Reported {
        Reported {
            by: self.by.clone(),
            place: self.place.clone(),
            says: self.says.clone(),
            configuration: self.configuration.clone(),
            way: self.way,
            figures: self.figures.clone(),
            ..Reported::default()
        }
    }

    /// The figure of that name, without [`PREFIX`].
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// The rate of its bytes in bytes per second, however its author called it, and whether it is
    /// the level above which more disks did not bring it.
    pub fn rate(&self) -> Option<(&Figure, bool)> {
        let level = self.figure("level_off_throughput_bytes_per_s").map(|figure| (figure, true));
        level.or_else(|| self.figure(figure_names::THROUGHPUT).map(|figure| (figure, false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Settings;
    use crate::measurement::figures::{cells, figures, rate};
    use crate::measurement::{Measurement, Outcome, Record, judge};
    use crate::plan::Trial;

    fn record(figures: &[(&str, f64)]) -> Record {
        let figure = |(name, value): &(&str, f64)| Figure {
            name: (*name).to_owned(),
            value: *value,
            printed: value.to_string(),
            bound: Bound::Exact,
        };
        let reported = Reported {
            by: "A and B, 2010".to_owned(),
            figures: figures.iter().map(figure).collect(),
            ..Reported::default()
        };
        let trial = Trial {
            number: 1,
            replicate: 1,
            group: "Table 1".into(),
            settings: Settings::from_json("published", &serde_json::json!({ "slot": "x4" })),
            first_file: 0,
            seed: 0,
            planned: None,
        };
        let measurement = Measurement { reported: Some(reported), ..Measurement::default() };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    /// rule 3: a reported figure must not be taken for a measured one by any analysis.
    #[test]
    fn a_reported_figure_has_a_name_of_its_own_no_interval_and_no_verdict() {
        for record in [record(&[("throughput_bytes_per_s", 5e8)]), record(&[]).light()] {
            assert_eq!(rate(&record, "throughput_bytes_per_s"), None);
            assert!(judge::all(&record).is_empty(), "{:?}", judge::all(&record));
            let all = figures(&record);
            assert!(all.keys().all(|name| name.starts_with(PREFIX)), "{all:?}");
            assert!(all.iter().all(|(_, estimate)| estimate.interval.is_none()));
        }
        let record = record(&[("throughput_bytes_per_s", 5e8)]);
        let cells = cells(&[record.clone(), record.clone().light()]);
        assert_eq!(cells[0].figures["reported_throughput_bytes_per_s"].value, 5e8);
        assert_eq!(figures(&record), figures(&record.clone().light()));
    }

    #[test]
    fn what_is_not_finite_is_no_figure() {
        assert!(figures(&record(&[("throughput_bytes_per_s", f64::NAN)])).is_empty());
    }
}
