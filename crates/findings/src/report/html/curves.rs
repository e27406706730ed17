//! (pure) Cells arranged as lines over one knob.

use crate::report::cells::{self, CellGroup, CellRow};
use crate::report::words;
use base::value::Value;
use experiment::knob::Settings;

/// A legend with more entries than this cannot be told apart.
pub const CURVES_MAX: usize = 8;

/// Cells that differ in one knob, as one line of a plot.
pub struct PlotCurve<'a> {
    /// For the legend.
    pub name: String,
    /// In the order of the axis, each with its place on it.
    pub points: Vec<(f64, CellRow<'a>)>,
}

/// The curves over `axis` of all groups whose cells differ in it and whose settings `fit`, at most
/// [`CURVES_MAX`], and how many there were beyond those.
pub fn curves<'a>(
    groups: &[CellGroup<'a>],
    axis: &'static str,
    fit: impl Fn(&Settings) -> bool,
) -> (Vec<PlotCurve<'a>>, usize) {
    let mut curves: Vec<PlotCurve<'a>> = Vec::new();
    for group in groups.iter().filter(|group| group.varying.contains(&axis)) {
        let others: Vec<&'static str> =
            group.varying.iter().copied().filter(|knob| *knob != axis).collect();
        let mut bundles: Vec<(Vec<Option<&Value>>, Vec<CellRow<'a>>)> = Vec::new();
        for row in group.rows.iter().filter(|row| fit(&row.cell.settings)) {
            let key: Vec<_> = others.iter().map(|knob| cells::value(row.cell, knob)).collect();
            match bundles.iter_mut().find(|(known, _)| *known == key) {
                Some((_, rows)) => rows.push(row.clone()),
                None => bundles.push((key, vec![row.clone()])),
            }
        }
        for (key, rows) in bundles {
            let mut points: Vec<(f64, CellRow<'a>)> = rows
                .into_iter()
                .filter_map(|row| Some((row.cell.settings.named(axis)?.number(), row)))
                .collect();
            points.retain(|(x, _)| x.is_finite() && *x > 0.0);
            points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            if points.len() > 1 {
                curves.push(PlotCurve { name: name(&title(group, axis), &others, &key), points });
            }
        }
    }
    let beyond = curves.len().saturating_sub(CURVES_MAX);
    curves.truncate(CURVES_MAX);
    (curves, beyond)
}

/// The group's name, or what it does where the name is only that of the axis.
fn title(group: &CellGroup<'_>, axis: &str) -> String {
    let told = match group.name == axis.replace('-', " ") {
        true => group.told(&["access", "block-size"]),
        false => String::new(),
    };
    if told.is_empty() { group.name.to_owned() } else { told }
}

fn name(group: &str, others: &[&str], key: &[Option<&Value>]) -> String {
    let told = others.iter().zip(key).filter_map(|(knob, held)| Some((*knob, (*held)?)));
    let told: Vec<String> = told.map(|(knob, held)| words::phrase(knob, held)).collect();
    match told.is_empty() {
        true => group.to_owned(),
        false => format!("{group}: {}", told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{cells, fixture};
    use experiment::knob::testing::settings;
    use experiment::plan::blocked;

    fn named(group: &str, typed: &[(&str, &str)]) -> (String, Settings) {
        (group.to_owned(), settings("file", typed))
    }

    #[test]
    fn two_factors_make_a_curve_for_each_level_of_the_other() {
        let cells = [
            named("g", &[("queue-depth", "1"), ("block-size", "4KiB")]),
            named("g", &[("queue-depth", "32"), ("block-size", "4KiB")]),
            named("g", &[("queue-depth", "1"), ("block-size", "64KiB")]),
            named("g", &[("queue-depth", "32"), ("block-size", "64KiB")]),
        ];
        let fixture = fixture::campaign_of(blocked(&cells, 1, 1), 4);
        let input = fixture.input();
        let groups = cells::groups(&input);
        let (curves, beyond) = curves(&groups, "queue-depth", |_| true);
        let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["g: 4 KiB blocks", "g: 64 KiB blocks"]);
        assert_eq!(beyond, 0);
        for curve in &curves {
            assert_eq!(curve.points.iter().map(|(x, _)| *x).collect::<Vec<_>>(), [1.0, 32.0]);
        }
    }

    #[test]
    fn a_curve_takes_a_shared_cell_from_the_group_where_it_stands() {
        let cells = [
            named("streams", &[("streams", "1")]),
            named("streams", &[("streams", "8")]),
            named("blocks", &[("block-size", "4KiB"), ("file-size", "64MiB")]),
            named("blocks", &[("block-size", "4MiB"), ("file-size", "64MiB")]),
        ];
        let fixture = fixture::campaign_of(blocked(&cells, 1, 1), 4);
        let input = fixture.input();
        let groups = cells::groups(&input);
        let (curves, _) = curves(&groups, "block-size", |_| true);
        let places: Vec<f64> = curves[0].points.iter().map(|(x, _)| *x).collect();
        assert_eq!(places, [4096.0, 1_048_576.0, 4_194_304.0]);
    }

    #[test]
    fn a_file_size_that_follows_the_streams_makes_no_curves_of_its_own() {
        let cells = [
            named("s", &[("streams", "1"), ("file-size", "1GiB")]),
            named("s", &[("streams", "8"), ("file-size", "128MiB")]),
        ];
        let fixture = fixture::campaign_of(blocked(&cells, 2, 1), 4);
        let input = fixture.input();
        let (curves, _) = curves(&cells::groups(&input), "streams", |_| true);
        assert_eq!(curves.len(), 1);
        assert_eq!(curves[0].name, "s");
    }
}
