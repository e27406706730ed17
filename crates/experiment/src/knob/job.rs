//! Knobs of the load itself: what one trial does.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::access::Access;
use super::typed::{Bytes, Count, Nanoseconds, Number, Word, Words};
use super::{Knob, of_job};
use base::value::{Domain, Stop};

const GIB: u64 = 1 << 30;
const DAY_NS: u64 = 86_400_000_000_000;

pub const ACCESS: Knob<Access> =
    of_job("access", "rw", Domain::OneOf(Access::NAMES), "read", "Order and direction of the I/O");
pub const BLOCK_SIZE: Knob<Bytes> = of_job(
    "block-size",
    "bs",
    Domain::Bytes { min: 512, max: GIB, step: 512 },
    "1MiB",
    "Bytes moved by one I/O",
);
pub const QUEUE_DEPTH: Knob<Count> = of_job(
    "queue-depth",
    "iodepth",
    Domain::Count { min: 1, max: 4096 },
    "1",
    "I/Os in flight per stream",
);
pub const BATCH: Knob<Count> = of_job(
    "batch",
    "iodepth_batch_complete_min",
    Domain::Count { min: 1, max: 4096 },
    "1",
    "I/Os that a stream waits for before it submits anew; above 1 saves CPU and adds latency",
);
pub const STREAMS: Knob<Count> = of_job(
    "streams",
    "numjobs",
    Domain::Count { min: 1, max: 10_000 },
    "1",
    "Sequences of I/O at the same time, each with files of its own, or copies of a program",
);
pub const FILE_SIZE: Knob<Bytes> = of_job(
    "file-size",
    "size",
    Domain::Bytes { min: 0, max: 1 << 50, step: 1 },
    "1GiB",
    "Bytes of each file; to read and write in blocks, 4KiB or more, in multiples of 512",
);
pub const FILES: Knob<Count> = of_job(
    "files",
    "nrfiles",
    Domain::Count { min: 1, max: 1_000_000 },
    "1",
    "Files per stream, used one after the other; directories for `mkdir` and `rmdir`",
);
pub const DIRECTORIES: Knob<Words> = of_job(
    "directories",
    "directory",
    Domain::Directories,
    "",
    "Where the files are; streams are dealt to several in turn",
);
pub const DIRECT: Knob<bool> = of_job(
    "direct",
    "direct",
    Domain::Flag,
    "true",
    "Around the page cache (O_DIRECT); `false` goes through it",
);
pub const DONTCACHE: Knob<bool> = of_job(
    "dontcache",
    "uncached",
    Domain::Flag,
    "false",
    "Through the page cache, but what was not in it before does not stay there (RWF_DONTCACHE, \
     Linux 6.14); needs `direct=false`",
);
pub const COLD: Knob<bool> = of_job(
    "cold",
    "invalidate",
    Domain::Flag,
    "true",
    "Starts with nothing of the files in memory, proved; `false`: with all of it",
);
pub const IO_ENGINE: Knob<Word> = of_job(
    "io-engine",
    "ioengine",
    Domain::OneOf(&["uring", "aio", "sync", "mmap", "stdio", "putc"]),
    "uring",
    "How the kernel is asked: io_uring, io_submit, pread and pwrite, a memory map, or the C \
     library's FILE by fread and fwrite or, byte by byte, by getc and putc",
);
pub const STOP: Knob<Stop> = of_job(
    "stop",
    "runtime",
    Domain::Stop,
    "10s",
    "When the timed part ends: a time, bytes per stream, bits that were checked by all of them \
     (`1e14bits`), `pass` (each file once), `steady`, or when the 95 % interval of the throughput \
     is narrow enough (`interval:5%`)",
);
pub const AT_LEAST: Knob<Nanoseconds> = of_job(
    "at-least",
    "",
    Domain::Duration { min_ns: 0, max_ns: DAY_NS },
    "0s",
    "A trial that stops by bytes, passes or the end of a program goes on for at least this long",
);
pub const AT_MOST: Knob<Nanoseconds> = of_job(
    "at-most",
    "",
    Domain::Duration { min_ns: 1_000_000, max_ns: 31 * DAY_NS },
    "1h",
    "No trial runs longer than this, settled or not, complete or not",
);
pub const SUSTAINED: Knob<bool> = of_job(
    "sustained",
    "",
    Domain::Flag,
    "true",
    "A stream that is done goes on untimed until all are; `false` repeats the old mistake",
);
pub const SECOND_PASS: Knob<bool> = of_job(
    "second-pass",
    "",
    Domain::Flag,
    "false",
    "Reads the same blocks once more afterwards, to catch a cache behind the kernel",
);
pub const FSYNC: Knob<Word> = of_job(
    "fsync",
    "fsync",
    Domain::OneOf(&["never", "end", "every"]),
    "end",
    "When what was changed is made durable: never, once at the end, or after every write",
);
pub const DATASYNC: Knob<bool> = of_job(
    "datasync",
    "fdatasync",
    Domain::Flag,
    "false",
    "What `fsync` asks for is done by fdatasync(2): data, and of the rest what reading them takes",
);
pub const FSYNC_IN_TIME: Knob<bool> = of_job(
    "fsync-in-time",
    "end_fsync",
    Domain::Flag,
    "true",
    "Making files durable between two rounds counts as time; `false` as in iozone without -e",
);
pub const CLOSE_IN_TIME: Knob<bool> = of_job(
    "close-in-time",
    "",
    Domain::Flag,
    "false",
    "Each round ends with closing its files, which counts as time, as in iozone -c",
);
pub const FRESH_FILE: Knob<bool> = of_job(
    "fresh-file",
    "overwrite",
    Domain::Flag,
    "false",
    "`access=write` begins every round with empty files, so that space is allocated while timed",
);
pub const READ_SHARE: Knob<Number> = of_job(
    "read-share",
    "rwmixread",
    Domain::Number { min: 0.0, max: 1.0 },
    "0.7",
    "Share of reads in `random-mix`",
);
pub const STRIDE_BLOCKS: Knob<Count> = of_job(
    "stride-blocks",
    "",
    Domain::Count { min: 2, max: 1 << 20 },
    "17",
    "`read-strided` reads one block of every so many (iozone's -j, default 17)",
);
pub const UPDATE_EVERY: Knob<Count> = of_job(
    "update-every",
    "",
    Domain::Count { min: 1, max: 1 << 20 },
    "1",
    "`update` and `random-update` read blocks, and change and write back every so many-th",
);
pub const RANDOM_DISTRIBUTION: Knob<Word> = of_job(
    "random-distribution",
    "random_distribution",
    Domain::OneOf(&["uniform", "zipf"]),
    "uniform",
    "How random blocks are drawn",
);
pub const ZIPF_THETA: Knob<Number> = of_job(
    "zipf-theta",
    "random_distribution",
    Domain::Number { min: 0.01, max: 0.99 },
    "0.9",
    "Skew of `zipf`: block of rank k is drawn in proportion to k^-theta",
);
pub const DATA: Knob<Word> = of_job(
    "data",
    "buffer_pattern",
    Domain::OneOf(&["random", "zero", "compressible"]),
    "random",
    "What is written: incompressible and unique blocks, zeros, or partly compressible blocks",
);
pub const COMPRESSIBLE_SHARE: Knob<Number> = of_job(
    "compressible-share",
    "buffer_compress_percentage",
    Domain::Number { min: 0.0, max: 1.0 },
    "0.5",
    "Share of zeros in each 4 KiB with `data=compressible`",
);
pub const RATE: Knob<Count> = of_job(
    "rate",
    "rate_iops",
    Domain::Count { min: 0, max: 100_000_000 },
    "0",
    "I/Os per second per stream, at fixed times whatever the server does; 0 is as fast as it can",
);
pub const CPU_PINNING: Knob<Word> = of_job(
    "cpu-pinning",
    "cpus_allowed",
    Domain::Cpus,
    "none",
    "CPUs of the streams: none, spread (one after the other), or a list such as 0-3,8; over a \
     network the sender and the receiver of each stream in turn, or numa-local: on the node of the \
     card that bytes go over",
);
pub const HUGE_PAGES: Knob<bool> = of_job(
    "huge-pages",
    "mem",
    Domain::Flag,
    "true",
    "Buffers on huge pages where the kernel gives them",
);
pub const POLL: Knob<bool> = of_job(
    "poll",
    "hipri",
    Domain::Flag,
    "false",
    "Completions are polled for (IOPOLL); only on devices with poll queues",
);
