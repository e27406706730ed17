//! Asks every drive how it is: the kernel's sensors first, then NVMe logs, then `smartctl`.
//!
//! Each question is a command to a drive, and a drive that is broken may not answer for minutes. So
//! they are asked by threads of their own and waited for a short time, all together. A recording is
//! read without any.

use facts::counters::ZERO_CELSIUS_MILLIKELVIN;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{Reading, log, smartctl};
use crate::inventory::server::patient;
use crate::inventory::{nvme_controllers, sensor};
use crate::sys::{Host, command};
use facts::inventory::Device;
use facts::inventory::server::Health;

/// How long all drives together are waited for.
pub const PATIENCE: Duration = Duration::from_millis(700);

/// The same for a recording, which nobody waits for as eagerly.
pub const RECORD_PATIENCE: Duration = Duration::from_secs(10);

/// The same beside a trial: a drive that has just met a bad sector answers late.
pub const TRIAL_PATIENCE: Duration = Duration::from_secs(3);

/// Names that one line of what was not read spells out.
const NAMED_MAX: usize = 6;

/// Who is asked, in the order in which they are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HealthSource {
    Sensor,
    Log,
    Smartctl,
}

/// A question to a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    source: HealthSource,
    /// Which of the drives.
    drive: usize,
    /// The sensor's directory in /sys, the NVMe controller, or the disk.
    key: String,
}

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Silence {
    place: String,
    why: String,
    hint: String,
}

/// The health of a drive as one source tells it, or why it does not.
type HealthAnswer = Result<Health, Silence>;

/// The health of each of `drives`, in their order, waited for so long all together.
pub fn read(
    reading: &mut Reading<'_>,
    drives: &[&Device],
    patience: Duration,
) -> Vec<Option<Health>> {
    let host = reading.host();
    let mut silent: Vec<(usize, Silence)> = Vec::new();
    let mut questions = questions(host, drives);
    if host.is_live() {
        silent.extend(bar(host, drives, &mut questions));
    }
    let answers = match host.is_live() {
        true => {
            let live_host = host.clone();
            patient::ask(questions.clone(), patience, move |question| live(&live_host, question))
        }
        false => questions.iter().map(|question| Some(recorded(host, question))).collect(),
    };
    let mut health: Vec<Option<Health>> = vec![None; drives.len()];
    for (question, answer) in questions.iter().zip(answers) {
        match answer.unwrap_or_else(|| Err(late(question, patience))) {
            Ok(more) => match &mut health[question.drive] {
                Some(known) => merge(known, more),
                unknown => *unknown = Some(more),
            },
            Err(silence) => silent.push((question.drive, silence)),
        }
    }
    remember(reading, drives, silent);
    health
}

/// What a recording keeps of the drives: files and their texts. Takes at most
/// [`RECORD_PATIENCE`]; what a drive did not answer by then, or only root may ask, is not in it.
pub fn record(host: &Host, devices: &[Device]) -> Vec<(String, String)> {
    let drives: Vec<&Device> = devices.iter().filter(|device| super::is_drive(device)).collect();
    let mut questions = questions(host, &drives);
    bar(host, &drives, &mut questions);
    let host = host.clone();
    let texts = patient::ask(questions, RECORD_PATIENCE, move |question| {
        let key = &question.key;
        let (file, text) = match question.source {
            // Recorded as a file of /sys.
            HealthSource::Sensor => return None,
            HealthSource::Log => (log::file(key), log::ask_live(&host, key)),
            HealthSource::Smartctl => (smartctl::file(key), smartctl::ask_live(key)),
        };
        Some((file, text.ok()?))
    });
    texts.into_iter().flatten().flatten().collect()
}

/// Who is to be asked about which drive; the quick ones first.
fn questions(host: &Host, drives: &[&Device]) -> Vec<Question> {
    let mut questions = Vec::new();
    for (drive, device) in drives.iter().enumerate() {
        let mut ask = |source: HealthSource, key: String| {
            questions.push(Question { source, drive, key });
        };
        let controllers = match device.name.starts_with("nvme") {
            true => {
                nvme_controllers(host, &PathBuf::from(format!("/sys/class/block/{}", device.name)))
            }
            false => Vec::new(),
        };
        let sensors = controllers.iter().filter_map(|place| sensor::of_nvme(host, place));
        for directory in sensors.take(1).chain(sensor::of_sata(host, &device.name)) {
            ask(HealthSource::Sensor, directory.to_string_lossy().into_owned());
        }
        // All controllers of one drive tell of the same drive.
        let controller = controllers.first().and_then(|place| place.file_name()?.to_str());
        if let Some(name) = controller {
            ask(HealthSource::Log, name.to_owned());
        }
        let kept = || !host.is_live() && host.exists(smartctl::file(&device.name));
        if ["sata", "sas", "scsi", "usb"].contains(&device.transport.as_str()) || kept() {
            ask(HealthSource::Smartctl, device.name.clone());
        }
    }
    questions.sort_by_key(|question| question.source);
    questions
}

