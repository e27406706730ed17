//! (pure) dbench 3 to 5, and tbench: its closing table and its last line.
//!
//! dbench counts bytes in millions and averages after its own warm-up, which it makes a fifth of
//! the time limit or none, by its build; what it printed of that stands in the kept output. Waits
//! are printed in ms. tbench, its measure of a network, prints the same to the letter, "dbench"
//! in its first line included: which of both it was cannot be told.

use serde_json::Map;

use super::{Form, Importer, ToolResult};
use experiment::measurement::Note;

/// See [`Importer`].
pub const DBENCH: Importer = Importer {
    name: "dbench",
    about: "All that dbench 3 to 5 prints, or its last line; tbench prints the same",
    forms: &[
        Form {
            bring: "all that it prints",
            recorded: &["3.04", "4.00", "5.0"],
            read: "throughput, latencies of each operation, which writes were synchronous",
            not_read: "tables of single clients; operations of NFS, SMB and SCSI; whether it was \
                       tbench, of a network",
        },
        Form {
            bring: "its last line alone",
            recorded: &["3"],
            read: "throughput, clients, the longest wait of 4 and 5",
            not_read: "lines of dbench 1 and 2 (`NB=`)",
        },
    ],
    words: &["dbench", "Dbench", "NTCreateX", "Deltree", "Throughput", "procs", "MaxLat"],
    mark: "line `dbench version 4.00`, nor `Throughput 162.5 MB/sec  2 clients  2 procs ...`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.starts_with("dbench version ") || is_closing(line) || is_head(line)
    })
}

/// Whether it is how a run ends: nobody else counts procs there.
fn is_closing(line: &str) -> bool {
    line.starts_with("Throughput ") && line.contains(" MB/sec") && line.contains(" procs")
}

/// Whether it is the head of its table.
fn is_head(line: &str) -> bool {
    line.split_whitespace().eq(["Operation", "Count", "AvgLat", "MaxLat"])
}

/// The table's names for operations, of 4 and of 5, and ours.
const OPERATIONS: [(&str, &str); 23] = [
    ("NTCreateX", "ntcreatex"),
    ("Close", "close"),
    ("Rename", "rename"),
    ("Unlink", "unlink"),
    ("Deltree", "deltree"),
    ("Mkdir", "mkdir"),
    ("Rmdir", "rmdir"),
    ("Qpathinfo", "qpathinfo"),
    ("Qfileinfo", "qfileinfo"),
    ("Qfsinfo", "qfsinfo"),
    ("Sfileinfo", "sfileinfo"),
    ("Find", "find"),
    ("WriteX", "writex"),
    ("ReadX", "readx"),
    ("LockX", "lockx"),
    ("UnlockX", "unlockx"),
    ("Flush", "flush"),
    ("Punch", "punch"),
    ("QUERY_PATH_INFORMATION", "qpathinfo"),
    ("QUERY_FILE_INFORMATION", "qfileinfo"),
    ("QUERY_FS_INFORMATION", "qfsinfo"),
    ("SET_FILE_INFORMATION", "sfileinfo"),
    ("FIND_FIRST", "find"),
];

/// Begins the tables of single clients.
const PER_CLIENT: &str = "Per client results:";

/// `Client 0 did 5905 lines and 47013616 bytes`
fn is_client(line: &str) -> bool {
    line.starts_with("Client ") && line.contains(" did ") && line.ends_with(" bytes")
}

/// A run of dbench that is being read.
#[derive(Default)]
struct DbenchRun {
    said: ToolResult,
    /// Whether the tables are of single clients now.
    per_client: bool,
}

