//! (pure) What a plan measures that not every machine has, so that nothing else passes for it.

/// What must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Directories of an NFS server: without them nothing of what is asked is measured.
    Nfs,
    /// Sensors of temperature: without them all else is measured, and that is not.
    Temperature,
}

impl Need {
    /// As written in a plan.
    pub const NAMES: [(&'static str, Need); 2] =
        [("nfs", Need::Nfs), ("temperature", Need::Temperature)];
}
