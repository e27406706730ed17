//! Where in a text the output of which command begins and ends.

use serde_json::Value;

use super::{KINDS, PastedKind};

/// The output of one command.
pub struct Piece<'a> {
    /// Which.
    pub kind: &'static PastedKind,
    /// The command after the prompt, where it is there.
    pub command: Option<&'a str>,
    /// What it printed.
    pub text: &'a str,
    /// The same as JSON.
    pub json: Option<Value>,
    /// Where that begins, from 1.
    pub line: usize,
}

impl Piece<'_> {
    /// The command, else the kind.
    pub fn title(&self) -> String {
        self.command.unwrap_or(self.kind.name).chars().take(60).collect()
    }

    /// The device or interface that the command names: its last word that begins with `/dev/`, or
    /// else is no option.
    pub fn named(&self) -> Option<&str> {
        let words = self.command?.split_whitespace().skip(1);
        let words: Vec<&str> = words.take_while(|word| !["|", ">", "2>"].contains(word)).collect();
        let device = words.iter().rev().find(|word| word.starts_with("/dev/"));
        device.or_else(|| words.last().filter(|word| !word.starts_with('-'))).copied()
    }
}

/// The piece of text that is open while lines are gone through.
struct OpenPiece<'a> {
    kind: &'static PastedKind,
    command: Option<&'a str>,
    start: usize,
    line: usize,
}

/// All outputs in a text, in order. What lies between is no output of a known command.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut open: Option<OpenPiece<'_>> = None;
    let mut prompt: Option<&str> = None;
    let (mut at, mut number) = (0, 0);
    while at < text.len() {
        let line_start = at;
        let rest = &text[at..];
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        at += line.len();
        number += 1;
        let line = line.trim_end();
        if let Some(command) = command(line) {
            close(&mut open, text, line_start, &mut found);
            prompt = Some(command);
            continue;
        }
        if line.starts_with("```") {
            close(&mut open, text, line_start, &mut found);
            continue;
        }
        if line.starts_with(['{', '[']) {
            let Some((value, bytes)) = document(rest) else { continue };
            let kind = KINDS.iter().find(|kind| (kind.json)(&value));
            close(&mut open, text, line_start, &mut found);
            if let Some(kind) = kind {
                let text = &rest[..bytes];
                let (command, json) = (prompt.take(), Some(value));
                found.push(Piece { kind, command, text, json, line: number });
            }
            let skipped = &rest[..bytes];
            number += skipped.matches('\n').count();
            at = line_start + bytes;
            // What is left of the line that it ends on.
            at += text[at..].split_inclusive('\n').next().map_or(0, str::len);
            continue;
        }
        let next = text[at..].lines().next().unwrap_or("");
        let Some(kind) = KINDS.iter().find(|kind| (kind.opens)(line, next)) else { continue };
        if open.as_ref().is_some_and(|open| std::ptr::eq(open.kind, *kind) && kind.goes_on) {
            continue;
        }
        close(&mut open, text, line_start, &mut found);
        let own = |command: &&str| kind.programs.contains(&program(command));
        let command = prompt.take().filter(own);
        open = Some(OpenPiece { kind, command, start: line_start, line: number });
    }
    close(&mut open, text, text.len(), &mut found);
    found
}

fn close<'a>(
    open: &mut Option<OpenPiece<'a>>,
    text: &'a str,
    end: usize,
    found: &mut Vec<Piece<'a>>,
) {
    if let Some(OpenPiece { kind, command, start, line }) = open.take() {
        found.push(Piece { kind, command, text: &text[start..end], json: None, line });
    }
}

/// A JSON document at the beginning of a text, and how long it is.
fn document(text: &str) -> Option<(Value, usize)> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = documents.next()?.ok()?;
    (value.is_object() || value.is_array()).then(|| (value, documents.byte_offset()))
}

/// The first word of a command, without its folder.
fn program(command: &str) -> &str {
    let word = command.split_whitespace().next().unwrap_or("");
    word.rsplit('/').next().unwrap_or(word)
}

/// The command that a line of a terminal types: `root@host:~# lspci -vvv`, `$ sudo lsblk`. A bare
/// sign is believed before a known program alone, as other lines begin so too.
fn command(line: &str) -> Option<&str> {
    let line = line.trim();
    let bare = ["# ", "$ ", "% ", "+ "].iter().find_map(|sign| line.strip_prefix(sign));
    if let Some(command) = bare {
        let command = without_sudo(command);
        // `# dmidecode 3.2` is a line of its output.
        let version = command.split_whitespace().nth(1).unwrap_or("");
        let itself =
            program(command) == "dmidecode" && version.starts_with(|c: char| c.is_ascii_digit());
        let known = |kind: &&&PastedKind| kind.programs.contains(&program(command));
        return (!itself && KINDS.iter().any(|kind| known(&kind))).then_some(command);
    }
    let (before, command) = ["# ", "$ ", "% "].iter().find_map(|sign| line.split_once(sign))?;
    let prompt = before.len() <= 80 && before.contains('@') && !before.starts_with('|');
    (prompt && !command.trim().is_empty()).then(|| without_sudo(command))
}

fn without_sudo(command: &str) -> &str {
    let command = command.trim();
    command.strip_prefix("sudo ").unwrap_or(command).trim_start()
}
