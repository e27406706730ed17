//! (pure) Forwards, backwards, and one block of every so many.

use super::AddressGenerator;

/// A walk in even steps that wraps; every block comes once a round.
#[derive(Clone, Copy, Debug)]
pub struct StrideWalk {
    at: u64,
    phase: u64,
    stride: u64,
    blocks: u64,
    /// The last block when walking backwards: the block is then `last - at`.
    mirror: Option<u64>,
}

impl StrideWalk {
    /// Block `start`, `start` + 1, ...
    pub fn forward(blocks: u64, start: u64) -> StrideWalk {
        StrideWalk::strided(blocks, 1, start)
    }

    /// Block `start`, `start` - 1, ...
    pub fn backward(blocks: u64, start: u64) -> StrideWalk {
        let last = blocks.saturating_sub(1);
        let mirrored = StrideWalk::forward(blocks, last - start.min(last));
        StrideWalk { mirror: Some(last), ..mirrored }
    }

    /// Block 0 over and over.
    pub fn same() -> StrideWalk {
        StrideWalk::forward(1, 0)
    }

    /// Blocks `start`, `start` + `stride`, ...; at the end of the files, the same one block on, as
    /// many times as the stride is long.
    pub fn strided(blocks: u64, stride: u64, start: u64) -> StrideWalk {
        let blocks = blocks.max(1);
        let stride = stride.clamp(1, blocks);
        let at = start.min(blocks - 1);
        StrideWalk { at, phase: at % stride, stride, blocks, mirror: None }
    }
}

impl AddressGenerator for StrideWalk {
    #[inline]
    fn next(&mut self) -> u64 {
        let at = self.at;
        self.at += self.stride;
        if self.at >= self.blocks {
            self.phase += 1;
            if self.phase >= self.stride {
                self.phase = 0;
            }
            self.at = self.phase;
        }
        match self.mirror {
            None => at,
            Some(last) => last - at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(mut walk: StrideWalk, count: u64) -> Vec<u64> {
        (0..count).map(|_| walk.next()).collect()
    }

    #[test]
    fn forwards_and_backwards_wrap() {
        assert_eq!(take(StrideWalk::forward(5, 3), 7), [3, 4, 0, 1, 2, 3, 4]);
        assert_eq!(take(StrideWalk::backward(5, 1), 7), [1, 0, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn a_strided_walk_skips_and_comes_back_for_the_rest() {
        assert_eq!(take(StrideWalk::strided(7, 3, 0), 8), [0, 3, 6, 1, 4, 2, 5, 0]);
        assert_eq!(take(StrideWalk::strided(7, 3, 4), 4), [4, 2, 5, 0]);
    }

    /// iozone -i 3 seeks to the last record and then two records back after each: to the start.
    #[test]
    fn a_file_is_read_backwards_as_iozone_reads_it() {
        let records = 64_u64;
        let mut at = (records - 1) as i64;
        let mut iozones = Vec::new();
        while at >= 0 {
            iozones.push(at as u64);
            at = at + 1 - 2;
        }
        assert_eq!(take(StrideWalk::backward(records, records - 1), records), iozones);
    }

    /// iozone -i 5 -j 17 reads every 17th record, and begins one record further on each time it
    /// comes to the end. It turns back two records before the end, so that it reads some twice and
    /// others never; here each is read once.
    #[test]
    fn strides_are_iozones_up_to_the_end_of_the_file_and_leave_nothing_out() {
        let (records, stride) = (200_u64, 17_u64);
        let (mut at, mut sweep, mut iozones) = (0, 0, Vec::new());
        for _ in 0..records {
            iozones.push(at);
            // As in read_stride_perf_test of iozone 3.487, in records.
            if at + 1 + stride >= records - 1 {
                sweep += 1;
                at = if records <= stride { 0 } else { sweep % records };
            } else {
                at += stride;
            }
        }
        let ours = take(StrideWalk::strided(records, stride, 0), records);
        let first: Vec<u64> = (0..records).step_by(17).collect();
        assert_eq!(ours[..first.len()], first);
        assert_eq!(iozones[..first.len()], first);
        assert_eq!((ours[12], iozones[12]), (1, 1), "both go on with the second record");
        let distinct = |mut all: Vec<u64>| {
            all.sort_unstable();
            all.dedup();
            all.len() as u64
        };
        assert_eq!(distinct(ours), records);
        assert!(distinct(iozones) < records);
    }

    /// iozone -i 4 seeks to 0 after every record that it writes.
    #[test]
    fn one_record_is_written_over_and_over() {
        assert_eq!(take(StrideWalk::same(), 5), [0; 5]);
    }

    proptest! {
        #[test]
        fn every_block_comes_once_a_round(
            blocks in 1_u64..300, stride in 1_u64..40, start in 0_u64..400, back: bool,
        ) {
            let walk = match back {
                true => StrideWalk::backward(blocks, start),
                false => StrideWalk::strided(blocks, stride, start),
            };
            let two = take(walk, 2 * blocks);
            for round in two.chunks(blocks as usize) {
                let mut seen = round.to_vec();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..blocks).collect::<Vec<u64>>());
            }
        }
    }
}
