//! (pure) Words that several formats share: dates, commands, names of settings.

use std::collections::BTreeMap;

use chrono::DateTime;

pub use crate::analysis::words::figure;
use base::value::{Value, counted, setting, shell_words};
use experiment::campaign::{Campaign, NotBought};
use experiment::knob::access::IoDirection;
use experiment::knob::{self, Settings};
use experiment::measurement::Record;
use experiment::measurement::figures::Cell;
use experiment::measurement::verified::outcome::VERIFY;
use experiment::plan::standard;
use experiment::published;

/// Of how many cells the spread behind an interval is pooled; nothing where each has its own.
pub fn pooled<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<String> {
    let each: Vec<u32> = cells.filter_map(|cell| cell.pooled.values().copied().max()).collect();
    let most = each.iter().max()?;
    Some(format!(
        "Of {} the intervals of rates are of a spread that is pooled over cells of one workload \
         that scatter alike (up to {most}).",
        counted(each.len() as u64, "cell")
    ))
}

/// A text of no more than so many characters, its end left out where it has more.
pub fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    format!("{kept}..")
}

/// A time as `2026-11-21 21:43:13 UTC`, from Unix time in ns.
pub fn date(unix_ns: u64) -> String {
    let time = DateTime::from_timestamp((unix_ns / 1_000_000_000).cast_signed(), 0);
    time.unwrap_or_default().format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The command that repeats a campaign: the one that was typed, with the seed that was drawn where
/// none was typed. The program is named as it is known, not by the path it was started from.
pub fn command(campaign: &Campaign) -> String {
    with(campaign, &[])
}

/// The same with the sizes that an evaluation worked out: with others its cells are others too.
pub fn repeat(campaign: &Campaign, records: &[Record]) -> String {
    let typed = |word: &String| word == "--space" || word.starts_with("--space=");
    let measured = records.iter().find(|record| !record.trial.prepares());
    let sized = measured.filter(|it| it.trial.settings.has(knob::FILE_SIZE));
    let of_evaluation = campaign.plan == "evaluate" && !campaign.argv.iter().any(typed);
    let Some(first) = sized.filter(|_| of_evaluation) else { return command(campaign) };
    let mut places: Vec<&String> =
        records.iter().flat_map(|record| record.trial.settings.directories()).collect();
    places.sort();
    places.dedup();
    let files = standard::files(standard::STREAMS_MAX) * places.len() as u64;
    let space = Value::Bytes(first.trial.settings.get(knob::FILE_SIZE) * files);
    with(campaign, &["--space".to_owned(), space.to_string()])
}

/// The command with more words among its options.
fn with(campaign: &Campaign, more: &[String]) -> String {
    let mut argv = campaign.argv.clone();
    if let Some(program) = argv.first_mut() {
        "brickyard".clone_into(program);
    }
    // What follows `--` is no option.
    let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let typed = |word: &String| word == "--seed" || word.starts_with("--seed=");
    // Nothing was drawn where nothing ran.
    let imported = campaign.inventory.get("imported").is_some();
    let verified = campaign.engine == VERIFY;
    let drew = campaign.engine != published::ENGINE && !imported && !verified;
    if drew && !argv.is_empty() && !argv[..end].iter().any(typed) {
        argv.splice(end..end, ["--seed".to_owned(), campaign.seed.to_string()]);
    }
    if !argv.is_empty() {
        argv.splice(end..end, more.iter().cloned());
    }
    shell_words(&argv)
}

/// A budget as one would type it: `90s`, `9m`, `1h`; rounded up, never down.
pub fn budget(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds.div_ceil(60)),
        _ => format!("{}h", seconds.div_ceil(3600)),
    }
}

/// Cells that were not bought under the budget that would buy them, the smallest first.
pub fn by_budget(not_bought: &[NotBought]) -> Vec<(String, Vec<&str>)> {
    let mut sorted: Vec<&NotBought> = not_bought.iter().collect();
    sorted.sort_by_key(|left_out| left_out.budget_ns);
    let mut budgets: Vec<(String, Vec<&str>)> = Vec::new();
    for left_out in sorted {
        let typed = budget(left_out.budget_ns);
        match budgets.last_mut() {
            Some((known, cells)) if *known == typed => cells.push(&left_out.cell),
            _ => budgets.push((typed, vec![&left_out.cell])),
        }
    }
    budgets
}

