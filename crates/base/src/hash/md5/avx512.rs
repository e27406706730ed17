//! (pure) MD5 of 16 messages a vector, with AVX-512.

use std::arch::x86_64::*;

/// Messages in a vector.
pub const LANES: usize = 16;

super::rounds::kernel!("avx512f", __m512i);

/// Word by word: the first of all messages, the second of all, and so on.
///
/// # Safety
///
/// Each pointer is to 64 bytes that can be read.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load(at: &[*const __m512i; LANES], words: &mut [__m512i; 16]) {
    // SAFETY: a vector is 64 bytes; the loads need no alignment.
    *words = transposed(&unsafe { at.map(|at| _mm512_loadu_si512(at)) });
}

/// Rows become columns.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(rows: &[__m512i; 16]) -> [__m512i; 16] {
    // Pairs of rows, word by word; then fours of rows: quad[4 i + j] has, in its quarter q, the
    // column 4 q + j of the rows 4 i to 4 i + 3.
    let mut pair = [_mm512_setzero_si512(); 16];
    let mut quad = pair;
    for i in 0..8 {
        pair[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pair[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    for i in [0, 4, 8, 12] {
        quad[i] = _mm512_unpacklo_epi64(pair[i], pair[i + 2]);
        quad[i + 1] = _mm512_unpackhi_epi64(pair[i], pair[i + 2]);
        quad[i + 2] = _mm512_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        quad[i + 3] = _mm512_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    let mut columns = pair;
    for j in 0..4 {
        // Even quarters (0x88) and odd ones (0xdd) of each half of the rows.
        let (a, b, c, d) = (quad[j], quad[4 + j], quad[8 + j], quad[12 + j]);
        let even = [_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d)];
        let odd = [_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d)];
        columns[j] = _mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
        columns[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
        columns[8 + j] = _mm512_shuffle_i32x4::<0xdd>(even[0], even[1]);
        columns[12 + j] = _mm512_shuffle_i32x4::<0xdd>(odd[0], odd[1]);
    }
    columns
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(vector: __m512i) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    // SAFETY: the array is as long as the vector; the store needs no alignment.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
    lanes
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat(word: u32) -> __m512i {
    _mm512_set1_epi32(word as i32)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn rotate<const LEFT: i32, const RIGHT: i32>(a: __m512i) -> __m512i {
    const { assert!(LEFT + RIGHT == 32) };
    _mm512_rol_epi32::<LEFT>(a)
}

// The third operand of VPTERNLOG is the truth table: bit 4 b + 2 c + d of it is the result. A test
// holds each against RFC 1321.
const F: i32 = 0xca;
const G_: i32 = 0xe4;
const H: i32 = 0x96;
const I: i32 = 0x39;

#[target_feature(enable = "avx512f")]
#[inline]
fn f(b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<F>(b, c, d)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn g(b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<G_>(b, c, d)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn h(b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<H>(b, c, d)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn i(b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<I>(b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_tables_are_those_of_the_standard() {
        for index in 0..8 {
            let [b, c, d] = [4, 2, 1].map(|bit| index & bit != 0);
            let holds = |table: i32, truth: bool| assert_eq!(table >> index & 1 == 1, truth);
            holds(F, (b && c) || (!b && d));
            holds(G_, (b && d) || (c && !d));
            holds(H, b ^ c ^ d);
            holds(I, c ^ (b || !d));
        }
    }
}
