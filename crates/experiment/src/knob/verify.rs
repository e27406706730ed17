//! Knobs of checking what was read.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::typed::{Bytes, Word};
use super::{Apply, Knob, Scope};
use base::value::Domain;

pub const VERIFY: Knob<Word> = Knob {
    name: "verify",
    fio: "verify",
    about: "Files are written, and bytes from memory sent, in blocks that name themselves (of \
            datagrams each is one), and every block that is read or arrives is checked by this \
            checksum",
    domain: Domain::OneOf(&["off", "crc32c", "xxh3-64", "xxh3-128", "blake3", "md5"]),
    default: "off",
    scope: Scope::Job,
    apply: Apply::Engine,
    reads: PhantomData,
};
pub const VERIFY_BLOCK: Knob<Bytes> = Knob {
    name: "verify-block",
    fio: "verify_interval",
    about: "Bytes of one block that names itself; `block-size`, `file-size` and `message-size` are \
            multiples of it",
    domain: Domain::Bytes { min: 512, max: 1 << 20, step: 512 },
    default: "4KiB",
    scope: Scope::Job,
    apply: Apply::Engine,
    reads: PhantomData,
};
