//! Pools of hand-made records, and the arithmetic of the first source, its slips included.

use super::*;
use base::stats::poisson::{exposure_needed, rate_upper};
use base::value::Value;
use experiment::knob;
use experiment::knob::testing::settings;
use experiment::measurement::integrity::{Fault, Integrity, Lasting};
use experiment::measurement::{Amount, Evidence, Measurement, Outcome};
use experiment::plan::Trial;

const BLOCK: u64 = 4096;
const GB: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// A trial that read so many bytes around the page cache and checked them, from the device.
fn checked(number: u32, bytes: u64, hours: f64) -> Record {
    let delivered = Amount { read_bytes: bytes, read_ops: bytes >> 20, ..Amount::default() };
    let evidence = Evidence {
        delivered,
        process_read_bytes: Some(bytes),
        device_read_bytes: Some(bytes),
        devices: vec!["sda".into()],
        filesystem: "ext4".into(),
        resident_before_bytes: Some(0),
        file_bytes: bytes,
        process_io_reliable: true,
        ..Evidence::default()
    };
    let integrity = Integrity {
        checksum: "crc32c".into(),
        block_bytes: BLOCK,
        checked_bytes: bytes,
        ..Integrity::default()
    };
    let elapsed_ns = (hours * 3.6e12) as u64;
    let integrity = Some(integrity);
    let measurement = Measurement { evidence, elapsed_ns, integrity, ..Measurement::default() };
    let mut settings = settings("file", &[("direct", "true")]);
    settings.set(knob::DIRECTORIES, &["/srv/a".into()]);
    let (group, planned) = ("integrity".to_owned(), Some(number));
    let trial =
        Trial { number, replicate: number, group, settings, first_file: 0, seed: 1, planned };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

fn measurement(record: &mut Record) -> &mut Measurement {
    match &mut record.outcome {
        Outcome::Done(measurement) => measurement,
        _ => panic!("all of these are done"),
    }
}

fn integrity(record: &mut Record) -> &mut Integrity {
    measurement(record).integrity.as_mut().unwrap()
}

fn fault(kind: &str, offset: u64, found: &str, lasting: Lasting) -> Fault {
    let (file, kind, found) = ("stream-0-0".into(), kind.into(), found.into());
    Fault { file, kind, offset, found, lasting, ..Fault::default() }
}

/// Adds faults, counted as an engine counts them.
fn with_faults(record: &mut Record, faults: Vec<Fault>) {
    let integrity = integrity(record);
    for fault in faults {
        match fault.kind.as_str() {
            "unreadable" => integrity.unreadable += 1,
            kind => *integrity.wrong.entry(kind.to_owned()).or_default() += 1,
        }
        integrity.faults.push(fault);
    }
}

fn from_memory(record: &mut Record) {
    measurement(record).evidence.memory = true;
}

fn close(one: f64, other: f64, share: f64) -> bool {
    (one / other - 1.0).abs() < share
}

#[test]
fn what_was_never_checked_is_not_spoken_of() {
    let mut record = checked(1, GIB, 1.0);
    assert!(!answer(std::slice::from_ref(&record)).is_empty());
    integrity(&mut record).checked_bytes = 0;
    assert_eq!(
        Pool::from_records(std::slice::from_ref(&record)),
        None,
        "verify was on, nothing was read"
    );
    measurement(&mut record).integrity = None;
    let failed = Record::new(record.trial.clone(), Outcome::Failed("x".into()));
    assert!(answer(&[record, failed]).is_empty());
}

#[test]
fn nothing_wrong_gives_two_bounds_and_says_what_they_are_for() {
    let records = [checked(1, 512 * GIB, 1.0), checked(2, 512 * GIB, 1.0)];
    let found = answer(&records);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|finding| finding.severity == Severity::Info), "{found:?}");
    assert_eq!(found[0].evidence, [1, 2]);
    // 2.9957 / (2^40 * 8), rounded up.
    assert_eq!(
        found[0].claim,
        "No block came back wrong: 268 435 456 blocks, 8.80e12 bits read from the device. At 95 % \
         the rate of silently wrong blocks is below 3.41e-13 per bit."
    );
    // (2.9957e14 - 8.80e12) / 4.40e12 an hour.
    assert!(found[1].claim.starts_with("Every place could be read"), "{found:?}");
    assert!(found[1].whole().contains("makers of drives promise, 1e-14"), "{found:?}");
    let open = "1e-14, 1e-15, 1e-17 are neither shown nor refuted: that takes 2.91e14, 2.99e15, \
                3.00e17 bits without a further error (66.1 h, 28.3 days, 7.77 years at this \
                pace).";
    assert!(found[1].whole().contains(open), "{found:?}");
    let pool = Pool::from_records(&records).unwrap();
    assert!(headline(&pool).starts_with("Every byte that was checked came back"));
}

