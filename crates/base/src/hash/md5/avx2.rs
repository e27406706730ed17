//! (pure) MD5 of 8 messages a vector, with AVX2.

use std::arch::x86_64::*;

/// Messages in a vector.
pub const LANES: usize = 8;

super::rounds::kernel!("avx2", __m256i);

/// Word by word: the first of all messages, the second of all, and so on.
///
/// # Safety
///
/// Each pointer is to 64 bytes that can be read.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load(at: &[*const __m256i; LANES], words: &mut [__m256i; 16]) {
    for (half, words) in words.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        // SAFETY: both halves are within the 64 bytes; the loads need no alignment.
        *words = transposed(&unsafe { at.map(|at| _mm256_loadu_si256(at.add(half))) });
    }
}

/// Rows become columns.
#[target_feature(enable = "avx2")]
#[inline]
fn transposed(rows: &[__m256i; 8]) -> [__m256i; 8] {
    // Pairs of rows, word by word; then fours of rows: quad[4 i + j] has, in its halves, the
    // columns j and 4 + j of the rows 4 i to 4 i + 3.
    let mut pair = [_mm256_setzero_si256(); 8];
    let mut quad = pair;
    for i in 0..4 {
        pair[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pair[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    for i in [0, 4] {
        quad[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
        quad[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
        quad[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        quad[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    let mut columns = pair;
    for j in 0..4 {
        columns[j] = _mm256_permute2x128_si256::<0x20>(quad[j], quad[4 + j]);
        columns[4 + j] = _mm256_permute2x128_si256::<0x31>(quad[j], quad[4 + j]);
    }
    columns
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(vector: __m256i) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    // SAFETY: the array is as long as the vector; the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector) };
    lanes
}

#[target_feature(enable = "avx2")]
#[inline]
fn splat(word: u32) -> __m256i {
    _mm256_set1_epi32(word as i32)
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi32(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn rotate<const LEFT: i32, const RIGHT: i32>(a: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<LEFT>(a), _mm256_srli_epi32::<RIGHT>(a))
}

/// Where b is 1, c, elsewhere d.
#[target_feature(enable = "avx2")]
#[inline]
fn f(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d)))
}

/// Where d is 1, b, elsewhere c. The halves exclude each other, so that adding them is as good as
/// OR, and lets the compiler add the half without b before b is known.
#[target_feature(enable = "avx2")]
#[inline]
fn g(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    _mm256_add_epi32(_mm256_and_si256(d, b), _mm256_andnot_si256(d, c))
}

#[target_feature(enable = "avx2")]
#[inline]
fn h(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    _mm256_xor_si256(b, _mm256_xor_si256(c, d))
}

#[target_feature(enable = "avx2")]
#[inline]
fn i(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    let not_d = _mm256_xor_si256(d, _mm256_set1_epi32(-1));
    _mm256_xor_si256(c, _mm256_or_si256(b, not_d))
}
