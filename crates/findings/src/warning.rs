//! Warnings before money is spent: what of the inventory holds the server back or endangers it.
//!
//! A new warning is a line in [`WARNINGS`] and a function beside. Facts in, warnings out; nothing
//! is read here. What a virtual machine tells of its links, disks and modules is its hypervisor's
//! invention, so those kinds are silent there.

use serde::{Deserialize, Serialize};

use facts::inventory::server::{Server, Setting};

mod array;
mod cache;
mod clock;
mod filesystem;
mod health;
mod interrupt;
mod link;
mod memory;
mod network;
mod read_ahead;
mod slot;
mod zfs;

/// A kind of warning.
pub struct WarningKind {
    /// Kebab-case: `downtrained-link`.
    pub name: &'static str,
    /// One line: what it looks for.
    pub about: &'static str,
    /// Looks for it.
    pub look: fn(&Server) -> Vec<WarningFinding>,
}

/// Something that was found; `kind` is added by [`warnings`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WarningFinding {
    /// What it is about: a disk, a card, an interface.
    pub part: String,
    /// What is wrong, a sentence.
    pub text: String,
    /// The file and its value, or several.
    pub evidence: Vec<String>,
    /// What it may cost, a sentence with a figure where there is one.
    pub cost: String,
    /// What to type to change it, or what to do by hand.
    pub command: String,
}

/// A warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Warning {
    /// The name of its [`WarningKind`].
    pub kind: String,
    /// What was found.
    #[serde(flatten)]
    pub found: WarningFinding,
}

const fn kind(
    name: &'static str,
    about: &'static str,
    look: fn(&Server) -> Vec<WarningFinding>,
) -> WarningKind {
    WarningKind { name, about, look }
}

/// In the order of the reference.
pub const WARNINGS: &[WarningKind] = &[
    kind(
        "downtrained-link",
        "a PCI Express link runs slower or narrower than both its ends can",
        link::downtrained,
    ),
    kind(
        "slow-card",
        "a card of an older generation than its slot carries less than hangs on it",
        slot::slow_card,
    ),
    kind(
        "narrow-slot",
        "a slot carries less than the card's disks or ports need, or than the card could",
        slot::narrow_slot,
    ),
    kind(
        "remote-interrupts",
        "a network card's interrupts go to CPUs of another NUMA node",
        interrupt::remote,
    ),
    kind("write-cache-off", "a rotational disk writes without its cache", cache::off),
    kind(
        "volatile-write-cache",
        "a disk's write cache is lost when the power goes",
        cache::volatile,
    ),
    kind(
        "small-read-ahead",
        "rotational disks or arrays are read ahead by 128 KiB or less",
        read_ahead::small,
    ),
    kind(
        "powersave-governor",
        "the processors' clock is kept low, or follows the load",
        clock::powersave,
    ),
    kind(
        "small-network-buffer",
        "TCP's largest buffer is smaller than bandwidth times delay",
        network::small_buffer,
    ),
    kind("bad-sectors", "a disk replaced sectors, or has some it cannot read", health::bad_sectors),
    kind("failing-drive", "a disk says itself that it fails, or is worn out", health::failing),
    kind("link-errors", "the link of a disk had errors that its checksums caught", health::link),
    kind("hot-drive", "a disk is within 5 K of the temperature that it warns of", health::hot),
    kind("degraded-array", "an array lacks members", array::degraded),
    kind("busy-array", "an array is being rebuilt or checked", array::busy),
    kind(
        "zfs-sync-disabled",
        "a dataset of ZFS says that data is safe before it is",
        zfs::sync_disabled,
    ),
    kind("zfs-checksum-off", "blocks of a dataset of ZFS bear no checksum", zfs::checksum_off),
    kind("zfs-data-errors", "files in a pool of ZFS are damaged", zfs::damaged),
    kind(
        "zfs-no-redundancy",
        "the failure of one device destroys a pool of ZFS",
        zfs::no_redundancy,
    ),
    kind(
        "zfs-small-ashift",
        "a vdev of ZFS writes less than a sector of its disks at a time",
        zfs::small_ashift,
    ),
    kind(
        "zfs-small-blocks",
        "blocks of a dataset are so small that raidz pads them to a multiple",
        zfs::small_blocks,
    ),
    kind("zfs-full-pool", "a pool of ZFS is full to 80 % or more", zfs::full),
    kind("zfs-arc-bound", "something binds the cache of ZFS in memory (ARC)", zfs::arc_bound),
    kind(
        "zfs-dedup-table",
        "the table of deduplicated blocks takes a quarter of the ARC or more",
        zfs::dedup_table,
    ),
    kind("full-filesystem", "less than 10 % of a file system is left", filesystem::full),
    kind("slow-memory", "memory modules run below their speed", memory::slow),
    kind("empty-channels", "channels of the memory hold no module", memory::empty_channels),
    kind("memory-errors", "the memory had errors that ECC saw", memory::errors),
];

/// All warnings that a server deserves.
pub fn warnings(server: &Server) -> Vec<Warning> {
    let all = WARNINGS.iter().flat_map(|kind| {
        let found = (kind.look)(server).into_iter();
        found.map(|found| Warning { kind: kind.name.to_owned(), found })
    });
    all.collect()
}

