//! What was changed between both ends, above TCP's own checksum: something stands between them that
//! takes the bytes of one and gives them to the other.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use super::*;

/// Of stream `stream`, in one of both directions, a bit of the byte at `offset` is flipped.
#[derive(Clone, Copy)]
pub struct Flip {
    pub stream: usize,
    pub back: bool,
    pub offset: u64,
}

/// Stands before the listener at `there`, until nobody connects any more.
pub fn between(there: SocketAddr, flip: Option<Flip>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(there).unwrap();
            std::thread::spawn(move || pass(near, far, flip));
        }
    });
    at
}

/// Passes one connection on, both ways.
fn pass(mut near: TcpStream, far: TcpStream, flip: Option<Flip>) {
    let mut line = Vec::new();
    let mut byte = [0];
    while near.read(&mut byte).unwrap_or(0) == 1 {
        line.push(byte[0]);
        if byte[0] == b'\n' {
            break;
        }
    }
    let first: Value = serde_json::from_slice(&line).unwrap_or_default();
    let flip = flip.filter(|flip| first["bytes"]["stream"] == json!(flip.stream));
    (&far).write_all(&line).unwrap();
    let (back_from, back_to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
    let back = flip.filter(|flip| flip.back);
    let back = std::thread::spawn(move || copy(&back_from, &back_to, back));
    copy(&near, &far, flip.filter(|flip| !flip.back));
    back.join().unwrap();
}

fn copy(mut from: &TcpStream, mut to: &TcpStream, flip: Option<Flip>) {
    let (mut buffer, mut passed) = (vec![0; 64 << 10], 0_u64);
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        let at = flip.and_then(|flip| flip.offset.checked_sub(passed));
        if let Some(byte) = at.and_then(|at| buffer[..bytes].get_mut(at as usize)) {
            *byte ^= 0x10;
        }
        passed += bytes as u64;
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn through(far: &TestListener, flip: Option<Flip>, knobs: &[(&str, Value)]) -> Said {
    let at = between(far.0, flip);
    let peer = [("peer", json!(at.to_string())), ("verify", json!("crc32c"))];
    let block = [("verify-block", json!(4096))];
    far.run(&[&peer[..], &block[..], knobs].concat())
}

/// One bit of what may be gigabytes: its stream and its block are named, and the trial has no rate.
#[test]
fn a_bit_that_is_flipped_on_the_way_fails_the_trial_with_its_stream_and_place() {
    let far = TestListener::new(BOUNDS);
    for (direction, stream, back, offset) in [
        ("send", 1, false, 123_456_u64),
        ("receive", 0, true, 5_000_001),
        ("both", 0, false, 4096),
        ("both", 1, true, 4095),
    ] {
        let what = format!("{direction} {stream} {offset}");
        let flip = Flip { stream, back, offset };
        let stop = [("direction", json!(direction)), ("stop", json!("20s"))];
        let (block, stream) = (offset / 4096 * 4096, format!("stream {}:", stream + 1));
        match through(&far, Some(flip), &stop).end {
            Some(Err((Failure::Failed, why))) => {
                assert!(why.contains(&stream), "{what}: {why}");
                assert!(why.contains(&format!("at byte {block} ")), "{what}: {why}");
                assert!(why.contains("bit-flip"), "{what}: {why}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// The same without a flip, by each checksum: it is the flip that fails it. And without `verify`
/// nobody sees the flip.
#[test]
fn what_arrives_as_it_was_sent_passes_and_the_record_says_that_it_was_checked() {
    let far = TestListener::new(BOUNDS);
    for checksum in ["crc32c", "xxh3-64", "xxh3-128", "blake3", "md5"] {
        let verify = [("verify", json!(checksum)), ("direction", json!("both"))];
        let result = match through(&far, None, &verify).end {
            Some(Ok(result)) => result,
            other => panic!("{checksum}: {other:?}"),
        };
        let told = |note: &Note| note.kind == "checked-on-arrival" && note.text.contains(checksum);
        assert!(result.notes.iter().any(told), "{:?}", result.notes);
        assert!(result.streams.iter().all(|one| one.total.read_bytes > 0), "{checksum}");
    }
    let flip = Flip { stream: 0, back: false, offset: 99 };
    match through(&far, Some(flip), &[("verify", json!("off"))]).end {
        Some(Ok(result)) => {
            assert!(result.notes.iter().all(|note| note.kind != "checked-on-arrival"));
        }
        other => panic!("{other:?}"),
    }
}

/// Both ends on one machine, blocks that do not end with a read, and messages of one block.
#[test]
fn blocks_of_any_length_are_checked_on_one_machine_as_well() {
    for (block, message) in
        [(512_u64, 512_u64), (1536, 4608), (1 << 20, 1 << 20), (65_536, 131_072)]
    {
        let settings = json!({
            "wire": "loopback", "stop": "100ms", "streams": 2, "verify": "xxh3-64",
            "verify-block": block, "message-size": message,
        });
        match converse(conduct, settings, vec![Vec::new(); 2], false).end {
            Some(Ok(result)) => {
                let notes = &result.notes;
                assert!(notes.iter().any(|note| note.kind == "checked-on-arrival"), "{notes:?}");
            }
            other => panic!("{block} {message}: {other:?}"),
        }
    }
}
