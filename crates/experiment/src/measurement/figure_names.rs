//! (pure) The names of the figures that many places ask for, as they stand in the JSON contract and
//! in SQL. Those of one load alone are named where they are computed.

/// Bytes delivered per second while all streams ran.
pub const THROUGHPUT: &str = "throughput_bytes_per_s";
/// Timed bytes over the time of the last timed finish, per second.
pub const NAIVE_THROUGHPUT: &str = "naive_throughput_bytes_per_s";
/// Written bytes over the time until the kernel had accepted all of them, per second.
pub const ACCEPTED_THROUGHPUT: &str = "accepted_throughput_bytes_per_s";
/// Written bytes over the time until all were on the device, per second.
pub const DURABLE_THROUGHPUT: &str = "durable_throughput_bytes_per_s";
/// Reads and writes per second.
pub const IOPS: &str = "iops";
/// Operations on names per second, of any kind.
pub const OPS_PER_S: &str = "ops_per_s";
/// Transactions per second.
pub const TRANSACTIONS_PER_S: &str = "transactions_per_s";
/// Mean latency, ns.
pub const LATENCY_MEAN: &str = "latency_ns_mean";
/// Median latency, ns.
pub const LATENCY_P50: &str = "latency_ns_p50";
/// 99th percentile of latency, ns.
pub const LATENCY_P99: &str = "latency_ns_p99";
