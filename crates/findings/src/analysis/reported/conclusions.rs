//! What the authors of the five texts concluded, and what our findings say of their figures alone.
//!
//! The analysis gets rows: settings and figures. No sentence of a text is in what it reads here:
//! words and notes are taken out of the rows first. Each conclusion stands with the line of its
//! text; all of the words that are asked for have to be in one finding.

use serde_json::json;

use super::tests::sara;
use super::*;
use experiment::published;

/// What an author concluded.
struct Conclusion {
    /// The line of the text.
    line: u32,
    /// What is concluded there, in short.
    says: &'static str,
    /// What a finding says of it: one finding has all of them.
    found: &'static [&'static str],
}

const fn at(line: u32, says: &'static str, found: &'static [&'static str]) -> Conclusion {
    Conclusion { line, says, found }
}

const CDF_2002: &[Conclusion] = &[
    at(
        151,
        "RAID 0, 3 and 5 read alike",
        &["`hardware-raid`", "in each of 8 contexts the most is 1.02 to 1.11 times the least"],
    ),
    at(
        182,
        "there is little variability between file systems",
        &[
            "`filesystem`",
            "ext3 is 0.92 to 1.15 times (1.02 in the mean of 8)",
            "(1.07 in the mean",
        ],
    ),
    at(
        186,
        "two controllers are the best case: 2.3 times one at 8 threads (ASA)",
        &["`card`", "of 2-3ware-7850 is 1.00 at streams=1", "2.30 at streams=8", "label=asa,"],
    ),
    at(
        186,
        "one thread is the same for one and two controllers (Polywell, within 5 %)",
        &["`card`", "1.05 at streams=1", "2.53 at streams=8", "label=polywell,"],
    ),
    at(
        186,
        "one controller falls off from its first thread on",
        &["card=3ware-7850: the most 83.0 MB/s at 1,", "falls most from 1 to 2 (by 31 %)"],
    ),
    at(
        204,
        "RAID 50 is substantially better than two separate RAID 5: 40 % at one thread",
        &["against no raid, that of raid=raid0 is 1.41 at streams=1"],
    ),
    at(
        204,
        "and with blocks of 64k it doubles them",
        &["raid=raid0 (and block-size 64 KiB instead of 1 MiB) is 2.02 at streams=1"],
    ),
    at(
        207,
        "smaller blocks gain with few readers and lose with many",
        &[
            "`block-size`",
            "against 64 KiB, that of 1 MiB is 0.70 at streams=1",
            "1.06 at streams=32",
        ],
    ),
    at(
        273,
        "the full bandwidth of the link is reached with jumbo frames only",
        &[
            "`mtu` and throughput",
            "9000 is 1.14 at message-size=10 B",
            "1.76 at message-size=100000 B",
        ],
    ),
    at(
        273,
        "for reasonably sized packets",
        &["mtu=9000: the most 0.944 Gb/s at 1000 B, at 100000 B 0.944 Gb/s (100 %)"],
    ),
    at(
        255,
        "the client works less: its interrupts fall to a third",
        &["`mtu` and interrupts", "0.34 at message-size=1000 B", "label=memory-to-memory"],
    ),
    at(
        293,
        "from disk the network is not filled, with jumbo frames neither",
        &["mtu=9000: the most 0.504 Gb/s at 1000 B", "label=asa-disk-to-memory"],
    ),
    at(
        315,
        "throughput over NFS falls as its one client drowns: its context switches grow",
        &["`streams` and client context switches: the least 9000 /s at 2, at 100 63000 /s"],
    ),
    at(
        315,
        "and throughput does not scale",
        &["the most 0.336 Gb/s at 2, at 60 0.0560 Gb/s (17 %)", "interface-mtu=1500"],
    ),
    at(
        342,
        "jumbo frames bring 30 to 35 % over NFS",
        &["`interface-mtu`", "1.29 at streams=1", "1.37 at streams=8", "(1.34 in the mean)"],
    ),
    at(
        346,
        "larger buffers of NFS raise its throughput",
        &["`nfs-read-size`", "that of 32 KiB is 1.38 at interface-mtu=1500, nfs-transport=udp"],
    ),
    at(
        363,
        "TCP needs the large buffer: with 8k UDP is faster",
        &["`nfs-transport`", "against tcp, that of udp is 1.34 times", "nfs-read-size=8 KiB"],
    ),
    at(
        363,
        "the size of the socket's window does not matter",
        &["`socket-buffer-max`", "the most is 1.02 times the least"],
    ),
    at(
        370,
        "tuned NFS delivers 72 MB/s at two threads, and falls with more",
        &["the most 0.576 Gb/s at 2, at 100 0.152 Gb/s (26 %)", "nfs-read-size=32 KiB"],
    ),
    at(
        434,
        "the server of slow disks loses least at few threads and 2 to 3 times at the most",
        &[
            "label=asa (and disk-model wd-100-gb-7200 instead of maxtor",
            "2.56 at card=2-3ware-7850, streams=100 times",
        ],
    ),
    at(
        410,
        "disks of 160 GB collapse between 2 and 4 threads",
        &[
            "card=3ware-7850: the most 60.0 MB/s at 1, at 100 21.0 MB/s",
            "(35 %), falls most from 2 to 4 (by 36 %)",
            "card=2-3ware-7850: the most 97.0 MB/s at 2, at 100 32.0 MB/s",
            "rises most from 1 to 2 (by 47 %), falls most from 2 to 4 (by 32 %)",
        ],
    ),
    at(
        455,
        "with disks of 100 GB it scales better",
        &[
            "against label=rackable-100-gb, that of label=rackable-160-gb",
            "1.14 at streams=1",
            "0.62 at streams=100",
        ],
    ),
    at(
        455,
        "and is still below the ASA server",
        &[
            "against label=rackable-100-gb, that of label=asa is 1.43 at streams=1",
            "1.58 at streams=100",
        ],
    ),
    at(
        461,
        "the array of fcdfcode1 keeps what it has with 100 readers",
        &["the most 61.0 MB/s at 16, at 100 56.0 MB/s (92 %)"],
    ),
];

const SARA_2010: &[Conclusion] = &[
    at(
        180,
        "pinning raises the sum of three cards, by 6 %",
        &["`cpu-pinning`", "against none, that of 1-3 is", "1.06 at slot=1+2+3"],
    ),
    at(
        180,
        "the card in the slot of four lanes carries less than 7 Gb/s, the others 10",
        &["`slot`", "3 is 1.37 to 1.44 times", "card=intel-e10g41at2"],
    ),
    at(
        226,
        "in the slot of four lanes the controller is held by the slot",
        &["852 MB/s from 5 disks", "Held by the x4 PCIe 1.0 link"],
    ),
    at(
        226,
        "why it levels off in a slot of eight is not known",
        &["1028 MB/s from 6 disks", "What held it is not known", "51 % of 2000 MB/s"],
    ),
];

const CCD_1996: &[Conclusion] = &[
    at(
        58,
        "the CMD is the faster of the two RAIDs in hardware",
        &[
            "Block write throughput, best first",
            "cmd (card=cmd-5500) 7.35 MB/s, 2.02 times that of single",
        ],
    ),
    at(
        66,
        "striping by ccd is quite a bit faster than it",
        &[
            "Block write throughput, best first",
            "ccd3 (chunk-size=64 KiB, disks=3, raid=raid0) 11.6 MB/s",
            "1.58 times that of cmd",
        ],
    ),
    at(
        66,
        "but seeks a little slower",
        &["Seeks, best first", "cmd (card=cmd-5500) 188 /s, 1.04 times that of ccd5", "ccd3"],
    ),
    at(
        67,
        "five drives improve on three",
        &["Block read throughput, best first", "Each: ccd5", "1.14 times that of ccd3"],
    ),
    at(
        71,
        "mounted async it outperforms the CMD at touching files",
        &["Elapsed, best first", "Each: ccd-async", "operation=touch", "0.28 times that of cmd"],
    ),
    at(
        71,
        "and at unlinking them",
        &["Elapsed, best first", "Each: ccd-async", "operation=unlink", "0.42 times that of cmd"],
    ),
];

const JACKRABBIT_2007: &[Conclusion] = &[
    at(
        70,
        "processes vie for resources: dbench falls from 20 to 100 clients",
        &["the most 958 MB/s at 20, at 100 682 MB/s (71 %)"],
    ),
    at(
        107,
        "reads fall from 907 to 724 MB/s with four processes",
        &["against 1, that of 4 is 0.80 times", "access=read"],
    ),
    at(
        107,
        "writes from 586 to 537, and rewrites hold",
        &["against 1, that of 4 is 0.92 at access=write, 1.04 at access=rewrite times"],
    ),
];

const BRICK_2007: &[Conclusion] = &[
    at(
        129,
        "JFS has 11 of the 20 fastest runs of ncecat, ReiserFS 6, XFS 3, ext3 1",
        &[
            "`filesystem`",
            "against ext3: xfs is 3.00 times, reiserfs is 6.00 times, jfs is 11.00 times",
        ],
    ),
    at(
        182,
        "XFS was the fastest 17 times of 20 at reading characters, JFS 3 times",
        &["`filesystem`", "against jfs, that of xfs is 5.67 times", "label=char-read"],
    ),
];

/// The records of a set, without any word of their text.
fn wordless(name: &str) -> Vec<Record> {
    let mut records = published::find(name).expect("a set").records.clone();
    for record in &mut records {
        record.trial.group.clear();
        let experiment::measurement::Outcome::Done(measurement) = &mut record.outcome else {
            continue;
        };
        measurement.notes.clear();
        let reported = measurement.reported.as_mut().expect("figures");
        reported.says.clear();
        for figure in &mut reported.figures {
            figure.printed.clear();
        }
    }
    records
}

#[test]
fn what_the_authors_concluded_is_found_from_their_figures_alone() {
    let (_, machines) = sara(|_, _| ());
    let sets = [
        ("cdf-2002", CDF_2002),
        ("sara-2010", SARA_2010),
        ("ccd-1996", CCD_1996),
        ("jackrabbit-2007", JACKRABBIT_2007),
        ("brick-2007", BRICK_2007),
    ];
    let (mut missed, mut all) = (Vec::new(), 0);
    for (name, conclusions) in sets {
        let records = wordless(name);
        let inventory = if name == "sara-2010" { machines.clone() } else { json!(null) };
        let findings = findings(&records, &inventory);
        for conclusion in conclusions {
            all += 1;
            let has = |finding: &&Finding| {
                conclusion.found.iter().all(|words| finding.whole().contains(words))
            };
            if findings.iter().find(has).is_none() {
                let Conclusion { line, says, found } = conclusion;
                missed.push(format!("{name}, line {line}: {says}: {found:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{} of {all}:\n{}", missed.len(), missed.join("\n"));
    assert!(all >= 25, "{all}");
}
