//! Settings of a network interface that lie in no file: those of ethtool(8), its MTU and the
//! queueing discipline at its root. Each has a name of the form `interface:eth0/rx-usecs`, and is
//! read and written as a text, as the files of /proc and /sys are. All are of the network namespace
//! that we are in.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::ethtool::{self, EthtoolSocket};
use super::{Error, Host, link, qdisc};

/// What the names of these settings begin with.
const SCHEME: &str = "interface:";
/// What the names of an interface's features begin with, after its own.
const FEATURE: &str = "feature/";

/// A setting by which word of which structure holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    /// As in the setting's name.
    name: &'static str,
    /// Commands of linux/ethtool.h that read the structure and write it.
    get: u32,
    set: u32,
    /// Words of the structure with its command.
    words: usize,
    /// Which word, and which one says how large it may be.
    at: usize,
    most: Option<usize>,
    /// 0 and 1 are `off` and `on`.
    switch: bool,
}

const COALESCING: Word =
    Word { name: "", get: 0x0e, set: 0x0f, words: 23, at: 0, most: None, switch: false };
const RINGS: Word = Word { get: 0x10, set: 0x11, words: 9, ..COALESCING };
const CHANNELS: Word = Word { get: 0x3c, set: 0x3d, words: 9, ..COALESCING };

/// `struct ethtool_coalesce`, `struct ethtool_ringparam`, `struct ethtool_channels`.
const WORDS: [Word; 6] = [
    Word { name: "rx-usecs", at: 1, ..COALESCING },
    Word { name: "adaptive-rx", at: 10, switch: true, ..COALESCING },
    Word { name: "rx-ring", at: 5, most: Some(1), ..RINGS },
    Word { name: "tx-ring", at: 8, most: Some(4), ..RINGS },
    Word { name: "rx-channels", at: 5, most: Some(1), ..CHANNELS },
    Word { name: "combined-channels", at: 8, most: Some(4), ..CHANNELS },
];

/// The name of a setting of an interface, such as `rx-usecs` or `feature/rx-gro`.
pub fn setting(interface: &str, name: &str) -> String {
    format!("{SCHEME}{interface}/{name}")
}

/// The name of one of its features, by the kernel's name for it.
pub fn feature(interface: &str, name: &str) -> String {
    setting(interface, &format!("{FEATURE}{name}"))
}

/// Interface and setting of such a name; `None` when it is a path, or names no setting of ours.
pub fn parts(path: &str) -> Option<(&str, &str)> {
    let (interface, name) = path.strip_prefix(SCHEME)?.split_once('/')?;
    let known = matches!(name, "mtu" | "qdisc")
        || WORDS.iter().any(|word| word.name == name)
        || name.strip_prefix(FEATURE).is_some_and(|name| !name.is_empty());
    (known && !interface.is_empty()).then_some((interface, name))
}

/// What tells an interface from another one that has taken its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Its number.
    pub index: u32,
    /// Its hardware address.
    pub address: String,
    /// The address that it was made with, where its driver tells; all zeros where it does not.
    pub permanent: String,
}

/// Those of the interface of that name; `None` when there is none.
pub fn marks(host: &Host, interface: &str) -> Option<Marks> {
    if !host.is_live() {
        let word = |file: &str| host.word(format!("/sys/class/net/{interface}/{file}"));
        let index = word("ifindex")?.parse().ok()?;
        return Some(Marks { index, address: word("address")?, permanent: String::new() });
    }
    let index = link::index_of(interface).ok()?;
    let asked = EthtoolSocket::new(interface).ok()?;
    let (address, permanent) = (asked.address().ok()?, asked.permanent_address());
    Some(Marks { index, address, permanent: permanent.unwrap_or_default() })
}

/// Whether /sys shows the interfaces of the namespace that we are in: it shows those of the one
/// that it was mounted in (network_namespaces(7)).
pub fn is_shown(host: &Host, interface: &str) -> bool {
    let shown = host.word(format!("/sys/class/net/{interface}/ifindex"));
    let shown = shown.and_then(|index| index.parse().ok());
    shown.is_some() && shown == marks(host, interface).map(|marks| marks.index)
}

/// Whether the driver lets this feature be switched.
///
/// # Errors
/// When there is no such interface, or it does not tell.
pub fn can_switch(host: &Host, interface: &str, feature: &str) -> Result<bool, Error> {
    let what = || format!("cannot ask the network interface {interface} for {feature}");
    if !host.is_live() {
        return Ok(true);
    }
    let asked = EthtoolSocket::new(interface).map_err(|why| Error::new(what(), why))?;
    let features = asked.all_features().map_err(|why| Error::new(what(), why))?;
    Ok(features.iter().any(|one| one.name == feature && one.can_change))
}

/// How many queues the kernel can set there: `combined-channels` or `rx-channels`.
///
/// # Errors
/// When the driver has no such setting, or there is no such interface.
pub fn channels(host: &Host, interface: &str) -> Result<&'static str, Error> {
    let combined = WORDS[5];
    if !host.is_live() {
        return Ok(combined.name);
    }
    let what = format!("cannot ask the network interface {interface} for its channels");
    let read = EthtoolSocket::new(interface).and_then(|asked| structure(&asked, combined));
    let data = read.map_err(|why| Error::new(what, why))?;
    Ok(if data[4] > 0 { combined.name } else { WORDS[4].name })
}

