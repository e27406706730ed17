//! What the queueing disciplines at the roots of network interfaces sent, held back and dropped
//! (rtnetlink(7), as `tc -s qdisc` prints it).
//!
//! Of the network namespace that we are in. What a link cannot carry waits here, and is dropped
//! here: neither is in the counts of the interface. A root with a queue for each of a card's
//! queues (mq) has the sums of them.

use std::collections::BTreeMap;

use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::qdisc::{Counts, QdiscSocket};
use crate::sys::{Host, link};
use facts::counters::table::{Field, Table};

pub const QDISCS: CounterSource = CounterSource {
    name: "qdiscs",
    about: "Bytes, drops and what waits in the queueing discipline of each network interface",
    fields: &[
        Field::counter("sent_bytes"),
        Field::counter("sent_packets"),
        Field::counter("drops"),
        Field::counter("requeues"),
        Field::counter("overlimits"),
        Field::gauge("backlog_bytes"),
        Field::gauge("backlog_packets"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// A host of containers has one for each of them: those first told of, as cards are, suffice.
const MOST_INTERFACES: usize = 64;

struct Qdiscs {
    asker: QdiscSocket,
    /// By their numbers; one without a name is gone.
    names: BTreeMap<u32, Vec<u8>>,
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    // The kernel that answers is not the one of a recording.
    if !host.is_live() {
        return None;
    }
    let asker = QdiscSocket::open().ok()?;
    Some(Box::new(Qdiscs { asker, names: BTreeMap::new() }))
}

impl Sample for Qdiscs {
    fn sample(&mut self, table: &mut Table) {
        let names = &mut self.names;
        // One that cannot be asked any more counts nothing more.
        let _ = self.asker.counts(&mut |interface, counts| {
            if names.len() >= MOST_INTERFACES && !names.contains_key(&interface) {
                return;
            }
            let name = names.entry(interface).or_insert_with(|| {
                link::name_of(interface).map(String::into_bytes).unwrap_or_default()
            });
            if !name.is_empty() {
                put(name, counts, table);
            }
        });
    }
}

/// In the order of the fields.
fn put(name: &[u8], counts: Counts, table: &mut Table) {
    let Counts { sent_bytes, sent_packets, drops, requeues, overlimits, .. } = counts;
    let all = [
        sent_bytes,
        sent_packets,
        drops,
        requeues,
        overlimits,
        counts.backlog_bytes,
        counts.backlog_packets,
    ];
    for (field, value) in all.into_iter().enumerate() {
        table.put(name, field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::two_rows;

    #[test]
    fn each_interface_here_has_a_row_of_its_own_name() {
        let series = two_rows(&QDISCS, &Host::live(), &[], || ()).unwrap();
        // Those that are down have none.
        let roots = crate::sys::qdisc::roots().unwrap();
        let names: Vec<String> = roots.keys().filter_map(|index| link::name_of(*index)).collect();
        assert!(names.iter().any(|name| name == "lo"), "{names:?}");
        for name in names {
            assert!(series.column(&format!("{name}.drops")).is_some(), "{name}: {series:?}");
        }
        assert!(two_rows(&QDISCS, &Host::at("/nowhere"), &[], || ()).is_none());
    }
}
