//! (pure) JSON documents in a text that has other lines before, between and after them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// A document in which no number stands under a name that has another number already: parts of two
/// results were put together there, and the last one would win without a word.
struct Once(Json);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Once, D::Error> {
        from.deserialize_any(Reader).map(Once)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(Once(value)) = from.next_element()? {
            all.push(value);
        }
        Ok(Json::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut all = Map::new();
        while let Some((name, Once(value))) = from.next_entry::<String, Once>()? {
            let known = all.get(&name).filter(|known| known.is_number() || known.is_object());
            if known.is_some_and(|known| *known != value) {
                return Err(A::Error::custom(format!("`{name}` stands there twice")));
            }
            all.insert(name, value);
        }
        Ok(Json::Object(all))
    }
}

/// The one document of a text.
///
/// # Errors
/// When it is broken, or something else.
pub fn document(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str::<Once>(text).map(|Once(document)| document)
}

/// The documents of a text. Each begins on a line of its own, or right behind another: no tool's
/// warning begins as they do. An array of documents is as many of them.
///
/// # Errors
/// When one was cut short or is broken: then none is given.
pub fn documents(text: &str) -> Result<Vec<Json>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        // Editors and shells of other systems put a mark of the byte order in front.
        rest = rest.trim_start_matches('\u{feff}');
        if !begins(rest) {
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            rest = &rest[end..];
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Once>();
        match values.next() {
            Some(Ok(Once(Json::Array(several)))) => found.extend(several),
            Some(Ok(Once(document))) => found.push(document),
            Some(Err(error)) if !error.is_eof() => {
                return Err(format!("its JSON is broken: {error}"));
            }
            _ => return Err("its JSON was cut short".to_owned()),
        }
        rest = rest[values.byte_offset()..].trim_start_matches([' ', '\t', '\r']);
        // Other words behind it on its last line are no beginning.
        if !begins(rest) {
            rest = rest.find('\n').map_or("", |end| &rest[end + 1..]);
        }
    }
    Ok(found)
}

/// Whether a document begins here, or an array of them: with a brace that is alone on its line or
/// has a name behind it.
fn begins(rest: &str) -> bool {
    let inner = rest.strip_prefix('[').map_or(rest, |inner| inner.trim_start());
    let Some(inside) = inner.strip_prefix('{') else { return false };
    let line = inside.split('\n').next().unwrap_or_default().trim();
    line.is_empty() || line.starts_with('"')
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

    /// One document on one line, as `jq -c` and Python print it, "has no JSON document of fio's in
    /// it"; nor had one behind a mark of the byte order, and an array of them.
    #[test]
    fn documents_are_found_in_whatever_form_they_were_written_down() {
        let plain = documents("{\n  \"a\": {\n    \"b\": 1\n  }\n}\n").unwrap();
        for text in [
            "{\"a\": {\"b\": 1}}",
            "{ \"a\": {\"b\":1} }\r\n",
            "\u{feff}{\"a\":{\"b\":1}}\n",
            "warning: x\n\u{feff}{\n\"a\":{\"b\":1}}\n",
            "[{\"a\":{\"b\":1}}]\n",
            "[\n  {\n    \"a\": {\"b\": 1}\n  }\n]\n",
        ] {
            assert_eq!(documents(text).as_ref(), Ok(&plain), "{text}");
        }
        let twice = [plain[0].clone(), plain[0].clone()];
        for text in [
            "{\"a\":{\"b\":1}}\n{\"a\":{\"b\":1}}\n",
            "{\"a\":{\"b\":1}}{\"a\":{\"b\":1}}",
            "{\n\"a\":{\"b\":1}\n}{\n\"a\":{\"b\":1}\n}\n",
            "[{\"a\":{\"b\":1}},\n {\"a\":{\"b\":1}}]",
        ] {
            assert_eq!(documents(text).as_deref(), Ok(&twice[..]), "{text}");
            for end in 1..text.trim_end().len() {
                // A cut behind the first of them leaves the first.
                let some = documents(&text[..end]).unwrap_or_default();
                assert!(twice.starts_with(&some), "{text} cut at {end}: {some:?}");
            }
        }
        let notes = "[2026-11-26] started\n[x]\n{x}\n  {\"indented\": 1}\n[1, 2]\n";
        assert_eq!(documents(notes), Ok(Vec::new()));
        assert!(documents("[{\"a\": 1}, {\"a\"").unwrap_err().contains("cut short"));
    }

    /// Two results that an editor had put together were read as one, each number that stood twice
    /// as the later one.
    #[test]
    fn a_number_that_stands_twice_and_differs_is_no_number() {
        let of = |inner: &str| documents(&format!("{{\n\"job\": {{{inner}}}\n}}\n"));
        assert!(of("\"iops\": 5, \"iops\": 6").unwrap_err().contains("`iops` stands there twice"));
        assert!(of("\"read\": {\"a\": 1}, \"read\": {\"a\": 2}").is_err());
        assert_eq!(of("\"iops\": 5, \"iops\": 5").unwrap()[0]["job"]["iops"], 5);
        // An option that was given twice is told so.
        assert!(of("\"name\": \"a\", \"name\": \"b\"").is_ok());
    }
}