impl Host {
    /// Whether there is such a file or setting of an interface.
    pub fn has_setting(&self, path: &str) -> bool {
        match (parts(path), self.is_live()) {
            (Some((interface, _)), true) => marks(self, interface).is_some(),
            _ => self.exists(self.recorded(path)),
        }
    }

    /// The text of a setting: a file, or one of an interface.
    ///
    /// # Errors
    /// When it cannot be read, with the kernel's words.
    pub fn setting(&self, path: &str) -> Result<String, Error> {
        let Some((interface, name)) = parts(path).filter(|_| self.is_live()) else {
            return self.read(self.recorded(path));
        };
        read(interface, name).map_err(|why| {
            Error::new(format!("cannot read {name} of the network interface {interface}"), why)
        })
    }

    /// Writes a setting: into a file, or one of an interface.
    ///
    /// # Errors
    /// When the kernel or the driver refuses it, with its words.
    pub fn set(&self, path: &str, text: &str) -> Result<(), Error> {
        let Some((interface, name)) = parts(path).filter(|_| self.is_live()) else {
            return self.write(self.recorded(path), text);
        };
        let what = format!("cannot set {name} of the network interface {interface} to {text}");
        write(interface, name, text).map_err(|refused| match refused {
            Refused::Kernel(why) => Error::new(what, why),
            Refused::Said(why) => Error::new(what, why),
        })
    }

    /// [`Host::lock`] for a setting. That of an interface is held by a name in its network
    /// namespace (an abstract address, unix(7)), which goes when we end.
    ///
    /// # Errors
    /// As [`Host::lock`].
    pub fn lock_setting(&self, path: &str) -> Result<File, Error> {
        if parts(path).is_none() || !self.is_live() {
            return self.lock(self.recorded(path));
        }
        let what = || format!("cannot change {path}");
        let name = SocketAddr::from_abstract_name(format!("brickyard {path}"));
        match name.and_then(|name| UnixListener::bind_addr(&name)) {
            Ok(held) => Ok(File::from(OwnedFd::from(held))),
            Err(why) if why.kind() == std::io::ErrorKind::AddrInUse => {
                Err(Error::new(what(), "another run of brickyard holds it")
                    .hint("wait until that run has ended"))
            }
            Err(why) => Err(Error::new(what(), why)),
        }
    }

    /// Where a recording has it: settings of interfaces lie in a folder of their own there.
    fn recorded(&self, path: &str) -> String {
        match path.strip_prefix(SCHEME) {
            Some(rest) => format!("/interface/{rest}"),
            None => path.to_owned(),
        }
    }
}

/// Why a setting was not taken.
enum Refused {
    Kernel(std::io::Error),
    Said(String),
}

impl From<std::io::Error> for Refused {
    fn from(why: std::io::Error) -> Refused {
        Refused::Kernel(why)
    }
}

fn structure(asked: &EthtoolSocket, word: Word) -> std::io::Result<[u32; 23]> {
    let mut data = [0; 23];
    data[0] = word.get;
    asked.call(&mut data[..word.words])?;
    Ok(data)
}

fn read(interface: &str, name: &str) -> std::io::Result<String> {
    let missing = || std::io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    if name == "qdisc" {
        return Ok(root_text(&qdisc::root_of(link::index_of(interface)?)?));
    }
    let asked = EthtoolSocket::new(interface)?;
    if name == "mtu" {
        return asked.mtu().map(|mtu| mtu.to_string());
    }
    if let Some(feature) = name.strip_prefix(FEATURE) {
        let features = asked.all_features()?;
        let found = features.iter().find(|one| one.name == feature).ok_or_else(missing)?;
        return Ok(switch(found.is_on).to_owned());
    }
    let word = WORDS.iter().find(|word| word.name == name).ok_or_else(missing)?;
    let value = structure(&asked, *word)?[word.at];
    Ok(if word.switch { switch(value != 0).to_owned() } else { value.to_string() })
}