/// What a setting does, in a few words, for headings: `1 MiB blocks`, `8 streams`.
pub fn phrase(name: &str, value: &Value) -> String {
    let many = |n: &Value, one: &str| match n {
        Value::Count(1) => format!("1 {one}"),
        other => format!("{} {one}s", setting(other)),
    };
    match (name, value) {
        ("block-size", size) => format!("{} blocks", setting(size)),
        ("streams", n) => many(n, "stream"),
        ("queue-depth", n) => format!("queue depth {}", setting(n)),
        ("operation", Value::Word(word)) => word.clone(),
        ("files", n) => format!("{} a stream", many(n, "file")),
        ("tree-depth", Value::Count(0)) => "one directory each".to_owned(),
        ("tree-width", Value::Count(1)) => String::new(),
        ("shared-directories", Value::Flag(false)) => String::new(),
        ("shared-directories", Value::Flag(true)) => "one tree for all streams".to_owned(),
        ("file-size", size) => format!("files of {}", setting(size)),
        ("direct", Value::Flag(true)) => "direct".to_owned(),
        ("direct", Value::Flag(false)) => "through the page cache".to_owned(),
        ("cold", Value::Flag(true)) => "cold".to_owned(),
        ("cold", Value::Flag(false)) => "files already in memory".to_owned(),
        ("access", Value::Word(word)) => word.replace('-', " "),
        ("directories", list) => format!("in {}", setting(list)),
        (name, other) => format!("{name} {}", setting(other)),
    }
}

/// Text whose numbers stay on one line with their units: a no-break space is between them.
pub fn bound(text: &str) -> String {
    const UNITS: &[&str] = &[
        "%", "B", "KiB", "MiB", "GiB", "TiB", "MB/s", "MiB/s", "IOPS", "ns", "us", "ms", "s",
        "min", "kB", "MB", "GB", "TB", "PB", "h", "bits", "days", "years",
    ];
    let mut bound = String::with_capacity(text.len() + 16);
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            let unit = word.trim_end_matches([',', ';', '.', ':', ')']);
            let number = bound.ends_with(|c: char| c.is_ascii_digit());
            // `1 234 567` is one number.
            let group = unit.len() == 3 && unit.bytes().all(|byte| byte.is_ascii_digit());
            let same = number && (group || UNITS.contains(&unit));
            bound.push(if same { '\u{a0}' } else { ' ' });
        }
        bound.push_str(word);
    }
    bound
}

/// Whether it writes and does not read.
pub fn writes_only(settings: &Settings) -> bool {
    settings.only_writes()
}

/// Whether it does both.
pub fn mixes(settings: &Settings) -> bool {
    settings.way() == Some(IoDirection::Both)
}

/// Whether it jumps about rather than going from one end to the other.
pub fn random(settings: &Settings) -> bool {
    settings.is_random()
}

/// What a campaign is of: its plan, and the machine where that is known.
pub fn subject(campaign: &Campaign) -> String {
    match campaign.host.as_str() {
        "unknown" => campaign.plan.clone(),
        host => format!("{} on {host}", campaign.plan),
    }
}

/// What was left out of a plan, a line for each reason: `24 cells are left out: ...`.
pub fn left_out(reasons: &BTreeMap<String, u64>) -> Vec<String> {
    let line = |(why, count): (&String, &u64)| {
        let are = if *count == 1 { "is" } else { "are" };
        format!("{} {are} left out: {why}", counted(*count, "cell"))
    };
    reasons.iter().map(line).collect()
}

