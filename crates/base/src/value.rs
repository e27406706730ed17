//! (pure) What a setting can hold, how people write it, and how figures are printed.
//!
//! Values are in base units: bytes are bytes, times are nanoseconds. Which setting exists is the
//! business of `knob`; this module only knows kinds.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

mod levels;
mod parse;
mod price;
mod print;

pub use levels::Unread;
pub use parse::cpu_list;
pub use parse::{parse_bytes, parse_duration_ns};
pub use price::parse_price;
pub use print::{
    bits, bytes, count, counted, duration, iops, percent, setting, shell_words, significant,
    throughput, throughput_short,
};

/// One value of one knob.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A size in bytes.
    Bytes(u64),
    /// A rate in bytes per second.
    BytesPerSecond(u64),
    /// A whole number.
    Count(u64),
    /// A time in nanoseconds.
    Duration(u64),
    /// A plain number; shares run from 0 to 1.
    Number(f64),
    /// A switch.
    Flag(bool),
    /// One word of a fixed set, a checked expression such as a list of CPUs, or free text.
    Word(String),
    /// Several words, such as directories.
    Words(Vec<String>),
    /// When a trial's timed part ends.
    Stop(Stop),
}

/// When the timed part of a trial ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// After this long, in ns.
    After(u64),
    /// When each stream has moved this many bytes.
    Bytes(u64),
    /// When each stream has been through its files once.
    Pass,
    /// When it has settled by SNIA's criterion.
    Steady,
    /// When the 95 % interval of its throughput lies within this share of it on either side; in
    /// hundredths of a percent, 1 to 5000.
    Interval(u32),
    /// When all streams together have read and checked this many bits.
    Bits(u64),
}

impl Value {
    /// What is in force is left alone.
    pub fn as_is() -> Value {
        Value::Word(AS_IS.to_owned())
    }

    /// As a number: bytes, ns, operations, or a plain number, a switch that is on 1; not a number
    /// for words.
    pub fn number(&self) -> f64 {
        match self {
            Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n) => {
                *n as f64
            }
            Value::Number(n) => *n,
            Value::Flag(on) => f64::from(u8::from(*on)),
            Value::Word(_) | Value::Words(_) | Value::Stop(_) => f64::NAN,
        }
    }

    /// Whether what is in force is left alone.
    pub fn is_as_is(&self) -> bool {
        matches!(self, Value::Word(word) if word == AS_IS)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, to: &mut H) {
        std::mem::discriminant(self).hash(to);
        match self {
            Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n) => {
                n.hash(to)
            }
            // Equal numbers must have equal hashes, and 0 is equal to -0.
            Value::Number(n) => (n + 0.0).to_bits().hash(to),
            Value::Flag(on) => on.hash(to),
            Value::Word(word) => word.hash(to),
            Value::Words(words) => words.hash(to),
            Value::Stop(stop) => stop.hash(to),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::After(ns) => Value::Duration(*ns).fmt(f),
            Stop::Bytes(bytes) => Value::Bytes(*bytes).fmt(f),
            Stop::Pass => f.write_str("pass"),
            Stop::Steady => f.write_str("steady"),
            Stop::Interval(share) => write!(f, "interval:{}%", f64::from(*share) / 100.0),
            Stop::Bits(bits) => {
                // As one writes them, and exactly: 1e14bits, 25e11bits.
                let (mut digits, mut zeros) = (*bits, 0);
                while digits > 0 && digits % 10 == 0 {
                    (digits, zeros) = (digits / 10, zeros + 1);
                }
                match zeros {
                    6.. => write!(f, "{digits}e{zeros}bits"),
                    _ => write!(f, "{bits}bits"),
                }
            }
        }
    }
}

/// The values that a knob accepts.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// Sizes from `min` to `max` bytes, multiples of `step`.
    Bytes {
        /// Smallest size.
        min: u64,
        /// Largest size.
        max: u64,
        /// Every size is a multiple of this.
        step: u64,
    },
    /// Rates in bytes per second.
    BytesPerSecond,
    /// Whole numbers.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// Times.
    Duration {
        /// Shortest, in nanoseconds.
        min_ns: u64,
        /// Longest, in nanoseconds.
        max_ns: u64,
    },
    /// Numbers.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// One word of a list.
    OneOf(&'static [&'static str]),
    /// `none`, `spread`, or CPUs such as `0-3,8`.
    Cpus,
    /// When a trial ends: a time, an amount of bytes or bits, `pass`, `steady` or `interval:5%`.
    Stop,
    /// Existing directories; never typed as `knob=value`.
    Directories,
    /// Free text, commas and all: one argument is one level. Becomes a [`Value::Word`].
    Text,
    /// Several free texts, one an argument that names the knob. Becomes [`Value::Words`].
    Texts,
    /// CPUs such as `0-3,8`.
    CpuList,
    /// A name that somebody gave, without blanks or commas. Becomes a [`Value::Word`].
    Label,
    /// What another domain takes, or `as-is`: what is in force is left alone.
    OrAsIs(&'static Domain),
}

