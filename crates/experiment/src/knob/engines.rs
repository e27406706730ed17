//! The engines: the knobs that each obeys, and what becomes of the files of its trials.
//!
//! A new engine is an entry here and a line in [`ENGINES`].

use super::engine::{Does, EngineKind, Family, FileSource, Keeps};

/// The constants of these knobs, as they stand in the table.
macro_rules! knobs {
    ($($name:ident),*) => { &[$(&$crate::knob::$name.listed()),*] };
}

/// An engine of which nothing else is said.
const PLAIN: EngineKind = EngineKind {
    name: "",
    about: "",
    knobs: &[],
    files: FileSource::Laid,
    keeps: Keeps::Nothing,
    does: &[],
};

/// In the order of the reference.
pub const ENGINES: &[&EngineKind] = &[
    &FILE,
    &INTEGRITY,
    &FLUSH_TEST,
    &TREE,
    &REPLAY,
    &MAIL,
    &DATABASE,
    &NET,
    &NET_FILE,
    &NET_UDP,
    &COMMAND,
    &CONCAT,
    &FIO,
    &BONNIE,
    &IOZONE,
    &DBENCH,
    &SYSBENCH,
    &IOR,
    &MDTEST,
    &ELBENCHO,
    &PGBENCH,
    &SIM,
];

impl EngineKind {
    /// The engine of that name.
    pub fn named(name: &str) -> Option<&'static EngineKind> {
        ENGINES.iter().copied().find(|engine| engine.name == name)
    }
}

/// What every load has.
const LOADS: Family = knobs! {
    STREAMS, AT_LEAST, AT_MOST, SUSTAINED
};

/// Of loads whose streams end by a time or by what they did, and run where they are put.
const TIMED: Family = knobs! {
    STOP, CPU_PINNING
};

/// Of loads that can check what they read.
const CHECKED: Family = knobs! {
    VERIFY, VERIFY_BLOCK
};

/// Of loads that read and write files, blocks of them at a time.
const BLOCKS: Family = knobs! {
    ACCESS, BLOCK_SIZE, QUEUE_DEPTH, BATCH, FILE_SIZE, FILES, DIRECT, COLD, IO_ENGINE,
    SECOND_PASS, FSYNC, DATASYNC, READ_SHARE, STRIDE_BLOCKS, RANDOM_DISTRIBUTION, ZIPF_THETA,
    DATA, COMPRESSIBLE_SHARE, RATE, HUGE_PAGES, POLL
};

/// Of work on names.
const NAMES: Family = knobs! {
    OPERATION, TREE_DEPTH, TREE_WIDTH, SHARED_DIRECTORIES, ORDER, NAMES
};

/// Of a loadfile that is replayed.
const REPLAYED: Family = knobs! {
    LOADFILE, RESOLVE_NAMES, SYNC_OPEN, SYNC_WRITES, SYNC_DIRECTORIES
};

/// Of mailboxes, in postmark's terms.
const MAILBOXES: Family = knobs! {
    POOL_FILES, SIZE_LOW, SIZE_HIGH, SIZE_DISTRIBUTION, READ_BIAS, CREATE_BIAS, SYNC_FILES
};

/// Of any program.
const PROGRAMS: Family = knobs! {
    COMMAND, SHELL, PREPARE, CLEANUP, SERVER, READY, COPY_BYTES, WORKING_DIRECTORY, ENVIRONMENT,
    TIMEOUT, EXTRACT
};

/// Of a simulated server: its truth.
const SIMULATED: Family = knobs! {
    SIM_CAPACITY, SIM_STREAM_RATE, SIM_SERVICE_TIME, SIM_COLLAPSE, SIM_CONTENTION, SIM_COHERENCY,
    SIM_INEQUALITY, SIM_NOISE, SIM_CORRELATION, SIM_CACHE, SIM_CACHE_RATE, SIM_PROCESSOR_CACHE,
    SIM_PROCESSOR_CACHE_RATE, SIM_DEVICE_CACHE, SIM_TRIAL_NOISE, SIM_WRITE_CACHE, SIM_BUS
};