/// One result for each closing line, which comes last and has its end.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut open: Option<DbenchRun> = None;
    for line in text.split_inclusive('\n') {
        let (line, whole) = match line.strip_suffix('\n') {
            Some(line) => (line.trim(), true),
            None => (line.trim_start(), false),
        };
        if let Some(rest) = line.strip_prefix("dbench version ") {
            if open.is_some() {
                return Err("a run of it has no closing line".to_owned());
            }
            let version = rest.split(' ').next().unwrap_or_default().to_owned();
            open = Some(DbenchRun {
                said: ToolResult { version, ..ToolResult::default() },
                per_client: false,
            });
        } else if whole && is_closing(line) {
            let mut run = open.take().unwrap_or_default();
            closing(&mut run.said, line)?;
            if run.per_client {
                let text = "Its tables of single clients (--per-client-results) are left out.";
                run.said.notes.push(Note::new("left-out", text));
            }
            all.push(run.said);
        } else if whole && (line == PER_CLIENT || is_client(line)) {
            let run = open.as_mut().ok_or("tables of single clients have no run before them")?;
            run.per_client = true;
        } else if whole && (is_head(line) || open.is_some()) {
            let run = open.get_or_insert_default();
            if !run.per_client {
                operation(&mut run.said, line)?;
            }
        }
    }
    match (open, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: a run of it has no closing line".to_owned()),
        (None, true) => Err("there is no run of dbench in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// A row of the table: name, count, mean and longest wait in ms.
fn operation(said: &mut ToolResult, line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, mean, max] = words.as_slice() else { return Ok(()) };
    let Some((_, ours)) = OPERATIONS.iter().find(|(theirs, _)| theirs == name) else {
        if [count, mean, max].iter().all(|word| word.parse::<f64>().is_ok()) {
            let text = format!("Its operation {name} is not known, and is left out.");
            said.notes.push(Note::new("left-out", text));
        }
        return Ok(());
    };
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("`{line}` in its table is no row of numbers"))
    };
    let done = number(count)?;
    said.add(format!("{ours}_count"), done, *count);
    // Of nothing done there is no wait; dbench divides by zero there.
    if done > 0.0 {
        let (mean_ms, max_ms) = (number(mean)?, number(max)?);
        if mean_ms > max_ms + LAST_PLACE {
            return Err(format!("`{line}` in its table has a mean above its longest wait"));
        }
        said.add(format!("{ours}_latency_ns_mean"), mean_ms * 1e6, format!("{mean} ms"));
        said.add(format!("{ours}_latency_ns_max"), max_ms * 1e6, format!("{max} ms"));
    }
    Ok(())
}

/// Of waits, in ms.
const LAST_PLACE: f64 = 0.001;

