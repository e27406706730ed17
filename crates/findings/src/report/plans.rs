//! What stands first in the report of each plan that ships: its own answer, and no other's.

use super::fixture::campaign_of;
use super::{Input, screen};
use crate::analysis::summary::Unit;
use experiment::knob::engine::Does;
use experiment::knob::{self, Settings};
use experiment::measurement::integrity::Integrity;
use experiment::measurement::programs::{Programs, Run};
use experiment::measurement::{
    Amount, Evidence, Measurement, Operation, Outcome, Record, Window, latency_histogram,
};
use experiment::plan::{Trial, builtin, file};

const SECOND: u64 = 1_000_000_000;

/// What a trial of these settings may have measured, by what its engine counts.
fn measured(settings: &Settings, replicate: u32) -> Measurement {
    let more = 1_000_000 * u64::from(replicate);
    let end_ns = 10 * SECOND + more;
    let bytes = 4 << 30;
    let mut measurement = Measurement { elapsed_ns: end_ns, ..Measurement::default() };
    let is_program = settings.has(knob::COMMAND) || settings.has(knob::CONCAT_WITH);
    let reads = Amount { read_bytes: bytes, read_ops: 4096, ..Amount::default() };
    let writes = Amount { write_bytes: bytes, write_ops: 4096, ..Amount::default() };
    let transacts = ["mail", "database", "pgbench"].contains(&settings.engine());
    let done = match () {
        () if transacts || settings.has(knob::OPERATION) => {
            Amount { metadata_ops: 90_000, ..Amount::default() }
        }
        () if settings.only_writes() || settings.engine() == "flush-test" => writes,
        () => reads,
    };
    measurement.window = Some(Window { start_ns: 0, end_ns, done });
    if transacts {
        let mut histogram = latency_histogram();
        histogram.saturating_record_n(100_000, done.metadata_ops);
        measurement.latency = vec![(Operation::Transaction, histogram)];
    }
    if is_program {
        let run = Run { copy: 1, timed: true, ended_ns: end_ns, exit: Some(0), ..Run::default() };
        measurement.programs = Some(Programs { runs: vec![run], ..Programs::default() });
    }
    if settings.does(Does::ChecksAll) {
        measurement.integrity = Some(Integrity {
            checksum: "crc32c".into(),
            block_bytes: 4096,
            checked_bytes: bytes,
            ..Integrity::default()
        });
    }
    measurement.evidence = Evidence {
        delivered: done,
        process_read_bytes: Some(done.read_bytes),
        device_read_bytes: Some(done.read_bytes),
        devices: vec!["sda".into()],
        filesystem: "ext4".into(),
        resident_before_bytes: Some(0),
        file_bytes: bytes,
        process_io_reliable: true,
        ..Evidence::default()
    };
    measurement
}

/// Three trials of the first cell of each load of a plan.
fn records(text: &str, name: &str) -> Vec<Record> {
    let plan = file::read(text, name, None).unwrap();
    let mut records: Vec<Record> = Vec::new();
    for (number, load) in plan.loads.iter().enumerate() {
        let cell = plan.cells().find(|cell| cell.load == number).unwrap();
        let settings = plan.settings(&cell);
        for replicate in 1..=3 {
            let trial = Trial {
                number: records.len() as u32 + 1,
                replicate,
                group: load.name.clone(),
                settings: settings.clone(),
                seed: 1,
                first_file: 0,
                planned: None,
            };
            let measurement = measured(&settings, replicate);
            records.push(Record::new(trial, Outcome::Done(Box::new(measurement))));
        }
    }
    records
}

/// How the first sentence of each plan begins, and its first figure with its unit; of `integrity`
/// no figure is worth a line beside what it says.
const HEADLINES: &[(&str, &str, &str)] = &[
    ("streams", "The device delivers ", "read bytes"),
    ("readahead", "The device delivers ", "read bytes"),
    ("raid-filesystem", "The device delivers ", "read bytes"),
    ("brick", "The device delivers ", "read bytes"),
    ("integrity", "Every byte that was checked came back as it was written: ", ""),
    ("flush-test", "The device accepts ", "acknowledged bytes"),
    ("soak", "The device delivers ", "random-read bytes"),
    ("build", "`make --silent ", "compile time"),
    ("concat", "Joining large files takes ", "concatenate time"),
    ("fileserver", "No figure is surely the device's. ", "replay bytes"),
    ("iozone", "With 1 stream, ", "iozone-random- bytes"),
    ("bonnie", "Operations per second at most: create ", "create operations"),
    ("random-size", "With 1 stream, random reading (direct, 4 KiB, depth 1), ", "4K read iops"),
    ("database", "Operations per second at most: transactions ", "sqlite transactions"),
    ("mail", "The most was ", "mailbox transactions"),
    ("memory", "The device delivers ", "random-read bytes"),
    ("network", "From memory to memory the most was ", "tcp-stream bits"),
    ("network-tuning", "From memory to memory the most was ", "tcp-stream bits"),
    ("disk-to-network", "From files over the network the most was ", "file-stream, d bits"),
    ("multi-nic", "From memory to memory the most was ", "udp-stream bits"),
    ("nfs", "The device delivers ", "read bytes"),
    ("nfs-tuning", "The device delivers ", "read bytes"),
    ("file-servers", "Clients get at most: curl from nginx ", "curl from ngin bytes"),
    ("metadata", "Operations per second at most: create ", "create operations"),
];

/// `concat` was headed by "No figure is surely the device's", and the first figure of `build` was
/// how many bytes a second the compiler moved.
#[test]
fn each_plan_that_ships_has_the_headline_that_it_asks_for() {
    let ships: Vec<&str> = builtin::PLANS.iter().map(|plan| plan.name).collect();
    let told: Vec<&str> = HEADLINES.iter().map(|(name, ..)| *name).collect();
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(told), sorted(ships), "each has a line here");
    for built_in in builtin::PLANS {
        let (name, begins, figure) = HEADLINES.iter().find(|it| it.0 == built_in.name).unwrap();
        let records = records(built_in.text, name);
        let mut campaign = campaign_of(Vec::new(), 0).campaign;
        campaign.plan = (*name).to_owned();
        let input = Input::new(&campaign, &records);
        let first = &input.answer[0];
        assert!(first.starts_with(begins), "{name}: {first}");
        let shown = input.summary.figures.first().map_or(String::new(), |figure| {
            let unit = match figure.unit {
                Unit::BytesPerSecond => "bytes",
                Unit::BitsPerSecond => "bits",
                Unit::Iops => "iops",
                Unit::OperationsPerSecond => "operations",
                Unit::TransactionsPerSecond => "transactions",
                Unit::Nanoseconds => "time",
            };
            format!("{} {unit}", figure.label)
        });
        assert_eq!(shown, *figure, "{name}");
        // What was asked and is no figure stands on the first screen, too.
        let screen = screen::body(&input, screen::USUAL, &[]);
        assert_eq!(screen.contains("Every byte"), *name == "integrity", "{screen}");
    }
}
