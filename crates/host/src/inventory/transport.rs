//! How a block device is attached, guessed from its name and its place in /sys.

use std::path::Path;

use super::sysfs::{name_of, nvme_controllers};
use crate::sys::Host;

/// How a device is attached, by its name and its place in /sys.
pub fn transport_at(host: &Host, path: &Path) -> String {
    let name = name_of(Some(path.to_owned())).unwrap_or_default();
    let place = path.to_string_lossy();
    let by_name = [
        ("loop", "loop"),
        ("md", "md"),
        ("dm-", "dm"),
        ("bcache", "bcache"),
        ("zd", "zvol"),
        ("nbd", "network"),
        ("rbd", "network"),
        ("rnbd", "network"),
        ("etherd!", "network"),
        ("drbd", "drbd"),
        ("zram", "memory"),
        ("ram", "memory"),
        ("nullb", "memory"),
        ("pmem", "pmem"),
        ("mmcblk", "mmc"),
        ("ublk", "ublk"),
        ("xvd", "xen"),
        ("vd", "virtio"),
        ("fd", "floppy"),
    ];
    if name.starts_with("nvme") {
        return nvme_transport(host, path);
    }
    // A wire carries whatever is at its other end: the outermost is named first.
    let by_place = [
        ("/usb", "usb"),
        ("/session", "iscsi"),
        ("/rport-", "fibre-channel"),
        ("/infiniband_srp/", "srp"),
        // What this kernel serves to itself, and scsi_debug, which is memory.
        ("/tcm_loop_", "target"),
        ("/pseudo_", "memory"),
        ("/ata", "sata"),
        ("/end_device-", "sas"),
        ("/virtio", "virtio"),
        ("/VMBUS", "hyper-v"),
        // No place of a machine: of pasted texts none told it.
        ("/nvme-untold/", "nvme"),
        ("/untold/", "unknown"),
    ];
    let named = by_name.iter().find(|(prefix, _)| name.starts_with(prefix));
    let placed = || by_place.iter().find(|(part, _)| place.contains(part));
    named.or_else(placed).map_or("scsi", |(_, transport)| transport).to_owned()
}

/// `nvme`, or over which fabric.
fn nvme_transport(host: &Host, path: &Path) -> String {
    let controllers = nvme_controllers(host, path);
    let fabric = controllers.iter().find_map(|controller| host.word(controller.join("transport")));
    match fabric.as_deref() {
        None | Some("pcie") => "nvme".to_owned(),
        // A namespace that this kernel serves to itself.
        Some("loop") => "target".to_owned(),
        Some(fabric) => format!("nvme-{fabric}"),
    }
}
