//! (pure) MD5, of one message or of many of one length at a time.
//!
//! MD5 (RFC 1321) cannot be sped up within one message: each step waits for the one before it. But
//! the blocks of a file are independent, so the same step of 16 or 32 of them fits side by side
//! into vector registers. Which instructions the processor has is asked at run time. Messages whose
//! lengths differ, and single ones, go through the crate md-5, and so does everything on other
//! processors.

use md5::{Digest, Md5};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod rounds;

/// So few messages are faster one by one: a group costs as much as two or three of them.
const TOGETHER_MIN: usize = 3;

/// The MD5 of each message, which is in two parts: the first, then the second. All are of one
/// length, and their first parts a multiple of 64 bytes long; where they are not, nothing is lost
/// but speed. The shorter of `messages` and `digests` says how many there are.
pub fn md5_each_of(messages: &[[&[u8]; 2]], digests: &mut [[u8; 16]]) {
    let way = Md5Kernel::ALL.into_iter().find(|way| way.is_here()).unwrap_or(Md5Kernel::OneByOne);
    way.run(messages, digests);
}

/// The MD5 of one message in two parts.
pub fn one(parts: [&[u8]; 2]) -> [u8; 16] {
    let mut hasher = Md5::new();
    hasher.update(parts[0]);
    hasher.update(parts[1]);
    hasher.finalize().into()
}

/// How many messages are hashed at a time, and with which instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Md5Kernel {
    /// 16 or 32 at a time, with AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 8 or 16 at a time, with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// By the crate.
    OneByOne,
}

impl Md5Kernel {
    /// The fastest first.
    #[cfg(target_arch = "x86_64")]
    const ALL: [Md5Kernel; 3] = [Md5Kernel::Avx512, Md5Kernel::Avx2, Md5Kernel::OneByOne];
    #[cfg(not(target_arch = "x86_64"))]
    const ALL: [Md5Kernel; 1] = [Md5Kernel::OneByOne];

    /// Whether this processor has the instructions.
    fn is_here(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Md5Kernel::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Md5Kernel::Avx2 => is_x86_feature_detected!("avx2"),
            Md5Kernel::OneByOne => true,
        }
    }

    /// Hashes the messages; one by one where the processor or their lengths do not allow more.
    fn run(self, messages: &[[&[u8]; 2]], digests: &mut [[u8; 16]]) {
        let together = match self {
            #[cfg(target_arch = "x86_64")]
            Md5Kernel::Avx512 => 2 * avx512::LANES,
            #[cfg(target_arch = "x86_64")]
            Md5Kernel::Avx2 => 2 * avx2::LANES,
            Md5Kernel::OneByOne => 1,
        };
        let count = messages.len().min(digests.len());
        let groups = messages[..count].chunks(together).zip(digests.chunks_mut(together));
        for (messages, digests) in groups {
            if messages.len() < TOGETHER_MIN || !are_alike(messages) || !self.is_here() {
                for (message, digest) in messages.iter().zip(digests) {
                    *digest = one(*message);
                }
                continue;
            }
            // SAFETY: the processor has the instructions; the messages are alike, and there are
            // 3 to `together` of them; each function gets at most the lanes that it has.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                match self {
                    Md5Kernel::Avx512 if messages.len() > avx512::LANES => {
                        avx512::digest_each::<2>(messages, digests)
                    }
                    Md5Kernel::Avx512 => avx512::digest_each::<1>(messages, digests),
                    Md5Kernel::Avx2 if messages.len() > avx2::LANES => {
                        avx2::digest_each::<2>(messages, digests)
                    }
                    Md5Kernel::Avx2 => avx2::digest_each::<1>(messages, digests),
                    Md5Kernel::OneByOne => {}
                }
            }
        }
    }
}

/// Whether all messages have parts of the same lengths, the first a multiple of 64 bytes.
fn are_alike(messages: &[[&[u8]; 2]]) -> bool {
    let lengths = |message: &[&[u8]; 2]| (message[0].len(), message[1].len());
    messages.first().is_some_and(|first| {
        first[0].len().is_multiple_of(64)
            && messages.iter().all(|message| lengths(message) == lengths(first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let next = |_| {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (state >> 24) as u8
        };
        (0..length).map(next).collect()
    }

    /// Every way that this processor has, on `count` messages of `head` and `tail` bytes that begin
    /// at odd places.
    fn compare(count: usize, head: usize, tail: usize) {
        let pool = bytes(head + tail + count * 7 + 1);
        let messages: Vec<[&[u8]; 2]> = (0..count)
            .map(|index| {
                let message = &pool[index * 7 + 1..];
                [&message[..head], &message[head..head + tail]]
            })
            .collect();
        let expected: Vec<[u8; 16]> = messages.iter().map(|message| one(*message)).collect();
        for way in Md5Kernel::ALL.into_iter().filter(|way| way.is_here()) {
            let mut digests = vec![[0; 16]; count];
            way.run(&messages, &mut digests);
            assert!(digests == expected, "{way:?}: {count} of {head} + {tail} bytes");
        }
    }

    #[test]
    fn every_way_gives_what_the_crate_gives_at_every_length_around_a_block() {
        for tail in [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 448, 1001, 4000, 4096] {
            compare(33, 0, tail);
            compare(9, 64, tail);
        }
        compare(3, 64, (1 << 20) - 96);
    }

    #[test]
    fn every_way_takes_any_number_of_messages() {
        for count in 0..=70 {
            compare(count, 64, 416);
        }
    }

    #[test]
    fn messages_of_different_lengths_are_right_too() {
        let pool = bytes(1000);
        let messages: Vec<[&[u8]; 2]> =
            (0..40).map(|index| [&[][..], &pool[index..index * 20 + 30]]).collect();
        let mut digests = vec![[0; 16]; 40];
        md5_each_of(&messages, &mut digests);
        for (message, digest) in messages.iter().zip(&digests) {
            assert_eq!(*digest, one(*message));
        }
        compare(20, 63, 100);
        let mut few = [[0; 16]; 5];
        md5_each_of(&messages, &mut few);
        assert_eq!(few, digests[..5]);
        md5_each_of(&messages[..2], &mut few);
        md5_each_of(&[], &mut few);
        assert_eq!(few, digests[..5]);
    }

    /// Says which ways were not tried, so that nobody believes they were.
    #[test]
    fn ways_that_this_processor_lacks_are_one_by_one() {
        for way in Md5Kernel::ALL {
            let mut digests = [[0; 16]; 4];
            let message: [&[u8]; 2] = [&[], b"abc"];
            way.run(&[message; 4], &mut digests);
            assert_eq!(digests, [one([b"abc", &[]]); 4], "{way:?}, here: {}", way.is_here());
        }
    }
}
