//! What a network interface says of itself when asked as ethtool(8) asks, which takes no root; and
//! the requests by which `port` sets it.
//!
//! Each answer is the kernel's own figure. What a driver does not support is left out, never 0.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use serde::{Deserialize, Serialize};

use super::Error;
use facts::inventory::qdisc::Shaped;

/// What an interface answers; also the form in which it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EthtoolReport {
    /// Its driver; of what is only software, its kind: `veth`, `bridge`.
    pub driver: Option<String>,
    /// The driver's version; that of the kernel in drivers that have none of their own.
    pub version: Option<String>,
    /// The firmware's version.
    pub firmware: Option<String>,
    /// Speed now, 10^6 bit/s.
    pub megabits_per_s: Option<u32>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// Numbers of the link modes that it supports (ETHTOOL_LINK_MODE_*_BIT).
    pub modes: Vec<u32>,
    /// Ring sizes: receive now and at most, transmit now and at most.
    pub rings: Option<[u32; 4]>,
    /// Coalescing by ethtool's names. What is 0 is left out, as 0 is also said of what is not
    /// supported.
    pub coalescing: Vec<(String, u32)>,
    /// Features that are on, by the kernel's names: `tx-tcp-segmentation`.
    pub features: Vec<String>,
    /// The queueing discipline at its root. Not [`ask`]'s business, but recorded with the rest.
    pub qdisc: Option<String>,
    /// The rate at which that lets packets go, where it has one. Recorded as the name is.
    pub shaped: Option<Shaped>,
}

/// SIOCETHTOOL of linux/sockios.h.
const REQUEST: u32 = 0x8946;

// Commands of linux/ethtool.h.
const GET_DRIVER: u32 = 0x03;
const GET_COALESCING: u32 = 0x0e;
const GET_RINGS: u32 = 0x10;
const GET_STRINGS: u32 = 0x1b;
const GET_STRING_COUNT: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_PERMANENT: u32 = 0x20;
const GET_LINK: u32 = 0x4c;

/// ETH_SS_FEATURES.
const FEATURE_STRINGS: u32 = 4;
/// ETH_GSTRING_LEN.
const STRING_BYTES: usize = 32;
/// There are about 70 features; no kernel has as many as this.
const FEATURES_MAX: u32 = 1024;
/// The words of `struct ethtool_link_settings` before its masks.
const LINK_WORDS: usize = 12;
/// The words of `struct ethtool_drvinfo`.
const DRIVER_WORDS: usize = 49;

/// Words of `struct ethtool_coalesce` after the command, by the names of ethtool(8).
const COALESCING: [&str; 22] = [
    "rx-usecs",
    "rx-frames",
    "rx-usecs-irq",
    "rx-frames-irq",
    "tx-usecs",
    "tx-frames",
    "tx-usecs-irq",
    "tx-frames-irq",
    "stats-block-usecs",
    "adaptive-rx",
    "adaptive-tx",
    "pkt-rate-low",
    "rx-usecs-low",
    "rx-frames-low",
    "tx-usecs-low",
    "tx-frames-low",
    "pkt-rate-high",
    "rx-usecs-high",
    "rx-frames-high",
    "tx-usecs-high",
    "tx-frames-high",
    "sample-interval",
];

/// Asks the interface `name` of the network namespace that we are in.
///
/// # Errors
/// When there is no such interface, or no socket to ask through. What a driver refuses is left
/// out of the answer.
pub fn ask(name: &str) -> Result<EthtoolReport, Error> {
    let what = || format!("cannot ask the network interface {name}");
    let asked = match EthtoolSocket::new(name) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Err(unknown(what())),
        asked => asked.map_err(|error| Error::new(what(), error))?,
    };
    let mut driver = [0; DRIVER_WORDS];
    driver[0] = GET_DRIVER;
    let driver = match asked.call(&mut driver) {
        Ok(()) => Some(driver),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Err(unknown(what())),
        Err(_) => None,
    };
    // 32 bytes each after the command: driver, version, firmware.
    let words = |at: usize| driver.and_then(|words| text(&words[1 + at * 8..1 + (at + 1) * 8]));
    let mut answer = EthtoolReport {
        driver: words(0),
        version: words(1),
        firmware: words(2),
        rings: asked.rings(),
        coalescing: asked.coalescing(),
        features: asked.features().unwrap_or_default(),
        ..EthtoolReport::default()
    };
    asked.link(&mut answer);
    Ok(answer)
}

