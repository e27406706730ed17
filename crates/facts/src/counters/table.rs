//! (pure) Rows of one source as they are read, whatever appears and vanishes meanwhile.
//!
//! The kernel lists CPUs, disks and threads in an order that changes when one comes or goes.
//! Columns here belong to a name, never to a place in the file, so that none is shifted.

use super::series::{Column, ColumnKind, Series};

/// One column of each scope.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// What, with its unit last.
    pub name: &'static str,
    /// Counter or level.
    pub kind: ColumnKind,
}

impl Field {
    /// A number that only grows.
    pub const fn counter(name: &'static str) -> Field {
        Field { name, kind: ColumnKind::Counter }
    }

    /// A level.
    pub const fn gauge(name: &'static str) -> Field {
        Field { name, kind: ColumnKind::Gauge }
    }
}

/// The rows of one source so far.
#[derive(Debug)]
pub struct Table {
    source: &'static str,
    fields: &'static [Field],
    born_at_zero: bool,
    at_ns: Vec<u64>,
    scopes: Vec<Scope>,
    /// Where the scope of the next value probably is: sources list them in the same order.
    hint: usize,
}

/// A CPU, a disk, a thread; or, with no name, the machine.
#[derive(Debug)]
struct Scope {
    name: Vec<u8>,
    columns: Vec<Vec<u64>>,
}

impl Table {
    /// An empty table. With `born_at_zero`, a counter that appears after the first row counted
    /// nothing before; without, its first value is taken for its value before.
    pub fn new(source: &'static str, fields: &'static [Field], born_at_zero: bool) -> Table {
        Table { source, fields, born_at_zero, at_ns: Vec::new(), scopes: Vec::new(), hint: 0 }
    }

    /// Begins a row, read at `at_ns` on the monotonic clock.
    pub fn begin(&mut self, at_ns: u64) {
        self.at_ns.push(at_ns);
        self.hint = 0;
    }

    /// Puts a value into the row: `field` counts from 0 in the source's fields. Values outside
    /// any row, and of fields that the source does not have, are dropped.
    pub fn put(&mut self, scope: &[u8], field: usize, value: u64) {
        let Some(rows_before) = self.at_ns.len().checked_sub(1) else { return };
        let index = self.scope(scope);
        let Some(column) = self.scopes[index].columns.get_mut(field) else { return };
        if column.len() > rows_before {
            column[rows_before] = value;
            return;
        }
        let counted = self.fields[field].kind == ColumnKind::Counter;
        let before = if self.born_at_zero && counted { 0 } else { value };
        let before = column.last().copied().unwrap_or(before);
        column.resize(rows_before, before);
        column.push(value);
    }

