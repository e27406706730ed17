//! Numbers sampled over time: a table with one row an instant.

use serde::{Deserialize, Serialize};

/// Samples of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Which source: `stat`, `diskstats`, `load`, ...
    pub source: String,
    /// When each row was read, ns since the trial's start; rows before it are negative.
    pub at_ns: Vec<i64>,
    /// The columns; each as long as `at_ns`.
    pub columns: Vec<Column>,
}

/// One column of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What, with its unit last: `cpu0.user_ns`, `vda.read_bytes`.
    pub name: String,
    /// How the numbers are meant.
    pub kind: ColumnKind,
    /// One a row.
    pub values: Vec<u64>,
}

/// How the numbers of a column are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Only ever grows; differences mean something.
    Counter,
    /// A level; each value means something.
    Gauge,
}

impl Series {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// By how much the counter `name` grew between `start_ns` and `end_ns`, by linear
    /// interpolation between rows; `None` when there is no such column, the rows do not reach
    /// over both ends, or the counter went backwards.
    pub fn growth(&self, name: &str, start_ns: i64, end_ns: i64) -> Option<f64> {
        let column = self.column(name)?;
        let (start, end) = (self.at(column, start_ns)?, self.at(column, end_ns)?);
        (end >= start).then_some(end - start)
    }

    /// The column `name` as it was at these times, by linear interpolation between rows; before the
    /// first row and after the last it is what that says. `None` when there is no such column, or
    /// no row.
    pub fn read_at(&self, name: &str, at_ns: &[i64]) -> Option<Vec<u64>> {
        let column = self.column(name)?;
        let (first, last) = (*self.at_ns.first()?, *self.at_ns.last()?);
        at_ns
            .iter()
            .map(|at| Some(self.at(column, (*at).max(first).min(last))?.round() as u64))
            .collect()
    }

    fn at(&self, column: &Column, at_ns: i64) -> Option<f64> {
        let after = self.at_ns.partition_point(|&row| row < at_ns);
        let (high, row_ns) = (*column.values.get(after)? as f64, *self.at_ns.get(after)?);
        if row_ns == at_ns {
            return Some(high);
        }
        let before = after.checked_sub(1)?;
        let low = *column.values.get(before)? as f64;
        let since = |at: i64| at.saturating_sub(self.at_ns[before]) as f64;
        let span = since(row_ns);
        Some(low + (high - low) * since(at_ns) / span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report of a damaged store, whose rows were no longer in the order of time, ended the
    /// program instead of saying less.
    #[test]
    fn rows_out_of_order_and_at_the_ends_of_time_end_nothing() {
        let damaged = series(&[i64::MAX, 5, i64::MIN], &[1, 2, 3]);
        let _ = damaged.read_at("x", &[i64::MIN, 0, i64::MAX]);
        let _ = damaged.growth("x", i64::MIN, i64::MAX);
        assert_eq!(series(&[9, 3], &[1, 2]).read_at("x", &[4]).map(|all| all.len()), None);
    }

    fn series(at_ns: &[i64], values: &[u64]) -> Series {
        let column =
            Column { name: "x".into(), kind: ColumnKind::Counter, values: values.to_vec() };
        Series { source: "test".into(), at_ns: at_ns.to_vec(), columns: vec![column] }
    }

    #[test]
    fn growth_is_interpolated_and_never_extrapolated() {
        let series = series(&[0, 100, 200], &[10, 20, 60]);
        assert_eq!(series.growth("x", 0, 200), Some(50.0));
        assert_eq!(series.growth("x", 50, 150), Some(25.0));
        assert_eq!(series.growth("x", -1, 100), None);
        assert_eq!(series.growth("x", 0, 201), None);
        assert_eq!(series.growth("y", 0, 200), None);
    }

    #[test]
    fn a_column_is_read_at_other_times_and_beyond_its_rows_stays_as_it_was() {
        let series = series(&[0, 100, 200], &[10, 20, 60]);
        assert_eq!(series.read_at("x", &[-50, 0, 50, 199, 500]), Some(vec![10, 10, 15, 60, 60]));
        assert_eq!(series.read_at("y", &[0]), None);
        assert_eq!(self::series(&[], &[]).read_at("x", &[0]), None);
    }

    #[test]
    fn a_counter_that_goes_back_yields_nothing_rather_than_a_wrap() {
        let series = series(&[0, 100, 200], &[10, 5, 8]);
        assert_eq!(series.growth("x", 0, 100), None);
        assert_eq!(series.growth("x", 100, 200), Some(3.0));
    }
}
