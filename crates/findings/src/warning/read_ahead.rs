//! Read-ahead that is too small for disks that turn.

use super::{WarningFinding, is_virtual, names};
use facts::inventory::server::Server;
use facts::inventory::{Device, DeviceKind};

/// The kernel's default, and no more than one request, KiB.
const SMALL_KIB: u64 = 128;
/// What is proposed, KiB.
const BETTER_KIB: u64 = 4096;
/// A short seek and half a turn at 7200 a minute, s; and what a disk reads meanwhile, bytes/s.
const SEEK_S: f64 = 0.008 + 0.00417;
const DISK_BYTES_PER_S: f64 = 200e6;

/// Rotational disks and arrays on them, as far as nothing is stacked on them: what a file system
/// lies on decides, not what lies below.
pub fn small(server: &Server) -> Vec<WarningFinding> {
    // A virtual disk says that it turns, whatever it lies on.
    if is_virtual(server) {
        return Vec::new();
    }
    const TURNING: &[&str] = &["sata", "sas", "scsi", "usb", "md", "dm"];
    let is_top = |device: &&Device| {
        matches!(device.kind, DeviceKind::Disk | DeviceKind::Stacked)
            && TURNING.contains(&device.transport.as_str())
            && device.rotational == Some(true)
            && !bears_stack(server, &device.name)
    };
    let small = |device: &&Device| device.read_ahead_kib.is_some_and(|kib| kib <= SMALL_KIB);
    let found: Vec<&Device> = server.devices.iter().filter(is_top).filter(small).collect();
    let Some(first) = found.first() else { return Vec::new() };
    let file = |device: &&Device| {
        let kib = device.read_ahead_kib.unwrap_or(0);
        format!("/sys/block/{}/queue/read_ahead_kb = {kib}", device.name)
    };
    let rate = |kib: u64| {
        let bytes = (kib << 10) as f64;
        bytes / (SEEK_S + bytes / DISK_BYTES_PER_S) / 1e6
    };
    let own = first.read_ahead_kib.unwrap_or(SMALL_KIB).max(4);
    vec![WarningFinding {
        part: names(&found.iter().map(|device| device.name.as_str()).collect::<Vec<&str>>()),
        text: format!("The kernel reads ahead {own} KiB, and these disks say that they turn."),
        evidence: found.iter().take(3).map(file).collect(),
        cost: format!(
            "when many streams are read at once, each {own} KiB costs a seek: some {:.0} MB/s of a \
             disk, and {:.0} MB/s with {BETTER_KIB} KiB (assumed: 12 ms for a seek and half a \
             turn, 200 MB/s in between)",
            rate(own),
            rate(BETTER_KIB)
        ),
        command: format!(
            "`echo {BETTER_KIB} > /sys/block/{}/queue/read_ahead_kb`; `brickyard run` with the \
             knob read-ahead finds what is best",
            first.name
        ),
    }]
}

/// Whether md or the device mapper made something of it, or of a partition of it.
fn bears_stack(server: &Server, name: &str) -> bool {
    let on = |below: &str| {
        let name = below.to_owned();
        server.devices.iter().filter(move |device| device.below.contains(&name))
    };
    on(name).any(|upper| {
        upper.kind == DeviceKind::Stacked
            || on(&upper.name).any(|upper| upper.kind == DeviceKind::Stacked)
    })
}

#[cfg(test)]
mod tests {
    use super::super::cache::tests::device;
    use super::*;

    fn disk(name: &str, transport: &str, kib: u64) -> Device {
        Device { read_ahead_kib: Some(kib), ..device(name, transport, "write back") }
    }

    fn upper(name: &str, kind: DeviceKind, below: &[&str], kib: u64) -> Device {
        let below = below.iter().map(|name| (*name).to_owned()).collect();
        let transport = if kind == DeviceKind::Stacked { "md" } else { "sata" };
        Device { kind, below, ..disk(name, transport, kib) }
    }

    fn parts(devices: Vec<Device>) -> Vec<String> {
        let server = Server { devices, ..Server::default() };
        small(&server).into_iter().map(|found| found.part).collect()
    }

    #[test]
    fn disks_that_turn_are_told_with_what_a_seek_costs() {
        let devices = vec![disk("sda", "sata", 128), disk("sdb", "sas", 64)];
        let server = Server { devices, ..Server::default() };
        let found = small(&server);
        assert_eq!(found[0].part, "sda, sdb");
        // 131072 bytes in 12.17 ms and 0.66 ms; 4 MiB in 12.17 ms and 20.97 ms.
        assert!(found[0].cost.contains("some 10 MB/s"), "{}", found[0].cost);
        assert!(found[0].cost.contains("and 127 MB/s with 4096 KiB"), "{}", found[0].cost);
        assert_eq!(found[0].evidence[1], "/sys/block/sdb/queue/read_ahead_kb = 64");
    }

    #[test]
    fn only_the_top_of_a_stack_counts() {
        let members = || {
            let partition = upper("sda1", DeviceKind::Partition, &["sda"], 128);
            vec![disk("sda", "sata", 128), partition, disk("sdb", "sata", 128)]
        };
        let with = |kib| {
            let array = upper("md0", DeviceKind::Stacked, &["sda1", "sdb"], kib);
            parts(members().into_iter().chain([array]).collect())
        };
        assert_eq!(with(3072), Vec::<String>::new());
        assert_eq!(with(128), ["md0"]);
        assert_eq!(parts(members()), ["sda, sdb"]);
    }

    #[test]
    fn flash_large_read_ahead_and_virtual_disks_are_fine() {
        let flash = Device { rotational: Some(false), ..disk("sda", "sata", 128) };
        let devices =
            vec![flash, disk("sdb", "sata", 129), disk("vda", "virtio", 128), disk("n", "nvme", 8)];
        assert_eq!(parts(devices), Vec::<String>::new());
        let mut server = Server { devices: vec![disk("sda", "sata", 128)], ..Server::default() };
        server.machine.virtual_machine = Some(true);
        assert_eq!(small(&server), []);
    }
}
