//! (pure) The core set as bars: the first chart of a report, and of the scripts.

use super::{Input, cells};
use base::stats::Estimate;
use base::value::{iops, significant};
use experiment::knob::{self, Access};
use experiment::measurement::figure_names;
use experiment::measurement::figures::Cell;

/// A load of the core set, and how it is named beside its bar.
struct CoreLoad {
    label: &'static str,
    accesses: &'static [Access],
    depth: u64,
    streams: u64,
}

/// A panel of bars: loads of the core set that are told in the same unit.
pub struct BarPanel {
    /// What stands above it, with the unit.
    pub title: &'static str,
    /// What a byte per second is of a unit.
    pub unit: f64,
    block_bytes: u64,
    loads: &'static [CoreLoad],
}

const fn read(label: &'static str, depth: u64, streams: u64) -> CoreLoad {
    CoreLoad { label, accesses: &[Access::Read], depth, streams }
}

const fn random_read(label: &'static str, depth: u64) -> CoreLoad {
    CoreLoad { label, accesses: &[Access::RandomRead], depth, streams: 1 }
}

const fn write(label: &'static str, depth: u64) -> CoreLoad {
    CoreLoad { label, accesses: &[Access::Rewrite, Access::Write], depth, streams: 1 }
}

const fn random_write(label: &'static str, depth: u64) -> CoreLoad {
    CoreLoad { label, accesses: &[Access::RandomWrite], depth, streams: 1 }
}

const PANELS: &[BarPanel] = &[
    BarPanel {
        title: "In order, 1 MiB blocks: MB/s",
        block_bytes: 1 << 20,
        unit: 1e-6,
        loads: &[
            read("read, depth 8", 8, 1),
            read("read, depth 1", 1, 1),
            read("read, 8 streams", 1, 8),
            read("read, 60 streams", 1, 60),
            write("write, depth 8", 8),
            write("write, depth 1", 1),
        ],
    },
    BarPanel {
        title: "Anywhere, 4 KiB blocks: IOPS",
        block_bytes: 4 << 10,
        unit: 1.0 / 4096.0,
        loads: &[
            random_read("read, depth 32", 32),
            random_read("read, depth 1", 1),
            random_write("write, depth 32", 32),
            random_write("write, depth 1", 1),
        ],
    },
];

/// One bar.
pub struct Bar {
    /// Beside it.
    pub label: &'static str,
    /// Whether its load writes; then its figure is what was made durable.
    pub writes: bool,
    /// The figure that it shows, as `throughput_bytes_per_s`.
    pub figure: &'static str,
    /// In the panel's unit.
    pub estimate: Estimate,
    /// Numbers of its trials, and the figure of each in the panel's unit.
    pub each: Vec<(u32, f64)>,
}

/// Fewer of the core set's loads are no chart.
const BARS_MIN: usize = 3;

/// The panels with what was measured of their loads; none where that is too little.
pub fn panels(input: &Input<'_>) -> Vec<(&'static BarPanel, Vec<Bar>)> {
    let all: Vec<(&BarPanel, Vec<Bar>)> = PANELS
        .iter()
        .map(|panel| (panel, bars(panel, input)))
        .filter(|(_, bars)| !bars.is_empty())
        .collect();
    let count: usize = all.iter().map(|(_, bars)| bars.len()).sum();
    if count < BARS_MIN { Vec::new() } else { all }
}

fn bars(panel: &BarPanel, input: &Input<'_>) -> Vec<Bar> {
    let bar = |load: &'static CoreLoad| {
        let cell = input.cells.iter().find(|cell| load.is(cell, panel.block_bytes))?;
        let writes = cell.settings.writes();
        let figure =
            if writes { figure_names::DURABLE_THROUGHPUT } else { figure_names::THROUGHPUT };
        let estimate = cells::figure(cell, figure)?.times(panel.unit);
        let views = input.records.iter().zip(input.trials.iter());
        let each = views
            .map(|(record, view)| (record.trial.number, view))
            .filter(|(number, _)| cell.trials.contains(number))
            .filter_map(|(number, view)| {
                let value = view.figures.get(figure)?.value * panel.unit;
                value.is_finite().then_some((number, value))
            })
            .collect();
        Some(Bar { label: load.label, writes, figure, estimate, each })
    };
    panel.loads.iter().filter_map(bar).collect()
}

impl CoreLoad {
    fn is(&self, cell: &Cell, block_bytes: u64) -> bool {
        let settings = &cell.settings;
        settings.get(knob::ACCESS).is_some_and(|access| self.accesses.contains(&access))
            && settings.get(knob::DIRECT)
            && settings.get(knob::BLOCK_SIZE) == block_bytes
            && settings.get(knob::QUEUE_DEPTH) == self.depth
            && settings.get(knob::STREAMS) == self.streams
            && settings.find(knob::FSYNC) != Some("every")
            && !settings.is_network()
            && !cell.groups.iter().all(|group| experiment::plan::prepares(group))
    }
}

impl BarPanel {
    /// A value as beside its bar.
    pub fn number(&self, value: f64) -> String {
        if self.unit == 1e-6 { significant(value) } else { iops(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn what_was_measured_of_the_core_set_has_a_bar_and_nothing_else() {
        let (campaign, records) = fixture::simulated();
        let input = Input::new(&campaign, &records);
        let drawn = panels(&input);
        assert!(!drawn.is_empty());
        for panel in PANELS {
            let bars = drawn.iter().find(|(one, _)| one.title == panel.title);
            let has = |load: &CoreLoad| {
                bars.is_some_and(|(_, bars)| bars.iter().any(|bar| bar.label == load.label))
            };
            for load in panel.loads {
                let measured = input.cells.iter().any(|cell| load.is(cell, panel.block_bytes));
                assert_eq!(has(load), measured, "{}: {}", panel.title, load.label);
            }
        }
        let each = drawn.iter().flat_map(|(_, bars)| bars);
        assert!(each.clone().all(|bar| !bar.each.is_empty()));
        // Nothing of what only made ready.
        let ready = |number: &u32| {
            records.iter().any(|it| it.trial.number == *number && it.trial.prepares())
        };
        assert!(each.flat_map(|bar| &bar.each).all(|(number, _)| !ready(number)));
    }
}
