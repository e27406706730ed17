//! Trials between this process and a listener in it, as between two machines.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};

use super::worker::conduct;
use crate::engine::load::protocol::{Failure, LoadResult};
use crate::engine::load::testing::{Said, converse};
use crate::fleet::{Bounds, Listener};
use experiment::measurement::{Note, PEER, datagrams, network};
use facts::counters::series::Series;
use host::sys::signal::Stop;

pub(super) mod flipped;

/// Wide enough for every trial here.
pub(super) const BOUNDS: Bounds =
    Bounds { streams: 8, trial_ns: 3_600_000_000_000, bytes: u64::MAX };

/// A listener; it stops with this.
pub(super) struct TestListener(pub(super) SocketAddr, Arc<Stop>);

impl TestListener {
    pub(super) fn new(bounds: Bounds) -> TestListener {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(at, None).unwrap();
        let (at, stop) = (listener.address(), Arc::new(Stop::new()));
        let own = stop.clone();
        std::thread::spawn(move || {
            listener.serve(&own, move |session| super::attend(session, &bounds, None, &|_| {}))
        });
        TestListener(at, stop)
    }

    fn run(&self, knobs: &[(&str, Value)]) -> Said {
        let mut settings = json!({
            "peer": self.0.to_string(), "stop": "100ms", "streams": 2, "at-most": "60s",
        });
        if knobs.iter().any(|(name, _)| *name == "datagram-size") {
            settings["udp-segmentation"] = json!(false);
            settings["udp-coalescing"] = json!(false);
        }
        for (name, value) in knobs {
            settings[*name] = value.clone();
        }
        converse(conduct, settings, vec![Vec::new(); 2], false)
    }

    fn done(&self, knobs: &[(&str, Value)]) -> LoadResult {
        match self.run(knobs).end {
            Some(Ok(result)) => result,
            other => panic!("{knobs:?}: {other:?}"),
        }
    }
}

impl Drop for TestListener {
    fn drop(&mut self) {
        self.1.ask();
    }
}

fn last(series: &Series, name: &str) -> u64 {
    *series.column(name).and_then(|column| column.values.last()).expect(name)
}

/// The window is that of the end that receives, on whichever machine it is, and both machines'
/// counts reach over it on this one's clock.
#[test]
fn both_ends_of_two_machines_are_in_one_record_whichever_way_bytes_go() {
    let far = TestListener::new(BOUNDS);
    for (send, receive) in [("write", "read"), ("sendfile", "truncate"), ("uring", "read")] {
        for direction in ["send", "receive"] {
            let result = far.done(&[
                ("direction", json!(direction)),
                ("send-path", json!(send)),
                ("receive-path", json!(receive)),
            ]);
            let what = format!("{send} {receive} {direction}");
            let arrived: u64 = result.streams.iter().map(|one| one.total.read_bytes).sum();
            let series = result.counters.iter().find(|one| one.source == network::SOURCE);
            let series = series.unwrap_or_else(|| panic!("{what}: nothing of TCP"));
            assert!(arrived > 0, "{what}");
            assert_eq!(last(series, "sent_bytes"), arrived, "{what}");
            let window = result.window.unwrap_or_else(|| panic!("{what}: no window"));
            let (start, end) = (window.start_ns as i64, window.end_ns as i64);
            for column in ["sent_bytes", "sender_cpu_ns", "receiver_cpu_ns"] {
                let grown = series.growth(column, start, end);
                assert!(grown.is_some_and(|grown| grown > 0.0), "{what}: {column} {grown:?}");
            }
            let stat = result.counters.iter().find(|one| one.source == format!("{PEER}stat"));
            let stat = stat.unwrap_or_else(|| panic!("{what}: nothing of the other machine"));
            assert!(stat.growth("cpu0.idle_ns", start, end).is_some(), "{what}");
            let over = |note: &experiment::measurement::Note| note.kind == "over-two-machines";
            assert!(result.notes.iter().any(over), "{what}: {:?}", result.notes);
        }
    }
}