/// `Throughput 147.244 MB/sec (sync open)  2 clients  2 procs  max_latency=34.265 ms`; of 3 without
/// clients and a wait.
fn closing(said: &mut ToolResult, line: &str) -> Result<(), String> {
    let wrong = || format!("`{line}` is not its closing line");
    if line.contains("(NB=") {
        return Err(format!("`{line}` is of dbench 1 or 2, which is not read; run 3 to 5"));
    }
    let mut rest = line.strip_prefix("Throughput ").ok_or_else(wrong)?.to_owned();
    for mode in ["sync open", "sync dirs"] {
        let words = format!(" ({mode})");
        if rest.contains(&words) {
            rest = rest.replacen(&words, "", 1);
            let both = if said.title.is_empty() { "" } else { ", " };
            said.title = format!("{}{both}{mode}", said.title);
        }
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (rate, clients, wait) = match words.as_slice() {
        [rate, "MB/sec", clients, "clients", _, "procs", wait, "ms"] => {
            (rate, clients, Some(wait.strip_prefix("max_latency=").ok_or_else(wrong)?))
        }
        [rate, "MB/sec", procs, "procs"] => (rate, procs, None),
        _ => return Err(wrong()),
    };
    let number =
        |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong);
    let table = said.figures.len();
    match number(rate)? {
        // It takes its rate once a second, and prints 0 when it came to none.
        rate if rate <= 0.0 => said.notes.push(Note::new(
            "too-quick",
            "dbench ended before it had taken its first rate, and printed 0 for it.",
        )),
        value => said.add("throughput_bytes_per_s", value * 1e6, format!("{rate} MB/sec")),
    }
    if let Some(wait) = wait
        && number(wait)? > 0.0
    {
        said.add("latency_ns_max", number(wait)? * 1e6, format!("{wait} ms"));
    }
    // What sums it all up stands first.
    said.figures.rotate_left(table);
    let clients: u64 = clients.parse().map_err(|_| wrong())?;
    said.settings = Map::from_iter([("streams".to_owned(), clients.into())]);
    match said.figures.is_empty() {
        true => Err("its closing line has no rate, and no table stands before it".to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, has, rounded, same_or_refused};
    use base::stats::testing::Random;

    const TWO: &str = include_str!("../../../tests/fixtures/tools/dbench-4.00-two-clients.txt");
    const SYNC: &str = include_str!("../../../tests/fixtures/tools/dbench-4.00-sync.txt");
    const CLIENTS: &str = include_str!("../../../tests/fixtures/tools/dbench-4.00-per-client.txt");
    const TBENCH: &str = include_str!("../../../tests/fixtures/tools/dbench-4.00-tbench.txt");
    const LONE: &str = include_str!("../../../tests/fixtures/tools/dbench-3-lone-lines.txt");
    const TWO_OF_3: &str =
        include_str!("../../../tests/fixtures/tools/dbench-3.04-two-clients.txt");
    const TBENCH_OF_3: &str = include_str!("../../../tests/fixtures/tools/dbench-3.04-tbench.txt");
    const TWO_OF_5: &str = include_str!("../../../tests/fixtures/tools/dbench-5.0-two-clients.txt");
    const TBENCH_OF_5: &str = include_str!("../../../tests/fixtures/tools/dbench-5.0-tbench.txt");

    #[test]
    fn the_closing_line_and_the_table_are_read() {
        let all = parse(TWO).unwrap();
        assert_eq!(all.len(), 1);
        let closing = TWO.lines().last().unwrap();
        let rate: f64 = closing.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert_eq!(figure(&all[0], "throughput_bytes_per_s"), Some(rate * 1e6));
        assert_eq!((all[0].version.as_str(), &all[0].settings["streams"]), ("4.00", &2.into()));
        for name in ["writex_count", "readx_latency_ns_mean", "unlink_latency_ns_max"] {
            assert!(figure(&all[0], name) > Some(0.0), "{name}");
        }
        assert_eq!(parse(&format!("{TWO}{TWO}")).unwrap().len(), 2);
        assert_eq!(all[0].figures[0].name, "throughput_bytes_per_s", "the sum stands first");
    }

    #[test]
    fn a_rate_that_dbench_never_took_is_no_rate_of_zero() {
        let rate = TWO.lines().last().unwrap().split_whitespace().nth(1).unwrap();
        let said = &parse(&TWO.replace(&format!("Throughput {rate}"), "Throughput 0")).unwrap()[0];
        assert_eq!(figure(said, "throughput_bytes_per_s"), None);
        assert_eq!(said.notes[0].kind, "too-quick");
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let cut = &TWO[..TWO.len() - 1];
        assert!(parse(cut).unwrap_err().contains("cut short"));
        assert!(parse(&format!("{cut}\n{cut}")).unwrap_err().contains("cut short"));
        assert!(parse("elephant\n").is_err());
        let odd = TWO.replace("MB/sec  2 clients", "MB/sec  many clients");
        assert!(parse(&odd).unwrap_err().contains("closing line"));
        let old = "Throughput 339.884 MB/sec (NB=424.855 MB/sec  3398.84 MBit/sec)  4 procs\n";
        assert!(parse(old).unwrap_err().contains("of dbench 1 or 2"));
        let mean = TWO.replace("     8.149", "     0.001");
        assert!(parse(&mean).unwrap_err().contains("a mean above its longest"));
    }

    /// By hand: 2.61646 MB/sec are 2616460 B/s.
    #[test]
    fn writes_that_were_synchronous_are_told_apart() {
        let all = DBENCH.read(SYNC).unwrap();
        let told: Vec<_> = all.iter().map(|said| (said.title.as_str(), &said.settings)).collect();
        assert_eq!(told[0].0, "sync open");
        assert_eq!((told[1].0, &told[1].1["streams"]), ("sync dirs", &2.into()));
        assert_eq!(rounded(&all[0], "throughput_bytes_per_s"), Some(2_616_460.0));
        let both = SYNC.replacen("(sync open)", "(sync open) (sync dirs)", 1);
        assert_eq!(DBENCH.read(&both).unwrap()[0].title, "sync open, sync dirs");
    }

    /// Tables of clients stood in one result with that of all: "its ntcreatex_count stands there
    /// twice".
    #[test]
    fn tables_of_single_clients_are_left_out_with_a_note() {
        let said = &DBENCH.read(CLIENTS).unwrap()[0];
        assert_eq!(figure(said, "ntcreatex_count"), Some(2022.0));
        assert_eq!(rounded(said, "ntcreatex_latency_ns_max"), Some(192_175_000.0));
        assert_eq!(said.notes[0].kind, "left-out");
    }

    /// 150.215 MB/sec are 150215000 B/s. Of 3 there is no wait, and of a line alone no version.
    #[test]
    fn closing_lines_alone_are_results_and_tbench_prints_what_dbench_does() {
        let all = DBENCH.read(LONE).unwrap();
        assert_eq!(all.len(), 8);
        assert_eq!(rounded(&all[0], "throughput_bytes_per_s"), Some(150_215_000.0));
        assert_eq!((all[0].figures.len(), &all[7].settings["streams"]), (1, &16.into()));
        let tbench = &DBENCH.read(TBENCH).unwrap()[0];
        assert_eq!(rounded(tbench, "throughput_bytes_per_s"), Some(120_449_000.0));
        let line = TWO.lines().last().unwrap();
        let said = &DBENCH.read(&format!("{line}\n")).unwrap()[0];
        assert_eq!(rounded(said, "latency_ns_max"), Some(13_720_000.0));
    }

    /// 46.6553 MB/sec are 46655300 B/s; 3 has no table, and no clients but processes.
    #[test]
    fn version_3_has_a_rate_and_nothing_else() {
        for (text, rate) in [(TWO_OF_3, 46_655_300.0), (TBENCH_OF_3, 97_567_100.0)] {
            let all = DBENCH.read(text).unwrap();
            assert_eq!((all.len(), all[0].version.as_str()), (1, "3.04"));
            assert_eq!(rounded(&all[0], "throughput_bytes_per_s"), Some(rate));
            assert_eq!((all[0].figures.len(), &all[0].settings["streams"]), (1, &2.into()));
        }
    }

    /// "FIND_FIRST" and its like, which 4 calls "Find", stood in no figure: 5 of 16 rows were lost.
    #[test]
    fn operations_that_5_calls_otherwise_are_those_of_4() {
        let said = &DBENCH.read(TWO_OF_5).unwrap()[0];
        assert_eq!((said.version.as_str(), said.notes.len()), ("5.0", 0));
        has(
            said,
            &[
                ("throughput_bytes_per_s", 36_139_700.0),
                ("latency_ns_max", 388_455_000.0),
                ("flush_count", 108.0),
                ("flush_latency_ns_mean", 34_118_000.0),
                ("flush_latency_ns_max", 388_452_000.0),
                ("writex_count", 1426.0),
                ("writex_latency_ns_mean", 339_000.0),
                ("find_count", 448.0),
                ("find_latency_ns_mean", 19_000.0),
                ("sfileinfo_latency_ns_max", 43_000.0),
                ("qfileinfo_count", 340.0),
                ("qpathinfo_latency_ns_max", 67_000.0),
                ("qfsinfo_latency_ns_mean", 2000.0),
            ],
        );
        assert_eq!(said.figures.len(), 2 + 16 * 3);
        let said = &DBENCH.read(TBENCH_OF_5).unwrap()[0];
        has(said, &[("throughput_bytes_per_s", 93_439_500.0), ("find_count", 3200.0)]);
        assert_eq!(said.figures.len(), 2 + 16 * 3);
        let nfs = TWO_OF_5.replace(" FIND_FIRST  ", " READDIRPLUS3");
        let said = &DBENCH.read(&nfs).unwrap()[0];
        assert_eq!(figure(said, "find_count"), None);
        assert!(said.notes[0].text.contains("operation READDIRPLUS3 is not known"));
    }

    /// Indented, with lines between, operations in another order.
    #[test]
    fn what_says_the_same_in_another_way_gives_the_same_numbers() {
        let mut random = Random::new(20_261_201);
        let mut kept = 0;
        for round in 0..200 {
            let all = [TWO, SYNC, CLIENTS, TBENCH, LONE, TWO_OF_3, TWO_OF_5, TBENCH_OF_5];
            let whole = all[round % all.len()];
            let indent = if random.uniform() < 0.5 { "   " } else { "" };
            let mut lines: Vec<String> = whole.lines().map(|it| format!("{indent}{it}")).collect();
            for at in 1..lines.len() {
                let is_row = |at: usize| lines[at].split_whitespace().count() == 4;
                if is_row(at) && is_row(at - 1) && random.uniform() < 0.3 {
                    lines.swap(at, at - 1);
                }
            }
            let many = lines.len();
            if random.uniform() < 0.3 {
                lines.insert(many / 2, "failed to create barrier semaphore".to_owned());
            }
            let changed = format!("{}\n", lines.join("\n"));
            kept += usize::from(same_or_refused(&DBENCH, whole, &changed, 0.0));
        }
        assert!(kept > 150, "{kept}");
    }

    /// "A wait in its table is above the longest of all" was said of a whole output, seen in a run
    /// here: the closing line of dbench 4 now and then has a shorter one than its table.
    #[test]
    fn the_closing_line_may_have_a_shorter_wait_than_the_table() {
        let short = TWO.replace("max_latency=13", "max_latency=1");
        assert_ne!(short, TWO);
        assert_eq!(parse(&short).unwrap().len(), 1);
    }
}
