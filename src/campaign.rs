//! Runs a plan: make files, measure, store, clean up.
