//! (pure) Lines of CSV as bonnie++ 2.00 prints them, for bon_csv2html and for old spreadsheets.
//!
//! One line for each combination of what was varied; a phase that a factor does not touch stands
//! in every line. The fields are those of bonnie++'s `csv_version` 1.98: KiB and operations per
//! second, percent of one processor, the longest wait of each phase. What was not measured is
//! empty, and nothing is `+++++`. What bonnie++ cannot tell stands in lines that begin with `#`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::nature::Nature;
use super::{Input, words};
use base::value::{Stop, Value, counted};
use experiment::knob::{self, Access, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::figures::Cell;
use experiment::plan;

/// The form of the line that we print, and how many fields it has.
const FORM: &str = "1.98";
const FIELDS: usize = 50;
/// A share of one processor is in percent.
const PERCENT: f64 = 100.0;

/// What bonnie++ does, in the order of its line.
const PHASES: [&str; 12] = [
    "putc",
    "block write",
    "rewrite",
    "getc",
    "block read",
    "seeks",
    "sequential create",
    "sequential stat",
    "sequential delete",
    "random create",
    "random stat",
    "random delete",
];
/// How many of them are on bytes.
const OF_BYTES: usize = 6;
/// Places of the phases' rates; the share of a processor follows each.
const RATES: [usize; 12] = [9, 11, 13, 15, 17, 19, 26, 28, 30, 32, 34, 36];
/// Place of the first of the longest waits, which have the order of the phases.
const WAITS: usize = 38;

/// Settings that have a field of their own.
const SHOWN: &[&str] = &["streams", "file-size", "block-size", "queue-depth", "files"];

/// The knobs that are varied within a cell's phase, with its values.
type Key<'a> = BTreeMap<&'static str, &'a Value>;

/// Whether a file is of this form and ours, of whatever version: its first line.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    start.starts_with(b"# Brickyard, campaign ")
}

/// All lines of the campaign.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    let measured = |cell: &&Cell| !cell.groups.iter().all(|group| plan::prepares(group));
    let known = input.cells.iter().filter(measured).filter(|cell| !cell.trials.is_empty());
    let cells: Vec<(usize, &Cell)> =
        known.filter_map(|cell| Some((phase(&cell.settings)?, cell))).collect();
    let varied = varied(&cells);
    let keyed: Vec<(usize, Key<'_>, &Cell)> =
        cells.iter().map(|(phase, cell)| (*phase, key(cell, &varied[*phase]), *cell)).collect();
    let mut text = head(input, &cells);
    for line in lines(&keyed) {
        let among = |wanted: usize| {
            let fits =
                |key: &Key<'_>| key.iter().all(|(knob, value)| line.get(knob) == Some(value));
            let found = keyed.iter().find(|(phase, key, _)| *phase == wanted && fits(key));
            found.map(|(_, _, cell)| *cell)
        };
        let phases: [Option<&Cell>; 12] = std::array::from_fn(among);
        let _ = writeln!(text, "{}", print(input, line, &phases).join(","));
    }
    Ok(text)
}

/// Which of [`PHASES`] a load is; `None` for what bonnie++ does not do.
fn phase(settings: &Settings) -> Option<usize> {
    let name = match settings.engine() {
        "file" => {
            let bytes = settings.get(knob::IO_ENGINE) == "putc";
            match settings.get(knob::ACCESS) {
                Some(Access::Write) if bytes => "putc",
                Some(Access::Write) => "block write",
                Some(Access::Update) if settings.get(knob::UPDATE_EVERY) == 1 => "rewrite",
                Some(Access::Read) if bytes => "getc",
                Some(Access::Read) => "block read",
                Some(Access::RandomUpdate) => "seeks",
                _ => return None,
            }
        }
        "tree" => match (settings.get(knob::OPERATION), settings.get(knob::ORDER)) {
            ("create", "sequential") => "sequential create",
            ("stat", "sequential") => "sequential stat",
            ("unlink", "sequential") => "sequential delete",
            ("create", _) => "random create",
            ("stat", _) => "random stat",
            ("unlink", _) => "random delete",
            _ => return None,
        },
        _ => return None,
    };
    PHASES.iter().position(|phase| *phase == name)
}

