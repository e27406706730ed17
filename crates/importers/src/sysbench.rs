//! (pure) sysbench 1.0's `fileio`: its text.
//!
//! Its rates are in MiB/s and 1/s, its waits in ms.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, Said};

/// See [`Importer`].
pub const SYSBENCH: Importer = Importer {
    name: "sysbench",
    about: "All that `sysbench fileio ... run` of sysbench 1.0 prints",
    forms: &[Form {
        bring: "sysbench fileio ... run",
        recorded: &["1.0.20"],
        read: "rates, IOPS and latencies",
        not_read: "versions 0.4, 0.5 and 1.1",
    }],
    words: &[
        "sysbench",
        "Extra file open flags",
        "reads/s",
        "writes/s",
        "fsyncs/s",
        "events per second",
        "Threads started",
    ],
    mark: "line `sysbench 1.0.20` with `file open flags` below it",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("sysbench ")) && text.contains("file open flags:")
}

/// Versions whose text is read: 0.4 and 0.5 have other lines, and 1.1 has its rates elsewhere.
const VERSIONS: &str = "1.0.";

/// One result for each run, from its first line to its last.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else { continue };
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("sysbench ") {
            if said.is_some() {
                return Err("a run of it has no last line".to_owned());
            }
            let version = rest.split([' ', ':']).next().unwrap_or_default().to_owned();
            if !version.starts_with(VERSIONS) {
                return Err(format!(
                    "sysbench {version} prints another form than sysbench 1.0, which can be \
                     imported; run that one (apt-get install sysbench)"
                ));
            }
            said = Some(Said { version, ..Said::default() });
        } else if let Some(one) = &mut said {
            setting(&mut one.settings, line);
            figure(one, line)?;
            // The last that it prints.
            if line.starts_with("execution time (avg/stddev):") {
                all.extend(said.take());
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: a run of it has no last line".to_owned()),
        (None, true) => Err("there is no run of sysbench's fileio in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// `key: value` lines with figures: key, name, and what makes our unit of theirs.
const LINES: [(&str, &str, f64, &str); 9] = [
    ("reads/s", "read_iops", 1.0, "1/s"),
    ("writes/s", "write_iops", 1.0, "1/s"),
    ("fsyncs/s", "fsync_per_s", 1.0, "1/s"),
    ("read, MiB/s", "read_throughput_bytes_per_s", 1_048_576.0, "MiB/s"),
    ("written, MiB/s", "write_throughput_bytes_per_s", 1_048_576.0, "MiB/s"),
    ("avg", "latency_ns_mean", 1e6, "ms"),
    ("max", "latency_ns_max", 1e6, "ms"),
    ("95th percentile", "latency_ns_p95", 1e6, "ms"),
    ("99th percentile", "latency_ns_p99", 1e6, "ms"),
];

fn figure(said: &mut Said, line: &str) -> Result<(), String> {
    let Some((key, value)) = line.split_once(':') else { return Ok(()) };
    let Some((_, name, factor, unit)) = LINES.iter().find(|(known, ..)| *known == key) else {
        return Ok(());
    };
    let value = value.trim();
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| format!("`{line}` in its output has no number"))?;
    // What was not done has no rate.
    if number > 0.0 || name.starts_with("latency") {
        said.add(*name, number * factor, format!("{value} {unit}"));
    }
    Ok(())
}

/// What was asked, as far as it says.
fn setting(known: &mut Map<String, Json>, line: &str) {
    let mut set = |knob: &str, value: Json| {
        known.insert(knob.to_owned(), value);
    };
    if let Some(mode) = line.strip_prefix("Doing ").and_then(|it| it.strip_suffix(" test")) {
        match mode {
            "sequential read" => set("access", "read".into()),
            "sequential write (creation)" => set("access", "write".into()),
            "random read" => set("access", "random-read".into()),
            "random write" => set("access", "random-write".into()),
            _ => {}
        }
    } else if let Some(size) = line.strip_prefix("Block size ").and_then(bytes) {
        set("block-size", size.into());
    } else if let Some((files, size)) = line.split_once(" files, ")
        && let (Ok(files), Some(size)) =
            (files.parse::<u64>(), size.strip_suffix(" each").and_then(bytes))
    {
        set("files", files.into());
        set("file-size", size.into());
    } else if let Some(flags) = line.strip_prefix("Extra file open flags: ") {
        set("direct", (flags == "directio").into());
    }
}

/// `4KiB`, `16MiB`.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let shift = match &text[end..] {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    text[..end].parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = include_str!("../../../tests/fixtures/tools/sysbench-1.0.20-read.txt");
    const WRITE: &str = include_str!("../../../tests/fixtures/tools/sysbench-1.0.20-write.txt");
    const OLD: &str = include_str!("../../../tests/fixtures/tools/sysbench-0.4.12-refused.txt");

    fn value(said: &Said, name: &str) -> Option<f64> {
        said.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }

    #[test]
    fn rates_and_waits_are_read_and_what_was_not_done_has_none() {
        let all = parse(READ).unwrap();
        let said = &all[0];
        assert_eq!((all.len(), said.version.as_str()), (1, "1.0.20"));
        assert!(value(said, "read_iops") > Some(1.0) && value(said, "latency_ns_p99") > Some(1e3));
        assert_eq!(value(said, "write_iops"), None);
        assert_eq!(said.settings["access"], "random-read");
        assert_eq!((&said.settings["direct"], &said.settings["files"]), (&true.into(), &2.into()));
        assert_eq!(
            (said.settings["block-size"].clone(), 4096.into()),
            (4096.into(), said.settings["block-size"].clone())
        );
        let wrote = &parse(WRITE).unwrap()[0];
        assert!(value(wrote, "write_throughput_bytes_per_s") > Some(1e5));
        assert_eq!(value(wrote, "read_iops"), None);
        assert_eq!(parse(&format!("{READ}{WRITE}")).unwrap().len(), 2);
    }

    /// Of 0.4.12 "`avg: 0.37ms` in its output has no number": it has another form.
    #[test]
    fn another_version_is_refused_by_its_name() {
        let why = parse(OLD).unwrap_err();
        assert!(why.contains("sysbench 0.4.12 prints") && why.contains("apt-get"), "{why}");
        assert!(parse(&format!("{READ}{OLD}")).is_err());
        for version in ["0.5", "1.1.0-18a9f86", "2.0.1"] {
            let other = READ.replace("sysbench 1.0.20", &format!("sysbench {version}"));
            assert!(parse(&other).unwrap_err().contains(version), "{version}");
        }
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let end = READ.find("execution time").unwrap();
        assert!(parse(&READ[..end]).unwrap_err().contains("cut short"));
        assert!(parse(&READ[..end + 40]).is_err(), "its last line has no end");
        assert!(parse(&format!("{}{READ}", &READ[..end])).unwrap_err().contains("no last line"));
        let odd = READ.replace("reads/s:  ", "reads/s: x");
        assert!(parse(&odd).unwrap_err().contains("no number"));
    }
}
