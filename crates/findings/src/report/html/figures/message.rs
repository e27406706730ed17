//! (pure) What a figure says, in words: for its text alternative.

use super::super::panel::{AxisPosition, Panel, PanelKind, Point, Trace, shortened};

/// The main message of all panels.
pub fn main_message(panels: &[Panel]) -> String {
    let told = panels.iter().flat_map(|panel| {
        let solid = panel.traces.iter();
        solid.map(move |trace| match panel.kind {
            PanelKind::Lines => line(panel, trace),
            PanelKind::Bars | PanelKind::Dots => bars(trace),
            PanelKind::Distribution => distribution(trace),
            PanelKind::Course => course(trace),
        })
    });
    told.collect::<Vec<_>>().join(" ")
}

/// `streams, direct: 532 MB/s (508 MiB/s) with 1 stream, highest 1633 MB/s (1558 MiB/s) with 8
/// streams.`
fn line(panel: &Panel, trace: &Trace) -> String {
    let (Some(first), Some(last)) = (trace.points.first(), trace.points.last()) else {
        return String::new();
    };
    // The first of the highest: where a curve goes flat is what it says.
    let highest = trace.points.iter().fold(first, |a, b| if b.y > a.y { b } else { a });
    let mut told = vec![at(panel, first)];
    if !std::ptr::eq(highest, first) {
        told.push(format!("highest {}", at(panel, highest)));
    }
    if !std::ptr::eq(last, highest) && !std::ptr::eq(last, first) {
        told.push(at(panel, last));
    }
    format!("{}: {}.", trace.name, told.join(", "))
}

/// `one 4K read: 50 % within 240 us, 99 % within 1.80 ms.`: the median, and each further nine.
fn distribution(trace: &Trace) -> String {
    let nines = [0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5];
    let told = trace
        .points
        .iter()
        .filter(|point| nines.iter().any(|nine| (point.y / nine - 1.0).abs() < 1e-6));
    let told: Vec<&str> = told.map(|point| point.figure.as_str()).collect();
    format!("{}: {}.", trace.name, told.join(", "))
}

/// `trial 3: 1480 MB/s at 0.1 s, highest ..., lowest 230 MB/s at 4.2 s, at last 240 MB/s at 5 s.`
fn course(trace: &Trace) -> String {
    let (Some(first), Some(last)) = (trace.points.first(), trace.points.last()) else {
        return String::new();
    };
    let at = |point: &Point| match point.x {
        AxisPosition::Number(x) => format!("{} at {} s", point.figure, shortened(x)),
        AxisPosition::Name(_) => point.figure.clone(),
    };
    let lowest = trace.points.iter().fold(first, |a, b| if b.y < a.y { b } else { a });
    let highest = trace.points.iter().fold(first, |a, b| if b.y > a.y { b } else { a });
    let (first, last) = (at(first), at(last));
    let (lowest, highest) = (at(lowest), at(highest));
    format!("{}: {first}, highest {highest}, lowest {lowest}, at last {last}.", trace.name)
}

fn at(panel: &Panel, point: &Point) -> String {
    let AxisPosition::Number(x) = point.x else { return point.figure.clone() };
    let tick = panel.x.ticks.iter().find(|(place, _)| *place == x);
    let place = tick.map_or_else(|| x.to_string(), |(_, label)| label.clone());
    let place = match (panel.x.title.as_str(), place.as_str()) {
        ("streams", "1") => "with 1 stream".to_owned(),
        ("streams", many) => format!("with {many} streams"),
        (title, place) => format!("at {title} {place}"),
    };
    format!("{} {place}{}", point.figure, marked(point))
}

fn marked(point: &Point) -> String {
    if point.mark.is_empty() { String::new() } else { format!(" (origin: {})", point.mark) }
}

fn bars(trace: &Trace) -> String {
    let told = trace.points.iter().map(|point| match &point.x {
        AxisPosition::Name(name) => {
            let with = if name.is_empty() { "" } else { " with " };
            format!("{}{with}{}{}", point.figure, name.replace('\n', ", "), marked(point))
        }
        AxisPosition::Number(_) => point.figure.clone(),
    });
    format!("{}: {}.", trace.name, told.collect::<Vec<_>>().join("; "))
}
