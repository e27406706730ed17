//! Lists as the real tools wrote them, and what is made of broken ones.

use proptest::prelude::*;

use super::*;

/// coreutils 9.1: `md5sum 'a b' $'new\nline' 'back\slash' $'\xff' ' lead' '*star' $'cr\r'`.
const MD5SUM: &[u8] = include_bytes!("../../../../tests/fixtures/checklist/md5sum");
/// The same files, `md5sum -b`.
const BINARY: &[u8] = include_bytes!("../../../../tests/fixtures/checklist/md5sum-b");
/// The same files, `md5sum --tag`.
const TAG: &[u8] = include_bytes!("../../../../tests/fixtures/checklist/md5sum-tag");
/// The same files, `sha256sum`.
const SHA256SUM: &[u8] = include_bytes!("../../../../tests/fixtures/checklist/sha256sum");
/// The same files, `sha256sum --tag`.
const SHA256_TAG: &[u8] = include_bytes!("../../../../tests/fixtures/checklist/sha256sum-tag");

/// The files, in the order of the lists; each holds its own name.
const NAMES: [&[u8]; 7] =
    [b"a b", b"new\nline", b"back\\slash", b"\xff", b" lead", b"*star", b"cr\r"];

fn names(list: &Checklist) -> Vec<&[u8]> {
    list.entries.iter().map(|entry| entry.name.as_slice()).collect()
}

#[test]
fn lists_of_the_real_tools_give_every_name_and_sum() {
    use md5::Digest as _;
    for (text, sum) in [
        (MD5SUM, Sum::Md5),
        (BINARY, Sum::Md5),
        (TAG, Sum::Md5),
        (SHA256SUM, Sum::Sha256OrBlake3),
        (SHA256_TAG, Sum::Sha256),
    ] {
        let list = parse(text);
        assert_eq!(list.bad, [], "{}", String::from_utf8_lossy(text));
        assert_eq!(names(&list), NAMES);
        for entry in &list.entries {
            assert_eq!(entry.sum, sum);
            let holds = match sum {
                Sum::Md5 => md5::Md5::digest(&entry.name).to_vec(),
                _ => sha2::Sha256::digest(&entry.name).to_vec(),
            };
            assert_eq!(entry.digest, holds, "line {}", entry.line);
        }
    }
}

/// b3sum 1.8 and `b3sum --tag`, as its documentation and source show them: no machine that builds
/// this has the tool.
#[test]
fn lines_of_b3sum_and_openssl_are_read() {
    let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    let text = format!("{empty}  a\nBLAKE3 (b (1)) = {empty}\n\\{empty}  c\\nd\n");
    let list = parse(text.as_bytes());
    assert_eq!(names(&list), [&b"a"[..], b"b (1)", b"c\nd"]);
    assert_eq!(list.entries[1].sum, Sum::Blake3);
    assert_eq!(list.entries[0].digest, blake3::hash(b"").as_bytes());
    let openssl = "MD5(a b)= d41d8cd98f00b204e9800998ecf8427e\n";
    assert_eq!(names(&parse(openssl.as_bytes())), [b"a b"]);
    let mut list = parse(text.as_bytes());
    list.assume(Sum::Blake3);
    assert!(list.entries.iter().all(|entry| entry.sum == Sum::Blake3));
    list.assume(Sum::Sha256);
    assert!(list.entries.iter().all(|entry| entry.sum == Sum::Blake3), "known by now");
}

#[test]
fn line_ends_of_windows_its_mark_comments_and_capitals_change_nothing() {
    let text = b"\xef\xbb\xbf# made by hand\r\nD41D8CD98F00B204E9800998ECF8427E *a b\r\n\r\n\
                 d41d8cd98f00b204e9800998ecf8427e  last";
    let list = parse(text);
    assert_eq!(list.bad, []);
    assert_eq!(names(&list), [&b"a b"[..], b"last"]);
    assert_eq!(list.entries[0].line, 2);
    assert_eq!(list.entries[0].digest, list.entries[1].digest);
}

#[test]
fn bad_lines_are_named_by_their_number_and_spoil_nothing() {
    let text = "hello\n\
                d41d8cd98f00b204e9800998ecf8427e  good\n\
                da39a3ee5e6b4b0d3255bfef95601890afd80709  sha1\n\
                SHA512 (x) = 00\n\
                d41d8cd98f00b204e9800998ecf8427e  \n\
                d41d8cd98f00b204e9800998ecf8427e\n\
                \\d41d8cd98f00b204e9800998ecf8427e  a\\x\n\
                MD5 (y) = zz1d8cd98f00b204e9800998ecf8427e\n\
                d41d8cd98f00b204e9800998ecf8427  cut\n";
    let list = parse(text.as_bytes());
    assert_eq!(names(&list), [b"good"]);
    let bad: Vec<(usize, &str)> = list.bad.iter().map(|bad| (bad.line, bad.why.as_str())).collect();
    assert_eq!(bad.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7, 8, 9]);
    assert!(bad[0].1.contains("no line of md5sum"));
    assert!(bad[1].1.contains("40 digits"));
    assert!(bad[2].1.contains("SHA512 is none"));
    assert!(bad[3].1.contains("names no file"), "{}", bad[3].1);
    assert!(bad[5].1.contains("backslash"));
    assert!(bad[6].1.contains("hexadecimal"));
    assert!(bad[7].1.contains("31 digits"));
    assert_eq!(parse(b""), Checklist::default());
    assert_eq!(parse(b"\n\r\n# x\n"), Checklist::default());
}

/// A list that was cut off yields its whole lines and at most one more, whose sum is whole.
#[test]
fn lists_cut_off_at_any_byte_are_read_without_panic() {
    for text in [MD5SUM, BINARY, TAG, SHA256SUM, SHA256_TAG] {
        let whole = parse(text);
        for end in 0..text.len() {
            let cut = parse(&text[..end]);
            let lines = text[..end].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(cut.entries[..lines], whole.entries[..lines], "cut at {end}");
            assert!(cut.entries.len() + cut.bad.len() <= lines + 1);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic_and_no_line_is_lost(
        text in prop::collection::vec(any::<u8>(), 0..300)
    ) {
        let list = parse(&text);
        let lines = text.split(|byte| *byte == b'\n').count();
        prop_assert!(list.entries.len() + list.bad.len() <= lines);
        for entry in list.entries {
            prop_assert!(!entry.name.is_empty() && !entry.name.contains(&0));
        }
    }
}
