//! (pure) CRC-32C of a message in two parts, at the speed of memory.
//!
//! The crate crc-fast reads a short message as three streams, which hides the latency of the CRC32
//! instruction and defeats the processor's read-ahead: blocks of 4 KiB from memory were checked at
//! 0.4 of the speed of reading them. [`fold`] reads them in one stream and is faster than a plain
//! loop of reads. The crate is used where the processor has vectors of 512 bits (measured there at
//! the speed of memory), where it is no x86, and for messages in other parts.

#[cfg(target_arch = "x86_64")]
mod fold;

/// The CRC-32C of both parts, one behind the other.
#[inline]
pub fn crc32c(parts: [&[u8]; 2]) -> u32 {
    let parts = if parts[1].is_empty() { [parts[1], parts[0]] } else { parts };
    #[cfg(target_arch = "x86_64")]
    if !has_long_vectors()
        && let Some(crc) = fold::crc32c_by_folding(parts)
    {
        return crc;
    }
    by_crate(parts)
}

/// Whether the crate has its fastest way here.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_long_vectors() -> bool {
    is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("vpclmulqdq")
}

fn by_crate(parts: [&[u8]; 2]) -> u32 {
    if parts[0].is_empty() {
        return crc_fast::crc32_iscsi(parts[1]);
    }
    let mut crc = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    crc.update(parts[0]);
    crc.update(parts[1]);
    crc.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_at_every_length_and_alignment() {
        let message: Vec<u8> = (0..9000_u32).map(|i| ((i * i) >> 5) as u8).collect();
        for length in (0..600).chain([4000, 4064, 4096, 8191, 8900]) {
            let start = length % 67;
            let (head, tail) = (&message[start..start + 64], &message[start + 64..]);
            let tail = &tail[..length.min(tail.len())];
            assert_eq!(crc32c([head, tail]), by_crate([head, tail]), "64 + {length}");
            assert_eq!(crc32c([&[], tail]), by_crate([&[], tail]), "{length}");
            assert_eq!(crc32c([&head[..7], tail]), by_crate([&head[..7], tail]), "7 + {length}");
        }
    }

    #[test]
    fn the_parts_may_be_anywhere() {
        let zeros = vec![0; 1 << 20];
        let ones = vec![0xFF; 1 << 16];
        assert_eq!(crc32c([&ones[..64], &zeros]), by_crate([&ones[..64], &zeros]));
        assert_eq!(crc32c([&ones, &zeros]), by_crate([&ones, &zeros]));
        assert_eq!(crc32c([&[], &ones]), by_crate([&[], &ones]));
        assert_eq!(crc32c([&ones, &[]]), by_crate([&ones, &[]]));
    }

    /// What docs/concepts/integrity-blocks.md promises of every block up to 1 MiB, by the algebra
    /// of the polynomial x^32 + 0x1EDC6F41. It has an even number of terms, so x + 1 divides it,
    /// and it divides no error of an odd number of bits. It divides x^n - 1 for no n up to the
    /// length of a block, and so no error of two bits.
    #[test]
    fn no_error_of_up_to_three_bits_goes_unseen_in_any_block() {
        const POLYNOMIAL: u32 = 0x1EDC_6F41;
        assert!((1 + POLYNOMIAL.count_ones()).is_multiple_of(2));
        let crc = by_crate([&[], &[0, 0, 0, 0, 0x80]]) ^ by_crate([&[], &[0; 5]]);
        assert_eq!(crc.reverse_bits(), POLYNOMIAL, "the polynomial is the one of the crate");
        let mut power = 1_u32;
        for _ in 0..(1 << 20) * 8 {
            let carry = power >> 31;
            power = (power << 1) ^ (carry * POLYNOMIAL);
            assert!(power != 1);
        }
    }
}
