//! (pure) Lines of plain text that a terminal shows as they are.

use super::words;

/// Lines no wider than `width`, the first led by `lead`, the others indented as deep.
pub fn folded(lead: &str, sentence: &str, width: usize) -> Vec<String> {
    let sentence = words::bound(&plain(sentence));
    let deep = lead.chars().count();
    let (mut lines, mut line, mut column) = (Vec::new(), String::from(lead), deep);
    for (place, word) in sentence.split(' ').filter(|word| !word.is_empty()).enumerate() {
        let long = word.chars().count();
        if place > 0 && column + 1 + long > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(deep)));
            column = deep;
        } else if place > 0 {
            line.push(' ');
            column += 1;
        }
        line.push_str(&word.replace('\u{a0}', " "));
        column += long;
    }
    lines.push(line);
    lines
}

/// Without what a terminal would obey: control characters become `?`, line ends a space.
pub fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => ' ',
        c if c.is_control() => '?',
        // Overrides of the direction of writing can make a line read other than it is.
        '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '?',
        c => c,
    };
    text.chars().map(shown).collect()
}
