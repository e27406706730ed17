//! Who may ask, and what is said around every answer.
//!
//! What listens on loopback is reached by every page that a browser of this machine shows: a page
//! of a stranger may ask it for something, and one whose name the stranger has led to 127.0.0.1
//! may read what it gets (DNS rebinding). Only who asks for this very address, and was sent by no
//! other site, is answered.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::Site;
use super::answer::{Answer, response};
use super::pages::{self, asset};
use host::sys::Error;

/// The longest address, bytes: a statement of SQL stands in it.
const ADDRESS_BYTES_MAX: usize = 16 << 10;
/// Says whether another site sent the browser (Fetch Metadata Request Headers, section 2.2).
const SENT_BY: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What every answer says; each of them a browser obeys.
const AROUND: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Lets a request in or refuses it, and puts around the answer what all have.
pub async fn door(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match refused(site.at, &request) {
        Some((status, error)) => refusal(status, &error),
        None => next.run(request).await,
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    let headers = response.headers_mut();
    for (name, value) in AROUND {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy());
    }
    response
}

/// Why a request is not answered.
fn refused(at: SocketAddr, request: &Request) -> Option<(StatusCode, Error)> {
    let (headers, uri) = (request.headers(), request.uri());
    let no = |why: &str, hint: &str| Error::new("this is not answered", why).hint(hint);
    let here = format!("open http://{at}/");
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let why = "it does something else than read, and this only gives what is in the store";
        return Some((StatusCode::METHOD_NOT_ALLOWED, no(why, "ask by GET")));
    }
    if uri.path_and_query().is_some_and(|it| it.as_str().len() > ADDRESS_BYTES_MAX) {
        let hint = "long statements go to `brickyard query -`, through standard input";
        return Some((StatusCode::URI_TOO_LONG, no("its address is longer than 16 KiB", hint)));
    }
    let length = headers.get(header::CONTENT_LENGTH);
    if headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|it| it != "0") {
        let hint = "ask without a body";
        return Some((StatusCode::PAYLOAD_TOO_LARGE, no("it has a body", hint)));
    }
    let for_us = |name: &str| is_ours(name, at);
    let host = only(headers, &header::HOST);
    if !host.is_some_and(for_us) || uri.authority().is_some_and(|it| !for_us(it.as_str())) {
        let why = "it asks for another host than this one: a name that leads here is no address \
                   of ours";
        return Some((StatusCode::MISDIRECTED_REQUEST, no(why, &here)));
    }
    let sent_by_us = |by: &str| by.strip_prefix("http://").is_some_and(for_us);
    let by_us = headers.get_all(header::ORIGIN).iter();
    let by_us = by_us.map(|by| by.to_str()).all(|by| by.is_ok_and(sent_by_us));
    let alone = |by: &HeaderValue| by == "same-origin" || by == "none";
    if !by_us || !headers.get_all(SENT_BY).iter().all(alone) {
        let hint = "if it was you who followed a link, open it by typing or pasting its address";
        return Some((StatusCode::FORBIDDEN, no("another site has sent your browser here", hint)));
    }
    None
}

/// The value of a field that stands there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// Whether `host` (RFC 9110, section 7.2) is the address on which we listen. No name but
/// `localhost`, which every browser resolves by itself; a server that listens on all its addresses
/// is asked for by any address, which nobody can rebind.
fn is_ours(host: &str, at: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        // The last colon of an address in brackets is no port's.
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, "80"),
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || port.parse() != Ok(at.port()) {
        return false;
    }
    let any = at.ip().is_unspecified();
    let local = any || at.ip().is_loopback();
    if name.eq_ignore_ascii_case("localhost") {
        return local;
    }
    let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inside) => inside.parse().map(IpAddr::V6).ok(),
        None => name.parse().map(IpAddr::V4).ok(),
    };
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    address.is_some_and(|it| any || it == at.ip() || (local && loopback.contains(&it)))
}

/// A page that says why there is no other.
pub fn refusal(status: StatusCode, error: &Error) -> Response {
    response(Answer::page(pages::wrong(error)).with(status))
}