/// Of what goes over a network.
const WIRES: Family = knobs! {
    WIRE, PEER_NAMESPACE, PEER, MTU, SOCKET_BUFFER, PACING, INTERFACES, SETTINGS_AT,
    PEER_INTERFACE
};

/// Of what goes over TCP.
const TCP: Family = knobs! {
    SEND_PATH, RECEIVE_PATH, RECEIVE_LOW_WATER, CONGESTION_CONTROL, NODELAY
};

/// What files lie on, and settings of the machine below them.
const UNDER_FILES: Family = knobs! {
    DISKS, RAID, VOLUMES, CHUNK_SIZE, FILESYSTEM, MKFS_OPTIONS, MOUNT_OPTIONS, JOURNAL,
    ARRAY_STATE, SNAPSHOT, PRECONDITION, FSCK, FSTRIM, RECORDSIZE, COMPRESSION, SYNC,
    PRIMARYCACHE, ATIME, LOGBIAS, READ_AHEAD, IO_SCHEDULER, NR_REQUESTS, MAX_SECTORS,
    DIRTY_RATIO, DIRTY_EXPIRE, SWAPPINESS, CPU_GOVERNOR, TRANSPARENT_HUGEPAGES, DROP_CACHES,
    MEMORY_LIMIT, CPUSET
};

/// How a client asks an NFS server for files.
const MOUNTS: Family = knobs! {
    NFS_VERSION, NFS_TRANSPORT, NFS_READ_SIZE, NFS_WRITE_SIZE, NCONNECT
};

/// The network stack: files may lie on a server elsewhere.
const STACK: Family = knobs! {
    TCP_BUFFER_MAX, SOCKET_BUFFER_MAX, TCP_CONGESTION, NETDEV_BACKLOG_MAX, OPTMEM_MAX
};

/// One network card.
const CARDS: Family = knobs! {
    NETWORK_INTERFACE, INTERFACE_MTU, INTERRUPT_COALESCING, ADAPTIVE_COALESCING, RX_RING,
    TX_RING, TSO, GSO, GRO, LRO, RSS_QUEUES, RPS, INTERRUPT_CPUS, QDISC
};

/// The engine `file`.
pub const FILE: EngineKind = EngineKind {
    name: "file",
    about: "Files in a directory, by io_uring, io_submit, pread and pwrite, or a memory map",
    knobs: &[
        LOADS,
        TIMED,
        CHECKED,
        BLOCKS,
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            DIRECTORIES, DONTCACHE, FSYNC_IN_TIME, CLOSE_IN_TIME, FRESH_FILE, UPDATE_EVERY, WARM_UP
        },
    ],
    ..PLAIN
};

/// The engine `integrity`.
pub const INTEGRITY: EngineKind = EngineKind {
    name: "integrity",
    about: "Files written, read back and partly written over, again and again, every block checked",
    knobs: &[
        LOADS,
        TIMED,
        CHECKED,
        knobs! {
            BLOCK_SIZE, FILE_SIZE, DIRECTORIES, DIRECT, REWRITE_SHARE
        },
    ],
    keeps: Keeps::UntilComplete,
    does: &[Does::ChecksAll],
    ..PLAIN
};

/// The engine `flush-test`.
pub const FLUSH_TEST: EngineKind = EngineKind {
    name: "flush-test",
    about: "Writes flushed one by one, with a log elsewhere of those that were acknowledged",
    knobs: &[
        LOADS,
        TIMED,
        CHECKED,
        knobs! {
            BLOCK_SIZE, FILE_SIZE, DIRECTORIES, DIRECT, FLUSH_LOG, FLUSH_LOG_ANYWHERE
        },
    ],
    keeps: Keeps::UntilRemoved,
    does: &[Does::PausesBetween],
    ..PLAIN
};

