//! The text of a recording, and the tree that it describes. Nothing is read or written here.
//!
//! Everything that a hostile text can do is settled in the tree, before any file is made: a path
//! has no `..`, a link leads to a place of the tree, a file lies in no file, and sizes are bounded.

use std::collections::BTreeMap;

/// Files, directories and links that a recording may have.
const NODES_MAX: usize = 400_000;
/// Bytes that one file may have: more than any reader takes.
const FILE_BYTES_MAX: usize = 4 << 20;
/// Bytes of a path (path_resolution(7)) and of a name in it (NAME_MAX).
const PATH_BYTES_MAX: usize = 2048;
const NAME_BYTES_MAX: usize = 255;
/// Names in a path: deeper than any path of /sys.
const DEPTH_MAX: usize = 64;
/// Links that may follow one upon the other, as in the kernel.
const LINKS_MAX: usize = 40;

/// What lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A file with these bytes.
    File(Vec<u8>),
    /// A link to an absolute path of the tree.
    Link(String),
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// What a text describes: absolute paths without links in them, and what lies there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
}

impl Tree {
    /// Reads the text of a recording. Of a file that is named twice the last wins.
    ///
    /// # Errors
    /// With the line that cannot be understood, or asks for what cannot be.
    pub fn parse(text: &str) -> Result<Tree, ParseFault> {
        let mut tree = Tree::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let line_number = index + 1;
            let (path, what) =
                statement(line).map_err(|why| ParseFault { line: line_number, why })?;
            let node = match what {
                What::Node(node) => node,
                What::Text => Node::File(block(&mut lines).into_bytes()),
                What::Hex => unhex(&block(&mut lines))
                    .map(Node::File)
                    .map_err(|why| ParseFault { line: line_number, why })?,
            };
            tree.insert(path, node).map_err(|why| ParseFault { line: line_number, why })?;
        }
        Ok(tree)
    }

    /// What there is, a directory before what lies in it.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Puts something at an absolute path, and the directories above it.
    ///
    /// # Errors
    /// When there is something else, or no such path can be.
    pub fn insert(&mut self, path: &str, node: Node) -> Result<(), String> {
        let names = names_of(path)?;
        let node = match node {
            Node::Link(target) => Node::Link(join(&lead(&names, &target)?)),
            Node::File(bytes) if bytes.len() > FILE_BYTES_MAX => {
                return Err(format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20));
            }
            other => other,
        };
        let Some((last, above)) = names.split_last() else {
            return match node {
                Node::Directory => Ok(()),
                _ => Err("the root is a directory".to_owned()),
            };
        };
        let mut at = self.enter(above)?;
        at.push('/');
        at.push_str(last);
        match (self.nodes.get(&at), &node) {
            (Some(Node::Directory), Node::Directory) => return Ok(()),
            // A directory by another name, such as /sys/block/sda/.
            (Some(Node::Link(_)), Node::Directory) => return Ok(()),
            (Some(Node::Directory), _) => return Err(format!("{at} is a directory already")),
            (Some(Node::File(_)), Node::Directory) => {
                return Err(format!("{at} is a file already"));
            }
            _ => {}
        }
        self.put(at, node)
    }

    /// Follows directories and links, makes those directories that are missing, and gives the path
    /// without links.
    fn enter(&mut self, names: &[&str]) -> Result<String, String> {
        let mut ahead: Vec<String> = names.iter().rev().map(|&name| name.to_owned()).collect();
        let mut at = String::new();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            let next = format!("{at}/{name}");
            match self.nodes.get(&next) {
                None => {
                    self.put(next.clone(), Node::Directory)?;
                    at = next;
                }
                Some(Node::Directory) => at = next,
                Some(Node::File(_)) => {
                    return Err(format!("{next} is a file, and nothing can lie in it"));
                }
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(format!("the links at {next} lead round in a circle"));
                    }
                    ahead.extend(
                        target.split('/').rev().filter(|name| !name.is_empty()).map(str::to_owned),
                    );
                    at = String::new();
                }
            }
            if at.len() > PATH_BYTES_MAX || ahead.len() > DEPTH_MAX * 2 {
                return Err("the path is too long, once its links are followed".to_owned());
            }
        }
        Ok(at)
    }

    fn put(&mut self, path: String, node: Node) -> Result<(), String> {
        if self.nodes.len() >= NODES_MAX {
            return Err(format!("there are more than {NODES_MAX} files and directories"));
        }
        if path.matches('/').count() > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} directories lie in one another"));
        }
        self.nodes.insert(path, node);
        Ok(())
    }
}

enum What {
    Node(Node),
    /// Indented lines follow.
    Text,
    /// Indented lines of hexadecimal digits follow.
    Hex,
}