/// Whether the machine is a guest: its processor says so, or its firmware is a hypervisor's.
pub fn is_virtual(server: &Server) -> bool {
    const MAKERS: &[&str] =
        &["qemu", "vmware", "innotek", "virtualbox", "xen", "parallels", "bochs", "bhyve"];
    const PRODUCTS: &[&str] =
        &["kvm", "virtual machine", "virtualbox", "google compute engine", "openstack", "qemu"];
    let has = |text: Option<&str>, words: &[&str]| {
        let text = text.unwrap_or("").to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let (machine, firmware) = (&server.machine, &server.firmware);
    machine.virtual_machine == Some(true)
        || [&machine.vendor, &firmware.vendor].iter().any(|text| has(text.as_deref(), MAKERS))
        || [&machine.product, &firmware.product].iter().any(|text| has(text.as_deref(), PRODUCTS))
}

fn setting<'a>(server: &'a Server, name: &str) -> Option<&'a Setting> {
    server.settings.iter().find(|setting| setting.name == name)
}

/// `1000 MB/s`.
fn rate(bytes_per_s: f64) -> String {
    format!("{:.0} MB/s", bytes_per_s / 1e6)
}

/// `10 Gb/s`.
fn network_rate(bits_per_s: f64) -> String {
    match bits_per_s {
        bits if bits < 1e9 => format!("{:.0} Mb/s", bits / 1e6),
        bits if (bits / 1e9).fract() < 0.05 => format!("{:.0} Gb/s", bits / 1e9),
        bits => format!("{:.1} Gb/s", bits / 1e9),
    }
}

/// `sda, sdb and 10 more`.
fn names(all: &[&str]) -> String {
    const MOST: usize = 8;
    match all.len() {
        0..=MOST => all.join(", "),
        many => format!("{} and {} more", all[..MOST].join(", "), many - MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::inventory::recording::Recording;

    #[test]
    fn every_kind_is_named_and_explained_once() {
        let mut seen = Vec::new();
        for kind in WARNINGS {
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(kind.name.chars().all(plain) && !kind.name.is_empty(), "{}", kind.name);
            assert!(!kind.about.is_empty() && !kind.about.ends_with('.'), "{}", kind.name);
            assert!(!seen.contains(&kind.name), "{} twice", kind.name);
            seen.push(kind.name);
        }
        assert!(seen.len() >= 14);
    }

    #[test]
    fn a_server_of_which_nothing_is_known_is_warned_of_nothing() {
        assert_eq!(warnings(&Server::default()), []);
    }

    #[test]
    fn a_guest_is_known_by_its_processor_or_its_firmware() {
        let mut server = Server::default();
        assert!(!is_virtual(&server));
        server.firmware.vendor = Some("Dell Inc.".to_owned());
        server.firmware.product = Some("PowerEdge T610".to_owned());
        assert!(!is_virtual(&server));
        server.firmware.product = Some("Virtual Machine".to_owned());
        assert!(is_virtual(&server));
        server.firmware = Default::default();
        server.machine.vendor = Some("QEMU".to_owned());
        assert!(is_virtual(&server));
    }

    fn recorded(name: &str) -> Vec<Warning> {
        let recording = Recording::open(name);
        warnings(&host::inventory::server::server(&recording.host()))
    }

    /// Addresses of the cards that a recorded machine is warned of, by kind.
    fn cards(warnings: &[Warning], kind: &str) -> Vec<String> {
        let of_kind = warnings.iter().filter(|warning| warning.kind == kind);
        of_kind.map(|warning| warning.found.part[..12].to_owned()).collect()
    }

    #[test]
    fn the_second_sources_raid_card_is_in_a_narrow_slot_and_its_network_cards_are_slow() {
        let (x4, x8) = (recorded("t610-x4"), recorded("t610-x8"));
        assert!(cards(&x4, "narrow-slot").contains(&"0000:03:00.0".to_owned()), "{x4:?}");
        let slow = ["0000:04:00.0", "0000:07:00.0", "0000:08:00.0"];
        assert_eq!(cards(&x4, "slow-card"), slow);
        // In the wide slot the RAID card has all its lanes; a network card is in a narrow one.
        assert_eq!(cards(&x8, "narrow-slot"), ["0000:04:00.0"]);
        assert_eq!(cards(&x8, "slow-card"), ["0000:04:00.0", "0000:08:00.0"]);
        // Only the board's own gigabit ports run below what both ends could.
        for warnings in [x4, x8] {
            assert_eq!(cards(&warnings, "downtrained-link"), ["0000:01:00.0"]);
        }
    }

    #[test]
    fn a_recorded_guest_is_told_nothing_of_its_links_disks_and_modules() {
        let told = recorded("virtio-guest");
        let silent = ["downtrained-link", "slow-card", "narrow-slot", "small-read-ahead"];
        let told: Vec<&String> = told.iter().map(|warning| &warning.kind).collect();
        assert!(!told.iter().any(|kind| silent.contains(&kind.as_str())), "{told:?}");
    }

    #[test]
    fn figures_and_names_are_short() {
        assert_eq!((rate(1e9), network_rate(1e10)), ("1000 MB/s".into(), "10 Gb/s".into()));
        assert_eq!(
            (network_rate(1e8), network_rate(2.5e9)),
            ("100 Mb/s".into(), "2.5 Gb/s".into())
        );
        assert_eq!(names(&["a", "b"]), "a, b");
        assert_eq!(names(&["x"; 24]), "x, x, x, x, x, x, x, x and 16 more");
    }
}
