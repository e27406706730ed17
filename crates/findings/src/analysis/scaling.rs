//! To how many streams at once does it go on delivering more, and by what law?

use super::curve::{Curve, alike, curves};
use super::same;
use super::{AnalysisInput, Finding, Question, command, words};
use base::stats::knee::{Knee, Scaling, scaling};
use base::stats::profile::Level;
use base::stats::usl::{Peak, ScalabilityLaw, law};
use base::stats::{Estimate, mean_interval, ratio_of_means};
use base::value::{percent, significant};
use experiment::knob;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::rate;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "scaling",
    about: "To how many streams at once does throughput grow, or the rate of operations, does it \
            fall beyond, and by what law?",
    answer,
};

/// Together they give less than this share of the sum of each alone: they share a limit.
const SHARED: f64 = 0.95;

/// With so much of the most left, or less, it collapses; with more it falls.
const COLLAPSED: f64 = 0.5;

/// The figure that a load is about: transactions where it has such, operations where these are on
/// names or move no bytes, else throughput.
fn figure(curve: &Curve<'_>) -> &'static str {
    let has = |name: &str| curve.points.iter().any(|point| rate(point.record, name).is_some());
    match (
        has(figure_names::TRANSACTIONS_PER_S),
        curve.settings.has(knob::OPERATION) || !has(figure_names::THROUGHPUT),
    ) {
        (true, _) => figure_names::TRANSACTIONS_PER_S,
        (false, true) => figure_names::OPS_PER_S,
        (false, false) => figure_names::THROUGHPUT,
    }
}

fn answer(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    let curves = curves(asked.records, "streams");
    let mut findings = Vec::new();
    for curve in &curves {
        if let Some(scaling) = scaling(&curve.levels(figure(curve))) {
            let (knee, collapse) = (knee(curve, &scaling), collapse(curve, &scaling));
            match collapse {
                // That it is not decided whether more streams get more, above how they get less.
                Some(collapse) if knee.open => {
                    let open = knee.claim.trim_end_matches('.').to_owned();
                    findings.push(collapse.detailed([open]));
                }
                collapse => findings.extend([Some(knee), collapse].into_iter().flatten()),
            }
        }
    }
    findings.extend(curves.iter().filter_map(|curve| together(curve, &curves)));
    findings.extend(asked.followed().iter().map(|law| by_law(&curves[law.curve], law)));
    findings
}

fn label(curve: &Curve<'_>) -> String {
    curve.load(&["block-size", "queue-depth"])
}

/// A rate of the figure that the curve is about.
fn rate_told(curve: &Curve<'_>, rate: &Estimate, replicates: usize) -> String {
    match figure(curve) {
        figure_names::THROUGHPUT => words::load_rate(curve.settings, rate, replicates),
        name => words::rate_of(name, rate, replicates),
    }
}

fn knee(curve: &Curve<'_>, scaling: &Scaling) -> Finding {
    let label = label(curve);
    let replicates = curve.replicates(scaling.peak_at, figure(curve));
    let peak = rate_told(curve, &scaling.peak, replicates);
    let at_peak = format!("The most was {peak} with {}", words::streams(scaling.peak_at));
    let mut left_open = false;
    let (claim, advice) = match scaling.knee {
        Knee::At(at) => {
            let knee = words::whole(&at, " streams");
            (format!("{label} grows up to {knee}. {at_peak}."), None)
        }
        Knee::Between(below, reached) => (
            format!("{label} stops growing between {below} and {reached} streams. {at_peak}."),
            Some("measure more levels in between to narrow this down".to_owned()),
        ),
        Knee::BeforeFirst => {
            let first = words::streams(curve.first());
            (format!("{label} gives all it has to {first} already. {at_peak}."), None)
        }
        Knee::Undecided => {
            let open = same::undecided(&label, &curve.levels(figure(curve)), words::streams);
            left_open = open.all;
            (format!("{}. {at_peak}.", open.claim), Some(open.advice))
        }
        Knee::BeyondLast => {
            let last = words::streams(curve.last());
            let claim = format!(
                "{label} may go on growing beyond {last}, the most that were measured. {at_peak}."
            );
            (claim, Some("measure with more streams".to_owned()))
        }
    };
    let subject = format!("Whether {} gets more with more streams", words::lower(&label));
    let assertions = same::stated(curve, &curve.levels(figure(curve)), scaling);
    let finding = Finding::info(QUESTION.name, claim, curve.evidence());
    let finding = finding.doubted(curve.strays(), curve.points.len()).left_open(left_open);
    let finding = finding.stating(assertions.into_iter().map(|it| it.about(subject.clone())));
    let (most, peak) = (curve.last() as u64, scaling.peak_at as u64);
    let more = match scaling.knee {
        Knee::BeyondLast => [most, 2 * most, 4 * most],
        Knee::Between(below, reached) => between(below, reached),
        _ => [(peak / 2).max(1), peak, 2 * peak],
    };
    let finding = finding.typing(tried(curve, more));
    match advice {
        Some(advice) => finding.advise(advice),
        None => finding,
    }
}

fn collapse(curve: &Curve<'_>, scaling: &Scaling) -> Option<Finding> {
    let loss = scaling.loss?;
    let falls = if loss.left.value <= COLLAPSED { "collapses" } else { "falls" };
    let lost = |left: f64| percent(1.0 - left);
    let interval = match loss.left.interval {
        Some(ends) => format!("{} to {}", lost(ends.high), lost(ends.low)),
        None => "one run of each".to_owned(),
    };
    let claim = format!(
        "{} {falls} beyond {}: {} get {} of the most, {} less ({interval}).",
        label(curve),
        words::streams(scaling.peak_at),
        words::streams(loss.at),
        percent(loss.left.value),
        lost(loss.left.value),
    );
    let advice = format!("let no more than about {} run at once", words::streams(scaling.peak_at));
    let peak = words::streams(scaling.peak_at);
    let subject = format!("Whether {} {falls} beyond {peak}", words::lower(&label(curve)));
    let finding = Finding::info(QUESTION.name, claim, curve.evidence()).leaning(subject);
    let (peak, at) = (scaling.peak_at as u64, loss.at as u64);
    let between = [peak, (3 * peak + at) / 4, (peak + at) / 2, at];
    Some(finding.warn().advise(advice).typing(tried(curve, between)))
}

/// Two levels and what lies between them.
fn between(below: f64, reached: f64) -> [u64; 3] {
    [below as u64, ((below + reached) / 2.0) as u64, reached as u64]
}

/// What to type to measure with so many streams.
fn tried<const N: usize>(curve: &Curve<'_>, streams: [u64; N]) -> Option<String> {
    command::again(curve.settings, &[("streams", &command::levels(streams))])
}

/// The Universal Scalability Law, where it describes the curve; never one through figures of bytes
/// that came from elsewhere than they should, and none where more streams bring nothing: through
/// a flat curve goes every law of its kind.
fn law_of(curve: &Curve<'_>) -> Option<(ScalabilityLaw, Option<Scaling>)> {
    let levels = curve.levels(figure(curve));
    let found = scaling(&levels);
    let flat = |knee: Knee| matches!(knee, Knee::BeforeFirst | Knee::Undecided);
    let flat = found.as_ref().is_some_and(|found| flat(found.knee));
    let law = law(&levels).filter(|_| curve.strays() == 0 && !flat)?;
    Some((law, found))
}

/// A curve with the law that it follows.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Its place among the curves over streams.
    curve: usize,
    /// Numbers of its trials.
    pub evidence: Vec<u32>,
    /// The figure that it is about, as in the JSON contract.
    pub figure: &'static str,
    /// Its law, in the unit of the figure.
    pub law: ScalabilityLaw,
    /// The first and the last level that were measured: beyond, the law is its word alone.
    pub measured: (f64, f64),
    /// Where it stops growing, when one number says so.
    pub knee: Option<Estimate>,
    /// Where the law has its peak, when what was measured bounds it.
    pub peak: Option<Estimate>,
}