#[test]
fn what_is_wrong_is_an_error_with_kinds_interval_and_where_to_look() {
    let mut record = checked(3, 1000 * GB, 1.0);
    let faults = vec![
        fault("bit-flip", 0, "00", Lasting::Transient),
        fault("stale", 8192, "01", Lasting::Persistent),
        fault("stale", 4096, "02", Lasting::Persistent),
        fault("unreadable", 16384, "", Lasting::Persistent),
    ];
    with_faults(&mut record, faults);
    let found = answer(std::slice::from_ref(&record));
    assert!(found.iter().all(|finding| finding.severity == Severity::Error), "{found:?}");
    // 3 in 8e12: 3.75e-13; Garwood 0.6187 and 8.767 over 8e12.
    let claim = found[0].whole();
    for part in [
        "3 blocks came back wrong without any error. Of 244 140 625 blocks, 8.00e12 bits",
        "3.75e-13 per bit (7.73e-14 to 1.10e-12, at 95 % below 9.70e-13)",
        "1 bit-flip, 2 stale. Of all faults 3 persistent, 1 transient",
    ] {
        assert!(claim.contains(part), "{part}: {claim}");
    }
    assert!(found[0].advice.as_ref().unwrap().contains("around the page cache"), "{found:?}");
    // One in 8e12 bits: its interval begins at 3.2e-15, so 1e-17 is refuted and 1e-14 is not.
    let claim = found[1].whole();
    assert!(claim.starts_with("1 place could not be read"), "{claim}");
    assert!(
        claim.contains("promise, 1e-15, 1e-17 are not kept (95 %). 1e-14 is neither"),
        "{claim}"
    );
    let pool = Pool::from_records(std::slice::from_ref(&record)).unwrap();
    let said = headline(&pool);
    let told = "3 blocks were wrong without any error and 1 place could not be read. \
                Kinds of fault: 1 bit-flip, 2 stale.";
    assert!(said.ends_with(told), "{said}");
}

#[test]
fn cached_bits_are_no_evidence_and_unknown_ones_are_told_with_their_reason() {
    let mut cached = checked(1, 100 * GB, 1.0);
    from_memory(&mut cached);
    let mut unknown = checked(2, 50 * GB, 1.0);
    measurement(&mut unknown).evidence.process_io_reliable = false;
    with_faults(&mut unknown, vec![fault("torn", 0, "00", Lasting::InMemory)]);
    let records = [cached, unknown, checked(3, 10 * GB, 1.0)];
    let pool = Pool::from_records(&records).unwrap();
    assert_eq!((pool.device.bits, pool.device.trials.as_slice()), (8e10, &[3][..]));
    assert_eq!((pool.wrong(), pool.silent().unwrap().events), (1, 0), "not the device's");
    let found = answer(&records);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[2].whole().contains("came from memory, not from the device"), "{found:?}");
    assert_eq!(found[2].severity, Severity::Info);
    assert!(found[3].whole().contains("are of unknown origin (trial 2: the devices"), "{found:?}");
    assert!(found[3].claim.ends_with("1 block of them came back wrong."), "{found:?}");
    assert_eq!(found[3].severity, Severity::Error);
    let alone = answer(&records[..1]);
    assert_eq!((alone.len(), alone[0].severity), (1, Severity::Warning), "no rate at all");
    assert!(Pool::from_records(&records[..1]).unwrap().promises().is_empty());
}

