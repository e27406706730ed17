//! (pure) Blocks that say who they are: fill.
