//! Bytes that stand in a store or in files of ours, and SQL.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use super::lines::computed;
use base::hash::Checksum;
use base::pattern::block::{Format, Identity, borne};
use base::pattern::header;
use base::pattern::judge::{Evidence, judge};
use engines::engine::load::protocol::{read_histogram, write_histogram};
use experiment::knob::{EngineKind, Settings};
use experiment::measurement::{Measurement, Outcome, Record, figures, latency, latency_histogram};
use experiment::plan::Trial;
use experiment::workload::netcdf::header::{Dimension, Header, Variable};
use facts::counters::series::{Column, ColumnKind, Series};
use host::sys::unpacked::Unpacked;
use store::derived::{light, packed};
use store::query::{Bounds, Query};
use store::{Store, codec};

/// Blocks of ours are checked in this form.
const FORMAT: Format = Format { block_bytes: 512, checksum: Checksum::Crc32c };

/// More numbers than a trial may have are no trial's.
const NUMBERS_MAX: usize = 1 << 20;

/// Samples.
pub fn series() -> Vec<Vec<u8>> {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, values: vec![1, 5, 9] };
    let columns =
        vec![column("read_bytes", ColumnKind::Counter), column("in_flight", ColumnKind::Gauge)];
    let at_ns = vec![-1, 100_000_000, 200_000_000];
    vec![codec::encode(&Series { source: "load".to_owned(), at_ns, columns })]
}

/// Reads samples, and what is asked of them. The bytes are read packed, and packed once more: a
/// flipped bit of what is deflated rarely gets far.
pub fn read_series(bytes: &[u8]) {
    for blob in [bytes.to_vec(), codec::packed(bytes)] {
        let Some(series) = codec::decode(&blob, NUMBERS_MAX) else { continue };
        let _ = (series.growth("read_bytes", 0, 200_000_000), series.read_at("in_flight", &[5]));
        computed(Measurement {
            counters: vec![series.clone()],
            load: series,
            ..Default::default()
        });
    }
}

/// Latencies.
pub fn histograms() -> Vec<Vec<u8>> {
    let mut histogram = latency_histogram();
    (1..40).for_each(|power| histogram.saturating_record(1 << power));
    vec![write_histogram(&histogram).unwrap_or_default().into_bytes()]
}

/// Reads latencies.
pub fn histogram(bytes: &[u8]) {
    let Ok(histogram) = read_histogram(&String::from_utf8_lossy(bytes)) else { return };
    let _ = (histogram.value_at_quantile(0.99), histogram.mean());
    for step in histogram.iter_recorded().take(100) {
        let _ = latency::class(step.value_iterated_to());
    }
}

/// Records without their samples.
pub fn records() -> Vec<Vec<u8>> {
    let outcomes = [
        Outcome::Failed("no space left".to_owned()),
        Outcome::Done(Box::default()),
        Outcome::Interrupted,
    ];
    let pack = |outcome: Outcome| {
        let trial = Trial {
            number: 1,
            replicate: 1,
            group: "a".to_owned(),
            settings: Settings::defaults("file"),
            first_file: 0,
            seed: 9,
            planned: Some(4),
        };
        let record = Record::new(trial, outcome).light();
        let digest = record.outcome.measurement().and_then(|it| it.digest.as_deref());
        let bytes = light::pack(&record, digest, |_| Ok::<u32, Infallible>(1));
        bytes.ok().flatten().unwrap_or_default()
    };
    let mut all: Vec<Vec<u8>> = outcomes.into_iter().map(pack).collect();
    let values =
        vec![(1, packed::PackedValue::Integer(5)), (7, packed::PackedValue::Text("é".into()))];
    all.push(packed::pack(values));
    all
}

/// Reads such a record, and figures by name.
pub fn record(bytes: &[u8]) {
    let names = HashMap::from([(1, figures::Name::from("throughput_bytes_per_s"))]);
    if let Some(record) = light::unpack(bytes, Settings::defaults("file"), &names) {
        let _ = figures::figures(&record);
    }
    for name in [0, 1, 7, u32::MAX] {
        let _ = packed::unpack(bytes, name);
    }
}

/// Settings of every engine.
pub fn settings() -> Vec<Vec<u8>> {
    let json = |engine: &&EngineKind| {
        serde_json::to_vec(&Settings::defaults(engine.name)).unwrap_or_default()
    };
    experiment::knob::ENGINES.iter().map(json).collect()
}

/// Reads settings.
pub fn read_settings(bytes: &[u8]) {
    let Ok(json) = serde_json::from_slice(bytes) else { return };
    for engine in ["file", "net", "command"] {
        let settings = Settings::from_json(engine, &json);
        for (_, value) in settings.iter() {
            let _ = value.to_string();
        }
    }
}

/// Beginnings of netCDF files.
pub fn headers() -> Vec<Vec<u8>> {
    let dimension = |name: &str, length| Dimension { name: name.to_owned(), length };
    let header = |wide| Header {
        wide,
        records: 3,
        dimensions: vec![dimension("time", 0), dimension("x", 7)],
        variables: vec![Variable { name: "t".to_owned(), dimensions: vec![0, 1], begin: 0 }],
    };
    [false, true].map(|wide| header(wide).laid_out().encode()).to_vec()
}

/// Reads the beginning of a netCDF file, and joins such.
pub fn header(bytes: &[u8]) {
    let Ok(header) = Header::parse(bytes) else { return };
    let _ = (header.record_bytes(), header.joined(3));
    for variable in &header.variables {
        let _ = (header.piece_bytes(variable), header.pieces(variable));
    }
    let _ = header.laid_out();
}

/// Blocks that say who they are.
pub fn blocks() -> Vec<Vec<u8>> {
    let mut block = vec![0; FORMAT.block_bytes];
    let name = Identity { campaign: 7, file: 1 << 32, offset: 4096, generation: 2 };
    FORMAT.write(&mut block, name, 9);
    vec![block]
}

/// Names what is wrong with a block.
pub fn block(bytes: &[u8]) {
    let expected = Identity { campaign: 7, file: 1 << 32, offset: 4096, generation: 3 };
    let _ = (borne(bytes), FORMAT.bears(bytes), header::Header::read(bytes));
    let _ = judge(&Evidence {
        format: FORMAT,
        expected,
        found: bytes,
        named: None,
        again: None,
        oldest_generation: 0,
    });
}

/// SQL, to a store with nothing in it.
pub fn sql(bytes: &[u8]) {
    thread_local! { static STORE: Option<(Unpacked, PathBuf)> = empty(); }
    let bounds = Bounds { time: Duration::from_millis(200), rows: 100 };
    STORE.with(|store| {
        let Some((_, path)) = store else { return };
        if let Ok(query) = Query::open_read_only(path) {
            let _ = query.ask(&String::from_utf8_lossy(bytes), bounds);
        }
    });
}

/// A store that is gone with the folder that it lies in.
fn empty() -> Option<(Unpacked, PathBuf)> {
    let folder = Unpacked::create().ok()?;
    let path = folder.root().join("empty.db");
    Store::open(&path).ok()?;
    Some((folder, path))
}