fn statement(line: &str) -> Result<(&str, What), String> {
    let link = line.find(" -> ").map(|at| (at, true));
    let value = line.find(" = ").map(|at| (at, false));
    // A value may hold an arrow, and a link's target an equals sign: the first decides.
    if let Some((at, is_link)) = link.into_iter().chain(value).min() {
        let (path, rest) = (&line[..at], &line[at..]);
        if is_link {
            return Ok((path, What::Node(Node::Link(rest[" -> ".len()..].to_owned()))));
        }
        let text = &rest[" = ".len()..];
        let bytes = match text.strip_prefix("hex ") {
            Some(hex) => unhex(hex)?,
            None => format!("{text}\n").into_bytes(),
        };
        return Ok((path, What::Node(Node::File(bytes))));
    }
    let line = line.trim_end();
    if let Some(path) = line.strip_suffix(": hex") {
        return Ok((path, What::Hex));
    }
    if let Some(path) = line.strip_suffix(':') {
        return Ok((path, What::Text));
    }
    if line.len() > 1 && line.ends_with('/') {
        return Ok((line, What::Node(Node::Directory)));
    }
    let shown: String = line.chars().take(60).collect();
    Err(format!(
        "what is {shown:?}? A line is `path = text`, `path -> path`, `path/`, or `path:` and \
         indented lines"
    ))
}

/// The indented lines that follow; an empty line among them is one of them.
fn block<'a>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'a str)> + Clone>,
) -> String {
    let mut content = String::new();
    loop {
        // What mail makes of a line of blanks.
        let empty = lines.clone().take_while(|(_, line)| line.trim().is_empty()).count();
        let indented = |line: &str| line.starts_with("    ") || line.starts_with('\t');
        if !lines.clone().nth(empty).is_some_and(|(_, line)| indented(line)) {
            // A line of four blanks is one of the file's own.
            while lines.next_if(|(_, line)| line.starts_with("    ")).is_some() {
                content.push('\n');
            }
            return content;
        }
        for _ in 0..empty {
            let own = lines.next().and_then(|(_, line)| line.get(4..)).unwrap_or("");
            content.push_str(own);
            content.push('\n');
        }
        if let Some((_, line)) = lines.next() {
            content.push_str(line.strip_prefix("    ").unwrap_or(line));
            content.push('\n');
        }
    }
}

fn names_of(path: &str) -> Result<Vec<&str>, String> {
    let Some(inside) = path.strip_prefix('/') else {
        return Err(format!("{path:?} does not begin with `/`"));
    };
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("the path is longer than {PATH_BYTES_MAX} bytes"));
    }
    let names: Vec<&str> =
        inside.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    for name in &names {
        if *name == ".." {
            return Err(format!("{path:?} has a `..`"));
        }
        if name.len() > NAME_BYTES_MAX || name.contains('\0') {
            return Err(format!("{path:?} has a name that no file can have"));
        }
    }
    Ok(names)
}

/// Where a link at `link` leads; never out of the tree, as if its root were the machine's.
fn lead<'a>(link: &[&'a str], target: &'a str) -> Result<Vec<&'a str>, String> {
    if target.len() > PATH_BYTES_MAX || target.contains('\0') || target.trim().is_empty() {
        return Err("a link cannot lead there".to_owned());
    }
    let above = link.len().saturating_sub(1);
    let mut names: Vec<&str> =
        if target.starts_with('/') { vec![] } else { link[..above].to_vec() };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name if name.len() > NAME_BYTES_MAX => {
                return Err("a link cannot lead there".to_owned());
            }
            name => names.push(name),
        }
    }
    Ok(names)
}

fn join(names: &[&str]) -> String {
    format!("/{}", names.join("/"))
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    let wrong = || "these are not pairs of hexadecimal digits".to_owned();
    bytes.collect::<Option<Vec<u8>>>().ok_or_else(wrong)
}

/// How a file is written down: its text where it is text, else its bytes in hexadecimal. A text
/// gets a line end at its end, and loses blanks before line ends, which mail loses too.
pub fn file(path: &str, bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    let Some(text) = text else { return hex(path, bytes) };
    let text = text.trim_end_matches([' ', '\t', '\n']);
    if text.is_empty() {
        return format!("{path}:\n");
    }
    let plain = !text.starts_with([' ', '\t']) && !text.starts_with("hex ");
    if plain && !text.contains('\n') {
        return format!("{path} = {text}\n");
    }
    let mut said = format!("{path}:\n");
    for line in text.lines() {
        said.push_str("    ");
        said.push_str(line.trim_end());
        said.push('\n');
    }
    said
}

/// Bytes in hexadecimal, 44 a line.
pub fn hex(path: &str, bytes: &[u8]) -> String {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if bytes.len() <= 32 && !bytes.is_empty() {
        return format!("{path} = hex {}\n", digits(bytes));
    }
    let lines = bytes.chunks(44).map(|chunk| format!("    {}\n", digits(chunk)));
    format!("{path}: hex\n{}", lines.collect::<String>())
}

