//! (pure) What DiskSpd prints with -Rxml, of which a time span is a result: bytes and I/Os of each
//! thread and target, the time they took, and percentiles of latencies.

use roxmltree::{Document, Node};

use super::{Moved, Order, PERCENTILES, Target, WAYS, XML, fixed, ns, of_all, ways};
use crate::ToolResult;

/// Whether a text has its results in XML.
pub fn knows(text: &str) -> bool {
    let has = |tags: [&str; 2]| tags.iter().all(|tag| text.contains(tag));
    [[XML.0, "<TestTimeSeconds>"], [XML.0, "<TimeSpans>"], [XML.0, "<VersionDate>"]]
        .into_iter()
        .any(has)
}

/// One result for each time span of what stands between `<Results>` and its end.
///
/// # Errors
/// When it is no XML, or contradicts itself.
pub fn parse(inner: &str) -> Result<Vec<ToolResult>, String> {
    let text = format!("{}{inner}{}", XML.0, XML.1);
    let document = Document::parse(&text).map_err(|error| format!("its XML is broken: {error}"))?;
    let root = document.root_element();
    let version = child(root, "System").and_then(|system| child(system, "Tool"));
    let version = version.and_then(|tool| text_of(tool, "Version")).unwrap_or_default();
    let profile = child(root, "Profile").and_then(|profile| child(profile, "TimeSpans"));
    let asked: Vec<Node<'_, '_>> = profile.into_iter().flat_map(|it| all(it, "TimeSpan")).collect();
    let spans: Vec<Node<'_, '_>> = all(root, "TimeSpan").collect();
    if spans.len() != asked.len() && !asked.is_empty() {
        return Err(format!("it asked for {} time spans and has {}", asked.len(), spans.len()));
    }
    let mut told = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        let mut said = of_span(*span, asked.get(at).copied())
            .map_err(|why| format!("time span {} of its XML {why}", at + 1))?;
        version.clone_into(&mut said.version);
        if spans.len() > 1 {
            said.title = format!("timespan {}", at + 1);
        }
        told.push(said);
    }
    Ok(told)
}

fn all<'a, 'd>(of: Node<'a, 'd>, name: &str) -> impl Iterator<Item = Node<'a, 'd>> {
    of.children().filter(move |child| child.has_tag_name(name))
}

/// The one child of that name.
fn child<'a, 'd>(of: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    let mut all = all(of, name);
    all.next().filter(|_| all.next().is_none())
}

fn text_of<'a>(of: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(of, name)?.text().map(str::trim)
}

/// # Errors
/// When there is not one such number.
fn number(of: Node<'_, '_>, name: &str) -> Result<u64, String> {
    let number = text_of(of, name).and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("has no number, or several, in {name}"))
}

fn of_span(span: Node<'_, '_>, asked: Option<Node<'_, '_>>) -> Result<ToolResult, String> {
    if let Some(error) = text_of(span, "Error") {
        return Err(format!("has no results: {error}"));
    }
    let printed = text_of(span, "TestTimeSeconds").unwrap_or_default();
    let seconds = fixed(printed, 2).filter(|seconds| *seconds > 0.0);
    let seconds = seconds.ok_or("has no number, or several, in TestTimeSeconds")?;
    let threads = number(span, "ThreadCount")?;
    let mut moved = [Moved::default(); 3];
    let mut rows = 0;
    for thread in all(span, "Thread") {
        rows += 1;
        for target in all(thread, "Target") {
            let of = targets_moved(target)?;
            for (sum, of) in moved.iter_mut().zip(of) {
                *sum = sum.and(of).ok_or("moved more than there can be")?;
            }
        }
    }
    if rows != threads || moved[0].ios == 0 {
        return Err(format!("has {threads} threads, {rows} of them with I/O"));
    }
    let targets: Vec<Target> =
        asked.and_then(|it| child(it, "Targets")).map(targets).unwrap_or_default();
    moved[0].check(&targets)?;
    let mut said = ToolResult::default();
    for way in ways(&moved) {
        let (before, Moved { bytes, ios }) = (WAYS[way], moved[way]);
        let printed = |count: u64, what: &str| format!("{count} {what} in {printed} s");
        let rate = bytes as f64 / seconds;
        said.add(format!("{before}throughput_bytes_per_s"), rate, printed(bytes, "bytes"));
        said.add(format!("{before}iops"), ios as f64 / seconds, printed(ios, "I/Os"));
    }
    match child(span, "Latency") {
        Some(latency) => latencies(&mut said, latency, &moved)?,
        None if asked.and_then(|it| text_of(it, "MeasureLatency")) == Some("true") => {
            return Err("has no Latency, or several".to_owned());
        }
        None => {}
    }
    let average = child(span, "CpuUtilization").and_then(|cpu| child(cpu, "Average"));
    if let Some(busy) = average.and_then(|average| text_of(average, "UsagePercent")) {
        let percent = fixed(busy, 2).ok_or("has a UsagePercent that is no number")?;
        said.add("host_cpu_busy_share", percent / 100.0, format!("{busy} %"));
    }
    let pool = asked.and_then(|it| number(it, "ThreadCount").ok()).is_some_and(|many| many > 0);
    of_all(&mut said, &targets, threads, pool);
    Ok(said)
}