/// The knobs that differ among the cells of each phase.
fn varied(cells: &[(usize, &Cell)]) -> [BTreeSet<&'static str>; 12] {
    let mut values: [BTreeMap<&'static str, BTreeSet<String>>; 12] = Default::default();
    for (phase, cell) in cells {
        for (knob, value) in cell.settings.iter() {
            values[*phase].entry(knob).or_default().insert(value.to_string());
        }
    }
    values.map(|of| of.into_iter().filter(|(_, few)| few.len() > 1).map(|(knob, _)| knob).collect())
}

fn key<'a>(cell: &'a Cell, varied: &BTreeSet<&'static str>) -> Key<'a> {
    varied.iter().filter_map(|knob| Some((*knob, cell.settings.named(knob)?))).collect()
}

/// What each line is of: the keys that no other key says more of, in the order of the cells.
fn lines<'k, 'a>(keyed: &'k [(usize, Key<'a>, &Cell)]) -> Vec<&'k Key<'a>> {
    let within = |small: &Key<'_>, large: &Key<'_>| {
        small.len() < large.len()
            && small.iter().all(|(knob, value)| large.get(knob) == Some(value))
    };
    let mut lines: Vec<&Key<'_>> = Vec::new();
    for (_, key, _) in keyed {
        let more = keyed.iter().any(|(_, other, _)| within(key, other));
        if !more && !lines.contains(&key) {
            lines.push(key);
        }
    }
    lines
}

/// What is measured here, by which origin, in lines that no reader of such lines takes for one.
fn head(input: &Input<'_>, cells: &[(usize, &Cell)]) -> String {
    let mut origins: BTreeMap<usize, BTreeMap<&'static str, usize>> = BTreeMap::new();
    for (record, view) in input.records.iter().zip(&input.trials) {
        let trial = &record.trial;
        let known = phase(&trial.settings).filter(|_| !plan::prepares(&trial.group));
        if let (Some(phase), Some(origin)) = (known, &view.origin) {
            *origins.entry(phase).or_default().entry(origin.verdict.name()).or_default() += 1;
        }
    }
    let campaign = input.campaign;
    let plan = campaign.plan.replace(['\n', '\r'], " ");
    let lead = Nature::of_campaign(campaign).lead();
    let mut text = format!("# Brickyard, campaign {}: {lead}plan {plan}\n", campaign.id);
    let told = |(phase, verdicts): (usize, BTreeMap<&str, usize>)| {
        let each = verdicts
            .iter()
            .map(|(name, count)| format!("{name} in {}", counted(*count as u64, "trial")));
        format!("{} from {}", PHASES[phase], each.collect::<Vec<_>>().join(" and "))
    };
    for line in words::left_out(&campaign.left_out) {
        let _ = writeln!(text, "# {}", line.replace(['\n', '\r'], " "));
    }
    let told: Vec<String> = origins.into_iter().map(told).collect();
    if !told.is_empty() {
        let _ = writeln!(text, "# bytes came: {}", told.join("; "));
    }
    let mut unsure = Vec::new();
    for (phase, cell) in cells {
        let Some(rate) = rate(*phase, cell) else { continue };
        let wide = cell.figures.get(rate.name).is_some_and(|figure| {
            figure.interval.is_none_or(|ends| ends.high - figure.value > 0.1 * figure.value)
        });
        if wide {
            unsure.push((*phase, PHASES[*phase]));
        }
    }
    unsure.sort_unstable();
    unsure.dedup();
    if !unsure.is_empty() {
        let names: Vec<&str> = unsure.into_iter().map(|(_, name)| name).collect();
        let names = names.join(", ");
        let _ = writeln!(text, "# no 95 % interval within 10 % of the figure: {names}");
    }
    for sentence in &input.answer {
        let _ = writeln!(text, "# {sentence}");
    }
    text
}

/// The rate that a phase of bonnie++ came to, per second.
struct PhaseRate {
    /// The figure that it is.
    name: &'static str,
    /// Bytes, or operations, per second, as bonnie++ counts them.
    per_s: f64,
    /// Bytes that were moved for each that is counted: 2 where they are read and written.
    moved: f64,
}

