//! (pure) IOR 2.10.3 to 4: its closing summary, as text and as JSON, and its CSV.
//!
//! Rates are in MiB/s (2^20 bytes) and 1/s; of several repetitions IOR gives the mean, the highest
//! and the lowest. One run may have several tests (`-f SCRIPT`): each is a result. The columns are
//! those of IOR's own `PrintLongSummaryOneOperation`, and of `SummarizeResults` in 2.10.

use super::{Form, Importer, ToolResult};

mod csv;
mod json;
mod summary;
mod text;
#[cfg(test)]
mod tests;

/// See [`Importer`].
pub const IOR: Importer = Importer {
    name: "ior",
    about: "All that IOR 2.10.3 to 4 prints, run by hand or by IO500",
    forms: &[
        Form {
            bring: "all that it prints",
            recorded: &["2.10.3", "3.0.1", "3.1.0", "3.2.1", "3.3.0", "4.0.0", "4.1.0"],
            read: "the rate of each test and way, with its highest and lowest; of what IO500 \
                   started, the rate of its one repetition",
            not_read: "versions before 2.10.3, which print no mean; rates at the stonewall, which \
                       are of one task",
        },
        Form {
            bring: "what it prints with `-O summaryFormat=JSON`",
            recorded: &["3.3.0", "4.0.0", "4.1.0"],
            read: "the same",
            not_read: "the JSON of 3.2, which is broken",
        },
        Form {
            bring: "what it prints with `-O summaryFormat=CSV`",
            recorded: &["4.0.0", "4.1.0"],
            read: "the rate of each repetition, a result each",
            not_read: "the CSV of 3.2 and 3.3, which has no rates; I/Os per second, which are of \
                       the transfers alone",
        },
    ],
    words: &[
        "IOR",
        "transfersize",
        "xfersize",
        "blocksize",
        "segmentcount",
        "Max Write",
        "Max Read",
        "access    bw(MiB/s)",
        "tasks",
        "Stonewall",
    ],
    mark: "line `IOR-3.3.0: MPI Coordinated Test of Parallel I/O`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(text::begins) || json::knows(text) || csv::knows(text)
}

/// Of several forms in one file, the text first: a log has one of them.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = text::parse(text)?;
    all.extend(csv::parse(text)?);
    if json::knows(text) {
        all.extend(json::parse(text)?);
    }
    match all.is_empty() {
        true => Err("there is no run of IOR in it".to_owned()),
        false => Ok(all),
    }
}
