//! (pure) The 40 bytes with which every 4 KiB says who it is.
//!
//! All numbers are little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | `BRK1`: magic and version |
//! | 4..8 | generation: how often the stream had been through its files, from its trial's seed |
//! | 8..16 | campaign |
//! | 16..24 | file: stream << 32, plus the file's number in the stream |
//! | 24..32 | offset in the file, of this header, in bytes |
//! | 32..36 | body: number of the pseudo-random bytes that follow |
//! | 36..40 | check: a hash of the 36 bytes before |
//!
//! Forty, because one per cent of 4 KiB is 40.96: a header that were all compressible would still
//! leave the block incompressible by the measure that the tests use.

/// Length of a header in bytes.
pub const HEADER_BYTES: usize = 40;

const MAGIC: [u8; 4] = *b"BRK1";

/// Who a chunk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The campaign that wrote it.
    pub campaign: u64,
    /// Which file of the trial.
    pub file: u64,
    /// Where in the file, bytes.
    pub offset: u64,
    /// Tells this writing of the place from an earlier one.
    pub generation: u32,
    /// Which body follows.
    pub body: u32,
}

impl Header {
    /// Writes itself over the first [`HEADER_BYTES`] of `chunk`; a shorter chunk gets what fits.
    #[inline]
    pub fn write(&self, chunk: &mut [u8]) {
        let bytes = self.bytes();
        match chunk.first_chunk_mut::<HEADER_BYTES>() {
            Some(head) => *head = bytes,
            None => chunk.copy_from_slice(&bytes[..chunk.len()]),
        }
    }

    /// Reads the header of `chunk`; `None` when there is none that is whole.
    #[inline]
    pub fn read(chunk: &[u8]) -> Option<Header> {
        let bytes = chunk.first_chunk::<HEADER_BYTES>()?;
        let header = Header {
            generation: u32::from_le_bytes(*bytes[4..].first_chunk()?),
            campaign: u64::from_le_bytes(*bytes[8..].first_chunk()?),
            file: u64::from_le_bytes(*bytes[16..].first_chunk()?),
            offset: u64::from_le_bytes(*bytes[24..].first_chunk()?),
            body: u32::from_le_bytes(*bytes[32..].first_chunk()?),
        };
        (header.bytes() == *bytes).then_some(header)
    }

    #[inline]
    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.campaign.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.file.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.body.to_le_bytes());
        bytes[36..].copy_from_slice(&self.check().to_le_bytes());
        bytes
    }

    /// Multiply and fold each field, as wyhash does: one flipped bit changes half of the check.
    #[inline]
    fn check(&self) -> u32 {
        let numbers = (u64::from(self.generation) << 32) | u64::from(self.body);
        let mut hash = u64::from(u32::from_le_bytes(MAGIC));
        for field in [self.campaign, self.file, self.offset, numbers] {
            let wide = u128::from(hash ^ field ^ 0xA076_1D64_78BD_642F)
                * u128::from(0xE703_7ED1_A0B4_28DB_u64);
            hash = (wide as u64) ^ ((wide >> 64) as u64);
        }
        (hash ^ (hash >> 32)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header { campaign: 1, file: 2 << 32, offset: 4096, generation: 5, body: 6 }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut chunk = [0xAA; 512];
        header().write(&mut chunk);
        assert_eq!(Header::read(&chunk), Some(header()));
        assert_eq!(&chunk[..4], b"BRK1");
        assert_eq!(chunk[24..32], 4096_u64.to_le_bytes());
        assert_eq!(chunk[HEADER_BYTES], 0xAA);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let mut chunk = [0; HEADER_BYTES];
        header().write(&mut chunk);
        for bit in 0..HEADER_BYTES * 8 {
            let mut bad = chunk;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::read(&bad), None, "bit {bit}");
        }
        for end in 0..HEADER_BYTES {
            assert_eq!(Header::read(&chunk[..end]), None);
        }
    }

    #[test]
    fn a_chunk_shorter_than_a_header_gets_what_fits() {
        let mut chunk = [0; 16];
        header().write(&mut chunk);
        assert_eq!(&chunk[..4], b"BRK1");
    }
}
