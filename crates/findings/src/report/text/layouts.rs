//! (pure) How long the layouts of a group took to make, to check and to trim: one line a layout.

use super::grid::{Grid, Side};
use super::{plain, words};
use crate::report::cells::{self, CellGroup, CellRow};
use crate::report::reach::Reach;
use base::value::{self, Value};
use experiment::knob::{self, Scope};

/// Steps of making one, with the heads of their columns.
const STEPS: [(&str, &str); 7] = [
    ("precondition_ns", "preconditioning"),
    ("array_ns", "array"),
    ("rebuild_ns", "rebuild"),
    ("mkfs_ns", "mkfs"),
    ("mount_ns", "mount"),
    ("fsck_ns", "checked"),
    ("fstrim_ns", "trimmed"),
];
/// Those that are of a trial, and may differ between the trials of one layout.
const OF_TRIALS: [&str; 2] = ["fsck_ns", "fstrim_ns"];

/// A table of the layouts; empty where the trials ran in directories. Where something of theirs was
/// timed before each trial there is a line for each cell.
pub fn table(group: &CellGroup<'_>) -> String {
    let has = |row: &CellRow<'_>, name: &str| cells::figure(row.cell, name).is_some();
    let of_trials = group.rows.iter().any(|row| OF_TRIALS.iter().any(|name| has(row, name)));
    let mut made: Vec<(Vec<&Value>, &CellRow<'_>)> = Vec::new();
    for row in &group.rows {
        let of = match of_trials {
            true => row.cell.settings.iter().map(|(_, value)| value).collect(),
            false => layout(row),
        };
        let timed = STEPS.iter().any(|(name, _)| has(row, name));
        if timed && !made.iter().any(|(known, _)| *known == of) {
            made.push((of, row));
        }
    }
    if made.is_empty() {
        return String::new();
    }
    let is_layout = |name: &&&str| knob::find(name).is_some_and(|knob| knob.scope == Scope::Layout);
    let tells = |name: &&&str| of_trials || is_layout(name);
    let varying: Vec<&str> = group.varying.iter().filter(tells).copied().collect();
    let axis = match varying.is_empty() {
        true => "layout".to_owned(),
        false => varying.join(", "),
    };
    let mut heads = vec![(axis.as_str(), Side::Left)];
    for (_, head) in STEPS {
        heads.extend([(head, Side::Right), ("+-", Side::Left)]);
    }
    heads.push(("n", Side::Right));
    let mut grid = Grid::new(&heads);
    for (_, row) in made {
        let names = if varying.is_empty() { &["filesystem", "raid"][..] } else { &varying[..] };
        let found = names.iter().filter_map(|name| row.cell.settings.named(name));
        let label = found.map(value::setting).collect::<Vec<_>>().join(", ");
        let mut line = vec![words::clipped(&plain(&label), 26)];
        for (name, _) in STEPS {
            let figure = cells::figure(row.cell, name);
            let reach = figure.as_ref().and_then(Reach::from_estimate);
            line.push(figure.map_or(String::new(), |figure| value::duration(figure.value)));
            line.push(reach.map_or(String::new(), Reach::told));
        }
        line.push(row.cell.trials.len().to_string());
        grid.row(line);
    }
    grid.render()
}

/// What a cell's layout is.
fn layout<'a>(row: &CellRow<'a>) -> Vec<&'a Value> {
    let knobs = knob::KNOBS.iter().filter(|knob| knob.scope == Scope::Layout);
    knobs.filter_map(|knob| row.cell.settings.named(knob.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use experiment::knob::testing::settings;
    use experiment::measurement::Outcome;
    use experiment::measurement::figures::cells as over_replicates;
    use experiment::plan::blocked;
    use facts::layout::Times;

    /// The table of three replicates of reading one file and eight, whose times are `times` of the
    /// number of files and of the replicate.
    fn table_of(times: impl Fn(u64, u64) -> Times) -> String {
        let files = |count: &str| {
            let typed = [("filesystem", "ext4"), ("raid", "single"), ("files", count)];
            ("checked".to_owned(), settings("file", &typed))
        };
        let mut fixture = fixture::campaign_of(blocked(&[files("1"), files("8")], 3, 1), 4);
        for record in &mut fixture.records {
            let (files, replicate) =
                (record.trial.settings.get(knob::FILES), record.trial.replicate.into());
            let Outcome::Done(measurement) = &mut record.outcome else { continue };
            measurement.layout = Some(times(files, replicate));
            measurement.digest = None;
        }
        fixture.cells = over_replicates(&fixture.records);
        let input = fixture.input();
        let groups = cells::groups(&input);
        groups.iter().map(table).collect()
    }

    /// A check takes as long as there are files, which no knob of the layout tells.
    #[test]
    fn what_was_timed_before_each_trial_has_a_line_for_each_cell_and_an_interval() {
        const SECOND: u64 = 1_000_000_000;
        let mkfs = |replicate: u64| (5 + replicate) * SECOND;
        let made = |_: u64, replicate: u64| Times { mkfs_ns: mkfs(replicate), ..Times::default() };
        let table = table_of(made);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 2, "one layout: {table}");
        assert!(lines[1].contains("ext4, single") && lines[1].contains("7.00 s"), "{table}");
        let checked = |files: u64, replicate: u64| {
            let fsck_ns = files * (9 + replicate) * SECOND;
            Times { mkfs_ns: mkfs(replicate), fsck_ns, fstrim_ns: SECOND, ..Times::default() }
        };
        let table = table_of(checked);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        for (word, place) in [("mkfs", 0), ("checked", 0), ("trimmed", 0), ("11.0 s", 1)] {
            assert!(lines[place].contains(word), "{word}: {table}");
        }
        assert!(lines[2].contains("1 min 28 s"), "{table}");
        // (10, 11, 12) s: a standard error of 0.577 s, and 4.303 of them to either side.
        assert!(lines[1..].iter().all(|line| line.contains("23 %")), "{table}");
    }

    /// A table had the columns "precondition precondition": the knob, and the time that it took.
    #[test]
    fn no_column_of_a_step_has_the_name_of_a_knob() {
        for (_, head) in STEPS {
            assert!(knob::find(head).is_none(), "{head}");
            assert_eq!(STEPS.iter().filter(|(_, other)| *other == head).count(), 1, "{head}");
        }
    }
}