#[test]
fn a_bad_place_that_is_read_again_in_a_later_trial_is_one_event() {
    let lost = || fault("unreadable", 4096, "", Lasting::Persistent);
    let stale = |found: &str| fault("stale", 8192, found, Lasting::Persistent);
    let mut records = [checked(1, GB, 1.0), checked(2, GB, 1.0), checked(3, GB, 1.0)];
    with_faults(&mut records[0], vec![lost(), stale("aa")]);
    with_faults(&mut records[1], vec![lost(), stale("aa")]);
    with_faults(&mut records[2], vec![lost(), stale("bb")]);
    let pool = Pool::from_records(&records).unwrap();
    assert_eq!((pool.wrong(), pool.unreadable(), pool.again), (2, 1, 3));
    assert_eq!(pool.kinds, [("stale".to_owned(), 2)].into());
    assert_eq!(pool.lasting, [("persistent", 3)].into());
    let elsewhere = Value::Words(vec!["/srv/b".into()]);
    records[2].trial.settings.set_named(knob::DIRECTORIES.name, elsewhere);
    assert_eq!(
        Pool::from_records(&records).unwrap().unreadable(),
        2,
        "the same name in another place"
    );
    // Faults beyond those that were kept are counted all the same.
    integrity(&mut records[0]).unreadable += 500;
    assert_eq!(Pool::from_records(&records).unwrap().unreadable(), 502);
}

#[test]
fn promises_stand_as_the_bounds_say() {
    let standing = |bytes: u64, places: u64| {
        let mut record = checked(1, bytes, 10.0);
        integrity(&mut record).unreadable = places;
        let pool = Pool::from_records(std::slice::from_ref(&record)).unwrap();
        pool.promises()
    };
    let of = |promises: &[Promise]| -> Vec<PromiseStatus> {
        promises.iter().map(|promise| promise.standing).collect()
    };
    // 3.0e14 bits are 37.45 TB.
    let (just, nearly) = (standing(37_447 * GB, 0), standing(37_446 * GB, 0));
    assert_eq!(of(&just), [PromiseStatus::Kept, PromiseStatus::Open, PromiseStatus::Open]);
    assert_eq!(of(&nearly), [PromiseStatus::Open, PromiseStatus::Open, PromiseStatus::Open]);
    assert_eq!((just[0].bits_more, just[0].hours_more), (0.0, Some(0.0)));
    // Ten times as much for the next, at 3.0e13 bits an hour.
    assert!(close(just[1].hours_more.unwrap(), 90.0, 1e-3), "{just:?}");
    let bad = standing(10_000 * GB, 5);
    assert_eq!(of(&bad), [PromiseStatus::Broken, PromiseStatus::Broken, PromiseStatus::Broken]);
}

/// Section 4 of the text: 12 000 readings of a file of 2048 MiB "probed data integrity at the level
/// of 2e13 bits", run "overnight". Those are 2.1e14 bits; 1 200 readings, a tenth, are meant: that
/// many take a night, and 12 000 take 61 hours, at the 100 MB/s or so of two arrays of that time.
#[test]
fn the_first_sources_night_was_a_tenth_of_what_it_printed() {
    let bits = |readings: u64| (readings * 2048 * (1 << 20) * 8) as f64;
    assert!(close(bits(12_000), 2.06e14, 0.01));
    assert!(close(bits(1_200), 2e13, 0.04), "what it calls 2e13");
    let records = [checked(1, 12_000 * 2 * GIB, 61.0)];
    let pool = Pool::from_records(&records).unwrap();
    let pace = pool.device.bits_per_s().unwrap() / 8e6;
    assert!((115.0..120.0).contains(&pace), "{pace} MB/s");
    let hours = |readings: u64| bits(readings) / pool.device.bits_per_s().unwrap() / 3600.0;
    assert!(hours(1_200) < 7.0 && hours(12_000) > 60.0);
    // What each shows of the maker's 1e-14: 12 000 readings all but do, 1 200 are a fifteenth.
    assert!(close(pool.lost().unwrap().below_per_bit, 1.45e-14, 0.01));
    assert!(close(rate_upper(0, bits(1_200)), 1.45e-13, 0.01));
    assert!(close(exposure_needed(1e-14) / bits(1_200), 14.5, 0.01), "nights: a fortnight");
    let more = &pool.promises()[0];
    assert!(close(more.hours_more.unwrap(), 27.7, 0.02), "{more:?}");
}

