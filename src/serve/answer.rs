//! What a request gets.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::Response;

/// What a request gets.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// Its media type.
    pub media: &'static str,
    /// Under which name a browser saves it, where it is not to be shown.
    pub saved_as: Option<String>,
    /// The policy of a page that has other scripts than ours.
    pub policy: Option<String>,
    pub body: Vec<u8>,
}

impl Answer {
    /// One of our pages.
    pub fn page(markup: maud::Markup) -> Answer {
        Answer {
            status: StatusCode::OK,
            media: "text/html; charset=utf-8",
            saved_as: None,
            policy: None,
            body: markup.into_string().into_bytes(),
        }
    }

    /// The same with another status.
    pub fn with(self, status: StatusCode) -> Answer {
        Answer { status, ..self }
    }
}

/// As it is sent.
pub fn response(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.media));
    let put = |name: &str| HeaderValue::try_from(format!("attachment; filename=\"{name}\"")).ok();
    if let Some(name) = answer.saved_as.as_deref().and_then(put) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    if let Some(policy) = answer.policy.and_then(|policy| HeaderValue::try_from(policy).ok()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
