//! Mutants: what bit rot, editors, cut transfers and people who mean it make of an input.

/// What stands in the place of numbers first, then what breaks texts.
const WORDS: &[&str] = &[
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "-0",
    "0",
    "1e-400",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775809",
    "4294967296",
    "99999999999999999999999999999999999999999",
    "0x7fffffff",
    "1_000",
    "1,5",
    "٣",
    "½",
    "\u{feff}",
    "\u{202e}",
    "\u{2028}",
    "\0",
    "\r\n",
    "\n\n",
    "\t",
    "\u{1b}[2J",
    "\"",
    "'",
    "\\",
    "{",
    "]",
    "null",
    "true",
    "../../etc/passwd",
    "/",
    "%n%s",
    ";",
    "=1+1",
    "<script>",
    "$(id)",
    "é",
    "𝄞",
];
/// So many of them, from the first, are numbers or nearly.
const NUMBERS: usize = 19;
/// Levels of brackets.
const DEPTH: usize = 3000;
/// The longest run of one byte.
const LONG_BYTES: usize = 300_000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Draw(u64);

impl Draw {
    /// The same whenever it begins with this number.
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Any number below `end`, which is 1 at least.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn range(&mut self, end: usize) -> std::ops::Range<usize> {
        let (a, b) = (self.below(end + 1), self.below(end + 1));
        a.min(b)..a.max(b)
    }
}

/// The mutant of this number, of one of `seeds`.
pub fn input(seeds: &[Vec<u8>], name: &str, number: u64) -> Vec<u8> {
    let named = name.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte));
    let mut draw = Draw::new(number ^ named.rotate_left(32));
    let mut bytes = seeds[draw.below(seeds.len())].clone();
    for _ in 0..=draw.below(4) {
        mutate(&mut bytes, seeds, &mut draw);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], draw: &mut Draw) {
    let length = bytes.len();
    let (at, last) = (draw.below(length + 1), draw.below(length));
    match draw.below(16) {
        0 if length > 0 => bytes[last] ^= 1 << draw.below(8),
        1 if length > 0 => bytes[last] = draw.next() as u8,
        2 if length > 0 => drop(bytes.remove(last)),
        3 => bytes.insert(at, draw.next() as u8),
        4 => bytes.truncate(at),
        5 => drop(bytes.drain(draw.range(length))),
        6 => {
            let piece = bytes[draw.range(length)].to_vec();
            insert(bytes, at, &piece);
        }
        7 => lines(bytes, draw),
        8 | 9 => number(bytes, draw),
        10 => insert(bytes, at, WORDS[draw.below(WORDS.len())].as_bytes()),
        11 => {
            let deep = [&b"["[..], b"{\"a\":", b"(", b"a.", b"\"", b"\\"][draw.below(6)];
            insert(bytes, at, &deep.repeat(DEPTH));
        }
        12 => {
            let other = &seeds[draw.below(seeds.len())];
            let piece = other[draw.range(other.len())].to_vec();
            insert(bytes, at, &piece);
        }
        13 => insert(bytes, at, &vec![b"a0 \0"[draw.below(4)]; draw.below(LONG_BYTES)]),
        14 => insert(bytes, 0, b"\xef\xbb\xbf"),
        _ => insert(bytes, at, b"\xff\xfe\x80\xc0\xaf"),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// Removes, doubles or swaps lines.
pub fn lines(bytes: &mut Vec<u8>, draw: &mut Draw) {
    let split = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut lines: Vec<Vec<u8>> = split.map(Vec::from).collect();
    let (a, b) = (draw.below(lines.len()), draw.below(lines.len()));
    match (draw.below(3), lines.len()) {
        (_, 0) => {}
        (0, _) => drop(lines.remove(a)),
        (1, _) => lines.insert(b, lines[a].clone()),
        _ => lines.swap(a, b),
    }
    *bytes = lines.concat();
}

/// Puts another number, or none, in the place of one.
fn number(bytes: &mut Vec<u8>, draw: &mut Draw) {
    let is_digit = |at: usize| bytes[at].is_ascii_digit();
    let begins = |at: &usize| is_digit(*at) && (*at == 0 || !is_digit(at - 1));
    let starts: Vec<usize> = (0..bytes.len()).filter(begins).collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[draw.below(starts.len())];
    let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let word = match draw.below(2) {
        0 => WORDS[draw.below(NUMBERS)].to_owned(),
        _ => draw.next().to_string(),
    };
    bytes.splice(start..start + digits, word.into_bytes());
}
