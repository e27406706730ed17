//! What one client has done: counts for everybody, latencies for itself.

use std::sync::atomic::Ordering::Relaxed;

use hdrhistogram::Histogram;

use super::{ClientResult, ClientStep, ClientTiming};
use crate::engine::load::control::{Classes, LoadControl, LoadPhase, StreamCounters};
use base::value::Stop;
use experiment::measurement::latency::class;
use experiment::measurement::{Amount, Operation, latency_histogram};
use host::sys::clock::monotonic_ns;

/// The tally of one client. It touches nothing but its own cell, classes and histograms.
pub struct ClientTally<'a> {
    terms: ClientTiming,
    shared: &'a LoadControl,
    cell: &'a StreamCounters,
    /// By the number of the kind.
    histograms: Vec<Option<Histogram<u64>>>,
    classes: &'a Classes,
    /// It does nothing else: they are its operations.
    transactions_alone: bool,
    done: Amount,
    warm_ns: u64,
    started: bool,
    begun_ns: u64,
    last_ns: u64,
    pass: Option<(u64, Amount)>,
}

impl<'a> ClientTally<'a> {
    /// For client `index`, which does operations of these kinds. All that it will ever need is made
    /// here; latency of another kind is not kept.
    pub fn new(
        terms: &ClientTiming,
        shared: &'a LoadControl,
        index: usize,
        kinds: &[Operation],
    ) -> ClientTally<'a> {
        let of = |kind: &Operation| kinds.contains(kind).then(latency_histogram);
        ClientTally {
            terms: *terms,
            shared,
            cell: &shared.cells[index],
            histograms: Operation::ALL.iter().map(of).collect(),
            classes: &shared.classes[index],
            transactions_alone: kinds == [Operation::Transaction],
            done: Amount::default(),
            warm_ns: 0,
            started: false,
            begun_ns: 0,
            last_ns: 0,
            pass: None,
        }
    }

    /// The clients are let go.
    pub fn begin(&mut self) {
        self.begun_ns = monotonic_ns();
        self.last_ns = self.begun_ns;
        self.warm_ns = self.begun_ns.saturating_add(self.terms.warm_up_ns);
    }

    /// What was done since the last operation was our own work, and no part of the next one.
    #[inline]
    pub fn mark(&mut self) {
        self.last_ns = monotonic_ns();
    }

    /// The end of the last operation, or the last mark, monotonic clock.
    #[inline]
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// An operation that moves no bytes is complete; it began where the last one ended.
    #[inline]
    pub fn metadata(&mut self, kind: Operation) {
        self.done.metadata_ops += 1;
        self.cell.metadata_ops.store(self.done.metadata_ops, Relaxed);
        self.complete(kind);
    }

    /// So many bytes were read.
    #[inline]
    pub fn read(&mut self, bytes: u64) {
        self.done.read_ops += 1;
        self.done.read_bytes += bytes;
        self.cell.read_ops.store(self.done.read_ops, Relaxed);
        self.cell.read_bytes.store(self.done.read_bytes, Relaxed);
        self.complete(Operation::Read);
    }

    /// So many bytes were written.
    #[inline]
    pub fn wrote(&mut self, bytes: u64) {
        self.done.write_ops += 1;
        self.done.write_bytes += bytes;
        self.cell.write_ops.store(self.done.write_ops, Relaxed);
        self.cell.write_bytes.store(self.done.write_bytes, Relaxed);
        self.complete(Operation::Write);
    }

    #[inline]
    fn complete(&mut self, kind: Operation) {
        let now_ns = monotonic_ns();
        self.record(kind, now_ns - self.last_ns);
        self.last_ns = now_ns;
        if !self.started && now_ns >= self.warm_ns {
            self.started = true;
            self.shared.started();
        }
    }

    /// The latency of something that was made of several operations, ns; it is not one more of
    /// them.
    #[inline]
    pub fn record(&mut self, kind: Operation, latency_ns: u64) {
        if self.shared.phase() == LoadPhase::Window
            && let Some(Some(histogram)) = self.histograms.get_mut(kind as usize)
        {
            histogram.saturating_record(latency_ns);
            if kind != Operation::Transaction || self.transactions_alone {
                self.classes.count(class(latency_ns));
            }
        }
    }

    /// Whether the client goes on after this turn.
    #[inline]
    pub fn goes_on(&mut self, turn: ClientStep) -> bool {
        let over = match self.terms.stop {
            Stop::Pass => turn == ClientStep::Round,
            Stop::Bytes(bytes) => self.done.bytes() >= bytes,
            // Time, the load's course, or what all clients did together ends it.
            Stop::After(_) | Stop::Steady | Stop::Interval(_) | Stop::Bits(_) => false,
        };
        if !over || self.pass.is_some() {
            return true;
        }
        if self.last_ns - self.begun_ns < self.terms.at_least_ns {
            return true;
        }
        self.pass = Some((self.last_ns, self.done));
        self.shared.pass_over();
        self.terms.sustained
    }

    /// The client has stopped.
    pub fn end(self) -> ClientResult {
        let kinds = Operation::ALL.iter().copied().zip(self.histograms);
        ClientResult {
            started_ns: self.begun_ns,
            pass: self.pass,
            stopped_ns: self.last_ns,
            total: self.done,
            latency: kinds
                .filter_map(|(kind, histogram)| Some((kind, histogram?)))
                .filter(|(_, histogram)| !histogram.is_empty())
                .collect(),
            ..ClientResult::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn terms(stop: Stop, sustained: bool) -> ClientTiming {
        ClientTiming { stop, warm_up_ns: 0, at_least_ns: 0, at_most_ns: u64::MAX, sustained }
    }

    /// `histograms` is indexed by the kind itself.
    #[test]
    fn every_kind_has_the_place_of_its_number() {
        for (place, kind) in Operation::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }

    #[test]
    fn operations_are_counted_by_kind_and_seen_by_everybody() {
        let shared = LoadControl::new(1, 0, true, channel().0);
        let mut tally = ClientTally::new(&terms(Stop::After(1), true), &shared, 0, Operation::ALL);
        tally.begin();
        tally.metadata(Operation::Create);
        tally.wrote(100);
        tally.read(30);
        let total = shared.total();
        assert_eq!((total.read_bytes, total.write_bytes, total.metadata_ops), (30, 100, 1));
        assert_eq!(shared.phase(), LoadPhase::Window);
        let yielded = tally.end();
        assert_eq!(yielded.total, total);
        let kinds: Vec<Operation> = yielded.latency.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [Operation::Read, Operation::Write], "the first one opened the window");
    }

    #[test]
    fn nobody_has_started_before_it_is_warm() {
        let shared = LoadControl::new(1, 0, true, channel().0);
        let cold = ClientTiming { warm_up_ns: u64::MAX, ..terms(Stop::After(1), true) };
        let mut tally = ClientTally::new(&cold, &shared, 0, Operation::ALL);
        tally.begin();
        tally.metadata(Operation::Stat);
        assert_eq!(shared.phase(), LoadPhase::Starting);
        assert!(tally.end().latency.is_empty());
    }

    #[test]
    fn a_pass_is_a_round_or_so_many_bytes_and_only_sustained_clients_go_on_after_it() {
        for sustained in [true, false] {
            let shared = LoadControl::new(2, 0, sustained, channel().0);
            let mut tally =
                ClientTally::new(&terms(Stop::Pass, sustained), &shared, 0, Operation::ALL);
            tally.begin();
            tally.wrote(7);
            assert!(tally.goes_on(ClientStep::Part));
            assert_eq!(tally.goes_on(ClientStep::Round), sustained);
            assert_eq!(tally.end().pass.map(|(_, amount)| amount.write_bytes), Some(7));
        }
        let shared = LoadControl::new(2, 0, false, channel().0);
        let mut tally =
            ClientTally::new(&terms(Stop::Bytes(10), false), &shared, 0, Operation::ALL);
        tally.begin();
        tally.wrote(7);
        assert!(tally.goes_on(ClientStep::Round));
        tally.read(3);
        assert!(!tally.goes_on(ClientStep::Part));
    }
}
