//! (pure) Lines of at most 100 columns, indented as a tree.
//!
//! Names come from firmware, drives and files that people send: what could steer a terminal is
//! replaced.

/// No line is longer, columns.
pub const COLUMNS: usize = 100;
/// What one level is indented by, columns.
const STEP: usize = 2;
/// A name is cut to this, so that facts stand beside it, columns.
const NAME_MAX: usize = 76;
/// However deep a tree is, lines begin left of this, columns.
const INDENT_MAX: usize = 40;

/// Text that grows.
#[derive(Clone, Debug, Default)]
pub struct Page {
    text: String,
}

impl Page {
    /// A heading, with a blank line above it.
    pub fn title(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&cut(&clean(title).replace('\n', " "), COLUMNS));
        self.text.push('\n');
    }

    /// A line at a depth of the tree; what does not fit goes on below, deeper.
    pub fn line(&mut self, depth: usize, text: &str) {
        let indent = (depth * STEP).min(INDENT_MAX);
        let mut column = indent;
        self.blank(indent);
        let mut first = true;
        for word in clean(text).split_whitespace() {
            let room = COLUMNS - (indent + 2 * STEP).min(INDENT_MAX);
            let word = cut(word, room);
            let length = word.chars().count();
            if !first && column + 1 + length > COLUMNS {
                self.text.push('\n');
                let hanging = (indent + 2 * STEP).min(INDENT_MAX);
                self.blank(hanging);
                column = hanging;
            } else if !first {
                self.text.push(' ');
                column += 1;
            }
            self.text.push_str(&word);
            column += length;
            first = false;
        }
        self.text.push('\n');
    }

    /// A name, cut in its middle where it is long, and facts about it.
    pub fn item(&mut self, depth: usize, name: &str, facts: &[String]) {
        let facts: Vec<&str> =
            facts.iter().map(|fact| fact.trim()).filter(|fact| !fact.is_empty()).collect();
        let name = cut(&clean(name), NAME_MAX);
        match facts.is_empty() {
            true => self.line(depth, &name),
            false => self.line(depth, &format!("{name}: {}", facts.join(", "))),
        }
    }

    /// All of it.
    pub fn into_text(self) -> String {
        self.text
    }

    fn blank(&mut self, columns: usize) {
        self.text.extend(std::iter::repeat_n(' ', columns));
    }
}

/// At most `columns` characters: of a longer text the middle is left out.
pub fn cut(text: &str, columns: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(3);
    let head = kept.div_ceil(2);
    let head: String = characters[..head].iter().collect();
    let tail: String = characters[characters.len() - kept / 2..].iter().collect();
    format!("{head}...{tail}")
}

/// Without characters that steer a terminal, or turn the direction of what follows.
fn clean(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if steers(c) && c != '\n' && c != '\t' { '?' } else { c }).collect()
}

/// `a, b, c and 21 more`: the first few of many.
pub fn few(names: &[String], shown: usize) -> String {
    match names.len() {
        all if all <= shown + 1 => names.join(", "),
        all => format!("{} and {} more", names[..shown].join(", "), all - shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_100_columns_whatever_is_printed() {
        let mut page = Page::default();
        for depth in [0, 1, 7, 30, 1000] {
            page.item(depth, &"n".repeat(300), &["f".repeat(300), "a b c ".repeat(80)]);
            page.line(depth, &format!("{} {}", "x".repeat(99), "y".repeat(100)));
            page.line(depth, "");
        }
        let text = page.into_text();
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|longest| longest <= COLUMNS), "{longest:?}");
    }

    #[test]
    fn a_long_name_loses_its_middle_and_nothing_steers_the_terminal() {
        assert_eq!(cut("abcdefghij", 9), "abc...hij");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("äöüäöü", 5), "ä...ü");
        let mut page = Page::default();
        page.line(1, "\u{1b}[2J\u{202e}evil\u{7f}");
        assert_eq!(page.into_text(), "  ?[2J?evil?\n");
    }

    #[test]
    fn of_many_names_the_first_few_are_told() {
        let names: Vec<String> = (0..5).map(|n| n.to_string()).collect();
        assert_eq!(few(&names, 4), "0, 1, 2, 3, 4");
        assert_eq!(few(&names, 2), "0, 1 and 3 more");
    }
}
