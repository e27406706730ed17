//! (pure) Patterns of file names as a Windows client sends them (MS-FSA 2.1.4.4).

/// Whether `name` fits `pattern`, upper and lower case alike. `<` is taken for `*`, `>` for `?` and
/// `"` for a dot: they differ only in names whose extension is missing or has several dots.
pub fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut next) = (0, 0);
    // Where the last star stood, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while next < name.len() {
        match pattern.get(at) {
            Some(b'*' | b'<') => {
                star = Some((at, next));
                at += 1;
            }
            Some(&of) if one(of, name[next]) => {
                at += 1;
                next += 1;
            }
            _ => match &mut star {
                Some((place, taken)) => {
                    *taken += 1;
                    (at, next) = (*place + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|of| matches!(of, b'*' | b'<'))
}

fn one(of: u8, byte: u8) -> bool {
    match of {
        b'?' | b'>' => true,
        b'"' => byte == b'.',
        _ => of.eq_ignore_ascii_case(&byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_as_on_a_file_server() {
        for (pattern, name, expected) in [
            ("*", "anything", true),
            ("*", "..", true),
            ("FILLER.*", "filler.000", true),
            ("FILLER.*", "filler", false),
            ("<.JNK", "a.b.jnk", true),
            ("<.JNK", "a.jnk2", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*b*d", "abcbd", true),
            ("*b*d", "abcbde", false),
            ("", "a", false),
            ("a\"b", "A.B", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    /// The law that a person would write down: try every way to split.
    #[test]
    fn it_agrees_with_the_definition_on_all_short_names() {
        fn by_definition(pattern: &[u8], name: &[u8]) -> bool {
            match pattern.split_first() {
                None => name.is_empty(),
                Some((b'*', rest)) => {
                    (0..=name.len()).any(|taken| by_definition(rest, &name[taken..]))
                }
                Some((of, rest)) => name
                    .split_first()
                    .is_some_and(|(byte, more)| one(*of, *byte) && by_definition(rest, more)),
            }
        }
        let words = |letters: &[u8], length: u32| -> Vec<Vec<u8>> {
            let count = letters.len().pow(length);
            let word = |mut number: usize| {
                let mut word = Vec::new();
                for _ in 0..length {
                    word.push(letters[number % letters.len()]);
                    number /= letters.len();
                }
                word
            };
            (0..count).map(word).collect()
        };
        for length in 0..=4 {
            for pattern in words(b"ab*?", length) {
                for name in (0..=4).flat_map(|length| words(b"ab", length)) {
                    assert_eq!(fits(&pattern, &name), by_definition(&pattern, &name));
                }
            }
        }
    }
}