fn unknown(what: String) -> Error {
    Error::new(what, std::io::Error::from_raw_os_error(libc::ENODEV)).hint("ip link")
}

/// A name and the 0 after it in the 16 bytes of IFNAMSIZ.
fn request_name(name: &str) -> Option<[libc::c_char; libc::IFNAMSIZ]> {
    let fits = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains('\0');
    let mut bytes = [0; libc::IFNAMSIZ];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    fits.then_some(bytes)
}

/// A socket by which the kernel is asked about one interface.
pub(super) struct EthtoolSocket {
    socket: UnixDatagram,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl EthtoolSocket {
    /// The one of that name, which may not be there.
    pub(super) fn new(name: &str) -> std::io::Result<EthtoolSocket> {
        let unknown = || std::io::Error::from_raw_os_error(libc::ENODEV);
        let name = request_name(name).ok_or_else(unknown)?;
        // Any socket does: the request goes to the device layer.
        Ok(EthtoolSocket { socket: UnixDatagram::unbound()?, name })
    }

    /// One request. The first word of `data` is the command; the whole must be as long as the
    /// structure that the kernel writes for it, which each caller here sees to.
    pub(super) fn call(&self, data: &mut [u32]) -> std::io::Result<()> {
        let mut request = libc::ifreq {
            ifr_name: self.name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data.as_mut_ptr().cast() },
        };
        // SAFETY: SIOCETHTOOL takes a pointer to an `ifreq` whose data points at the structure of
        // the command in its first word. The kernel reads and writes no more than that structure:
        // a fixed one, or one whose length the caller has put into it
        // (masks of links: as many words as asked for, else only the head; features: as many blocks
        // as asked for), or which is constant while a kernel runs (the number of feature names).
        // `data` is that long, and both live until the call returns.
        let status =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), REQUEST as _, &raw mut request) };
        if status < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    /// `struct ethtool_link_settings`. Asked with no room for masks, the kernel says how many words
    /// each of them has, as a negative number.
    fn link(&self, answer: &mut EthtoolReport) {
        let mut head = [0; LINK_WORDS];
        head[0] = GET_LINK;
        if self.call(&mut head).is_err() {
            return;
        }
        let mask_words = usize::from(byte(&head, 15).cast_signed().unsigned_abs());
        let mut whole = vec![0; LINK_WORDS + 3 * mask_words];
        whole[0] = GET_LINK;
        set_byte(&mut whole, 15, mask_words as u8);
        if self.call(&mut whole).is_err() {
            return;
        }
        // SPEED_UNKNOWN is -1; a port without a cable may also say 0.
        answer.megabits_per_s = Some(whole[1]).filter(|speed| !matches!(*speed, 0 | u32::MAX));
        answer.duplex = match byte(&whole, 8) {
            0 => Some("half".to_owned()),
            1 => Some("full".to_owned()),
            _ => None,
        };
        let masks = &whole[LINK_WORDS..LINK_WORDS + mask_words];
        let bits = (0..32 * mask_words).filter(|bit| masks[bit / 32] >> (bit % 32) & 1 == 1);
        answer.modes = bits.map(|bit| bit as u32).collect();
    }

    fn rings(&self) -> Option<[u32; 4]> {
        let mut data = [0; 9];
        data[0] = GET_RINGS;
        self.call(&mut data).ok()?;
        let rings = [data[5], data[1], data[8], data[4]];
        rings.iter().any(|size| *size > 0).then_some(rings)
    }

    fn coalescing(&self) -> Vec<(String, u32)> {
        let mut data = [0; 1 + COALESCING.len()];
        data[0] = GET_COALESCING;
        if self.call(&mut data).is_err() {
            return Vec::new();
        }
        let values = COALESCING.iter().zip(&data[1..]).filter(|(_, value)| **value > 0);
        values.map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    /// Names of those that are on.
    fn features(&self) -> Option<Vec<String>> {
        let all = self.all_features().ok()?;
        Some(all.into_iter().filter(|one| one.is_on).map(|one| one.name).collect())
    }

    /// The names of all features, then which of them are on and which can be changed.
    pub(super) fn all_features(&self) -> std::io::Result<Vec<Feature>> {
        let mask = (1_u64 << FEATURE_STRINGS).to_ne_bytes();
        let half =
            |at: usize| u32::from_ne_bytes([mask[at], mask[at + 1], mask[at + 2], mask[at + 3]]);
        let mut count = [GET_STRING_COUNT, 0, half(0), half(4), 0];
        self.call(&mut count)?;
        let count = Some(count[4]).filter(|count| (1..=FEATURES_MAX).contains(count));
        let count = count.ok_or_else(|| std::io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
        let mut names = vec![0; 3 + count as usize * STRING_BYTES / 4];
        names[..3].copy_from_slice(&[GET_STRINGS, FEATURE_STRINGS, count]);
        self.call(&mut names)?;
        let blocks = count.div_ceil(32);
        // Four words a block: available, requested, active, never changed.
        let mut states = vec![0; 2 + 4 * blocks as usize];
        states[..2].copy_from_slice(&[GET_FEATURES, blocks]);
        self.call(&mut states)?;
        let has = |bit: usize, word: usize| states[2 + bit / 32 * 4 + word] >> (bit % 32) & 1 == 1;
        let names = names[3..].chunks(STRING_BYTES / 4).enumerate();
        let feature = |(bit, name): (usize, &[u32])| {
            let (is_on, can_change) = (has(bit, 2), has(bit, 0) && !has(bit, 3));
            Some(Feature { bit, count, name: text(name)?, is_on, can_change })
        };
        Ok(names.filter_map(feature).collect())
    }

    /// Switches one feature, and looks whether that is in force.
    pub(super) fn set_feature(&self, name: &str, on: bool) -> std::io::Result<Switched> {
        let find = |all: Vec<Feature>| all.into_iter().find(|one| one.name == name);
        let Some(feature) = find(self.all_features()?) else { return Ok(Switched::Unknown) };
        if !feature.can_change {
            return Ok(if feature.is_on == on { Switched::Done } else { Switched::Fixed });
        }
        let blocks = feature.count.div_ceil(32);
        // Two words a block: which are meant, and which of those are to be on.
        let mut wish = vec![0; 2 + 2 * blocks as usize];
        wish[..2].copy_from_slice(&[SET_FEATURES, blocks]);
        let (at, bit) = (2 + feature.bit / 32 * 2, 1 << (feature.bit % 32));
        (wish[at], wish[at + 1]) = (bit, if on { bit } else { 0 });
        self.call(&mut wish)?;
        let now = find(self.all_features()?).is_some_and(|one| one.is_on == on);
        Ok(if now { Switched::Done } else { Switched::Wished })
    }

    /// The address that it was made with; `None` where the driver does not tell.
    pub(super) fn permanent_address(&self) -> Option<String> {
        // `struct ethtool_perm_addr` with room for MAX_ADDR_LEN bytes.
        let mut data = [0; 2 + 8];
        data[..2].copy_from_slice(&[GET_PERMANENT, 32]);
        self.call(&mut data).ok()?;
        let length = (data[1] as usize).min(32);
        Some(colons((0..length).map(|at| byte(&data[2..], at))))
    }

    /// One request of netdevice(7) that answers with, or takes, a value in the request itself.
    fn own(
        &self,
        kind: libc::c_ulong,
        value: libc::__c_anonymous_ifr_ifru,
    ) -> std::io::Result<libc::__c_anonymous_ifr_ifru> {
        let mut request = libc::ifreq { ifr_name: self.name, ifr_ifru: value };
        // SAFETY: the requests below read and write nothing but the `ifreq`, which lives until the
        // call returns.
        let status = unsafe { libc::ioctl(self.socket.as_raw_fd(), kind as _, &raw mut request) };
        if status < 0 { Err(std::io::Error::last_os_error()) } else { Ok(request.ifr_ifru) }
    }

    /// Bytes of an IP packet at most.
    pub(super) fn mtu(&self) -> std::io::Result<i32> {
        let value = libc::__c_anonymous_ifr_ifru { ifru_mtu: 0 };
        let answer = self.own(libc::SIOCGIFMTU as _, value)?;
        // SAFETY: any bytes are a number, and the kernel has put one here.
        Ok(unsafe { answer.ifru_mtu })
    }

    pub(super) fn set_mtu(&self, bytes: u32) -> std::io::Result<()> {
        let bytes = i32::try_from(bytes);
        let bytes = bytes.map_err(|_| std::io::Error::from_raw_os_error(libc::EINVAL))?;
        let value = libc::__c_anonymous_ifr_ifru { ifru_mtu: bytes };
        self.own(libc::SIOCSIFMTU as _, value).map(|_| ())
    }

    /// Its hardware address, of 6 bytes.
    pub(super) fn address(&self) -> std::io::Result<String> {
        let empty = libc::sockaddr { sa_family: 0, sa_data: [0; 14] };
        let value = libc::__c_anonymous_ifr_ifru { ifru_hwaddr: empty };
        let answer = self.own(libc::SIOCGIFHWADDR as _, value)?;
        // SAFETY: any bytes are such an address, and the kernel has put one here.
        let address = unsafe { answer.ifru_hwaddr };
        Ok(colons(address.sa_data.iter().take(6).map(|byte| byte.cast_unsigned())))
    }
}

/// A feature of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Feature {
    bit: usize,
    /// How many there are.
    count: u32,
    /// The kernel's name: `tx-tcp-segmentation`.
    pub(super) name: String,
    pub(super) is_on: bool,
    pub(super) can_change: bool,
}

