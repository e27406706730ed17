//! Whole trials of datagrams over loopback.

use serde_json::{Value, json};

use super::socket::IncomingDatagrams;
use super::{DATAGRAMS_MAX, DatagramAccount, DatagramBlocks, UdpReceiverCounters, take};
use crate::engine::load::protocol::{Failure, LoadResult};
use crate::engine::load::testing::{Said, converse};
use crate::engine::net::worker::conduct;
use experiment::measurement::Measurement;
use experiment::measurement::datagrams::{DatagramCount, SOURCE};

fn run(knobs: &[(&str, Value)]) -> Said {
    let mut settings = json!({
        "wire": "loopback", "stop": "200ms", "streams": 2, "datagram-size": 1000,
        "pacing": 4_000_000, "udp-segmentation": false, "udp-coalescing": false
    });
    for (name, value) in knobs {
        settings[*name] = value.clone();
    }
    converse(conduct, settings, vec![Vec::new(); 2], false)
}

fn done(knobs: &[(&str, Value)]) -> Measurement {
    match run(knobs).end {
        Some(Ok(result)) => LoadResult::into_measurement(result).unwrap(),
        other => panic!("{knobs:?}: {other:?}"),
    }
}

fn last(trial: &Measurement, name: &str) -> u64 {
    let series = trial.counters.iter().find(|it| it.source == SOURCE).expect("what was counted");
    let column = series.column(name).unwrap_or_else(|| panic!("no column {name}"));
    *column.values.last().expect("a row")
}

/// Cut and joined by the kernel or one by one, each datagram is seen once.
#[test]
fn at_a_low_rate_each_datagram_arrives_once_and_in_order_by_every_way() {
    for segmented in [false, true] {
        for coalesced in [false, true] {
            for bytes in [16, 1000, 9000] {
                let what = format!("{segmented} {coalesced} {bytes}");
                let trial = done(&[
                    ("udp-segmentation", json!(segmented)),
                    ("udp-coalescing", json!(coalesced)),
                    ("datagram-size", json!(bytes)),
                    ("pacing", json!(100 * bytes)),
                ]);
                let count = DatagramCount::from_measurement(&trial)
                    .unwrap_or_else(|| panic!("{what}: no count"));
                assert!(count.sent > 0 && count.received > 0, "{what}: {:?}", trial.notes);
                // A receiver that gets no processor for long finds its socket full; nothing else
                // loses any.
                assert_eq!(count.dropped, (!coalesced).then_some(count.lost()), "{what}");
                assert_eq!(last(&trial, "duplicate_datagrams"), 0, "{what}");
                assert_eq!(last(&trial, "reordered_datagrams"), 0, "{what}");
                let arrived = trial.evidence.delivered;
                assert_eq!(arrived.read_bytes, count.received * bytes, "{what}");
                assert_eq!(arrived.read_ops, count.received, "{what}");
            }
        }
    }
}

/// Whoever counts what was sent as what arrived has a figure of the sender.
#[test]
fn a_socket_that_is_too_small_loses_what_is_counted_as_lost_there() {
    let trial = done(&[
        ("socket-buffer", json!(4096)),
        ("pacing", json!("as-is")),
        ("datagram-size", json!(1400)),
    ]);
    let count = DatagramCount::from_measurement(&trial).unwrap();
    assert!(count.lost() > 0, "a socket of 4 KiB lost nothing of {}", count.sent);
    assert_eq!(count.dropped, Some(count.lost()), "loopback loses nothing on the way");
    let noted = trial.notes.iter().find(|note| note.kind == "datagrams-lost");
    assert!(noted.is_some_and(|note| note.text.contains("socket full")), "{:?}", trial.notes);
    assert_eq!(trial.evidence.delivered.read_ops, count.received);
}

