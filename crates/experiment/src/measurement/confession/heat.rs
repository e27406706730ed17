//! (pure) Drives and processors that were hot, or slowed down for it.
//!
//! That a drive slowed down is said only when the drive itself counted it. A temperature says no
//! more than that it was reached. What has no sensor is not judged.

use super::{JudgedSpan, series};
use crate::measurement::{Measurement, Note};
use facts::counters::ZERO_CELSIUS_MILLIKELVIN;
use facts::counters::series::Series;

/// No drive works when it is hotter: such a reading, of 150 degrees Celsius, is a sensor's error.
const HOTTEST_MILLIKELVIN: u64 = ZERO_CELSIUS_MILLIKELVIN + 150_000;

/// Everything that heat did, or may have done.
pub fn heated(measurement: &Measurement, span: JudgedSpan) -> Vec<Note> {
    let throttled = throttled_drives(measurement, span);
    let names: Vec<&str> = throttled.iter().map(|drive| drive.name).collect();
    let notes = [
        throttled_note(&throttled),
        hot_drives(measurement, span, &names),
        throttled_cpus(measurement, span),
        reached(measurement, span),
    ];
    notes.into_iter().flatten().collect()
}

/// Shorter trials say nothing of how hot a server gets, ns.
const LONG_NS: u64 = 600_000_000_000;

/// The highest temperature of each drive and processor in a long trial.
fn reached(measurement: &Measurement, span: JudgedSpan) -> Option<Note> {
    if measurement.elapsed_ns < LONG_NS {
        return None;
    }
    let mut told: Vec<String> = Vec::new();
    for source in ["nvme-temperature", "sata-temperature", "cpu-temperature"] {
        let Some(sensors) = series(measurement, source) else { continue };
        for name in scopes(sensors, "temperature_millikelvin") {
            let most = highest(sensors, span, name, "temperature_millikelvin");
            told.extend(
                most.filter(|most| *most < HOTTEST_MILLIKELVIN)
                    .map(|most| format!("{name} {}", celsius(most))),
            );
        }
    }
    let length = base::value::duration(measurement.elapsed_ns as f64);
    let text = format!("The highest temperatures in {length}: {}.", told.join(", "));
    (!told.is_empty()).then(|| Note::new("temperatures", text))
}

/// A drive that counted that it slowed down.
struct Throttled<'a> {
    name: &'a str,
    times: u64,
    seconds: u64,
}

fn throttled_drives(measurement: &Measurement, span: JudgedSpan) -> Vec<Throttled<'_>> {
    let Some(health) = series(measurement, "nvme-health") else { return Vec::new() };
    let sum = |name: &str, what: [&str; 2]| {
        let grown = what.iter().filter_map(|what| grown(health, span, name, what));
        grown.fold(0, u64::saturating_add)
    };
    let drives = scopes(health, "light_throttles").map(|name| Throttled {
        name,
        times: sum(name, ["light_throttles", "heavy_throttles"]),
        seconds: sum(name, ["light_throttled_s", "heavy_throttled_s"]),
    });
    drives.filter(|drive| drive.times > 0 || drive.seconds > 0).collect()
}

