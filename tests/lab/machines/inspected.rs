//! What `inspect` says of servers whose parts are planted.

use serde_json::Value;

use super::boots::{CARDS, DISKS, NVME};

/// Drives are asked for their health for two seconds at most in all, which an emulated processor
/// that others use too may not keep: then `inspect` says so, and is asked again.
pub const SCRIPT: &str = "for try in 1 2 3 4 5; do
    brickyard inspect --no-measure --json > /mnt/out/inspected.json
    grep -q 'no answer within' /mnt/out/inspected.json || break
done";

/// The member of an array that has that value there.
fn with<'a>(array: &'a Value, key: &str, value: &str) -> &'a Value {
    let all = array.as_array().expect("an array");
    all.iter()
        .find(|one| one[key] == value)
        .unwrap_or_else(|| panic!("no {key} {value}: {array:#}"))
}

/// The drive with that serial number: what it is as a disk, and as a drive.
fn drive<'a>(document: &'a Value, serial: &str) -> (&'a Value, &'a Value) {
    let device = with(&document["server"]["devices"], "serial", serial);
    let name = device["name"].as_str().expect("a name");
    (device, with(&document["server"]["drives"], "name", name))
}

#[test]
fn nvme_drives_are_told_with_their_health_and_the_one_whose_link_is_trained_down() {
    let Some(piece) = NVME.piece("inspection of NVMe drives", "inspected") else { return };
    let document = piece.machine.json("inspected.json");
    let warnings = document["warnings"].as_array().expect("warnings");
    for (serial, lanes, warning) in
        [("NVME0001", 1, "slow-card"), ("NVME0002", 1, ""), ("NVME0003", 4, "downtrained-link")]
    {
        let (device, drive) = drive(&document, serial);
        assert_eq!(device["size_bytes"], 256_u64 << 20, "{device:#}");
        let health = &drive["health"];
        assert_eq!(health["passed"], true, "{drive:#}");
        let celsius = health["celsius"].as_f64().expect("a temperature");
        assert!((celsius - 50.0).abs() < 0.5, "{drive:#}");
        let address = drive["controller"].as_str().expect("a controller");
        let function = with(&document["server"]["pci"], "address", address);
        let link = &function["link"];
        assert_eq!((&link["current"]["lanes"], &link["max"]["lanes"]), (&1.into(), &lanes.into()));
        let of = |warning: &&Value| warning["part"].as_str().unwrap_or("").starts_with(address);
        let kinds: Vec<&str> =
            warnings.iter().filter(of).filter_map(|warning| warning["kind"].as_str()).collect();
        assert_eq!(kinds.join(" "), warning, "{serial}: {warnings:#?}");
    }
    // The second is behind a switch: a root port, the switch's upper port and a lower one.
    let (_, drive) = drive(&document, "NVME0002");
    let pci = &document["server"]["pci"];
    let above = |address: &Value| {
        with(pci, "address", address.as_str().expect("an address"))["parent"].clone()
    };
    assert!(above(&above(&above(&drive["controller"]))).is_string(), "{pci:#}");
}

#[test]
fn disks_are_told_with_their_controllers_serials_and_turns() {
    let Some(piece) = DISKS.piece("inspection of disks", "inspected") else { return };
    let document = piece.machine.json("inspected.json");
    let pci = &document["server"]["pci"];
    for (serials, driver, transport, rpm) in [
        (["SATA0001", "SATA0002"], "ahci", "sata", Some(7200)),
        (["RAID0001", "RAID0002"], "megaraid_sas", "scsi", Some(10_000)),
        (["SAS00001", "SAS00002"], "mptsas", "sas", None),
        (["VIRT0001", "VIRT0001"], "virtio-pci", "virtio", None),
    ] {
        for serial in serials {
            let (device, drive) = drive(&document, serial);
            let controller = drive["controller"].as_str().expect("a controller");
            let function = with(pci, "address", controller);
            assert_eq!(function["driver"], driver, "{serial}: {function:#}");
            assert_eq!(device["transport"], transport, "{serial}: {device:#}");
            // SCSI says 1 of what does not turn.
            let turns = drive["rpm"].as_u64().filter(|rpm| *rpm > 1);
            assert_eq!(turns, rpm, "{serial}: {drive:#}");
        }
    }
    assert_eq!(drive(&document, "SAS00001").0["rotational"], false);
}

#[test]
fn cards_are_told_with_their_drivers_rings_and_links() {
    let Some(piece) = CARDS.piece("inspection of cards", "inspected") else { return };
    let document = piece.machine.json("inspected.json");
    let (interfaces, pci) = (&document["server"]["interfaces"], &document["server"]["pci"]);
    for (driver, most, rings, lanes) in [
        ("e1000e", Some(1e9), 4096, Some(8)),
        ("e1000", Some(1e9), 4096, None),
        ("vmxnet3", Some(1e10), 4096, Some(8)),
        ("8139cp", Some(1e8), 64, None),
        ("virtio_net", None, 256, Some(8)),
    ] {
        let card = with(interfaces, "driver", driver);
        assert_eq!(card["max_bits_per_s"].as_f64(), most, "{card:#}");
        assert_eq!(card["rings"]["rx_max"], rings, "{card:#}");
        let function = with(pci, "address", card["controller"].as_str().expect("an address"));
        let port = function["parent"].as_str().map(|port| with(pci, "address", port));
        let at_most = port.and_then(|port| port["link"]["max"]["lanes"].as_u64());
        assert_eq!(at_most, lanes, "{driver}: {function:#}");
    }
    let coalescing = &with(interfaces, "driver", "e1000e")["coalescing"];
    assert!(coalescing.to_string().contains("rx-usecs"), "{coalescing}");
}
