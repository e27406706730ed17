//! Processes below one of ours: which there are, what they have read and written, and what one that
//! does not end waits for.

use super::{Host, clock};

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

    /// What came on top of `before`.
    pub fn minus(self, before: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(before.write_bytes),
            called_read_bytes: self.called_read_bytes.saturating_sub(before.called_read_bytes),
            called_write_bytes: self.called_write_bytes.saturating_sub(before.called_write_bytes),
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

/// The account of this process, with the children that it has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    moved: Moved,
    asked_bytes: u64,
}

impl Own {
    /// As it is now; `None` where the kernel keeps none.
    pub fn now(host: &Host) -> Option<Own> {
        let text = host.read("/proc/self/io").ok()?;
        Some(Own { moved: moved(&text)?, asked_bytes: text.len() as u64 })
    }

    /// What came on top since then, where this process did nothing meanwhile but wait for a child:
    /// what that had moved, and all that it had waited for (kernel/exit.c, `wait_task_zombie`).
    /// The child's own account may be root's alone once it has ended (seen on Linux 6.18).
    pub fn since(self, host: &Host) -> Option<Moved> {
        let asking = Moved { called_read_bytes: self.asked_bytes, ..Moved::default() };
        Some(Own::now(host)?.moved.minus(self.moved).minus(asking))
    }
}

/// What a process and the children that it has waited for have read and written, while it runs.
/// `None` for other people's processes.
pub fn moved_by(host: &Host, pid: i32) -> Option<Moved> {
    moved(&host.read(format!("/proc/{pid}/io")).ok()?)
}

/// Processor time of a process and the children that it has waited for, user and system, ns
/// (proc_pid_stat(5): `utime` and `cutime`, `stime` and `cstime`).
pub fn computed_by(host: &Host, pid: i32) -> Option<[u64; 2]> {
    computed(&host.read(format!("/proc/{pid}/stat")).ok()?, clock::tick_ns())
}

fn computed(text: &str, tick_ns: u64) -> Option<[u64; 2]> {
    // Field 3 is the first after the name.
    let mut words = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().skip(14 - 3);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    let (user, system, of_children) = (ticks()?, ticks()?, [ticks()?, ticks()?]);
    let ns = |ticks: u64| ticks.saturating_mul(tick_ns);
    Some([ns(user.saturating_add(of_children[0])), ns(system.saturating_add(of_children[1]))])
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

/// Functions of the kernel that are shown of one that hangs: those that wait, and for what.
const FRAMES_MAX: usize = 6;

/// Where the threads of a process hang that no signal ends, in the kernel's words, those that hang
/// in the same place told once: `2 threads in state D: io_schedule < folio_wait_bit_common < ...`,
/// innermost first; the place alone where the stack may not be read (it takes CAP_SYS_ADMIN).
pub fn hung(host: &Host, pid: u32) -> String {
    let mut places: Vec<(String, usize)> = Vec::new();
    for thread in host.list(format!("/proc/{pid}/task")) {
        let of = |name: &str| host.word(format!("/proc/{pid}/task/{thread}/{name}"));
        let state = of("stat").and_then(|text| process(&text)).map_or('?', |one| one.state);
        if matches!(state, 'Z' | 'X') {
            continue;
        }
        let stack = of("stack").map(|text| frames(&text)).filter(|text| !text.is_empty());
        let place = stack.or_else(|| of("wchan").filter(|place| place != "0"));
        let place = match place {
            Some(place) => format!("in state {state}: {place}"),
            None => format!("in state {state}"),
        };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, count)) => *count += 1,
            None => places.push((place, 1)),
        }
    }
    let told = places.iter().map(|(place, count)| match count {
        1 => format!("1 thread {place}"),
        some => format!("{some} threads {place}"),
    });
    format!("process {pid}: {}", told.collect::<Vec<_>>().join("; "))
}

/// The names of functions in /proc/PID/stack: `[<0>] io_schedule+0x46/0x70`.
fn frames(text: &str) -> String {
    let names = text.lines().filter_map(|line| {
        let name = line.split_once("] ")?.1.split('+').next()?.trim();
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
        (plain && !name.is_empty()).then_some(name)
    });
    names.take(FRAMES_MAX).collect::<Vec<_>>().join(" < ")
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
        assert_eq!(computed(STAT, 10), Some([10, 20]));
        assert_eq!(computed(&STAT.replace(" 1 2 0 0 20", " 1 2 30 40 20"), 1), Some([31, 42]));
        for end in 0..STAT.len() {
            let _ = process(&STAT[..end]);
            let _ = computed(&STAT[..end], 10);
        }
        for end in 0..IO.len() {
            let _ = super::moved(&IO[..end]);
        }
    }

    #[test]
    fn a_stack_is_told_from_the_inside_and_a_cut_one_does_no_harm() {
        let stack = "[<0>] io_schedule+0x46/0x70\n[<0>] folio_wait_bit_common+0x13d/0x340\n\
                     [<0>] ext4_file_read_iter+0x5b/0x190 [ext4]\n[<0>] \u{1b}+0x1/0x2\n";
        assert_eq!(frames(stack), "io_schedule < folio_wait_bit_common < ext4_file_read_iter");
        for end in (0..stack.len()).filter(|end| stack.is_char_boundary(*end)) {
            let _ = frames(&stack[..end]);
        }
        let own = hung(&Host::live(), std::process::id());
        assert!(own.contains(&format!("process {}: ", std::process::id())), "{own}");
        assert!(own.contains("in state "), "{own}");
    }

    #[test]
    fn our_own_process_is_below_the_one_that_started_it() {
        let host = Host::live();
        let own = process(&host.read("/proc/self/stat").unwrap()).unwrap();
        assert!(below(&host, own.parent, &[]).iter().any(|process| process.pid == own.pid));
        assert!(below(&host, own.parent, &[own.pid]).iter().all(|process| process.pid != own.pid));
        assert!(moved_by(&host, own.pid).is_some());
        assert!(Own::now(&host).unwrap().since(&host).is_some());
        assert!(computed_by(&host, own.pid).is_some());
        assert!(stuck(&host, &own).contains(&format!("pid {}", own.pid)));
    }
}
