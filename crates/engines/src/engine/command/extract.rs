//! (pure) Figures out of what a program said: `NAME=REGEX`, `NAME=/json/pointer`.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::hint::CommandRefusal;
use experiment::measurement::programs::NAMES;

/// A compiled pattern needs no more memory than this, bytes: a hostile one is refused.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// One figure, and where it stands in the output.
#[derive(Clone, Debug)]
pub struct Extract {
    /// The figure's name, its unit last.
    pub name: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The first group of the last match.
    Pattern(Regex),
    /// RFC 6901, in the first JSON document of the output.
    Pointer(String),
}

/// Reads `NAME=REGEX` or `NAME=/json/pointer`.
///
/// # Errors
/// With what is wrong and what would do.
pub fn parse(text: &str) -> Result<Extract, CommandRefusal> {
    const LIKE: &str = "extract='rate_mb_per_s=([0-9.]+) MB/s', or extract=iops=/jobs/0/read/iops";
    let Some((name, rule)) = text.split_once('=') else {
        return Err(CommandRefusal::new(format!("extract: `{text}` is not NAME=REGEX"), LIKE));
    };
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(fine) {
        let why = format!("extract: `{name}` is no name of a figure");
        return Err(CommandRefusal::new(
            why,
            "small letters, digits and _, the unit last: rate_mb_per_s",
        ));
    }
    let own = ["throughput", "naive_", "sum_of_", "read_", "write_", "iops", "latency_ns"];
    if NAMES.contains(&name) || own.iter().any(|own| name.starts_with(own)) {
        let why = format!("extract: `{name}` is, or begins like, a figure that is measured");
        return Err(CommandRefusal::new(why, format!("said_{name}={rule}")));
    }
    if rule.starts_with('/') {
        return Ok(Extract { name: name.to_owned(), rule: Rule::Pointer(rule.to_owned()) });
    }
    let mut builder = RegexBuilder::new(rule);
    let built = builder.size_limit(COMPILED_BYTES_MAX).multi_line(true).build();
    let regex = built.map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default().trim().to_owned();
        CommandRefusal::new(format!("extract: `{rule}` is no regular expression: {last}"), LIKE)
    })?;
    if regex.captures_len() != 2 {
        let why = format!("extract: `{rule}` has {} groups, not one", regex.captures_len() - 1);
        return Err(CommandRefusal::new(why, "put the number in ( ), other groups in (?: )"));
    }
    Ok(Extract { name: name.to_owned(), rule: Rule::Pattern(regex) })
}

impl Extract {
    /// The number, looked for in each of `outputs` until one has it: the last match, as programs
    /// print their sums last.
    pub fn find(&self, outputs: &[&str]) -> Option<f64> {
        let found = outputs.iter().find_map(|output| match &self.rule {
            Rule::Pattern(regex) => {
                let last = regex.captures_iter(output).last()?;
                number(last.get(1)?.as_str())
            }
            Rule::Pointer(pointer) => match document(output)?.pointer(pointer)? {
                Value::Number(number) => number.as_f64(),
                Value::String(text) => number(text),
                _ => None,
            },
        });
        found.filter(|number| number.is_finite())
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// The first JSON object or array of a text; fio says what it warns of before it.
fn document(text: &str) -> Option<Value> {
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at).filter(|at| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    });
    // A line that only looks like the beginning is passed over, but not without end.
    starts.take(16).find_map(|at| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        values.next()?.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIO: &str = include_str!("../../../../../tests/fixtures/programs/fio.json");
    const DD: &str = include_str!("../../../../../tests/fixtures/programs/dd.txt");
    const IOZONE: &str = include_str!("../../../../../tests/fixtures/programs/iozone.txt");

    fn find(rule: &str, outputs: &[&str]) -> Option<f64> {
        parse(rule).unwrap().find(outputs)
    }

    #[test]
    fn numbers_are_found_in_recorded_outputs() {
        assert_eq!(find("said_bytes_per_s=/jobs/0/read/bw_bytes", &[FIO]), Some(671_088_640.0));
        assert_eq!(find("said_iops=/jobs/0/read/iops", &[FIO]), Some(640.0));
        assert_eq!(find("rate_gb_per_s=([0-9.]+) GB/s$", &["", DD]), Some(17.6));
        assert_eq!(find("copied_bytes=^(\\d+) bytes", &["", DD]), Some(67_108_864.0));
        let reread = "reread_kb_per_s=^ +4096 +64(?: +\\d+){3} +(\\d+)";
        assert_eq!(find(reread, &[IOZONE]), Some(8_127_386.0));
        assert_eq!(find("x=(\\d+) nothing", &[DD, IOZONE]), None);
        assert_eq!(find("x=/jobs/9/read/iops", &[FIO]), None);
        assert_eq!(find("x=/jobs", &[FIO]), None, "no number");
        assert_eq!(find("x=(.*)", &["1e999"]), None, "no finite number");
        assert_eq!(find("x=(\\d+)", &["1 2 3"]), Some(3.0), "the last");
    }

    #[test]
    fn no_cut_of_an_output_panics_or_gives_a_pointer_another_number() {
        let (iops, rate) = (parse("x=/jobs/0/read/iops").unwrap(), parse("y=([0-9.]+)").unwrap());
        let whole = iops.find(&[FIO]);
        for output in [FIO, DD, IOZONE] {
            for end in 0..output.len() {
                let cut = String::from_utf8_lossy(&output.as_bytes()[..end]);
                let found = iops.find(&[&cut]);
                assert!(found.is_none() || found == whole, "{end}");
            }
        }
        for end in 0..DD.len() {
            let _ = rate.find(&[&String::from_utf8_lossy(&DD.as_bytes()[..end])]);
        }
    }

    #[test]
    fn rules_that_cannot_work_are_refused_with_one_that_does() {
        let why = |text: &str| parse(text).unwrap_err().why;
        assert!(why("(\\d+)").contains("NAME=REGEX"));
        assert!(why("Rate=(\\d+)").contains("no name"));
        assert!(why("elapsed_s=(\\d+)").contains("measured"));
        assert!(why("throughput_bytes_per_s=(\\d+)").contains("measured"));
        assert!(why("x=\\d+").contains("0 groups"));
        assert!(why("x=(a)(b)").contains("2 groups"));
        assert!(why("x=(").contains("no regular expression"));
        assert!(why("x=(\\w{1000}{1000})").contains("no regular expression"), "too large");
    }
}
