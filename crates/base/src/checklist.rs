//! (pure) Lists of checksums that other tools wrote: md5sum, sha256sum, b3sum, openssl.
//!
//! Which file a name leads to, and whether it still has that sum, is the business of `verify`. The
//! form of a line is that of coreutils (`src/cksum.c`, and its manual, "md5sum invocation") and of
//! b3sum (`b3sum/src/main.rs`): `SUM  NAME`, `SUM *NAME` for binary, `MD5 (NAME) = SUM` of `--tag`,
//! a leading backslash where the name is escaped. Anything else is a bad line and is named by its
//! number: nothing is guessed, nothing is passed over in silence.

#[cfg(test)]
mod tests;

/// Which sum a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sum {
    /// 32 digits.
    Md5,
    /// 64 digits.
    Sha256,
    /// 64 digits.
    Blake3,
    /// 64 digits without a tag: sha256sum and b3sum write the same line.
    Sha256OrBlake3,
}

impl Sum {
    /// As people and options write it.
    pub fn name(self) -> &'static str {
        match self {
            Sum::Md5 => "md5",
            Sum::Sha256 => "sha256",
            Sum::Blake3 => "blake3",
            Sum::Sha256OrBlake3 => "sha256 or blake3",
        }
    }

    /// The sum of that name, where it says which one.
    pub fn find(name: &str) -> Option<Sum> {
        [Sum::Md5, Sum::Sha256, Sum::Blake3].into_iter().find(|sum| sum.name() == name)
    }

    fn digits(self) -> usize {
        if self == Sum::Md5 { 32 } else { 64 }
    }
}

/// One line that says what a file's sum is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the line, from 1.
    pub line: usize,
    /// Which sum.
    pub sum: Sum,
    /// The sum, 16 or 32 bytes.
    pub digest: Vec<u8>,
    /// The file's name as bytes: names need not be UTF-8.
    pub name: Vec<u8>,
}

/// A line that holds no sum that could be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it, as a clause.
    pub why: String,
}

/// What a list says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checklist {
    /// Sums, in the order of the lines.
    pub entries: Vec<Entry>,
    /// Lines that are neither sums, nor empty, nor comments.
    pub bad: Vec<BadLine>,
}

/// Reads a list. Lines end with LF or CR LF, the last perhaps with neither; a byte order mark at
/// the beginning, empty lines and lines that begin with `#` are passed over, as coreutils does.
pub fn parse(text: &[u8]) -> Checklist {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut list = Checklist::default();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) || line.starts_with(b"#") {
            continue;
        }
        match entry(line) {
            Ok((sum, digest, name)) => {
                list.entries.push(Entry { line: index + 1, sum, digest, name });
            }
            Err(why) => list.bad.push(BadLine { line: index + 1, why }),
        }
    }
    list
}

impl Checklist {
    /// The same list where sums of 64 digits without a tag are of this kind.
    pub fn assume(&mut self, sum: Sum) {
        for entry in &mut self.entries {
            if entry.sum == Sum::Sha256OrBlake3 && sum.digits() == 64 {
                entry.sum = sum;
            }
        }
    }
}

/// A sum and the name as it stands in the line.
type Parts<'a> = (Sum, Vec<u8>, &'a [u8]);

fn entry(line: &[u8]) -> Result<(Sum, Vec<u8>, Vec<u8>), String> {
    let (escaped, line) = match line.trim_ascii_start() {
        [b'\\', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (sum, digest, name) = match tagged(line) {
        Some(parts) => parts?,
        None => untagged(line)?,
    };
    let name = if escaped { unescaped(name)? } else { name.to_vec() };
    match name.as_slice() {
        [] => Err("it names no file".to_owned()),
        name if name.contains(&0) => Err("a zero byte is in the name".to_owned()),
        _ => Ok((sum, digest, name)),
    }
}

/// `SUM  NAME`. What follows the two characters after the sum is the name, blanks and all; with one
/// character alone it is the older BSD form.
fn untagged(line: &[u8]) -> Result<Parts<'_>, String> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = &line[digits..];
    if digits < 8 || !after.first().is_none_or(|byte| matches!(byte, b' ' | b'\t')) {
        return Err("it is no line of md5sum, sha256sum or b3sum".to_owned());
    }
    let sum = match digits {
        32 => Sum::Md5,
        64 => Sum::Sha256OrBlake3,
        other => return Err(length(other)),
    };
    let name = after.get(1..).unwrap_or_default();
    let name = match name {
        [b' ' | b'*', rest @ ..] => rest,
        other => other,
    };
    Ok((sum, hex(&line[..digits])?, name))
}

/// `MD5 (NAME) = SUM`, and `MD5(NAME)= SUM` of openssl; `None` when it is nothing of the kind.
fn tagged(line: &[u8]) -> Option<Result<Parts<'_>, String>> {
    let is_tag = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
    let length = line.iter().take_while(|byte| is_tag(byte)).count();
    let (tag, rest) = line.split_at(length);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"(")?;
    let close = rest.iter().rposition(|byte| *byte == b')')?;
    let value = rest[close + 1..].trim_ascii().strip_prefix(b"=")?.trim_ascii();
    let sum = match tag {
        b"MD5" => Sum::Md5,
        b"SHA256" | b"SHA2-256" => Sum::Sha256,
        b"BLAKE3" => Sum::Blake3,
        other => {
            let other = String::from_utf8_lossy(other).into_owned();
            return Some(Err(format!("{other} is none of MD5, SHA256 and BLAKE3")));
        }
    };
    if value.len() != sum.digits() {
        return Some(Err(self::length(value.len())));
    }
    Some(hex(value).map(|digest| (sum, digest, &rest[..close])))
}

fn length(digits: usize) -> String {
    format!("a sum of {digits} digits is none of MD5 (32), SHA-256 and BLAKE3 (64)")
}

fn hex(digits: &[u8]) -> Result<Vec<u8>, String> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pairs = digits.chunks_exact(2);
    let bytes = pairs.map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?));
    bytes.collect::<Option<Vec<u8>>>().ok_or_else(|| "its sum is not hexadecimal".to_owned())
}

/// `\\`, `\n` and `\r` are what the tools write; another escape is a broken line.
fn unescaped(name: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'\\') => b'\\',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                _ => return Err("a backslash in its name escapes nothing".to_owned()),
            },
            other => other,
        });
    }
    Ok(plain)
}
