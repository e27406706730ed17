//! Lines of a text without what terminals, mails and web pages put around them.

use std::borrow::Cow;

/// Without carriage returns, control sequences and the marks of a quoted mail.
pub fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let odd = text.contains(['\r', '\u{1b}', '\u{a0}']);
    let written = || text.lines().filter(|line| !line.trim().is_empty());
    let quoted = written().next().is_some() && written().all(|line| line.starts_with('>'));
    if !odd && !quoted {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let line = match quoted {
            true => line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line),
            false => line,
        };
        let mut rest = line.chars().peekable();
        while let Some(one) = rest.next() {
            match one {
                '\r' => {}
                '\u{a0}' => plain.push(' '),
                '\u{1b}' => control(&mut rest),
                one => plain.push(one),
            }
        }
    }
    Cow::Owned(plain)
}

/// A control sequence (ECMA-48): what stands between its opening and the letter that ends it.
fn control(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if rest.next_if_eq(&'[').is_none() {
        return;
    }
    for one in rest.by_ref() {
        if one.is_ascii_alphabetic() || one == '\n' {
            return;
        }
    }
}

/// `key : value` with blanks around both; `None` where there is no colon after a key.
pub fn pair<'a>(line: &'a str, colon: &str) -> Option<(&'a str, &'a str)> {
    let (key, value) = line.split_once(colon)?;
    let (key, value) = (key.trim(), value.trim());
    (!key.is_empty()).then_some((key, value))
}

/// The lines; one at the end without a line end, whose last number may have lost digits, is left
/// out.
pub fn whole(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| {
        let open = !line.ends_with('\n') && line.ends_with(|c: char| c.is_ascii_digit());
        (!open).then(|| line.trim_end())
    })
}

/// A whole number that is written with or without marks of thousands: `1,508`.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let plain = !text.is_empty() && text.starts_with(|c: char| c.is_ascii_digit());
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | '.' | '\'')).collect();
    // Marks stand before groups of three: `1.5` is no number of thousands.
    let groups = text.split([',', '.', '\'']);
    let grouped = groups.clone().skip(1).all(|group| group.len() == 3);
    (plain && grouped).then(|| digits.parse().ok())?
}

/// What ends a line in bytes that no device's name has: names of devices become parts of paths.
pub fn name(text: &str) -> Result<&str, String> {
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    let name = name.strip_prefix("mapper/").unwrap_or(name);
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.:+@".contains(c);
    let plain = !name.is_empty()
        && name.len() <= 128
        && name.chars().all(good)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    match plain {
        true => Ok(name),
        false => {
            let shown: String = text.chars().take(60).collect();
            Err(format!("{shown:?} is no name of a device"))
        }
    }
}
