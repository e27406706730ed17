//! /proc/interrupts: how often the network cards interrupted each CPU.
//!
//! A card has one or more interrupts a queue, found by the card's place on the bus (msi_irqs, or
//! the line that it shares). The file takes milliseconds to make on machines with many CPUs: it is
//! read once a second.

use std::collections::BTreeMap;

use super::text::{lines, number, words};
use super::{CounterSource, Sample, Subject};
use crate::inventory::server::interrupt;
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const CARD_INTERRUPTS: CounterSource = CounterSource {
    name: "card-interrupts",
    about: "Interrupts of each network card by the CPU that took them",
    fields: &[Field::counter("interrupts")],
    every_ns: 1_000_000_000,
    born_at_zero: false,
    open,
};

struct CardInterrupts {
    file: Reread,
    /// The card of each interrupt.
    cards: BTreeMap<u64, String>,
    /// Sums of this row by `eth0.cpu3`; kept so that a row allocates only for what is new.
    sums: BTreeMap<(String, u64), (Vec<u8>, u64)>,
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let cards = cards(host);
    if cards.is_empty() {
        return None;
    }
    let file = Reread::open(host, "/proc/interrupts").ok()?;
    Some(Box::new(CardInterrupts { file, cards, sums: BTreeMap::new() }))
}

/// The interface that each interrupt belongs to. The ports of one function share its interrupts:
/// they go to the first.
fn cards(host: &Host) -> BTreeMap<u64, String> {
    let mut cards = BTreeMap::new();
    for name in host.list("/sys/class/net") {
        for number in interrupt::of_card(host, &name).map(|(_, all)| all).unwrap_or_default() {
            cards.entry(number).or_insert_with(|| name.clone());
        }
    }
    cards
}

impl Sample for CardInterrupts {
    fn sample(&mut self, table: &mut Table) {
        let Some(text) = self.file.read() else { return };
        for (_, sum) in self.sums.values_mut() {
            *sum = 0;
        }
        parse(text, &self.cards, &mut |card, cpu, count| {
            let key = (card.to_owned(), cpu);
            let scope = || (format!("{card}.cpu{cpu}").into_bytes(), 0);
            let (_, sum) = self.sums.entry(key).or_insert_with(scope);
            *sum = sum.saturating_add(count);
        });
        for (scope, sum) in self.sums.values() {
            table.put(scope, 0, *sum);
        }
    }
}

/// Calls `put` with card, CPU and count for each interrupt of `cards`.
fn parse(text: &[u8], cards: &BTreeMap<u64, String>, put: &mut dyn FnMut(&str, u64, u64)) {
    let mut rows = lines(text);
    let Some(head) = rows.next() else { return };
    let cpu = |word: &[u8]| number(word.strip_prefix(b"CPU")?);
    let cpus: Vec<u64> = words(head).map_while(cpu).collect();
    for line in rows {
        let mut words = words(line);
        let of = words.next().and_then(|word| number(word.strip_suffix(b":")?));
        let Some(card) = of.and_then(|number| cards.get(&number)) else { continue };
        for (cpu, count) in cpus.iter().zip(words.map_while(number)) {
            put(card, *cpu, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    fn parsed(text: &[u8], cards: &[(u64, &str)], put: &mut dyn FnMut(&[u8], usize, u64)) {
        let cards = cards.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
        parse(text, &cards, &mut |card, cpu, count| put(card.as_bytes(), cpu as usize, count));
    }

    #[test]
    fn only_the_interrupts_of_cards_are_counted_on_each_cpu() {
        let text = include_str!("../../../../tests/fixtures/proc/interrupts");
        let cards = [(37, "eth0"), (38, "eth0"), (39, "eth0"), (999, "eth1")];
        let all = parse_whole_and_truncated(text, |text, put| parsed(text, &cards, put));
        let of = |cpu| all.iter().filter(|(_, at, _)| *at == cpu).map(|(.., count)| count).sum();
        assert_eq!((of(0), of(1)), (3441_u64, 5420_u64));
        assert!(all.iter().all(|(name, ..)| name == "eth0"));
    }

    #[test]
    fn a_cpu_that_is_offline_has_no_column() {
        let mut seen = Vec::new();
        let text = b"  CPU0 CPU3\n 7: 5 6 IO-APIC 4-edge ethernet\nERR: 1 2\n";
        parsed(text, &[(7, "a")], &mut |_, cpu, count| seen.push((cpu, count)));
        assert_eq!(seen, [(0, 5), (3, 6)]);
        parsed(b"", &[(7, "a")], &mut |_, _, _| panic!("nothing is in it"));
    }

    #[test]
    fn the_interrupts_of_a_recorded_card_are_found_by_its_place_on_the_bus() {
        let machine = crate::inventory::recording::Recording::open("virtio-vm");
        let cards = cards(&machine.host());
        assert!(!cards.is_empty() && cards.values().all(|name| name == "eth0"), "{cards:?}");
        let host = crate::inventory::recording::Recording::open("sata");
        assert!(open(&host.host(), &Subject::new(1, &[])).is_none());
    }
}
