//! (pure) Columns of text, each as wide as its widest cell.

/// How a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A table: a head and rows of as many cells.
pub struct Grid {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A table with this head.
    pub fn new(head: &[(&str, Side)]) -> Grid {
        let sides = head.iter().map(|(_, side)| *side).collect();
        Grid { sides, rows: vec![head.iter().map(|(name, _)| (*name).to_owned()).collect()] }
    }

    /// Adds a row; cells beyond the head's are left out.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, without columns that are empty in every row, indented by two.
    pub fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let body = self.rows.get(1..).unwrap_or_default();
        let used = |column: &usize| {
            body.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.is_empty()))
        };
        let columns: Vec<(usize, usize)> =
            (0..self.sides.len()).filter(used).map(|column| (column, width(column))).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from(" ");
            for &(column, width) in &columns {
                let cell = row.get(column).map_or("", String::as_str);
                match self.sides[column] {
                    Side::Left => line.push_str(&format!(" {cell:<width$} ")),
                    Side::Right => line.push_str(&format!(" {cell:>width$} ")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_ones_go() {
        let mut grid = Grid::new(&[("name", Side::Left), ("gone", Side::Left), ("n", Side::Right)]);
        grid.row(vec!["a".into(), String::new(), "1".into()]);
        grid.row(vec!["longer".into(), String::new(), "100".into()]);
        assert_eq!(grid.render(), "  name      n\n  a         1\n  longer  100\n");
    }
}