/// The curves over streams that follow the law, as the findings tell it.
pub fn followed(records: &[Record]) -> Vec<Followed> {
    let of = |(place, curve): (usize, &Curve<'_>)| {
        let (law, found) = law_of(curve)?;
        let knee = match found.map(|found| found.knee) {
            Some(Knee::At(at)) => Some(at),
            _ => None,
        };
        Some(Followed {
            curve: place,
            evidence: curve.evidence(),
            figure: figure(curve),
            measured: (curve.first(), curve.last()),
            knee,
            peak: bounded(curve, &law),
            law,
        })
    };
    curves(records, "streams").iter().enumerate().filter_map(of).collect()
}

fn by_law(curve: &Curve<'_>, followed: &Followed) -> Finding {
    let law = &followed.law;
    let cost = |of: Estimate| {
        let of = of.not_negative();
        let hundredfold = |share: f64| significant(share * 100.0);
        let ends = of.interval.map_or(String::new(), |ends| {
            let (low, high) = (hundredfold(ends.low), hundredfold(ends.high));
            format!(" ({low} to {high} %)")
        });
        format!("{} %{ends}", hundredfold(of.value))
    };
    let claim = format!(
        "{} follows the Universal Scalability Law: 1 stream gives {}. Its contention is {}, its \
         coherency {}. {}.",
        label(curve),
        rate_told(curve, &law.single, curve.points.len()),
        cost(law.contention),
        cost(law.coherency),
        peak(curve, law),
    );
    let subject = format!("By what law {} grows with the streams", words::lower(&label(curve)));
    Finding::info(QUESTION.name, claim, curve.evidence()).leaning(subject)
}

/// Where the law has its peak, when its interval ends within the levels that were measured.
fn bounded(curve: &Curve<'_>, law: &ScalabilityLaw) -> Option<Estimate> {
    match law.peak {
        Peak::At(at) if at.interval.is_some_and(|ends| ends.high <= curve.last()) => Some(at),
        _ => None,
    }
}