fn throttled_note(drives: &[Throttled<'_>]) -> Option<Note> {
    let worst = drives.iter().max_by_key(|drive| (drive.seconds, drive.times))?;
    let counted = counted(worst.times, worst.seconds, "s");
    let who = match drives {
        [_] => format!("{} slowed down for heat, by its own count {counted}", worst.name),
        _ => format!(
            "{} drives slowed down for heat, {} the most: by its own count {counted}",
            drives.len(),
            worst.name
        ),
    };
    let text = format!("{who}. The figure is that of a hot drive.");
    Some(Note::new("drive-throttled-for-heat", text))
}

/// Limits of each source of temperatures, the worse first, and what reaching one means.
const LIMITS: [(&str, &str, &str); 4] = [
    (
        "nvme-temperature",
        "critical_millikelvin",
        "its critical temperature, at which it may slow \
      down much or switch off",
    ),
    (
        "nvme-temperature",
        "warning_millikelvin",
        "the temperature at which it warns and may slow \
      down",
    ),
    (
        "sata-temperature",
        "highest_millikelvin",
        "the highest temperature that it allows, at which \
      it may slow down or be damaged",
    ),
    (
        "sata-temperature",
        "recommended_millikelvin",
        "the highest temperature that it recommends \
      for continuous work, at which it may slow down",
    ),
];

/// Drives that reached a limit of their own, but for those of which more is known.
fn hot_drives(measurement: &Measurement, span: JudgedSpan, known: &[&str]) -> Option<Note> {
    let mut hot: Vec<(&str, String)> = Vec::new();
    for (source, limit, meaning) in LIMITS {
        let Some(sensors) = series(measurement, source) else { continue };
        for name in scopes(sensors, limit) {
            if known.contains(&name) || hot.iter().any(|(seen, _)| *seen == name) {
                continue;
            }
            let most = |what: &str| highest(sensors, span, name, what);
            let (Some(reached), Some(limit)) = (most("temperature_millikelvin"), most(limit))
            else {
                continue;
            };
            // A drive that states 0 degrees states nothing.
            if limit > ZERO_CELSIUS_MILLIKELVIN && reached >= limit && reached < HOTTEST_MILLIKELVIN
            {
                let (reached, limit) = (celsius(reached), celsius(limit));
                let text = format!("{name} was at {reached}, at or above {meaning} ({limit})");
                hot.push((name, text));
            }
        }
    }
    if let Some(health) = series(measurement, "nvme-health") {
        for name in scopes(health, "warning_minutes") {
            let minutes = |what| grown(health, span, name, what).unwrap_or(0);
            let is_new = !known.contains(&name) && hot.iter().all(|(seen, _)| *seen != name);
            if is_new && minutes("warning_minutes").max(minutes("critical_minutes")) > 0 {
                let what = "counted time at or above the temperature at which it warns and may \
                            slow down";
                hot.push((name, format!("{name} {what}")));
            } else if is_new && warned_of_temperature(health, span, name) {
                let what = "warned that its temperature is beyond its limits (bit 1 of the \
                            critical warning in its health log), where it may slow down";
                hot.push((name, format!("{name} {what}")));
            }
        }
    }
    let (_, first) = hot.first()?;
    let others = match hot.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other drive was too hot".to_owned(),
        more => format!(", and {more} other drives were too hot"),
    };
    Some(Note::new("drive-hot", format!("{first}{others}. Whether it did is not known.")))
}

/// Processors whose throttling the kernel counted.
fn throttled_cpus(measurement: &Measurement, span: JudgedSpan) -> Option<Note> {
    let cpus = series(measurement, "cpu-throttling")?;
    let worst_of = |name: &str, what: [&str; 2]| {
        what.iter().filter_map(|what| grown(cpus, span, name, what)).max().unwrap_or(0)
    };
    let throttled = scopes(cpus, "core_throttles").filter_map(|name| {
        let events = worst_of(name, ["core_throttles", "package_throttles"]);
        let ms = worst_of(name, ["core_throttled_ms", "package_throttled_ms"]);
        (events > 0 || ms > 0).then_some((ms, events, name))
    });
    let throttled: Vec<(u64, u64, &str)> = throttled.collect();
    let (ms, events, name) = throttled.iter().max()?;
    let number = name.strip_prefix("cpu").unwrap_or(name);
    let who = match throttled.len() {
        1 => format!("CPU {number} or its package was"),
        many => format!("{many} CPUs or their packages, CPU {number} the most, were"),
    };
    let text = format!(
        "{who} throttled for heat, by the kernel's count {}. The figure may be that of a hot \
         processor, not the storage's.",
        counted(*events, *ms, "ms")
    );
    Some(Note::new("cpu-throttled-for-heat", text))
}

/// How often and how long. Either may be 0: something may begin before the trial or end after it.
fn counted(times: u64, length: u64, unit: &str) -> String {
    match (times, length) {
        (0, length) => format!("for {length} {unit}"),
        (1, 0) => "once".to_owned(),
        (times, 0) => format!("{times} times"),
        (1, length) => format!("once, for {length} {unit}"),
        (times, length) => format!("{times} times, for {length} {unit}"),
    }
}

/// The drives or CPUs that have a column `what`.
fn scopes<'a>(series: &'a Series, what: &'a str) -> impl Iterator<Item = &'a str> {
    let names = series.columns.iter();
    names.filter_map(move |column| column.name.strip_suffix(what)?.strip_suffix('.'))
}

fn grown(series: &Series, span: JudgedSpan, name: &str, what: &str) -> Option<u64> {
    span.growth_of_rows(series, &format!("{name}.{what}"))
}

fn highest(series: &Series, span: JudgedSpan, name: &str, what: &str) -> Option<u64> {
    let column = series.column(&format!("{name}.{what}"))?;
    column.values.get(span.rows(series))?.iter().max().copied()
}

/// Whether a drive's health log had that warning at the begin or the end of the trial: it is asked
/// no more often.
fn warned_of_temperature(health: &Series, span: JudgedSpan, name: &str) -> bool {
    let column = health.column(&format!("{name}.critical_warning"));
    let rows = column.and_then(|column| column.values.get(span.rows(health)));
    rows.is_some_and(|rows| rows.iter().any(|warning| warning & 2 != 0))
}

