//! The table that `lsblk` prints without `-J`: a tree in the first column, and cells that are
//! flush with the left or the right of their headings.

use super::LsblkRow;

/// A column of the table, by where its heading stands, in characters.
struct Column<'a> {
    name: &'a str,
    start: usize,
    end: usize,
}

/// Whether a line is the heading of such a table.
pub fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let upper = |word: &&str| word.bytes().all(|it| !it.is_ascii_lowercase());
    words.first() == Some(&"NAME")
        && words.iter().all(upper)
        && has("SIZE")
        && (has("TYPE") || has("MAJ:MIN") || has("MODEL") || has("ROTA") || has("TRAN"))
        && !has("ALLOC")
}

/// Columns whose cells are flush with the left; those of all others are with the right.
const LEFT: &[&str] = &[
    "NAME",
    "KNAME",
    "PATH",
    "MAJ:MIN",
    "FSTYPE",
    "FSVER",
    "MOUNTPOINT",
    "MOUNTPOINTS",
    "LABEL",
    "UUID",
    "PTUUID",
    "PTTYPE",
    "PARTTYPE",
    "PARTTYPENAME",
    "PARTLABEL",
    "PARTUUID",
    "PARTFLAGS",
    "MODEL",
    "SERIAL",
    "STATE",
    "OWNER",
    "GROUP",
    "MODE",
    "SCHED",
    "TYPE",
    "WWN",
    "PKNAME",
    "HCTL",
    "TRAN",
    "SUBSYSTEMS",
    "REV",
    "VENDOR",
    "ZONED",
    "DAX",
    "ID-LINK",
    "ID",
    "FSROOTS",
];

/// Columns that have no empty cells.
const FULL: &[&str] = &["NAME", "KNAME", "PATH", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE", "ROTA"];

fn words(line: &str) -> Vec<(usize, usize, String)> {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let mut last_blank = true;
    for (at, one) in line.chars().enumerate() {
        match (one.is_whitespace(), last_blank) {
            (true, _) => last_blank = true,
            (false, true) => {
                found.push((at, at + 1, one.to_string()));
                last_blank = false;
            }
            (false, false) => {
                if let Some((_, end, word)) = found.last_mut() {
                    *end = at + 1;
                    word.push(one);
                }
            }
        }
    }
    found
}

/// The rows below the heading, up to the first line that is none.
///
/// # Errors
/// When a row does not fit below the heading.
pub fn rows(text: &str) -> Result<Vec<LsblkRow>, String> {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or("");
    let headings = words(heading);
    let columns: Vec<Column<'_>> = headings
        .iter()
        .map(|(start, end, name)| Column { name: name.as_str(), start: *start, end: *end })
        .collect();
    let mut rows = Vec::new();
    for line in lines {
        if line.trim().is_empty() {
            break;
        }
        // More mount points of the device above stand alone below it.
        let first = line.trim_start();
        let far = line.chars().count() - first.chars().count();
        let mounts = columns.iter().find(|column| column.name.starts_with("MOUNTPOINT"));
        let alone = first.starts_with(['/', '[']) && mounts.is_some_and(|it| far >= it.start);
        if alone {
            continue;
        }
        let Some(row) = row(line, &columns)? else { break };
        if text.ends_with(line) && !ends(&row, &columns) {
            return Err("its last row has no line end, and may be cut short".to_owned());
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Whether a row without a line end is whole: nothing but a mount point may follow, and its last
/// word is none that would be another when it goes on.
fn ends(row: &LsblkRow, columns: &[Column<'_>]) -> bool {
    let mounts = |column: &Column<'_>| column.name.starts_with("MOUNTPOINT");
    let rest = columns.get(row.last + 1..).unwrap_or_default().iter().all(mounts);
    let last = columns.get(row.last).map_or("", |column| column.name);
    let word = row.cells.get(&last.to_lowercase()).map_or("", String::as_str);
    let whole = ["TYPE", "MODEL", "FSTYPE", "TRAN"].contains(&last) && word != "raid1";
    rest && (whole || last.starts_with("MOUNTPOINT"))
}

/// `None` for a line that is no row: what a script says next.
fn row(line: &str, columns: &[Column<'_>]) -> Result<Option<LsblkRow>, String> {
    let tree = |c: char| " │├└─|`-".contains(c);
    let depth_chars = line.chars().take_while(|c| tree(*c)).count();
    let mut row = LsblkRow { depth: depth_chars / 2, ..LsblkRow::default() };
    let blanked: String = line
        .chars()
        .enumerate()
        .map(|(at, one)| if at < depth_chars { ' ' } else { one })
        .collect();
    let mut current = 0;
    // Where only the last column has empty cells the words follow the headings in order, and some
    // versions do not keep rows below their headings.
    let (last, first) = columns.split_last().map_or((0, &[][..]), |(_, it)| (it.len(), it));
    let in_order = first.iter().all(|column| FULL.contains(&column.name));
    for (at, (start, end, word)) in words(&blanked).into_iter().enumerate() {
        let goes_on = at == 1 && word.starts_with("(dm-");
        let column = match at {
            0 => 0,
            _ if goes_on => 0,
            _ if in_order && current == 0 => last.min(1),
            _ if in_order => (current + 1).min(last),
            _ => column_of(start, end, columns, current),
        };
        let Some(column) = columns.get(column).map(|found| (column, found.name)) else {
            return Ok(None);
        };
        current = column.0;
        row.last = row.last.max(current);
        let cell = row.cells.entry(column.1.to_lowercase()).or_default();
        if !cell.is_empty() {
            cell.push(' ');
        }
        cell.push_str(&word);
    }
    let has = |name: &str| columns.iter().any(|column| column.name == name);
    let cell = |name: &str| row.cells.get(name).map_or("", String::as_str);
    let short = ["SIZE", "TYPE"].iter().find(|it| has(it) && cell(&it.to_lowercase()).is_empty());
    if let Some(short) = short {
        // What follows the table is no row of it: one begins with a name and a number or size.
        return match line.starts_with([' ', '├', '└', '│', '|', '`'])
            || depth_chars > 0
            || cell("maj:min").contains(':')
        {
            true => Err(format!("the row {:?} has no {short}: was it cut short?", cell("name"))),
            false => Ok(None),
        };
    }
    let single = |name: &str| !cell(name).contains(' ');
    if !single("size") || !single("type") || !single("maj:min") {
        return Err(format!("the cells of {:?} do not stand below their headings", cell("name")));
    }
    Ok(Some(row))
}

/// The column of a word: the one whose heading it stands below, else the one that it goes on with.
fn column_of(start: usize, end: usize, columns: &[Column<'_>], current: usize) -> usize {
    let overlap = |column: &Column<'_>| end.min(column.end).saturating_sub(start.max(column.start));
    let best = (0..columns.len()).max_by_key(|at| (overlap(&columns[*at]), usize::MAX - *at));
    if let Some(best) = best.filter(|at| overlap(&columns[*at]) > 0) {
        return best;
    }
    let is_left = |column: &Column<'_>| LEFT.contains(&column.name);
    // Between two headings: the left one's where that is flush left, else the right one's.
    let before = (0..columns.len()).rev().find(|at| columns[*at].end <= start);
    match before {
        Some(before) if is_left(&columns[before]) => before.max(current),
        Some(before) => (before + 1).min(columns.len().saturating_sub(1)),
        None => 0,
    }
}
