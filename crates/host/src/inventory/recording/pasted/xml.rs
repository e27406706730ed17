//! Tags of an XML document and their attributes: as much of XML as hwloc writes. Nothing is
//! fetched, and no entity is defined.

use std::collections::BTreeMap;

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `<object type="PU">`, or `<object/>`, which closes at once.
    Open(String, BTreeMap<String, String>),
    /// `</object>`.
    Close,
}

/// All tags in order.
///
/// # Errors
/// When one is not closed, or is none.
pub fn tags(text: &str) -> Result<Vec<Tag>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            let end = comment.find("-->").ok_or("a comment does not end: was it cut short?")?;
            rest = &comment[end + 3..];
            continue;
        }
        let end = end_of(rest).ok_or("a tag does not end: was it cut short?")?;
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if tag.starts_with('/') {
            found.push(Tag::Close);
            continue;
        }
        let (tag, closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        found.push(Tag::Open(name.to_owned(), pairs(attributes)?));
        if closed {
            found.push(Tag::Close);
        }
    }
    Ok(found)
}

/// Where a tag ends: at the first `>` that stands in no quotes.
fn end_of(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, one) in text.char_indices() {
        match (one, quote) {
            ('>', None) => return Some(at),
            ('"' | '\'', None) => quote = Some(one),
            (one, Some(open)) if one == open => quote = None,
            _ => {}
        }
    }
    None
}

fn pairs(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or("an attribute has no value")?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let quote = quote.ok_or("the value of an attribute has no quotes")?;
        let (value, after) =
            after[1..].split_once(quote).ok_or("the value of an attribute does not end")?;
        found.insert(name.trim().to_owned(), plain(value));
        rest = after.trim_start();
    }
    Ok(found)
}

fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&apos;", "'").replace("&#10;", "\n").replace("&amp;", "&")
}
