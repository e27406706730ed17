//! (pure) MD5, of one message or of many of one length.

use md5::{Digest, Md5};

/// The MD5 of each block. Blocks are of one length; where they are not, nothing is lost but speed.
/// The shorter of `blocks` and `digests` says how many there are.
pub fn md5_each(blocks: &[&[u8]], digests: &mut [[u8; 16]]) {
    for (block, digest) in blocks.iter().zip(digests) {
        *digest = one([block, &[]]);
    }
}

/// As [`md5_each`], of messages in two parts: of each the first, then the second, as one message.
pub fn md5_each_of(messages: &[[&[u8]; 2]], digests: &mut [[u8; 16]]) {
    for (message, digest) in messages.iter().zip(digests) {
        *digest = one(*message);
    }
}

/// The MD5 of one message in two parts.
pub fn one(parts: [&[u8]; 2]) -> [u8; 16] {
    let mut hasher = Md5::new();
    hasher.update(parts[0]);
    hasher.update(parts[1]);
    hasher.finalize().into()
}
