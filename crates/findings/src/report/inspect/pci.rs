//! (pure) The PCI tree as text, from root port to device.

use super::page::{Page, few};
use facts::inventory::pcie::Pace;
use facts::inventory::server::{Function, Server};

/// A malformed tree may run in a circle.
const DEEPEST: usize = 32;

/// The tree: what carries data, and every link. Others are counted.
pub fn tree(page: &mut Page, server: &Server) {
    if server.pci.is_empty() {
        return;
    }
    page.title("PCI");
    let mut roots: Vec<&str> = server.pci.iter().map(|function| function.root.as_str()).collect();
    roots.sort_unstable();
    roots.dedup();
    let mut told = 0;
    for root in roots {
        let mut tops = server.pci.iter().filter(|function| function.root == root);
        // What names a bridge that is not there is at the top too, or it would be lost.
        let top = |function: &&Function| {
            let parent = function.parent.as_deref();
            parent.is_none_or(|parent| !server.pci.iter().any(|other| other.address == parent))
        };
        let shown: Vec<&Function> =
            tops.by_ref().filter(top).filter(|one| matters(server, one, 0)).collect();
        if !root.is_empty() && !shown.is_empty() {
            page.line(1, root);
        }
        for function in shown {
            told += branch(page, server, function, 2);
        }
    }
    let rest = server.pci.len().saturating_sub(told);
    if rest > 0 {
        page.line(1, &format!("{rest} more without link or devices; --json lists them"));
    }
}

fn below<'a>(server: &'a Server, function: &Function) -> Vec<&'a Function> {
    let of = |other: &&Function| other.parent.as_deref() == Some(function.address.as_str());
    server.pci.iter().filter(of).collect()
}

/// Whether it carries data, or what is below it does.
fn matters(server: &Server, function: &Function, depth: usize) -> bool {
    let running = |function: &Function| function.link.is_some_and(|link| link.current.is_some());
    let carries = !function.children.is_empty() || matches!(function.class >> 16, 1 | 2);
    let bridge = function.class >> 16 == 6;
    carries
        || (!bridge && running(function))
        || (depth < DEEPEST
            && below(server, function).iter().any(|one| matters(server, one, depth + 1)))
}

/// Prints a function and what is below it; gives how many were printed.
fn branch(page: &mut Page, server: &Server, function: &Function, depth: usize) -> usize {
    page.item(depth, &title(function), &facts(function));
    if depth > DEEPEST {
        return 1;
    }
    let below = below(server, function).into_iter().filter(|one| matters(server, one, depth));
    1 + below.map(|one| branch(page, server, one, depth + 1)).sum::<usize>()
}

fn title(function: &Function) -> String {
    let name = function.name.clone().unwrap_or_else(|| match function.vendor {
        // Nothing told it.
        0 => function.kind.clone(),
        vendor => format!("{} [{vendor:04x}:{:04x}]", function.kind, function.device),
    });
    format!("{} {name}", function.address)
}

fn facts(function: &Function) -> Vec<String> {
    let word = |label: &str, word: &Option<String>| {
        word.as_ref().map_or(String::new(), |word| format!("{label} {word}"))
    };
    let node = function.numa_node.map_or(String::new(), |node| format!("node {node}"));
    let driver = function.driver.as_deref().unwrap_or("");
    // Ports have their own driver, which tells nothing.
    let driver = match driver {
        port if port.is_empty() || port.starts_with("pcieport") => String::new(),
        driver => format!("driver {driver}"),
    };
    let made = match function.children.is_empty() {
        true => String::new(),
        false => few(&function.children, 8),
    };
    let asleep = match function.runtime_status.as_deref() {
        Some("suspended") => "suspended".to_owned(),
        _ => String::new(),
    };
    vec![link(function), word("slot", &function.slot), node, driver, asleep, made]
}

/// `2.5 GT/s x4 of 5 GT/s x8`.
fn link(function: &Function) -> String {
    let Some(link) = function.link else { return String::new() };
    match (link.current, link.max) {
        (Some(now), Some(most)) if now == most => format!("{}, its most", pace(now)),
        (Some(now), Some(most)) => format!("{} of {}", pace(now), pace(most)),
        (Some(now), None) => pace(now),
        (None, Some(most)) => format!("no link now, up to {}", pace(most)),
        (None, None) => String::new(),
    }
}

fn pace(pace: Pace) -> String {
    format!("{} GT/s x{}", pace.gt_per_s, pace.lanes)
}
