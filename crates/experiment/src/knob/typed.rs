//! What the settings of a knob read as, known to the compiler: `settings.get(BLOCK_SIZE)` is a
//! number of bytes, and neither a name that no knob has nor a knob that holds something else
//! compiles.

use base::value::{Domain, Stop, Value};

/// What a knob's values read as. The types that implement it have no values of their own: they
/// tell sizes from counts and times, which all read as whole numbers.
pub trait Setting {
    /// What is read.
    type Read<'a>;
    /// What is set.
    type Given<'a>;
    /// The domains whose values read so.
    const KIND: DomainKind;
    /// Reads what the settings hold. What an engine has no knob for (`None`), and a value of
    /// another form, reads as nothing: 0, off, no word; not a number where that is one.
    fn read(held: Option<&Value>) -> Self::Read<'_>;
    /// What the settings are to hold.
    fn value(given: Self::Given<'_>) -> Value;
}

/// The kinds of domains, as far as what is read from them differs.
#[derive(Clone, Copy, Debug)]
pub enum DomainKind {
    /// Sizes.
    Bytes,
    /// Rates in bytes per second.
    BytesPerSecond,
    /// Whole numbers.
    Count,
    /// Times.
    Duration,
    /// Plain numbers.
    Number,
    /// Switches.
    Flag,
    /// A word, one of a list or free.
    Word,
    /// Several free texts.
    Words,
    /// When a trial ends.
    Stop,
    /// One of these, or `as-is`.
    OrAsIs(&'static DomainKind),
}

impl DomainKind {
    /// Whether the values of `domain` are of this form.
    pub const fn holds(&self, domain: &Domain) -> bool {
        match (self, domain) {
            (DomainKind::Bytes, Domain::Bytes { .. })
            | (DomainKind::BytesPerSecond, Domain::BytesPerSecond)
            | (DomainKind::Count, Domain::Count { .. })
            | (DomainKind::Duration, Domain::Duration { .. })
            | (DomainKind::Number, Domain::Number { .. })
            | (DomainKind::Flag, Domain::Flag)
            | (
                DomainKind::Word,
                Domain::OneOf(_) | Domain::Cpus | Domain::CpuList | Domain::Label | Domain::Text,
            )
            | (DomainKind::Words, Domain::Directories | Domain::Texts)
            | (DomainKind::Stop, Domain::Stop) => true,
            (DomainKind::OrAsIs(inner), Domain::OrAsIs(domain)) => inner.holds(domain),
            _ => false,
        }
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug)]
pub enum Bytes {}

/// A rate in bytes per second.
#[derive(Clone, Copy, Debug)]
pub enum BytesPerSecond {}

/// A whole number.
#[derive(Clone, Copy, Debug)]
pub enum Count {}

/// A time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub enum Nanoseconds {}

/// A plain number; shares run from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub enum Number {}

/// A word, one of a list or free.
#[derive(Clone, Copy, Debug)]
pub enum Word {}

/// Several free texts.
#[derive(Clone, Copy, Debug)]
pub enum Words {}

/// What `T` is, or `None` where what is in force is left alone.
#[derive(Clone, Copy, Debug)]
pub struct OrAsIs<T>(T);

/// Whole numbers of a base unit.
macro_rules! whole {
    ($type:ty, $form:ident) => {
        impl Setting for $type {
            type Read<'a> = u64;
            type Given<'a> = u64;
            const KIND: DomainKind = DomainKind::$form;

            fn read(held: Option<&Value>) -> u64 {
                match held {
                    Some(Value::$form(whole)) => *whole,
                    _ => 0,
                }
            }

            fn value(given: u64) -> Value {
                Value::$form(given)
            }
        }
    };
}

whole!(Bytes, Bytes);
whole!(BytesPerSecond, BytesPerSecond);
whole!(Count, Count);
whole!(Nanoseconds, Duration);

impl Setting for Number {
    type Read<'a> = f64;
    type Given<'a> = f64;
    const KIND: DomainKind = DomainKind::Number;

    fn read(held: Option<&Value>) -> f64 {
        match held {
            Some(Value::Number(number)) => *number,
            _ => f64::NAN,
        }
    }

    fn value(given: f64) -> Value {
        Value::Number(given)
    }
}

/// A switch.
impl Setting for bool {
    type Read<'a> = bool;
    type Given<'a> = bool;
    const KIND: DomainKind = DomainKind::Flag;

    fn read(held: Option<&Value>) -> bool {
        matches!(held, Some(Value::Flag(true)))
    }

    fn value(given: bool) -> Value {
        Value::Flag(given)
    }
}

impl Setting for Word {
    type Read<'a> = &'a str;
    type Given<'a> = &'a str;
    const KIND: DomainKind = DomainKind::Word;

    fn read(held: Option<&Value>) -> &str {
        match held {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    fn value(given: &str) -> Value {
        Value::Word(given.to_owned())
    }
}

impl Setting for Words {
    type Read<'a> = &'a [String];
    type Given<'a> = &'a [String];
    const KIND: DomainKind = DomainKind::Words;

    fn read(held: Option<&Value>) -> &[String] {
        match held {
            Some(Value::Words(texts)) => texts,
            _ => &[],
        }
    }

    fn value(given: &[String]) -> Value {
        Value::Words(given.to_vec())
    }
}

/// When a trial ends; `None` of engines whose trials end by themselves.
impl Setting for Stop {
    type Read<'a> = Option<Stop>;
    type Given<'a> = Stop;
    const KIND: DomainKind = DomainKind::Stop;

    fn read(held: Option<&Value>) -> Option<Stop> {
        match held {
            Some(Value::Stop(stop)) => Some(*stop),
            _ => None,
        }
    }

    fn value(given: Stop) -> Value {
        Value::Stop(given)
    }
}

impl<T: Setting> Setting for OrAsIs<T> {
    type Read<'a> = Option<T::Read<'a>>;
    type Given<'a> = Option<T::Given<'a>>;
    const KIND: DomainKind = DomainKind::OrAsIs(&T::KIND);

    fn read(held: Option<&Value>) -> Option<T::Read<'_>> {
        held.filter(|value| !value.is_as_is()).map(|value| T::read(Some(value)))
    }

    fn value(given: Option<T::Given<'_>>) -> Value {
        given.map_or_else(Value::as_is, T::value)
    }
}
