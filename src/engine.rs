//! Runs one trial and returns one measurement, one file each.
