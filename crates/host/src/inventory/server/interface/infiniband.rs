//! The rate of an InfiniBand port, which the interface above it does not tell of every driver.

use crate::inventory::server::Reading;
use crate::inventory::server::address::function_of;

const CLASS: &str = "/sys/class/infiniband";

/// The rate in force of the port below the interface at `place`, bit/s; `None` while that is not
/// active, and where it cannot be told which port it is (Documentation/ABI/stable/
/// sysfs-class-infiniband).
pub fn rate(reading: &Reading<'_>, place: &str) -> Option<f64> {
    let port = port(reading, place)?;
    let word = |file: &str| reading.quiet(format!("{port}/{file}"));
    // `4: ACTIVE`; one that is down says a rate all the same.
    word("state").filter(|state| state.starts_with("4:"))?;
    bits_per_s(&word("rate")?)
}

/// The folder of the port.
fn port(reading: &Reading<'_>, place: &str) -> Option<String> {
    let host = reading.host();
    let own = format!("{place}/device/infiniband");
    let (folder, devices) = match host.list(&own) {
        none if none.is_empty() => (CLASS.to_owned(), host.list(CLASS)),
        devices => (own, devices),
    };
    let [device] = devices.as_slice() else { return None };
    let device = format!("{folder}/{device}");
    // The only one of the machine is ours, unless it is known to be of another function.
    if folder == CLASS && host.resolve(&device).is_some_and(|real| function_of(&real).is_some()) {
        return None;
    }
    let ports = host.list(format!("{device}/ports"));
    let number = |file: &str| {
        let word = reading.quiet(format!("{place}/{file}"))?;
        match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => word.parse::<u32>().ok(),
        }
    };
    // Older kernels tell the port, from 0, by dev_id alone.
    let told = number("dev_port").max(number("dev_id")).map(|port| port.saturating_add(1));
    let port = match (told.map(|port| port.to_string()), ports.as_slice()) {
        (Some(port), ports) if ports.contains(&port) => port,
        (None, [port]) => port.clone(),
        _ => return None,
    };
    Some(format!("{device}/ports/{port}"))
}

/// `56 Gb/sec (4X FDR)`, `2.5 Gb/sec (1X SDR)`.
fn bits_per_s(text: &str) -> Option<f64> {
    let (number, rest) = text.split_once(' ')?;
    let gigabits = number.parse::<f64>().ok().filter(|rate| *rate > 0.0 && *rate < 1e5)?;
    rest.starts_with("Gb/sec").then_some(gigabits * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;
    use crate::inventory::server::interface::read;
    use facts::inventory::server::Interface;

    fn interfaces(text: &str) -> Vec<Interface> {
        let recording = Recording::unpack(text);
        let host = recording.host();
        read(&mut Reading::new(&host))
    }

    /// The port of mlx4_0 says "56 Gb/sec (4X FDR)": "ib0: infiniband, up, speed not known".
    #[test]
    fn a_port_tells_the_speed_of_the_interface_above_it() {
        const TEXT: &str = include_str!("../../../../../../tests/fixtures/sys/infiniband-rate.txt");
        let of = |text: &str| interfaces(text)[0].bits_per_s;
        assert_eq!(of(TEXT), Some(56e9));
        assert_eq!(of(&TEXT.replace("4: ACTIVE", "1: DOWN")), None);
        assert_eq!(of(&TEXT.replace("56 Gb/sec (4X FDR)", "2.5 Gb/sec (1X SDR)")), Some(2.5e9));
        for nonsense in ["56", "x Gb/sec", "-1 Gb/sec", "inf Gb/sec", "56 GiB", "0 Gb/sec"] {
            assert_eq!(of(&TEXT.replace("56 Gb/sec (4X FDR)", nonsense)), None, "{nonsense}");
        }
        // Of two devices nobody knows which it is, nor of two ports.
        let device = "/sys/class/infiniband/mlx4_1/ports/1/rate = 40 Gb/sec (4X QDR)\n";
        assert_eq!(of(&format!("{TEXT}{device}")), None);
        let port = "/sys/class/infiniband/mlx4_0/ports/2/rate = 40 Gb/sec (4X QDR)\n";
        assert_eq!(of(&format!("{TEXT}{port}")), None);
        let first = "/sys/devices/pci0000:00/0000:00:02.0/net/ib0/dev_port = 0\n";
        assert_eq!(of(&format!("{TEXT}{port}{first}")), Some(56e9));
        // The only device of the machine is on another card.
        let real = "/sys/devices/pci0000:00/0000:00:03.0/infiniband/mlx4_0";
        let other = TEXT.replace("/sys/class/infiniband/mlx4_0", real);
        assert_eq!(of(&format!("{other}/sys/class/infiniband/mlx4_0 -> {real}\n")), None);
        // A card of Ethernet that can do the same has a speed of its own.
        assert_eq!(of(&TEXT.replace("type = 32", "type = 1")), None);
    }

    #[test]
    fn every_interface_of_a_card_with_two_ports_has_its_own() {
        let card = "/sys/devices/pci0000:00/0000:00:02.0";
        let port = |number: u32, rate: &str| {
            let name = format!("ib{}", number - 1);
            let at = format!("{card}/infiniband/mlx5_0/ports/{number}");
            format!(
                "{at}/rate = {rate}\n{at}/state = 4: ACTIVE\n{card}/net/{name}/type = 32\n\
                 {card}/net/{name}/dev_id = 0x{:x}\n{card}/net/{name}/dev_port = 0\n\
                 {card}/net/{name}/device -> {card}\n/sys/class/net/{name} -> {card}/net/{name}\n",
                number - 1
            )
        };
        let text = port(1, "100 Gb/sec (4X EDR)") + &port(2, "40 Gb/sec (4X QDR)");
        let rates: Vec<_> = interfaces(&text).into_iter().map(|one| one.bits_per_s).collect();
        assert_eq!(rates, [Some(100e9), Some(40e9)]);
    }
}
