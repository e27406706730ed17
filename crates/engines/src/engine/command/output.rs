//! (pure) The beginning and the end of what a program says, however much that is.

use std::collections::VecDeque;

/// Kept of the beginning, and again of the end, bytes.
pub const KEPT_BYTES: usize = 64 << 10;

/// The beginning and the end of what a program said on one of its outputs.
#[derive(Clone, Debug, Default)]
pub struct BoundedOutput {
    /// All that was said, bytes.
    pub bytes: u64,
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

impl BoundedOutput {
    /// Takes what was said next.
    pub fn take(&mut self, said: &[u8]) {
        self.bytes += said.len() as u64;
        let room = KEPT_BYTES - self.head.len();
        let (first, rest) = said.split_at(said.len().min(room));
        self.head.extend_from_slice(first);
        // Of a long piece only its end can be part of the end.
        let rest = &rest[rest.len().saturating_sub(KEPT_BYTES)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(KEPT_BYTES);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The beginning and the end, in UTF-8, no more than `limit` bytes of each. The end is empty
    /// when the beginning is all.
    pub fn texts(&self, limit: usize) -> (String, String) {
        let head = &self.head[..self.head.len().min(limit)];
        let after: Vec<u8> = self.head[head.len()..].iter().chain(&self.tail).copied().collect();
        let tail = &after[after.len().saturating_sub(limit)..];
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(head), text(tail))
    }

    /// All of it as one text, what was left out of the middle told in a line of its own.
    pub fn whole(&self) -> String {
        let (head, tail) = self.texts(KEPT_BYTES);
        let lost = self.bytes.saturating_sub((self.head.len() + self.tail.len()) as u64);
        match lost {
            0 => {
                let all: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
                String::from_utf8_lossy(&all).into_owned()
            }
            lost => format!("{head}\n({lost} bytes left out)\n{tail}"),
        }
    }

    /// The last lines, for a message.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 3;
        const CHARACTERS: usize = 400;
        let whole = self.whole();
        let mut lines: Vec<&str> = whole
            .lines()
            .rev()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .take(LINES)
            .collect();
        lines.reverse();
        let joined = lines.join("; ");
        let skipped = joined.chars().count().saturating_sub(CHARACTERS);
        joined.chars().skip(skipped).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_its_beginning_and_its_end() {
        let mut kept = BoundedOutput::default();
        kept.take(b"first\n");
        for _ in 0..1000 {
            kept.take(&[b'x'; 1 << 20]);
        }
        kept.take(b"\nlast: 7\n");
        assert_eq!(kept.bytes, (1000 << 20) + 15);
        let (head, tail) = kept.texts(KEPT_BYTES);
        assert!(head.starts_with("first\nxxx") && tail.ends_with("x\nlast: 7\n"));
        assert_eq!((head.len(), tail.len()), (KEPT_BYTES, KEPT_BYTES));
        assert!(kept.whole().contains("bytes left out"));
        assert!(kept.last_lines().ends_with("last: 7"));
        let (head, tail) = kept.texts(8);
        assert_eq!((head.as_str(), tail.as_str()), ("first\nxx", "last: 7\n"));
    }

    #[test]
    fn what_fits_is_whole_in_whatever_pieces_it_came_and_bad_bytes_are_replaced() {
        let said: Vec<u8> = (0..100_000u32).map(|n| b'a' + (n % 26) as u8).collect();
        for step in [1, 7, 4096, 100_000] {
            let mut kept = BoundedOutput::default();
            said.chunks(step).for_each(|piece| kept.take(piece));
            assert_eq!(kept.whole().as_bytes(), said, "{step}");
        }
        let mut kept = BoundedOutput::default();
        kept.take(b"a\xff\xfe\x00b\n\n");
        assert_eq!(kept.whole(), "a\u{fffd}\u{fffd}\0b\n\n");
        assert_eq!(kept.last_lines(), "a\u{fffd}\u{fffd}\0b");
        assert_eq!(kept.texts(KEPT_BYTES).1, "");
    }
}
