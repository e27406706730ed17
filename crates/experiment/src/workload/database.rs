//! Transactions, each of which must outlive a power cut.

use super::Workload;

pub const SQLITE: Workload = Workload {
    name: "sqlite",
    about: "Transactions of a bank on SQLite, each made durable (TPC-B's profile)",
    engines: &["database"],
    settings: &[("warm-up", "2s")],
};
