//! Processes below one of ours: which there are, what they have read and written, and what one that
//! does not end waits for.

use super::Host;

/// What /proc/PID/io says, with the children that the process has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Read from storage, bytes.
    pub read_bytes: u64,
    /// Written to storage or to the page cache on the way there, bytes.
    pub write_bytes: u64,
    /// Asked for by read(2) and its like, bytes.
    pub called_read_bytes: u64,
    /// Handed to write(2) and its like, bytes.
    pub called_write_bytes: u64,
}

impl Moved {
    /// Both together.
    pub fn plus(self, other: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            write_bytes: self.write_bytes.saturating_add(other.write_bytes),
            called_read_bytes: self.called_read_bytes.saturating_add(other.called_read_bytes),
            called_write_bytes: self.called_write_bytes.saturating_add(other.called_write_bytes),
        }
    }
}

/// One process, out of /proc/PID/stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// As in proc_pid_stat(5): `R`, `S`, `D`, `Z`, ...
    pub state: char,
    /// The process that started it, or adopted it.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
}

/// Reads /proc/PID/stat.
pub fn process(text: &str) -> Option<Process> {
    let (pid, rest) = text.split_once(' ')?;
    // The command's name is in brackets and may hold blanks and brackets: the last one closes it.
    let mut words = rest.get(rest.rfind(')')? + 1..)?.split_ascii_whitespace();
    Some(Process {
        pid: pid.parse().ok()?,
        state: words.next()?.chars().next()?,
        parent: words.next()?.parse().ok()?,
        group: words.next()?.parse().ok()?,
    })
}

/// Reads /proc/PID/io.
pub fn moved(text: &str) -> Option<Moved> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line?.trim().parse().ok()
    };
    Some(Moved {
        read_bytes: of("read_bytes")?,
        write_bytes: of("write_bytes")?,
        called_read_bytes: of("rchar")?,
        called_write_bytes: of("wchar")?,
    })
}

/// Every process below `ancestor`, in no order, but not those of `except` and what is below them.
pub fn below(host: &Host, ancestor: i32, except: &[i32]) -> Vec<Process> {
    let numbers = host.list("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let all: Vec<Process> =
        numbers.filter_map(|pid| process(&host.read(format!("/proc/{pid}/stat")).ok()?)).collect();
    let mut below: Vec<Process> = Vec::new();
    let mut ancestors = vec![ancestor];
    while let Some(one) = ancestors.pop() {
        let of = |process: &&Process| {
            process.parent == one && process.pid != one && !except.contains(&process.pid)
        };
        for child in all.iter().filter(of) {
            ancestors.push(child.pid);
            below.push(*child);
        }
    }
    below
}

/// What a process and the children that it has waited for have read and written; works until it is
/// waited for itself. `None` for other people's processes.
pub fn moved_by(host: &Host, pid: i32) -> Option<Moved> {
    moved(&host.read(format!("/proc/{pid}/io")).ok()?)
}

/// What a process that does not end is doing, in the kernel's words: `D in folio_wait_bit_common`.
pub fn stuck(host: &Host, process: &Process) -> String {
    let now = host.read(format!("/proc/{}/stat", process.pid)).ok();
    let state = now.and_then(|text| self::process(&text)).map_or(process.state, |now| now.state);
    let name = host.word(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
    let place = host.word(format!("/proc/{}/wchan", process.pid));
    match place.filter(|place| place != "0") {
        Some(place) => format!("{name} (pid {}) in state {state} in {place}", process.pid),
        None => format!("{name} (pid {}) in state {state}", process.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "4711 (a) b (c) D 12 4711 4711 0 -1 4194560 122 0 0 0 1 2 0 0 20 0 1 0";
    const IO: &str = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n\
                      read_bytes: 4096\nwrite_bytes: 323932160\ncancelled_write_bytes: 0\n";

    #[test]
    fn recorded_files_of_proc_are_read_and_cut_ones_do_no_harm() {
        let expected = Process { pid: 4711, state: 'D', parent: 12, group: 4711 };
        assert_eq!(process(STAT), Some(expected));
        let moved = super::moved(IO).unwrap();
        assert_eq!((moved.read_bytes, moved.called_read_bytes), (4096, 323_934_931));
        assert_eq!(moved.plus(moved).write_bytes, 647_864_320);
        for end in 0..STAT.len() {
            let _ = process(&STAT[..end]);
        }
        for end in 0..IO.len() {
            let _ = super::moved(&IO[..end]);
        }
    }

    #[test]
    fn our_own_process_is_below_the_one_that_started_it() {
        let host = Host::live();
        let own = process(&host.read("/proc/self/stat").unwrap()).unwrap();
        assert!(below(&host, own.parent, &[]).iter().any(|process| process.pid == own.pid));
        assert!(below(&host, own.parent, &[own.pid]).iter().all(|process| process.pid != own.pid));
        assert!(moved_by(&host, own.pid).is_some());
        assert!(stuck(&host, &own).contains(&format!("pid {}", own.pid)));
    }
}
