//! Counts that are not the load's own prove nothing: somebody else reads the disk while the load is
//! served from memory.

use std::time::Duration;

use serde_json::Value;

use super::neighbour::Neighbour;
use super::{Found, Memory, Slow, amount, choose, judged};
use crate::disk::{Disk, Mount};
use crate::guest::{Disks, Guest};
use crate::run::{reading, trials};

/// Read from memory, all of it.
const WARM: &[&str] = &["direct=false", "cold=false", "stop=2s"];

/// Who looks at the disk's counters alone takes the other reader's sectors for the load's.
pub fn same_disk(number: u64) -> Found {
    let slow = Slow::with(number, 500, &["ext4", "xfs", "btrfs"]);
    let neighbour = Neighbour::reading(&slow.disk.device);
    let size = choose(number, "file", &["file-size=8MiB", "file-size=32MiB"]);
    let trial = std::panic::catch_unwind(|| reading(&slow.mount.name(), WARM, &[size]));
    drop(neighbour);
    judged(&trial.expect("a trial"), slow.bytes_per_s, Memory::All)
}

/// The other reads the disk below a loop device, whose file is in memory.
pub fn below(number: u64) -> Found {
    let slow = Slow::new(number, 500);
    let disk = Disk::over(&slow.mount.path, 200, &["--direct-io=off"]);
    let mount = Mount::format(&disk, "ext4");
    let neighbour = Neighbour::reading(&slow.disk.device);
    let block = choose(number, "block", &["block-size=64KiB", "block-size=1MiB"]);
    let knobs = ["stop=2s", "file-size=16MiB", block];
    let trial = std::panic::catch_unwind(|| reading(&mount.name(), &[], &knobs));
    drop(neighbour);
    judged(&trial.expect("a trial"), slow.bytes_per_s, Memory::All)
}

/// The load's files are shown by a program, whose own reads nobody counts.
pub fn below_a_program(number: u64) -> Found {
    let slow = Slow::new(number, 500);
    let fuse = Mount::fuse(&slow.mount.path);
    let neighbour = Neighbour::reading(&slow.disk.device);
    let size = choose(number, "file", &["file-size=8MiB", "file-size=32MiB"]);
    let trial = std::panic::catch_unwind(|| reading(&fuse.name(), WARM, &[size]));
    drop(neighbour);
    judged(&trial.expect("a trial"), slow.bytes_per_s, Memory::All)
}

const SCRIPT: &str = r#"
echo '98:0 0' > /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device
ip netns add other; ip link add server1 type veth peer name other0 netns other
ip address add 10.9.1.1/24 dev server1; ip link set server1 up
ip -n other address add 10.9.1.2/24 dev other0; ip -n other link set other0 up
dd if=/dev/urandom of=/x/theirs bs=1M count=200 conv=fsync 2> /dev/null
mkdir /theirs
# Version 4 tells clients apart by the name of their machine, which is ours too.
nsenter --net=/run/netns/other mount -t nfs -o vers=3,rsize=131072 10.9.1.1:/x /theirs
echo 3 > /proc/sys/vm/drop_caches
# The server's memory has our files after one reading; theirs are read from its disk all the while.
( while true; do
    dd if=/theirs/theirs of=/dev/null bs=1M iflag=direct 2> /dev/null
    dd if=/x/theirs of=/dev/null iflag=nocache count=0 2> /dev/null
  done ) &
others=$!
sleep 1
client run sequential-read --dir 10.9.0.1:/x nfs-version=@VERSION@ file-size=@MIB@MiB stop=4s \
    direct=true block-size=128KiB second-pass=false --replicates 1 --json > /mnt/out/json
kill $others; wait || true
umount -l /theirs
"#;

/// `read_bytes` of all threads of the server held for ours while another client kept the disk busy:
/// `device`, share 1.0.
pub fn another_client(number: u64) -> Found {
    let mb = amount(number, "server's disk, MB/s", 19, 30);
    let mib = amount(number, "our file, MiB", 8, 20);
    let version = choose(number, "version", &["3", "4.2"]);
    let script = SCRIPT.replace("@VERSION@", version).replace("@MIB@", &mib.to_string());
    let script = format!("{}\n{script}", include_str!("../guest/nfs.sh"));
    let disks = Disks { count: 1, mib: 400, bytes_per_s: mb * 1_000_000 };
    let guest = Guest::run(disks, 1024, &script, Duration::from_secs(240));
    let document: Value = serde_json::from_str(&guest.wrote("json")).expect("JSON");
    let trial = trials(&document)[0];
    match judged(trial, mb * 1_000_000, Memory::All) {
        // Whose the server's reads were nobody can tell, and that is the truth; what it had in its
        // memory is.
        Found::Unknown(line) => Found::Right(line),
        Found::Wrong(line) if crate::run::verdict(trial) == "remote" => Found::Right(line),
        found => found,
    }
}
