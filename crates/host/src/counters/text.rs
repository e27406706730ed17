//! (pure) Lines, words and numbers of the kernel's text files, without allocation.

/// The complete lines of `text`. What follows the last line end was cut off in reading, and the
/// number in it may be only the front of a number: it is left out.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"))
}

/// The words of a line.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// A whole number in decimal digits; `None` when it is none, or too large for 64 bits.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The value of the first line `key value`, where `key` includes its colon if it has one.
pub fn value_of(text: &[u8], key: &str) -> Option<u64> {
    let line = lines(text).find_map(|line| line.strip_prefix(key.as_bytes()))?;
    // Another key may begin with this one.
    let separated = key.ends_with(':') || line.first()?.is_ascii_whitespace();
    if separated { number(words(line).next()?) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_not_a_line() {
        let text = b"one 1\ntwo 2\nthree 33333";
        assert_eq!(lines(text).collect::<Vec<_>>(), [&b"one 1"[..], b"two 2"]);
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn numbers_are_whole_or_nothing() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for none in [&b"18446744073709551616"[..], b"", b"-1", b"1.5", b"0x10"] {
            assert_eq!(number(none), None);
        }
    }

    #[test]
    fn a_key_is_not_taken_for_a_longer_one() {
        assert_eq!(value_of(b"VmSwap:\t  12 kB\n", "VmSwap:"), Some(12));
        assert_eq!(value_of(b"pswpin_x 7\n", "pswpin"), None);
        assert_eq!(value_of(b"pswpin 7\n", "pswpin"), Some(7));
    }
}
