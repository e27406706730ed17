//! (pure) iozone's table: a row for each size of file and of record.
//!
//! Columns are told by their place where some are blank: a way that was not asked for leaves its
//! own so. Where each has a number they are told by their order. iozone.c has had three widths
//! (CONTROL_STRING3): up to 3.303, up to 3.428, and since.

use super::{IozoneUnit, ToolResult, kibibytes, settings};
use experiment::measurement::Note;

/// The ways in the order of the columns.
pub(super) const WAYS: [&str; 13] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "read_backward",
    "record_rewrite",
    "read_strided",
    "stdio_write",
    "stdio_rewrite",
    "stdio_read",
    "stdio_reread",
];
/// Where the columns of ways begin.
const FIRST: usize = 24;
/// The head as it stands there, and how many characters each column is wide.
const LAYOUTS: [(&str, [usize; 13]); 3] = [
    (
        "kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      \
         read   fwrite frewrite    fread  freread",
        [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9],
    ),
    (
        "KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   \
         fwrite frewrite   fread  freread",
        [8, 8, 9, 9, 8, 8, 8, 9, 9, 9, 9, 8, 9],
    ),
    (
        "KB  reclen   write rewrite    read    reread    read   write    read rewrite    read   \
         fwrite frewrite   fread  freread",
        [8, 8, 9, 9, 8, 8, 8, 8, 8, 9, 9, 8, 9],
    ),
];
/// What follows the first two words of the head, its blanks as one.
const HEAD: &str = "write rewrite read reread read write read rewrite read fwrite frewrite fread \
                    freread";
/// How many ways a table may have: with a memory map or asynchronous I/O it has no stdio.
const MANY: [usize; 2] = [9, 13];
/// What iozone says below a row that was too quick, and how it goes on.
const TOO_QUICK: &str = "The test completed too quickly to give a good result";
const ADVICE: [&str; 4] = [
    "You will get a more precise measure of this machine's",
    "performance by re-running iozone using the command:",
    "iozone ",
    "(i.e., file size",
];

/// Whether a line is the head of a table.
pub(super) fn is_head(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("kb"))
        && words.next() == Some("reclen")
}

/// A row of iozone's table: its sizes in KiB, and what each way has, as it was printed.
pub(super) struct IozoneRow {
    pub(super) file: String,
    pub(super) record: String,
    pub(super) cells: Vec<Option<String>>,
}

/// A table of iozone that is being read, or was.
pub(super) struct IozoneTable {
    widths: Option<&'static [usize; 13]>,
    /// How many ways its head has.
    many: usize,
    pub(super) printed: Vec<IozoneRow>,
    pub(super) rows: Vec<ToolResult>,
}

impl IozoneTable {
    pub(super) fn from_head(head: &str, bare: &str, version: &str) -> Result<IozoneTable, String> {
        let words: Vec<&str> = bare.split(' ').skip(2).collect();
        let many = words.len();
        let is_known = MANY.contains(&many) && HEAD.starts_with(&words.join(" "));
        if !is_known {
            return Err(format!(
                "the table of iozone {version} has other columns than that of 3.95 to 3.5 without \
                 -E (pread, pwrite)"
            ));
        }
        let head = head.trim();
        let widths = LAYOUTS.iter().find(|(whole, _)| whole.starts_with(head));
        let widths = widths.map(|(_, widths)| widths);
        Ok(IozoneTable { widths, many, printed: Vec::new(), rows: Vec::new() })
    }

    pub(super) fn line(
        &mut self,
        line: &str,
        unit: IozoneUnit,
        version: &str,
    ) -> Result<(), String> {
        let bare = line.trim();
        if bare == TOO_QUICK {
            let said = self.rows.last_mut().ok_or("what was too quick has no row")?;
            let text = "iozone says that the test completed too quickly to give a good result.";
            said.notes.push(Note::new("too-quick", text));
            return Ok(());
        }
        if ADVICE.iter().any(|begin| bare.starts_with(begin)) {
            return Ok(());
        }
        let words: Vec<&str> = bare.split_whitespace().collect();
        let (sizes, cells) = match words.as_slice() {
            [file, record, cells @ ..] if cells.len() == self.many => {
                let cells = cells.iter().map(|cell| Some((*cell).to_owned())).collect();
                ([(*file).to_owned(), (*record).to_owned()], cells)
            }
            _ => self.by_place(line)?,
        };
        let wrong = || format!("`{bare}` is no row of its table");
        let [file, record] = sizes;
        let told = (kibibytes(&file), kibibytes(&record));
        let (Some(file_size), Some(block)) = told else { return Err(wrong()) };
        let settings = settings(&[("file-size", Some(file_size)), ("block-size", Some(block))]);
        if block > file_size || self.rows.iter().any(|said| said.settings == settings) {
            return Err(wrong());
        }
        let mut said =
            ToolResult { version: version.to_owned(), settings, ..ToolResult::default() };
        for (way, cell) in WAYS.iter().zip(&cells) {
            let Some(cell) = cell else { continue };
            let is_plain = cell.bytes().all(|byte| byte.is_ascii_digit());
            let rate = cell.parse::<u64>().ok().filter(|rate| is_plain && *rate < 1 << 50);
            unit.add(&mut said, way, rate.ok_or_else(wrong)? as f64, cell);
        }
        if said.figures.is_empty() {
            return Err(wrong());
        }
        self.printed.push(IozoneRow { file, record, cells });
        self.rows.push(said);
        Ok(())
    }

    /// The sizes and the cells of a row, some of which are blank.
    fn by_place(&self, line: &str) -> Result<([String; 2], Vec<Option<String>>), String> {
        let wrong = || format!("`{}` is no row of its table", line.trim());
        let Some(widths) = self.widths else {
            return Err(format!(
                "`{}` has blank columns, and the head above it is not as iozone prints it: which \
                 are blank cannot be told",
                line.trim()
            ));
        };
        if !line.is_ascii() {
            return Err(wrong());
        }
        let size = |text: Option<&str>| text.map(|text| text.trim().to_owned()).ok_or_else(wrong);
        let sizes = [size(line.get(..16))?, size(line.get(16..FIRST))?];
        let mut rest = line.get(FIRST..).unwrap_or_default();
        let mut cells = Vec::new();
        for wide in widths.iter().take(self.many) {
            let (cell, after) = rest.split_at(rest.len().min(*wide));
            rest = after;
            if cell.trim().is_empty() {
                cells.push(None);
                continue;
            }
            // A number that began in the column before, or ends in the next, would be cut in two.
            if !cell.starts_with(' ') || cell.ends_with(' ') || cell.len() < *wide {
                return Err(wrong());
            }
            cells.push(Some(cell.trim().to_owned()));
        }
        match rest.trim().is_empty() {
            true => Ok((sizes, cells)),
            false => Err(wrong()),
        }
    }
}