/// What became of a feature that was to be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switched {
    /// It is as asked.
    Done,
    /// This kernel has none of that name.
    Unknown,
    /// The driver has it fixed the other way.
    Fixed,
    /// Noted as wanted, and not in force.
    Wished,
}

/// Bytes as `52:54:00:00:00:01`.
fn colons(bytes: impl Iterator<Item = u8>) -> String {
    bytes.map(|byte| format!("{byte:02x}")).collect::<Vec<String>>().join(":")
}

/// Byte `at` of words as they lie in memory.
fn byte(words: &[u32], at: usize) -> u8 {
    words[at / 4].to_ne_bytes()[at % 4]
}

fn set_byte(words: &mut [u32], at: usize, value: u8) {
    let mut bytes = words[at / 4].to_ne_bytes();
    bytes[at % 4] = value;
    words[at / 4] = u32::from_ne_bytes(bytes);
}

/// The text in words as they lie in memory, up to its 0; `None` when it is empty or no text.
fn text(words: &[u32]) -> Option<String> {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Host;

    #[test]
    fn the_loopback_interface_answers_with_what_the_kernel_has_in_sys() {
        let answer = ask("lo").unwrap();
        // The loopback device has had these since it can segment (Linux 3.1), and no cable.
        let is_on = |name: &str| answer.features.iter().any(|feature| feature == name);
        assert!(is_on("loopback") && is_on("tx-tcp-segmentation"), "{:?}", answer.features);
        assert!(answer.features.iter().all(|name| name.len() < STRING_BYTES));
        assert_eq!((answer.megabits_per_s, answer.duplex, answer.rings), (None, None, None));
        assert!(answer.modes.is_empty());
    }

    #[test]
    fn every_interface_here_answers_as_sys_does() {
        let host = Host::live();
        for name in host.list("/sys/class/net") {
            let Ok(answer) = ask(&name) else { continue };
            let place = format!("/sys/class/net/{name}");
            // In /sys only a port that is up has a speed; here some drivers make one up.
            let speed = host.word(format!("{place}/speed")).and_then(|text| text.parse().ok());
            let speed = speed.filter(|speed: &u32| *speed > 0);
            assert!(speed.is_none() || answer.megabits_per_s == speed, "{name}");
            let driver = host.link(format!("{place}/device/driver"));
            let driver = driver.and_then(|target| target.file_name()?.to_str().map(str::to_owned));
            assert!(driver.is_none_or(|driver| answer.driver == Some(driver)), "{name}");
        }
    }

    #[test]
    fn names_that_no_interface_has_are_refused_by_the_kernels_words() {
        let long = "x".repeat(4096);
        for name in ["", "no-such-port", "a-name-of-16-by.", &long, "lo\0", "../lo"] {
            let error = ask(name).unwrap_err();
            assert!(error.why.contains("No such device"), "{name:.20}: {error}");
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn bytes_of_words_are_where_the_kernel_puts_them() {
        let mut words = [0; 5];
        set_byte(&mut words, 15, 0x83);
        assert_eq!(byte(&words, 15).cast_signed(), -125);
        assert_eq!(words.iter().filter(|word| **word != 0).count(), 1);
        let words: Vec<u32> = [*b"virt", *b"io\0x"].into_iter().map(u32::from_ne_bytes).collect();
        assert_eq!(text(&words).as_deref(), Some("virtio"));
        assert_eq!(text(&[0]), None);
        assert_eq!(text(&[u32::MAX; 8]), None);
    }
}