/// bonnie++ has its fsync in the time of what it writes, and a sync after what it creates or
/// deletes; in memory there is neither.
fn rate(phase: usize, cell: &Cell) -> Option<PhaseRate> {
    let (names, moved): (&[&'static str], f64) = match PHASES[phase] {
        "putc" | "block write" => {
            (&[figure_names::DURABLE_THROUGHPUT, figure_names::THROUGHPUT], 1.0)
        }
        "rewrite" => (&[figure_names::DURABLE_THROUGHPUT, "write_throughput_bytes_per_s"], 2.0),
        "seeks" => (&[figure_names::TRANSACTIONS_PER_S], 1.0),
        _ if phase < OF_BYTES => (&[figure_names::THROUGHPUT], 1.0),
        "sequential stat" | "random stat" => (&[figure_names::OPS_PER_S], 1.0),
        _ => (&["durable_ops_per_s", figure_names::OPS_PER_S], 1.0),
    };
    names
        .iter()
        .find_map(|name| Some(PhaseRate { name, per_s: cell.figures.get(name)?.value, moved }))
}

/// Share of one processor that the load's own threads took, in percent.
fn cpu_percent(phase: usize, cell: &Cell, rate: &PhaseRate) -> Option<f64> {
    let figure = |name: &str| cell.figures.get(name).map(|figure| figure.value);
    let gib = f64::from(1 << 30);
    let seconds = match PHASES[phase] {
        "seeks" => figure("cpu_seconds_per_gib")? * figure(figure_names::THROUGHPUT)? / gib,
        _ if phase < OF_BYTES => figure("cpu_seconds_per_gib")? * rate.per_s * rate.moved / gib,
        _ => figure("cpu_ns_per_op")? / 1e9 * rate.per_s,
    };
    Some(seconds * PERCENT)
}

/// The fields of one line.
fn print(input: &Input<'_>, line: &Key<'_>, phases: &[Option<&Cell>; 12]) -> Vec<String> {
    let mut fields = vec![String::new(); FIELDS];
    let first = |of: &[Option<&Cell>]| of.iter().flatten().next().map(|cell| cell.settings.clone());
    fields[0] = FORM.to_owned();
    fields[1] = plain(&input.campaign.version);
    fields[2] = name(&input.campaign.host, line);
    if let Some(any) = first(phases) {
        fields[3] = any.get(knob::STREAMS).to_string();
    }
    fields[4] = input.campaign.seed.to_string();
    if let Some(of_bytes) = first(&phases[..OF_BYTES]) {
        fields[5] = size(of_bytes.get(knob::FILE_SIZE));
        fields[6] = of_bytes.get(knob::BLOCK_SIZE).to_string();
    }
    if let Some(seeks) = phases[5].map(|cell| &cell.settings) {
        if let Stop::Bytes(bytes) = seeks.stop() {
            fields[7] = bytes.div_ceil(seeks.get(knob::BLOCK_SIZE).max(1)).to_string();
        }
        fields[8] = seeks.get(knob::QUEUE_DEPTH).to_string();
    }
    if let Some(of_files) = first(&phases[OF_BYTES..]) {
        // bonnie++ counts files in 1024.
        fields[21] = number(of_files.get(knob::FILES) as f64 / 1024.0);
        if let bytes @ 1.. = of_files.get(knob::FILE_SIZE) {
            fields[22] = bytes.to_string();
            fields[23] = bytes.to_string();
        }
    }
    for (phase, cell) in phases.iter().enumerate() {
        let Some((cell, rate)) = cell.and_then(|cell| Some((cell, rate(phase, cell)?))) else {
            continue;
        };
        let unit = if phase < OF_BYTES - 1 { 1024.0 } else { 1.0 };
        fields[RATES[phase]] = match PHASES[phase] {
            "seeks" if rate.per_s < 1000.0 => format!("{:.1}", rate.per_s),
            _ => number(rate.per_s / unit),
        };
        let share = cpu_percent(phase, cell, &rate);
        fields[RATES[phase] + 1] = share.map_or(String::new(), |share| number(share.round()));
        // A block that is read and written back waits for both.
        let waits = ["transaction_latency_ns_max", "latency_ns_max"];
        let longest = waits.iter().find_map(|name| cell.figures.get(name));
        fields[WAITS + phase] = longest.map_or(String::new(), |longest| wait(longest.value));
    }
    fields
}

/// The host, and what was varied that no field shows.
fn name(host: &str, line: &Key<'_>) -> String {
    let others = line.iter().filter(|(knob, _)| !SHOWN.contains(knob));
    let told = others.map(|(knob, value)| format!(" {knob}={value}"));
    plain(&format!("{host}{}", told.collect::<String>()))
}

/// Text that is one field.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c == ',' || c.is_control() { ' ' } else { c }).collect()
}

