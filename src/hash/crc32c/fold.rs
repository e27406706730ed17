//! (pure) CRC-32C by folding 128 bytes at a time, with VPCLMULQDQ on 256-bit vectors.
//!
//! After Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction"
//! (Intel 2009), in the reflected form: a remainder of 128 bits is moved `d` bits further back in
//! the message by multiplying its halves with x^(d+32) and x^(d-32) mod P. The last 128 bits and
//! what is left behind them go through the processor's CRC32 instruction, which is this very CRC.

use std::arch::x86_64::*;

/// Bytes that are folded at once.
const STRIDE: usize = 128;

/// Lines of the cache are asked for so many bytes ahead: the processor's own read-ahead stops at
/// the end of each page of 4 KiB.
const AHEAD: usize = 2048;

/// The CRC, where this processor and these lengths are made for it; `None` elsewhere.
#[inline]
pub fn of([head, tail]: [&[u8]; 2]) -> Option<u32> {
    // Those that have 512-bit vectors are better served by the crate.
    if !is_x86_feature_detected!("vpclmulqdq") || is_x86_feature_detected!("avx512vl") {
        return None;
    }
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("sse4.2") {
        return None;
    }
    // The remainder starts as ones: the first 32 bits of the message are inverted. Zeros before
    // that change nothing.
    let mut first = [0; STRIDE];
    let rest = if head.is_empty() {
        let (start, rest) = tail.split_first_chunk::<STRIDE>()?;
        first = *start;
        first[..4].iter_mut().for_each(|byte| *byte = !*byte);
        rest
    } else {
        first[64..].copy_from_slice(head.first_chunk::<64>().filter(|_| head.len() == 64)?);
        first[64..68].iter_mut().for_each(|byte| *byte = !*byte);
        tail
    };
    // SAFETY: the processor has AVX2, VPCLMULQDQ and SSE4.2, as was asked above.
    Some(unsafe { folded(&first, rest) })
}

/// x^n mod P, reflected, as a multiplier of 33 bits.
const fn power(n: u32) -> i64 {
    let mut value: u32 = 1;
    let mut i = 0;
    while i < n {
        let carry = value >> 31;
        value = (value << 1) ^ (carry * 0x1EDC_6F41);
        i += 1;
    }
    (value.reverse_bits() as i64) << 1
}

/// The multipliers of the low and the high half that move a remainder by `bits`.
const fn by(bits: u32) -> [i64; 2] {
    [power(bits + 32), power(bits - 32)]
}

const BY_1024: [i64; 2] = by(1024);
const BY_512: [i64; 2] = by(512);
const BY_256: [i64; 2] = by(256);
const BY_128: [i64; 2] = by(128);

/// The CRC of `first`, whose beginning is inverted, and of `rest` behind it.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
fn folded(first: &[u8; STRIDE], rest: &[u8]) -> u32 {
    let [mut s0, mut s1, mut s2, mut s3] = load(first);
    let far = both(BY_1024);
    let (strides, tail) = rest.as_chunks::<STRIDE>();
    for stride in strides {
        let ahead = stride.as_ptr().wrapping_add(AHEAD).cast::<i8>();
        // SAFETY: a prefetch reads nothing that the program could see and never faults, wherever
        // it points. (Newer compilers call it safe; our oldest does not.)
        #[allow(unused_unsafe)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(ahead);
            _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(64));
        }
        let [n0, n1, n2, n3] = load(stride);
        s0 = _mm256_xor_si256(move_back(s0, far), n0);
        s1 = _mm256_xor_si256(move_back(s1, far), n1);
        s2 = _mm256_xor_si256(move_back(s2, far), n2);
        s3 = _mm256_xor_si256(move_back(s3, far), n3);
    }
    let half = both(BY_512);
    let one = _mm256_xor_si256(move_back(s0, half), s2);
    let two = _mm256_xor_si256(move_back(s1, half), s3);
    let sum = _mm256_xor_si256(move_back(one, both(BY_256)), two);
    let (low, high) = (_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let near = _mm_set_epi64x(BY_128[1], BY_128[0]);
    let moved = _mm_xor_si128(
        _mm_clmulepi64_si128::<0x00>(low, near),
        _mm_clmulepi64_si128::<0x11>(low, near),
    );
    let sum = _mm_xor_si128(moved, high);
    let mut crc = _mm_crc32_u64(0, _mm_cvtsi128_si64(sum) as u64);
    crc = _mm_crc32_u64(crc, _mm_extract_epi64::<1>(sum) as u64);
    let (words, bytes) = tail.as_chunks::<8>();
    for word in words {
        crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    }
    let mut crc = crc as u32;
    for byte in bytes {
        crc = _mm_crc32_u8(crc, *byte);
    }
    !crc
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(stride: &[u8; STRIDE]) -> [__m256i; 4] {
    let at: *const __m256i = stride.as_ptr().cast();
    // SAFETY: 4 times 32 bytes are the 128 of the array; the loads need no alignment.
    unsafe {
        [
            _mm256_loadu_si256(at),
            _mm256_loadu_si256(at.add(1)),
            _mm256_loadu_si256(at.add(2)),
            _mm256_loadu_si256(at.add(3)),
        ]
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn both([low, high]: [i64; 2]) -> __m256i {
    _mm256_set_epi64x(high, low, high, low)
}

#[target_feature(enable = "avx2,vpclmulqdq")]
#[inline]
fn move_back(sum: __m256i, by: __m256i) -> __m256i {
    _mm256_xor_si256(
        _mm256_clmulepi64_epi128::<0x00>(sum, by),
        _mm256_clmulepi64_epi128::<0x11>(sum, by),
    )
}