/// The engine `tree`.
pub const TREE: EngineKind = EngineKind {
    name: "tree",
    about: "Names in directories: create, stat, unlink and the like, by calls on directory handles",
    knobs: &[
        LOADS,
        TIMED,
        NAMES,
        UNDER_FILES,
        MOUNTS,
        knobs! {
            FILE_SIZE, FILES, DIRECTORIES, COLD, FSYNC, DATA, COMPRESSIBLE_SHARE
        },
    ],
    ..PLAIN
};

/// The engine `replay`.
pub const REPLAY: EngineKind = EngineKind {
    name: "replay",
    about: "A loadfile of dbench, replayed by so many clients: what a file server does to its \
            disks",
    knobs: &[
        LOADS,
        TIMED,
        REPLAYED,
        UNDER_FILES,
        MOUNTS,
        knobs! {
            DIRECTORIES, DATA, COMPRESSIBLE_SHARE, WARM_UP
        },
    ],
    ..PLAIN
};

/// The engine `mail`.
pub const MAIL: EngineKind = EngineKind {
    name: "mail",
    about: "Small files of a mail server, created, appended to, read and deleted as postmark does",
    knobs: &[
        LOADS,
        TIMED,
        MAILBOXES,
        UNDER_FILES,
        MOUNTS,
        knobs! {
            BLOCK_SIZE, DIRECTORIES, DATA, COMPRESSIBLE_SHARE, WARM_UP, TRANSACTIONS
        },
    ],
    ..PLAIN
};

/// The engine `database`.
pub const DATABASE: EngineKind = EngineKind {
    name: "database",
    about: "Transactions of a bank on SQLite, each made durable, as TPC-B profiles them",
    knobs: &[
        LOADS,
        TIMED,
        UNDER_FILES,
        MOUNTS,
        knobs! {
            DIRECTORIES, DATA, COMPRESSIBLE_SHARE, WARM_UP, TRANSACTIONS, SCALE, JOURNAL_MODE,
            SYNCHRONOUS, PAGE_SIZE, SHARED_DATABASE
        },
    ],
    ..PLAIN
};

/// The engine `net`.
pub const NET: EngineKind = EngineKind {
    name: "net",
    about: "TCP from memory to memory: in network namespaces or over loopback of this machine, or \
            to another one",
    knobs: &[
        LOADS,
        TIMED,
        CHECKED,
        WIRES,
        TCP,
        STACK,
        CARDS,
        knobs! {
            WARM_UP, DIRECTION, MESSAGE_SIZE, CPU_GOVERNOR
        },
    ],
    ..PLAIN
};

/// The engine `net-file`.
pub const NET_FILE: EngineKind = EngineKind {
    name: "net-file",
    about: "Files that are read and sent over TCP, on the ways of `net`",
    knobs: &[
        LOADS,
        TIMED,
        CHECKED,
        WIRES,
        TCP,
        UNDER_FILES,
        STACK,
        CARDS,
        knobs! {
            ACCESS, BLOCK_SIZE, QUEUE_DEPTH, FILE_SIZE, FILES, DIRECTORIES, DIRECT, COLD, DATA,
            COMPRESSIBLE_SHARE, WARM_UP
        },
    ],
    files: FileSource::LaidBy("file"),
    ..PLAIN
};

/// The engine `net-udp`.
pub const NET_UDP: EngineKind = EngineKind {
    name: "net-udp",
    about: "Datagrams (UDP) from memory to memory, on the ways of `net`",
    knobs: &[
        LOADS,
        TIMED,
        WIRES,
        CARDS,
        knobs! {
            WARM_UP, DIRECTION, DATAGRAM_SIZE, UDP_SEGMENTATION, UDP_COALESCING, CPU_GOVERNOR,
            SOCKET_BUFFER_MAX, NETDEV_BACKLOG_MAX, OPTMEM_MAX, VERIFY
        },
    ],
    ..PLAIN
};

