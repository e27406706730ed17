//! (pure) Network interfaces as text.

use super::page::{Page, few};
use base::value;
use facts::inventory::server::Interface;

/// Every interface: its link, its queues, where its interrupts go.
pub fn interfaces(page: &mut Page, interfaces: &[Interface]) {
    if interfaces.is_empty() {
        return;
    }
    page.title("Network");
    for interface in interfaces {
        page.item(1, &interface.name, &facts(interface));
        if let Some(capacity) = interface.capacity() {
            page.item(2, "at most", &[capacity.derivation]);
        }
        let tuned = tuning(interface);
        if !tuned.is_empty() {
            page.item(2, "offloads", &tuned);
        }
        let coalescing: Vec<String> =
            interface.coalescing.iter().map(|(name, value)| format!("{name} {value}")).collect();
        if !coalescing.is_empty() {
            page.item(2, "coalescing", &coalescing);
        }
        if !interface.interrupts.is_empty() {
            page.item(2, "interrupts", &interrupts(interface));
        }
    }
}

fn facts(interface: &Interface) -> Vec<String> {
    let gigabits = |rate: f64| format!("{} Gb/s", value::significant(rate / 1e9));
    let speed = match (interface.bits_per_s, interface.max_bits_per_s) {
        (Some(now), Some(most)) if most > now => {
            format!("{} of {}", gigabits(now), gigabits(most))
        }
        (Some(now), _) => gigabits(now),
        (None, Some(most)) => format!("up to {}", gigabits(most)),
        (None, None) => "speed not known".to_owned(),
    };
    let word = |label: &str, word: &Option<String>| {
        word.as_ref().map_or(String::new(), |word| format!("{label}{word}"))
    };
    let queues = match (interface.rx_queues, interface.tx_queues) {
        (Some(rx), Some(tx)) => format!("{rx} receive and {tx} transmit queues"),
        _ => String::new(),
    };
    let rings = interface.rings.map_or(String::new(), |rings| {
        format!("rings {} of {} and {} of {}", rings.rx, rings.rx_max, rings.tx, rings.tx_max)
    });
    let below = match interface.below.is_empty() {
        true => String::new(),
        false => format!("over {}", few(&interface.below, 8)),
    };
    vec![
        interface.kind.clone(),
        word("", &interface.state),
        speed,
        word("", &interface.duplex).replace("full", "full duplex").replace("half", "HALF DUPLEX"),
        interface.mtu_bytes.map_or(String::new(), |mtu| format!("MTU {mtu}")),
        word("driver ", &interface.driver),
        word("", &interface.versions),
        word("at ", &interface.controller),
        interface.numa_node.map_or(String::new(), |node| format!("node {node}")),
        queues,
        rings,
        word("qdisc ", &interface.qdisc),
        below,
    ]
}

fn tuning(interface: &Interface) -> Vec<String> {
    let mut names = interface.offloads.clone();
    names.sort();
    match names.len() {
        0 => Vec::new(),
        _ => vec![few(&names, 12)],
    }
}

/// `24-31 on CPUs 0-7`: interrupts that go to the same CPUs together.
fn interrupts(interface: &Interface) -> Vec<String> {
    let mut by_cpus: Vec<(&str, Vec<u64>)> = Vec::new();
    for interrupt in &interface.interrupts {
        match by_cpus.iter_mut().find(|(cpus, _)| *cpus == interrupt.cpus) {
            Some((_, numbers)) => numbers.push(interrupt.number),
            None => by_cpus.push((&interrupt.cpus, vec![interrupt.number])),
        }
    }
    let said = by_cpus.iter().map(|(cpus, numbers)| {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let cpus = if cpus.is_empty() { "CPUs not known".into() } else { format!("CPU {cpus}") };
        format!("{} on {cpus}", few(&numbers, 4))
    });
    let all: Vec<String> = said.collect();
    vec![few(&all, 16)]
}