#[test]
fn what_a_kernel_cannot_cut_is_refused_with_what_would_work() {
    let said = run(&[
        ("udp-segmentation", json!(true)),
        ("datagram-size", json!(65_507)),
        ("wire", json!("loopback")),
    ]);
    // One datagram of that size needs no cutting: a kernel may take it.
    match said.end {
        Some(Ok(result)) => assert!(result.streams.len() == 2),
        Some(Err((Failure::Unsupported, why))) => assert!(why.contains("datagram-size"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_ways_at_once_are_counted_each() {
    use experiment::measurement::network::{INCOMING, OUTGOING};
    let trial = done(&[("direction", json!("both"))]);
    let (out, back) = (last(&trial, OUTGOING), last(&trial, INCOMING));
    let arrived = |stream: usize| trial.streams[stream].total.read_bytes;
    assert_eq!((out, back), (arrived(0), arrived(1)));
    assert!(out > 0 && back > 0, "{out} {back}");
}

/// What another trial left on its way, and what strangers send, once had a number like any other:
/// it was received, and what it stood in the place of was not lost.
#[test]
fn what_is_not_of_this_stream_is_counted_apart_and_in_no_figure() {
    use std::sync::atomic::Ordering::Relaxed;
    let sockets = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let [sender, receiver] = &sockets;
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let datagram = |number: u64, bytes: usize| {
        let mut datagram = vec![0; bytes];
        datagram[..8].copy_from_slice(&number.to_le_bytes());
        datagram
    };
    let (first, bytes) = (1 << 60, 100);
    let greeting = [&b"brkyard?"[..], &[0; 92]].concat();
    let all = [
        datagram(first, bytes),
        datagram(first - 1, bytes),
        datagram(first + DATAGRAMS_MAX, bytes),
        datagram(first + 1, bytes - 1),
        datagram(0, bytes),
        greeting,
        datagram(first + 2, bytes),
    ];
    let mut incoming = IncomingDatagrams::new(bytes, false);
    let (mut account, got) = (DatagramAccount::default(), UdpReceiverCounters::default());
    let mut counted = 0;
    for one in all {
        sender.send(&one).unwrap();
        assert_eq!(incoming.receive(receiver).unwrap(), 1);
        counted += take(&incoming, 0, (first, None), &mut account, &got).unwrap();
    }
    assert_eq!((account.received, counted), (2, 200));
    assert_eq!(got.strange.load(Relaxed), 4, "the greeting is ours, and late");
}

/// A stream of datagrams with blocks, as its receiver gets them.
struct Sent {
    sockets: [std::net::UdpSocket; 2],
    incoming: IncomingDatagrams,
    blocks: DatagramBlocks,
    all: Vec<Vec<u8>>,
}

/// What the numbers begin at.
const FIRST: u64 = 77 << 40;

impl Sent {
    fn new(bytes: usize, count: u64) -> Sent {
        let sockets = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        sockets[0].connect(sockets[1].local_addr().unwrap()).unwrap();
        let text = format!("{bytes}B");
        let knobs = [("datagram-size", text.as_str()), ("verify", "xxh3-64")];
        let settings = experiment::knob::testing::settings("net-udp", &knobs);
        let job = crate::engine::net::asked::job(&settings, 9).unwrap();
        let blocks = DatagramBlocks::for_stream(&job, 3).unwrap();
        let all = (0..count).map(|number| {
            let mut datagram = vec![0; bytes];
            datagram[..8].copy_from_slice(&(FIRST + number).to_le_bytes());
            datagram[8..16].copy_from_slice(&(1_000 + number).to_le_bytes());
            blocks.make(&mut datagram[16..], number, 1_000 + number);
            datagram
        });
        Sent { sockets, incoming: IncomingDatagrams::new(bytes, false), blocks, all: all.collect() }
    }

    fn takes(
        &mut self,
        datagram: &[u8],
        account: &mut DatagramAccount,
        got: &UdpReceiverCounters,
    ) -> Result<u64, super::LoadFailure> {
        self.sockets[0].send(datagram).unwrap();
        assert_eq!(self.incoming.receive(&self.sockets[1]).unwrap(), 1);
        take(&self.incoming, 0, (FIRST, Some(self.blocks)), account, got)
    }
}

/// Of all bits of a datagram there is none that can turn without a word, wherever a block ends; and
/// no number is told but that of the datagram.
#[test]
fn a_bit_that_turned_anywhere_in_a_datagram_is_told_with_its_number() {
    for bytes in [528, 529, 1023, 1472] {
        let mut sent = Sent::new(bytes, 7);
        let number = 5_usize;
        for bit in (0..8 * bytes).step_by(3).chain(0..128) {
            let mut datagram = sent.all[number].clone();
            datagram[bit / 8] ^= 1 << (bit % 8);
            let (mut account, got) = (DatagramAccount::default(), UdpReceiverCounters::default());
            let Err((Failure::Failed, why)) = sent.takes(&datagram, &mut account, &got) else {
                panic!("bit {bit} of {bytes} bytes");
            };
            assert!(why.contains("stream 4: "), "{why}");
            // Of a number that is wrong both are told.
            let of = if bit < 64 { "that of number 5: its number" } else { "of number 5 (" };
            assert!(why.contains(of), "bit {bit} of {bytes} bytes: {why}");
            let kind =
                if (16 + 64..16 + 96).contains(&(bit / 8)) { "checksum-field" } else { "bit-flip" };
            assert!(why.contains(kind), "bit {bit} of {bytes} bytes: {why}");
            assert_eq!(account.received, 0);
        }
    }
}

/// A network may lose, double and overtake datagrams, and none of it is a wrong byte. Nor is what
/// was never one of this stream's.
#[test]
fn what_is_lost_doubled_or_late_is_right_and_a_stranger_s_is_a_stranger_s() {
    use std::sync::atomic::Ordering::Relaxed;
    let mut sent = Sent::new(700, 9);
    let (mut account, got) = (DatagramAccount::default(), UdpReceiverCounters::default());
    for number in [0, 1, 1, 4, 3, 8, 0] {
        let datagram = sent.all[number].clone();
        assert_eq!(sent.takes(&datagram, &mut account, &got), Ok(700), "{number}");
    }
    assert_eq!((account.received, account.duplicates, account.reordered), (5, 2, 1));
    let other = Sent::new(700, 1).all.remove(0);
    let mut stranger = vec![7; 700];
    assert_eq!(sent.takes(&stranger, &mut account, &got), Ok(0));
    stranger[16..].copy_from_slice(&other[16..]);
    stranger[16 + 24] ^= 4;
    assert_eq!(sent.takes(&stranger, &mut account, &got), Ok(0), "another stream's block");
    assert_eq!(got.strange.load(Relaxed), 2);
}

#[test]
fn datagrams_of_one_machine_are_checked_as_well_both_ways() {
    let verify = [("verify", json!("crc32c")), ("direction", json!("both"))];
    let trial = done(&[&verify[..], &[("datagram-size", json!(1111))]].concat());
    let notes = trial.notes.iter().filter(|note| note.kind == "checked-on-arrival");
    assert_eq!(notes.count(), 1, "{:?}", trial.notes);
    assert!(trial.streams.iter().all(|one| one.total.read_bytes > 0));
}
