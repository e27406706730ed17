//! What the NFS server of this machine's own kernel did: its threads, and /proc/net/rpc/nfsd.
//!
//! Threads of the kernel named `nfsd` answer the requests. Their processor time and context
//! switches are the server's cost (proc_pid_stat(5)), and they submit the reads of the block
//! devices themselves, so that /proc/PID/io tells what came from there; writing back is done by
//! others. The numbers of operations are those of RFC 1813 and RFC 7862 (fs/nfsd/stats.c).

use super::process::{Io, io, stat};
use super::text::{lines, number, value_of, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

/// What an NFS server here has sent and received.
pub const NFS_SERVER: CounterSource = CounterSource {
    name: "nfs-server",
    about: "Cost, block-device reads and operations of the NFS server in this machine's kernel",
    fields: &[
        Field::gauge("threads"),
        Field::counter("cpu_ns"),
        Field::counter("context_switches"),
        Field::counter("disk_read_bytes"),
        Field::counter("sent_bytes"),
        Field::counter("received_bytes"),
        Field::counter("calls"),
        Field::counter("read_ops"),
        Field::counter("write_ops"),
        Field::counter("commit_ops"),
        Field::counter("getattr_ops"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// Places of the operations in their line, READ, WRITE, COMMIT and GETATTR, and the scope of each.
const OPERATIONS: [(&[u8], &[u8], [usize; 4]); 2] =
    [(b"proc3", b"nfs3", [6, 7, 21, 1]), (b"proc4ops", b"nfs4", [25, 38, 5, 9])];
const FIRST_OPERATION: usize = 7;

/// A server has 8 threads where nobody asks for more; the files of each are held open.
const MOST_THREADS: usize = 256;

/// The files of the server's threads, kept open.
#[derive(Debug)]
pub struct NfsdThreads(Vec<NfsdThread>);

/// The files of one thread of the NFS server, kept open.
#[derive(Debug)]
struct NfsdThread {
    stat: Reread,
    status: Reread,
    io: Option<Reread>,
}

impl NfsdThreads {
    /// `None` when this machine's kernel serves nobody, or it cannot be seen.
    pub fn open(host: &Host) -> Option<NfsdThreads> {
        // Whoever cannot look into the kernel's threads need not look for them.
        let told = || host.exists("/proc/net/rpc/nfsd") || host.exists("/proc/1/net/rpc/nfsd");
        if !told() {
            return None;
        }
        let threads: Vec<NfsdThread> =
            pids(host).filter_map(|pid| NfsdThread::open(host, &pid)).collect();
        (!threads.is_empty()).then_some(NfsdThreads(threads))
    }

    /// What all of them had the block layer move. `None` when one cannot be read.
    pub fn io(&mut self) -> Option<Io> {
        let mut sum = Io { read_bytes: 0, write_bytes: 0 };
        for thread in &mut self.0 {
            let one = thread.io.as_mut()?.read().and_then(io)?;
            sum.read_bytes = sum.read_bytes.checked_add(one.read_bytes)?;
            sum.write_bytes = sum.write_bytes.checked_add(one.write_bytes)?;
        }
        Some(sum)
    }

    /// Ticks of processor time, and context switches. `None` when one has ended: the sum would go
    /// back.
    fn cost(&mut self) -> Option<(u64, u64)> {
        let (mut ticks, mut switches) = (0_u64, 0_u64);
        for thread in &mut self.0 {
            ticks = ticks.checked_add(stat(thread.stat.read()?)?.cpu_ticks)?;
            let status = thread.status.read()?;
            for key in ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"] {
                switches = switches.checked_add(value_of(status, key)?)?;
            }
        }
        Some((ticks, switches))
    }
}

impl NfsdThread {
    fn open(host: &Host, pid: &str) -> Option<NfsdThread> {
        let file = |name: &str| Reread::open(host, format!("/proc/{pid}/{name}")).ok();
        Some(NfsdThread { stat: file("stat")?, status: file("status")?, io: file("io") })
    }
}

/// Threads of the kernel, which have no command line, of that name.
fn pids(host: &Host) -> impl Iterator<Item = String> {
    let digits = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let is_it = |pid: &String| {
        host.word(format!("/proc/{pid}/comm")).as_deref() == Some("nfsd")
            && host.read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty())
    };
    let found: Vec<String> = host.list("/proc").into_iter().filter(digits).filter(is_it).collect();
    found.into_iter().take(MOST_THREADS)
}

/// A process number of one of its threads, whose control groups and network are the server's.
pub fn pid(host: &Host) -> Option<u32> {
    pids(host).next()?.parse().ok()
}

struct Server {
    threads: NfsdThreads,
    operations: Option<Reread>,
    tick_ns: u64,
}

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let threads = NfsdThreads::open(host)?;
    // A client may be in a network namespace of its own.
    let places = ["/proc/1/net/rpc/nfsd", "/proc/net/rpc/nfsd"];
    let operations = places.iter().find_map(|path| Reread::open(host, path).ok());
    Some(Box::new(Server { threads, operations, tick_ns: subject.tick_ns }))
}

impl Sample for Server {
    fn sample(&mut self, table: &mut Table) {
        if let Some((ticks, switches)) = self.threads.cost() {
            table.put(b"", 0, self.threads.0.len() as u64);
            table.put(b"", 1, ticks.saturating_mul(self.tick_ns));
            table.put(b"", 2, switches);
        }
        if let Some(io) = self.threads.io() {
            table.put(b"", 3, io.read_bytes);
        }
        if let Some(text) = self.operations.as_mut().and_then(Reread::read) {
            parse(text, &mut |scope, field, value| table.put(scope, field, value));
        }
    }
}

/// Calls `put` with the protocol's version, empty for both together, field and value.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(name) = words.next() else { continue };
        match name {
            b"io" => {
                for (field, word) in (4..6).zip(words) {
                    number(word).into_iter().for_each(|value| put(b"", field, value));
                }
            }
            b"rpc" => {
                let calls = words.next().and_then(number);
                calls.into_iter().for_each(|value| put(b"", 6, value));
            }
            _ => {
                let found = OPERATIONS.iter().find(|(line, _, _)| *line == name);
                let Some((_, version, places)) = found else { continue };
                // How many there are stands before them.
                for (at, word) in words.skip(1).enumerate() {
                    let field = places.iter().position(|place| *place == at);
                    if let Some((field, value)) = field.zip(number(word)) {
                        put(version, FIRST_OPERATION + field, value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;
    use crate::sys::Host;

    #[test]
    fn a_recorded_server_yields_its_operations_by_version() {
        let text = include_str!("../../../../tests/fixtures/proc/net-rpc-nfsd");
        let all = parse_whole_and_truncated(text, parse);
        let of = |scope: &str, name: &str| {
            let field = NFS_SERVER.fields.iter().position(|field| field.name == name).unwrap();
            let found = all.iter().find(|(of, at, _)| of == scope && *at == field);
            found.map(|(_, _, value)| *value)
        };
        assert_eq!(
            (of("", "sent_bytes"), of("", "received_bytes")),
            (Some(40 << 20), Some(10 << 20))
        );
        assert_eq!(of("", "calls"), Some(428));
        assert_eq!((of("nfs4", "read_ops"), of("nfs4", "write_ops")), (Some(320), Some(80)));
        assert_eq!((of("nfs4", "commit_ops"), of("nfs4", "getattr_ops")), (Some(1), Some(101)));
        assert_eq!((of("nfs3", "read_ops"), of("nfs3", "commit_ops")), (Some(0), Some(0)));
        parse(b"io\nrpc x\nproc3\nproc4ops 1\nio -1 2\n", &mut |_, field, value| {
            assert_eq!((field, value), (5, 2));
        });
    }

    /// A program of that name has a command line, and is no server.
    #[test]
    fn threads_of_the_kernel_are_added_up_and_a_program_of_their_name_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
            std::fs::write(path, text).unwrap();
        };
        let host = Host::at(folder.path());
        assert!(NfsdThreads::open(&host).is_none());
        write("proc/net/rpc/nfsd", "io 1 2\n");
        let stat = include_str!("../../../../tests/fixtures/proc/pid-stat");
        let status = "voluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n";
        for (pid, line) in [("7", ""), ("8", ""), ("9", "nfsd\0")] {
            write(&format!("proc/{pid}/comm"), "nfsd\n");
            write(&format!("proc/{pid}/cmdline"), line);
            write(&format!("proc/{pid}/stat"), stat);
            write(&format!("proc/{pid}/status"), status);
            write(&format!("proc/{pid}/io"), "read_bytes: 100\nwrite_bytes: 10\n");
        }
        let mut threads = NfsdThreads::open(&host).unwrap();
        assert_eq!(threads.io(), Some(Io { read_bytes: 200, write_bytes: 20 }));
        let one = crate::counters::process::stat(stat.as_bytes()).unwrap().cpu_ticks;
        assert_eq!(threads.cost(), Some((2 * one, 68)));
        assert_eq!(pid(&host), Some(7));
        write("proc/8/io", "");
        assert_eq!(threads.io(), None, "a sum that leaves one out is none");
    }
}
