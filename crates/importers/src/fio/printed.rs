//! (pure) Which results of two forms are one: fio prints a run in several of them where it is asked
//! to (`--output-format=normal,json`).

use std::collections::BTreeMap;

use crate::ToolResult;
use experiment::measurement::reported::Figure;

/// One result, and what tells whether it is the same that another form has.
pub struct Printed {
    /// As fio calls the job, without a machine.
    pub name: String,
    pub group: Option<u64>,
    /// When it was printed, as far as that is told.
    pub at: Option<Moment>,
    pub said: ToolResult,
}

/// The results of one form, and those of another that are of no run of the first. Where the first
/// does not say what was asked, the other does.
///
/// # Errors
/// When the two tell of one run, and contradict each other.
pub fn join(mut first: Vec<Printed>, other: Vec<Printed>) -> Result<Vec<Printed>, String> {
    let mut of_group: BTreeMap<Option<u64>, Vec<usize>> = BTreeMap::new();
    let mut of_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, printed) in first.iter().enumerate() {
        of_group.entry(printed.group).or_default().push(at);
        of_name.entry(printed.name.clone()).or_default().push(at);
    }
    for printed in other {
        // Of one that lost its group it is not known.
        let group = of_group.get(&printed.group).and(printed.group);
        // One that has its name in another group has lost its own.
        let alike = of_name.get(&printed.name);
        let elsewhere = |at: &usize| {
            first[*at].group.is_some_and(|group| Some(group) != printed.group)
                && first[*at].is(&printed)
        };
        let lost = !of_group.contains_key(&printed.group)
            && alike.is_some_and(|places| places.iter().any(elsewhere));
        let mut none = Vec::new();
        let places = of_group.get_mut(&group).unwrap_or(&mut none);
        if let Some(place) = places.iter().position(|at| first[*at].is(&printed)) {
            let at = places.remove(place);
            if first[at].said.settings.is_empty() {
                first[at].said.settings = printed.said.settings;
            }
        } else if lost || places.iter().any(|at| first[*at].must_be(&printed)) {
            return Err(format!(
                "its job {} stands there in two forms that say different things; where they are of \
                 two runs, bring each in a file of its own",
                printed.name
            ));
        } else {
            first.push(printed);
        }
    }
    Ok(first)
}

impl Printed {
    /// Whether both are of one run: all that both of them tell is the same. Where that is the rates
    /// alone, they were printed at the same time as well.
    fn is(&self, other: &Printed) -> bool {
        let mut exact = 0;
        let pairs = other.said.figures.iter().filter(|figure| how(figure).is_some());
        let agree = pairs.into_iter().all(|figure| {
            let mine = self.said.figures.iter().find(|mine| mine.name == figure.name);
            exact += usize::from(!is_rate(&figure.name));
            mine.is_some_and(|mine| near(mine, figure))
        });
        self.name == other.name && agree && (exact > 2 || self.may_be(other))
    }

    /// Whether both may have been printed at once.
    fn may_be(&self, other: &Printed) -> bool {
        self.later_s(other).is_none_or(|later_s| later_s <= LATER_S)
    }

    /// Whether both are of one run, whatever they say.
    fn must_be(&self, other: &Printed) -> bool {
        match self.later_s(other) {
            Some(later_s) => later_s <= LATER_S,
            None => self.name == other.name,
        }
    }

    fn later_s(&self, other: &Printed) -> Option<u64> {
        Some(self.at?.abs_diff(other.at?))
    }
}

/// How long a file may take that both are written to.
const LATER_S: u64 = 2;

fn is_rate(name: &str) -> bool {
    name.ends_with("bytes_per_s") || name.ends_with("iops")
}

/// What one more in the last place of a printed figure is worth at most; nothing of those that are
/// not compared.
fn how(figure: &Figure) -> Option<f64> {
    let is_of = |end: &str| figure.name.ends_with(end);
    match figure.printed.split(' ').nth(1) {
        _ if is_rate(&figure.name) => Some(1.0),
        _ if is_of("_cpu_share") => Some(1e-4),
        _ if !is_of("_mean") && !is_of("_max") => None,
        Some("ns" | "nsec") => Some(1.0),
        Some("us" | "usec") => Some(1e3),
        Some("msec") => Some(1e6),
        _ => Some(1e9),
    }
}

fn near(one: &Figure, other: &Figure) -> bool {
    /// Three digits.
    const ROUNDED: f64 = 0.01;
    let step = how(one).unwrap_or(0.0).max(how(other).unwrap_or(0.0));
    (one.value - other.value).abs() <= one.value.max(other.value) * ROUNDED + step
}

/// Seconds of a calendar whose months have 31 days each: right within a month.
pub type Moment = u64;

/// `Sun Nov 29 23:41:42 2026`, as ctime(3) has it.
pub fn moment(text: &str) -> Option<Moment> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text.split_whitespace().skip(1);
    let month = MONTHS.find(words.next().filter(|month| month.len() == 3)?)? as u64 / 3;
    let day: u64 = words.next()?.parse().ok().filter(|day| *day < 32)?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let mut part = || time.next().flatten().filter(|part| *part < 61);
    let second = (part()? * 60 + part()?) * 60 + part()?;
    let year: u64 = words.next()?.parse().ok().filter(|year| *year < 10_000)?;
    Some(((year * 12 + month) * 31 + day) * 86_400 + second)
}

/// What fio tells while it runs has no end of line: `Jobs: 0 (f=0)small`, and `Jobs: 1 (f=1):
/// [r(1)][100.0%][eta 00m:00s]small`.
pub fn without_progress(name: &str) -> &str {
    let name = name.rsplit('\r').next().unwrap_or(name).trim_start();
    let files =
        name.strip_prefix("Jobs: ").and_then(|rest| rest.split_once(" (f=")?.1.split_once(')'));
    let Some((_, rest)) = files else { return name };
    let behind = rest.split_once("[eta ").and_then(|(_, rest)| rest.split_once(']'));
    behind.map_or(rest, |(_, rest)| rest)
}
