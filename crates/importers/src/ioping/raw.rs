//! (pure) The one line of numbers that ioping prints with `-B`: eight from 0.7 to 0.9, in us; ten
//! since 1.0, in ns (ioping.1, "Raw statistics").
//!
//! No word tells whose they are. That its iops are its requests by their time proves the unit.

use crate::ToolResult;

/// The result of a text that has such a line and nothing else but remarks and prompts.
pub(super) fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut found = None;
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '$']) {
            continue;
        }
        let numbers: Option<Vec<f64>> = line.split(' ').map(number).collect();
        let Some(numbers) = numbers else {
            return Err("there are no statistics of ioping's in it".to_owned());
        };
        if found.replace((line, numbers)).is_some() {
            return Err("it has several lines of numbers: those of ioping's periods (-p) have no \
                        sum; run it with -B and without -p"
                .to_owned());
        }
    }
    match found {
        Some((line, numbers)) => Ok(vec![said(line, &numbers)?]),
        None => Err("there are no statistics of ioping's in it".to_owned()),
    }
}

fn number(word: &str) -> Option<f64> {
    let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse::<f64>().ok().filter(|number| is_plain && *number < 1e18)
}

fn said(line: &str, numbers: &[f64]) -> Result<ToolResult, String> {
    let wrong = || {
        format!(
            "`{line}` is no line of numbers of ioping -B 0.7 to 1.3: they contradict each other"
        )
    };
    let (per_second, ns, unit) = match numbers.len() {
        4 => {
            return Err("ioping 0.6 and before print no count and no rate in a line of numbers; \
                        bring its closing statistics"
                .to_owned());
        }
        8 => (1e6, 1e3, "us"),
        10 => (1e9, 1.0, "ns"),
        _ => return Err("there are no statistics of ioping's in it".to_owned()),
    };
    let [count, sum, iops, rate, min, mean, max, deviation, ..] = *numbers else {
        return Err(wrong());
    };
    if count < 1.0 || sum < 1.0 {
        return Err("it completed no request that counts: ioping leaves the first one out".into());
    }
    let seconds = sum / per_second;
    let near = |one: f64, other: f64| (one - other).abs() <= 1.0 + other * 1e-9;
    let block = (rate * seconds / count).round();
    let is_whole = numbers.get(8).is_none_or(|all| *all >= count)
        && numbers.get(9).is_none_or(|time| *time >= sum);
    let above_and_below = (max - mean + 1.0) * (mean - min + 1.0);
    let is_ok = near(iops, count / seconds)
        && near(rate, count * block / seconds)
        && near(mean, sum / count)
        && min <= mean + 1.0
        && mean <= max + 1.0
        && (deviation - 1.0).max(0.0).powi(2) <= above_and_below
        && is_whole;
    if !is_ok {
        return Err(wrong());
    }
    let mut said = ToolResult::default();
    said.add("iops", iops, format!("{iops} iops"));
    said.add("throughput_bytes_per_s", rate, format!("{rate} B/s"));
    let times = [("mean", mean), ("min", min), ("max", max), ("stddev", deviation)];
    for (name, time) in times.into_iter().filter(|(_, time)| *time > 0.0) {
        said.add(format!("latency_ns_{name}"), time * ns, format!("{time} {unit}"));
    }
    if block >= 512.0 && block % 512.0 == 0.0 {
        said.settings.insert("block-size".to_owned(), (block as u64).into());
    }
    Ok(said)
}