/// Takes out the questions that we cannot put, or that would wake a disk, with the reason for each
/// drive.
fn bar(host: &Host, drives: &[&Device], questions: &mut Vec<Question>) -> Vec<(usize, Silence)> {
    let cannot = match command::find("smartctl") {
        None => Some(("it is not installed", "install smartmontools, then run as root")),
        Some(_) if !rustix::process::geteuid().is_root() => {
            Some(("only root may ask", "run as root"))
        }
        Some(_) => None,
    };
    // The kernel itself put it to sleep: to open it, or to read its sensor, wakes it.
    let suspended = |question: &Question| {
        let name = drives.get(question.drive).map_or("", |device| device.name.as_str());
        let place = format!("/sys/class/block/{name}/device/power/runtime_status");
        let status = host.word(&place).filter(|status| status == "suspended")?;
        let hint = format!("smartctl -a /dev/{name} wakes it");
        Some(Silence { place, why: format!("the disk sleeps ({status})"), hint })
    };
    let mut barred = Vec::new();
    questions.retain(|question| {
        let of_smartctl = question.source == HealthSource::Smartctl;
        let cannot = cannot.filter(|_| of_smartctl).map(|(why, hint)| Silence {
            place: "smartctl".into(),
            why: why.into(),
            hint: hint.into(),
        });
        let silence = suspended(question).or(cannot);
        let keep = silence.is_none();
        barred.extend(silence.map(|silence| (question.drive, silence)));
        keep
    });
    barred
}

fn live(host: &Host, question: &Question) -> HealthAnswer {
    let place = place(question);
    let key = &question.key;
    match question.source {
        HealthSource::Sensor => sensed(host, key),
        HealthSource::Log => {
            let text = log::ask_live(host, key).map_err(|error| {
                let hint = match error.is_denied() {
                    true => "run as root".to_owned(),
                    false => String::new(),
                };
                Silence { place, why: error.why, hint }
            })?;
            from_log(&text, question)
        }
        HealthSource::Smartctl => {
            let text = smartctl::ask_live(key).map_err(|error| {
                let hint = command::line(&smartctl::words(key));
                Silence { place, why: error.why, hint }
            })?;
            from_smartctl(&text, question)
        }
    }
}

fn recorded(host: &Host, question: &Question) -> HealthAnswer {
    let path = match question.source {
        HealthSource::Sensor => return sensed(host, &question.key),
        HealthSource::Log => log::file(&question.key),
        HealthSource::Smartctl => smartctl::file(&question.key),
    };
    let mut reading = Reading::new(host);
    let Some(text) = reading.word(&path, "health") else {
        let why = match reading.into_unread().pop() {
            Some(unread) => unread.why,
            None => "the recording does not hold it".to_owned(),
        };
        let hint = "record as root, with smartmontools installed".to_owned();
        return Err(Silence { place: path, why, hint });
    };
    match question.source {
        HealthSource::Log => from_log(&text, question),
        _ => from_smartctl(&text, question),
    }
}

fn from_log(text: &str, question: &Question) -> HealthAnswer {
    log::parse(text).ok_or_else(|| Silence {
        place: place(question),
        why: "what it says is no health log".to_owned(),
        hint: String::new(),
    })
}

fn from_smartctl(text: &str, question: &Question) -> HealthAnswer {
    smartctl::parse(text).map_err(|why| {
        let command = command::line(&smartctl::words(&question.key));
        let hint = match () {
            () if smartctl::sleeps(&why) => format!("smartctl -a /dev/{} wakes it", question.key),
            // A RAID card hides the disks of its volumes behind numbers.
            () if why.contains("-d megaraid") => {
                format!("smartctl -a -d megaraid,0 /dev/{}, and so on for each disk", question.key)
            }
            () => command,
        };
        Silence { place: place(question), why, hint }
    })
}

