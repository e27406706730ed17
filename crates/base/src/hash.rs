//! (pure) Checksums of blocks, one at a time and many at a time.
//!
//! The arithmetic is that of well-kept crates, which choose their instructions at run time. Ours
//! are MD5 of many independent blocks ([`md5_each_of`]), because no crate has it, and CRC-32C on
//! processors where the crate is slower than memory ([`crc32c`]). Where a checksum stands in a
//! block, and over which bytes it goes, is [`crate::pattern::block`]'s business.

use std::hash::Hasher as _;

use serde::{Deserialize, Serialize};

mod crc32c;
mod md5;

pub use md5::md5_each_of;

/// A digest of any of the checksums: the first [`Checksum::digest_bytes`] bytes, then zeros.
pub type Digest = [u8; 32];

/// What tells a block that came back as it was written from one that did not.
///
/// Numbers (CRC and XXH3) are kept little-endian, the others in the order of their standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Checksum {
    /// CRC-32C (Castagnoli et al. 1993; iSCSI, RFC 3720 appendix B.4): polynomial 0x1EDC6F41,
    /// reflected, initial value and final XOR of ones. Which errors it finds with certainty:
    /// docs/concepts/integrity-blocks.md.
    #[serde(rename = "crc32c")]
    Crc32c,
    /// XXH3 of 64 bits without a seed (xxHash 0.8.0, specification 0.2.0).
    #[serde(rename = "xxh3-64")]
    Xxh3_64,
    /// XXH3 of 128 bits without a seed.
    #[serde(rename = "xxh3-128")]
    Xxh3_128,
    /// BLAKE3 of 256 bits without a key (O'Connor et al. 2020).
    #[serde(rename = "blake3")]
    Blake3,
    /// MD5 (RFC 1321), for parity with md5sum. Not safe against people, only against machines.
    #[serde(rename = "md5")]
    Md5,
}

impl Checksum {
    /// All of them, the default first.
    pub const ALL: [Checksum; 5] =
        [Checksum::Crc32c, Checksum::Xxh3_64, Checksum::Xxh3_128, Checksum::Blake3, Checksum::Md5];

    /// The word of knobs, of the store and of JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The checksum of that name.
    pub fn find(name: &str) -> Option<Checksum> {
        Checksum::ALL.into_iter().find(|checksum| checksum.name() == name)
    }

    /// Bytes of a [`Digest`] that are used: 4 to 32.
    pub fn digest_bytes(self) -> usize {
        match self {
            Checksum::Crc32c => 4,
            Checksum::Xxh3_64 => 8,
            Checksum::Xxh3_128 | Checksum::Md5 => 16,
            Checksum::Blake3 => 32,
        }
    }

    /// The digest of both parts, one behind the other, as if they were one message.
    #[inline]
    pub fn digest(self, parts: [&[u8]; 2]) -> Digest {
        let mut digest = [0; 32];
        match self {
            Checksum::Crc32c => digest[..4].copy_from_slice(&crc32c::crc32c(parts).to_le_bytes()),
            Checksum::Xxh3_64 => digest[..8].copy_from_slice(&xxh3_64(parts).to_le_bytes()),
            Checksum::Xxh3_128 => digest[..16].copy_from_slice(&xxh3_128(parts).to_le_bytes()),
            Checksum::Blake3 => digest = blake3_of(parts),
            Checksum::Md5 => digest[..16].copy_from_slice(&md5::one(parts)),
        }
        digest
    }
}

fn xxh3_64(parts: [&[u8]; 2]) -> u64 {
    use twox_hash::xxhash3_64::{Hasher, RawHasher, SecretBuffer};
    if parts[0].is_empty() {
        return Hasher::oneshot(parts[1]);
    }
    // The raw one allocates nothing.
    let mut hasher = RawHasher::new(SecretBuffer::default());
    hasher.write(parts[0]);
    hasher.write(parts[1]);
    hasher.finish()
}

fn xxh3_128(parts: [&[u8]; 2]) -> u128 {
    use twox_hash::xxhash3_128::{Hasher, RawHasher, SecretBuffer};
    if parts[0].is_empty() {
        return Hasher::oneshot(parts[1]);
    }
    let mut hasher = RawHasher::new(SecretBuffer::default());
    hasher.write(parts[0]);
    hasher.write(parts[1]);
    hasher.finish_128()
}

fn blake3_of(parts: [&[u8]; 2]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(parts[0]).update(parts[1]);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: &[u8]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn every_checksum_gives_what_its_standard_says() {
        // RFC 3720 B.4: 32 bytes of zeros; the CRC goes out as aa 36 91 8a.
        assert_eq!(&Checksum::Crc32c.digest([&[], &[0; 32]])[..4], [0xaa, 0x36, 0x91, 0x8a]);
        // The check value of the CRC catalogue.
        assert_eq!(crc32c::crc32c([b"1234", b"56789"]), 0xe306_9283);
        // The empty message, as `xxhsum -H3` and `-H2` print it.
        assert_eq!(xxh3_64([&[], &[]]), 0x2d06_8005_38d3_94c2);
        assert_eq!(xxh3_128([&[], &[]]), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
        // BLAKE3's own test vectors, length 0; RFC 1321 A.5.
        assert!(
            hex(&Checksum::Blake3.digest([&[], &[]]))
                .starts_with("af1349b9f5f9a1a6a0404dea36dcc949")
        );
        let md5 = hex(&Checksum::Md5.digest([b"abcdefghijklm", b"nopqrstuvwxyz"]));
        assert_eq!(&md5[..32], "c3fcd3d76192e4007dfb496cca67e13b");
    }

    #[test]
    fn two_parts_are_one_message_wherever_it_is_cut() {
        let long: Vec<u8> = (0..40_000_u32).map(|i| ((i * 7) >> 3) as u8).collect();
        for (checksum, bytes) in Checksum::ALL.into_iter().flat_map(|it| [(it, 1500), (it, 40_000)])
        {
            let message = &long[..bytes];
            let whole = checksum.digest([message, &[]]);
            assert!(whole[checksum.digest_bytes()..].iter().all(|byte| *byte == 0));
            assert!(whole[..checksum.digest_bytes()].iter().any(|byte| *byte != 0));
            for cut in [0, 1, 63, 64, 65, 240, 241, 256, 1024, 1499, bytes] {
                let (first, second) = message.split_at(cut);
                assert_eq!(checksum.digest([first, second]), whole, "{} at {cut}", checksum.name());
            }
        }
    }

    #[test]
    fn names_are_found_and_survive_json() {
        for checksum in Checksum::ALL {
            assert_eq!(Checksum::find(checksum.name()), Some(checksum));
            let json = serde_json::to_string(&checksum).unwrap();
            assert_eq!(json, format!("{:?}", checksum.name()));
            assert_eq!(serde_json::from_str::<Checksum>(&json).unwrap(), checksum);
        }
        assert_eq!(Checksum::find("crc32"), None);
    }
}
