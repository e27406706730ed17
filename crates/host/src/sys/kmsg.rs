//! What the kernel said while a trial ran, out of /dev/kmsg
//! (Documentation/ABI/testing/dev-kmsg).
//!
//! A log is opened at its end and read once, without waiting. Whoever prints the lines need not
//! escape them again: what is no plain character was escaped here.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use super::{Error, Host};

/// More lines are counted, not kept: a driver that is in trouble repeats itself.
const LINES_MAX: usize = 100;
/// More text than this is counted, not kept.
const BYTES_MAX: usize = 16 << 10;
/// The kernel gives one record a read, none longer (`PRINTK_MESSAGE_MAX` and its fields).
const RECORD_BYTES_MAX: usize = 8192;
/// No log is longer than this: a kernel that writes faster than we read must not hold us up.
const RECORDS_MAX: usize = 100_000;

/// The kernel's log from some moment on.
#[derive(Debug)]
pub struct KernelLog(File);

/// What was in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// `[12.345678] text`, the kernel's clock in seconds; oldest first.
    pub lines: Vec<String>,
    /// Lines beyond those that are kept, and those that the kernel had thrown away.
    pub more: usize,
    bytes: usize,
}

impl KernelLog {
    /// The log from now on.
    ///
    /// # Errors
    /// When it may not be read (it takes CAP_SYSLOG where kernel.dmesg_restrict is 1).
    pub fn from_now_on(host: &Host) -> Result<KernelLog, Error> {
        let failed = |error| Error::new("cannot read the kernel's messages in /dev/kmsg", error);
        let mut options = std::fs::OpenOptions::new();
        let options = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let mut file = options.open(host.path("/dev/kmsg")).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(KernelLog(file))
    }

    /// What was said since it was opened, or read last.
    pub fn read(&mut self) -> Messages {
        let mut messages = Messages::default();
        let mut record = vec![0; RECORD_BYTES_MAX];
        for _ in 0..RECORDS_MAX {
            match self.0.read(&mut record) {
                Ok(0) => break,
                Ok(read) => messages.take(&String::from_utf8_lossy(&record[..read])),
                // The kernel wrote over what was not read yet; the next read goes on after it.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => messages.more += 1,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        messages
    }
}

impl Messages {
    /// Takes one record: `priority,number,µs,flags[,...];text`, then lines that begin with a blank:
    /// keys of the device, which are left out.
    fn take(&mut self, record: &str) {
        let Some((head, text)) = record.split_once(';') else { return };
        let mut fields = head.split(',');
        let kernel = fields.next().and_then(|text| text.parse::<u32>().ok());
        // What programs wrote into the log (facility above 0) is not the kernel's.
        if kernel.is_none_or(|priority| priority >> 3 != 0) {
            return;
        }
        let Some(us) = fields.nth(1).and_then(|text| text.parse::<u64>().ok()) else { return };
        let text = escaped(text.lines().next().unwrap_or_default());
        let line = format!("[{}.{:06}] {text}", us / 1_000_000, us % 1_000_000);
        if self.lines.len() == LINES_MAX || self.bytes + line.len() > BYTES_MAX {
            self.more += 1;
            return;
        }
        self.bytes += line.len();
        self.lines.push(line);
    }

    /// The lines that name one of `devices`, or a file system in trouble, as errors of I/O and
    /// file systems that were shut down or made read-only.
    pub fn of_trouble(&self, devices: &[String]) -> Messages {
        const TROUBLE: &[&str] = &[
            "i/o error",
            "error",
            "shut down",
            "shutdown",
            "shutting down",
            "read-only",
            "aborted",
            "corrupt",
            "timed out",
            "timeout",
            "offline",
            "reset",
        ];
        let is_trouble = |line: &&String| {
            let lower = line.to_lowercase();
            let named = |device: &String| {
                lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == device)
            };
            TROUBLE.iter().any(|word| lower.contains(word)) && devices.iter().any(named)
        };
        let lines: Vec<String> = self.lines.iter().filter(is_trouble).cloned().collect();
        Messages { lines, ..Messages::default() }
    }

    /// The lines that were said between two moments of [`super::clock::raw_ns`]. The kernel stamps
    /// them by a clock of its own that runs at the same rate (Documentation/timers/timekeeping.rst,
    /// `sched_clock`).
    pub fn between(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &String> {
        let said_ns = |line: &str| {
            let (seconds, us) = line.strip_prefix('[')?.split_once(']')?.0.split_once('.')?;
            let seconds = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
            seconds.checked_add(us.parse::<u64>().ok()?.checked_mul(1000)?)
        };
        let inside = move |line: &&String| {
            said_ns(line).is_some_and(|at_ns| (from_ns..=to_ns).contains(&at_ns))
        };
        self.lines.iter().filter(inside)
    }

    /// All lines as one text, one after the other; `None` when there are none.
    pub fn text(&self) -> Option<String> {
        let mut text = self.lines.join("; ");
        if self.more > 0 {
            text.push_str(&format!("; and {} more", self.more));
        }
        (!self.lines.is_empty()).then_some(text)
    }
}

/// Control characters, and those that turn the direction of what follows, as `\xNN` and `\u{NNNN}`.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                safe.extend(c.escape_unicode());
            }
            c if c.is_control() => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded on Linux 6.18 when the disk under a mounted ext4 went away.
    const RECORDS: &[&str] = &[
        "6,1201,5123456789,-;loop0: detected capacity change from 0 to 524288\n",
        "3,1202,5124000001,-;I/O error, dev loop0, sector 131072 op 0x1:(WRITE) flags 0x800 \
         phys_seg 8 prio class 2\n SUBSYSTEM=block\n DEVICE=b7:0\n",
        "2,1203,5124000100,-,caller=T77;EXT4-fs error (device loop0): ext4_journal_check_start:86: \
         comm brickyard: Detected aborted journal\n",
        "2,1204,5124000200,-;EXT4-fs (loop0): Remounting filesystem read-only\n",
        "30,1205,5124000300,-;systemd[1]: a program's line\n",
        "4,1206,5124000400,c;an evil name: \\x1b[31m \u{1b}]0;title\u{7} \u{202e}txt\n",
    ];

