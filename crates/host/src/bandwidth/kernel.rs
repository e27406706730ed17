//! The loops that are timed. They are plain, so that the compiler makes vectors of them.

use std::hint::black_box;

/// Bytes that one step of the triad moves, as STREAM counts: two words read, one written.
pub const TRIAD_BYTES: u64 = 24;

/// a = b + s c.
#[inline(never)]
pub fn triad(a: &mut [f64], b: &[f64], c: &[f64], s: f64) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + s * c;
    }
    black_box(a);
}

/// The sum of all. Sixteen partial sums: one alone would wait for each addition, and the order of
/// additions is not the compiler's to change.
#[inline(never)]
pub fn sum(a: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut partial = [0.0; LANES];
    let chunks = a.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (partial, value) in partial.iter_mut().zip(chunk) {
            *partial += value;
        }
    }
    black_box(partial.iter().sum::<f64>() + rest)
}

/// Copies all of `from` in pieces of the length of `to`, each over the one before.
#[inline(never)]
pub fn copy_over(to: &mut [u8], from: &[u8]) {
    if to.is_empty() {
        return;
    }
    for piece in from.chunks_exact(to.len()) {
        to.copy_from_slice(piece);
        black_box(&mut *to);
    }
}

/// Copies all of `from` to as many bytes of `to`, in pieces.
#[inline(never)]
pub fn copy_along(to: &mut [u8], from: &[u8], piece: usize) {
    for (to, from) in to.chunks_exact_mut(piece).zip(from.chunks_exact(piece)) {
        to.copy_from_slice(from);
        black_box(&mut *to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loops_do_what_they_say() {
        let mut a = vec![0.0; 35];
        let b: Vec<f64> = (0..35).map(f64::from).collect();
        triad(&mut a, &b, &vec![2.0; 35], 3.0);
        assert_eq!((a[0], a[34]), (6.0, 40.0));
        assert_eq!(sum(&b), f64::from(34 * 35 / 2));
        assert_eq!(sum(&[]), 0.0);
        let from: Vec<u8> = (0..64).collect();
        let mut over = [0; 16];
        copy_over(&mut over, &from);
        assert_eq!(over[..], from[48..]);
        let mut along = vec![0; 64];
        copy_along(&mut along, &from, 16);
        assert_eq!(along, from);
        copy_over(&mut [], &from);
    }
}
