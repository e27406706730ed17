//! Acts on recorded machines, where no command is needed to decide; with real disks they are
//! undone in `provision`.
