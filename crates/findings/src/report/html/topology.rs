//! (pure) How the server is wired, as a picture: NUMA nodes, PCI Express links, controllers, disks
//! and network ports, with the narrowest part of each way in colour and in words.

use maud::{Markup, html};

use super::saving::saving;
use crate::analysis::path::{DataPath, PathPart, Paths, paths};
use crate::report::inspect::{Inspection, cut};
use crate::warning::warnings;
use base::value;
use facts::bandwidth::Bandwidth;
use facts::inventory::server::Server;

/// Height of one way, px.
const ROW: usize = 96;
/// Width of a box, px.
const BOX: usize = 196;
/// Width of a link between boxes, px.
const LINK: usize = 148;
/// Of the widest link, px; others in proportion.
const THICKEST: f64 = 14.0;
/// Characters that fit into a box.
const FITS: usize = 27;
/// Ways that are drawn; a picture of more is a wall.
const ROWS_MAX: usize = 24;

/// The section; nothing when the campaign did not keep the server.
pub fn section(inventory: &serde_json::Value) -> Option<Markup> {
    let server: Server = serde_json::from_value(inventory.get("server")?.clone()).ok()?;
    let bandwidth = inventory.get("bandwidth");
    let bandwidth: Option<Bandwidth> =
        bandwidth.and_then(|json| serde_json::from_value(json.clone()).ok());
    let paths = paths(&server, bandwidth.as_ref());
    let picture = picture(&server, &paths);
    let inspection = Inspection {
        brickyard: String::new(),
        warnings: warnings(&server),
        paths,
        server,
        bandwidth,
    };
    Some(html! {
        @if let Some(picture) = picture {
            figure.topology #topology aria-labelledby="topology-caption" {
                figcaption #topology-caption {
                    h3 { "How it is wired" }
                    @for sentence in &inspection.paths.summary { p { (sentence) } }
                    p.quiet {
                        "The thicker a line, the more it carries; broken: not known. The narrowest "
                        "part of each way is coloured and says so. Every figure is a bound of the "
                        "links in one direction, before any disk is read."
                    }
                }
                div.scroll #topology-drawn tabindex="0" data-csv=(csv(&inspection.paths)) {
                    (picture)
                }
                (saving(&[("topology-drawn", "how it is wired")]))
            }
        }
        details {
            summary { "Everything, as `brickyard inspect` prints it" }
            pre tabindex="0" { code { (inspection.text()) } }
        }
    })
}

/// What is drawn as a table: a line for each part of each way.
fn csv(paths: &Paths) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut lines = vec!["way,part,kind,bytes_per_s,derivation".to_owned()];
    for path in &paths.paths {
        let way = quoted(&path.ends.join(" "));
        let line = |part: &PathPart| {
            let rate = part.bytes_per_s.map_or_else(String::new, |rate| format!("{rate:.0}"));
            let (name, why) = (quoted(&part.name), quoted(&part.derivation));
            format!("{way},{name},{},{rate},{why}", part.kind)
        };
        lines.extend(path.parts.iter().map(line));
    }
    lines.join("\n") + "\n"
}

/// One way of data, or several that are alike, as a row of the picture.
struct PathRow<'a> {
    path: &'a DataPath,
    /// Of all that are alike.
    ends: Vec<&'a str>,
    /// How many ways these are.
    times: usize,
    node: Option<u32>,
}

fn rows<'a>(server: &Server, paths: &'a Paths) -> Vec<PathRow<'a>> {
    let mut rows: Vec<PathRow<'a>> = Vec::new();
    for path in &paths.paths {
        let node = path.controllers.first().and_then(|address| {
            server.pci.iter().find(|function| function.address == *address)?.numa_node
        });
        let ends = path.ends.iter().map(String::as_str);
        let same = |row: &&mut PathRow<'_>| row.node == node && alike(row.path, path);
        match rows.iter_mut().find(same) {
            Some(row) => {
                row.ends.extend(ends);
                row.times += 1;
            }
            None => rows.push(PathRow { path, ends: ends.collect(), times: 1, node }),
        }
    }
    rows.sort_by_key(|row| row.node);
    rows
}

/// Whether two ways have the same parts, wherever they are.
fn alike(a: &DataPath, b: &DataPath) -> bool {
    let same = |(a, b): (&PathPart, &PathPart)| {
        (a.kind, a.bytes_per_s, &a.derivation) == (b.kind, b.bytes_per_s, &b.derivation)
    };
    a.kind == b.kind
        && a.ends.len() == b.ends.len()
        && a.parts.len() == b.parts.len()
        && a.parts.iter().zip(&b.parts).all(same)
}

