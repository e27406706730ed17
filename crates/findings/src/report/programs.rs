//! (pure) What tables of programs show: their columns, and how each figure is printed.

use super::cells::CellGroup;
use crate::report::Input;
use crate::report::reach::Reach;
use base::stats::Estimate;
use base::value;
use experiment::knob;
use experiment::measurement::programs::NAMES;

/// Figures of every program, with the heads of their columns.
pub const COLUMNS: &[(&str, &str)] = &[
    ("elapsed_s", "elapsed"),
    ("elapsed_s_max", "longest"),
    ("user_s", "user"),
    ("system_s", "system"),
    ("cpu_share", "CPU"),
    ("major_faults", "major faults"),
    ("peak_memory_bytes", "peak memory"),
];

/// Whether the cells of a group are of programs.
pub fn are_in(group: &CellGroup<'_>) -> bool {
    group.rows.iter().any(|row| row.cell.figures.contains_key("elapsed_s"))
}

/// Names of the figures that the programs of a group said themselves, in alphabetical order.
pub fn said<'a>(input: &'a Input<'_>, group: &CellGroup<'a>) -> Vec<&'a str> {
    let asked = input.records.iter().flat_map(|record| record.trial.settings.get(knob::EXTRACT));
    let asked: Vec<&str> = asked.filter_map(|text| Some(text.split_once('=')?.0)).collect();
    let of = group.rows.iter().flat_map(|row| row.cell.figures.keys());
    let mut names: Vec<&str> = of
        .map(AsRef::as_ref)
        .filter(|name| asked.contains(name) && !NAMES.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProgramUnit {
    /// Bytes per second.
    Throughput,
    /// Bytes.
    Bytes,
    /// Of a whole, 0 to 1.
    Share,
    /// A time; one of the figure is so many ns.
    Time(f64),
    /// A number, or a rate of some count.
    Plain,
}

/// The unit of a figure is the end of its name.
pub fn unit(name: &str) -> ProgramUnit {
    let ends = |end: &str| name.ends_with(end);
    match () {
        () if ends("_bytes_per_s") => ProgramUnit::Throughput,
        () if ends("_bytes") => ProgramUnit::Bytes,
        () if ends("_share") => ProgramUnit::Share,
        () if ends("_ns") || name.contains("latency_ns_") => ProgramUnit::Time(1.0),
        () if ends("_ms") => ProgramUnit::Time(1e6),
        () if (ends("_s") && !ends("_per_s")) || ends("_s_max") => ProgramUnit::Time(1e9),
        () => ProgramUnit::Plain,
    }
}

/// A figure for people.
pub fn print(name: &str, value: f64) -> String {
    match unit(name) {
        ProgramUnit::Throughput => value::throughput(value),
        ProgramUnit::Bytes => value::bytes(value),
        ProgramUnit::Share => value::percent(value),
        ProgramUnit::Time(ns) => value::duration(value * ns),
        ProgramUnit::Plain => value::significant(value),
    }
}

/// The figure `name` of a row with half its interval: `1.2 s +-3%`; `-` where there is none.
pub fn cell(figure: Option<Estimate>, name: &str) -> String {
    let Some(estimate) = figure else { return "-".to_owned() };
    let spread = Reach::from_estimate(&estimate).map(|reach| match reach {
        Reach::Share(_) => format!(" +-{}", reach.told().replace(' ', "")),
        Reach::Times(_) => format!(" {}", reach.told()),
    });
    format!("{}{}", print(name, estimate.value), spread.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_is_its_unit() {
        assert_eq!(print("elapsed_s", 1.5), value::duration(1.5e9));
        assert_eq!(print("elapsed_s_max", 1.5), value::duration(1.5e9));
        assert_eq!(print("wait_ms", 2.0), value::duration(2e6));
        assert_eq!(print("said_bytes_per_s", 1e6), value::throughput(1e6));
        assert_eq!(print("peak_memory_bytes", 4096.0), value::bytes(4096.0));
        assert_eq!(print("cpu_share", 0.5), value::percent(0.5));
        assert_eq!(print("said_mb_per_s", 583.0), value::significant(583.0));
        assert_eq!(cell(None, "x"), "-");
        assert!(cell(Some(Estimate::within(2.0, 1.6, 2.5)), "wait_s").contains("+-22%"));
        assert!(cell(Some(Estimate::within(2.0, 1.0, 4.0)), "wait_s").contains(" x2.00"));
    }

    #[test]
    fn every_column_is_a_figure_of_programs() {
        for (name, _) in COLUMNS {
            assert!(NAMES.contains(name), "{name}");
        }
    }
}
