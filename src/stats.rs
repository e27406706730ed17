//! (pure) Numbers in, numbers out.
