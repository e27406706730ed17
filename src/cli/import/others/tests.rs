//! Files of twenty other kinds: what each is told to be.

use super::*;

/// What people have beside outputs of tools, each with words that the reason or the hint must have.
const FILES: [(&str, &[u8], &str); 24] = [
    ("a store", b"SQLite format 3\0\x10\0\x01\x01", "brickyard list campaigns --store FILE"),
    ("a screenshot", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is a picture"),
    ("a photograph", b"\xff\xd8\xff\xe0\0\x10JFIF", "it is a picture"),
    ("a paper", b"%PDF-1.7\n", "pdftotext"),
    ("a spreadsheet", b"PK\x03\x04\x14\0", "spreadsheet"),
    ("a packed log", b"\xfd7zXZ\0\0", "unxz FILE"),
    ("an older packed log", b"BZh91AY", "bunzip2 FILE"),
    ("a program", b"\x7fELF\x02\x01\x01", "it is a program"),
    ("nothing", b"", "it is empty"),
    ("blank lines", b"\n \n\t\n", "it is empty"),
    ("numbers of a disk", b"\0\x01\x02\x03", "it is no text"),
    ("a letter", b"Dear colleague,\n\nthe server is slow.\n", "no tool that is known"),
    ("a program's source", b"#include <stdio.h>\nint main(void) { return 0; }\n", "no tool"),
    ("a page", b"<!DOCTYPE html><html><body>results</body></html>\n", "no tool that is known"),
    ("settings", b"[Unit]\nDescription=backup\n[Service]\nExecStart=/usr/bin/rsync\n", "no tool"),
    ("other JSON", b"{\"name\": \"x\", \"version\": \"1.0\"}\n", "no tool that is known"),
    (
        "a job file of fio",
        b"[global]\nioengine=libaio\niodepth=32\nnumjobs=4\n[seq]\nrw=read\n",
        "nearest to fio, and has no line `NAME: (groupid=0",
    ),
    (
        "how fio was asked to run",
        b"$ fio --name=x --ioengine=libaio --iodepth=4 --rw=randread\n",
        "bring all that fio printed",
    ),
    (
        "a part of what fio printed",
        b"  read: IOPS=17.3k, BW=67.5MiB/s\n    clat percentiles (usec):\n",
        "nearest to fio",
    ),
    (
        "what somebody noted of iperf3",
        b"it had 9.38 Gbits/sec, with 120 Retr and a Cwnd of 1.42 MBytes\n",
        "nearest to iperf3",
    ),
    (
        "how dd was asked to run",
        b"dd if=/dev/zero of=/srv/x bs=1M count=1000 oflag=direct\n",
        "nearest to dd, and has no line",
    ),
    (
        "a part of what mdtest printed",
        b"   Directory creation        :      14400.1\n   File stat   : 22.1\n",
        "nearest to mdtest",
    ),
    (
        "a part of what pgbench printed",
        b"scaling factor: 10\nquery mode: simple\nnumber of clients: 4\n",
        "nearest to pgbench",
    ),
    (
        "a message of hdparm",
        b"hdparm: /dev/sda: O_DIRECT is not supported here\n",
        "nearest to hdparm",
    ),
];

#[test]
fn files_of_other_kinds_are_told_by_what_they_are_or_by_the_nearest_tool_and_what_is_missing() {
    for (name, bytes, due) in FILES {
        let text = String::from_utf8_lossy(bytes);
        assert!(importers::knowing(&importers::as_printed(&text)).is_empty(), "{name} is known");
        let (why, hint) = unknown(bytes, &text);
        assert!(format!("{why}; {hint}").contains(due), "{name}: {why}; {hint}");
        assert!(!hint.is_empty() && !why.contains("cut short"), "{name}: {why}");
    }
    // What people paste of a machine is read by another command.
    let pasted = include_str!("../../../../tests/fixtures/sys/pasted/zpool-status-v3.txt");
    let (why, hint) = unknown(pasted.as_bytes(), pasted);
    assert!(why.contains("zpool status") && hint.contains("inspect --root"), "{why}; {hint}");
    let mut archive = vec![0; 512];
    archive[257..262].copy_from_slice(b"ustar");
    assert!(unknown(&archive, "").1.contains("tar -xf"));
}