    fn taken(records: &[&str]) -> Messages {
        let mut messages = Messages::default();
        records.iter().for_each(|record| messages.take(record));
        messages
    }

    #[test]
    fn recorded_messages_are_read_and_what_programs_wrote_is_left_out() {
        let messages = taken(RECORDS);
        assert_eq!(messages.lines.len(), 5, "{messages:?}");
        assert_eq!(
            messages.lines[3],
            "[5124.000200] EXT4-fs (loop0): Remounting filesystem read-only"
        );
        assert!(messages.lines[1].ends_with("prio class 2"), "keys are left out");
        assert!(messages.lines[4].ends_with("\\x1b[31m \\x1b]0;title\\x07 \\u{202e}txt"));
        let text = messages.text().unwrap();
        assert!(text.contains("; [5124.000100] EXT4-fs error") && !text.contains('\n'));
        assert_eq!(Messages::default().text(), None);
    }

    #[test]
    fn trouble_of_other_devices_is_not_that_of_these() {
        let messages = taken(RECORDS);
        let of = |name: &str| messages.of_trouble(&[name.to_owned()]).lines.len();
        assert_eq!((of("loop0"), of("loop"), of("loop00"), of("sda")), (3, 0, 0, 0));
    }

    #[test]
    fn what_was_said_around_a_moment_is_found_by_its_time() {
        let messages = taken(RECORDS);
        let between = |from_us: u64, to_us: u64| {
            messages.between(from_us * 1000, to_us * 1000).cloned().collect::<Vec<_>>()
        };
        assert_eq!(between(5_124_000_000, 5_124_000_100), messages.lines[1..3]);
        assert_eq!(between(0, 5_123_456_788), [""; 0]);
        assert_eq!(between(0, u64::MAX / 1000).len(), 5);
        for line in ["", "[", "[1", "[1.", "[1.x] a", "[99999999999999999999.1] a", "1.2] a"] {
            let strange = Messages { lines: vec![line.into()], ..Messages::default() };
            assert_eq!(strange.between(0, u64::MAX).count(), 0, "{line}");
        }
    }

    #[test]
    fn a_cut_record_does_no_harm() {
        for record in RECORDS {
            for end in (0..record.len()).filter(|end| record.is_char_boundary(*end)) {
                taken(&[&record[..end]]);
            }
        }
        assert_eq!(taken(&["", ";", "x,1,2,-;a", "6,1;a", "6,1,x,-;a"]).lines.len(), 0);
    }

    #[test]
    fn a_flood_is_cut_and_counted() {
        let line = "6,1,1,-;again and again\n";
        let messages = taken(&vec![line; 5000]);
        assert_eq!((messages.lines.len(), messages.more), (LINES_MAX, 4900));
        let long = format!("6,1,1,-;{}\n", "x".repeat(1000));
        let messages = taken(&vec![long.as_str(); 50]);
        let kept: usize = messages.lines.iter().map(String::len).sum();
        assert!(kept <= BYTES_MAX && messages.more == 50 - messages.lines.len());
    }

    /// Root may write into the log; a line of ours must come back, and nothing older.
    #[test]
    #[expect(clippy::print_stdout, reason = "says that it is skipped")]
    #[expect(clippy::disallowed_methods, reason = "makes fixtures")]
    fn the_log_is_read_from_the_moment_at_which_it_was_opened() {
        let mark = format!("<6>brickyard test {}", std::process::id());
        // Without its newline a record stays open, and the next one ends it.
        let write = |text: &str| std::fs::write("/dev/kmsg", format!("{text}\n"));
        let Ok(()) = write(&format!("{mark} before")) else {
            println!("SKIP kmsg: needs to write into /dev/kmsg");
            return;
        };
        let Ok(mut log) = KernelLog::from_now_on(&Host::live()) else {
            println!("SKIP kmsg: needs to read /dev/kmsg");
            return;
        };
        write(&format!("{mark} after")).unwrap();
        let mut raw = vec![0; RECORD_BYTES_MAX];
        let mut found = String::new();
        // Our line has the facility of a program, so the log itself leaves it out.
        while let Ok(read) = log.0.read(&mut raw) {
            found.push_str(&String::from_utf8_lossy(&raw[..read]));
        }
        assert!(found.contains("after") && !found.contains("before"), "{found}");
        let error = KernelLog::from_now_on(&Host::at("/nowhere")).unwrap_err();
        assert!(error.why.contains("os error 2"), "{error}");
    }
}