/// The kernel's sensor, its limits as the drive states them.
fn sensed(host: &Host, directory: &str) -> HealthAnswer {
    let directory = PathBuf::from(directory);
    let celsius = |file: &str| {
        let millikelvin = sensor::millikelvin(host, &directory.join(file))?;
        let milli = i64::try_from(millikelvin).ok()? - ZERO_CELSIUS_MILLIKELVIN as i64;
        Some(milli as f64 / 1000.0).filter(|celsius| *celsius < 1000.0)
    };
    let input = celsius("temp1_input");
    if input.is_none() {
        return Err(Silence {
            place: directory.join("temp1_input").to_string_lossy().into_owned(),
            why: "it holds no temperature".to_owned(),
            hint: String::new(),
        });
    }
    // A drive that states no limit says 0.
    let limit = |file: &str| celsius(file).filter(|celsius| *celsius > 0.0);
    Ok(Health {
        source: "hwmon".to_owned(),
        celsius: input,
        warning_celsius: limit("temp1_max"),
        critical_celsius: limit("temp1_crit"),
        ..Health::default()
    })
}

fn place(question: &Question) -> String {
    match question.source {
        HealthSource::Sensor => format!("{}/temp1_input", question.key),
        HealthSource::Log => format!("/dev/{}", question.key),
        HealthSource::Smartctl => format!("/dev/{}", question.key),
    }
}

fn late(question: &Question, patience: Duration) -> Silence {
    let hint = match question.source {
        HealthSource::Sensor => String::new(),
        HealthSource::Log => format!("nvme smart-log /dev/{}", question.key),
        HealthSource::Smartctl => command::line(&smartctl::words(&question.key)),
    };
    let why = format!("no answer within {} s", patience.as_secs_f64());
    Silence { place: place(question), why, hint }
}

/// Adds what is not known yet.
fn merge(known: &mut Health, more: Health) {
    known.source = format!("{}, {}", known.source, more.source);
    known.passed = known.passed.or(more.passed);
    known.critical_warning = known.critical_warning.or(more.critical_warning);
    known.celsius = known.celsius.or(more.celsius);
    known.warning_celsius = known.warning_celsius.or(more.warning_celsius);
    known.critical_celsius = known.critical_celsius.or(more.critical_celsius);
    known.reallocated_sectors = known.reallocated_sectors.or(more.reallocated_sectors);
    known.pending_sectors = known.pending_sectors.or(more.pending_sectors);
    known.uncorrectable_sectors = known.uncorrectable_sectors.or(more.uncorrectable_sectors);
    known.media_errors = known.media_errors.or(more.media_errors);
    known.logged_errors = known.logged_errors.or(more.logged_errors);
    known.link_errors = known.link_errors.or(more.link_errors);
    known.used_share = known.used_share.or(more.used_share);
    known.power_on_hours = known.power_on_hours.or(more.power_on_hours);
    known.power_loss_protected = known.power_loss_protected.or(more.power_loss_protected);
}

/// One line for all drives that are silent for the same reason.
fn remember(reading: &mut Reading<'_>, drives: &[&Device], silent: Vec<(usize, Silence)>) {
    let mut by_reason: BTreeMap<(String, String), Vec<(usize, Silence)>> = BTreeMap::new();
    for (drive, silence) in silent {
        // What differs only in the drive's name is the same reason.
        let name = drives.get(drive).map_or("", |device| device.name.as_str());
        let general = silence.hint.replace(name, "DISK");
        by_reason.entry((silence.why.clone(), general)).or_default().push((drive, silence));
    }
    for ((why, general), mut silent) in by_reason {
        silent.dedup_by_key(|(drive, _)| *drive);
        let names: Vec<&str> = silent
            .iter()
            .filter_map(|(drive, _)| Some(drives.get(*drive)?.name.as_str()))
            .collect();
        let what = match names.len() {
            0 => continue,
            few if few <= NAMED_MAX => format!("the health of {}", names.join(", ")),
            many => {
                let some = names[..NAMED_MAX - 1].join(", ");
                format!("the health of {some} and {} more", many - NAMED_MAX + 1)
            }
        };
        let (_, first) = &silent[0];
        let hint = if silent.len() == 1 { &first.hint } else { &general };
        reading.miss(&what, &first.place, &why, hint);
    }
}

#[cfg(test)]
mod tests;
