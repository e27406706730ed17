//! (pure) How long the layouts of a group took to make: one line a layout.

use super::grid::{Grid, Side};
use super::{plain, words};
use crate::report::cells::{self, Group, Row};
use crate::report::reach::Reach;
use base::value::{self, Value};
use experiment::knob::{self, Scope};

/// Steps of making one, with the heads of their columns.
const STEPS: [(&str, &str); 4] = [
    ("precondition_ns", "preconditioning"),
    ("array_ns", "array"),
    ("mkfs_ns", "mkfs"),
    ("mount_ns", "mount"),
];

/// A table of the layouts; empty where the trials ran in directories.
pub fn table(group: &Group<'_>) -> String {
    let mut made: Vec<(Vec<&Value>, &Row<'_>)> = Vec::new();
    for row in &group.rows {
        let of = layout(row);
        let timed = STEPS.iter().any(|(name, _)| cells::figure(row.cell, name).is_some());
        if timed && !made.iter().any(|(known, _)| *known == of) {
            made.push((of, row));
        }
    }
    if made.is_empty() {
        return String::new();
    }
    let is_layout = |name: &&&str| knob::find(name).is_some_and(|knob| knob.scope == Scope::Layout);
    let varying: Vec<&str> = group.varying.iter().filter(is_layout).copied().collect();
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
            let reach = figure.as_ref().and_then(Reach::of);
            line.push(figure.map_or(String::new(), |figure| value::duration(figure.value)));
            line.push(reach.map_or(String::new(), Reach::told));
        }
        line.push(row.cell.trials.len().to_string());
        grid.row(line);
    }
    grid.render()
}

/// What a cell's layout is.
fn layout<'a>(row: &Row<'a>) -> Vec<&'a Value> {
    let knobs = knob::KNOBS.iter().filter(|knob| knob.scope == Scope::Layout);
    knobs.filter_map(|knob| row.cell.settings.named(knob.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table had the columns "precondition precondition": the knob, and the time that it took.
    #[test]
    fn no_column_of_a_step_has_the_name_of_a_knob() {
        for (_, head) in STEPS {
            assert!(knob::find(head).is_none(), "{head}");
            assert_eq!(STEPS.iter().filter(|(_, other)| *other == head).count(), 1, "{head}");
        }
    }
}