/// The policy of our own pages.
fn policy() -> HeaderValue {
    HeaderValue::try_from(asset::policy()).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::serve::ADDRESS;

    fn asked(method: &str, uri: &str, fields: &[(&str, &str)]) -> Option<StatusCode> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        refused(ADDRESS, &request.body(Body::empty()).unwrap()).map(|(status, _)| status)
    }

    const OURS: (&str, &str) = ("host", "127.0.0.1:7410");

    #[test]
    fn who_asks_for_this_address_is_let_in() {
        for host in ["127.0.0.1:7410", "localhost:7410", "LocalHost:7410", "[::1]:7410"] {
            assert_eq!(asked("GET", "/", &[("host", host)]), None, "{host}");
        }
        let own = ("origin", "http://localhost:7410");
        for by in ["none", "same-origin"] {
            assert_eq!(asked("HEAD", "/query?sql=1", &[OURS, own, ("sec-fetch-site", by)]), None);
        }
        assert_eq!(asked("GET", "http://127.0.0.1:7410/", &[OURS]), None);
        assert_eq!(asked("GET", "/", &[OURS, ("content-length", "0")]), None);
    }

    #[test]
    fn a_name_that_leads_here_is_not_ours() {
        for host in [
            "evil.example:7410",
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:07411",
            "127.0.0.1:+7410",
            "127.0.0.1:7410:7410",
            "127.0.0.2:7410",
            "localhost.:7410",
            "localhost.evil.example:7410",
            "user@localhost:7410",
            "127.0.0.1.evil.example:7410",
            "[::1]",
            "::1:7410",
            "[127.0.0.1]:7410",
            "[::1%25lo]:7410",
            "2130706433:7410",
            "0x7f.1:7410",
            "",
            ":7410",
        ] {
            let got = asked("GET", "/", &[("host", host)]);
            assert_eq!(got, Some(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
        let misdirected = Some(StatusCode::MISDIRECTED_REQUEST);
        assert_eq!(asked("GET", "/", &[]), misdirected, "no host at all");
        assert_eq!(asked("GET", "/", &[OURS, OURS]), misdirected, "which of both is it?");
        assert_eq!(asked("GET", "http://evil.example/", &[OURS]), misdirected);
    }

    #[test]
    fn port_80_need_not_be_named_and_all_addresses_are_asked_for_by_any() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        assert!(is_ours("127.0.0.1", at("127.0.0.1:80")) && is_ours("[::1]", at("[::1]:80")));
        assert!(is_ours("localhost", at("127.0.0.1:80")));
        let any = at("0.0.0.0:7410");
        assert!(is_ours("192.0.2.7:7410", any) && is_ours("[2001:db8::1]:7410", any));
        assert!(is_ours("localhost:7410", any) && !is_ours("server.example:7410", any));
        let one = at("192.0.2.7:7410");
        assert!(is_ours("192.0.2.7:7410", one));
        assert!(!is_ours("localhost:7410", one) && !is_ours("127.0.0.1:7410", one));
    }

    #[test]
    fn who_was_sent_by_another_site_is_refused() {
        let forbidden = Some(StatusCode::FORBIDDEN);
        for by in ["cross-site", "same-site", "", "Same-Origin", "none, cross-site"] {
            assert_eq!(asked("GET", "/", &[OURS, ("sec-fetch-site", by)]), forbidden, "{by}");
        }
        for by in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:7410",
            "127.0.0.1:7410",
            "http://127.0.0.1:8080",
            "http://127.0.0.1:7410/",
            "http://",
        ] {
            assert_eq!(asked("GET", "/", &[OURS, ("origin", by)]), forbidden, "{by}");
        }
        let two = [OURS, ("origin", "http://localhost:7410"), ("origin", "http://evil.example")];
        assert_eq!(asked("GET", "/", &two), forbidden);
    }

    #[test]
    fn only_reading_and_nothing_that_is_too_long() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
            let got = asked(method, "/", &[OURS]);
            assert_eq!(got, Some(StatusCode::METHOD_NOT_ALLOWED), "{method}");
        }
        let long = format!("/query?sql={}", "x".repeat(ADDRESS_BYTES_MAX));
        assert_eq!(asked("GET", &long, &[OURS]), Some(StatusCode::URI_TOO_LONG));
        for field in [("content-length", "5"), ("transfer-encoding", "chunked")] {
            let got = asked("GET", "/", &[OURS, field]);
            assert_eq!(got, Some(StatusCode::PAYLOAD_TOO_LARGE), "{field:?}");
        }
    }
}
