//! What several texts tell of one machine, before it becomes files.
//!
//! What two texts tell of one thing must agree: they may be of two machines, or one of them was
//! changed. Only what moves by itself, such as a temperature, may be told anew.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::lines;
use facts::inventory::server::Unread;
use facts::inventory::server::zfs::Pool;

/// All that is told.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Block devices by name.
    pub blocks: BTreeMap<String, Block>,
    /// PCI functions by address.
    pub functions: BTreeMap<String, Function>,
    /// Network interfaces by name.
    pub interfaces: BTreeMap<String, Interface>,
    /// Pools of ZFS by name.
    pub pools: BTreeMap<String, Pool>,
    /// Other files by their path.
    pub files: Facts,
    /// Links by their path.
    pub links: BTreeMap<String, String>,
    /// What could not be known.
    pub misses: Vec<Unread>,
    /// Places whose files are copied beside the texts.
    pub copied: Vec<&'static str>,
}

/// Files of one device, and what else is told of it.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    told: BTreeMap<String, Vec<u8>>,
    weak: BTreeMap<String, Vec<u8>>,
}

impl Facts {
    /// Tells something.
    ///
    /// # Errors
    /// When something else was told of it.
    pub fn tell(&mut self, key: &str, value: impl AsRef<[u8]>) -> Result<(), String> {
        let value = value.as_ref();
        match self.told.get(key) {
            Some(other) if other != value => {
                let [one, other] = [other, value].map(|text| String::from_utf8_lossy(text));
                let short = |text: &str| text.trim().chars().take(40).collect::<String>();
                Err(format!(
                    "{key} is {:?} here and {:?} elsewhere: are the texts of one machine, and of \
                     one time?",
                    short(&other),
                    short(&one)
                ))
            }
            Some(_) => Ok(()),
            None => {
                self.told.insert(key.to_owned(), value.to_vec());
                Ok(())
            }
        }
    }

    /// Tells what holds unless somebody knows better.
    pub fn suppose(&mut self, key: &str, value: impl AsRef<[u8]>) {
        self.weak.entry(key.to_owned()).or_insert_with(|| value.as_ref().to_vec());
    }

    /// Tells what moves by itself: the last that is told holds.
    pub fn move_to(&mut self, key: &str, value: impl AsRef<[u8]>) {
        self.told.insert(key.to_owned(), value.as_ref().to_vec());
    }

    /// What is told of it.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.told.get(key).or_else(|| self.weak.get(key)).map(Vec::as_slice)
    }

    /// Everything.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.weak;
        files.extend(self.told);
        files
    }

    /// Adds what another has, of the same thing by another name, where nothing surer is told.
    pub fn adopt(&mut self, other: Facts) {
        for (key, value) in other.told {
            self.told.entry(key).or_insert(value);
        }
        for (key, value) in other.weak {
            self.suppose(&key, value);
        }
    }
}

/// A block device.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its files below /sys/class/block/NAME.
    pub files: Facts,
    /// The device that it is a partition of.
    pub parent: Option<String>,
    /// Devices that it lies on.
    pub below: BTreeSet<String>,
    /// How it is attached: `sata`, `sas`, `nvme`, `usb`, ...
    pub transport: Option<String>,
    /// The same as the disk itself tells it, which a bridge between may belie.
    pub supposed: Option<String>,
    /// The PCI function that it hangs on.
    pub function: Option<String>,
    /// Bytes, and whether they are exact: lsblk rounds.
    pub size: Option<(u64, bool)>,
    /// What it says of its health, as smartctl's JSON has it.
    pub health: Map<String, Value>,
    /// Who said so.
    pub said_by: BTreeSet<String>,
}

impl Block {
    /// Tells its size.
    ///
    /// # Errors
    /// When it was told another.
    pub fn sized(&mut self, bytes: u64, exact: bool) -> Result<(), String> {
        let Some((known, known_exact)) = self.size else {
            self.size = Some((bytes, exact));
            return Ok(());
        };
        // lsblk rounds to one digit after the point: of 1.8 TiB that is 3 %.
        let near = known.abs_diff(bytes) as f64 <= known.max(bytes) as f64 * 0.06;
        match exact && known_exact && known != bytes || !near {
            true => Err(format!("its size is {bytes} bytes here and {known} elsewhere")),
            false => {
                self.size = Some(if exact { (bytes, true) } else { (known, known_exact) });
                Ok(())
            }
        }
    }

    /// Tells how it is attached.
    ///
    /// # Errors
    /// When it was told another way.
    pub fn attached(&mut self, transport: &str) -> Result<(), String> {
        match self.transport.as_deref() {
            Some(other) if other != transport => {
                Err(format!("it is attached by {transport} here and by {other} elsewhere"))
            }
            _ => {
                self.transport = Some(transport.to_owned());
                Ok(())
            }
        }
    }
}

/// A PCI function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its files below /sys/bus/pci/devices/ADDRESS.
    pub files: Facts,
    /// The bus below it, of a bridge.
    pub secondary: Option<u8>,
    /// Its driver.
    pub driver: Option<String>,
    /// Its name and its maker's.
    pub name: Option<String>,
}

/// A network interface.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Its files below /sys/class/net/NAME.
    pub files: Facts,
    /// The PCI function below it.
    pub function: Option<String>,
    /// Interfaces that it lies on.
    pub below: BTreeSet<String>,
    /// What it answers when it is asked as ethtool asks, as a recording keeps it.
    pub answer: Map<String, Value>,
    /// Whether it is only software.
    pub software: bool,
    /// Whether it is known to be a card.
    pub hardware: bool,
    /// What it is, of software: `bond`, `vlan`.
    pub kind: Option<String>,
}

impl Draft {
    /// The block device of that name, with or without `/dev/`.
    ///
    /// # Errors
    /// When no device can be called so.
    pub fn block(&mut self, name: &str) -> Result<&mut Block, String> {
        let name = lines::name(name)?;
        Ok(self.blocks.entry(name.to_owned()).or_default())
    }

    /// The network interface of that name.
    ///
    /// # Errors
    /// When none can be called so.
    pub fn interface(&mut self, name: &str) -> Result<&mut Interface, String> {
        let name = lines::name(name)?;
        Ok(self.interfaces.entry(name.to_owned()).or_default())
    }

    /// The pool of ZFS of that name.
    ///
    /// # Errors
    /// When none can be called so.
    pub fn pool(&mut self, name: &str) -> Result<&mut Pool, String> {
        let name = lines::name(name)?.to_owned();
        let new = || Pool { name: name.clone(), ..Pool::default() };
        Ok(self.pools.entry(name.clone()).or_insert_with(new))
    }

    /// Remembers what could not be known.
    pub fn miss(&mut self, what: &str, place: &str, why: &str, hint: &str) {
        let [what, place, why, hint] = [what, place, why, hint].map(str::to_owned);
        self.misses.push(Unread { what, place, why, hint });
    }
}

/// Puts a value where there is none.
///
/// # Errors
/// When there is another.
pub fn put<T: PartialEq + std::fmt::Debug>(
    place: &mut Option<T>,
    value: T,
    what: &str,
) -> Result<(), String> {
    match place {
        Some(other) if *other != value => {
            Err(format!("{what} is {value:?} here and {other:?} elsewhere"))
        }
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}
