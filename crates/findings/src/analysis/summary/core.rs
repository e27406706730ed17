//! The figures that every evaluation of files has, so that any two can be held against each other.

use super::{SummaryFigure, Unit, candidates, caveat, remark};
use crate::analysis::curve::CellReplicates;
use crate::analysis::fastest::Fastest;
use base::stats::Estimate;
use base::value::{counted, setting};
use experiment::knob::{self, Access};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures;

/// One of them.
pub struct CoreFigure {
    /// In JSON.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What its loads do.
    pub accesses: &'static [Access],
    /// Bytes of one I/O, in the core set.
    pub block_bytes: u64,
    /// Loads of no smaller blocks are taken for it where that one was not run, bytes.
    pub least_bytes: u64,
    /// Loads of no larger blocks, likewise.
    pub most_bytes: u64,
    /// I/Os in flight, in the core set.
    pub depth: u64,
    /// Whether each of its writes is made durable by itself.
    pub synced: bool,
    take: Take,
}

/// What is taken of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Take {
    Throughput,
    /// Bytes over the time until all were on the device.
    Durable,
    Iops,
    /// Blocks over the time until all were on the device.
    DurableIops,
    /// The time of one, with one at a time.
    Latency,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const READS: &[Access] = &[Access::Read];
const WRITES: &[Access] = &[Access::Rewrite, Access::Write];
const RANDOM_READS: &[Access] = &[Access::RandomRead];
const RANDOM_WRITES: &[Access] = &[Access::RandomWrite];

const OF_STREAMS: CoreFigure = CoreFigure {
    name: "",
    label: "",
    about: "",
    accesses: &[],
    block_bytes: MIB,
    least_bytes: 64 * KIB,
    most_bytes: u64::MAX,
    depth: 8,
    synced: false,
    take: Take::Throughput,
};

const OF_BLOCKS: CoreFigure = CoreFigure {
    block_bytes: 4 * KIB,
    least_bytes: 4 * KIB,
    most_bytes: 4 * KIB,
    depth: 32,
    take: Take::Iops,
    ..OF_STREAMS
};

/// In the order of the first screen.
pub const CORE: &[CoreFigure] = &[
    CoreFigure {
        name: "sequential_read",
        label: "read",
        about: "Reading in order, 1 MiB at a time, 8 in flight",
        accesses: READS,
        ..OF_STREAMS
    },
    CoreFigure {
        name: "sequential_write",
        label: "write",
        about: "Writing over in order, 1 MiB at a time, 8 in flight, until all is on the device",
        accesses: WRITES,
        take: Take::Durable,
        ..OF_STREAMS
    },
    CoreFigure {
        name: "random_read_4k",
        label: "4K read",
        about: "Reading 4 KiB anywhere, 32 in flight",
        accesses: RANDOM_READS,
        ..OF_BLOCKS
    },
    CoreFigure {
        name: "random_write_4k",
        label: "4K write",
        about: "Writing 4 KiB over anywhere, 32 in flight, until all is on the device",
        accesses: RANDOM_WRITES,
        take: Take::DurableIops,
        ..OF_BLOCKS
    },
    CoreFigure {
        name: "read_latency_4k",
        label: "latency",
        about: "The time of one read of 4 KiB, one at a time: the median, and 99 of 100",
        accesses: RANDOM_READS,
        depth: 1,
        take: Take::Latency,
        ..OF_BLOCKS
    },
    CoreFigure {
        name: "commit_latency_4k",
        label: "commit",
        about: "The time of one write of 4 KiB and its fdatasync, one at a time",
        accesses: RANDOM_WRITES,
        depth: 1,
        synced: true,
        take: Take::Latency,
        ..OF_BLOCKS
    },
];

