//! Every block that arrives at another program is held against what was written or sent: what a
//! disk or the way has made of it is told with its place, and nothing else is.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

use super::Receiver;
use crate::disk::{beside_another_disk, sh, usable};
use crate::integrity::{BLOCKS, PASSES, STAYS, compare, expected, found, once_each};
use crate::liar::{Liar, Lie};
use crate::network::Pair;
use crate::run::{draw, figure, noted, parse, trials};

/// Of the one that stands between both.
const PORT: u64 = 5311;
const STREAMS: u64 = 2;
const FILES: u64 = 2;
const FILE_BYTES: u64 = 2 << 20;
const IO_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 4096;

/// Somebody who takes the bytes of one end and gives them to the other; gone when dropped.
struct Between(Child, BufReader<ChildStdout>);

impl Between {
    /// Flips a bit of the byte, or of the datagram, at this place of a stream.
    fn new(pair: &Pair, what: &str, (stream, place, bit): (u64, u64, u64)) -> Between {
        // It calls the other end by that end's own address.
        sh("ip", &["-n", &pair.b, "link", "set", "lo", "up"]);
        let arguments = [pair.b.as_str(), "10.89.0.2", &PORT.to_string(), "5210", what]
            .map(str::to_owned)
            .into_iter()
            .chain([stream, place, bit].map(|number| number.to_string()));
        let mut child = Command::new("python3")
            .args(["-c", include_str!("flip.py")])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 can be started");
        let output = child.stdout.take().expect("was piped");
        let mut made = Between(child, BufReader::new(output));
        assert_eq!(made.line(), "ready");
        made
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    fn output(&self, receiver: &Receiver, pair: &Pair, folder: &Path, more: &[&str]) -> Output {
        let to = format!("10.89.0.2:{PORT}");
        receiver.command_to(&to, pair, folder, more).output().expect("ip can be started")
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The integrity of the one trial, in which it was checked: all that came in whole blocks.
fn integrity(document: &Value) -> Value {
    let trial = trials(document)[0];
    assert_eq!(trial["outcome"], "done", "{document:#}");
    assert!(noted(trial, "checked-on-arrival") && noted(trial, "over-two-machines"), "{trial:#}");
    let checked = trial["integrity"]["checked_bytes"].as_u64().expect("a count");
    assert!(checked > 0 && checked.is_multiple_of(IO_BYTES), "{trial:#}");
    trial["integrity"].clone()
}

/// The other end has no file, and this one no byte of what arrived.
#[test]
fn what_a_disk_lies_about_is_found_where_it_arrives_and_named_where_it_lies() {
    if !usable("a lying disk whose files are sent", &["mkfs.ext4", "losetup", "ip"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let receiver = Receiver::new(&pair);
    // A sector that cannot be read ends a trial that sends, as ever.
    let readable = |lies: &[Lie]| -> Vec<Lie> {
        let all = lies.iter().copied();
        all.filter(|lie| !matches!(lie, Lie::Spoil | Lie::ErrorOnce)).collect()
    };
    for (what, lies) in
        [("honest", vec![]), ("what stays", readable(STAYS)), ("what passes", readable(PASSES))]
    {
        let what = format!("sent: {what}");
        let (liar, folder) = (Liar::new(48), tempfile::tempdir().expect("a folder"));
        let seed = draw(&format!("{what}: seed"), 0, u64::MAX);
        liar.arm(&once_each(&what, &lies, 2..BLOCKS), seed);
        let name = liar.name();
        let load = ["file-stream", "--dir", &name, "verify=crc32c", "file-size=4MiB", "streams=2"];
        let knobs = ["block-size=64KiB", "direct=true", "send-path=write", "stop=4s"];
        let document = parse(&receiver.output(&pair, folder.path(), &[&load[..], &knobs].concat()));
        let truth = liar.confess();
        compare(&what, expected(&truth, false), found(&document), &truth.told);
        let checked = integrity(&document)["checked_bytes"].as_u64();
        let rounds = checked.unwrap_or_default() / (8 << 20);
        println!("{what}: {rounds} rounds, {} lies", truth.told.len());
        assert!(rounds >= 2, "what was met in the last blocks is not looked at: {document:#}");
        assert_eq!(found(&document).is_empty(), lies.is_empty(), "{document:#}");
    }
}

/// A bit that turned on the way is no fault of the disk, and is found in whatever round it is.
#[test]
fn a_bit_that_turns_on_the_way_is_told_with_the_file_that_it_was_of() {
    if !usable("somebody between two ends", &["ip", "python3"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let receiver = Receiver::new(&pair);
    let files = tempfile::tempdir_in("/var/tmp").expect("a folder on a device");
    let name = files.path().display().to_string();
    let load = ["file-stream", "--dir", &name, "verify=crc32c", "file-size=2MiB", "files=2"];
    let knobs = ["streams=2", "block-size=64KiB", "send-path=write,uring,sendfile", "stop=3s"];
    let more = [&load[..], &knobs].concat();
    let of = |document: &Value, number: usize| {
        let trial = trials(document)[number].clone();
        integrity(&serde_json::json!({ "trials": [trial] }))
    };
    for flips in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let stream = draw("stream that is hit on the way", 0, STREAMS);
        // In the first round or the second.
        let place = draw("byte of it", 0, 2 * FILES * FILE_BYTES);
        let bit = draw("bit of it", 0, 8);
        let what = if flips { "bytes" } else { "none" };
        let mut between = Between::new(&pair, what, (stream, place, bit));
        let document = parse(&between.output(&receiver, &pair, folder.path(), &more));
        assert_eq!(trials(&document).len(), 3);
        for number in 0..3 {
            let integrity = of(&document, number);
            if !flips {
                assert_eq!(integrity["wrong"], serde_json::json!({}), "{integrity:#}");
                continue;
            }
            assert_eq!(between.line(), "flipped");
            let faults = integrity["faults"].as_array().expect("faults");
            let [fault] = &faults[..] else { panic!("{integrity:#}") };
            let of_round = place % (FILES * FILE_BYTES);
            let (file, offset) = (of_round / FILE_BYTES, of_round % FILE_BYTES);
            let named = format!("brick-{:05}.dat", stream + file * STREAMS);
            assert!(fault["file"].as_str().is_some_and(|it| it.ends_with(&named)), "{fault:#}");
            assert_eq!(fault["offset"], offset / BLOCK_BYTES * BLOCK_BYTES, "{fault:#}");
            assert_eq!(fault["lasting"], "transient", "the disk has it right: {fault:#}");
            let byte = offset % BLOCK_BYTES;
            match (64..96).contains(&byte) {
                true => assert_eq!(fault["kind"], "checksum-field", "{fault:#}"),
                false => {
                    assert_eq!(fault["kind"], "bit-flip", "{fault:#}");
                    let place = format!("bit {bit} of byte {byte} ");
                    assert!(
                        fault["what"].as_str().is_some_and(|it| it.contains(&place)),
                        "{fault:#}"
                    );
                }
            }
        }
    }
}

/// UDP's own checksum is right for what the one in between sends.
#[test]
fn a_datagram_that_is_changed_on_the_way_is_told_with_its_number_and_no_other_is() {
    if !usable("somebody between two ends of datagrams", &["ip", "python3"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let receiver = Receiver::new(&pair);
    for direction in ["direction=send", "direction=receive"] {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = draw(&format!("{direction}: bytes of a datagram"), 528, 1473);
        let size = format!("datagram-size={bytes}");
        let load = ["udp-stream", "streams=2", "verify=crc32c", direction, &size, "pacing=2Mb/s"];
        let more = [&load[..], &["socket-buffer=200KiB", "stop=3s"]].concat();
        // A network may do that.
        let between = Between::new(&pair, "mess", (0, 0, 0));
        let document = parse(&between.output(&receiver, &pair, folder.path(), &more));
        let trial = trials(&document)[0];
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        assert!(noted(trial, "checked-on-arrival"), "{trial:#}");
        let of_all = |name: &str| figure(trial, name) / figure(trial, "datagrams_sent");
        for name in ["datagrams_lost", "datagrams_duplicated", "datagrams_reordered"] {
            println!("{direction}: {name} {:.3}", of_all(name));
            assert!(of_all(name) > 0.05, "{name}: {trial:#}");
        }
        drop(between);
        let stream = draw(&format!("{direction}: stream that is hit"), 0, STREAMS);
        let number = draw(&format!("{direction}: datagram of it"), 0, 200);
        let bit = draw(&format!("{direction}: bit of it"), 0, 8 * bytes);
        let mut between = Between::new(&pair, "datagram", (stream, number, bit));
        let document = parse(&between.output(&receiver, &pair, folder.path(), &more));
        let trial = trials(&document)[0];
        assert_eq!(between.line(), "flipped");
        assert_eq!(trial["outcome"], "failed", "{trial:#}");
        let why = trial.to_string();
        for words in [format!("stream {}: the datagram", stream + 1), format!("number {number}")] {
            assert!(why.contains(&words), "{words}: {why}");
        }
    }
}
