//! Every parser with mutated inputs, in processes of their own: one that panics, hangs, takes a
//! gibibyte or overruns its stack is found, and told with what repeats it.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::{PARSERS, Parser, Seeds, find};

mod mutate;
mod planted;

/// What a process of these tests is to do: `PARSER:FIRST:COUNT`.
const ORDER: &str = "BRICKYARD_MUTATED";
/// Where it says which input it is about to read.
const PROGRESS: &str = "BRICKYARD_MUTATED_PROGRESS";
/// Inputs of each parser, and of each when time does not matter: 50 000 in all.
const EACH: u64 = 100;
const EACH_LONG: u64 = 1800;
/// Memory that a parser may take, bytes.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Processor time that a parser may take for one input.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Failures of one parser beyond these are not looked for.
const FAILURES_MAX: usize = 5;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The inputs that a parser's mutants are made of, in an order that is always the same.
fn seeds(parser: &Parser) -> Vec<Vec<u8>> {
    match parser.seeds {
        Seeds::Fixtures(names) => files(&root().join("tests/fixtures"), names),
        Seeds::Shipped(names) => files(&root(), names),
        Seeds::Texts(texts) => texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
        Seeds::Made(make) => make(),
    }
}

#[expect(clippy::disallowed_methods, reason = "reads fixtures")]
fn files(folder: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for name in names {
        let path = folder.join(name);
        match path.read_dir() {
            Ok(entries) => paths.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => paths.push(path),
        }
    }
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Every parser takes what it understands: a seed that is refused at its first byte tests nothing
/// but that. What comes of it cannot be seen here; that it is read at all can.
#[test]
fn every_parser_has_a_name_of_its_own_and_something_to_begin_with() {
    for (at, parser) in PARSERS.iter().enumerate() {
        let seeds = seeds(parser);
        assert!(!seeds.is_empty() && seeds.iter().all(|seed| !seed.is_empty()), "{}", parser.name);
        assert!(PARSERS[..at].iter().all(|other| other.name != parser.name), "{}", parser.name);
        assert_eq!(find(parser.name).map(|found| found.name), Some(parser.name));
        seeds.iter().for_each(|seed| (parser.feed)(seed));
    }
}

/// 5 193 mutated inputs had broken nothing, and 50 000 over every parser found sums that overflowed
/// at what a peer said, and a log that asked for as much memory as it liked.
#[test]
fn no_mutated_input_panics_or_hangs_or_takes_a_gibibyte() {
    if let Ok(order) = std::env::var(ORDER) {
        return child(&order);
    }
    let each = if std::env::var_os("BRICKYARD_LONG").is_some() { EACH_LONG } else { EACH };
    let next = AtomicUsize::new(0);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut failures = Vec::new();
                    while let Some(parser) = PARSERS.get(next.fetch_add(1, Relaxed)) {
                        failures.extend(all(parser, each));
                    }
                    failures
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let count = PARSERS.len() as u64 * each;
    assert!(failures.is_empty(), "of {count} inputs:\n{}", failures.join("\n"));
}

/// Feeds a parser with so many mutants; what failed, each with what repeats it.
fn all(parser: &Parser, count: u64) -> Vec<String> {
    let (mut first, mut failures) = (0, Vec::new());
    while first < count && failures.len() < FAILURES_MAX {
        let Err((at, why)) = run(parser.name, first, count - first) else { break };
        let name = parser.name;
        let again = format!("{ORDER}={name}:{at}:1 cargo test --lib no_mutated_input");
        failures.push(format!("{name}, input {at}: {why}\n    {again}"));
        first = at + 1;
    }
    failures
}

/// A process that feeds `count` mutants; else the one at which it ended, and why.
#[expect(clippy::disallowed_methods, reason = "the test starts itself, with less memory")]
fn run(name: &str, first: u64, count: u64) -> Result<(), (u64, String)> {
    let progress = tempfile::tempfile().unwrap();
    progress.write_all_at(&first.to_le_bytes(), 0).unwrap();
    let test = "parsers::tests::no_mutated_input_panics_or_hangs_or_takes_a_gibibyte";
    let descriptor = rustix::io::fcntl_dupfd_cloexec(&progress, 3).unwrap();
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::empty()).unwrap();
    use std::os::fd::AsRawFd;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ORDER, format!("{name}:{first}:{count}"))
        .env(PROGRESS, descriptor.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = host::sys::gate::start(&mut command).unwrap();
    drop(descriptor);
    let mut said = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = std::io::Read::read_to_end(&mut said, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let at = || {
        let mut bytes = [0; 8];
        progress.read_exact_at(&mut bytes, 0).unwrap();
        u64::from_le_bytes(bytes)
    };
    let cpu = |pid: u32| -> Option<Duration> {
        // Of all its threads, in ticks: proc_pid_stat(5).
        let text = host::sys::Host::live().read(format!("/proc/{pid}/stat")).ok()?;
        let mut words = text.rsplit_once(") ")?.1.split(' ').skip(11);
        let mut ticks = || words.next()?.parse::<u64>().ok();
        Some(Duration::from_nanos((ticks()? + ticks()?) * host::sys::clock::tick_ns()))
    };
    let (mut seen, mut before) = (at(), Duration::ZERO);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let used = cpu(child.id()).unwrap_or_default();
        if at() != seen {
            (seen, before) = (at(), used);
        }
        if used.saturating_sub(before) > TIME_MAX {
            let _ = child.kill();
            let _ = child.wait();
            return Err((seen, format!("takes longer than {TIME_MAX:?}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = said.join().unwrap();
    match status.success() {
        true => Ok(()),
        false => {
            let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).take(3).collect();
            Err((at(), format!("{status}: {}", lines.join(" "))))
        }
    }
}

/// Feeds one mutant after the other.
fn child(order: &str) {
    let mut words = order.split(':');
    let name = words.next().unwrap();
    let planted = planted::PARSERS.iter().find(|parser| parser.name == name);
    let parser = planted.or_else(|| find(name)).unwrap();
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (first, count) = (number(), number());
    let progress = std::env::var(PROGRESS).ok().map(|number| {
        use std::os::fd::FromRawFd;
        // SAFETY: the parent opened it for us and named it to nobody else.
        unsafe { std::fs::File::from_raw_fd(number.parse().unwrap()) }
    });
    let seeds = seeds(parser);
    bound_memory();
    for number in first..first + count {
        if let Some(progress) = &progress {
            progress.write_all_at(&number.to_le_bytes(), 0).unwrap();
        }
        let input = mutate::input(&seeds, parser.name, number);
        if count == 1 {
            let _ = writeln!(std::io::stderr(), "{}", String::from_utf8_lossy(&input));
        }
        (parser.feed)(&input);
    }
}

/// From here on this process may have so much more memory.
fn bound_memory() {
    let statm = host::sys::Host::live().read("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    let now = pages * rustix::param::page_size() as u64;
    let most = Some(now + MEMORY_BYTES_MAX);
    let limit = rustix::process::Rlimit { current: most, maximum: most };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
}

/// The harness itself: it finds what panics, what hangs, what takes too much memory and what
/// overruns its stack, and says at which input.
#[test]
fn the_harness_finds_each_kind_of_failure_and_names_the_input() {
    assert_eq!(run("harness-fine", 3, 4), Ok(()));
    for (name, what) in [
        ("harness-panics", "planted"),
        ("harness-hangs", "longer than"),
        ("harness-swells", "memory allocation"),
        ("harness-recurs", "overflow"),
    ] {
        let (at, why) = run(name, 3, 9).unwrap_err();
        assert!(at == 5 && why.contains(what), "{name}: input {at}: {why}");
    }
}
