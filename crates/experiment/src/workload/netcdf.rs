//! Files of netCDF's classic format, to be concatenated as a load: how large, and what is in them.
//!
//! Such a file holds float arrays of three dimensions, `v0(time, y, x)` and so on, all with the
//! record dimension `time`: the format keeps the slices of all variables of one time together, and
//! those of the next behind them. Values differ from slice to slice and hardly compress; the same
//! numbers give the same file. The bytes of a header are the business of [`header`].

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub mod header;

use header::{Dimension, Header, Variable};

/// Bytes of a float in a file.
pub const FLOAT_BYTES: u64 = 4;
/// Values of a row, a slice's last dimension.
const COLUMNS: u64 = 512;
/// Rows of a slice at most: it is 1 MiB then, and so is what can be read at once of one variable.
const ROWS_MAX: u64 = 512;
/// Slices of each variable at least, where there is a row for each.
const RECORDS_MIN: u64 = 8;
/// Variables of a file at most, so that its header is short.
pub const VARIABLES_MAX: u32 = 100;

/// How large the arrays of a netCDF file are: their number and dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetcdfShape {
    /// Arrays.
    pub variables: u32,
    /// Times: slices of each array.
    pub records: u64,
    /// Rows of a slice.
    pub rows: u64,
}

impl NetcdfShape {
    /// The largest file whose arrays have at most `file_bytes`, but never less than one row each.
    /// `variables`: 1 to [`VARIABLES_MAX`], else the nearest.
    pub fn within_bytes(file_bytes: u64, variables: u32) -> NetcdfShape {
        let variables = variables.clamp(1, VARIABLES_MAX);
        let row = u64::from(variables) * COLUMNS * FLOAT_BYTES;
        let rows = (file_bytes / row / RECORDS_MIN).clamp(1, ROWS_MAX);
        let records = (file_bytes / (row * rows)).max(1);
        NetcdfShape { variables, records, rows }
    }

    /// Bytes of one slice of one array.
    pub fn slice_bytes(&self) -> u64 {
        self.rows * COLUMNS * FLOAT_BYTES
    }

    /// Bytes of all arrays of a file.
    pub fn data_bytes(&self) -> u64 {
        self.slice_bytes() * self.records * u64::from(self.variables)
    }

    /// What stands before the arrays of a file.
    pub fn header(&self) -> Header {
        let dimension = |name: &str, length| Dimension { name: name.to_owned(), length };
        let dimensions =
            vec![dimension("time", 0), dimension("y", self.rows), dimension("x", COLUMNS)];
        let variable =
            |number| Variable { name: variable(number), dimensions: vec![0, 1, 2], begin: 0 };
        let variables = (0..self.variables).map(variable).collect();
        // Where one array of a file would be more than the narrower format counts in a record of
        // what many are joined into, both are of the wider one.
        let joined_bytes = self.slice_bytes().saturating_mul(self.records);
        let wide = joined_bytes > header::NARROW_BYTES_MAX || self.records > u64::from(u32::MAX);
        Header { wide, records: self.records, dimensions, variables }.laid_out()
    }
}

/// The name of an array: `v0`.
pub fn variable(number: u32) -> String {
    format!("v{number}")
}

/// The values of one slice, as they stand in a file: floats whose every bit is drawn, but for what
/// would be infinite or no number.
pub fn fill(slice: &mut [u8], seed: u64, file: u64, variable: u32, record: u64) {
    // One after the other, so that no two places share their draws (SplitMix64's constant).
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let place = [file, u64::from(variable), record];
    let drawn_by = place
        .into_iter()
        .fold(seed, |sum, part| (sum ^ part).wrapping_mul(STEP).rotate_left(29).wrapping_add(STEP));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(drawn_by);
    for pair in slice.chunks_mut(8) {
        let word = random.next_u64();
        let [first, second] = [word >> 32, word].map(|half| u64::from(finite(half as u32)));
        let both = (first << 32 | second).to_be_bytes();
        pair.copy_from_slice(&both[..pair.len()]);
    }
}

/// The bits of a float; one of the largest exponent becomes a common one (IEEE 754).
fn finite(bits: u32) -> u32 {
    const EXPONENT: u32 = 0x7F80_0000;
    if bits & EXPONENT == EXPONENT { bits & !0x4000_0000 } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_file_is_as_large_as_was_asked_but_for_less_than_a_slice_of_each_variable() {
        for (bytes, variables) in [(256 * MIB, 4), (100 * MIB, 3), (5 * MIB, 1), (MIB / 2, 7)] {
            let shape = NetcdfShape::within_bytes(bytes, variables);
            let missing = bytes - shape.data_bytes();
            assert!(missing < shape.slice_bytes() * u64::from(variables), "{shape:?}: {missing}");
        }
        assert_eq!(
            NetcdfShape::within_bytes(256 * MIB, 4),
            NetcdfShape { variables: 4, records: 64, rows: 512 }
        );
        assert_eq!(
            NetcdfShape::within_bytes(24 << 10, 2),
            NetcdfShape { variables: 2, records: 6, rows: 1 }
        );
        assert_eq!(
            NetcdfShape::within_bytes(0, 0),
            NetcdfShape { variables: 1, records: 1, rows: 1 }
        );
        assert!(!NetcdfShape::within_bytes(4 << 30, 2).header().wide);
        assert!(
            NetcdfShape::within_bytes(9 << 30, 2).header().wide,
            "4 GiB of each variable in a record"
        );
    }

    #[test]
    fn slices_differ_and_hold_numbers_and_the_same_place_has_the_same() {
        let slice = |seed, file, variable, record| {
            let mut bytes = vec![0; 2048];
            fill(&mut bytes, seed, file, variable, record);
            bytes
        };
        let mut all = Vec::new();
        for place in [(1, 0, 0, 0), (2, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1)] {
            let (seed, file, variable, record) = place;
            all.push(slice(seed, file, variable, record));
            assert_eq!(all.last(), Some(&slice(seed, file, variable, record)));
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 5);
        for bytes in all.concat().chunks(4) {
            let value = f32::from_be_bytes(bytes.try_into().unwrap());
            assert!(value.is_finite());
        }
        assert!(f32::from_bits(finite(0x7F80_0000)).is_finite());
        assert!(f32::from_bits(finite(0xFFFF_FFFF)).is_finite());
        assert_eq!(finite(0x3F80_0001), 0x3F80_0001);
    }

    /// A tail that is no whole pair of values, as no file of ours has.
    #[test]
    fn no_length_of_a_slice_panics() {
        for length in 0..20 {
            fill(&mut vec![0; length], 1, 2, 3, 4);
        }
    }
}
