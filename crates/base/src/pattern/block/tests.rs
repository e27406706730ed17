//! What is written is right, what is changed is wrong, and the layout does not drift.

use super::*;

fn format(block_bytes: usize, checksum: Checksum) -> Format {
    Format { block_bytes, checksum }
}

fn first() -> Identity {
    Identity { campaign: 0x1122_3344, file: 2 << 32 | 5, offset: 1 << 20, generation: 3 }
}

const TIME_NS: u64 = 1_700_000_000_123_456_789;

fn written(format: &Format, blocks: usize) -> Vec<u8> {
    let mut buffer = vec![0xAA; format.block_bytes * blocks];
    format.write(&mut buffer, first(), TIME_NS);
    buffer
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_is_written_is_right_with_every_checksum_at_every_size() {
    for checksum in Checksum::ALL {
        for block_bytes in [512, 1024, 4096, 65536, 1 << 20] {
            let format = format(block_bytes, checksum);
            let blocks = if block_bytes < 65536 { 41 } else { 1 };
            let buffer = written(&format, blocks);
            assert_eq!(format.first_wrong(&buffer, first(), |_| 3), None);
            for (index, block) in buffer.chunks(block_bytes).enumerate() {
                let offset = first().offset + (index * block_bytes) as u64;
                let identity = Identity { offset, ..first() };
                assert!(format.is_right(block, &identity));
                assert_eq!(format.bears(block), Some(identity));
                assert_eq!(format.expected(&identity, block), block, "made anew");
            }
        }
    }
}

#[test]
fn the_wrong_ones_are_found_by_index_and_part_of_a_block_is_wrong() {
    for checksum in Checksum::ALL {
        let format = format(512, checksum);
        let mut buffer = written(&format, 100);
        buffer[512 * 31 + 200] ^= 1;
        buffer[512 * 64 + 95] ^= 0x80;
        assert_eq!(format.first_wrong(&buffer, first(), |_| 3), Some(31));
        assert_eq!(format.wrong(&buffer, first(), |_| 3), [31, 64]);
        assert_eq!(format.wrong(&buffer[..512 * 99 + 511], first(), |_| 3), [31, 64, 99]);
        let generation = |offset| if offset == first().offset + 512 * 7 { 4 } else { 3 };
        assert_eq!(format.wrong(&buffer, first(), generation), [7, 31, 64]);
        assert_eq!(format.wrong(&buffer, Identity { campaign: 1, ..first() }, |_| 3).len(), 100);
        assert_eq!(format.first_wrong(&[], first(), |_| 3), None);
    }
}

#[test]
fn each_block_bears_the_generation_that_was_asked_for() {
    for checksum in [Checksum::Crc32c, Checksum::Md5] {
        let format = format(1024, checksum);
        let mut buffer = vec![7; 1024 * 70 + 100];
        let generation = |offset: u64| offset / 1024 % 5;
        format.write_each(&mut buffer, first(), TIME_NS, generation);
        assert_eq!(format.first_wrong(&buffer[..1024 * 70], first(), generation), None);
        assert!(buffer[1024 * 70..].iter().all(|byte| *byte == 7), "the rest is left alone");
    }
}

#[test]
fn every_flipped_bit_of_a_block_is_found_with_every_checksum() {
    for checksum in Checksum::ALL {
        let format = format(512, checksum);
        let mut block = written(&format, 1);
        for bit in 0..512 * 8 {
            block[bit / 8] ^= 1 << (bit % 8);
            assert!(!format.is_right(&block, &first()), "{} bit {bit}", checksum.name());
            assert_eq!(format.first_wrong(&block, first(), |_| 3), Some(0));
            block[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(format.is_right(&block, &first()));
    }
}

#[test]
fn the_time_is_made_anew_though_bits_of_it_flipped() {
    for checksum in Checksum::ALL {
        let format = format(512, checksum);
        let whole = written(&format, 1);
        for bits in [&[0_usize][..], &[63], &[64], &[5, 70], &[1, 2, 3, 100, 110, 120]] {
            let mut block = whole.clone();
            for bit in bits {
                block[48 + bit / 8] ^= 1 << (bit % 8);
            }
            assert_eq!(format.expected(&first(), &block), whole, "{} {bits:?}", checksum.name());
        }
        let mut garbage = whole.clone();
        garbage[48..56].fill(0x5A);
        assert_eq!(format.expected(&first(), &garbage), whole, "one copy is enough");
        garbage[56..64].fill(0x77);
        assert_eq!(number(&format.expected(&first(), &garbage), 48), 0, "not plausible");
    }
}

#[test]
fn nothing_of_any_length_panics() {
    for checksum in Checksum::ALL {
        for block_bytes in [0, 1, 512, 1024] {
            let format = format(block_bytes, checksum);
            for length in (0..130).chain([511, 512, 513, 1023, 1024, 1025, 40_000]) {
                let mut bytes = vec![0xB7; length];
                assert!(!format.is_right(&bytes, &first()));
                assert_eq!(format.bears(&bytes), None);
                assert_eq!(format.expected(&first(), &bytes).len(), block_bytes.max(512));
                assert_eq!(format.first_wrong(&bytes, first(), |_| 0).is_none(), length == 0);
                format.write(&mut bytes, Identity { offset: u64::MAX, ..first() }, u64::MAX);
            }
        }
    }
}

/// The layout, byte by byte, as docs/reference/blocks.md has it. Blocks that were written by an
/// earlier version must stay readable: a change here needs a new version of the layout.
#[test]
fn the_layout_does_not_drift() {
    let block = written(&format(512, Checksum::Crc32c), 1);
    let header = "42524b56\
        01\
        01\
        0000\
        00020000\
        00000000\
        4433221100000000\
        0500000002000000\
        0000100000000000\
        0300000000000000\
        15cd853dfe9c9717\
        ea327ac2016368e8";
    assert_eq!(hex(&block[..64]), header);
    let payload = "a9a6aba2699c800299ffc01cc1ad055b6792581a7964c7eaeefb7c0dbc3668ac";
    assert_eq!(hex(&block[96..128]), payload);
    let digests = [
        (Checksum::Crc32c, "b8435ea3"),
        (Checksum::Xxh3_64, "b125b9d24f0b62d4"),
        (Checksum::Xxh3_128, "257e431abd5529d1701ecc57d7a6a8aa"),
        (Checksum::Blake3, "afbc96dde5baf7e52c7167002ba2ee3bb9ea86bbcc4acf5bf1d4c5a0c8b398cf"),
        (Checksum::Md5, "ffb3be7589e20928f387422cc5a31972"),
    ];
    let found = digests.map(|(checksum, _)| {
        let block = written(&format(512, checksum), 1);
        (checksum, hex(&block[64..64 + checksum.digest_bytes()]))
    });
    assert_eq!(found, digests.map(|(checksum, digest)| (checksum, digest.to_owned())));
    let large = written(&format(1 << 20, Checksum::Blake3), 1);
    assert_eq!(
        hex(&large[64..96]),
        "ddf0a584794462397055eb071e31b4a3b3acb4c3dcb9c7658f837c39f8b0a5df"
    );
}
