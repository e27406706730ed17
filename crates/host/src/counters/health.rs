//! What NVMe drives themselves count of heat, in their health log; only root may ask for it.
//!
//! NVM Express Base 2.0, 5.16.1.3 (SMART / Health Information) and 8.15.5 (Host Controlled Thermal
//! Management). A drive without that feature counts no transitions: its zeros say nothing, and nor
//! do they say that it has no other way to slow down.

use std::fs::File;

use super::patient::{AT_THE_ENDS_NS, Patient};
use super::temperature::controllers;
use super::{CounterSource, Sample, Subject};
use crate::sys::Host;
use crate::sys::nvme::health_log;
use facts::counters::table::Field;

pub const HEALTH: CounterSource = CounterSource {
    name: "nvme-health",
    about: "How often and how long NVMe drives were hot or slowed down for heat (as root)",
    fields: &[
        Field::counter("warning_minutes"),
        Field::counter("critical_minutes"),
        Field::counter("light_throttles"),
        Field::counter("heavy_throttles"),
        Field::counter("light_throttled_s"),
        Field::counter("heavy_throttled_s"),
        Field::gauge("critical_warning"),
    ],
    every_ns: AT_THE_ENDS_NS,
    born_at_zero: false,
    open,
};

/// Where each field stands in the log, four bytes, lowest first: Warning and Critical Composite
/// Temperature Time, Thermal Management Temperature 1 and 2 Transition Count, Total Time For
/// Thermal Management Temperature 1 and 2. Management 1 is to cost little speed, 2 may cost much.
const PLACES: [usize; 6] = [192, 196, 216, 220, 224, 228];

/// Critical Warning, a bit a reason: what the drive itself holds against its state now. Bit 1 is
/// its temperature.
const CRITICAL_WARNING: usize = 0;

/// Composite Temperature, kelvin, two bytes: a page without it was not filled by a drive.
const COMPOSITE_TEMPERATURE: std::ops::Range<usize> = 1..3;

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let mut drives: Vec<(String, File)> = Vec::new();
    for path in subject.devices.iter().flat_map(|name| controllers(host, name)) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if drives.iter().any(|(known, _)| known == name) {
            continue;
        }
        if let Ok(file) = host.open(format!("/dev/{name}")) {
            drives.push((name.to_owned(), file));
        }
    }
    if drives.is_empty() {
        return None;
    }
    let patient = Patient::start(move |put| {
        for (name, file) in &drives {
            // Who is not root, or has a drive that refuses, does not know; that is no failure.
            let Some(counts) = health_log(file).ok().and_then(|page| counts(&page)) else {
                continue;
            };
            counts.into_iter().enumerate().for_each(|(field, count)| put(name, field, count));
        }
    });
    Some(Box::new(patient?))
}

/// The counts of a health log and its warning, in the order of the fields.
fn counts(page: &[u8]) -> Option<[u64; PLACES.len() + 1]> {
    if page.get(COMPOSITE_TEMPERATURE)? == [0, 0] {
        return None;
    }
    let mut counts = [0; PLACES.len() + 1];
    counts[PLACES.len()] = u64::from(*page.get(CRITICAL_WARNING)?);
    for (count, place) in counts.iter_mut().zip(PLACES) {
        let bytes = page.get(place..place + 4)?;
        *count = u64::from(u32::from_le_bytes(bytes.try_into().ok()?));
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;
    use crate::sys::nvme::HEALTH_LOG_BYTES;
    use facts::counters::table::Table;

    /// A health log whose bytes are all told apart, built from the specification's offsets.
    fn page() -> [u8; HEALTH_LOG_BYTES] {
        let mut page = std::array::from_fn(|at| at as u8 | 1);
        let mut set = |at: usize, value: u32| {
            page[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };
        set(192, 10);
        set(196, 2);
        set(216, 0x0102_0304);
        set(220, u32::MAX);
        set(224, 3600);
        set(228, 60);
        page
    }

    #[test]
    fn each_count_is_read_from_its_place() {
        let expected = [10, 2, 0x0102_0304, u64::from(u32::MAX), 3600, 60, 1];
        assert_eq!(counts(&page()), Some(expected));
    }

    #[test]
    fn a_log_cut_off_in_its_counts_has_none() {
        let page = page();
        for end in 0..page.len() {
            let whole = end >= 232;
            assert_eq!(counts(&page[..end]).is_some(), whole, "cut at {end}");
        }
    }

    #[test]
    fn a_page_that_nobody_filled_counts_nothing() {
        assert_eq!(counts(&[0; HEALTH_LOG_BYTES]), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes fixtures")]
    fn what_is_no_drive_or_refuses_counts_nothing() {
        let machine = Recording::open("sensors");
        let host = machine.host();
        let subject = Subject::new(1, &["nvme0n1".to_owned(), "sda".to_owned()]);
        assert!(open(&host, &subject).is_none(), "there is no /dev/nvme0");
        std::fs::create_dir(host.path("/dev")).unwrap();
        std::fs::write(host.path("/dev/nvme0"), page()).unwrap();
        let mut sample = open(&host, &subject).unwrap();
        let mut table = Table::new("nvme-health", HEALTH.fields, false);
        table.begin(0);
        sample.sample(&mut table);
        table.end();
        assert!(table.into_series(0).columns.is_empty(), "a file refuses the request");
    }
}
