//! Tests that need no privileges: the tidiness of the source, whole campaigns, the program as typed.

mod readme;
mod tidy;
mod typed;
