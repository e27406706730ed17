//! (pure) The laws that curves over streams follow, as curves of their own.

use super::super::curves::PlotCurve;
use super::super::panel::{Fitted, Panel, shortened};
use super::Print;
use crate::analysis::scaling::Followed;
use base::stats::Estimate;
use base::value::significant;

/// Points of a law's curve: more than a screen shows as corners.
const POINTS: usize = 48;

/// The law of each of `curves` that follows one in the figure `name`: a law belongs to a curve when
/// it rests on the same trials.
pub fn fitted(
    followed: &[Followed],
    curves: &[PlotCurve<'_>],
    name: &str,
    print: Print,
) -> Vec<Fitted> {
    let of = |(hue, curve): (usize, &PlotCurve<'_>)| {
        let trials = curve.points.iter().flat_map(|(_, row)| row.cell.trials.iter().copied());
        let trials = sorted(trials.collect());
        let same = |law: &&Followed| law.figure == name && sorted(law.evidence.clone()) == trials;
        let law = followed.iter().find(same)?;
        Some(drawn(law, format!("{}, law", curve.name), hue as u8, print))
    };
    curves.iter().enumerate().filter_map(of).collect()
}

/// Puts laws on the one panel of their curves; and says so after `told`.
pub fn add(panels: &mut [Panel], laws: Vec<Fitted>, told: &str) -> String {
    let Some(panel) = panels.first_mut().filter(|_| !laws.is_empty()) else {
        return told.to_owned();
    };
    panel.laws = laws;
    format!(
        "{told} Dotted, named law: the Universal Scalability Law, where the findings tell one, \
         with its peak and the knee as far as they are bounded; never beyond what was measured."
    )
}

fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers
}

fn drawn(law: &Followed, name: String, hue: u8, print: Print) -> Fitted {
    let (first, last) = law.measured;
    let up = |at: f64| shortened(print(law.law.at(at)).0);
    let step = (last / first).ln() / (POINTS - 1) as f64;
    let points = (0..POINTS).map(|place| first * (step * place as f64).exp());
    let points = points.map(|at| (shortened(at), up(at.min(last)))).collect();
    let mark = |at: Estimate, what: &str| {
        let ends = at.interval.map_or(String::new(), |ends| {
            format!("\n95 %: {} to {}", significant(ends.low), significant(ends.high))
        });
        let said = format!("{what} at {} streams{ends}", significant(at.value));
        (first..=last).contains(&at.value).then(|| (shortened(at.value), up(at.value), said))
    };
    let knee = law.knee.and_then(|at| mark(at, "knee"));
    let peak = law.peak.and_then(|at| mark(at, "peak of the law"));
    Fitted { name, hue, points, marks: knee.into_iter().chain(peak).collect() }
}

#[cfg(test)]
mod tests {
    use crate::analysis::scaling::followed;
    use crate::report::Input;
    use crate::report::fixture;
    use crate::report::html::figures::figures;
    use engines::engine::testing::campaign;
    use experiment::knob::testing::settings;

    /// A campaign on a simulated server whose streams wait for each other.
    fn panels(truth: &[(&str, &str)]) -> (usize, Vec<super::Fitted>) {
        let cells: Vec<_> = ["1", "2", "4", "8", "16", "32", "60"]
            .iter()
            .map(|streams| {
                let mut typed = vec![("streams", *streams)];
                typed.extend(truth);
                ("streams".to_owned(), settings("sim", &typed))
            })
            .collect();
        let records = campaign(&cells, 3, 5);
        let campaign = fixture::campaign_of(Vec::new(), 0).campaign;
        let input = Input::new(&campaign, &records);
        let mut figures = figures(&input);
        let scaling = figures.iter_mut().find(|figure| figure.id == "scaling").unwrap();
        (followed(&records).len(), std::mem::take(&mut scaling.panels[0].laws))
    }

    #[test]
    fn a_law_is_drawn_where_it_is_told_and_nowhere_else() {
        let planted = [
            ("sim-capacity", "100000MB/s"),
            ("sim-stream-rate", "50MB/s"),
            ("block-size", "64KiB"),
            ("queue-depth", "8"),
            ("sim-contention", "0.05"),
            ("sim-coherency", "0.002"),
        ];
        for truth in [&planted[..], &[("sim-service-time", "1ms")]] {
            let (told, drawn) = panels(truth);
            assert_eq!(told, drawn.len(), "{truth:?}");
            assert!(truth.len() == 1 || told == 1, "the planted law is told");
            for law in &drawn {
                assert!(law.name.ends_with(", law"));
                let ends = [law.points[0].0, law.points[law.points.len() - 1].0];
                assert_eq!(ends, [1.0, 60.0], "never beyond what was measured");
                for (at, _, _) in &law.marks {
                    assert!((1.0..=60.0).contains(at));
                }
            }
        }
    }
}
