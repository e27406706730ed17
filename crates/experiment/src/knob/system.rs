//! Knobs of the machine: files of /proc and /sys, and the control group of the load.
//!
//! Each defaults to `as-is`, which leaves alone what is in force. Where a knob lies is said by its
//! constant; finding, writing, noting and restoring is for `campaign::apply` and the journal.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::typed::{Bytes, Count, Nanoseconds, OrAsIs, Setting, Word};
use super::{Apply, Knob, Scope};
use base::value::Domain;
use lies::{Devices, KnobFiles, ValueFormat};

pub mod interface;
pub mod lies;
pub mod mount;
pub mod network;

const GIB: u64 = 1 << 30;

/// Whole numbers.
const ONES: ValueFormat = ValueFormat::Number(1);

const fn knob<T: Setting>(
    name: &'static str,
    fio: &'static str,
    domain: Domain,
    apply: Apply,
    about: &'static str,
) -> Knob<T> {
    let (scope, default) = (Scope::System, "as-is");
    Knob { name, fio, about, domain, default, scope, apply, reads: PhantomData }
}

pub const READ_AHEAD: Knob<OrAsIs<Bytes>> = knob(
    "read-ahead",
    "",
    // The kernel counts it in pages.
    Domain::OrAsIs(&Domain::Bytes { min: 0, max: GIB, step: 4096 }),
    Apply::Files(KnobFiles::ReadAhead),
    "What the kernel reads ahead of a buffered reader, on the devices that the file system lies on",
);
pub const IO_SCHEDULER: Knob<OrAsIs<Word>> = knob(
    "io-scheduler",
    "",
    Domain::OrAsIs(&Domain::OneOf(&["none", "mq-deadline", "kyber", "bfq"])),
    Apply::Files(KnobFiles::Queue {
        file: "scheduler",
        form: ValueFormat::Word,
        of: Devices::Disks,
        disturbs: Some("nr_requests"),
    }),
    "The I/O scheduler of the disks",
);
pub const NR_REQUESTS: Knob<OrAsIs<Count>> = knob(
    "nr-requests",
    "",
    Domain::OrAsIs(&Domain::Count { min: 1, max: 1 << 20 }),
    Apply::Files(KnobFiles::Queue {
        file: "nr_requests",
        form: ONES,
        of: Devices::Disks,
        disturbs: None,
    }),
    "Requests that the block layer holds for each disk",
);
pub const MAX_SECTORS: Knob<OrAsIs<Bytes>> = knob(
    "max-sectors",
    "",
    Domain::OrAsIs(&Domain::Bytes { min: 4096, max: GIB, step: 1024 }),
    Apply::Files(KnobFiles::Queue {
        file: "max_sectors_kb",
        form: lies::KIB,
        of: Devices::Stack,
        disturbs: None,
    }),
    "Largest request that the block layer sends to each disk",
);
pub const DIRTY_RATIO: Knob<OrAsIs<Count>> = knob(
    "dirty-ratio",
    "",
    Domain::OrAsIs(&Domain::Count { min: 1, max: 100 }),
    Apply::Files(KnobFiles::Machine {
        path: "/proc/sys/vm/dirty_ratio",
        form: ONES,
        instead: Some("/proc/sys/vm/dirty_bytes"),
    }),
    "Percent of available memory that writers may dirty before they must write it back themselves",
);
pub const DIRTY_EXPIRE: Knob<OrAsIs<Nanoseconds>> = knob(
    "dirty-expire",
    "",
    Domain::OrAsIs(&Domain::Duration { min_ns: 10_000_000, max_ns: 86_400_000_000_000 }),
    Apply::Files(KnobFiles::machine(
        "/proc/sys/vm/dirty_expire_centisecs",
        ValueFormat::Number(10_000_000),
    )),
    "Age at which dirty memory is written back; the kernel counts in 10 ms",
);
pub const SWAPPINESS: Knob<OrAsIs<Count>> = knob(
    "swappiness",
    "",
    Domain::OrAsIs(&Domain::Count { min: 0, max: 200 }),
    Apply::Files(KnobFiles::machine("/proc/sys/vm/swappiness", ONES)),
    "How readily the kernel swaps rather than drops cached files; 100 is without preference",
);
pub const CPU_GOVERNOR: Knob<OrAsIs<Word>> = knob(
    "cpu-governor",
    "",
    Domain::OrAsIs(&Domain::OneOf(&[
        "performance",
        "powersave",
        "schedutil",
        "ondemand",
        "conservative",
    ])),
    Apply::Files(KnobFiles::Governors),
    "Who chooses the CPUs' frequency",
);
pub const TRANSPARENT_HUGEPAGES: Knob<OrAsIs<Word>> = knob(
    "transparent-hugepages",
    "",
    Domain::OrAsIs(&Domain::OneOf(&["always", "madvise", "never"])),
    Apply::Files(KnobFiles::machine(
        "/sys/kernel/mm/transparent_hugepage/enabled",
        ValueFormat::Word,
    )),
    "When anonymous memory gets huge pages without being asked for",
);
pub const DROP_CACHES: Knob<OrAsIs<bool>> = knob(
    "drop-caches",
    "",
    Domain::OrAsIs(&Domain::Flag),
    Apply::DropCaches,
    "Everything clean that memory holds of files is dropped before each trial",
);
pub const MEMORY_LIMIT: Knob<OrAsIs<Bytes>> = knob(
    "memory-limit",
    "",
    Domain::OrAsIs(&Domain::Bytes { min: 16 << 20, max: 1 << 50, step: 4096 }),
    Apply::MemoryGroup,
    "Memory of the load, the files that it caches with it: a control group around it",
);
pub const CPUSET: Knob<OrAsIs<Word>> = knob(
    "cpuset",
    "cpus_allowed",
    Domain::OrAsIs(&Domain::CpuList),
    Apply::Processors,
    "CPUs that the load may run on, such as 0-3,8",
);
