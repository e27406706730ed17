//! The fixed parts of our pages, the policy that lets only them run, and what stands in an address.

use std::sync::LazyLock;

use axum::http::Uri;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Filters, counts, inserts names; every page does without.
pub const SCRIPT: &str = include_str!("page.js");
/// What our pages have besides the report's style.
pub const STYLE: &str = include_str!("page.css");

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    include_str!("policy.txt").trim().replace("{hash}", &hash)
});

/// The Content-Security-Policy of our pages: nothing is fetched, our script alone runs, forms go
/// nowhere else, and nobody puts a page into a frame.
pub fn policy() -> &'static str {
    &POLICY
}

/// What stands behind the `?` of an address, decoded; bytes that are no UTF-8 were replaced.
#[derive(Clone, Debug, Default)]
pub struct UrlQuery(Vec<(String, String)>);

impl UrlQuery {
    /// Reads it.
    pub fn from_uri(uri: &Uri) -> UrlQuery {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        UrlQuery(pairs.into_owned().collect())
    }

    /// All values of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The first value of that name.
    pub fn first(&self, name: &str) -> Option<String> {
        self.all(name).next().map(str::to_owned)
    }
}

/// An address on this site with what is asked of it, encoded.
pub fn address(path: &str, asked: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(asked);
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// A number as we write it in an address: nothing but digits, and no other way to write it.
pub fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_into_an_address_comes_out_of_it() {
        for text in ["a b&c=d", "SELECT '100%' -- +\n", "ü\u{202e}</a>\0", ""] {
            let address = address("/query", &[("sql", text), ("sql", "2")]);
            let uri: Uri = address.parse().unwrap();
            let asked = UrlQuery::from_uri(&uri);
            assert_eq!(asked.all("sql").collect::<Vec<_>>(), [text, "2"], "{address}");
            assert!(!address.contains(['<', '"', '\'', ' ']), "{address}");
        }
        assert_eq!(address("/", &[]), "/");
        assert_eq!(
            UrlQuery::from_uri(&"/?sql=%FF%&=&&".parse().unwrap()).first("sql").unwrap(),
            "\u{fffd}%"
        );
    }

    #[test]
    fn a_number_has_one_way_to_be_written() {
        assert_eq!(number("7"), Some(7));
        for odd in ["", "07", "+7", "-7", "7 ", "7.0", "18446744073709551616", "٧"] {
            assert_eq!(number(odd), None, "{odd}");
        }
    }

    #[test]
    fn our_script_alone_runs_and_cannot_end_its_own_element() {
        assert!(policy().starts_with("default-src 'none'; script-src 'sha256-"));
        assert_eq!(policy().matches("script-src").count(), 1);
        for text in [SCRIPT, STYLE] {
            let lower = text.to_ascii_lowercase();
            assert!(!lower.contains("</s") && !lower.contains("<!--"));
        }
    }
}
