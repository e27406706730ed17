//! (pure) Which column of vdbench's tables is which.
//!
//! Names are those of the flat file in small letters, for the reports as well, whose heads have two
//! lines: a word in each, or over two columns of one operation a word among points.

/// The columns of a table of Vdbench.
pub struct VdbenchColumns {
    /// Of the rest of a row, behind its label.
    names: Vec<String>,
    /// Whether it is of operations on files, not of I/Os on devices.
    pub files: bool,
    /// What MB/sec is of, where the head says it.
    pub mb: Option<f64>,
    /// In a flat file a label is the fourth word, in a report the first or second.
    flat: bool,
}

/// Of 1024 bytes each way.
pub const BINARY: f64 = 1_048_576.0;
/// Of 1000.
pub const DECIMAL: f64 = 1e6;

/// Whether a line is the head of a table that is read, or the first line of one.
pub fn is_head(line: &str) -> bool {
    first_line(line).is_some() || VdbenchColumns::of_flat_file(line).is_some()
}

/// Whether it is one of a table that is not: `interval KSTAT_i/o resp wait ...`.
pub fn is_of_another_table(line: &str) -> bool {
    line.split_whitespace().any(|word| word == "KSTAT_i/o")
}

/// The words behind `interval` of the first line of a head, without points.
pub fn first_line(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('.')).collect();
    let at = words.iter().position(|word| word.eq_ignore_ascii_case("interval"))?;
    let behind = words.get(at + 1..)?;
    let known = match *behind.first()? {
        // A date stands before it, but where only the table was kept.
        "i/o" => behind.get(1) == Some(&"MB/sec"),
        "ReqstdOps" => true,
        _ => false,
    };
    known.then(|| behind.iter().map(|word| (*word).to_owned()).collect())
}

impl VdbenchColumns {
    /// `tod timestamp Run Interval reqrate rate ...`.
    pub fn of_flat_file(line: &str) -> Option<VdbenchColumns> {
        let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
        let labels = ["tod", "timestamp", "run", "interval"];
        let names = words.strip_prefix(&labels.map(str::to_owned)[..])?;
        let has = |name: &str| names.iter().any(|known| known == name);
        let all = has("rate") && has("mb/sec") && has("resp");
        // Of files it is always of 1024.
        let files = has("mb_read");
        let mb = files.then_some(BINARY);
        all.then(|| VdbenchColumns { names: names.to_vec(), files, mb, flat: true })
    }

    /// Of the two lines of the head of a report.
    pub fn of_report(first: &[String], second: &str) -> Option<VdbenchColumns> {
        let mut below = second.split_whitespace();
        let mut names = Vec::new();
        let files = first.first().is_some_and(|word| word == "ReqstdOps");
        let mut mb = files.then_some(BINARY);
        for above in first {
            let group = above.to_lowercase();
            let word = below.next()?;
            match (group.as_str(), word) {
                ("i/o", "rate") => names.push("rate".to_owned()),
                ("mb/sec", "1024**2") => {
                    mb = Some(BINARY);
                    names.push("mb/sec".to_owned());
                }
                ("mb/sec", "1000**2") => {
                    mb = Some(DECIMAL);
                    names.push("mb/sec".to_owned());
                }
                ("mb/sec", "total") => names.push("mb/sec".to_owned()),
                ("mb/sec", "read") => {
                    names.push("mb_read".to_owned());
                    names
                        .push(below.next().filter(|it| *it == "write").map(|_| "mb_write")?.into());
                }
                ("bytes", "i/o") => names.push("bytes/io".to_owned()),
                ("read", "pct") => names.push("read%".to_owned()),
                ("resp", "time") => names.push("resp".to_owned()),
                ("cpu%", "total") => {
                    names.push("cpu_used".to_owned());
                    names.push(below.next().filter(|it| *it == "sys").map(|_| "cpu_sys")?.into());
                }
                ("cpu%", "sys+u" | "sys+usr") => names.push("cpu_used".to_owned()),
                ("xfer", "size") => names.push("xfersize".to_owned()),
                ("reqstdops", "rate") => {
                    names.push("rate".to_owned());
                    names.push(below.next().filter(|it| *it == "resp")?.to_owned());
                }
                // Over two columns: `...mkdir....` over `rate` and `resp`.
                (group, "rate") => {
                    names.push(format!("{group}_rate"));
                    names.push(
                        below.next().filter(|it| *it == "resp").map(|_| format!("{group}_resp"))?,
                    );
                }
                (group, word) => names.push(format!("{group}_{word}")),
            }
        }
        let has = |name: &str| names.iter().any(|known| known == name);
        let all = below.next().is_none() && has("rate") && has("mb/sec") && has("resp");
        all.then_some(VdbenchColumns { names, files, mb, flat: false })
    }

    /// The label of a row, `3` or `avg_2-5`, and the name of its run where it says it; of a line
    /// that is no row nothing.
    pub fn labels<'a>(&self, words: &[&'a str]) -> Option<(&'a str, Option<&'a str>)> {
        let is_label = |word: &str| word.starts_with("avg_") || word.parse::<u32>().is_ok();
        let is_time = |word: &&str| word.len() == 12 && word.matches(':').count() == 2;
        if self.flat {
            words.first().filter(|word| is_time(word))?;
            let label = words.get(3).filter(|word| is_label(word))?;
            return Some((label, words.get(2).copied()));
        }
        let at = usize::from(words.first().is_some_and(is_time));
        let label = words.get(at).filter(|word| is_label(word))?;
        Some((label, None))
    }

    /// Its values by the names of their columns; `None` where there are more or fewer.
    pub fn values<'a>(&'a self, words: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
        let values = words.get(words.len().checked_sub(self.names.len())?..)?;
        let labels = words.len() - values.len();
        let fits = if self.flat { labels == 4 } else { labels == 1 || labels == 2 };
        let label = self.labels(words)?.0;
        let last = words.get(labels.checked_sub(1)?) == Some(&label);
        let names = self.names.iter().map(String::as_str);
        (fits && last).then(|| names.zip(values.iter().copied()).collect())
    }
}
