//! (pure) A text without what terminals, mails and logs add to what a tool printed.
//!
//! Colours and other control sequences (ECMA-48), carriage returns of Windows and of progress,
//! and before each line what a log or a quote puts there. No tool that is read here prints any of
//! it by itself.

use std::borrow::Cow;

/// Without control sequences, and with a line feed wherever a line ends or is printed over.
pub fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains(['\u{1b}', '\r', '\u{8}', '\0']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            '\u{1b}' => control(&mut rest),
            // Of `script` two of them end a line.
            '\r' => {
                while rest.next_if_eq(&'\r').is_some() {}
                rest.next_if_eq(&'\n');
                plain.push('\n');
            }
            '\u{8}' => {
                if !plain.ends_with('\n') {
                    plain.pop();
                }
            }
            '\0' => {}
            one => plain.push(one),
        }
    }
    Cow::Owned(plain)
}

/// What follows an escape: a sequence of parameters that a letter ends, a string that a bell or
/// another escape ends, or one character.
fn control(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => {
            // It ends with a letter or the like; a line that ends before was cut there.
            while let Some(one) = rest.next_if(|one| *one != '\n') {
                if ('@'..='~').contains(&one) {
                    return;
                }
            }
        }
        Some(']' | 'P' | '_' | '^') => {
            while let Some(one) = rest.next_if(|one| *one != '\n') {
                match one {
                    '\u{7}' => return,
                    '\u{1b}' => {
                        rest.next_if_eq(&'\\');
                        return;
                    }
                    _ => {}
                }
            }
        }
        Some('(' | ')') => {
            rest.next();
        }
        _ => {}
    }
}

/// What may stand before each line.
const PREFIXES: [fn(&str) -> Option<&str>; 4] = [quoted, bracketed, container, syslog];

/// Without what a log or a quote puts before each line; `None` where most lines have nothing of
/// that kind.
pub fn without_prefixes(text: &str) -> Option<String> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let all = lines().count();
    let has = |prefix: &fn(&str) -> Option<&str>| {
        2 * lines().filter(|it| prefix(it).is_some()).count() > all
    };
    let prefix = PREFIXES.into_iter().find(|prefix| has(prefix))?;
    let mut without = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        without.push_str(prefix(line).unwrap_or(line));
    }
    Some(without)
}

/// `> ` of mails, of Markdown and of forums.
fn quoted(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('>')?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// `[2026-05-18 08:43:50] `, `[  12.345678] `.
fn bracketed(line: &str) -> Option<&str> {
    let (inner, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let is_time = is_time(inner, " .:-+TZ,/");
    // `[  5] ` is a stream of iperf.
    let has_digits = inner.contains(|c: char| c.is_ascii_digit());
    (is_time && has_digits && inner.contains([':', '.'])).then_some(rest)
}

/// Whether digits and these characters are all that there is.
fn is_time(text: &str, others: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || others.contains(c))
}

/// `2026-05-18T08:43:50.123456Z stdout F ` of containers, and the time alone; but not a row of CSV
/// that begins with a time.
fn container(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let date = time.get(..10)?.bytes().enumerate();
    let mut is_date = date.map(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let clock = time.get(10..)?.strip_prefix('T')?;
    if !is_date.all(|ok| ok) || !is_time(clock, ".:-+Z,") {
        return None;
    }
    let streams = ["stdout F ", "stderr F ", "stdout P ", "stderr P "];
    Some(streams.iter().find_map(|it| rest.strip_prefix(it)).unwrap_or(rest))
}

/// `May 18 08:43:50 node7 fio[4711]: ` of syslog and of journalctl.
fn syslog(line: &str) -> Option<&str> {
    let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    let month = line.get(..3)?;
    let clock = line.get(7..15)?.bytes().enumerate();
    let mut is_clock = clock.map(|(at, byte)| match at {
        2 | 5 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    if !months.split(' ').any(|known| known == month) || !is_clock.all(|ok| ok) {
        return None;
    }
    let (_, rest) = line.get(15..)?.split_once("]: ").or(line.get(15..)?.split_once(": "))?;
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_carriage_returns_and_what_was_typed_over_are_gone() {
        for (text, due) in [
            ("\u{1b}[1;32mread\u{1b}[0m: IOPS=5\n", "read: IOPS=5\n"),
            ("a\r\nb\r\r\nc\r", "a\nb\nc\n"),
            ("Jobs: 1\rJobs: 2\rend\n", "Jobs: 1\nJobs: 2\nend\n"),
            ("\u{1b}]0;title\u{7}$ fio\u{8}\u{8}\u{8}dd\n", "$ dd\n"),
            ("\u{1b}]8;;x\u{1b}\\link\u{1b}(B\n", "link\n"),
            ("\u{feff}a\0b\n", "ab\n"),
            ("cut \u{1b}[12\nnext \u{1b}", "cut \nnext "),
            ("\u{8}\n\u{8}a\n", "\na\n"),
        ] {
            assert_eq!(plain(text), due, "{text:?}");
        }
        assert!(matches!(plain("nothing of that\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_most_lines_begin_with_is_taken_off_and_nothing_else() {
        for before in [
            "> ",
            "[2026-05-18 08:43:50] ",
            "[   12.345678] ",
            "2026-05-18T08:43:50.123456Z stdout F ",
            "2026-05-18T08:43:50+02:00 ",
            "May 18 08:43:50 node7 fio[4711]: ",
        ] {
            let text = format!("{before}  read: IOPS=5\n{before}\n{before}    lat (usec): min=1\n");
            let due = "  read: IOPS=5\n\n    lat (usec): min=1\n";
            assert_eq!(without_prefixes(&text).as_deref(), Some(due), "{before}");
        }
        let streams = "[  5]   0.00-1.00   sec  1.1 GBytes\n[SUM]   0.00-1.00   sec\n";
        let rows = "2026-05-18T08:43:50+0000,,dir,1,2.0-9,\"elbencho\" \"-w\" \n";
        for text in
            ["read: 5\nwrite: 6\n", "", "[Read]\n[Write]\n", "> one\ntwo\nthree\n", streams, rows]
        {
            assert_eq!(without_prefixes(text), None, "{text}");
        }
    }
}
