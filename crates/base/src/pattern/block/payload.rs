//! (pure) The bytes behind a block's header: pseudo-random, made anew from its identity alone.
//!
//! [`LANES`] generators xoshiro256++ (Blackman and Vigna 2021, doi:10.1145/3460772) run side by
//! side: a processor works on several of them at once. All is arithmetic modulo 2^64, all words are
//! stored little-endian:
//!
//! 1. `mix(z)` is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): `z ^= z >> 30;
//!    z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31`.
//! 2. `seed = 0`; then for each of campaign, file, offset, generation, in this order:
//!    `seed = mix((seed ^ it) + 0x9E3779B97F4A7C15)`.
//! 3. Lane `l` (0 to 3) starts with the state words `s[w] = mix(seed + (4 l + w + 1) *
//!    0x9E3779B97F4A7C15)`, `w` = 0 to 3: what SplitMix64 seeded with `seed` gives, four words a
//!    lane.
//! 4. Word `n` of the payload (8 bytes) is output `n / 4` (rounded down) of lane `n % 4`. The last
//!    words are cut where the payload ends.
//!
//! Two blocks of different identities have different payloads but for a chance of 2^-64.

use super::Identity;

/// Generators side by side.
pub const LANES: usize = 4;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// One value for each lane, written out: builds without optimisation, as those of the tests are,
/// would spend their time in loops of four.
macro_rules! each {
    ($lane:ident => $value:expr) => {
        [
            {
                const $lane: usize = 0;
                $value
            },
            {
                const $lane: usize = 1;
                $value
            },
            {
                const $lane: usize = 2;
                $value
            },
            {
                const $lane: usize = 3;
                $value
            },
        ]
    };
}

/// Fills `payload` with the bytes of `identity`; a shorter one gets their beginning.
pub fn fill(identity: &Identity, payload: &mut [u8]) {
    let mut state = seeded(identity);
    let (words, bytes) = payload.as_chunks_mut::<8>();
    let (groups, words) = words.as_chunks_mut::<LANES>();
    for group in groups {
        let outputs = next(&mut state);
        *group = each!(L => outputs[L].to_le_bytes());
    }
    let outputs = next(&mut state);
    for (word, output) in words.iter_mut().zip(outputs) {
        *word = output.to_le_bytes();
    }
    bytes.copy_from_slice(&outputs[words.len()].to_le_bytes()[..bytes.len()]);
}

/// The state words of all lanes, word by word.
type State = [[u64; LANES]; 4];

fn seeded(identity: &Identity) -> State {
    let mut seed = 0;
    for number in [identity.campaign, identity.file, identity.offset, identity.generation] {
        seed = mix((seed ^ number).wrapping_add(GOLDEN));
    }
    let mut state = [[0; LANES]; 4];
    for lane in 0..LANES {
        for word in &mut state {
            seed = seed.wrapping_add(GOLDEN);
            word[lane] = mix(seed);
        }
    }
    state
}

#[inline(always)]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One output of each lane.
#[inline(always)]
fn next(state: &mut State) -> [u64; LANES] {
    let [s0, s1, s2, s3] = *state;
    let output = each!(L => s0[L].wrapping_add(s3[L]).rotate_left(23).wrapping_add(s0[L]));
    let t2 = each!(L => s2[L] ^ s0[L]);
    let t3 = each!(L => s3[L] ^ s1[L]);
    state[0] = each!(L => s0[L] ^ t3[L]);
    state[1] = each!(L => s1[L] ^ t2[L]);
    state[2] = each!(L => t2[L] ^ (s1[L] << 17));
    state[3] = each!(L => t3[L].rotate_left(45));
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Written again from the description above, with the generator of a crate.
    fn described(identity: &Identity, bytes: usize) -> Vec<u8> {
        let mut seed = 0_u64;
        for it in [identity.campaign, identity.file, identity.offset, identity.generation] {
            seed = mix((seed ^ it).wrapping_add(0x9E37_79B9_7F4A_7C15));
        }
        let mut lanes: Vec<Xoshiro256PlusPlus> = (0..4_u64)
            .map(|lane| {
                let mut words = [0; 32];
                for w in 0..4_u64 {
                    let number = (4 * lane + w + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let word = mix(seed.wrapping_add(number)).to_le_bytes();
                    words[w as usize * 8..][..8].copy_from_slice(&word);
                }
                Xoshiro256PlusPlus::from_seed(words)
            })
            .collect();
        let mut all = Vec::new();
        while all.len() < bytes {
            for lane in &mut lanes {
                all.extend_from_slice(&lane.next_u64().to_le_bytes());
            }
        }
        all.truncate(bytes);
        all
    }

    #[test]
    fn the_payload_is_what_the_description_says_at_every_length() {
        let identity = Identity { campaign: 7, file: 3 << 32 | 1, offset: 4096, generation: 2 };
        let whole = described(&identity, 512 - 96);
        for bytes in 0..=whole.len() {
            let mut payload = vec![0; bytes];
            fill(&identity, &mut payload);
            assert_eq!(payload, whole[..bytes], "{bytes} bytes");
        }
    }

    #[test]
    fn one_bit_of_any_part_of_the_identity_changes_half_of_the_payload() {
        let base = Identity { campaign: 1, file: 2, offset: 512, generation: 3 };
        let mut first = vec![0; 4000];
        fill(&base, &mut first);
        for bit in 0..256 {
            let mut other = base;
            let field = match bit / 64 {
                0 => &mut other.campaign,
                1 => &mut other.file,
                2 => &mut other.offset,
                _ => &mut other.generation,
            };
            *field ^= 1 << (bit % 64);
            let mut second = vec![0; 4000];
            fill(&other, &mut second);
            let changed: u32 = first.iter().zip(&second).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert!((15_000..17_000).contains(&changed), "bit {bit}: {changed} of 32 000");
        }
    }
}