fn picture(server: &Server, paths: &Paths) -> Option<Markup> {
    let all = rows(server, paths);
    if all.is_empty() {
        return None;
    }
    let rows = &all[..all.len().min(ROWS_MAX)];
    let trunk = |path: &DataPath| path.parts.iter().filter(|part| part.kind == "pcie").count();
    let bridges = rows.iter().map(|row| trunk(row.path).saturating_sub(1)).max().unwrap_or(0);
    let width = BOX * (3 + bridges) + LINK * (2 + bridges) + 16;
    let left = all.len() - rows.len();
    let height = rows.len() * ROW + if left > 0 { 40 } else { 8 };
    let most = rows.iter().flat_map(|row| &row.path.parts).filter(|part| part.kind != "memory");
    let most = most.filter_map(|part| part.bytes_per_s).fold(1.0, f64::max);
    let label = paths.summary.join(" ");
    Some(html! {
        svg role="img" aria-label=(label) viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) {
            @for (first, count, node) in nodes(rows) {
                (boxed(8, first * ROW + 8, count * ROW - 24, &node_lines(server, node)))
            }
            @for (place, row) in rows.iter().enumerate() {
                (way(server, row, place * ROW + 8, bridges, most))
            }
            @if left > 0 {
                text x="8" y=(height - 12) { (left) " more ways are in the list below" }
            }
        }
    })
}

/// Runs of rows at the same node: place of the first, how many, node.
fn nodes(rows: &[PathRow<'_>]) -> Vec<(usize, usize, Option<u32>)> {
    let mut runs: Vec<(usize, usize, Option<u32>)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        match runs.last_mut() {
            Some((_, count, node)) if *node == row.node => *count += 1,
            _ => runs.push((place, 1, row.node)),
        }
    }
    runs
}

fn node_lines(server: &Server, node: Option<u32>) -> Vec<String> {
    let nodes = &server.processors.nodes;
    let found = match (node, &nodes[..]) {
        (Some(number), _) => nodes.iter().find(|known| known.number == number),
        (None, [only]) => Some(only),
        _ => None,
    };
    let name = match (found, node) {
        (Some(found), _) => format!("Node {}", found.number),
        (None, Some(number)) => format!("Node {number}"),
        (None, None) => "Processors and memory".to_owned(),
    };
    let mut lines = vec![name];
    lines.extend(found.map(|node| format!("CPUs {}", node.cpus)));
    let bytes = found.and_then(|node| node.memory_bytes);
    let bytes = bytes.or(server.memory.total_bytes.filter(|_| nodes.len() < 2));
    lines.extend(bytes.map(|bytes| format!("{} of memory", value::bytes(bytes as f64))));
    lines
}

/// Everything of one way but its node: links from memory's side, bridges, controller, ends.
fn way(server: &Server, row: &PathRow<'_>, top: usize, bridges: usize, most: f64) -> Markup {
    let parts: Vec<(usize, &PathPart)> = row.path.parts.iter().enumerate().collect();
    let of = |kinds: &'static [&'static str]| -> Vec<(usize, &PathPart)> {
        parts.iter().filter(|(_, part)| kinds.contains(&part.kind)).copied().collect()
    };
    // From memory down: the uppermost bridge first, the controller's own link last.
    let trunk: Vec<(usize, &PathPart)> = of(&["pcie"]).into_iter().rev().collect();
    let ends = of(&["disks", "ports", "links"]);
    // Of several links between controller and ends the narrowest is drawn.
    let known = ends.iter().filter_map(|end| Some((*end, end.1.bytes_per_s?)));
    let thin = known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(end, _)| end);
    let end = ends.iter().find(|end| marked(row, end.0)).copied().or(thin);
    let end = end.or_else(|| ends.first().copied());
    let step = BOX + LINK;
    let controller = 8 + step * (1 + bridges);
    let last = trunk.len().saturating_sub(1);
    html! {
        @for (place, part) in trunk.iter().enumerate() {
            @let from = 8 + BOX + step * place;
            // The last link reaches over the columns of bridges that this way has not.
            @let to = if place == last { controller } else { from + LINK };
            (wire(row, *part, (from, to, top), most))
            @if place < last { (boxed(to, top, ROW - 24, &["Bridge".to_owned()])) }
        }
        @if trunk.is_empty() { (unknown_wire(8 + BOX, controller, top)) }
        (boxed(controller, top, ROW - 24, &controller_lines(row, &trunk)))
        @match end {
            Some(end) => (wire(row, end, (controller + BOX, controller + step, top), most)),
            // An NVMe drive is its own controller.
            None => line.same x1=(controller + BOX) x2=(controller + step)
                y1=(top + (ROW - 24) / 2) y2=(top + (ROW - 24) / 2) {},
        }
        (boxed(controller + step, top, ROW - 24, &end_lines(server, row)))
    }
}