/// The same in words.
fn peak(curve: &Curve<'_>, law: &ScalabilityLaw) -> String {
    let last = curve.last();
    if let Some(at) = bounded(curve, law) {
        return format!("Its peak lies at {}", words::whole(&at, " streams"));
    }
    match law.peak {
        // What lies beyond all that was measured is the law's word alone.
        Peak::At(Estimate { interval: Some(ends), .. }) => format!(
            "Its peak is not bounded by the {last} streams that were measured: {} or more",
            significant(ends.low)
        ),
        Peak::NotBelow(low) => format!(
            "Its peak is not bounded by the {last} streams that were measured: {} or more",
            significant(low)
        ),
        Peak::At(_) | Peak::Unbounded => "Its peak is not bounded".to_owned(),
    }
}

impl Curve<'_> {
    fn directories(&self) -> &[String] {
        self.settings.directories()
    }
}

/// Several directories at once against the sum of each alone, each at its best level.
fn together(all: &Curve<'_>, curves: &[Curve<'_>]) -> Option<Finding> {
    let directories = all.directories();
    if directories.len() < 2 {
        return None;
    }
    let alone = |directory: &String| {
        curves.iter().find(|curve| {
            curve.directories() == std::slice::from_ref(directory)
                && alike(curve.settings, all.settings, &["streams", "directories"])
        })
    };
    let alone: Option<Vec<&Curve<'_>>> = directories.iter().map(alone).collect();
    let alone = alone?;
    let name = figure(all);
    let bests: Option<Vec<Level>> = alone.iter().map(|curve| best(curve, name)).collect();
    let (bests, at_once) = (bests?, best(all, name)?);
    let replicates = bests.iter().map(|level| level.values.len()).min()?;
    let sums: Vec<f64> =
        (0..replicates).map(|k| bests.iter().map(|level| level.values[k]).sum()).collect();
    let ratio = ratio_of_means(&at_once.values, &sums)?;
    let share = words::share(&ratio);
    let sum: Estimate = mean_interval(&sums)?;
    let mut evidence = all.evidence();
    evidence.extend(alone.iter().flat_map(|curve| curve.evidence()));
    let means = same::means(&at_once.values, &sums).filter(|_| name == figure_names::THROUGHPUT);
    let claim = format!(
        "{} over {} directories at once gives {}. That is {share} of the sum of each alone, {}{}.",
        words::load(all.settings, &["block-size", "queue-depth"]),
        directories.len(),
        words::rate_of(name, &mean_interval(&at_once.values)?, at_once.values.len()),
        words::rate_of(name, &sum, replicates),
        means.unwrap_or_default(),
    );
    let finding = Finding::info(QUESTION.name, claim, evidence);
    let shared = ratio.interval.is_some_and(|ends| ends.high < SHARED);
    Some(if shared {
        let claim = format!("{} They share a limit.", finding.claim);
        Finding { claim, ..finding }.warn()
    } else {
        finding
    })
}

/// The level with the highest mean.
fn best(curve: &Curve<'_>, name: &str) -> Option<Level> {
    let levels = curve.levels(name);
    levels.into_iter().max_by(|a, b| a.mean().total_cmp(&b.mean()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Severity;
    use experiment::measurement::limit::testing::Scene;

    /// "Whether reading gains from more than 1 stream is not decided" stood on a first screen, and
    /// "reading collapses beyond 4 streams" below it.
    #[test]
    fn what_surely_falls_is_told_before_what_is_not_decided() {
        let mut records = Vec::new();
        let mut add = |streams: u64, mb_per_s: &[u32]| {
            for rate in mb_per_s {
                let bytes_per_s = f64::from(*rate) * 1e6;
                let scene = Scene { streams, bytes_per_s, ..Scene::default() };
                records.push(scene.record(records.len() as u32 + 1));
            }
        };
        add(1, &[90, 100, 110]);
        add(4, &[99, 110, 121]);
        add(16, &[54, 60, 66]);
        add(64, &[27, 30, 33]);
        let found = answer(&AnalysisInput::from_records(&records));
        let says = |it: &Finding, what: &str| it.claim.contains(what);
        assert!(says(&found[0], "collapses beyond 4 streams"), "{found:#?}");
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(found[0].details.iter().any(|it| it.contains("not decided")), "{found:#?}");
        assert!(found.iter().all(|it| !says(it, "not decided")), "{found:#?}");
    }

    /// "Reading collapses beyond 4 streams" was said of 17 % less.
    #[test]
    fn what_is_left_tells_whether_it_falls_or_collapses() {
        for (last, says) in [(91, "falls beyond 4 streams"), (30, "collapses beyond 4 streams")] {
            let rates = [(1, 50), (4, 110), (16, last)];
            let all = rates.iter().flat_map(|of| [(of, 0.99), (of, 1.0), (of, 1.01)]);
            let record = |(number, (&(streams, mb_per_s), times)): (usize, (&(u64, u32), f64))| {
                let bytes_per_s = f64::from(mb_per_s) * 1e6 * times;
                let scene = Scene { streams, bytes_per_s, ..Scene::default() };
                scene.record(number as u32 + 1)
            };
            let records: Vec<_> = all.enumerate().map(record).collect();
            let found = answer(&AnalysisInput::from_records(&records));
            assert!(found.iter().any(|it| it.claim.contains(says)), "{says}: {found:#?}");
        }
    }
}
