//! (pure) The 64 steps of MD5, for as many messages as there are lanes: one text for every width of
//! vector.
//!
//! A module that calls [`kernel`] names its vector and brings its number of lanes `LANES`, `load`,
//! `store`, `splat`, `add`, `rotate`, and the four functions `f`, `g`, `h` and `i` of RFC 1321
//! section 3.4.

/// The sines of RFC 1321 section 3.4: 2^32 |sin(n)|, rounded down, n = 1 to 64.
pub const SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];

/// The state before the first block.
pub const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// What stands behind a message: its last bytes that fill no block, 0x80, zeros, its length in
/// bits. One block of 64 bytes, or two.
pub fn ending(rest: &[u8], message_bytes: u64, blocks: &mut [u8; 128]) {
    blocks.fill(0);
    blocks[..rest.len()].copy_from_slice(rest);
    blocks[rest.len()] = 0x80;
    let end = ending_bytes(rest.len());
    blocks[end - 8..end].copy_from_slice(&message_bytes.wrapping_mul(8).to_le_bytes());
}

/// How many bytes of [`ending`] are used.
pub fn ending_bytes(rest: usize) -> usize {
    if rest < 56 { 64 } else { 128 }
}

/// Defines `digest_each` for the instructions `$features`.
macro_rules! kernel {
    ($features:literal, $vector:ident) => {
        use super::rounds::{SINES, START, ending, ending_bytes};

        /// The MD5 of `messages`, in `G` vectors side by side: their chains of steps are
        /// independent, so that one fills the waiting times of the other.
        ///
        /// # Safety
        ///
        /// The processor has the instructions; there are 1 to `G * LANES` messages and as many
        /// digests; the parts of all messages are of the same lengths; the first parts are a
        /// multiple of 64 bytes long.
        #[target_feature(enable = $features)]
        pub unsafe fn digest_each<const G: usize>(
            messages: &[[&[u8]; 2]],
            digests: &mut [[u8; 16]],
        ) {
            let last = messages.len() - 1;
            let lengths = messages[0].map(<[u8]>::len);
            // Lanes that are left over hash the last message again.
            let message = |group: usize, lane: usize| messages[last.min(group * LANES + lane)];
            let mut state: [[$vector; 4]; G] = [START.map(|word| splat(word)); G];
            // Filled in place: as results they were copied, at nearly half the cost of the steps.
            let mut words = [[splat(0); 16]; G];
            for part in 0..2 {
                let at: [[*const u8; LANES]; G] = std::array::from_fn(|group| {
                    std::array::from_fn(|lane| message(group, lane)[part].as_ptr())
                });
                for offset in (0..lengths[part] / 64).map(|block| block * 64) {
                    for (at, words) in at.iter().zip(&mut words) {
                        // SAFETY: each part has `lengths[part]` bytes, and 64 from `offset` are
                        // in it.
                        unsafe { load(&at.map(|at| at.add(offset).cast()), words) };
                    }
                    compress(&mut state, &words);
                }
            }
            let rest = lengths[1] % 64;
            let mut endings = [[[0; 128]; LANES]; G];
            for group in 0..G {
                for lane in 0..LANES {
                    let tail = message(group, lane)[1];
                    let bytes = (lengths[0] + lengths[1]) as u64;
                    ending(&tail[tail.len() - rest..], bytes, &mut endings[group][lane]);
                }
            }
            for offset in (0..ending_bytes(rest)).step_by(64) {
                for (endings, words) in endings.iter().zip(&mut words) {
                    let at = endings.each_ref().map(|bytes| bytes.as_ptr());
                    // SAFETY: an ending has 128 bytes; offset is 0 or 64.
                    unsafe { load(&at.map(|at| at.add(offset).cast()), words) };
                }
                compress(&mut state, &words);
            }
            for (number, digest) in digests.iter_mut().enumerate().take(messages.len()) {
                for word in 0..4 {
                    let lanes = store(state[number / LANES][word]);
                    let bytes = lanes[number % LANES].to_le_bytes();
                    digest[4 * word..4 * word + 4].copy_from_slice(&bytes);
                }
            }
        }

        /// One block of 64 bytes of each message.
        #[target_feature(enable = $features)]
        #[inline]
        fn compress<const G: usize>(state: &mut [[$vector; 4]; G], words: &[[$vector; 16]; G]) {
            let mut now = *state;
            macro_rules! step {
                ($function:ident, $number:expr, $word:expr, $rotation:literal) => {
                    for group in 0..G {
                        let [a, b, c, d] = now[group];
                        let known = add(words[group][$word % 16], splat(SINES[$number]));
                        let sum = add(add(a, known), $function(b, c, d));
                        let b_next = add(b, rotate::<$rotation, { 32 - $rotation }>(sum));
                        now[group] = [d, b_next, b, c];
                    }
                };
            }
            macro_rules! four {
                ($function:ident, $n:expr, $times:literal, $plus:literal,
                 $r0:literal $r1:literal $r2:literal $r3:literal) => {
                    step!($function, $n, ($n) * $times + $plus, $r0);
                    step!($function, $n + 1, ($n + 1) * $times + $plus, $r1);
                    step!($function, $n + 2, ($n + 2) * $times + $plus, $r2);
                    step!($function, $n + 3, ($n + 3) * $times + $plus, $r3);
                };
            }
            macro_rules! round {
                ($function:ident, $n:literal, $times:literal, $plus:literal,
                 $r0:literal $r1:literal $r2:literal $r3:literal) => {
                    four!($function, $n, $times, $plus, $r0 $r1 $r2 $r3);
                    four!($function, $n + 4, $times, $plus, $r0 $r1 $r2 $r3);
                    four!($function, $n + 8, $times, $plus, $r0 $r1 $r2 $r3);
                    four!($function, $n + 12, $times, $plus, $r0 $r1 $r2 $r3);
                };
            }
            round!(f, 0, 1, 0, 7 12 17 22);
            round!(g, 16, 5, 1, 5 9 14 20);
            round!(h, 32, 3, 5, 4 11 16 23);
            round!(i, 48, 7, 0, 6 10 15 21);
            for (state, now) in state.iter_mut().flatten().zip(now.iter().flatten()) {
                *state = add(*state, *now);
            }
        }
    };
}

pub(super) use kernel;
