//! (pure) Paths, warnings and what was not read, as text.

use super::page::{Page, few};
use crate::analysis::path::{DataPath, PathPart, Paths, Stack};
use crate::warning::Warning;
use base::value;
use facts::inventory::server::Unread;

/// Every way of data with the capacity of each part; alike ones together.
pub fn paths(page: &mut Page, paths: &Paths) {
    page.title("Paths to memory: the most that each part can carry, in each direction");
    for line in &paths.summary {
        page.line(1, line);
    }
    let mut told: Vec<(Vec<&PathPart>, usize)> = Vec::new();
    for (place, path) in paths.paths.iter().enumerate() {
        if told.iter().any(|(parts, _)| alike(parts, path)) {
            continue;
        }
        let parts: Vec<&PathPart> = path.parts.iter().collect();
        let same = || paths.paths[place + 1..].iter().filter(|other| alike(&parts, other));
        page.line(1, &path.name);
        let others: Vec<String> = same().map(|other| other.ends.join(", ")).collect();
        if !others.is_empty() {
            let name = format!("{} more like it", others.len());
            page.item(2, &name, &[few(&others, 12)]);
        }
        one(page, path);
        told.push((parts, place));
    }
    for stack in &paths.stacks {
        page.line(1, &on(stack, paths));
    }
}

/// Whether a path has the same parts in the same order, wherever they are.
fn alike(parts: &[&PathPart], other: &DataPath) -> bool {
    let same = |(a, b): (&&PathPart, &PathPart)| {
        (a.kind, a.bytes_per_s, &a.derivation, a.shared_with.is_empty())
            == (b.kind, b.bytes_per_s, &b.derivation, b.shared_with.is_empty())
    };
    parts.len() == other.parts.len() && parts.iter().zip(&other.parts).all(same)
}

fn one(page: &mut Page, path: &DataPath) {
    for (place, part) in path.parts.iter().enumerate() {
        let rate = part.bytes_per_s.map_or("unknown".to_owned(), value::throughput);
        let narrowest = match (path.narrowest == Some(place), path.complete) {
            (true, true) => " <- narrowest",
            (true, false) => " <- narrowest of what is known",
            _ => "",
        };
        page.line(2, &format!("{}: {rate}{narrowest}", part.name));
        page.line(4, &part.derivation);
        if !part.shared_with.is_empty() {
            page.line(4, &format!("shared with {}", few(&part.shared_with, 2)));
        }
    }
}

/// `/srv lies on 2 disks: at most 570 MB/s (544 MiB/s), held by link of sda`.
fn on(stack: &Stack, paths: &Paths) -> String {
    let ways = stack.paths.iter().filter_map(|place| paths.paths.get(*place));
    let ways: Vec<String> = ways.map(|path| path.name.clone()).collect();
    let rate = match stack.bytes_per_s {
        Some(rate) => format!("at most {}", value::throughput(rate)),
        None => "what its way can carry is not known".to_owned(),
    };
    format!("{} lies on {}: {rate}", stack.name, few(&ways, 3))
}

/// What holds the server back or endangers it.
pub fn warnings(page: &mut Page, warnings: &[Warning]) {
    page.title("Warnings");
    if warnings.is_empty() {
        page.line(1, "none, as far as could be read");
    }
    for Warning { kind, found } in warnings {
        page.line(1, &format!("{kind}: {}", found.text));
        for evidence in &found.evidence {
            page.line(3, &format!("evidence: {evidence}"));
        }
        for (label, text) in [("cost", &found.cost), ("change it", &found.command)] {
            if !text.is_empty() {
                page.line(3, &format!("{label}: {text}"));
            }
        }
    }
}

/// What could not be read; files with the same reason together.
pub fn unread(page: &mut Page, unread: &[Unread]) {
    if unread.is_empty() {
        return;
    }
    page.title("Not read");
    let mut groups: Vec<(&Unread, Vec<String>)> = Vec::new();
    for one in unread {
        let same = |(other, _): &&mut (&Unread, Vec<String>)| {
            (&other.what, &other.why, &other.hint) == (&one.what, &one.why, &one.hint)
        };
        match groups.iter_mut().find(same) {
            Some((_, places)) => places.push(one.place.clone()),
            None => groups.push((one, vec![one.place.clone()])),
        }
    }
    for (one, places) in groups {
        page.line(1, &format!("{}: {}", one.what, one.why));
        page.line(3, &few(&places, 2));
        if !one.hint.is_empty() {
            page.line(3, &format!("hint: {}", one.hint));
        }
    }
}