/// Thousandths of a kelvin as whole degrees Celsius and tenths, never rounded up to a limit.
fn celsius(millikelvin: u64) -> String {
    let tenths = (i128::from(millikelvin) - i128::from(ZERO_CELSIUS_MILLIKELVIN)).div_euclid(100);
    format!("{:.1} °C", tenths as f64 / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Settings;
    use crate::measurement::confession::confessions;
    use facts::counters::series::{Column, ColumnKind};

    const ZERO: u64 = ZERO_CELSIUS_MILLIKELVIN;

    /// A row before and a row after a trial of 4 s.
    fn two_rows(source: &str, columns: &[(&str, u64, u64)]) -> Series {
        let columns = columns.iter().map(|(name, first, last)| Column {
            name: (*name).to_owned(),
            kind: if name.ends_with("_millikelvin") {
                ColumnKind::Gauge
            } else {
                ColumnKind::Counter
            },
            values: vec![*first, *last],
        });
        let columns = columns.collect();
        Series { source: source.to_owned(), at_ns: vec![-1_000_000, 4_001_000_000], columns }
    }

    fn notes(counters: Vec<Series>) -> Vec<(String, String)> {
        let measurement =
            Measurement { elapsed_ns: 4_000_000_000, counters, ..Measurement::default() };
        let notes = confessions(&measurement, &Settings::defaults("file"));
        notes.into_iter().map(|note| (note.kind, note.text)).collect()
    }

    fn nvme(reached: u64) -> Series {
        let columns = [
            ("nvme0.temperature_millikelvin", ZERO + 40_000, reached),
            ("nvme0.warning_millikelvin", ZERO + 81_850, ZERO + 81_850),
            ("nvme0.critical_millikelvin", ZERO + 84_850, ZERO + 84_850),
        ];
        two_rows("nvme-temperature", &columns)
    }

    fn health(times: u64, seconds: u64, minutes: u64) -> Series {
        let columns = [
            ("nvme0.warning_minutes", 7, 7 + minutes),
            ("nvme0.critical_minutes", 3, 3),
            ("nvme0.light_throttles", 1, 1),
            ("nvme0.heavy_throttles", 5, 5 + times),
            ("nvme0.light_throttled_s", 60, 60 + seconds),
            ("nvme0.heavy_throttled_s", 8, 8),
        ];
        two_rows("nvme-health", &columns)
    }

    #[track_caller]
    fn only(counters: Vec<Series>, kind: &str, says: &str) {
        let notes = notes(counters);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(notes[0].0, kind);
        assert!(notes[0].1.contains(says), "{}", notes[0].1);
    }

    #[test]
    fn a_drive_below_its_limit_and_one_that_counted_nothing_confess_nothing() {
        assert_eq!(notes(vec![nvme(ZERO + 81_849), health(0, 0, 0)]), []);
    }

    #[test]
    fn a_drive_at_its_limit_may_slow_down_and_is_not_said_to_have() {
        let says = "nvme0 was at 81.8 °C, at or above the temperature at which it warns and may \
                    slow down (81.8 °C). Whether it did is not known.";
        only(vec![nvme(ZERO + 81_850), health(0, 0, 0)], "drive-hot", says);
        only(vec![nvme(ZERO + 84_850)], "drive-hot", "at or above its critical temperature");
        only(vec![nvme(ZERO + 50_000), health(0, 0, 1)], "drive-hot", "nvme0 counted time at");
    }

    #[test]
    fn a_drive_that_warns_of_its_temperature_is_told_whatever_else_it_warns_of() {
        let health = |first, last| {
            let columns =
                [("nvme0.warning_minutes", 7, 7), ("nvme0.critical_warning", first, last)];
            two_rows("nvme-health", &columns)
        };
        for (first, last) in [(0, 2), (2, 4), (7, 0)] {
            let says = "nvme0 warned that its temperature is beyond its limits";
            only(vec![health(first, last)], "drive-hot", says);
        }
        // Spare blocks and reliability are no heat.
        assert_eq!(notes(vec![health(5, 0xd)]), []);
        let known = vec![nvme(ZERO + 81_850), health(0, 2)];
        only(known, "drive-hot", "nvme0 was at 81.8 °C");
    }

    #[test]
    fn a_drive_that_counted_it_slowed_down_and_says_so_once() {
        let all = vec![nvme(ZERO + 90_000), health(2, 14, 1)];
        let says = "nvme0 slowed down for heat, by its own count 2 times, for 14 s.";
        only(all, "drive-throttled-for-heat", says);
        // It slowed down before the trial and went on: no new transition, but more time.
        only(vec![health(0, 4, 0)], "drive-throttled-for-heat", "own count for 4 s.");
    }

    #[test]
    fn one_throttled_drive_does_not_hide_another_that_is_hot() {
        let sata = [
            ("sda.temperature_millikelvin", ZERO + 61_000, ZERO + 60_000),
            ("sda.recommended_millikelvin", ZERO + 60_000, ZERO + 60_000),
            ("sdb.temperature_millikelvin", ZERO + 71_000, ZERO + 60_000),
            ("sdb.recommended_millikelvin", ZERO + 60_000, ZERO + 60_000),
            ("sdb.highest_millikelvin", ZERO + 70_000, ZERO + 70_000),
        ];
        let notes = notes(vec![health(1, 1, 0), two_rows("sata-temperature", &sata)]);
        let kinds: Vec<&str> = notes.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["drive-throttled-for-heat", "drive-hot"]);
        assert!(notes[1].1.starts_with("sdb was at 71.0 °C"), "{notes:?}");
        assert!(notes[1].1.contains("and 1 other drive was too hot"), "{notes:?}");
    }

    #[test]
    fn limits_and_temperatures_that_cannot_be_are_not_judged() {
        // Without a threshold the register holds 65535 K; a drive may state a limit of 0 degrees.
        for (reached, limit) in
            [(ZERO + 80_000, 65_535_000), (ZERO + 30_000, ZERO), (u64::MAX, ZERO + 70_000), (1, 1)]
        {
            let columns = [
                ("nvme0.temperature_millikelvin", reached, reached),
                ("nvme0.warning_millikelvin", limit, limit),
            ];
            assert_eq!(notes(vec![two_rows("nvme-temperature", &columns)]), [], "{reached}");
        }
        let bare = [("nvme0.temperature_millikelvin", ZERO + 99_000, ZERO + 99_000)];
        assert_eq!(notes(vec![two_rows("nvme-temperature", &bare)]), [], "no limit is known");
    }

    #[test]
    fn a_count_that_goes_back_says_nothing() {
        let columns = [("nvme0.light_throttles", 5, 0), ("nvme0.light_throttled_s", 9, 0)];
        assert_eq!(notes(vec![two_rows("nvme-health", &columns)]), []);
    }

    #[test]
    fn a_long_trial_names_the_highest_temperature_of_each_drive_and_processor() {
        let cpu = [("coretemp.0.temperature_millikelvin", ZERO + 91_000, ZERO + 70_000)];
        let counters = vec![nvme(ZERO + 71_250), two_rows("cpu-temperature", &cpu)];
        assert_eq!(notes(counters.clone()), [], "four seconds say nothing");
        let elapsed_ns = 8 * 3600 * 1_000_000_000;
        let night = Measurement { elapsed_ns, counters, ..Measurement::default() };
        let notes = confessions(&night, &Settings::defaults("file"));
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(notes[0].kind, "temperatures");
        let says = "The highest temperatures in 8 h 00 min: nvme0 71.2 °C, coretemp.0 91.0 °C.";
        assert_eq!(notes[0].text, says);
    }

    #[test]
    fn throttled_processors_are_confessed() {
        let cpus = |more: u64| {
            let columns = [
                ("cpu0.core_throttles", 12, 12),
                ("cpu0.package_throttles", 3, 3 + more),
                ("cpu12.core_throttles", 7, 7 + 2 * more),
                ("cpu12.core_throttled_ms", 90, 90 + 1200 * more),
            ];
            vec![two_rows("cpu-throttling", &columns)]
        };
        assert_eq!(notes(cpus(0)), [], "counts of before the trial are no matter");
        let says = "2 CPUs or their packages, CPU 12 the most, were throttled for heat, by the \
                    kernel's count 2 times, for 1200 ms.";
        only(cpus(1), "cpu-throttled-for-heat", says);
        let one = [("cpu3.core_throttles", 0, 1)];
        let one = vec![two_rows("cpu-throttling", &one)];
        only(
            one,
            "cpu-throttled-for-heat",
            "CPU 3 or its package was throttled for heat, by the kernel's count once.",
        );
    }

    #[test]
    fn what_happened_outside_the_rows_around_the_window_is_not_the_figures() {
        let mut late = nvme(ZERO + 90_000);
        late.at_ns = vec![5_000_000_000, 15_000_000_000];
        let mut counted = health(3, 3, 0);
        counted.at_ns = late.at_ns.clone();
        // No row lies before the end: what the first row holds is nearest, and was cool.
        assert_eq!(notes(vec![late, counted]), []);
    }
}
