//! What the numbers and names mean in which an interface answers.

/// Kinds whose drivers say a speed, and modes, that no wire has.
pub const MADE_UP_SPEEDS: [&str; 8] =
    ["veth", "tun", "dummy", "ifb", "virtual", "vxlan", "geneve", "wireguard"];

/// The kind of interface that a driver makes, where it is not simply a card; the second names are
/// how software interfaces answer (`ethtool -i`).
pub fn kind_of_driver(driver: &str) -> Option<&'static str> {
    let kinds = [
        ("virtio_net", "virtio"),
        ("hv_netvsc", "hyper-v"),
        ("xen_netfront", "xen"),
        ("vif", "xen"),
        ("veth", "veth"),
        ("tun", "tun"),
        ("dummy", "dummy"),
        ("ifb", "ifb"),
        ("bonding", "bond"),
        ("team", "team"),
        ("bridge", "bridge"),
        ("802.1Q VLAN Support", "vlan"),
        ("macvlan", "macvlan"),
        ("ipvlan", "ipvlan"),
        ("vxlan", "vxlan"),
        ("wireguard", "wireguard"),
        ("openvswitch", "openvswitch"),
    ];
    kinds.iter().find(|(name, _)| *name == driver).map(|(_, kind)| *kind)
}

/// The fastest of link modes, bit/s; numbers as in linux/ethtool.h. What is no speed (6 is
/// autonegotiation, 49 a kind of error correction) is passed over.
pub fn fastest(modes: &[u32]) -> Option<f64> {
    modes.iter().filter_map(|mode| megabits(*mode)).max().map(|megabits| f64::from(megabits) * 1e6)
}

fn megabits(mode: u32) -> Option<u32> {
    Some(match mode {
        0 | 1 | 92 | 99..=102 => 10,
        2 | 3 | 67 | 90 | 91 => 100,
        4 | 5 | 17 | 41 | 68 => 1000,
        15 | 47 => 2500,
        48 => 5000,
        12 | 18..=20 | 42..=46 => 10_000,
        21 | 22 => 20_000,
        31..=33 => 25_000,
        23..=26 => 40_000,
        34 | 35 | 40 | 52..=56 => 50_000,
        // 56 Gb/s Ethernet of one maker.
        27..=30 => 56_000,
        36..=39 | 57..=61 | 75..=79 => 100_000,
        62..=66 | 80..=84 | 103..=108 => 200_000,
        69..=73 | 85..=89 | 109..=114 => 400_000,
        93..=98 | 115..=120 => 800_000,
        121..=124 => 1_600_000,
        _ => return None,
    })
}

/// Offloads that are on, sorted. Of the kernel's features those that ethtool(8) has a name of its
/// own for by that, several of which may be one; the rest by the kernel's name. What tells of the
/// device and not of work that it takes over is left out.
pub fn offloads(features: &[String]) -> Vec<String> {
    let names = features.iter().map(String::as_str).filter(|name| !NO_OFFLOADS.contains(name));
    let mut names: Vec<String> = names.map(|name| ethtool_name(name).to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

const NO_OFFLOADS: [&str; 9] = [
    "highdma",
    "loopback",
    "tx-lockless",
    "netns-local",
    "fcoe-mtu",
    "vlan-challenged",
    "tx-nocache-copy",
    "rx-all",
    "rx-fcs",
];

/// As in ethtool's table of features.
fn ethtool_name(feature: &str) -> &str {
    match feature {
        "rx-checksum" => "rx-checksumming",
        "tx-generic-segmentation" => "generic-segmentation-offload",
        "rx-gro" => "generic-receive-offload",
        "rx-lro" => "large-receive-offload",
        "rx-vlan-hw-parse" => "rx-vlan-offload",
        "tx-vlan-hw-insert" => "tx-vlan-offload",
        "rx-ntuple-filter" => "ntuple-filters",
        "rx-hashing" => "receive-hashing",
        "tx-udp-fragmentation" => "udp-fragmentation-offload",
        tcp if tcp.starts_with("tx-tcp") && tcp.ends_with("-segmentation") => {
            "tcp-segmentation-offload"
        }
        sum if sum.starts_with("tx-checksum-") => "tx-checksumming",
        scatter if scatter.starts_with("tx-scatter-gather") => "scatter-gather",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_mode_is_found_past_what_is_no_speed() {
        // An X520: 1000baseT/Full, autonegotiation, fibre, 10000baseT/Full, pause.
        assert_eq!(fastest(&[5, 6, 10, 12, 13]), Some(10e9));
        assert_eq!(fastest(&[31, 32, 33, 36, 38, 49, 50, 51]), Some(100e9));
        assert_eq!(fastest(&[47, 48, 5]), Some(5e9));
        assert_eq!(fastest(&[6, 7, 13, 14, 16, 49, 50, 51, 74]), None);
        assert_eq!((fastest(&[]), fastest(&[u32::MAX, 4000])), (None, None));
    }

    #[test]
    fn offloads_have_the_names_that_are_typed() {
        let features = [
            "tx-scatter-gather",
            "tx-checksum-ip-generic",
            "tx-tcp-segmentation",
            "tx-tcp6-segmentation",
            "highdma",
            "rx-gro",
            "tx-udp-segmentation",
            "",
        ];
        let features = features.map(str::to_owned);
        let expected = [
            "",
            "generic-receive-offload",
            "scatter-gather",
            "tcp-segmentation-offload",
            "tx-checksumming",
            "tx-udp-segmentation",
        ];
        assert_eq!(offloads(&features), expected);
    }
}