fn switch(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// The discipline at a root: `default` when the kernel has put it there, its name when we have, and
/// with its handle when somebody else has, as then it may have options that we do not know.
fn root_text(root: &qdisc::Discipline) -> String {
    match root.handle {
        0 => "default".to_owned(),
        qdisc::OURS => root.name.clone(),
        handle => format!("{} {:x}:", root.name, handle >> 16),
    }
}

fn write(interface: &str, name: &str, text: &str) -> Result<(), Refused> {
    let strange = || Refused::Said("that is no value of it".to_owned());
    let missing = || Refused::Kernel(std::io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    if name == "qdisc" {
        return write_root(interface, text);
    }
    let asked = EthtoolSocket::new(interface)?;
    if name == "mtu" {
        return Ok(asked.set_mtu(text.parse().map_err(|_| strange())?)?);
    }
    let flag = match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    if let Some(feature) = name.strip_prefix(FEATURE) {
        let flag = flag.ok_or_else(strange)?;
        return match asked.set_feature(feature, flag)? {
            ethtool::Switched::Done => Ok(()),
            ethtool::Switched::Unknown => Err(missing()),
            ethtool::Switched::Fixed => {
                Err(Refused::Said(format!("the driver has it fixed {}", switch(!flag))))
            }
            ethtool::Switched::Wished => Err(Refused::Said(
                "the kernel took the wish, and other features or the MTU keep it as it is".into(),
            )),
        };
    }
    let word = WORDS.iter().find(|word| word.name == name).ok_or_else(missing)?;
    let value = match word.switch {
        true => u32::from(flag.ok_or_else(strange)?),
        false => text.parse().map_err(|_| strange())?,
    };
    let mut data = structure(&asked, *word)?;
    if let Some(most) = word.most.map(|at| data[at])
        && value > most
    {
        let why = match most {
            0 => "the driver has none that can be set".to_owned(),
            most => format!("the driver takes {most} at most"),
        };
        return Err(Refused::Said(why));
    }
    (data[0], data[word.at]) = (word.set, value);
    Ok(asked.call(&mut data[..word.words])?)
}

/// What the kernel put at a root has no options, and comes back when what we put there goes. What
/// somebody else has put there may have options that would be lost: that stays.
fn write_root(interface: &str, text: &str) -> Result<(), Refused> {
    let index = link::index_of(interface)?;
    let root = qdisc::root_of(index)?;
    match root.handle {
        0 | qdisc::OURS => {}
        _ => {
            return Err(Refused::Said(format!(
                "somebody has put {} there, whose options would be lost (to remove it: tc qdisc \
                 delete dev {interface} root)",
                root_text(&root)
            )));
        }
    }
    // One of ours of another kind is not changed into this one (EINVAL): it goes first.
    if root.handle == qdisc::OURS {
        qdisc::remove_root(index)?;
    }
    match text {
        "default" => Ok(()),
        kind => Ok(qdisc::put_root(index, kind)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_interfaces_are_told_from_paths_and_from_what_is_no_setting() {
        let named = setting("eth0.100", "rx-usecs");
        assert_eq!(parts(&named), Some(("eth0.100", "rx-usecs")));
        assert_eq!(parts(&feature("lo", "rx-gro")), Some(("lo", "feature/rx-gro")));
        for strange in
            ["/sys/class/net/lo/mtu", "interface:lo", "interface:/mtu", "interface:lo/feature/"]
        {
            assert_eq!(parts(strange), None, "{strange}");
        }
        assert_eq!(parts("interface:lo/password"), None);
    }

    #[test]
    fn the_loopback_interface_has_an_mtu_features_and_a_root_and_no_rings() {
        let host = Host::live();
        let held = |name: &str| host.setting(&setting("lo", name));
        assert!(held("mtu").unwrap().parse::<u32>().unwrap() >= 1280);
        assert!(["on", "off"].contains(&held("feature/rx-gro").unwrap().as_str()));
        assert!(!held("qdisc").unwrap().is_empty());
        for name in ["rx-ring", "rx-usecs", "adaptive-rx", "rx-channels", "feature/no-such"] {
            let refused = held(name).unwrap_err();
            assert!(refused.why.contains("not supported"), "{refused}");
            assert!(refused.what.contains(name) && refused.what.contains("lo"), "{refused}");
        }
        assert!(host.has_setting("interface:lo/mtu") && !host.has_setting("interface:lo9x/mtu"));
        let marks = marks(&host, "lo").unwrap();
        assert_eq!(marks.address, "00:00:00:00:00:00");
        assert!(!can_switch(&host, "lo", "loopback").unwrap(), "it is fixed");
    }

    #[test]
    fn what_is_no_value_is_refused_before_anything_is_changed() {
        let host = Host::live();
        for (name, text) in
            [("mtu", "many"), ("mtu", "-1"), ("feature/rx-gro", "1"), ("feature/no-such", "on")]
        {
            assert!(host.set(&setting("lo", name), text).is_err(), "{name} {text}");
        }
        let long = setting("a-name-of-16-by.", "mtu");
        assert!(host.setting(&long).unwrap_err().why.contains("No such device"));
    }

    #[test]
    fn one_run_holds_a_setting_at_a_time() {
        let host = Host::live();
        let path = setting("lo", "feature/held-by-a-test");
        let held = host.lock_setting(&path).unwrap();
        let refused = host.lock_setting(&path).unwrap_err();
        assert!(refused.why.contains("another run"), "{refused}");
        drop(held);
        host.lock_setting(&path).unwrap();
    }

    #[test]
    fn a_root_says_who_has_put_it_there() {
        let of = |handle| {
            let root = qdisc::Discipline { name: "fq".into(), handle, shaped: None };
            root_text(&root)
        };
        assert_eq!((of(0), of(qdisc::OURS)), ("default".to_owned(), "fq".to_owned()));
        assert_eq!(of(0x8001_0000), "fq 8001:");
    }
}