/// It was asked: the clock of the record is this machine's.
#[test]
fn the_start_of_a_trial_that_the_other_end_leads_is_on_this_clock() {
    let far = TestListener::new(BOUNDS);
    let before_ns = (host::sys::clock::monotonic_ns(), host::sys::clock::unix_ns());
    let result = far.done(&[]);
    let after_ns = (host::sys::clock::monotonic_ns(), host::sys::clock::unix_ns());
    assert!((before_ns.0..after_ns.0).contains(&result.started_monotonic_ns), "{result:?}");
    assert!((before_ns.1..after_ns.1).contains(&result.started_unix_ns), "{result:?}");
}

#[test]
fn what_the_other_end_does_not_allow_fails_by_name_and_the_next_trial_goes_on() {
    let far = TestListener::new(Bounds { streams: 2, trial_ns: 5_000_000_000, bytes: 1 << 40 });
    for (knobs, word) in
        [(&[("streams", json!(3))][..], "--streams 3"), (&[("stop", json!("20s"))], "--trial")]
    {
        match far.run(knobs).end {
            Some(Err((Failure::Unsupported, why))) => assert!(why.contains(word), "{why}"),
            other => panic!("{knobs:?}: {other:?}"),
        }
    }
    far.done(&[]);
}

/// Who sends saw a broken pipe, and who receives the end of the bytes, before the other end had
/// said why: the record had the consequence for the cause.
#[test]
fn a_trial_that_moves_more_than_it_may_is_ended_whichever_way_bytes_go() {
    let far = TestListener::new(Bounds { bytes: 1 << 20, ..BOUNDS });
    for direction in ["send", "receive", "send", "receive"] {
        let said = far.run(&[("direction", json!(direction)), ("stop", json!("30s"))]);
        match said.end {
            Some(Err((Failure::Failed, why))) => assert!(why.contains("--bytes"), "{why}"),
            other => panic!("{direction}: {other:?}"),
        }
    }
}

#[test]
fn what_takes_both_ends_here_is_refused_by_name() {
    let far = TestListener::new(BOUNDS);
    for (knobs, word) in [
        (&[("mtu", json!(9000))][..], "interface-mtu"),
        (&[("wire", json!("namespaces"))], "leave one of them out"),
        (&[("interfaces", json!(2))], "interfaces"),
    ] {
        match far.run(knobs).end {
            Some(Err((Failure::Unsupported, why))) => assert!(why.contains(word), "{why}"),
            other => panic!("{knobs:?}: {other:?}"),
        }
    }
}

