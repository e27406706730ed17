//! (pure) Findings and figures out to people, one file a format.
