//! (pure) What tables of operations show that move no bytes, or not for their own sake: how many
//! per second, and never a throughput of nothing.

use super::cells::{self, CellGroup, CellRow};
use base::stats::Estimate;
use base::value;
use experiment::knob;
use experiment::measurement::figure_names;
use experiment::measurement::nfs;

/// Operations over the time until all that they had changed was on the device.
pub const DURABLE_OPS: &str = "durable_ops_per_s";
/// Processor time of the load for each operation.
pub const CPU: &str = "cpu_ns_per_op";

/// One column of a table of operations.
pub struct OperationColumn {
    /// Over it.
    pub head: &'static str,
    /// Its figure.
    pub name: &'static str,
    /// How that is printed.
    pub print: fn(f64) -> String,
}

/// Of datagrams that were sent, those that never arrived.
pub const LOSS: &str = "loss_share";

/// What the devices under files that are sent gave.
pub const DISK: &str = "disk_throughput_bytes_per_s";

/// Whether a group's cells count operations before bytes, or bits that went over a network.
pub fn are_in(group: &CellGroup<'_>) -> bool {
    let is = |row: &CellRow<'_>| {
        row.cell.settings.has(knob::OPERATION)
            || row.cell.figures.contains_key(figure_names::OPS_PER_S)
    };
    group.rows.iter().any(is) || network(group) || nfs(group)
}

/// Whether what is told of a group went over a network.
pub fn network(group: &CellGroup<'_>) -> bool {
    group.rows.iter().any(|row| row.cell.settings.is_network())
}

/// Whether files of a group lay on NFS, and their operations are of bytes.
fn nfs(group: &CellGroup<'_>) -> bool {
    group.rows.iter().any(|row| row.cell.figures.contains_key(nfs::REQUESTS))
}

/// Rates of a file server, and what they cost both ends, as far as that is known here.
fn of_nfs() -> Vec<OperationColumn> {
    let megabytes: fn(f64) -> String = |per_s| value::significant(per_s / 1e6);
    let whole: fn(f64) -> String = |number| value::count(number.round() as u64);
    let column = |head, name, print| OperationColumn { head, name, print };
    vec![
        column("MB/s", figure_names::THROUGHPUT, megabytes),
        column("ops/s", figure_names::IOPS, value::iops),
        column("p50", figure_names::LATENCY_P50, value::duration),
        column("p99", figure_names::LATENCY_P99, value::duration),
        column("READ", "nfs_read_rtt_ns_mean", value::duration),
        column("WRITE", "nfs_write_rtt_ns_mean", value::duration),
        column("retrans", "nfs_retransmissions", whole),
        column("s/GB client", "client_cpu_seconds_per_gb", value::significant),
        column("s/GB server", "server_cpu_seconds_per_gb", value::significant),
        column("intr/s", "interrupts_per_s", whole),
        column("switches/s", "context_switches_per_s", whole),
    ]
}

/// Rates of a network, in decimal bits, and what each end's processors gave for them.
fn of_network() -> Vec<OperationColumn> {
    let gigabits: fn(f64) -> String = |per_s| value::significant(per_s * 8.0 / 1e9);
    let whole: fn(f64) -> String = |number| value::count(number.round() as u64);
    let copied = "zerocopy_copied_share";
    vec![
        OperationColumn { head: "Gb/s", name: figure_names::THROUGHPUT, print: gigabits },
        OperationColumn {
            head: "to peer",
            name: "outgoing_throughput_bytes_per_s",
            print: gigabits,
        },
        OperationColumn {
            head: "from peer",
            name: "incoming_throughput_bytes_per_s",
            print: gigabits,
        },
        OperationColumn { head: "disk", name: DISK, print: gigabits },
        OperationColumn { head: "sent", name: "sent_throughput_bytes_per_s", print: gigabits },
        OperationColumn { head: "msg/s", name: figure_names::IOPS, print: value::iops },
        OperationColumn {
            head: "s/GB out",
            name: "sender_cpu_seconds_per_gb",
            print: value::significant,
        },
        OperationColumn {
            head: "s/GB in",
            name: "receiver_cpu_seconds_per_gb",
            print: value::significant,
        },
        OperationColumn { head: "retrans", name: "retransmits", print: whole },
        OperationColumn { head: "RTT", name: "rtt_ns_mean", print: value::duration },
        OperationColumn { head: "copied", name: copied, print: value::percent },
        OperationColumn { head: "loss", name: LOSS, print: value::percent },
        OperationColumn { head: "by socket", name: "datagrams_dropped_by_socket", print: whole },
        OperationColumn { head: "reordered", name: "datagrams_reordered", print: whole },
        OperationColumn { head: "jitter", name: "jitter_ns_mean", print: value::duration },
        OperationColumn { head: "link 1", name: "link1_throughput_bytes_per_s", print: gigabits },
        OperationColumn { head: "link 2", name: "link2_throughput_bytes_per_s", print: gigabits },
        OperationColumn { head: "link 3", name: "link3_throughput_bytes_per_s", print: gigabits },
        OperationColumn { head: "link 4", name: "link4_throughput_bytes_per_s", print: gigabits },
    ]
}

