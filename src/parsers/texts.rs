//! Texts that people and other tools write.

use crate::cli::files;
use base::checklist::{self, Sum};
use base::value;
use engines::engine::command::{extract, fill};
use engines::engine::load::cpus::Pinning;
use engines::engine::replay::program::Program;
use engines::engine::replay::{loadfile, wildcard};
use experiment::knob::{KNOBS, Settings};
use experiment::measurement::figures;
use experiment::{plan, published};
use importers::IMPORTERS;

/// As a command line names figures.
pub const RULES: &[&str] = &[
    "said_bytes_per_s=/jobs/0/read/bw_bytes",
    "rate_gb_per_s=([0-9.]+) GB/s$",
    "reread_kb_per_s=^ +4096 +64(?: +\\d+){3} +(\\d+)",
];

/// As dbench writes them.
pub const LOADFILES: &[&str] = &[
    "# recorded\nMkdir \"\\clients\\client1\" NT_STATUS_OK\n\
     NTCreateX \"\\clients\\client1\\~dmtmp\\a.doc\" 0x44 2 9938 NT_STATUS_OK\n\
     WriteX 9938 0 65535 65535 NT_STATUS_OK\nReadX 9938 0 65535 65535 NT_STATUS_OK\n\
     LockX 9938 0 1 NT_STATUS_OK\nUnlockX 9938 0 1 NT_STATUS_OK\nFlush 9938 NT_STATUS_OK\n\
     QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK\nSET_FILE_INFORMATION 9938 1004 NT_STATUS_OK\n\
     Close 9938 NT_STATUS_OK\n",
    "1.250000 QUERY_PATH_INFORMATION \"\\clients\\client1\\a\" 1005 \
     NT_STATUS_OBJECT_NAME_NOT_FOUND\nFIND_FIRST \"\\clients\\client1\\*\" 260 1366 1 \
     NT_STATUS_OK\nQUERY_FS_INFORMATION 259 NT_STATUS_OK\n\
     Rename \"\\clients\\client1\\a\" \"\\clients\\client1\\b\" NT_STATUS_OK\n\
     Unlink \"\\clients\\client1\\b\" 0x16 NT_STATUS_OK\nRmdir \"\\clients\\client1\\d\" *\n\
     Deltree \"\\clients\\client1\" NT_STATUS_OK\n",
];

/// As knobs, options and arguments take them.
pub const VALUES: &[&str] = &[
    "4KiB",
    "1.5GiB",
    "200TB",
    "40Gb/s",
    "5GB/s",
    "1h",
    "250ms",
    "0-3,8,10-11",
    "zipf:1.2",
    "10s",
    "pass",
    "steady",
    "narrow:5%",
    "100MiB/s",
    "as-is",
    "true",
    "read,write",
    "server2:7411",
    "[fe80::1%eth0]:7",
    "card=areca-16",
    "1,5GiB",
    "none,0-3,spread",
    "300USD",
    "70%",
];

/// As people ask a store.
pub const STATEMENTS: &[&str] = &[
    "SELECT workload, avg(throughput_bytes_per_s) FROM trials GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) SELECT i FROM n",
    "SELECT name FROM pragma_table_info('trial') WHERE name LIKE '%a%' -- x",
];

/// As plans give them to the engine `command`.
pub const COMMANDS: &[&str] = &[
    "fio --name=x --directory={directory} --bs={block-size} --size=1G",
    "sh -c 'dd if=/dev/zero of={directory}/{copy} bs=1M count=1' \"a b\" {{}} \\x",
];

/// As papers print them.
pub const QUANTITIES: &[&str] =
    &["813 MiByte/s", "US$1.5K", "1/3", "2e13", "3:25.5", "97%", "12 cents/GB", "one-third"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What other tools printed, to the figures that a campaign would have.
pub fn import(bytes: &[u8]) {
    let Ok(records) = files::of_text(bytes.to_vec()) else { return };
    for record in &records {
        let _ = figures::figures(record);
    }
}

/// The same, to every importer: its own output may be in there as well.
pub fn importers(bytes: &[u8]) {
    let text = text(bytes);
    let _ = importers::knowing(&text);
    for importer in IMPORTERS {
        let _ = importer.read(&text);
    }
}

/// Rules of ours on what programs print.
pub fn extract(bytes: &[u8]) {
    let text = text(bytes);
    for rule in RULES {
        if let Ok(extract) = extract::parse(rule) {
            let _ = extract.find(&["", &text]);
        }
    }
}

/// Rules of others.
pub fn rule(bytes: &[u8]) {
    if let Ok(extract) = extract::parse(&text(bytes)) {
        let _ = extract.find(&["{\"jobs\": [{\"read\": {\"bw_bytes\": 1e3}}]}\n 17.6 GB/s\n"]);
    }
}

/// A plan, to its first cells and trials, and its identity.
pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for engine in [None, Some("sim")] {
        let Ok(plan) = plan::file::read(text, "plan.toml", engine) else { continue };
        for cell in plan.cells().take(20) {
            let _ = plan.settings(&cell);
        }
        let _ = plan.identity();
        if plan.combinations() <= 1000 {
            let _ = plan.trials(1).take(50).count();
        }
    }
}

/// A list of checksums.
pub fn checklist(bytes: &[u8]) {
    checklist::parse(bytes).assume(Sum::Sha256);
}

/// A loadfile, to the steps that are replayed.
pub fn loadfile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(program) = loadfile::parse(text).and_then(Program::new) else { return };
    let _ = (program.kinds(), program.paths_of(3));
    for path in program.paths.iter().take(8) {
        let _ = wildcard::fits(path.as_bytes(), b"a.doc");
    }
}

/// A value of every knob, and of arguments that are none.
pub fn values(bytes: &[u8]) {
    let text = text(bytes);
    for knob in KNOBS {
        if let Ok(value) = knob.domain.parse(&text) {
            let _ = (value.to_string(), value::setting(&value));
        }
        let _ = knob.domain.levels(&text);
    }
    let _ = (value::parse_bytes(&text), value::parse_duration_ns(&text));
    let _ = (engines::fleet::PeerAddress::parse(&text), engines::fleet::Token::new(&text));
    let _ = Pinning::parse(&text);
    let _ = value::parse_price(&text);
    if let Some(raid) = facts::layout::filesystem::profiles(&text) {
        let _ = raid.0.len();
    }
}

/// A command, filled in.
pub fn command(bytes: &[u8]) {
    let text = text(bytes);
    let here =
        fill::Substitutions { directory: "/srv/a b", copy: 3, cpus: 8, brickyard: "/opt/by" };
    let _ = (fill::words(&text, &Settings::defaults("command"), here), fill::names_copy(&text));
}

/// A figure as a paper prints it.
pub fn quantity(bytes: &[u8]) {
    let _ = published::value(&text(bytes));
}
