//! (pure) JSON documents in a text that has other lines before, between and after them.

use serde_json::Value as Json;

/// The documents of a text, each of which begins on a line that is `{` alone: no tool's warning is.
///
/// # Errors
/// When one was cut short or is broken: then none is given.
pub fn documents(text: &str) -> Result<Vec<Json>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        if line.trim_end() != "{" {
            rest = &rest[line.len()..];
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        match values.next() {
            Some(Ok(document)) => {
                rest = &rest[values.byte_offset()..];
                // What stands behind it on its last line is no beginning.
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                found.push(document);
            }
            Some(Err(error)) if !error.is_eof() => {
                return Err(format!("its JSON is broken: {error}"));
            }
            _ => return Err("its JSON was cut short".to_owned()),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_among_other_lines_and_none_is_given_when_one_is_cut() {
        let text = "warning: {x}\n{\n\"a\": {\n}\n} trailing\nnote\n{\n\"b\": 1\n}";
        let found = documents(text).unwrap();
        assert_eq!((found.len(), &found[1]["b"]), (2, &Json::from(1)));
        assert!(documents(&text[..text.len() - 1]).unwrap_err().contains("cut short"));
        assert!(documents("{\n elephant\n}\n").unwrap_err().contains("broken"));
        assert_eq!(documents("nothing\n"), Ok(Vec::new()));
    }
}