/// The engine `command`.
pub const COMMAND: EngineKind = EngineKind {
    name: "command",
    about: "Any program, timed, so many copies at once; its output is kept and read",
    knobs: &[
        LOADS,
        PROGRAMS,
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            DIRECTORIES
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `concat`.
pub const CONCAT: EngineKind = EngineKind {
    name: "concat",
    about: "Large netCDF files joined into one along a new dimension, by ncecat or our own program",
    knobs: &[
        LOADS,
        UNDER_FILES,
        MOUNTS,
        knobs! {
            BLOCK_SIZE, FILE_SIZE, FILES, DIRECTORIES, COLD, CONCAT_WITH, VARIABLES
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `fio`.
pub const FIO: EngineKind = EngineKind {
    name: "fio",
    about: "Files, by the installed fio; its figures stand beside what the kernel counted",
    knobs: &[
        TIMED,
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            ACCESS, BLOCK_SIZE, QUEUE_DEPTH, BATCH, STREAMS, FILE_SIZE, FILES, DIRECTORIES,
            DIRECT, COLD, IO_ENGINE, AT_MOST, SUSTAINED, FSYNC, DATASYNC, READ_SHARE,
            RANDOM_DISTRIBUTION, ZIPF_THETA, DATA, COMPRESSIBLE_SHARE, RATE
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `bonnie++`.
pub const BONNIE: EngineKind = EngineKind {
    name: "bonnie++",
    about: "One file through stdio and in blocks, then small files, by the installed bonnie++",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            BLOCK_SIZE, FILE_SIZE, FILES, DIRECTORIES, AT_MOST
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `iozone`.
pub const IOZONE: EngineKind = EngineKind {
    name: "iozone",
    about: "One file written and read in thirteen ways, by the installed iozone",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            BLOCK_SIZE, FILE_SIZE, DIRECTORIES, DIRECT, AT_MOST
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `dbench`.
pub const DBENCH: EngineKind = EngineKind {
    name: "dbench",
    about: "Clients of a file server that replay a loadfile, by the installed dbench",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            STREAMS, DIRECTORIES, STOP, AT_MOST
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `sysbench`.
pub const SYSBENCH: EngineKind = EngineKind {
    name: "sysbench",
    about: "Files, by the installed sysbench's fileio, one thread",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            ACCESS, BLOCK_SIZE, FILE_SIZE, FILES, DIRECTORIES, DIRECT, IO_ENGINE, STOP, AT_MOST,
            FSYNC
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `ior`.
pub const IOR: EngineKind = EngineKind {
    name: "ior",
    about: "A parallel file system's files, one a task, by the installed IOR",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            ACCESS, BLOCK_SIZE, STREAMS, FILE_SIZE, DIRECTORIES, DIRECT, AT_MOST
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `mdtest`.
pub const MDTEST: EngineKind = EngineKind {
    name: "mdtest",
    about: "Empty files made, looked at, opened and removed, by tasks of the installed mdtest",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            STREAMS, FILES, DIRECTORIES, AT_MOST
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `elbencho`.
pub const ELBENCHO: EngineKind = EngineKind {
    name: "elbencho",
    about: "Files, or the names of empty ones, by threads of the installed elbencho",
    knobs: &[
        TIMED,
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            ACCESS, BLOCK_SIZE, QUEUE_DEPTH, STREAMS, FILE_SIZE, FILES, DIRECTORIES, DIRECT,
            IO_ENGINE, AT_MOST
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `pgbench`.
pub const PGBENCH: EngineKind = EngineKind {
    name: "pgbench",
    about: "PostgreSQL on the target, by the installed pgbench: TPC-B's profile",
    knobs: &[
        UNDER_FILES,
        MOUNTS,
        STACK,
        CARDS,
        knobs! {
            STREAMS, DIRECTORIES, STOP, AT_MOST, SCALE
        },
    ],
    files: FileSource::Own,
    ..PLAIN
};

/// The engine `sim`.
pub const SIM: EngineKind = EngineKind {
    name: "sim",
    about: "A simulated server whose truth is known, for testing what is above an engine",
    knobs: &[
        LOADS,
        TIMED,
        BLOCKS,
        SIMULATED,
        knobs! {
            DIRECTORIES, WARM_UP
        },
    ],
    does: &[Does::Simulates],
    ..PLAIN
};