    /// Ends the row. What was not seen keeps its last value: it counted nothing while it was away.
    pub fn end(&mut self) {
        let rows = self.at_ns.len();
        for column in self.scopes.iter_mut().flat_map(|scope| &mut scope.columns) {
            if let Some(&last) = column.last() {
                column.resize(rows, last);
            }
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.at_ns.len()
    }

    /// Lets every second row go, but for the first and the last. Counters lose nothing by it: they
    /// say what was counted since the row before that is still there.
    pub fn halve(&mut self) {
        let rows = self.at_ns.len();
        let stays = |row: usize| row.is_multiple_of(2) || row + 1 == rows;
        let thin = |values: &mut Vec<u64>| {
            let mut row = 0;
            values.retain(|_| {
                row += 1;
                stays(row - 1)
            });
        };
        thin(&mut self.at_ns);
        // A column that never had a value is empty, all others have as many rows.
        let columns = self.scopes.iter_mut().flat_map(|scope| &mut scope.columns);
        columns.for_each(thin);
    }

    /// The rows with times relative to `start_ns`; columns that never had a value are left out.
    pub fn into_series(self, start_ns: u64) -> Series {
        let relative = |at: &u64| (i128::from(*at) - i128::from(start_ns)) as i64;
        let at_ns = self.at_ns.iter().map(relative).collect();
        let mut columns = Vec::new();
        for scope in self.scopes {
            let prefix = String::from_utf8_lossy(&scope.name).into_owned();
            for (field, values) in self.fields.iter().zip(scope.columns) {
                if values.is_empty() {
                    continue;
                }
                let name = match prefix.as_str() {
                    "" => field.name.to_owned(),
                    prefix => format!("{prefix}.{}", field.name),
                };
                columns.push(Column { name, kind: field.kind, values });
            }
        }
        Series { source: self.source.to_owned(), at_ns, columns }
    }

    /// The place of a scope, made when it is new.
    fn scope(&mut self, name: &[u8]) -> usize {
        for near in [self.hint, self.hint + 1] {
            if self.scopes.get(near).is_some_and(|scope| scope.name == name) {
                self.hint = near;
                return near;
            }
        }
        let known = self.scopes.iter().position(|scope| scope.name == name);
        self.hint = known.unwrap_or_else(|| {
            let columns = vec![Vec::new(); self.fields.len()];
            self.scopes.push(Scope { name: name.to_vec(), columns });
            self.scopes.len() - 1
        });
        self.hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[Field::counter("busy_ns"), Field::gauge("level")];

    /// One row a slice, of (scope, field, value).
    fn series(born_at_zero: bool, rows: &[&[(&str, usize, u64)]]) -> Series {
        let mut table = Table::new("test", FIELDS, born_at_zero);
        for (at, row) in rows.iter().enumerate() {
            table.begin(1000 + at as u64);
            for (scope, field, value) in *row {
                table.put(scope.as_bytes(), *field, *value);
            }
            table.end();
        }
        table.into_series(1001)
    }

    #[test]
    fn a_cpu_that_goes_and_comes_back_shifts_no_column() {
        let rows: &[&[(&str, usize, u64)]] = &[
            &[("cpu0", 0, 10), ("cpu1", 0, 20), ("cpu2", 0, 30)],
            &[("cpu0", 0, 11), ("cpu2", 0, 31)],
            &[("cpu0", 0, 12), ("cpu1", 0, 25), ("cpu2", 0, 32)],
        ];
        let series = series(false, rows);
        assert_eq!(series.column("cpu1.busy_ns").unwrap().values, [20, 20, 25]);
        assert_eq!(series.column("cpu2.busy_ns").unwrap().values, [30, 31, 32]);
        assert_eq!(series.at_ns, [-1, 0, 1]);
    }

    #[test]
    fn halving_keeps_both_ends_and_what_was_counted() {
        let mut table = Table::new("test", FIELDS, false);
        let row = |table: &mut Table, at: u64| {
            table.begin(at);
            table.put(b"a", 0, at * at);
            table.end();
        };
        (0..6).for_each(|at| row(&mut table, at));
        table.halve();
        assert_eq!(table.rows(), 4);
        row(&mut table, 9);
        let series = table.into_series(0);
        assert_eq!(series.at_ns, [0, 2, 4, 5, 9]);
        assert_eq!(series.column("a.busy_ns").unwrap().values, [0, 4, 16, 25, 81]);
        assert_eq!(series.column("a.level"), None);
    }

    #[test]
    fn what_appears_in_mid_trial_has_grown_only_since_unless_it_was_born_then() {
        let rows: &[&[(&str, usize, u64)]] =
            &[&[("a", 0, 1)], &[("a", 0, 2), ("b", 0, 500), ("b", 1, 7)], &[]];
        assert_eq!(series(false, rows).column("b.busy_ns").unwrap().values, [500, 500, 500]);
        let born = series(true, rows);
        assert_eq!(born.column("b.busy_ns").unwrap().values, [0, 500, 500]);
        assert_eq!(born.column("b.level").unwrap().values, [7, 7, 7]);
        assert_eq!(born.column("a.busy_ns").unwrap().values, [1, 2, 2]);
    }

    #[test]
    fn the_machine_has_no_prefix_and_absent_columns_are_left_out() {
        let series = series(false, &[&[("", 0, 5)]]);
        let names: Vec<&str> = series.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["busy_ns"]);
    }

    #[test]
    fn values_of_unknown_fields_and_before_any_row_are_dropped() {
        let mut table = Table::new("test", FIELDS, false);
        table.put(b"", 0, 1);
        table.begin(0);
        table.put(b"", 9, 1);
        table.end();
        assert!(table.into_series(0).columns.is_empty());
    }
}
