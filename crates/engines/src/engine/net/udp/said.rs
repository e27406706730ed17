//! What whoever reads the figures of datagrams must know.

use crate::engine::net::job::NetJob;
use crate::engine::net::work::NetEndResult;
use base::value;
use experiment::measurement::Note;
use experiment::measurement::datagrams::{self, DatagramCount};
use facts::counters::series::Series;

/// A sender that did less than this share of what was asked has not kept its rate.
const KEPT: f64 = 0.97;

/// Of a whole trial, with what was counted beside it and what its senders yielded.
pub fn datagram_notes<'a>(
    job: &NetJob,
    counters: &[Series],
    senders: impl Iterator<Item = &'a NetEndResult>,
) -> Vec<Note> {
    let series = counters.iter().find(|series| series.source == datagrams::SOURCE);
    let count = series.and_then(DatagramCount::in_series);
    [count.and_then(|count| lost(&count)), late(job, senders)].into_iter().flatten().collect()
}

fn lost(count: &DatagramCount) -> Option<Note> {
    let lost = count.lost();
    let (lost_count, sent) = (value::count(lost), value::count(count.sent));
    let place = count.dropped.map_or(String::new(), |dropped| {
        let dropped = value::count(dropped.min(lost));
        format!(": {dropped} found the receiver's socket full, the others were lost on the way")
    });
    let share = value::percent(count.lost_share());
    let text = format!("{lost_count} of {sent} datagrams did not arrive ({share}){place}");
    (lost > 0).then(|| Note::new("datagrams-lost", text))
}

/// Of senders that did not keep the rate that was asked for, over the time that each of them took.
fn late<'a>(job: &NetJob, senders: impl Iterator<Item = &'a NetEndResult>) -> Option<Note> {
    let rate = job.pacing? as f64;
    let (bytes, asked) = senders.fold((0.0, 0.0), |(bytes, asked), one| {
        let seconds = one.stopped_ns.saturating_sub(one.started_ns) as f64 / 1e9;
        (bytes + one.bytes as f64, asked + rate * seconds)
    });
    let share = bytes / asked;
    let text = format!(
        "the senders kept {} of the rate that pacing asks for: more than that they, or the link \
         that they send into, could not do",
        value::percent(share)
    );
    (asked > 0.0 && share < KEPT).then(|| Note::new("rate-not-kept", text))
}
