//! Tests that need no privileges: the tidiness of the source, whole campaigns, the program as typed.

#![expect(clippy::disallowed_methods, reason = "tests are no part of the program")]

mod readme;
mod tidy;
mod typed;