/// 15 800 readings of 1 GB from each of two arrays in a week "correspond to ~3e14 bits": that is
/// 1.3e14 bits an array, 2.5e14 together, 2.7e14 where GB are 2^30 bytes.
#[test]
fn the_first_sources_week_bounds_each_array_and_both() {
    let array = 15_800.0 * 8e9;
    assert!(close(array, 1.3e14, 0.03) && close(2.0 * array, 2.53e14, 0.01));
    let records = [checked(1, 15_800 * GB, 168.0), checked(2, 15_800 * GB, 168.0)];
    let pool = Pool::from_records(&records).unwrap();
    assert!(close(pool.lost().unwrap().below_per_bit, 1.19e-14, 0.01));
    assert_eq!(pool.promises()[0].standing, PromiseStatus::Open, "3.0e14 would have done");
    let binary = 2.0 * 15_800.0 * 8.0 * GIB as f64;
    assert!(close(binary, 2.71e14, 0.01) && rate_upper(0, binary) > 1e-14);
    assert!(rate_upper(0, 3.0e14) < 1e-14, "as printed it would just show it");
}

/// 1100 readings of 8 GB without an error are told as "< 1/8e13". One over the bits is what is
/// exceeded by chance in 1 - 1/e = 63 % of cases only; at 95 % it is 3.7e-14, and 4.3e-14 for the
/// 7.0e13 bits that 1100 readings are.
#[test]
fn one_over_the_bits_is_a_bound_of_63_percent() {
    let printed: f64 = 8e13;
    let confidence: f64 = 1.0 - (-printed * (1.0 / printed)).exp();
    assert!(close(confidence, 0.632, 0.001));
    assert!(close(rate_upper(0, printed), 3.7e-14, 0.02));
    let read = 1100.0 * 8.0 * 8e9;
    assert!(close(read, 7.04e13, 1e-6) && close(rate_upper(0, read), 4.26e-14, 0.01));
    assert!(close(1100.0 * 64.0 * GIB as f64, 7.56e13, 0.01), "nor are they with 2^30");
}

#[test]
fn bounds_are_printed_so_that_they_hold() {
    assert_eq!([above(3.7447e-14), below(3.7447e-14)], ["3.75e-14", "3.74e-14"]);
    assert_eq!([above(3.75e-14), below(3.75e-14)], ["3.75e-14", "3.75e-14"]);
    assert_eq!([above(9.991e-3), above(1e-15), above(0.0)], ["1.00e-2", "1.00e-15", "0"]);
    assert_eq!(above(f64::INFINITY), "inf");
    for step in 1..2000 {
        let number = 1e-18 * 1.037_f64.powi(step);
        let (up, down): (f64, f64) =
            (above(number).parse().unwrap(), below(number).parse().unwrap());
        assert!(up >= number * (1.0 - 1e-11) && down <= number * (1.0 + 1e-11), "{number}");
        assert!(up / number < 1.0101 && number / down < 1.0101, "{number}: {down} {up}");
    }
    assert_eq!(
        [0.5, 12.34, 100.0, 100_000.0].map(long_time),
        ["30.0 min", "12.3 h", "4.17 days", "11.4 years"]
    );
}

/// "The device accepts 1508 MB/s" headed `run integrity`, which asks whether every byte came back.
#[test]
fn whether_every_byte_came_back_stands_first_where_that_was_asked() {
    let mut record = checked(1, GIB, 1.0);
    let told = |record: &Record| super::told(std::slice::from_ref(record));
    let (is_first, headline) = told(&record).unwrap();
    assert!(!is_first && headline.starts_with("Every byte that was checked came back"));
    let mut asked = record.clone();
    asked.trial.settings = experiment::knob::Settings::defaults("integrity");
    let (is_first, headline) = told(&asked).unwrap();
    assert!(is_first && headline.starts_with("Every byte that was checked came back"));
    // What is wrong stands first in any case.
    with_faults(&mut record, vec![fault("stale", 0, "00", Lasting::Transient)]);
    assert!(told(&record).unwrap().0);
    integrity(&mut asked).checked_bytes = 0;
    let none = "Whether every byte comes back is not known: none was checked.";
    assert_eq!(told(&asked), Some((true, none.to_owned())));
    asked.outcome = Outcome::Failed("x".into());
    assert_eq!(told(&asked), None);
    assert_eq!(super::told(&[]), None);
}
