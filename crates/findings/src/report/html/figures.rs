//! (pure) The figures of the report: what each shows, what it says in a sentence, and, where
//! nothing was measured, what would have to be.

use super::curves::{self, PlotCurve};
use super::panel::{
    Axis, AxisPosition, Dash, GREY, Panel, PanelKind, Point, Trace, count_tick, time_tick,
};
use crate::analysis::scaling::Followed;
use crate::report::cells::{self, CellGroup, CellRow, FigureOrigin};
use crate::report::{Input, words};
use base::stats::Estimate;
use base::value;
use experiment::knob::{self, Settings};
use experiment::measurement::figure_names;

mod bars;
mod course;
mod distribution;
mod effects;
mod law;
mod load;
mod message;
mod operations;

/// One figure.
pub struct Figure {
    /// Names its place in the page.
    pub id: &'static str,
    /// As a heading.
    pub title: &'static str,
    /// How to read it; empty when nothing was measured.
    pub about: String,
    /// What is drawn; empty when nothing was measured.
    pub panels: Vec<Panel>,
    /// The main message in a sentence, for whoever cannot see it; or why there is none.
    pub message: String,
}

/// All, in the order of the page.
pub fn figures(input: &Input<'_>) -> Vec<Figure> {
    let groups = cells::groups(input);
    let followed = &input.shown.followed;
    let all = [
        scaling(&groups, followed),
        depth(&groups),
        load::figure(&groups),
        blocks(&groups),
        bars::cache(&groups),
        bars::durable(&groups),
    ];
    let standard = input.campaign.plan == "evaluate";
    let mut figures: Vec<Figure> = effects::figure(&input.shown.effects).into_iter().collect();
    figures.extend(effects::together(&input.shown.effects));
    figures.extend(operations::figure(&groups, followed));
    let mut beside: Vec<Figure> = distribution::figure(input, &groups).into_iter().collect();
    beside.extend(distribution::reported::figure(input));
    beside.extend(course::figure(input));
    for (mut figure, words) in all {
        if figure.panels.is_empty() {
            // Any other plan measures what it was asked; nothing is missing from it.
            if !standard {
                continue;
            }
            figure.message = missing(input, words);
            // What it would show was not found: not even that two figures are the same.
            figure.about.clear();
        } else {
            figure.message = message::main_message(&figure.panels);
        }
        // After the curve of load tests come those that go on with what it tells.
        let load = figure.id == "load";
        figures.push(figure);
        if load {
            figures.append(&mut beside);
        }
    }
    figures.append(&mut beside);
    figures
}

/// A figure, and words by which the cells that it lacks can be known.
type Planned = (Figure, &'static [&'static str]);

fn missing(input: &Input<'_>, words: &[&str]) -> String {
    let wanted = input.campaign.not_bought.iter().filter(|left_out| {
        let cell = left_out.cell.to_lowercase();
        words.iter().any(|word| cell.contains(word))
    });
    match wanted.min_by_key(|left_out| left_out.budget_ns) {
        Some(cheapest) => format!(
            "Not measured within this budget: `--budget {}` adds \u{201c}{}\u{201d}.",
            words::budget(cheapest.budget_ns),
            cheapest.cell
        ),
        None if input.campaign.not_bought.is_empty() => {
            "Not measured in this campaign, or no trial of it was done.".to_owned()
        }
        None => {
            let least = input.campaign.not_bought.iter().map(|cell| cell.budget_ns).min();
            let least = words::budget(least.unwrap_or_default());
            format!("Not measured within this budget; `--budget {least}` adds more of it.")
        }
    }
}

