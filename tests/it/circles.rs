//! No two modules of one folder need each other, nor do more of them in a circle: what they have in
//! common stands in a file below them. What lies deeper in a module counts as the module's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module by its path: crate, module, submodule and so on.
type Module = Vec<String>;

/// Each source file with its module.
fn sources() -> BTreeMap<Module, String> {
    let mut found = BTreeMap::new();
    let crates = Path::new("crates").read_dir().expect("crates").flatten();
    let mut roots: Vec<(String, PathBuf)> = crates
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join("src")))
        .collect();
    roots.push(("brickyard".to_owned(), PathBuf::from("src")));
    for (name, root) in roots {
        walk(&root, &vec![name], &mut found);
    }
    found
}

fn walk(folder: &Path, module: &Module, found: &mut BTreeMap<Module, String>) {
    for entry in folder.read_dir().expect("a folder").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut inside = module.clone();
        if !matches!(name.as_str(), "lib" | "main") {
            inside.push(name);
        }
        if path.is_dir() {
            walk(&path, &inside, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.insert(inside, std::fs::read_to_string(&path).expect("a source file"));
        }
    }
}

/// Without its tests and comments: what only these name is not needed.
fn plain(module: &Module, text: &str) -> String {
    let of_tests = ["tests", "testing", "fixture", "simulated"];
    if module.iter().any(|part| of_tests.contains(&part.as_str())) {
        return String::new();
    }
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if line == "#[cfg(test)]" && next.contains("mod ") && next.ends_with('{') {
            break;
        }
        if !line.trim_start().starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn word(text: &str) -> &str {
    let ends = |c: char| !c.is_alphanumeric() && c != '_';
    &text[..text.find(ends).unwrap_or(text.len())]
}

/// All paths of the tree of a `use`, or the one path that `text` begins with: `a::b` and `a::c::D`
/// of `a::{b, c::D}`. What is renamed goes by the name that it has there.
fn paths(text: &str) -> Vec<Vec<String>> {
    let (found, _) = tree(text);
    found
}

/// The paths, and what comes after them.
fn tree(mut text: &str) -> (Vec<Vec<String>>, &str) {
    let mut lead = Vec::new();
    loop {
        if let Some(inner) = text.strip_prefix('{') {
            let (found, rest) = branches(inner);
            return (found.into_iter().map(|path| [&lead[..], &path].concat()).collect(), rest);
        }
        let word = match text.starts_with('*') {
            true => "*",
            false => word(text),
        };
        if word.is_empty() {
            return (vec![lead], text);
        }
        lead.push(word.to_owned());
        match text[word.len()..].strip_prefix("::") {
            Some(rest) => text = rest,
            None => return (vec![lead], &text[word.len()..]),
        }
    }
}

/// What stands between braces, the first of which is gone.
fn branches(mut text: &str) -> (Vec<Vec<String>>, &str) {
    let mut found = Vec::new();
    loop {
        text = text.trim_start_matches([' ', '\n', ',']);
        match text.chars().next() {
            None => return (found, text),
            Some('}') => return (found, &text[1..]),
            Some(c) if c == '{' || c == '*' || c == '_' || c.is_alphanumeric() => {
                let (more, rest) = tree(text);
                found.extend(more);
                // A new name after `as` is none of ours.
                text = rest.trim_start_matches(|c| c != ',' && c != '}');
            }
            Some(c) => text = &text[c.len_utf8()..],
        }
    }
}

/// What a module names by `super::` and `crate::`.
fn named(module: &Module, text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for start in ["super::", "crate::"] {
        for (at, _) in text.match_indices(start) {
            // Only where a path begins.
            let before = text[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || before == '_' || before == ':' {
                continue;
            }
            let (mut rest, mut base) = (&text[at..], module.clone());
            if start == "crate::" {
                (rest, base) = (&rest["crate::".len()..], module[..1].to_vec());
            }
            while let Some(above) = rest.strip_prefix("super::") {
                rest = above;
                base.pop();
            }
            found.extend(paths(rest).into_iter().map(|path| [&base[..], &path].concat()));
        }
    }
    found
}

/// Where what a module has from its own submodules comes from: by each name, and by those of which
/// it takes all.
#[derive(Default)]
struct Given {
    by_name: BTreeMap<String, Module>,
    wholly: Vec<Module>,
}

fn given(module: &Module, text: &str, sources: &BTreeMap<Module, String>) -> Given {
    let mut given = Given::default();
    let uses = text.match_indices("use ").filter(|(at, _)| {
        let before = text[..*at].rsplit('\n').next().unwrap_or_default().trim_start();
        before.is_empty() || before.starts_with("pub")
    });
    for (at, _) in uses {
        for path in paths(text[at + "use ".len()..].trim_start_matches("self::")) {
            let mut there = [&module[..], &path].concat();
            let name = there.pop().unwrap_or_default();
            let nearest = (module.len() + 1..=there.len()).rev().map(|end| &there[..end]);
            let Some(from) = nearest.into_iter().find(|it| sources.contains_key(*it)) else {
                continue;
            };
            match name.as_str() {
                "*" => given.wholly.push(from.to_vec()),
                _ => drop(given.by_name.insert(name, from.to_vec())),
            }
        }
    }
    given
}

/// Whether a module defines a name.
fn defines(text: &str, name: &str) -> bool {
    ["const", "static", "fn", "struct", "enum", "trait", "type", "macro_rules!"].iter().any(
        |kind| {
            text.match_indices(&format!("{kind} {name}")).any(|(at, found)| {
                !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        },
    )
}

/// Which siblings need which. A name that their parent has from one of them is that one's.
fn needs(sources: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let plain: BTreeMap<&Module, String> =
        sources.iter().map(|(module, text)| (module, plain(module, text))).collect();
    let given: BTreeMap<&Module, Given> =
        plain.iter().map(|(module, text)| (*module, given(module, text, sources))).collect();
    let home = |mut there: Module| {
        let mut name = String::new();
        while there.len() > 1 && !sources.contains_key(&there) {
            name = there.pop().unwrap_or_default();
        }
        // From one hand to the next: a parent may have it from a parent.
        while let Some(given) = given.get(&there) {
            let all = || given.wholly.iter().find(|from| defines(&plain[*from], &name));
            match given.by_name.get(&name).or_else(all) {
                Some(from) if !defines(&plain[&there], &name) => there.clone_from(from),
                _ => break,
            }
        }
        there
    };
    let mut needs: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in &plain {
        for there in named(module, text).into_iter().map(home) {
            let common = module.iter().zip(&there).take_while(|(a, b)| a == b).count();
            if common > 0 && common < module.len() && common < there.len() {
                let (from, to) = (module[..=common].to_vec(), there[..=common].to_vec());
                needs.entry(from).or_default().insert(to);
            }
        }
    }
    needs
}

/// A way from a module back to itself.
fn circle(needs: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> Option<Vec<Module>> {
    let mut known: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for to in needs.get(at).into_iter().flatten() {
            if to == from {
                let mut way = vec![from.clone(), at.clone()];
                let mut last = at;
                while last != from {
                    last = known[last];
                    way.push(last.clone());
                }
                way.reverse();
                return Some(way);
            }
            if !known.contains_key(to) {
                known.insert(to, at);
                open.push(to);
            }
        }
    }
    None
}

/// Thirteen, of which the largest went through fifteen files of `engine/net`: none of them could
/// be read without the others.
#[test]
fn no_siblings_need_each_other() {
    let needs = needs(&sources());
    let found: Vec<String> = needs
        .keys()
        .filter_map(|module| circle(&needs, module))
        .map(|way| way.iter().map(|it| it.join("::")).collect::<Vec<_>>().join(" -> "))
        .collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// The rule itself: a circle is seen, through one and through two, and a name in a comment is not.
#[test]
fn a_circle_is_seen_whatever_way_it_is_written() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let circles = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, text)| (module(path), (*text).to_owned()));
        let needs = needs(&files.collect());
        needs.keys().filter(|it| circle(&needs, it).is_some()).count()
    };
    let used =
        |text: &str| circles(&[("x::a", text), ("x::b", ""), ("x::b::c", "use crate::a::A;\n")]);
    assert_eq!(used("use super::b::B;\n"), 2);
    assert_eq!(used("use crate::{b, d};\n"), 2);
    assert_eq!(used("fn f() {\n    super::b::c::f()\n}\n"), 2);
    assert_eq!(used("// super::b\nuse mysuper::b;\n"), 0);
    assert_eq!(used("#[cfg(test)]\nmod tests {\n    use super::super::b;\n}\n"), 0);
    // By way of the parent, which has it from one of them: by name, with another's, or all of it.
    let by_parent = |parent: &str, used: &str| {
        circles(&[("x", parent), ("x::a", used), ("x::b", "pub struct B;\nuse super::a::A;\n")])
    };
    assert_eq!(by_parent("mod a;\npub use b::B;\n", "use super::B;\n"), 2);
    assert_eq!(by_parent("use b::{B, C};\n", "use super::{D, B};\n"), 2);
    assert_eq!(by_parent("pub use b::*;\n", "use crate::B;\n"), 2);
    assert_eq!(by_parent("pub use b::C;\npub struct B;\n", "use super::B;\n"), 0);
    assert_eq!(used("use crate::{e::{F, G}, b::c};\n"), 2);
    let three = [("x::a", "use super::b;"), ("x::b", "use super::c;"), ("x::c", "use super::a;")];
    assert_eq!(circles(&three), 3);
    assert_eq!(circles(&three[..2]), 0);
}
