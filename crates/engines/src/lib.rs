//! What runs a trial and gives its measurement, and what reads a user's own files.

pub mod fleet; //  the other end of a trial: rendezvous, its clock, lines between both
pub mod engine; // runs one trial and returns one measurement, one file each
pub mod verify; // reads a user's own files again and again and holds them against sums
