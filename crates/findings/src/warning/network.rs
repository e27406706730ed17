//! Buffers of TCP, held against bandwidth times delay.

use super::{WarningFinding, network_rate, setting};
use facts::inventory::server::{Interface, Server};

/// A delay that is assumed: nobody knows who will read. Seconds, and between whom.
const DELAYS: [(f64, &str); 2] =
    [(0.001, "1 ms, as through a few switches"), (0.010, "10 ms, as between cities")];

/// Largest buffers (the third number of tcp_rmem and tcp_wmem) below what is in flight at the rate
/// of the fastest interface.
pub fn small_buffer(server: &Server) -> Vec<WarningFinding> {
    let up = server.interfaces.iter().filter(|port| {
        // What lies on others, as a bond does, gives one connection no more than one of them.
        port.below.is_empty() && port.state.as_deref() != Some("down")
    });
    let rated = up.filter_map(|port| Some((port, port.bits_per_s.filter(|rate| *rate > 0.0)?)));
    let Some((port, rate)) = rated.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let sides = [("net.ipv4.tcp_rmem", "receives"), ("net.ipv4.tcp_wmem", "sends")];
    sides.iter().filter_map(|(name, does)| found(server, port, rate, name, does)).collect()
}

fn found(
    server: &Server,
    port: &Interface,
    bits_per_s: f64,
    name: &str,
    does: &str,
) -> Option<WarningFinding> {
    let setting = setting(server, name)?;
    let numbers: Option<Vec<u64>> =
        setting.value.split(' ').map(|number| number.parse().ok()).collect();
    let [least, usual, most] = numbers?[..] else { return None };
    let in_flight = |delay: f64| bits_per_s / 8.0 * delay;
    let (delay, words) = DELAYS.into_iter().find(|(delay, _)| (most as f64) < in_flight(*delay))?;
    let at_most = most as f64 * 8.0 / delay;
    let others: Vec<String> = DELAYS
        .iter()
        .map(|(delay, words)| format!("{:.1} MB at a delay of {words}", in_flight(*delay) / 1e6))
        .collect();
    // The kernel gives a part of the buffer to its own bookkeeping: twice what is in flight, up
    // to the next power of two.
    let better = ((2.0 * in_flight(delay)) as u64).checked_next_power_of_two()?;
    Some(WarningFinding {
        part: port.name.clone(),
        text: format!(
            "One connection that {does} has at most {most} bytes in flight; at {} that is too \
             little from a delay of {words}, on (the delay is assumed).",
            network_rate(bits_per_s)
        ),
        evidence: vec![
            format!("{} = {}", setting.place, setting.value),
            format!("/sys/class/net/{}/speed = {:.0}", port.name, bits_per_s / 1e6),
            format!("bandwidth x delay is {}", others.join(", ")),
        ],
        cost: format!(
            "one connection gets at most {} of {} at a delay of {words}; several together get more",
            network_rate(at_most),
            network_rate(bits_per_s)
        ),
        command: format!("`sysctl -w {name}=\"{least} {usual} {better}\"`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::inventory::server::Setting;

    fn server(bits_per_s: f64, rmem: &str) -> Server {
        let interface = Interface {
            name: "eth0".to_owned(),
            state: Some("up".to_owned()),
            bits_per_s: Some(bits_per_s),
            ..Interface::default()
        };
        let setting = Setting {
            name: "net.ipv4.tcp_rmem".to_owned(),
            value: rmem.to_owned(),
            place: "/proc/sys/net/ipv4/tcp_rmem".to_owned(),
        };
        Server { interfaces: vec![interface], settings: vec![setting], ..Server::default() }
    }

    #[test]
    fn a_buffer_below_what_is_in_flight_is_told_with_the_delay_that_is_assumed() {
        // 100 Gb/s x 1 ms is 12.5 MB.
        let found = &small_buffer(&server(1e11, "4096 131072 6291456"))[0];
        assert!(found.text.contains("from a delay of 1 ms"), "{}", found.text);
        // 6291456 x 8 bits each ms.
        assert!(found.cost.contains("at most 50.3 Gb/s of 100 Gb/s"), "{}", found.cost);
        assert_eq!(found.command, "`sysctl -w net.ipv4.tcp_rmem=\"4096 131072 33554432\"`");
        assert_eq!(found.evidence[0], "/proc/sys/net/ipv4/tcp_rmem = 4096 131072 6291456");
        // 10 Gb/s x 10 ms is the same, and only between cities.
        let found = &small_buffer(&server(1e10, "4096 131072 6291456"))[0];
        assert!(found.cost.contains("5 Gb/s of 10 Gb/s at a delay of 10 ms"), "{}", found.cost);
    }

    #[test]
    fn a_buffer_that_is_enough_and_text_that_is_none_are_fine() {
        assert_eq!(small_buffer(&server(1e9, "4096 131072 6291456")), []);
        assert_eq!(small_buffer(&server(1e11, "4096 131072")), []);
        assert_eq!(small_buffer(&server(1e11, "4096 131072 many")), []);
        let mut down = server(1e11, "4096 131072 6291456");
        down.interfaces[0].state = Some("down".to_owned());
        assert_eq!(small_buffer(&down), []);
        down.settings.clear();
        down.interfaces[0].state = None;
        assert_eq!(small_buffer(&down), []);
    }
}
