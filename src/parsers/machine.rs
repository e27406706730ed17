//! Machines: what the kernel and its tools say, here or in a recording that somebody sent.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use facts::inventory::Target;
use findings::analysis::path;
use findings::report::inspect::Inspection;
use findings::warning::warnings;
use host::counters::{Probe, Subject, bounds, sampler};
use host::inventory;
use host::inventory::recording::Recording;
use host::inventory::server;
use host::journal::layout::signature;
use host::provision::danger;
use host::sys::{Host, tree};

/// What blkid, wipefs and swapon print.
pub const TOOLS: &[&str] = &[
    "ID_FS_UUID=28286680-4404-430b-b260-bd3e14170301\nID_FS_TYPE=ext4\nID_FS_LABEL=a b\n",
    "{\"signatures\": [{\"type\": \"ext4\", \"uuid\": \"28286680-4404\", \"label\": null}]}",
    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda2\\040x partition\t1\t0\t-2\n",
];

/// Where each file of `tests/fixtures/proc` lies on a machine.
const PROC: [&str; 17] = [
    "/proc/diskstats",
    "/proc/interrupts",
    "/proc/meminfo",
    "/proc/self/mountinfo",
    "/proc/1/mountinfo",
    "/proc/self/mountstats",
    "/proc/1/mountstats",
    "/proc/net/dev",
    "/proc/net/rpc/nfsd",
    "/proc/net/snmp",
    "/proc/net/softnet_stat",
    "/proc/net/tcp",
    "/proc/1/io",
    "/proc/1/stat",
    "/proc/pressure/io",
    "/proc/stat",
    "/proc/vmstat",
];

/// A recording, plain or packed: to what is counted of it, and to the pages that are printed of it.
pub fn recording(bytes: &[u8]) {
    let what = || "cannot read the recording".to_owned();
    let Ok(recording) = Recording::of_bytes(bytes.to_vec(), what) else { return };
    let host = recording.host();
    let server = server::server(&host);
    let inspection = Inspection {
        brickyard: String::new(),
        paths: path::paths(&server, None),
        warnings: warnings(&server),
        server,
        bandwidth: None,
    };
    let _ = (inspection.text(), inspection.json());
    counted(&host);
}

/// A few recordings, packed.
pub fn packed() -> Vec<Vec<u8>> {
    let texts = ["/proc/stat = cpu 1 2 3 4\n", "/sys/a = 1\n/sys/l -> a\n/sys/b = hex 00b1\n"];
    let pack = |text: &&str| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(text.as_bytes()).and_then(|()| packer.finish()).unwrap_or_default()
    };
    texts.iter().map(pack).collect()
}

/// The text of some file of /proc, wherever it may lie.
pub fn proc(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    let whole: String = PROC.iter().map(|path| format!("{path}:\n{indented}")).collect();
    recording(whole.as_bytes());
    let _ = (tree::process(&text), tree::moved(&text), inventory::mount::parse(&text));
}

fn counted(host: &Host) {
    let devices = ["sda", "nvme0n1", "md0", "vda"].map(str::to_owned);
    let _ = sampler::twice(host, &Subject::new(1, &devices));
    let mut probe = Probe::new(host, 1, &devices).with_server(host, &devices);
    let _ = probe.take().since(&probe.take());
    let _ = (bounds::on(host, 1, &[]), bounds::allowed_cpus(host, 1));
    let targets: Vec<Target> = inventory::target(host, Path::new("/")).into_iter().collect();
    let _ = bounds::on(host, 1, &targets);
}

/// What tools of disks print.
pub fn tools(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = (danger::tags(&text), signature::parse(&text), danger::swapped_to(&text));
}
