//! Figures by name, in as little memory as they need: a campaign has a hundred thousand times
//! twenty of them.

use std::ops::Index;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::Record;
use crate::measurement::figure_names;
use base::stats::Estimate;

/// The name of a figure in the JSON contract, such as `throughput_bytes_per_s`.
pub type Name = Arc<str>;

/// Figures by their names, in the order of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<(Name, Estimate)>);

impl Figures {
    /// None.
    pub fn new() -> Figures {
        Figures::default()
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name))
    }

    /// Adds a figure, in the place of one of that name.
    pub fn insert(&mut self, name: Name, estimate: Estimate) {
        match self.place(&name) {
            Ok(place) => self.0[place].1 = estimate,
            Err(place) => self.0.insert(place, (name, estimate)),
        }
    }

    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<&Estimate> {
        self.place(name).ok().map(|place| &self.0[place].1)
    }

    /// The same, looked for first where `place` says that it was among other figures: those of one
    /// campaign mostly have the same names. Where it is found, `place` says so from then on.
    pub fn get_near(&self, name: &str, place: &mut usize) -> Option<&Estimate> {
        if self.0.get(*place).is_none_or(|(known, _)| known.as_ref() != name) {
            *place = self.place(name).ok()?;
        }
        self.0.get(*place).map(|(_, estimate)| estimate)
    }

    /// The same, to be changed.
    #[cfg(any(test, feature = "testing"))]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Estimate> {
        self.place(name).ok().map(|place| &mut self.0[place].1)
    }

    /// Whether there is a figure of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Takes the figure of that name away.
    #[cfg(any(test, feature = "testing"))]
    pub fn remove(&mut self, name: &str) -> Option<Estimate> {
        self.place(name).ok().map(|place| self.0.remove(place).1)
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Estimate) -> bool) {
        self.0.retain(|(name, estimate)| keep(name, estimate));
    }

    /// All, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Estimate)> + Clone {
        self.0.iter().map(|(name, estimate)| (name, estimate))
    }

    /// Their names, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Name> + Clone {
        self.0.iter().map(|(name, _)| name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Of two figures of one name the last counts.
impl FromIterator<(Name, Estimate)> for Figures {
    fn from_iter<I: IntoIterator<Item = (Name, Estimate)>>(all: I) -> Figures {
        let mut all: Vec<(Name, Estimate)> = all.into_iter().collect();
        // The last of a name comes first, so that it is the one which stays.
        all.reverse();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.dedup_by(|(a, _), (b, _)| a == b);
        all.shrink_to_fit();
        Figures(all)
    }
}

impl Extend<(Name, Estimate)> for Figures {
    fn extend<I: IntoIterator<Item = (Name, Estimate)>>(&mut self, all: I) {
        all.into_iter().for_each(|(name, estimate)| self.insert(name, estimate));
    }
}

/// # Panics
/// Where there is no figure of that name.
impl Index<&str> for Figures {
    type Output = Estimate;

    fn index(&self, name: &str) -> &Estimate {
        self.get(name).unwrap_or_else(|| panic!("no figure `{name}`"))
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

/// The figures that [`rate`](super::figures::rate) gives.
const RATES: [&str; 7] = [
    figure_names::THROUGHPUT,
    figure_names::IOPS,
    figure_names::OPS_PER_S,
    figure_names::TRANSACTIONS_PER_S,
    figure_names::LATENCY_MEAN,
    figure_names::ACCEPTED_THROUGHPUT,
    figure_names::DURABLE_THROUGHPUT,
];

/// The rates that a trial has: every question asks for them, of each of 100 000 trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates([Option<f64>; RATES.len()]);

impl Rates {
    /// Those among some figures.
    pub fn among(figures: &Figures) -> Rates {
        Rates(RATES.map(|name| figures.get(name).map(|figure| figure.value)))
    }

    /// The same but those of these names.
    #[must_use]
    pub fn without(mut self, names: &[Name]) -> Rates {
        for (rate, name) in self.0.iter_mut().zip(RATES) {
            if names.iter().any(|held| held.as_ref() == name) {
                *rate = None;
            }
        }
        self
    }
}

/// A figure of a record whose samples were let go; `None` of any other record.
pub(super) fn kept(record: &Record, name: &str) -> Option<Option<f64>> {
    let digest = record.outcome.measurement()?.digest.as_ref()?;
    Some(match RATES.iter().position(|known| *known == name) {
        Some(place) => digest.rates.0[place],
        None if digest.withheld.iter().any(|held| held.as_ref() == name) => None,
        None => digest.figures.get(name).map(|figure| figure.value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(all: &[(&str, f64)]) -> Figures {
        all.iter().map(|(name, value)| ((*name).into(), Estimate::bare(*value))).collect()
    }

    #[test]
    fn a_figure_is_found_wherever_it_was_among_others() {
        let all = figures(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        for start in 0..5 {
            for name in ["a", "b", "c", "d"] {
                let mut place = start;
                assert_eq!(all.get_near(name, &mut place), all.get(name), "{name} from {start}");
                let found = all.keys().position(|known| known.as_ref() == name);
                assert_eq!(place, found.unwrap_or(start), "{name} from {start}");
            }
        }
    }

    #[test]
    fn figures_are_found_by_name_and_the_last_of_a_name_counts() {
        let mut all = figures(&[("b", 1.0), ("a", 2.0), ("b", 3.0), ("c", 4.0)]);
        assert_eq!(all, figures(&[("a", 2.0), ("b", 3.0), ("c", 4.0)]));
        all.insert("ab".into(), Estimate::bare(5.0));
        all.insert("a".into(), Estimate::bare(6.0));
        let names: Vec<&str> = all.keys().map(AsRef::as_ref).collect();
        assert_eq!(names, ["a", "ab", "b", "c"]);
        assert_eq!((all["a"].value, all.get("d"), all.len()), (6.0, None, 4));
        assert_eq!(all.remove("ab").map(|it| it.value), Some(5.0));
        all.retain(|name, _| name != "a");
        assert_eq!(all, figures(&[("b", 3.0), ("c", 4.0)]));
        assert_eq!(
            serde_json::to_string(&all).unwrap(),
            r#"{"b":{"value":3.0},"c":{"value":4.0}}"#
        );
    }
}
