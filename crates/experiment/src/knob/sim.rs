//! The planted truth of the simulated server (`--engine sim`).

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Bytes, BytesPerSecond, Nanoseconds, Number};
use super::{Knob, own};
use base::value::Domain;

pub const SIM_CAPACITY: Knob<BytesPerSecond> = own(
    "sim-capacity",
    Domain::BytesPerSecond,
    "1000MB/s",
    "What the simulated device delivers at most, all streams together",
);
pub const SIM_STREAM_RATE: Knob<BytesPerSecond> = own(
    "sim-stream-rate",
    Domain::BytesPerSecond,
    "250MB/s",
    "What one stream can get at most; the knee lies at capacity / this",
);
pub const SIM_SERVICE_TIME: Knob<Nanoseconds> = own(
    "sim-service-time",
    Domain::Duration { min_ns: 0, max_ns: 60_000_000_000 },
    "100us",
    "Fixed time of each operation before its bytes flow",
);
pub const SIM_COLLAPSE: Knob<Number> = own(
    "sim-collapse",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "Share of the capacity lost for each stream beyond the knee",
);
pub const SIM_CONTENTION: Knob<Number> = own(
    "sim-contention",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "Share of their work that streams do one after another (Universal Scalability Law)",
);
pub const SIM_COHERENCY: Knob<Number> = own(
    "sim-coherency",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "What each pair of streams costs, as a share of the work of one (the same law)",
);
pub const SIM_INEQUALITY: Knob<Number> = own(
    "sim-inequality",
    Domain::Number { min: 1.0, max: 100.0 },
    "1",
    "The fastest stream's share of the capacity over the slowest's",
);
pub const SIM_NOISE: Knob<Number> = own(
    "sim-noise",
    Domain::Number { min: 0.0, max: 1.0 },
    "0.02",
    "Coefficient of variation of the capacity from one 10 ms to the next",
);
pub const SIM_CORRELATION: Knob<Number> = own(
    "sim-correlation",
    Domain::Number { min: 0.0, max: 0.99 },
    "0",
    "Autocorrelation of that noise from one 10 ms to the next (AR(1) phi)",
);
pub const SIM_CACHE: Knob<Bytes> = own(
    "sim-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "4GiB",
    "Size of the simulated page cache",
);
pub const SIM_CACHE_RATE: Knob<BytesPerSecond> = own(
    "sim-cache-rate",
    Domain::BytesPerSecond,
    "8000MB/s",
    "What the simulated page cache delivers, all streams together",
);
pub const SIM_PROCESSOR_CACHE: Knob<Bytes> = own(
    "sim-processor-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "0B",
    "Size of a cache before the page cache, for working sets that both hold whole",
);
pub const SIM_PROCESSOR_CACHE_RATE: Knob<BytesPerSecond> = own(
    "sim-processor-cache-rate",
    Domain::BytesPerSecond,
    "20000MB/s",
    "What that cache delivers, all streams together",
);
pub const SIM_DEVICE_CACHE: Knob<Bytes> = own(
    "sim-device-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "0B",
    "Size of a cache behind the kernel, which answers a second pass at the cache's rate",
);
pub const SIM_TRIAL_NOISE: Knob<Number> = own(
    "sim-trial-noise",
    Domain::Number { min: 0.0, max: 1.0 },
    "0",
    "Coefficient of variation of everything's speed from one trial to the next",
);
pub const SIM_WRITE_CACHE: Knob<Bytes> = own(
    "sim-write-cache",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "0B",
    "Size of a write-back cache in the device: direct writes are accepted before they are durable",
);
pub const SIM_BUS: Knob<BytesPerSecond> = own(
    "sim-bus",
    Domain::BytesPerSecond,
    "1000000MB/s",
    "What the devices of several directories deliver at most, all together",
);
