//! Campaigns in SQLite.