/// The word for "what is in force is left alone".
const AS_IS: &str = "as-is";

impl Domain {
    /// Reads `text` as a value of this domain.
    ///
    /// # Errors
    /// A sentence that says what would have been accepted.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        parse::value(self, text)
    }

    /// Reads several values of this domain, parted by commas, as people type them: `4KiB,8KiB`,
    /// `none,spread`, `none,0-3,8`. A free text is one value, commas and all.
    ///
    /// # Errors
    /// For the first that is none; and for a decimal comma, as in `1,5s`, which would be read as
    /// two values that nobody meant.
    pub fn levels(&self, text: &str) -> Result<Vec<Value>, Unread> {
        levels::levels(self, text)
    }

    /// What is accepted, in words, for help and the generated reference.
    pub fn describe(&self) -> String {
        match *self {
            Domain::Bytes { min, max, step } if step > 1 => {
                format!("{} to {}, multiples of {}", exact(min), exact(max), exact(step))
            }
            Domain::Bytes { min, max, .. } => format!("{} to {}", exact(min), exact(max)),
            Domain::BytesPerSecond => {
                "bytes or bits per second, such as 200MB/s, 1GiB/s or 10Gb/s".to_owned()
            }
            Domain::Count { min, max } => format!("{min} to {max}"),
            Domain::Duration { min_ns, max_ns } => {
                format!("{} to {}", Value::Duration(min_ns), Value::Duration(max_ns))
            }
            Domain::Number { min, max } => format!("{min} to {max}"),
            Domain::Flag => "true or false".to_owned(),
            Domain::OneOf(words) => words.join(", "),
            Domain::Cpus => "none, spread, numa-local, or CPUs such as 0-3,8".to_owned(),
            Domain::Stop => {
                "a time (20s), bytes per stream (2GiB), bits that are checked (1e14bits), pass, \
                 steady, or interval:5%"
                    .to_owned()
            }
            Domain::Directories => "existing directories, given with --dir".to_owned(),
            Domain::Text => "a text; commas in it do not separate levels".to_owned(),
            Domain::Texts => "a text; given again, one more".to_owned(),
            Domain::CpuList => "CPUs such as 0-3,8".to_owned(),
            Domain::Label => "a name of letters, digits and . _ + - /".to_owned(),
            Domain::OrAsIs(inner) => format!("{AS_IS}, or {}", inner.describe()),
        }
    }
}

/// A size in the largest unit of which it is a whole number.
fn whole(bytes: u64) -> (u64, &'static str) {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = |(shift, _): &(u32, &str)| bytes >= 1 << shift && bytes.trailing_zeros() >= *shift;
    units.into_iter().find(fits).map_or((bytes, "B"), |(shift, unit)| (bytes >> shift, unit))
}

/// Writes a size so that reading it again gives the same number.
fn exact(bytes: u64) -> String {
    let (number, unit) = whole(bytes);
    format!("{number}{unit}")
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bytes(n) => f.write_str(&exact(*n)),
            Value::BytesPerSecond(n) if n % 1_000_000 == 0 => write!(f, "{}MB/s", n / 1_000_000),
            Value::BytesPerSecond(n) => write!(f, "{n}B/s"),
            Value::Count(n) => write!(f, "{n}"),
            Value::Duration(0) => f.write_str("0s"),
            Value::Duration(ns) => {
                let units = [(60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms")];
                let exact = units.iter().find(|(unit, _)| ns % unit == 0);
                match exact.or(Some(&(1_000, "us"))).filter(|(unit, _)| ns % unit == 0) {
                    Some((unit, name)) => write!(f, "{}{name}", ns / unit),
                    None => f.write_str(&print::decimal_duration(*ns)),
                }
            }
            Value::Number(n) => write!(f, "{n}"),
            Value::Flag(on) => write!(f, "{on}"),
            Value::Word(word) => f.write_str(word),
            Value::Words(words) => f.write_str(&words.join(" + ")),
            Value::Stop(stop) => stop.fmt(f),
        }
    }
}

/// As in the JSON contract: sizes in bytes, times in ns, switches as booleans.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n) => {
                to.serialize_u64(*n)
            }
            Value::Stop(stop) => to.collect_str(stop),
            Value::Number(n) => to.serialize_f64(*n),
            Value::Flag(on) => to.serialize_bool(*on),
            Value::Word(word) => to.serialize_str(word),
            Value::Words(words) => words.serialize(to),
        }
    }
}