/// Whether it reads what was brought into memory beforehand on purpose.
pub fn warm(settings: &Settings) -> bool {
    let off = |knob| settings.find(knob) == Some(false);
    off(knob::DIRECT) && off(knob::COLD) && !writes_only(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_297_393_000_000_000), "2026-11-21 21:43:13 UTC");
        assert_eq!(date(u64::MAX).len(), "2554-07-21 23:34:33 UTC".len());
    }

    fn campaign(argv: &[&str]) -> Campaign {
        let mut campaign = crate::report::fixture::campaign_of(Vec::new(), 0).campaign;
        campaign.argv = argv.iter().map(|word| (*word).to_owned()).collect();
        campaign
    }

    #[test]
    fn a_command_survives_the_shell() {
        let argv = ["brickyard", "evaluate", "/srv/my disk's", "", "--seed=7"];
        let told = command(&campaign(&argv));
        assert_eq!(told, r"brickyard evaluate '/srv/my disk'\''s' '' --seed=7");
    }

    #[test]
    fn a_command_names_the_program_and_the_seed_that_was_drawn() {
        let told = |argv: &[&str]| command(&campaign(argv));
        let drawn = told(&["/opt/b/brickyard", "evaluate", "/srv/a"]);
        assert_eq!(drawn, "brickyard evaluate /srv/a --seed 42");
        let given = told(&["./brickyard", "evaluate", "--seed", "9", "/srv/a"]);
        assert_eq!(given, "brickyard evaluate --seed 9 /srv/a");
        let mut imported = campaign(&["brickyard", "import", "--published", "sara-2010"]);
        imported.engine = published::ENGINE.into();
        assert_eq!(command(&imported), "brickyard import --published sara-2010");
        let closed = told(&["brickyard", "evaluate", "--", "--seed"]);
        assert_eq!(closed, "brickyard evaluate --seed 42 -- --seed");
        assert_eq!(told(&[]), "");
    }

    /// The sizes of an evaluation follow from a probe, and no two probes are the same: `compare` of
    /// an evaluation and of what "Again" said had twelve cells that could not be compared.
    #[test]
    fn to_repeat_an_evaluation_its_sizes_and_its_seed_are_pinned() {
        let of = |argv: &[&str], plan: &str, places: &[&str]| {
            let cells = crate::report::fixture::samples::core_cells(&[]);
            let mut records =
                engines::engine::testing::light_campaign(&cells[..1], places.len() as u32, 1);
            for (record, place) in records.iter_mut().zip(places) {
                record.trial.settings.set(knob::DIRECTORIES, &[(*place).to_owned()]);
            }
            let mut campaign = campaign(argv);
            campaign.plan = plan.to_owned();
            repeat(&campaign, &records)
        };
        // 108 files of 64 MiB in each directory.
        let one = of(&["/opt/brickyard", "evaluate", "/srv/a"], "evaluate", &["/srv/a"]);
        assert_eq!(one, "brickyard evaluate /srv/a --space 6912MiB --seed 42");
        let two = ["/srv/a", "/srv/b"];
        let both = of(&["brickyard", "evaluate", "/srv/a", "/srv/b"], "evaluate", &two);
        assert_eq!(both, "brickyard evaluate /srv/a /srv/b --space 13824MiB --seed 42");
        // What was typed stands as it was typed.
        let argv = ["brickyard", "evaluate", "/srv/a", "--space=1GiB", "--seed", "9"];
        let typed = of(&argv, "evaluate", &["/srv/a"]);
        assert_eq!(typed, "brickyard evaluate /srv/a --space=1GiB --seed 9");
        // A plan says its sizes itself.
        let plan = of(&["brickyard", "run", "streams"], "streams", &["/srv/a"]);
        assert_eq!(plan, "brickyard run streams --seed 42");
        // What was stopped before it measured has sizes of nothing.
        let mut nothing = campaign(&["brickyard", "evaluate", "/srv/a"]);
        "evaluate".clone_into(&mut nothing.plan);
        assert_eq!(repeat(&nothing, &[]), "brickyard evaluate /srv/a --seed 42");
    }

    #[test]
    fn budgets_that_print_alike_are_told_once() {
        let left_out = |cell: &str, seconds: u64| NotBought {
            cell: cell.into(),
            budget_ns: seconds * 1_000_000_000,
        };
        let all = [left_out("c", 300), left_out("a", 190), left_out("b", 220)];
        let told = by_budget(&all);
        assert_eq!(told, [("4m".to_owned(), vec!["a", "b"]), ("5m".to_owned(), vec!["c"])]);
    }

    #[test]
    fn a_budget_is_rounded_up() {
        assert_eq!(budget(61_000_000_001), "62s");
        assert_eq!(budget(181_000_000_000), "4m");
        assert_eq!(budget(7_201_000_000_000), "3h");
    }

    /// A list of what a larger budget buys broke its lines as `blocks of 64 / KiB`.
    #[test]
    fn no_line_breaks_between_a_number_and_its_unit() {
        assert_eq!(bound("a 64 KiB; (5 %), 2 MB/s"), "a 64\u{a0}KiB; (5\u{a0}%), 2\u{a0}MB/s");
        assert_eq!(bound("8 streams, s in  32"), "8 streams, s in  32");
        assert_eq!(bound("of 1 234 567 blocks, 12"), "of 1\u{a0}234\u{a0}567 blocks, 12");
    }

    /// A page ended with "Without a column here: write_latency_ns_mean".
    #[test]
    fn figures_have_names_for_people() {
        let told = [
            ("throughput_bytes_per_s", "throughput"),
            ("durable_throughput_bytes_per_s", "durable throughput"),
            ("write_latency_ns_mean", "write latency mean"),
            ("latency_ns_p99", "latency p99"),
            ("iops", "IOPS"),
            ("elapsed_s", "elapsed"),
            ("elapsed_s_max", "elapsed max"),
            ("cpu_share", "cpu"),
            ("ops_per_s", "ops"),
        ];
        for (name, wanted) in told {
            // `throughput_bytes_per_s` stood as a heading.
            assert!(!wanted.contains('_'), "{wanted}");
            assert_eq!(figure(name), wanted);
        }
    }

    #[test]
    fn cells_that_are_left_out_are_counted_with_their_reason() {
        let reasons = [("there is no room".to_owned(), 1), ("raid50 takes 6 disks".to_owned(), 24)];
        let told = left_out(&reasons.into());
        let due =
            ["24 cells are left out: raid50 takes 6 disks", "1 cell is left out: there is no room"];
        assert_eq!(told, due);
    }

    #[test]
    fn what_a_setting_does_is_told_in_few_words() {
        assert_eq!(phrase("streams", &Value::Count(1)), "1 stream");
        assert_eq!(phrase("streams", &Value::Count(60)), "60 streams");
        assert_eq!(phrase("block-size", &Value::Bytes(4096)), "4 KiB blocks");
    }
}
