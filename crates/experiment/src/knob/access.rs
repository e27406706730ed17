//! What the words of `access` do with the bytes of files. Whoever wants to know asks here: a mixed
//! load has no "read" in its word, and was told as one that writes.

use super::typed::{DomainKind, Setting};
use base::value::Value;

/// Order and direction of the I/O.
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Block after block is read.
    Read,
    /// Block after block is written.
    Write,
    /// Blocks are read that are drawn.
    RandomRead,
    /// Blocks are written that are drawn.
    RandomWrite,
    /// Of the blocks that are drawn some are read and the others written.
    RandomMix,
    /// Block before block is read.
    ReadBackward,
    /// One block of every so many is read.
    ReadStrided,
    /// Block after block of files that are there is written.
    Rewrite,
    /// One and the same block is written.
    RecordRewrite,
    /// Block after block is read, and some are changed and written back.
    Update,
    /// Blocks that are drawn are read, and some are changed and written back.
    RandomUpdate,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoDirection {
    /// From files alone.
    Reads,
    /// To files alone.
    Writes,
    /// Some are read and some are written.
    Both,
}

impl Access {
    /// In the order of the reference.
    pub const ALL: &[Access] = <Access as strum::VariantArray>::VARIANTS;

    /// The words of all.
    pub const NAMES: &[&str] = <Access as strum::VariantNames>::VARIANTS;

    /// The word, as one types it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The one of this word.
    pub fn named(word: &str) -> Option<Access> {
        word.parse().ok()
    }

    /// Which way its bytes go.
    pub fn way(self) -> IoDirection {
        match self {
            Access::Read | Access::RandomRead | Access::ReadBackward | Access::ReadStrided => {
                IoDirection::Reads
            }
            Access::Write | Access::RandomWrite | Access::Rewrite | Access::RecordRewrite => {
                IoDirection::Writes
            }
            Access::RandomMix | Access::Update | Access::RandomUpdate => IoDirection::Both,
        }
    }

    /// Whether it reads, be it beside writing.
    pub fn reads(self) -> bool {
        self.way() != IoDirection::Writes
    }

    /// Whether it writes, be it beside reading.
    pub fn writes(self) -> bool {
        self.way() != IoDirection::Reads
    }

    /// Whether the blocks are drawn.
    pub fn is_random(self) -> bool {
        matches!(
            self,
            Access::RandomRead | Access::RandomWrite | Access::RandomMix | Access::RandomUpdate
        )
    }

    /// Whether each block lies right behind the one before it.
    pub fn in_order(self) -> bool {
        matches!(self, Access::Read | Access::Write | Access::Rewrite | Access::Update)
    }
}

/// `None` of engines that move no bytes of files.
impl Setting for Access {
    type Read<'a> = Option<Access>;
    type Given<'a> = Access;
    const KIND: DomainKind = DomainKind::Word;

    fn read(held: Option<&Value>) -> Option<Access> {
        match held {
            Some(Value::Word(word)) => Access::named(word),
            _ => None,
        }
    }

    fn value(given: Access) -> Value {
        Value::Word(given.name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "The simulated device accepts 250 MB/s" was said of a load that reads 70 %: `random-mix`,
    /// `update` and `random-update` have no "read" in their words, and passed for writing.
    #[test]
    fn every_access_is_known_by_what_it_does_and_not_by_its_letters() {
        let of = |is: fn(Access) -> bool| -> Vec<&str> {
            Access::ALL.iter().filter(|access| is(**access)).map(|access| access.name()).collect()
        };
        assert_eq!(
            of(|access| access.way() == IoDirection::Reads),
            ["read", "random-read", "read-backward", "read-strided"]
        );
        assert_eq!(
            of(|access| access.way() == IoDirection::Writes),
            ["write", "random-write", "rewrite", "record-rewrite"]
        );
        assert_eq!(
            of(|access| access.reads() && access.writes()),
            ["random-mix", "update", "random-update"]
        );
        assert_eq!(
            of(Access::is_random),
            ["random-read", "random-write", "random-mix", "random-update"]
        );
        assert_eq!(of(Access::in_order), ["read", "write", "rewrite", "update"]);
    }

    #[test]
    fn every_word_is_found_again() {
        for &access in Access::ALL {
            assert_eq!(Access::named(access.name()), Some(access));
        }
        assert_eq!(Access::named("reed"), None);
    }
}