fn marked(row: &PathRow<'_>, place: usize) -> bool {
    row.path.narrowest == Some(place)
}

/// A link with what it carries above and what it is below.
fn wire(
    row: &PathRow<'_>,
    (place, part): (usize, &PathPart),
    (from, to, top): (usize, usize, usize),
    most: f64,
) -> Markup {
    let middle = top + (ROW - 24) / 2;
    let narrow = marked(row, place);
    let thickness = part.bytes_per_s.map(|rate| (THICKEST * rate / most).max(1.5));
    let class = match (narrow, thickness.is_some()) {
        (true, _) => "wire narrow",
        (false, true) => "wire",
        (false, false) => "wire unknown",
    };
    let carries = match part.bytes_per_s {
        Some(rate) => format!("{} MB/s", value::significant(rate / 1e6)),
        None => "not known".to_owned(),
    };
    let mark = match (narrow, row.path.complete) {
        (true, true) => "narrowest",
        (true, false) => "narrowest known",
        _ if !part.shared_with.is_empty() => "shared",
        _ => "",
    };
    let text = if narrow { "label narrow" } else { "label" };
    html! {
        g {
            title { (part.name) ": " (part.derivation) }
            line class=(class) x1=(from) x2=(to) y1=(middle) y2=(middle)
                stroke-width=(format!("{:.1}", thickness.unwrap_or(1.5))) {}
            text class=(text) x=((from + to) / 2) y=(middle - 12) text-anchor="middle" { (carries) }
            text class=(text) x=((from + to) / 2) y=(middle + 22) text-anchor="middle" { (mark) }
        }
    }
}

fn unknown_wire(from: usize, to: usize, top: usize) -> Markup {
    let middle = top + (ROW - 24) / 2;
    html! {
        line class="wire unknown" x1=(from) x2=(to) y1=(middle) y2=(middle) stroke-width="1.5" {}
    }
}

/// A box with up to four lines of text.
fn boxed(left: usize, top: usize, height: usize, lines: &[String]) -> Markup {
    html! {
        g {
            title { (lines.join(", ")) }
            rect x=(left) y=(top) width=(BOX) height=(height) rx="4" {}
            @for (number, line) in lines.iter().take(4).enumerate() {
                @let class = (number > 0).then_some("more");
                text x=(left + 10) y=(top + 19 + number * 16) class=[class] { (cut(line, FITS)) }
            }
        }
    }
}

fn controller_lines(row: &PathRow<'_>, trunk: &[(usize, &PathPart)]) -> Vec<String> {
    // `6 disks on NAME (ADDRESS)`.
    let name = row.path.name.split_once(" on ").map_or("", |(_, name)| name);
    let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
    let first = match row.times {
        1 => name.to_owned(),
        many => format!("{many} x {name}"),
    };
    let mut lines = vec![first];
    lines.extend(row.path.controllers.first().map(|address| match row.times {
        1 => address.clone(),
        many => format!("{address} and {} more", many - 1),
    }));
    // `2.5 GT/s x 4 lanes` of the derivation.
    let own = trunk.last().filter(|(_, part)| part.bytes_per_s.is_some());
    let pace = own.and_then(|(_, part)| Some(part.derivation.split_once(" lane")?.0.to_owned()));
    lines.extend(pace.map(|pace| format!("{pace} lanes")));
    lines
}

/// Disks by model, ports by name.
fn end_lines(server: &Server, row: &PathRow<'_>) -> Vec<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for end in &row.ends {
        let what = match row.path.kind {
            "network" => (*end).to_owned(),
            _ => {
                let device = server.devices.iter().find(|device| device.name == *end);
                device.and_then(|device| device.model.clone()).unwrap_or("disk".to_owned())
            }
        };
        match kinds.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => kinds.push((what, 1)),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    if let ("storage", [one]) = (row.path.kind, &row.ends[..]) {
        lines.push((*one).to_owned());
    }
    let many = kinds.len();
    let told = if many > 3 { 2 } else { 3 };
    lines.extend(kinds.into_iter().take(told).map(|(what, count)| match count {
        1 => what,
        count => format!("{count} x {what}"),
    }));
    if many > told {
        lines.push(format!("and {} more kinds", many - told));
    }
    lines
}
