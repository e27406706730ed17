//! A small plan, drawn: a workload, some knobs within their domains, one of them at two levels or
//! three, and a stop of bytes or of tenths of a second.

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
pub struct Draws(u64);

impl Draws {
    /// The same seed draws the same plan.
    pub fn new(seed: u64) -> Draws {
        Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// So many different ones, in their order.
    fn some_of<'a>(&mut self, words: &[&'a str], count: usize) -> Vec<&'a str> {
        let mut places: Vec<usize> = (0..words.len()).collect();
        while places.len() > count {
            places.remove(self.below(places.len()));
        }
        places.into_iter().map(|place| words[place]).collect()
    }
}

/// What is typed.
pub struct Plan {
    /// The arguments.
    pub words: Vec<String>,
}

/// Workloads, each with the knobs that may be set.
const OF_FILES: &[&str] =
    &["sequential-read", "sequential-write", "random-read", "random-write", "mixed"];
const OF_NAMES: &[&str] = &["create", "open", "stat", "rename", "unlink", "mkdir"];
const OF_CLIENTS: &[&str] = &["mailbox", "sqlite"];

/// Knobs of loads on files, with levels.
const FILES: &[(&str, &[&str])] = &[
    ("block-size", &["4KiB", "8KiB", "64KiB", "256KiB", "1MiB"]),
    ("queue-depth", &["1", "2", "8", "32", "128"]),
    ("streams", &["1", "2", "3", "8"]),
    ("io-engine", &["uring", "aio", "sync", "mmap"]),
    ("batch", &["1", "4", "16"]),
    ("fsync", &["never", "end", "every"]),
    ("cold", &["true", "false"]),
    ("sustained", &["true", "false"]),
    ("rate", &["0", "100", "5000"]),
    ("files", &["1", "2"]),
    ("read-share", &["0.1", "0.5", "0.9"]),
];

/// Loads on names.
const NAMES: &[(&str, &[&str])] =
    &[("streams", &["1", "2", "4"]), ("files", &["1", "10", "200"]), ("sustained", &["true"])];

/// Clients.
const CLIENTS: &[(&str, &[&str])] = &[("streams", &["1", "2", "4"])];

/// Draws one.
pub fn drawn(draws: &mut Draws) -> Plan {
    let (workloads, knobs) = match draws.below(10) {
        0 => (OF_CLIENTS, CLIENTS),
        1 | 2 => (OF_NAMES, NAMES),
        _ => (OF_FILES, FILES),
    };
    let workload = draws.one_of(workloads);
    let mut words = vec!["run".to_owned(), workload.to_owned()];
    let varied = draws.below(knobs.len());
    for (place, (knob, levels)) in knobs.iter().enumerate() {
        let count = if place == varied { 2 + draws.below(2) } else { 1 };
        if place != varied && draws.below(2) == 0 {
            continue;
        }
        words.push(format!("{knob}={}", draws.some_of(levels, count).join(",")));
    }
    if workloads == OF_FILES {
        words.push(format!("file-size={}", draws.one_of(&["128KiB", "1MiB", "8MiB"])));
        words.push(format!("direct={}", draws.one_of(&["false", "false", "true"])));
    }
    let stops: &[&str] = match workloads == OF_FILES {
        // Bytes of a few I/Os are what windows were none of.
        true => &["100ms", "200ms", "400ms", "4KiB", "128KiB", "512KiB", "4MiB", "pass"],
        false => &["100ms", "300ms"],
    };
    words.push(format!("stop={}", draws.one_of(stops)));
    if workloads == OF_CLIENTS {
        words.push("warm-up=0s".to_owned());
    }
    let replicates = draws.one_of(&["1", "1", "2"]);
    let rest = ["--dir", ".", "--json", "--quiet", "--seed", "1", "--replicates", replicates];
    words.extend(rest.map(str::to_owned));
    Plan { words }
}
