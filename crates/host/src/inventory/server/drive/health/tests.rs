//! Who is asked, and what is said of those that do not answer.

use super::*;
use crate::inventory::device;
use crate::inventory::recording::Recording;
use facts::inventory::server::Unread;

fn health(text: &str) -> (Vec<Device>, Vec<Option<Health>>, Vec<Unread>) {
    let machine = Recording::unpack(text);
    let host = machine.host();
    let devices = device::all(&host, &[]);
    let mut reading = Reading::new(&host);
    let drives: Vec<&Device> =
        devices.iter().filter(|device| super::super::is_drive(device)).collect();
    let health = read(&mut reading, &drives, PATIENCE);
    (devices, health, reading.into_unread())
}

/// An NVMe drive with a sensor, and a SATA disk with one.
fn machine() -> String {
    let nvme = "/sys/devices/pci0000:40/0000:41:00.0/nvme/nvme0";
    let sata = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
    format!(
        "{nvme}/nvme0n1/size = 2048\n{nvme}/nvme0n1/device -> {nvme}\n\
         {nvme}/hwmon4/name = nvme\n{nvme}/hwmon4/temp1_input = 41850\n\
         {nvme}/hwmon4/temp1_max = 81850\n{nvme}/hwmon4/temp1_crit = 84850\n\
         /sys/class/block/nvme0n1 -> {nvme}/nvme0n1\n\
         {sata}/block/sda/size = 2048\n{sata}/block/sda/device -> {sata}\n\
         {sata}/hwmon/hwmon2/name = drivetemp\n{sata}/hwmon/hwmon2/temp1_input = -5000\n\
         {sata}/hwmon/hwmon2/temp1_max = 0\n\
         /sys/class/block/sda -> {sata}/block/sda\n"
    )
}

fn log() -> String {
    let mut page = [0u8; 512];
    page[1] = 0x3b;
    page[2] = 0x01;
    page[5] = 7;
    let hex: String = page.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("/.brickyard/nvme/nvme0.json = {{\"health_log_hex\":\"{hex}\"}}\n")
}

#[test]
fn sensors_are_believed_first_and_logs_add_what_they_do_not_tell() {
    let said = "/.brickyard/smartctl/sda.json = \
                {\"smart_status\":{\"passed\":true},\"temperature\":{\"current\":99}}\n";
    let (_, health, unread) = health(&(machine() + &log() + said));
    let nvme = health[0].clone().unwrap();
    assert_eq!(nvme.source, "hwmon, nvme log");
    assert_eq!((nvme.celsius, nvme.warning_celsius), (Some(41.85), Some(81.85)));
    assert_eq!((nvme.critical_celsius, nvme.used_share), (Some(84.85), Some(0.07)));
    let sata = health[1].clone().unwrap();
    assert_eq!(sata.source, "hwmon, smartctl");
    assert_eq!((sata.celsius, sata.passed), (Some(-5.0), Some(true)));
    assert_eq!(sata.warning_celsius, None, "a limit of 0 is none");
    assert_eq!(unread, []);
}

#[test]
fn a_disk_that_sleeps_is_not_read_and_is_said_how_to_wake() {
    let said = "/.brickyard/smartctl/sda.json = {\"smartctl\":{\"messages\":[{\"string\":\
                \"Device is in STANDBY mode, exit(2)\"}]}}\n";
    let (_, _, unread) = health(&(machine() + &log() + said));
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].what, "the health of sda");
    assert_eq!(unread[0].hint, "smartctl -a /dev/sda wakes it");
}

#[test]
fn a_disk_that_the_kernel_put_to_sleep_is_not_asked_at_all() {
    let asleep = "/sys/class/block/sda/device/power/runtime_status = suspended\n";
    let machine = Recording::unpack(&(machine() + asleep));
    let host = machine.host();
    let devices = device::all(&host, &[]);
    let drives: Vec<&Device> = devices.iter().collect();
    let mut asked = questions(&host, &drives);
    assert_eq!(asked.len(), 4);
    let barred = bar(&host, &drives, &mut asked);
    assert!(asked.iter().all(|question| devices[question.drive].name == "nvme0n1"));
    assert_eq!((asked.len(), barred.len()), (2, 2));
    assert_eq!(barred[0].1.why, "the disk sleeps (suspended)");
}

#[test]
fn disks_behind_a_raid_card_are_said_how_to_ask() {
    let said = "/.brickyard/smartctl/sda.json = {\"smartctl\":{\"messages\":[{\"string\":\
                \"/dev/sda: DELL or MegaRaid controller, please try adding '-d megaraid,N'\"}]}}\n";
    let (_, _, unread) = health(&(machine() + &log() + said));
    assert!(unread[0].hint.starts_with("smartctl -a -d megaraid,0 /dev/sda"), "{unread:?}");
}

#[test]
fn what_a_recording_lacks_or_holds_as_nonsense_is_not_read() {
    let (_, known, unread) = health(&machine());
    assert_eq!(known[0].as_ref().unwrap().source, "hwmon");
    assert_eq!(unread.len(), 1, "one reason, one line: {unread:?}");
    assert_eq!(unread[0].what, "the health of nvme0n1, sda");
    let broken = machine().replace("41850", "hot").replace("-5000", "hex ff");
    let nonsense = "/.brickyard/nvme/nvme0.json = [\n/.brickyard/smartctl/sda.json = hex ff\n";
    let (_, unknown, unread) = health(&(broken + nonsense));
    assert_eq!(unknown, [None, None]);
    assert!(unread.len() >= 3, "{unread:?}");
}

#[test]
fn drives_that_hang_are_told_and_do_not_keep_the_others() {
    // A pipe that nobody writes into never answers.
    let folder = tempfile::tempdir().unwrap();
    let hung = folder.path().join("temp1_input");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &hung,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let well = tempfile::tempdir().unwrap();
    crate::sys::output::keep(&well.path().join("temp1_input"), b"30000\n").unwrap();
    let question = |folder: &tempfile::TempDir, drive: usize| Question {
        source: HealthSource::Sensor,
        drive,
        key: folder.path().to_string_lossy().into_owned(),
    };
    let questions = [question(&folder, 0), question(&well, 1)];
    let begun_ns = crate::sys::clock::monotonic_ns();
    let put = |question: &Question| live(&Host::live(), question);
    let answers = patient::ask(questions.to_vec(), Duration::from_millis(400), put);
    assert!(crate::sys::clock::monotonic_ns() - begun_ns < 5_000_000_000);
    assert_eq!(answers[0], None);
    assert_eq!(answers[1].as_ref().unwrap().as_ref().unwrap().celsius, Some(30.0));
    assert!(late(&questions[0], PATIENCE).why.contains("no answer within 0.7 s"));
    // Lets the thread go.
    rustix::fs::open(&hung, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty()).unwrap();
}

#[test]
fn many_silent_drives_share_a_line() {
    let machine = Recording::unpack(
        &(0..40).map(|n| format!("/sys/class/block/sd{n:02}/size = 2048\n")).collect::<String>(),
    );
    let host = machine.host();
    let devices = device::all(&host, &[]);
    let drives: Vec<&Device> = devices.iter().collect();
    let mut reading = Reading::new(&host);
    let silent = (0..40).map(|drive| {
        let hint = format!("smartctl /dev/sd{drive:02}");
        (drive, Silence { place: "/dev/x".into(), why: "late".into(), hint })
    });
    remember(&mut reading, &drives, silent.collect());
    let unread = reading.into_unread();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].what, "the health of sd00, sd01, sd02, sd03, sd04 and 35 more");
    assert_eq!(unread[0].hint, "smartctl /dev/DISK");
}
