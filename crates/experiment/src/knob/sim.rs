//! The planted truth of the simulated server (`--engine sim`).

use super::{Knob, own};
use base::value::Domain;

pub const CAPACITY: Knob = own(
    &["sim"],
    "sim-capacity",
    Domain::BytesPerSecond,
    "1000MB/s",
    "What the simulated device delivers at most, all streams together",
);
pub const STREAM_RATE: Knob = own(
    &["sim"],
    "sim-stream-rate",
    Domain::BytesPerSecond,
    "250MB/s",
    "What one stream can get at most; the knee lies at capacity / this",
);
pub const SERVICE_TIME: Knob = own(
    &["sim"],
    "sim-service-time",
    Domain::Duration { min_ns: 0, max_ns: 60_000_000_000 },
    "100us",
    "Fixed time of each operation before its bytes flow",
);
pub const COLLAPSE: Knob = own(
    &["sim"],
    "sim-collapse",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "Share of the capacity lost for each stream beyond the knee",
);
pub const CONTENTION: Knob = own(
    &["sim"],
    "sim-contention",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "Share of their work that streams do one after another (Universal Scalability Law)",
);
pub const COHERENCY: Knob = own(
    &["sim"],
    "sim-coherency",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "What each pair of streams costs, as a share of the work of one (the same law)",
);
pub const INEQUALITY: Knob = own(
    &["sim"],
    "sim-inequality",
    Domain::Number { min: 1.0, max: 100.0 },
    "1",
    "The fastest stream's share of the capacity over the slowest's",
);
pub const NOISE: Knob = own(
    &["sim"],
    "sim-noise",
    Domain::Number { min: 0.0, max: 1.0 },
    "0.02",
    "Coefficient of variation of the capacity from one 10 ms to the next",
);
pub const CORRELATION: Knob = own(
    &["sim"],
    "sim-correlation",
    Domain::Number { min: 0.0, max: 0.99 },
    "0",
    "Autocorrelation of that noise from one 10 ms to the next (AR(1) phi)",
);
pub const CACHE: Knob = own(
    &["sim"],
    "sim-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "4GiB",
    "Size of the simulated page cache",
);
pub const CACHE_RATE: Knob = own(
    &["sim"],
    "sim-cache-rate",
    Domain::BytesPerSecond,
    "8000MB/s",
    "What the simulated page cache delivers, all streams together",
);
pub const PROCESSOR_CACHE: Knob = own(
    &["sim"],
    "sim-processor-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "0B",
    "Size of a cache before the page cache, for working sets that both hold whole",
);
pub const PROCESSOR_CACHE_RATE: Knob = own(
    &["sim"],
    "sim-processor-cache-rate",
    Domain::BytesPerSecond,
    "20000MB/s",
    "What that cache delivers, all streams together",
);
pub const DEVICE_CACHE: Knob = own(
    &["sim"],
    "sim-device-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "0B",
    "Size of a cache behind the kernel, which answers a second pass at the cache's rate",
);
pub const TRIAL_NOISE: Knob = own(
    &["sim"],
    "sim-trial-noise",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "Coefficient of variation of everything's speed from one trial to the next",
);
pub const WRITE_CACHE: Knob = own(
    &["sim"],
    "sim-write-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "0B",
    "Size of a write-back cache in the device: direct writes are accepted before they are durable",
);
pub const BUS: Knob = own(
    &["sim"],
    "sim-bus",
    Domain::BytesPerSecond,
    "1000000MB/s",
    "What the devices of several directories deliver at most, all together",
);