fn scaling(groups: &[CellGroup<'_>], followed: &[Followed]) -> Planned {
    let fit = |settings: &Settings| {
        !words::writes_only(settings) && !words::warm(settings) && !settings.has(knob::OPERATION)
    };
    let (curves, beyond) = curves::curves(groups, "streams", fit);
    let (unit, print) = unit(&curves);
    let mut traces = traces(&curves, figure_names::THROUGHPUT, Dash::Solid, "", print);
    let naive = apart(
        self::traces(&curves, figure_names::NAIVE_THROUGHPUT, Dash::Broken, ", naive", print),
        &traces,
    );
    let told = match naive.is_empty() {
        true => {
            "The naive figure, timed bytes over the time of the last finish, is the same \
                 within 2 %."
        }
        false => {
            "Dashed: the naive figure, timed bytes over the time of the last finish, where \
                  it is not the same within 2 %."
        }
    };
    traces.extend(naive);
    let mut panels = panel(
        "scaling-throughput",
        &curves,
        "streams",
        &[
            figure_names::THROUGHPUT,
            figure_names::ACCEPTED_THROUGHPUT,
            figure_names::NAIVE_THROUGHPUT,
        ],
        Axis::linear(unit),
        traces,
    );
    let told = law::add(
        &mut panels,
        law::fitted(followed, &curves, figure_names::THROUGHPUT, print),
        told,
    );
    let figure = Figure {
        id: "scaling",
        title: "Throughput against streams",
        about: about(
            &format!(
                "Solid: all bytes in the time in which every stream ran, with the 95 % interval \
                 over replicates. {told}"
            ),
            beyond,
        ),
        panels,
        message: String::new(),
    };
    (figure, &["stream"])
}

fn depth(groups: &[CellGroup<'_>]) -> Planned {
    let fit = |settings: &Settings| !words::warm(settings);
    let (curves, beyond) = curves::curves(groups, "queue-depth", fit);
    let iops = traces(&curves, figure_names::IOPS, Dash::Solid, "", plain);
    let mut latency = traces(&curves, figure_names::LATENCY_P50, Dash::Solid, ", p50", nanoseconds);
    latency.extend(traces(&curves, figure_names::LATENCY_P99, Dash::Broken, ", p99", nanoseconds));
    if let ([_], true) = (&curves[..], latency.len() > 1) {
        // The name of the only curve stands in the panel beside this one.
        for trace in &mut latency {
            trace.name = trace.name.rsplit(", ").next().unwrap_or_default().to_owned();
        }
    }
    let axis = Axis::log("latency", heights(&latency), time_tick);
    let mut panels = panel(
        "depth-iops",
        &curves,
        "queue-depth",
        &[figure_names::IOPS],
        Axis::linear("operations per second"),
        iops,
    );
    panels.extend(panel(
        "depth-latency",
        &curves,
        "queue-depth",
        &[figure_names::LATENCY_P50, figure_names::LATENCY_P99],
        axis,
        latency,
    ));
    let about = about(
        "Operations per second, and the time of one operation: median and 99th percentile. Where \
         the first is flat, more depth buys only waiting.",
        beyond,
    );
    let title = "Throughput and latency against queue depth";
    (Figure { id: "depth", title, about, panels, message: String::new() }, &["depth"])
}

fn blocks(groups: &[CellGroup<'_>]) -> Planned {
    let fit = |settings: &Settings| !words::warm(settings);
    let (curves, beyond) = curves::curves(groups, "block-size", fit);
    let (unit, print) = unit(&curves);
    let mut rate = traces(&curves, figure_names::THROUGHPUT, Dash::Solid, "", print);
    rate.extend(traces(
        &curves,
        figure_names::DURABLE_THROUGHPUT,
        Dash::Broken,
        ", durable",
        megabytes,
    ));
    let iops = traces(&curves, figure_names::IOPS, Dash::Solid, "", plain);
    let axis = Axis::log("operations per second", heights(&iops), count_tick);
    let mut panels = panel(
        "blocks-throughput",
        &curves,
        "block-size",
        &[
            figure_names::THROUGHPUT,
            figure_names::ACCEPTED_THROUGHPUT,
            figure_names::DURABLE_THROUGHPUT,
        ],
        Axis::linear(unit),
        rate,
    );
    panels.extend(panel("blocks-iops", &curves, "block-size", &[figure_names::IOPS], axis, iops));
    let about = about(
        "Bytes and operations per second. Small blocks are bound by operations, large ones by \
         bytes.",
        beyond,
    );
    let title = "Block size";
    (Figure { id: "blocks", title, about, panels, message: String::new() }, &["block"])
}

fn about(text: &str, beyond: usize) -> String {
    let marked = " Grey, dotted, open points: bytes that did not provably come from the device.";
    match beyond {
        0 => format!("{text}{marked}"),
        _ => format!("{text}{marked} {beyond} more curves are in the tables only."),
    }
}

/// A figure in the unit of its axis, and in words.
type Print = fn(f64) -> (f64, String);

/// The unit of throughput of some curves: bits where all go over a network, else bytes.
fn unit(curves: &[PlotCurve<'_>]) -> (&'static str, Print) {
    let mut rows = curves.iter().flat_map(|curve| &curve.points);
    match !curves.is_empty() && rows.all(|(_, row)| row.cell.settings.is_network()) {
        true => ("Gb/s", |per_s| (per_s * 8e-9, value::bits(per_s))),
        false => ("MB/s", megabytes),
    }
}

fn megabytes(per_s: f64) -> (f64, String) {
    (per_s / 1e6, value::throughput(per_s))
}

fn plain(per_s: f64) -> (f64, String) {
    (per_s, format!("{} IOPS", value::iops(per_s)))
}

fn nanoseconds(ns: f64) -> (f64, String) {
    (ns, value::duration(ns))
}

/// A line for each curve that has the figure `name`.
fn traces(
    curves: &[PlotCurve<'_>],
    name: &str,
    dash: Dash,
    suffix: &str,
    print: Print,
) -> Vec<Trace> {
    let trace = |(place, curve): (usize, &PlotCurve<'_>)| {
        // Of a mixed load both directions are told; what it wrote alone is another figure.
        let written = curve.points.iter().all(|(_, row)| words::writes_only(&row.cell.settings));
        if name == figure_names::DURABLE_THROUGHPUT && !written {
            return None;
        }
        let accepted = written && [figure_names::THROUGHPUT, figure_names::IOPS].contains(&name);
        let points = curve.points.iter().filter_map(|(x, row)| {
            let whole = cells::figure(row.cell, figure_names::ACCEPTED_THROUGHPUT);
            let whole = whole.filter(|_| written && name == figure_names::THROUGHPUT);
            let estimate = whole.or_else(|| cells::figure(row.cell, name))?;
            Some(point(AxisPosition::Number(*x), row, estimate, print))
        });
        let points: Vec<Point> = points.collect();
        let foreign = !points.is_empty() && points.iter().all(|point| !point.mark.is_empty());
        let hue = if foreign { GREY } else { place as u8 };
        let dash = if foreign && dash == Dash::Solid { Dash::Dotted } else { dash };
        (!points.is_empty()).then(|| Trace {
            name: format!("{}{}{suffix}", curve.name, if accepted { ", accepted" } else { "" }),
            hue,
            dash,
            points,
        })
    };
    curves.iter().enumerate().filter_map(trace).collect()
}

/// Those of `seconds` that are more than 2 % off the line of the same cells among `firsts`: a line
/// upon another one tells nothing.
fn apart(mut seconds: Vec<Trace>, firsts: &[Trace]) -> Vec<Trace> {
    seconds.retain(|second| {
        let same = |first: &&Trace| first.hue == second.hue && second.name.starts_with(&first.name);
        let first = firsts.iter().find(same);
        second.points.iter().any(|point| {
            let points = first.iter().flat_map(|first| &first.points);
            let near = |other: &Point| (point.y - other.y).abs() <= 0.02 * other.y.abs();
            !points.filter(|other| other.x == point.x).any(near)
        })
    });
    seconds
}

fn point(x: AxisPosition, row: &CellRow<'_>, estimate: Estimate, print: Print) -> Point {
    let (y, figure) = print(estimate.value);
    let interval =
        estimate.interval.map(|interval| (print(interval.low).0, print(interval.high).0));
    let mut says = figure.clone();
    if let Some(interval) = estimate.interval {
        let (low, high) = (print(interval.low).1, print(interval.high).1);
        says.push_str(&format!("\n95 %: {low} to {high}"));
    }
    let n = row.cell.trials.len();
    says.push_str(&format!("\nn = {n}"));
    if row.source != FigureOrigin::Written {
        says.push_str(&format!("\n{}", row.source.meaning()));
    }
    let mark = if row.source.is_device() { "" } else { row.source.name() };
    let trials = row.cell.trials.clone();
    Point { x, y, interval, says, figure, mark, trials }
}

fn heights(traces: &[Trace]) -> impl Iterator<Item = f64> + '_ {
    let ends = |point: &Point| {
        let (low, high) = point.interval.unwrap_or((point.y, point.y));
        // An interval may reach below 0, where a logarithmic axis does not.
        [if low > 0.0 { low } else { point.y }, point.y, high]
    };
    traces.iter().flat_map(|trace| &trace.points).flat_map(ends)
}

/// A panel of figures over a knob; none without traces.
fn panel(
    id: &str,
    curves: &[PlotCurve<'_>],
    knob: &str,
    figures: &[&'static str],
    y: Axis,
    traces: Vec<Trace>,
) -> Vec<Panel> {
    if traces.is_empty() {
        return Vec::new();
    }
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for (x, row) in curves.iter().flat_map(|curve| &curve.points) {
        let known = ticks.iter().any(|(known, _)| known == x);
        if let (false, Some(held)) = (known, cells::value(row.cell, knob)) {
            ticks.push((*x, value::setting(held)));
        }
    }
    ticks.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let x = Axis { title: knob.replace('-', " "), log: true, ticks, order: Vec::new() };
    let (laws, figures, trials) = (Vec::new(), figures.to_vec(), Vec::new());
    vec![Panel { id: id.to_owned(), kind: PanelKind::Lines, x, y, traces, laws, figures, trials }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use experiment::knob::Access;

    #[test]
    fn every_figure_of_an_evaluation_is_drawn_and_says_something() {
        let fixture = fixture::evaluated();
        let figures = figures(&fixture.input());
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id).collect();
        assert_eq!(ids, ["scaling", "depth", "load", "course", "blocks", "cache", "durable"]);
        for figure in &figures {
            assert!(!figure.panels.is_empty(), "{}", figure.id);
            assert!(figure.message.contains(|c: char| c.is_ascii_digit()), "{}", figure.message);
            for trace in figure.panels.iter().flat_map(|panel| &panel.traces) {
                assert!(!trace.points.is_empty(), "{}", trace.name);
            }
        }
    }

    /// A probe of 1 MiB blocks was a line among those of random reads of 4 KiB.
    #[test]
    fn what_only_makes_ready_is_in_no_chart() {
        let cell = |group: &str, depth: &str, direct: &str| {
            let typed = [("queue-depth", depth), ("direct", direct), ("access", "random-read")];
            (group.to_owned(), experiment::knob::testing::settings("file", &typed))
        };
        let cells = [
            cell("queue depth", "1", "true"),
            cell("queue depth", "8", "true"),
            cell(experiment::plan::PROBE, "1", "false"),
            cell(experiment::plan::PROBE, "4", "true"),
        ];
        let fixture = fixture::campaign_of(experiment::plan::blocked(&cells, 1, 1), 4);
        let figures = figures(&fixture.input());
        let panels = figures.iter().flat_map(|figure| &figure.panels);
        let names: Vec<&str> =
            panels.flat_map(|panel| &panel.traces).map(|trace| trace.name.as_str()).collect();
        assert!(!names.is_empty() && names.iter().all(|name| !name.contains("probe")), "{names:?}");
    }

    #[test]
    fn window_and_naive_are_two_lines_and_intervals_are_there() {
        let fixture = fixture::evaluated();
        let figures = figures(&fixture.input());
        let traces = &figures[0].panels[0].traces;
        let names: Vec<&str> = traces.iter().map(|trace| trace.name.as_str()).collect();
        let of =
            |name| ["streams, direct", "streams, cold, buffered"].map(|g| format!("{g}{name}"));
        assert_eq!(names, [of(""), of(", naive")].concat());
        assert!(traces[0].points.iter().all(|point| point.interval.is_some()));
        assert_eq!(traces[0].points.last().unwrap().mark, "unknown");
    }

    #[test]
    fn a_naive_figure_that_is_the_same_is_told_and_not_drawn() {
        let mut fixture = fixture::evaluated();
        for cell in &mut fixture.cells {
            let throughput = cell.figures[figure_names::THROUGHPUT];
            cell.figures.insert(
                figure_names::NAIVE_THROUGHPUT.into(),
                Estimate::bare(throughput.value * 0.99),
            );
        }
        let figures = figures(&fixture.input());
        assert!(figures[0].panels[0].traces.iter().all(|trace| !trace.name.contains("naive")));
        assert!(figures[0].about.contains("the same within 2 %"), "{}", figures[0].about);
    }

    #[test]
    fn what_was_written_is_called_accepted_and_durable() {
        let (group, mut settings) = fixture::planned().remove(0);
        settings.set(knob::ACCESS, Access::Write);
        let sizes = [4096, 1 << 20].map(|bytes| {
            let mut settings = settings.clone();
            settings.set(knob::BLOCK_SIZE, bytes);
            (group.clone(), settings)
        });
        let fixture = fixture::campaign_of(experiment::plan::blocked(&sizes, 3, 1), 4);
        let figures = figures(&fixture.input());
        let blocks = figures.iter().find(|figure| figure.id == "blocks").unwrap();
        let names = |place: usize| -> Vec<&str> {
            blocks.panels[place].traces.iter().map(|trace| trace.name.as_str()).collect()
        };
        assert_eq!(names(0), [format!("{group}, accepted"), format!("{group}, durable")]);
        assert_eq!(names(1), [format!("{group}, accepted")]);
    }

    #[test]
    fn an_empty_figure_says_which_budget_would_fill_it() {
        let mut fixture = fixture::evaluated();
        fixture.cells.clear();
        fixture.campaign.not_bought[0].cell = "streams, direct: 8 streams".into();
        let figures = figures(&fixture.input());
        assert_eq!(figures.len(), 6);
        // Of nothing it was said that "the naive figure is the same within 2 %".
        assert!(figures.iter().all(|figure| figure.about.is_empty()));
        assert!(figures[0].message.contains("--budget 90m"), "{}", figures[0].message);
        assert!(figures[0].message.contains("8 streams"));
        assert!(figures[1].message.contains("--budget 2h"), "{}", figures[1].message);
        assert!(figures[3].message.contains("--budget 90m"), "{}", figures[3].message);
    }

    #[test]
    fn a_plan_that_was_asked_for_one_thing_lacks_nothing() {
        let mut fixture = fixture::evaluated();
        fixture.campaign.plan = "random-read".into();
        fixture.cells.retain(|cell| cell.groups == ["queue depth"]);
        let figures = figures(&fixture.input());
        assert_eq!(figures.iter().map(|figure| figure.id).collect::<Vec<_>>(), ["depth", "load"]);
    }
}
