//! (pure) What a figure says, in words: for its text alternative.

use super::super::panel::{Kind, Panel, Place, Point, Trace};

/// The main message of all panels.
pub fn of(panels: &[Panel]) -> String {
    let told = panels.iter().flat_map(|panel| {
        let solid = panel.traces.iter();
        solid.map(move |trace| match panel.kind {
            Kind::Lines => line(panel, trace),
            Kind::Bars | Kind::Dots => bars(trace),
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

fn at(panel: &Panel, point: &Point) -> String {
    let Place::Number(x) = point.x else { return point.figure.clone() };
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
        Place::Name(name) => {
            let with = if name.is_empty() { "" } else { " with " };
            format!("{}{with}{}{}", point.figure, name.replace('\n', ", "), marked(point))
        }
        Place::Number(_) => point.figure.clone(),
    });
    format!("{}: {}.", trace.name, told.collect::<Vec<_>>().join("; "))
}