/// As bonnie++ writes a size: whole GiB, or MiB, and KiB where it is none.
fn size(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{}G", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ => format!("{}K", bytes / 1024),
    }
}

/// Whole, as bonnie++ prints; with one place where whole numbers would hide a tenth.
fn number(value: f64) -> String {
    if value < 10.0 && value.fract() != 0.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// As bonnie++ prints the longest wait: five digits of us, ms or s.
fn wait(ns: f64) -> String {
    match ns / 1e3 {
        us if us < 99_999.5 => format!("{us:.0}us"),
        us if us < 99_999_500.0 => format!("{:.0}ms", us / 1e3),
        us => format!("{:.0}s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, Fixture};
    use super::*;
    use base::stats::Estimate;
    use experiment::measurement::figures::Figures;

    const RECORDED: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-2.00a-slow.txt");

    /// The twelve phases as the plan has them, with what is typed over it.
    fn cells(typed: &[(&str, &str)]) -> Vec<(String, Settings)> {
        let plan = experiment::plan::builtin::find("bonnie").unwrap();
        let mut plan = experiment::plan::file::read(plan.text, "bonnie", None).unwrap();
        let words: Vec<String> =
            typed.iter().map(|(knob, levels)| format!("{knob}={levels}")).collect();
        plan.vary(&words).unwrap();
        let name = |load: usize| plan.loads[load].name.clone();
        plan.cells().map(|cell| (name(cell.load), plan.settings(&cell))).collect()
    }

    fn campaign(typed: &[(&str, &str)]) -> Fixture {
        fixture::campaign_of(experiment::plan::blocked(&cells(typed), 1, 1), 4)
    }

    fn fields(text: &str) -> Vec<Vec<&str>> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(',').collect()).collect()
    }

    /// ns of `805ms`.
    fn ns(text: &str) -> f64 {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap();
        let factor = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let factor = factor.into_iter().find(|(unit, _)| *unit == &text[end..]).unwrap().1;
        text[..end].parse::<f64>().unwrap() * factor
    }

    /// A campaign that measured what bonnie++ 2.00a once printed prints what that did.
    #[test]
    fn its_fields_are_those_that_bonnie_printed() {
        let recorded: Vec<&str> = RECORDED.trim().split(',').collect();
        let typed = [("file-size", "1500MiB"), ("files", "49152")];
        let mut fixture = campaign(&typed);
        for cell in &mut fixture.cells {
            let phase = phase(&cell.settings).unwrap();
            let number = |at: usize| recorded[at].parse::<f64>().unwrap();
            let (told, share) = (number(RATES[phase]), number(RATES[phase] + 1) / 100.0);
            cell.figures = Figures::new();
            let mut set = |name: &'static str, value: f64| {
                cell.figures.insert(name.into(), Estimate::bare(value));
            };
            let per_gib = |bytes_per_s: f64| share * f64::from(1 << 30) / bytes_per_s;
            match PHASES[phase] {
                "putc" | "block write" => {
                    set("throughput_bytes_per_s", 9e12);
                    set("durable_throughput_bytes_per_s", told * 1024.0);
                    set("cpu_seconds_per_gib", per_gib(told * 1024.0));
                }
                "rewrite" => {
                    set("throughput_bytes_per_s", 9e12);
                    set("durable_throughput_bytes_per_s", told * 1024.0);
                    set("cpu_seconds_per_gib", per_gib(2.0 * told * 1024.0));
                }
                "seeks" => {
                    set("transactions_per_s", told);
                    set("throughput_bytes_per_s", told * 1.1 * 8192.0);
                    set("cpu_seconds_per_gib", per_gib(told * 1.1 * 8192.0));
                }
                _ if phase < OF_BYTES => {
                    set("throughput_bytes_per_s", told * 1024.0);
                    set("cpu_seconds_per_gib", per_gib(told * 1024.0));
                }
                name => {
                    let stat = name.ends_with("stat");
                    set("ops_per_s", if stat { told } else { 9e12 });
                    if !stat {
                        set("durable_ops_per_s", told);
                    }
                    set("cpu_ns_per_op", share * 1e9 / told);
                }
            }
            set("latency_ns_max", ns(recorded[WAITS + phase]));
        }
        for cell in fixture.cells.iter_mut().filter(|cell| phase(&cell.settings) == Some(5)) {
            cell.settings.set(knob::STOP, Stop::Bytes(8192 * 8192));
        }
        let text = render(&fixture.input()).unwrap();
        let printed = fields(&text);
        assert_eq!(printed.len(), 1, "{text}");
        assert_eq!(printed[0].len(), recorded.len());
        // Who, where, when; and the size of a block, which bonnie++ leaves out when it is its own.
        let ours = [1, 2, 4, 6];
        for (at, (ours_is, theirs)) in printed[0].iter().zip(&recorded).enumerate() {
            assert!(ours.contains(&at) || ours_is == theirs, "field {at}: {ours_is}, not {theirs}");
        }
        assert_eq!(printed[0][6], "8192");
    }

    #[test]
    fn each_level_of_a_factor_has_its_line_and_what_it_does_not_touch_stands_in_all() {
        let mut fixture = campaign(&[("file-size", "1GiB,2GiB"), ("streams", "1,4")]);
        fixture.campaign.host = "big,server".into();
        for cell in fixture.cells.iter_mut().filter(|cell| cell.settings.has(knob::OPERATION)) {
            let streams = cell.settings.number(knob::STREAMS);
            cell.figures = Figures::new();
            cell.figures.insert("ops_per_s".into(), Estimate::bare(1000.0 * streams));
        }
        let text = render(&fixture.input()).unwrap();
        let printed = fields(&text);
        let shown: Vec<[&str; 4]> =
            printed.iter().map(|line| [line[2], line[3], line[5], line[26]]).collect();
        let mut wanted = Vec::new();
        for (streams, creates) in [("1", "1000"), ("4", "4000")] {
            for size in ["1G", "2G"] {
                wanted.push(["big server", streams, size, creates]);
            }
        }
        assert!(wanted.iter().all(|line| shown.contains(line)), "{shown:?}");
        assert_eq!(shown.len(), 4);
        assert!(printed.iter().all(|line| line.len() == FIELDS));
        assert!(text.contains("block read from "), "{text}");
        let unsure = "# no 95 % interval within 10 % of the figure: sequential create, ";
        assert!(text.contains(unsure), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_empty_and_what_no_field_shows_is_in_the_name() {
        let mut fixture = campaign(&[("file-size", "1GiB"), ("cold", "true,false")]);
        fixture.cells.retain(|cell| phase(&cell.settings) == Some(4));
        for cell in &mut fixture.cells {
            cell.figures.insert("latency_ns_max".into(), Estimate::bare(7e6));
        }
        let text = render(&fixture.input()).unwrap();
        let printed = fields(&text);
        let mut names: Vec<&str> = printed.iter().map(|line| line[2]).collect();
        names.sort_unstable();
        assert_eq!(names, ["fileserver cold=false", "fileserver cold=true"]);
        for line in printed {
            assert!(!line[17].is_empty() && !line[42].is_empty(), "{line:?}");
            let empty = [7, 8, 9, 11, 13, 15, 19, 21, 26, 38, 43, 49];
            assert!(empty.iter().all(|at| line[*at].is_empty()), "{line:?}");
        }
    }

    #[test]
    fn numbers_are_as_bonnie_writes_them() {
        assert_eq!([0.0, 7.26, 99.4, 384.4, 4e6].map(number), ["0", "7.3", "99", "384", "4000000"]);
        assert_eq!(
            [1e3, 99e6, 805e6, 1035e6, 200e9].map(wait),
            ["1us", "99000us", "805ms", "1035ms", "200s"]
        );
        assert_eq!([0, 64 << 10, 1500 << 20, 32 << 30].map(size), ["", "64K", "1500M", "32G"]);
    }
}
