//! Where a system knob lies: which files of the machine hold it, and in what form.
//!
//! Told, not looked for: what is there on a machine is for `campaign::apply` to find.

use base::value::{Value, cpu_list};

/// Which files of the machine hold a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobFiles {
    /// The read-ahead of what a file system lies on: of its devices, or of a btrfs as a whole.
    ReadAhead,
    /// This file in `/sys/block/*/queue` of these devices.
    Queue {
        /// Its name.
        file: &'static str,
        /// How its text is made.
        form: ValueFormat,
        /// Which devices.
        of: Devices,
        /// Another file there that the kernel changes along with it.
        disturbs: Option<&'static str>,
    },
    /// One file of the machine.
    Machine {
        /// Its path.
        path: &'static str,
        /// How its text is made.
        form: ValueFormat,
        /// A file that says the same in another unit: where it is not 0, that one is in force, and
        /// writing the other sets it to 0.
        instead: Option<&'static str>,
    },
    /// Files of the network namespace that we run in.
    Network {
        /// Their paths.
        paths: &'static [&'static str],
        /// How their text is made.
        form: ValueFormat,
        /// The file that lists what may be chosen.
        choices: Option<&'static str>,
    },
    /// The governor of each policy of the CPUs' frequencies.
    Governors,
}

impl KnobFiles {
    /// One file of the machine.
    pub(super) const fn machine(path: &'static str, form: ValueFormat) -> KnobFiles {
        KnobFiles::Machine { path, form, instead: None }
    }

    /// Files of the network namespace that we run in.
    pub(super) const fn network(paths: &'static [&'static str], form: ValueFormat) -> KnobFiles {
        KnobFiles::Network { paths, form, choices: None }
    }
}

/// Devices below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// The disks at the bottom.
    Disks,
    /// What the file system lies on, and what that lies on, down to the disks.
    Stack,
}

/// Which settings of a network interface hold a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The setting of that name.
    Port(&'static str, ValueFormat),
    /// Whether the driver chooses how long it waits with interrupts, which it then changes.
    Adaptive,
    /// Those of these features that the driver lets be switched.
    Features(&'static [&'static str]),
    /// Its queues: those for both directions, or for receiving where it has such.
    Channels,
    /// The mask of CPUs of each receive queue.
    ReceiveSteering,
    /// The mask of CPUs of each of its card's interrupts.
    Interrupts,
}

/// A whole number of KiB.
pub const KIB: ValueFormat = ValueFormat::Number(1024);

/// How the value of a system knob is written in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFormat {
    /// A whole number of this many base units (bytes, ns, or ones).
    Number(u64),
    /// A word.
    Word,
    /// The last of three numbers of bytes, with the first two as they are: smallest and first size.
    Last([u64; 2]),
    /// `on` or `off`.
    Switch,
    /// CPUs as a mask of this many hexadecimal digits, a comma after each eighth from the right.
    Mask(usize),
}

impl ValueFormat {
    /// A value as the file takes it, to the nearest that it can hold.
    pub fn text(self, value: &Value) -> String {
        match (self, value) {
            (
                ValueFormat::Number(unit),
                Value::Bytes(n) | Value::Count(n) | Value::Duration(n) | Value::BytesPerSecond(n),
            ) => (n.saturating_add(unit / 2) / unit).to_string(),
            // What a buffer begins with may not be more than what it may grow to.
            (ValueFormat::Last([least, first]), Value::Bytes(n)) => {
                format!("{}\t{}\t{n}", least.min(*n), first.min(*n))
            }
            (ValueFormat::Switch, Value::Flag(on)) => if *on { "on" } else { "off" }.to_owned(),
            (ValueFormat::Mask(digits), value) => mask(&value.to_string(), digits),
            (_, value) => value.to_string(),
        }
    }

    /// What the file's text says, in the kind of `like`; `None` when it is no number.
    pub fn value(self, text: &str, like: &Value) -> Option<Value> {
        let unit = match self {
            ValueFormat::Number(unit) => unit,
            ValueFormat::Word => return Some(Value::Word(text.to_owned())),
            ValueFormat::Switch => return Some(Value::Flag(text == "on")),
            // The kernel takes a mask exactly, or refuses it.
            ValueFormat::Mask(_) => return None,
            ValueFormat::Last(_) => {
                return text.split_whitespace().nth(2)?.parse().ok().map(Value::Bytes);
            }
        };
        let number = text.parse::<u64>().ok()?.checked_mul(unit)?;
        Some(match like {
            Value::Bytes(_) => Value::Bytes(number),
            Value::Duration(_) => Value::Duration(number),
            _ => Value::Count(number),
        })
    }
}

/// A list of CPUs as the kernel prints a mask of so many digits (`%*pb`), longer when they do not
/// fit: that it refuses.
fn mask(list: &str, digits: usize) -> String {
    let cpus = cpu_list(list).unwrap_or_default();
    let needed = cpus.iter().max().map_or(1, |cpu| cpu / 4 + 1);
    let mut nibbles = vec![0_u32; digits.max(needed)];
    for cpu in cpus {
        nibbles[cpu / 4] |= 1 << (cpu % 4);
    }
    let mut text = String::new();
    for (at, nibble) in nibbles.iter().enumerate().rev() {
        text.extend(char::from_digit(*nibble, 16));
        if at > 0 && at % 8 == 0 {
            text.push(',');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_as_the_kernel_prints_it() {
        let of = |list: &str, digits| ValueFormat::Mask(digits).text(&Value::Word(list.to_owned()));
        assert_eq!((of("0-1", 1), of("1", 2)), ("3".to_owned(), "02".to_owned()));
        assert_eq!(of("0,35", 16), "00000008,00000001");
        assert_eq!(of("4-7", 1), "f0", "longer than the machine's: the kernel refuses it");
        assert_eq!(ValueFormat::Switch.text(&Value::Flag(true)), "on");
        assert_eq!(ValueFormat::Switch.value("off", &Value::Flag(true)), Some(Value::Flag(false)));
    }
}
