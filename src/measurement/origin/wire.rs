//! (pure) Verdicts on network file systems.

use super::facts::Facts;
use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::value::{bytes, percent};

impl Facts<'_> {
    /// On a network file system: what the server sent stands for S.
    pub fn over_a_wire(&self) -> Origin {
        let filesystem = &self.evidence.filesystem;
        let past_our_cache = self.direct() || self.none_resident();
        match self.evidence.remote_read_bytes {
            Some(sent) if self.covers(sent) && past_our_cache => verdict(
                Verdict::Remote,
                None,
                format!("the server sent {}; what it had in memory is unknown", bytes(sent as f64)),
            ),
            Some(sent) if self.share(sent) <= AGREEMENT && self.all_resident() => {
                let reason = "all pages were in this machine's memory, and the server sent nothing";
                verdict(Verdict::Cache, Some(0.0), reason)
            }
            Some(sent) if !self.covers(sent) && self.share(sent) > AGREEMENT => {
                let reason = format!(
                    "the server sent at most {} of the bytes, the rest was in this machine's \
                     memory",
                    percent(self.share(sent))
                );
                verdict(Verdict::Mixed, None, reason)
            }
            Some(sent) => unknown(format!(
                "the server sent {} of {} delivered, which does not agree with what was in memory \
                 before",
                bytes(sent as f64),
                bytes(self.delivered())
            )),
            // Without the client's counter only reads that cannot have hit are sure.
            None if self.direct() || (self.none_resident() && self.each_once()) => verdict(
                Verdict::Remote,
                None,
                format!("{filesystem} is another machine's; what that had in memory is unknown"),
            ),
            None => unknown(format!(
                "{filesystem} has no count of what came over the wire, and this machine's memory \
                 may have served"
            )),
        }
    }

    /// Whether no byte was read twice.
    fn each_once(&self) -> bool {
        match self.evidence.reread_bytes {
            Some(reread) => self.share(reread) <= AGREEMENT,
            None => {
                self.word("access") == "read"
                    && self.delivered() <= (1.0 + AGREEMENT) * self.evidence.file_bytes as f64
            }
        }
    }
}
