//! Ports of Fibre Channel: the ways to a storage network (the kernel's
//! drivers/scsi/scsi_transport_fc.c).

use super::{Read, Reading, Subsystem};
use facts::inventory::server::Thing;

/// Ports of this machine's host bus adapters.
pub const FIBRE_CHANNEL: Subsystem = Subsystem {
    name: "fibre-channel",
    about: "Ports of Fibre Channel adapters: state, speed, what they are wired to, errors",
    read: Read::Part {
        title: "Fibre Channel",
        facts: &[
            ("state", "What the port says of its link: `Online`, `Linkdown`"),
            ("type", "How it is wired: to a fabric, to a loop, to one other port"),
            ("bits_per_s", "Speed now; left out while there is no link"),
            ("max_bits_per_s", "The fastest speed that it offers"),
            ("port_name", "World wide name of the port"),
            ("fabric_name", "World wide name of the switch's fabric"),
            ("targets", "Remote ports that it sees"),
            ("link_failures", "Times that the link failed since the driver counts"),
            ("invalid_crc", "Frames that came damaged since the driver counts"),
        ],
        identity: "port_name",
        moving: &["state", "type", "bits_per_s", "targets", "link_failures", "invalid_crc"],
        private: &["port_name", "fabric_name"],
        things: ports,
    },
};

const PORTS: &str = "/sys/class/fc_host";
/// What a driver says of a count that it does not keep.
const NOT_KEPT: u64 = u64::MAX;

fn ports(reading: &mut Reading<'_>) -> Vec<Thing> {
    let names = reading.host().list(PORTS);
    names.iter().map(|name| port(reading, name)).collect()
}

fn port(reading: &mut Reading<'_>, name: &str) -> Thing {
    let place = format!("{PORTS}/{name}");
    let mut thing = Thing::new(name);
    // A port without a link refuses some of these as a matter of course.
    let word = |file: &str| reading.quiet(format!("{place}/{file}"));
    let said =
        |file: &str| word(file).filter(|text| text != "unknown" && !text.contains("Unknown"));
    thing.add("state", said("port_state"), String::clone);
    thing.add("type", said("port_type"), String::clone);
    let rate = |rate: &f64| format!("{} Gb/s", rate / 1e9);
    let offered = word("supported_speeds").unwrap_or_default();
    let fastest = offered.split(',').filter_map(bits_per_s).max_by(f64::total_cmp);
    let now = word("speed").as_deref().and_then(bits_per_s);
    thing.add("bits_per_s", now, rate);
    thing.add("max_bits_per_s", fastest, |most| match now {
        Some(now) if now >= *most => "its fastest".to_owned(),
        _ => format!("at most {}", rate(most)),
    });
    let world_wide = |text: &String| text.starts_with("0x") && text.trim_end_matches('0') != "0x";
    thing.add("port_name", said("port_name").filter(world_wide), |name| format!("port {name}"));
    let fabric = said("fabric_name").filter(world_wide).filter(|name| !name.ends_with("ffffffff"));
    thing.add("fabric_name", fabric, |name| format!("fabric {name}"));
    let number = name.trim_start_matches("host");
    let theirs = format!("rport-{number}:");
    let targets = reading.host().list("/sys/class/fc_remote_ports");
    let targets = targets.iter().filter(|name| name.starts_with(&theirs)).count() as u64;
    thing.add("targets", Some(targets), |count| base::value::counted(*count, "remote port"));
    for (fact, file, what) in [
        ("link_failures", "link_failure_count", "link failure"),
        ("invalid_crc", "invalid_crc_count", "damaged frame"),
    ] {
        let count = reading.quiet(format!("{place}/statistics/{file}"));
        let count = count.and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
        let count = count.filter(|count| *count != NOT_KEPT);
        thing.add(fact, count, |count| base::value::counted(*count, what));
    }
    thing
}

/// `8 Gbit`, as the kernel prints a speed; `None` for anything else, such as `unknown`.
fn bits_per_s(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix("Gbit")?.trim().parse::<f64>().ok()?;
    (number > 0.0 && number <= 1e4).then_some(number * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    fn told(text: &str) -> Vec<String> {
        let recording = Recording::unpack(text);
        let host = recording.host();
        let found = ports(&mut Reading::new(&host));
        found.iter().map(|port| format!("{}: {}", port.name, port.texts().join(", "))).collect()
    }

    const FABRIC: &str = "\
/sys/class/fc_host/host7/port_state = Online
/sys/class/fc_host/host7/port_type = NPort (fabric via point-to-point)
/sys/class/fc_host/host7/speed = 8 Gbit
/sys/class/fc_host/host7/supported_speeds = 4 Gbit, 8 Gbit, 16 Gbit
/sys/class/fc_host/host7/port_name = 0x21000024ff4ee9a0
/sys/class/fc_host/host7/fabric_name = 0x1000000533b4f9c1
/sys/class/fc_host/host7/statistics/link_failure_count = 0x3
/sys/class/fc_host/host7/statistics/invalid_crc_count = 0xffffffffffffffff
/sys/class/fc_remote_ports/rport-7:0-0/port_state = Online
/sys/class/fc_remote_ports/rport-7:0-1/port_state = Online
/sys/class/fc_remote_ports/rport-71:0-1/port_state = Online
";

    #[test]
    fn a_port_on_a_fabric_tells_its_speed_its_names_and_what_failed() {
        assert_eq!(
            told(FABRIC),
            ["host7: Online, NPort (fabric via point-to-point), 8 Gb/s, at most 16 Gb/s, port \
              0x21000024ff4ee9a0, fabric 0x1000000533b4f9c1, 2 remote ports, 3 link failures"]
        );
    }

    #[test]
    fn a_port_without_a_cable_tells_what_it_could_do() {
        let text = "\
/sys/class/fc_host/host8/port_state = Linkdown
/sys/class/fc_host/host8/port_type = Unknown
/sys/class/fc_host/host8/speed = unknown
/sys/class/fc_host/host8/supported_speeds = 16 Gbit, 32 Gbit
/sys/class/fc_host/host8/fabric_name = 0xffffffffffffffff
";
        assert_eq!(told(text), ["host8: Linkdown, at most 32 Gb/s, 0 remote ports"]);
        assert_eq!(told(""), [""; 0]);
    }

    #[test]
    fn text_cut_off_anywhere_makes_no_speed_up() {
        let whole = "supported 128 Gbit";
        for end in 0..whole.len() {
            assert_eq!(bits_per_s(&whole[..end]), None);
        }
        assert_eq!(bits_per_s(" 128 Gbit"), Some(128e9));
        assert_eq!(bits_per_s("-8 Gbit").or(bits_per_s("NaN Gbit")), None);
    }
}