/// Whether a path can be written down: one that cannot is no path of interest.
pub fn writable(path: &str) -> bool {
    let odd = |c: char| c.is_control();
    let ends = path.ends_with(':') || path.ends_with(": hex") || path.ends_with(' ');
    !path.contains(odd) && !path.contains(" = ") && !path.contains(" -> ") && !ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_at<'a>(tree: &'a Tree, path: &str) -> &'a [u8] {
        match tree.nodes.get(path) {
            Some(Node::File(bytes)) => bytes,
            other => panic!("{path}: {other:?}"),
        }
    }

    fn fault(text: &str) -> (usize, String) {
        let fault = Tree::parse(text).unwrap_err();
        (fault.line, fault.why)
    }

    #[test]
    fn every_kind_of_line_is_understood() {
        let text = "# comment\n/a/b = text\n/a/c = hex 00ff\n/a/d:\n    one\n\n\
                    \x20     two\n    \n/e/\n/f -> /a/b\n/a/g -> ../e\n/v = x -> y = z\n\
                    /h: hex\n    0102\n    03\n/i:\n";
        let tree = Tree::parse(text).unwrap();
        assert_eq!(file_at(&tree, "/a/b"), b"text\n");
        assert_eq!(file_at(&tree, "/a/c"), [0, 255]);
        assert_eq!(file_at(&tree, "/a/d"), b"one\n\n  two\n\n");
        assert_eq!(file_at(&tree, "/v"), b"x -> y = z\n");
        assert_eq!((file_at(&tree, "/h"), file_at(&tree, "/i")), (&[1, 2, 3][..], &b""[..]));
        assert_eq!(tree.nodes["/f"], Node::Link("/a/b".into()));
        assert_eq!(tree.nodes["/a/g"], Node::Link("/e".into()));
        assert_eq!(tree.nodes["/e"], Node::Directory);
        for end in 0..text.len() {
            let _ = Tree::parse(&text[..end]);
        }
    }

    #[test]
    fn the_last_of_two_wins_and_a_path_through_a_link_lies_where_it_leads() {
        let tree = Tree::parse("/a = 1\n/a = 2\n/l -> /d\n/l/x = 3\n/d/y = 4\n/l/\n").unwrap();
        assert_eq!(file_at(&tree, "/a"), b"2\n");
        assert_eq!(file_at(&tree, "/d/x"), b"3\n");
        assert_eq!(tree.nodes["/d"], Node::Directory);
    }

    #[test]
    fn no_path_and_no_link_leads_out_of_the_tree() {
        assert_eq!(fault("/a = 1\n/../etc/passwd = x\n").0, 2);
        assert_eq!(fault("/a/../../b -> /c\n").0, 1);
        assert!(fault("etc/passwd = x").1.contains("does not begin"));
        let tree = Tree::parse("/a/l -> ../../../../etc/passwd\n/a/m -> /../x/../..\n").unwrap();
        assert_eq!(tree.nodes["/a/l"], Node::Link("/etc/passwd".into()));
        assert_eq!(tree.nodes["/a/m"], Node::Link("/".into()));
        let tree = Tree::parse("/a -> ../../..\n/a/etc/x = 1\n").unwrap();
        assert_eq!(file_at(&tree, "/etc/x"), b"1\n");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line() {
        assert_eq!(
            fault("/a = 1\n/a/b = 2\n"),
            (2, "/a is a file, and nothing can lie in it".into())
        );
        assert_eq!(fault("/a/b = 1\n\n/a = 2\n"), (3, "/a is a directory already".into()));
        assert_eq!(fault("/a = 1\n/a/\n"), (2, "/a is a file already".into()));
        assert!(fault("/a -> /b\n/b -> /a\n/a/x = 1\n").1.contains("circle"));
        assert!(fault("/ = 1\n").1.contains("the root"));
        assert!(fault("hello\n").1.contains("what is \"hello\"?"));
        assert!(fault("/x = hex 0g\n").1.contains("hexadecimal"));
        assert!(fault(&format!("/x = {}\n", "y".repeat(FILE_BYTES_MAX))).1.contains("4 MiB"));
        assert!(fault(&format!("{} = y\n", "/d".repeat(65))).1.contains("64"));
        assert!(fault(&format!("/{} = y\n", "d".repeat(256))).1.contains("no file can have"));
    }

    /// Each level doubles the path: followed to the end it would fill the memory.
    #[test]
    fn links_that_grow_as_they_are_followed_are_refused() {
        let text = "/a -> /a/b/b/b/b/b/b/b/b\n/a/c = 1\n";
        assert!(Tree::parse(text).is_err());
    }

    #[test]
    fn what_is_written_down_is_read_back() {
        let texts: [&[u8]; 8] =
            [b"1\n", b"", b"\n", b"a\n\n b\n", b"hex 1\n", b" x\n", b"caf\xe9\n", b"\0\x01\x02"];
        for bytes in texts {
            let tree = Tree::parse(&file("/p: q", bytes)).unwrap();
            let expected = if bytes == b"\n" { b"" } else { bytes };
            assert_eq!(file_at(&tree, "/p: q"), expected, "{bytes:?}");
        }
        let long: Vec<u8> = (0..=255).collect();
        assert_eq!(file_at(&Tree::parse(&file("/l", &long)).unwrap(), "/l"), long);
        // Mail takes the blanks away.
        let mailed = file("/b", b"a\n\nb\n").replace("    \n", "\n");
        assert_eq!(file_at(&Tree::parse(&mailed).unwrap(), "/b"), b"a\n\nb\n");
        assert!(writable("/sys/a b") && !writable("/a -> b") && !writable("/a\n"));
    }
}