/// What stands over [`of_machines`].
pub const OF_MACHINES: &str =
    "Processors, interrupts and context switches of this machine, and of the other one (there)";

/// What both machines of a load over a network did meanwhile; where both ends are on one, that one.
pub fn of_machines(group: &CellGroup<'_>) -> Vec<OperationColumn> {
    if !network(group) {
        return Vec::new();
    }
    let whole: fn(f64) -> String = |number| value::count(number.round() as u64);
    let column = |head, name, print| OperationColumn { head, name, print };
    let mut all = vec![
        column("CPU", "cpu_busy_share", value::percent),
        column("intr/s", "interrupts_per_s", whole),
        column("switches/s", "context_switches_per_s", whole),
        column("CPU there", "peer_cpu_busy_share", value::percent),
        column("intr/s there", "peer_interrupts_per_s", whole),
        column("switches/s there", "peer_context_switches_per_s", whole),
    ];
    all.retain(|column| has(group, column));
    all
}

/// Whether one of a group's cells has a column's figure.
fn has(group: &CellGroup<'_>, column: &OperationColumn) -> bool {
    group.rows.iter().any(|row| cells::figure(row.cell, column.name).is_some())
}

/// The columns of a group: those that none of its cells has are left out.
pub fn columns(group: &CellGroup<'_>) -> Vec<OperationColumn> {
    let by_name =
        group.rows.iter().any(|row| row.cell.figures.contains_key(figure_names::OPS_PER_S));
    if network(group) || (nfs(group) && !by_name) {
        let mut all = if network(group) { of_network() } else { of_nfs() };
        all.retain(|column| column.name == figure_names::THROUGHPUT || has(group, column));
        return all;
    }
    let megabytes: fn(f64) -> String = |per_s| value::significant(per_s / 1e6);
    let all = [
        OperationColumn {
            head: "trans/s",
            name: figure_names::TRANSACTIONS_PER_S,
            print: value::iops,
        },
        OperationColumn {
            head: "trans p99",
            name: "transaction_latency_ns_p99",
            print: value::duration,
        },
        OperationColumn { head: "ops/s", name: figure_names::OPS_PER_S, print: value::iops },
        OperationColumn { head: "durable ops/s", name: DURABLE_OPS, print: value::iops },
        OperationColumn { head: "MB/s", name: figure_names::THROUGHPUT, print: megabytes },
        OperationColumn { head: "CPU/op", name: CPU, print: value::duration },
        OperationColumn { head: "p50", name: figure_names::LATENCY_P50, print: value::duration },
        OperationColumn { head: "p99", name: figure_names::LATENCY_P99, print: value::duration },
    ];
    all.into_iter()
        .filter(|column| column.name == figure_names::OPS_PER_S || has(group, column))
        .collect()
}

/// The figure of a column, for people; `-` where there is none.
pub fn cell(row: &CellRow<'_>, column: &OperationColumn) -> String {
    print(cells::figure(row.cell, column.name), column)
}

fn print(estimate: Option<Estimate>, column: &OperationColumn) -> String {
    estimate.map_or("-".to_owned(), |estimate| (column.print)(estimate.value))
}