/// What a thread moved on a target, as [`WAYS`] are.
fn targets_moved(target: Node<'_, '_>) -> Result<[Moved; 3], String> {
    let mut all = [Moved::default(); 3];
    let names =
        [("BytesCount", "IOCount"), ("ReadBytes", "ReadCount"), ("WriteBytes", "WriteCount")];
    for (place, (bytes, ios)) in all.iter_mut().zip(names) {
        *place = Moved { bytes: number(target, bytes)?, ios: number(target, ios)? };
    }
    match all[1].and(all[2]) == Some(all[0]) {
        true => Ok(all),
        false => Err("has reads and writes that are not all of its I/O".to_owned()),
    }
}

/// Means, and percentiles, of which each has a `<Bucket>`.
fn latencies(said: &mut ToolResult, of: Node<'_, '_>, moved: &[Moved; 3]) -> Result<(), String> {
    let buckets: Vec<Node<'_, '_>> = all(of, "Bucket").collect();
    let shown: Vec<usize> = ways(moved).collect();
    for (way, name) in ["Total", "Read", "Write"].into_iter().enumerate() {
        if moved[way].ios == 0 {
            continue;
        }
        let mean = text_of(of, &format!("Average{name}Milliseconds")).and_then(|it| fixed(it, 3));
        let mean = mean.ok_or_else(|| format!("has no mean latency of {name}"))?;
        let mut values = Vec::new();
        for bucket in &buckets {
            let percentile = text_of(*bucket, "Percentile").unwrap_or_default();
            let ms = text_of(*bucket, &format!("{name}Milliseconds")).and_then(|it| fixed(it, 3));
            values.push((percentile, ms.ok_or("has a percentile without its number")?));
        }
        let ends = values.first().zip(values.last());
        let whole = ends.is_some_and(|(low, high)| {
            (low.0, high.0) == ("0", "100") && low.1 - 0.001 < mean && mean < high.1 + 0.001
        });
        if !whole || !values.is_sorted_by(|(_, one), (_, next)| one <= next) {
            return Err("has percentiles that are not in order, or not whole".to_owned());
        }
        if !shown.contains(&way) {
            continue;
        }
        let before = format!("{}latency_ns_", WAYS[way]);
        said.add(format!("{before}mean"), ns(mean), format!("{mean:.3} ms"));
        for (printed, _, ours) in PERCENTILES {
            let same: Vec<f64> =
                values.iter().filter(|(known, _)| *known == printed).map(|it| it.1).collect();
            let [ms] = same[..] else {
                return Err(format!("has no percentile {printed}, or several"));
            };
            said.add(format!("{before}{ours}"), ns(ms), format!("{ms:.3} ms"));
        }
    }
    Ok(())
}

fn targets(of: Node<'_, '_>) -> Vec<Target> {
    all(of, "Target").map(target).collect()
}

/// What `Target::GetXml` says; it says nothing of a cache that is used.
fn target(of: Node<'_, '_>) -> Target {
    let text = |name: &str| text_of(of, name);
    let is = |name: &str| text(name) == Some("true");
    let whole = |name: &str| number(of, name).ok();
    let mixed = whole("RandomRatio").is_some_and(|ratio| ratio < 100);
    let order = match (child(of, "Random").is_some(), mixed) {
        (true, true) => Order::Mixed,
        (true, false) => Order::Random,
        (false, _) => Order::Sequential,
    };
    let mut limits = Vec::new();
    if let Some(rate) = whole("Throughput").filter(|rate| *rate > 0) {
        let unit = child(of, "Throughput").and_then(|it| it.attribute("unit")).unwrap_or("B/ms");
        limits.push(format!("throughput rate-limited to {rate} {unit}"));
    }
    if let Some(ms) = whole("ThinkTime").filter(|ms| *ms > 0) {
        limits.push(format!("think time: {ms}ms"));
    }
    let direct = match (is("DisableOSCache") || is("DisableAllCache"), is("DisableLocalCache")) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    };
    let pattern = child(of, "WriteBufferContent").and_then(|it| text_of(it, "Pattern"));
    Target {
        block_bytes: whole("BlockSize"),
        direct,
        write_percent: whole("WriteRatio"),
        order: Some(order),
        stride_bytes: whole("StrideSize"),
        depth: whole("RequestCount"),
        is_mapped: is("MemoryMappedIo"),
        zeros: pattern == Some("zero"),
        limits,
    }
}
