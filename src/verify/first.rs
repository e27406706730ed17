//! Against the first reading: a sum for each MiB, taken when a block is read first, and held
//! against every reading after it.
//!
//! 16 bytes for each MiB are kept in memory: 15 MB for a TB.

use std::io::Error;

use super::BLOCK_BYTES;
use super::find::kind_of;
use super::shared::{Shared, Span, lock};
use super::source::{Aligned, Source, Way};
use super::suspect::{self, Suspect};
use super::unreadable::{in_pieces, is_of_the_device};
use crate::hash::{Checksum, md5_each};

const BLOCK: usize = BLOCK_BYTES as usize;

/// Blocks that are read before they are hashed: MD5 is fast only for many at once.
fn batch(checksum: Checksum) -> u64 {
    if checksum == Checksum::Md5 { 32 } else { 4 }
}

/// One stream of a pass: takes spans until none is left.
pub fn stream(shared: &Shared, checksum: Checksum) {
    let most = batch(checksum);
    let mut buffer = Aligned::new(most as usize * BLOCK);
    while !shared.over() {
        let Some(span) = shared.next_span(most) else { break };
        let at = Place { shared, span, checksum };
        let bytes = at.read(buffer.bytes_mut());
        shared.done_bytes.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    }
}

struct Place<'a> {
    shared: &'a Shared,
    span: Span,
    checksum: Checksum,
}

impl Place<'_> {
    /// Reads and checks a span; gives its length, read or not.
    fn read(&self, buffer: &mut [u8]) -> u64 {
        let Span { file, block, blocks } = self.span;
        let held = &self.shared.files[file];
        let (stamp, changed) = {
            let state = lock(&held.state);
            (state.stamp, state.changed)
        };
        let bytes = stamp.size.saturating_sub(block * BLOCK_BYTES).min(blocks * BLOCK_BYTES);
        if changed {
            return bytes;
        }
        let mut source = match Source::open(&held.path, Way::Around) {
            Ok(source) => source,
            Err(why) => {
                self.lost(&why);
                return bytes;
            }
        };
        if source.stamp != stamp {
            self.shared.changed(file, &source.stamp);
            return bytes;
        }
        let resident = source.resident_bytes(block * BLOCK_BYTES, bytes);
        let lengths = self.fill(&mut source, buffer, bytes);
        // Nothing is told of bytes that may be another state's.
        match source.stamp_now() {
            Ok(now) if now == stamp => self.check(buffer, &lengths),
            Ok(now) => self.shared.changed(file, &now),
            Err(why) => self.lost(&why),
        }
        self.shared.delivered(&source, lengths.len() as u64, resident);
        bytes
    }

    /// The file cannot be read (any more).
    fn lost(&self, why: &Error) {
        let held = &self.shared.files[self.span.file];
        lock(&held.state).partial = true;
        self.shared.problem(&held.shown, kind_of(why), why.to_string());
    }

    /// Reads the blocks; gives how long each is, 0 for what was not read.
    fn fill(&self, source: &mut Source, buffer: &mut [u8], bytes: u64) -> Vec<usize> {
        let Span { file, block, blocks } = self.span;
        let mut lengths = Vec::with_capacity(blocks as usize);
        for (index, part) in buffer.chunks_mut(BLOCK).take(blocks as usize).enumerate() {
            if self.shared.over() {
                lock(&self.shared.files[file].state).partial = true;
                break;
            }
            let offset = (block + index as u64) * BLOCK_BYTES;
            let length = (bytes as usize).saturating_sub(index * BLOCK).min(BLOCK);
            let got = match source.read(part, offset, length) {
                Ok(got) if got == length => Some(got),
                // Shorter than its size says: the stamp tells whether it shrank just now.
                Ok(got) => {
                    suspect::short(self.shared, file, source, (offset, got, length));
                    None
                }
                Err(why) if is_of_the_device(&why) => {
                    in_pieces(self.shared, file, source, part, (offset, length), &why)
                }
                Err(why) => {
                    self.lost(&why);
                    break;
                }
            };
            lengths.push(got.unwrap_or(0));
        }
        lengths
    }

    fn check(&self, buffer: &[u8], lengths: &[usize]) {
        let Span { file, block, .. } = self.span;
        let parts: Vec<&[u8]> =
            buffer.chunks(BLOCK).zip(lengths).map(|(part, length)| &part[..*length]).collect();
        let sums = sums_of(self.checksum, &parts);
        let held = &self.shared.files[file];
        let (mut checked, mut compared) = (0, 0);
        let mut wrong = Vec::new();
        {
            let mut state = lock(&held.state);
            let blocks = state.stamp.size.div_ceil(BLOCK_BYTES);
            for (index, (part, sum)) in parts.iter().zip(&sums).enumerate() {
                if part.is_empty() {
                    continue;
                }
                checked += part.len() as u64;
                match state.sums.get(block + index as u64) {
                    None => state.sums.put(block + index as u64, blocks, *sum),
                    Some(first) => {
                        compared += part.len() as u64;
                        if first != *sum {
                            wrong.push((index, first));
                        }
                    }
                }
            }
        }
        self.shared.checked(checked, compared);
        for (index, first) in wrong {
            let suspect = Suspect {
                shared: self.shared,
                file,
                offset: (block + index as u64) * BLOCK_BYTES,
                found: parts[index],
                is_right: &|bytes| sums_of(self.checksum, &[bytes])[0] == first,
            };
            suspect.judge();
        }
    }
}

/// The sums of blocks, cut to 16 bytes: two blocks that differ have the same one once in 2^128.
pub fn sums_of(checksum: Checksum, parts: &[&[u8]]) -> Vec<[u8; 16]> {
    let mut sums = vec![[0; 16]; parts.len()];
    let whole = match checksum {
        Checksum::Md5 => parts.iter().take_while(|part| part.len() == BLOCK).count(),
        _ => 0,
    };
    md5_each(&parts[..whole], &mut sums[..whole]);
    for (sum, part) in sums.iter_mut().zip(parts).skip(whole) {
        sum.copy_from_slice(&checksum.of([part, &[]])[..16]);
    }
    sums
}

/// What a pass against the first reading leaves behind: files that changed have a new state, and no
/// sums any more.
pub fn end_pass(shared: &Shared) {
    for held in &shared.files {
        let mut state = lock(&held.state);
        if !state.changed {
            continue;
        }
        match super::source::stamp_of(&held.path) {
            Ok(stamp) => {
                state.stamp = stamp;
                state.sums = Default::default();
                state.changed = false;
            }
            Err(why) => {
                drop(state);
                shared.problem(&held.shown, kind_of(&why), why.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_blocks_whatever_stands_beside_them() {
        let long = vec![3; BLOCK];
        let parts: [&[u8]; 4] = [&long, &long, b"abc", b""];
        for checksum in [Checksum::Md5, Checksum::Xxh3_128, Checksum::Blake3] {
            let sums = sums_of(checksum, &parts);
            assert_eq!(sums[0], sums[1]);
            for (sum, part) in sums.iter().zip(parts) {
                assert_eq!(sum[..], checksum.of([part, &[]])[..16], "{}", checksum.name());
            }
        }
    }
}