#[test]
fn a_machine_on_which_nobody_listens_is_told_with_what_to_type_there() {
    let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    match TestListener(at, Arc::default()).run(&[]).end {
        Some(Err((Failure::Failed, why))) => assert!(why.contains("brickyard receive"), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// Both halves are held against each other to the datagram, whichever end counts them.
#[test]
fn datagrams_of_two_machines_are_counted_each_whichever_way_they_go() {
    let far = TestListener::new(BOUNDS);
    for (direction, cut, joined) in [
        ("send", false, false),
        ("receive", false, false),
        ("send", true, true),
        ("receive", true, true),
    ] {
        let what = format!("{direction} {cut} {joined}");
        let result = far.done(&[
            ("datagram-size", json!(1000)),
            ("pacing", json!(1_000_000)),
            ("direction", json!(direction)),
            ("udp-segmentation", json!(cut)),
            ("udp-coalescing", json!(joined)),
            ("stop", json!("300ms")),
        ]);
        let series = result.counters.iter().find(|one| one.source == datagrams::SOURCE);
        let series = series.unwrap_or_else(|| panic!("{what}: nothing of datagrams"));
        let count = datagrams::DatagramCount::in_series(series).unwrap_or_else(|| panic!("{what}"));
        assert!(count.sent > 2 && count.received > 0, "{what}: {}", count.sent);
        assert_eq!(count.dropped, (!joined).then_some(count.lost()), "{what}");
        assert_eq!(last(series, "sent_bytes"), 1000 * count.sent, "{what}");
        let arrived: u64 = result.streams.iter().map(|one| one.total.read_bytes).sum();
        assert_eq!(arrived, 1000 * count.received, "{what}");
        let window = result.window.unwrap_or_else(|| panic!("{what}: no window"));
        let (start, end) = (window.start_ns as i64, window.end_ns as i64);
        for column in ["sent_bytes", "received_datagrams", "sender_cpu_ns", "receiver_cpu_ns"] {
            let grown = series.growth(column, start, end);
            assert!(grown.is_some_and(|grown| grown > 0.0), "{what}: {column} {grown:?}");
        }
        let kinds: Vec<&str> = result.notes.iter().map(|note| note.kind.as_str()).collect();
        assert!(kinds.contains(&"over-two-machines"), "{what}: {kinds:?}");
        assert!(!kinds.contains(&"strange-datagrams"), "{what}: {kinds:?}");
    }
}

/// Each is checked by whoever receives, whatever its length and whoever cuts and joins them.
#[test]
fn datagrams_are_checked_where_they_arrive_and_the_record_says_so() {
    let far = TestListener::new(BOUNDS);
    for (direction, cut, joined, bytes, checksum) in [
        ("send", false, false, 528, "crc32c"),
        ("receive", true, true, 1472, "md5"),
        ("send", true, true, 1001, "xxh3-128"),
        ("receive", false, false, 9000, "blake3"),
    ] {
        let what = format!("{direction} {cut} {joined} {bytes}");
        let result = far.done(&[
            ("datagram-size", json!(bytes)),
            ("pacing", json!(1_000_000)),
            ("direction", json!(direction)),
            ("udp-segmentation", json!(cut)),
            ("udp-coalescing", json!(joined)),
            ("stop", json!("300ms")),
            ("verify", json!(checksum)),
        ]);
        let arrived: u64 = result.streams.iter().map(|one| one.total.read_bytes).sum();
        assert!(arrived > 0, "{what}");
        let said = |note: &&Note| note.kind == "checked-on-arrival" && note.text.contains(checksum);
        assert_eq!(result.notes.iter().filter(said).count(), 1, "{what}: {:?}", result.notes);
    }
    let short = [("datagram-size", json!(527)), ("verify", json!("crc32c"))];
    match far.run(&short).end {
        Some(Err((Failure::Unsupported, why))) => {
            assert!(why.contains("datagram-size=528B or more"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

/// What a full socket loses on the other machine is told here.
#[test]
fn datagrams_that_found_the_other_ends_socket_full_are_told_apart() {
    let far = TestListener::new(BOUNDS);
    for direction in ["send", "receive"] {
        let result = far.done(&[
            ("datagram-size", json!(1400)),
            ("direction", json!(direction)),
            ("socket-buffer", json!(4096)),
        ]);
        let series = result.counters.iter().find(|one| one.source == datagrams::SOURCE);
        let count = series.and_then(datagrams::DatagramCount::in_series).expect("a count");
        assert!(count.lost() > 0, "{direction}: a socket of 4 KiB lost none of {}", count.sent);
        assert_eq!(count.dropped, Some(count.lost()), "{direction}: loopback loses none");
        let told = |note: &Note| note.kind == "datagrams-lost" && note.text.contains("socket full");
        assert!(result.notes.iter().any(told), "{direction}: {:?}", result.notes);
    }
}

/// A packet of the interface between both; the other end knows nothing of this one's.
#[test]
fn datagrams_of_no_size_fill_a_packet_and_the_record_says_so() {
    let far = TestListener::new(BOUNDS);
    let result = far.done(&[
        ("datagram-size", json!("as-is")),
        ("pacing", json!(10_000_000)),
        ("stop", json!("200ms")),
    ]);
    let series = result.counters.iter().find(|one| one.source == datagrams::SOURCE).expect("some");
    let bytes = last(series, "sent_bytes") / last(series, "sent_datagrams");
    // Of loopback nobody is asked; the lab has interfaces.
    assert_eq!(bytes, 1472);
    let told = |note: &Note| note.kind == "datagram-size" && note.text.contains(&bytes.to_string());
    assert!(result.notes.iter().any(told), "{:?}", result.notes);
}

#[test]
fn datagrams_are_bounded_at_the_other_end_as_streams_are() {
    let far = TestListener::new(Bounds { bytes: 1 << 20, ..BOUNDS });
    for direction in ["send", "receive"] {
        let said = far.run(&[
            ("datagram-size", json!(1000)),
            ("direction", json!(direction)),
            ("stop", json!("30s")),
        ]);
        match said.end {
            Some(Err((Failure::Failed, why))) => assert!(why.contains("--bytes"), "{why}"),
            other => panic!("{direction}: {other:?}"),
        }
    }
    let far = TestListener::new(Bounds { streams: 1, ..BOUNDS });
    match far.run(&[("datagram-size", json!(1000))]).end {
        Some(Err((Failure::Unsupported, why))) => assert!(why.contains("--streams 2"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn datagrams_both_ways_between_two_machines_are_refused_by_name() {
    let far = TestListener::new(BOUNDS);
    match far.run(&[("datagram-size", json!(1000)), ("direction", json!("both"))]).end {
        Some(Err((Failure::Unsupported, why))) => assert!(why.contains("direction="), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// A ticket and a port were not enough to be told from a trial that lost everything.
#[test]
fn an_end_whose_port_of_datagrams_is_taken_says_so() {
    let far = TestListener::new(BOUNDS);
    let taken = std::net::UdpSocket::bind(far.0).expect("the port of TCP is free for UDP");
    match far.run(&[("datagram-size", json!(1000))]).end {
        Some(Err((Failure::Failed, why))) => assert!(why.contains("--port"), "{why}"),
        other => panic!("{other:?}"),
    }
    drop(taken);
    far.done(&[("datagram-size", json!(1000)), ("pacing", json!(1_000_000))]);
}

/// Each end receives half of the streams, by its own clock; the sum is of one window.
#[test]
fn both_ways_between_two_machines_each_is_counted_where_it_arrives() {
    let far = TestListener::new(BOUNDS);
    for (streams, send, receive) in [(2, "write", "read"), (4, "uring", "uring-multishot")] {
        let result = far.done(&[
            ("direction", json!("both")),
            ("streams", json!(streams)),
            ("send-path", json!(send)),
            ("receive-path", json!(receive)),
            ("stop", json!("300ms")),
        ]);
        let series = result.counters.iter().find(|one| one.source == network::SOURCE);
        let series = series.unwrap_or_else(|| panic!("{send}: nothing of TCP"));
        let arrived = |way: usize| -> u64 {
            result.streams.iter().skip(way).step_by(2).map(|one| one.total.read_bytes).sum()
        };
        let (out, back) = (last(series, network::OUTGOING), last(series, network::INCOMING));
        assert_eq!((out, back), (arrived(0), arrived(1)), "{send}");
        assert!(out > 0 && back > 0, "{send}: {out} {back}");
        assert_eq!(last(series, "sent_bytes"), out + back, "{send}");
        assert_eq!(last(&result.load, "read_bytes"), out + back, "{send}");
        assert_eq!(result.streams.len(), streams, "{send}");
        let window = result.window.unwrap_or_else(|| panic!("{send}: no window"));
        let (start, end) = (window.start_ns as i64, window.end_ns as i64);
        let grown = |name| series.growth(name, start, end).unwrap_or_else(|| panic!("{name}"));
        let both = grown(network::OUTGOING) + grown(network::INCOMING);
        assert!((both - window.done.read_bytes as f64).abs() < 2.0, "{send}: {both} {window:?}");
        for column in ["sender_cpu_ns", "receiver_cpu_ns"] {
            assert!(grown(column) > 0.0, "{send}: {column}");
        }
        let told = |note: &Note| note.text.contains("bytes go both ways at once");
        assert!(result.notes.iter().any(told), "{send}: {:?}", result.notes);
    }
}

#[test]
fn both_ways_are_bounded_at_the_other_end_and_end_by_a_time() {
    let far = TestListener::new(Bounds { bytes: 1 << 20, ..BOUNDS });
    match far.run(&[("direction", json!("both")), ("stop", json!("30s"))]).end {
        Some(Err((Failure::Failed, why))) => assert!(why.contains("--bytes"), "{why}"),
        other => panic!("{other:?}"),
    }
    match far.run(&[("direction", json!("both")), ("stop", json!("steady"))]).end {
        Some(Err((Failure::Unsupported, why))) => assert!(why.contains("stop=10s"), "{why}"),
        other => panic!("{other:?}"),
    }
}
