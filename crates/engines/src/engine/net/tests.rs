//! Whole trials over loopback, through the talk that the worker has with its parent.

use serde_json::{Value, json};

use super::worker::conduct;
use crate::engine::load::protocol::{Failure, LoadResult};
use crate::engine::load::testing::{Said, converse};
use experiment::measurement::network;
use facts::counters::series::Series;

fn run(knobs: &[(&str, Value)]) -> Said {
    let mut settings = json!({ "wire": "loopback", "stop": "100ms", "streams": 2 });
    for (name, value) in knobs {
        settings[*name] = value.clone();
    }
    converse(conduct, settings, vec![Vec::new(); 2], false)
}

fn done(knobs: &[(&str, Value)]) -> LoadResult {
    match run(knobs).end {
        Some(Ok(result)) => result,
        other => panic!("{knobs:?}: {other:?}"),
    }
}

fn last(series: &Series, name: &str) -> u64 {
    let column = series.column(name).unwrap_or_else(|| panic!("no column {name}"));
    *column.values.last().expect("a row")
}

#[test]
fn what_was_sent_is_what_arrived_to_the_byte_by_every_way_in_and_out() {
    for send in ["write", "sendfile", "zerocopy", "uring", "uring-zerocopy"] {
        for receive in ["read", "truncate", "uring-multishot"] {
            for (bytes, direction) in [(10_u64, "send"), (1000, "receive"), (100_000, "send")] {
                let result = done(&[
                    ("send-path", json!(send)),
                    ("receive-path", json!(receive)),
                    ("direction", json!(direction)),
                    ("message-size", json!(bytes)),
                ]);
                let what = format!("{send} {receive} {bytes}");
                let arrived: u64 = result.streams.iter().map(|it| it.total.read_bytes).sum();
                let series = result.counters.iter().find(|it| it.source == network::SOURCE);
                let series = series.expect("what TCP says");
                assert!(arrived > 0 && result.streams.len() == 2, "{what}");
                assert_eq!(last(series, "sent_bytes"), arrived, "{what}");
                assert_eq!(last(&result.load, "read_bytes"), arrived, "{what}");
                let messages: u64 = result.streams.iter().map(|it| it.total.read_ops).sum();
                let each = result.streams.iter().map(|it| it.total.read_bytes / bytes);
                assert_eq!(messages, each.sum::<u64>(), "{what}");
                let window = result.window.unwrap_or_else(|| panic!("{what}: no window"));
                assert!(window.done.read_bytes <= arrived, "{what}");
                // Rows reach over the window, so that what it cost can be told.
                let (start, end) = (window.start_ns as i64, window.end_ns as i64);
                assert!(series.growth("sent_bytes", start, end).is_some(), "{what}");
                let zerocopy = last(series, "zerocopy_sends");
                assert_eq!(zerocopy > 0, send.ends_with("zerocopy"), "{what}");
                assert!(last(series, "zerocopy_copied") <= zerocopy, "{what}");
                // A receiver on this machine has bytes of its own: somebody copied them.
                let said = result.notes.iter().any(|note| note.kind == "zerocopy-copied");
                assert_eq!(said, send.ends_with("zerocopy"), "{what}: {:?}", result.notes);
            }
        }
    }
}

/// Both ways together are no rate of either: a link of 1 Gb/s a way would look like one of 2.
#[test]
fn both_ways_at_once_have_a_rate_each_and_their_sum_is_what_arrived() {
    let result = done(&[("direction", json!("both"))]);
    let series = result.counters.iter().find(|it| it.source == network::SOURCE).expect("of TCP");
    let [out, back] = [network::OUTGOING, network::INCOMING].map(|name| last(series, name));
    assert!(out > 0 && back > 0, "{out} {back}");
    let arrived = |stream: usize| result.streams[stream].total.read_bytes;
    assert_eq!((out, back), (arrived(0), arrived(1)));
    assert_eq!(last(series, "sent_bytes"), out + back);
    let one_way = done(&[]);
    let series = one_way.counters.iter().find(|it| it.source == network::SOURCE).expect("of TCP");
    assert!(series.column(network::OUTGOING).is_none());
}

/// Messages that leave by themselves are linked, not gathered; the bytes are the same.
#[test]
fn linked_messages_that_leave_by_themselves_all_arrive() {
    for bytes in [10_u64, 100_000] {
        let result = done(&[
            ("send-path", json!("uring")),
            ("nodelay", json!(true)),
            ("message-size", json!(bytes)),
        ]);
        let series = result.counters.iter().find(|it| it.source == network::SOURCE).expect("TCP");
        let arrived: u64 = result.streams.iter().map(|it| it.total.read_bytes).sum();
        assert!(arrived > 0, "{bytes}");
        assert_eq!(last(series, "sent_bytes"), arrived, "{bytes}");
    }
}

/// A receiver that waits for more than is to come would wait for ever: the end wakes it as well.
#[test]
fn a_receiver_that_is_woken_late_has_every_byte_at_the_end_all_the_same() {
    for (send, receive) in [("write", "read"), ("uring", "uring-multishot")] {
        let result = done(&[
            ("send-path", json!(send)),
            ("receive-path", json!(receive)),
            ("message-size", json!(1000)),
            ("receive-low-water", json!(77_777)),
        ]);
        let series = result.counters.iter().find(|it| it.source == network::SOURCE).expect("TCP");
        let arrived: u64 = result.streams.iter().map(|it| it.total.read_bytes).sum();
        assert!(arrived > 0, "{send}");
        assert_eq!(last(series, "sent_bytes"), arrived, "{send}");
    }
}

#[test]
fn the_record_says_what_lay_between_the_ends() {
    let result = done(&[("stop", json!("20ms"))]);
    assert!(result.notes.iter().any(|note| note.kind == "over-loopback"), "{:?}", result.notes);
}

#[test]
fn what_the_kernel_does_not_have_is_unsupported_by_name() {
    for (knob, value, word) in [
        ("congestion-control", json!("no-such"), "tcp_available_congestion_control"),
        ("socket-buffer", json!(1 << 30), "net.core."),
        ("receive-low-water", json!(1 << 30), "net.ipv4.tcp_rmem"),
        ("mtu", json!(9000), "wire=namespaces"),
    ] {
        match run(&[(knob, value)]).end {
            Some(Err((Failure::Unsupported, why))) => assert!(why.contains(word), "{why}"),
            other => panic!("{knob}: {other:?}"),
        }
    }
}