impl CoreFigure {
    /// The figure of a campaign; `None` where it has no such load.
    pub fn compute(
        &self,
        cells: &[CellReplicates<'_>],
        computed: &[figures::Cell],
    ) -> Option<SummaryFigure> {
        let loads: Vec<&CellReplicates<'_>> =
            cells.iter().filter(|cell| self.takes(cell)).collect();
        let exact: Vec<&CellReplicates<'_>> =
            loads.iter().copied().filter(|it| self.is(it)).collect();
        let among = if exact.is_empty() { loads } else { exact };
        if self.take == Take::Latency {
            return self.latency(&among, computed);
        }
        let among = candidates(&among, self.rate());
        let found = Fastest::by_rate(&among, self.rate())?;
        let table = computed.iter().find(|cell| cell.settings == *found.cell.settings);
        // What was no choice is the figure of the tables.
        let own = table.filter(|_| among.len() == 1);
        let own = own.and_then(|cell| cell.figures.get(self.rate()).copied());
        let estimate = own.unwrap_or(found.estimate).times(self.factor(found.cell));
        let values = found.cell.values(self.rate());
        let values = values.into_iter().map(|value| value * self.factor(found.cell));
        Some(self.figure(found.cell, estimate, values.collect(), among.len()))
    }

    /// Whether a load is of its kind: measured around the page cache, or cold.
    fn takes(&self, cell: &CellReplicates<'_>) -> bool {
        let settings = cell.settings;
        let block = settings.get(knob::ACCESS).is_some().then(|| settings.get(knob::BLOCK_SIZE));
        let access = settings.get(knob::ACCESS);
        let of_kind = access.is_some_and(|access| self.accesses.contains(&access));
        let of_size = block.is_some_and(|it| (self.least_bytes..=self.most_bytes).contains(&it));
        let warm = !settings.get(knob::DIRECT) && !settings.get(knob::COLD);
        let synced = settings.find(knob::FSYNC) == Some("every");
        let writes = settings.writes();
        of_kind
            && of_size
            && !settings.is_network()
            && !(settings.only_reads() && warm)
            && (!writes || synced == self.synced)
            && (self.take != Take::Latency || self.one_at_a_time(cell))
    }

    fn one_at_a_time(&self, cell: &CellReplicates<'_>) -> bool {
        (cell.settings.get(knob::STREAMS), cell.settings.get(knob::QUEUE_DEPTH)) == (1, 1)
    }

    /// Whether it is the very load of the core set.
    fn is(&self, cell: &CellReplicates<'_>) -> bool {
        let settings = cell.settings;
        settings.get(knob::BLOCK_SIZE) == self.block_bytes
            && settings.get(knob::QUEUE_DEPTH) == self.depth
            && settings.get(knob::STREAMS) == 1
            && settings.get(knob::ACCESS) == self.accesses.first().copied()
    }

    fn rate(&self) -> &'static str {
        match self.take {
            Take::Throughput => figure_names::THROUGHPUT,
            Take::Durable | Take::DurableIops => figure_names::DURABLE_THROUGHPUT,
            Take::Iops => figure_names::IOPS,
            Take::Latency => figure_names::LATENCY_P50,
        }
    }

    /// What its rate is taken by.
    fn factor(&self, cell: &CellReplicates<'_>) -> f64 {
        match self.take {
            Take::DurableIops => 1.0 / cell.settings.number(knob::BLOCK_SIZE),
            _ => 1.0,
        }
    }

    fn latency(
        &self,
        among: &[&CellReplicates<'_>],
        computed: &[figures::Cell],
    ) -> Option<SummaryFigure> {
        let found = among.iter().find_map(|cell| {
            let table = computed.iter().find(|it| it.settings == *cell.settings)?;
            Some((*cell, table, *table.figures.get(figure_names::LATENCY_P50)?))
        });
        let (cell, table, estimate) = found?;
        let of = |record: &&Record| {
            Some(figures::standing(record).get(figure_names::LATENCY_P50)?.value)
        };
        let values = cell.records.iter().filter_map(of).collect();
        let mut figure = self.figure(cell, estimate, values, 1);
        figure.p99 = table.figures.get(figure_names::LATENCY_P99).copied();
        Some(figure)
    }

    fn figure(
        &self,
        cell: &CellReplicates<'_>,
        estimate: Estimate,
        values: Vec<f64>,
        among: usize,
    ) -> SummaryFigure {
        let (low, high) =
            values.iter().fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(*it), b.max(*it)));
        SummaryFigure {
            name: self.name.to_owned(),
            label: self.label.to_owned(),
            unit: match self.take {
                Take::Throughput | Take::Durable => Unit::BytesPerSecond,
                Take::Iops | Take::DurableIops => Unit::Iops,
                Take::Latency => Unit::Nanoseconds,
            },
            estimate,
            p99: None,
            load: self.load(cell, among),
            remark: match self.take {
                Take::Durable | Take::DurableIops => remark(cell),
                _ => String::new(),
            },
            caveat: caveat(cell),
            range: (low, high),
            trials: cell.evidence(),
        }
    }

    /// What tells its load from others.
    fn load(&self, cell: &CellReplicates<'_>, among: usize) -> String {
        let settings = cell.settings;
        let mut parts = Vec::new();
        match (self.take, settings.get(knob::STREAMS)) {
            (Take::Latency, _) if self.synced => parts.push("4K and fdatasync".to_owned()),
            (Take::Latency, _) => parts.push("one 4K read".to_owned()),
            (_, 1) => parts.push(format!("depth {}", settings.get(knob::QUEUE_DEPTH))),
            (_, streams) => {
                parts.push(counted(streams, "stream"));
                let depth = settings.get(knob::QUEUE_DEPTH);
                parts.extend((depth > 1).then(|| format!("depth {depth}")));
            }
        }
        if settings.get(knob::BLOCK_SIZE) != self.block_bytes {
            parts.push(format!("{} blocks", setting(settings.value(knob::BLOCK_SIZE))));
        }
        if self.take != Take::Latency && !settings.get(knob::DIRECT) {
            parts.push("through memory".to_owned());
        }
        if matches!(self.take, Take::Durable | Take::DurableIops) {
            parts.push("durable".to_owned());
        }
        if among > 1 {
            parts.push(format!("best of {among}"));
        }
        parts.join(", ")
    }
}
