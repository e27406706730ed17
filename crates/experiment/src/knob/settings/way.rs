//! What the access of a trial's settings does with the bytes of files.

use super::Settings;
use crate::knob::access::{Access, IoDirection};
use crate::knob::job::ACCESS;

impl Settings {
    /// Which way their bytes go; `None` of engines that move no bytes of files.
    pub fn way(&self) -> Option<IoDirection> {
        self.get(ACCESS).map(Access::way)
    }

    /// Whether they read, be it beside writing; not of engines that move no bytes of files.
    pub fn reads(&self) -> bool {
        self.get(ACCESS).is_some_and(Access::reads)
    }

    /// Whether they write, be it beside reading; not of engines that move no bytes of files.
    pub fn writes(&self) -> bool {
        self.get(ACCESS).is_some_and(Access::writes)
    }

    /// Whether they read and do not write.
    pub fn only_reads(&self) -> bool {
        self.way() == Some(IoDirection::Reads)
    }

    /// Whether they write and do not read.
    pub fn only_writes(&self) -> bool {
        self.way() == Some(IoDirection::Writes)
    }

    /// Whether blocks of files are drawn.
    pub fn is_random(&self) -> bool {
        self.get(ACCESS).is_some_and(Access::is_random)
    }

    /// Whether files are gone through block after block.
    pub fn in_order(&self) -> bool {
        self.get(ACCESS).is_some_and(Access::in_order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_moves_no_bytes_of_files_neither_reads_nor_writes() {
        let settings = Settings::defaults("mail");
        assert!(!settings.reads() && !settings.writes() && settings.way().is_none());
        assert!(Settings::defaults("file").only_reads());
    }
}
