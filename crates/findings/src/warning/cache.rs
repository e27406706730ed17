//! Write caches of disks: off, or lost when the power goes.

use super::{WarningFinding, is_virtual, names};
use facts::inventory::server::{Drive, Server};
use facts::inventory::{Device, DeviceKind};

/// Disks whose cache is their own: what a RAID card shows has the card's, a guest's disk has the
/// hypervisor's.
const OWN: &[&str] = &["sata", "sas", "nvme", "usb"];

/// Own disks of a real machine, with their caches, and with what is known of the drive.
fn disks(server: &Server) -> Vec<(&Device, &str, Option<&Drive>)> {
    if is_virtual(server) {
        return Vec::new();
    }
    let devices = server.devices.iter();
    let disks = devices.filter(|device| {
        device.kind == DeviceKind::Disk && OWN.contains(&device.transport.as_str())
    });
    let drive = |name: &str| server.drives.iter().find(|drive| drive.name == name);
    disks.filter_map(|disk| Some((disk, disk.write_cache.as_deref()?, drive(&disk.name)))).collect()
}

fn evidence(disks: &[(&Device, &str, Option<&Drive>)]) -> Vec<String> {
    let file = |(disk, cache, _): &(&Device, &str, _)| {
        format!("/sys/block/{}/queue/write_cache = {cache}", disk.name)
    };
    disks.iter().take(3).map(file).collect()
}

/// Rotational disks that write without their cache: one that writes small blocks waits a turn for
/// each.
pub fn off(server: &Server) -> Vec<WarningFinding> {
    let mut disks = disks(server);
    disks.retain(|(disk, cache, _)| disk.rotational == Some(true) && *cache == "write through");
    let Some((first, _, drive)) = disks.first() else { return Vec::new() };
    let rpm = drive.and_then(|drive| drive.rpm).filter(|rpm| *rpm > 1);
    let assumed = if rpm.is_some() { "" } else { " (assumed)" };
    let rpm = rpm.unwrap_or(7200);
    let turn_ms = 60_000.0 / rpm as f64;
    let command = match first.transport.as_str() {
        "sas" => format!("`sdparm --set WCE /dev/{}`", first.name),
        _ => format!("`hdparm -W1 /dev/{}`", first.name),
    };
    vec![WarningFinding {
        part: names(&disks.iter().map(|(disk, ..)| disk.name.as_str()).collect::<Vec<&str>>()),
        text: "The write cache of these rotational disks is off (or is said to be: some disks \
               with a battery behind them say so)."
            .to_owned(),
        evidence: evidence(&disks),
        cost: format!(
            "at {rpm} turns a minute{assumed} each write waits up to {turn_ms:.1} ms, a turn; one \
             writer of small blocks in order gets {:.0} of them a second",
            1000.0 / turn_ms
        ),
        command: format!(
            "{command}; file systems flush it where they must. It is better off below a RAID \
             card with a battery that does not flush it"
        ),
    }]
}

/// Disks whose cache is known to lose what it holds: rotational ones, NVMe drives that tell that
/// theirs is volatile, and those that say that nothing protects it. Of other SSDs nobody knows.
pub fn volatile(server: &Server) -> Vec<WarningFinding> {
    let mut disks = disks(server);
    disks.retain(|(disk, cache, drive)| {
        let protected = drive
            .and_then(|drive| drive.health.as_ref())
            .and_then(|health| health.power_loss_protected);
        let known = disk.rotational == Some(true) || disk.transport == "nvme";
        *cache == "write back" && protected.map_or(known, |protected| !protected)
    });
    if disks.is_empty() {
        return Vec::new();
    }
    vec![WarningFinding {
        part: names(&disks.iter().map(|(disk, ..)| disk.name.as_str()).collect::<Vec<&str>>()),
        text: "What these disks accepted and have not flushed is in memory that a power cut \
               empties."
            .to_owned(),
        evidence: evidence(&disks),
        cost:
            "files whose programs did not call fsync(2) may be lost or torn when the power goes; \
               those that do call it wait for the medium each time"
                .to_owned(),
        command: "an uninterruptible power supply, or drives with power-loss protection; never \
                  mount with `nobarrier`"
            .to_owned(),
    }]
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use facts::inventory::server::Health;

    /// A disk of no size.
    pub fn device(name: &str, transport: &str, write_cache: &str) -> Device {
        Device {
            name: name.to_owned(),
            number: String::new(),
            kind: DeviceKind::Disk,
            layout: None,
            below: Vec::new(),
            backing: None,
            size_bytes: 0,
            rotational: Some(transport != "nvme"),
            scheduler: None,
            read_ahead_kib: None,
            max_sectors_kib: None,
            logical_block_bytes: None,
            physical_block_bytes: None,
            write_cache: Some(write_cache.to_owned()),
            caching: None,
            opaque: None,
            poll_queues: None,
            transport: transport.to_owned(),
            model: None,
            serial: None,
            link: None,
            ceiling: None,
        }
    }

    fn server(devices: Vec<Device>) -> Server {
        Server { devices, ..Server::default() }
    }

    #[test]
    fn a_rotational_disk_without_its_cache_waits_a_turn_for_each_write() {
        let mut server = server(vec![
            device("sda", "sata", "write through"),
            device("sdb", "sas", "write through"),
            device("nvme0n1", "nvme", "write through"),
            device("sdc", "scsi", "write through"),
        ]);
        let drive = Drive { name: "sda".to_owned(), rpm: Some(15_000), ..Drive::default() };
        server.drives.push(drive);
        let found = off(&server);
        assert_eq!((found.len(), found[0].part.as_str()), (1, "sda, sdb"));
        assert!(found[0].cost.contains("up to 4.0 ms"), "{}", found[0].cost);
        assert!(found[0].cost.ends_with("gets 250 of them a second"), "{}", found[0].cost);
        assert_eq!(found[0].evidence[0], "/sys/block/sda/queue/write_cache = write through");
        assert!(found[0].command.starts_with("`hdparm -W1 /dev/sda`"));
        server.drives.clear();
        assert!(off(&server)[0].cost.contains("7200 turns a minute (assumed)"));
    }

    #[test]
    fn a_disk_that_caches_or_a_flash_drive_that_need_not_is_no_disk_without_cache() {
        let disks = vec![device("sda", "sata", "write back"), device("n", "nvme", "write through")];
        assert_eq!(off(&server(disks)), []);
    }

    #[test]
    fn a_cache_that_is_known_to_be_volatile_is_told() {
        let disks = vec![device("sda", "sata", "write back"), device("n", "nvme", "write back")];
        assert_eq!(volatile(&server(disks))[0].part, "sda, n");
    }

    #[test]
    fn a_protected_cache_an_unknown_one_and_a_guests_are_not() {
        let mut flash = device("sda", "sata", "write back");
        flash.rotational = Some(false);
        let mut server = server(vec![flash, device("n", "nvme", "write back")]);
        let protected = |protected| Drive {
            name: "n".to_owned(),
            health: Some(Health { power_loss_protected: Some(protected), ..Health::default() }),
            ..Drive::default()
        };
        server.drives = vec![protected(true)];
        assert_eq!(volatile(&server), []);
        server.drives = vec![protected(false)];
        assert_eq!(volatile(&server)[0].part, "n");
        server.machine.virtual_machine = Some(true);
        assert_eq!(volatile(&server), []);
    }
}
