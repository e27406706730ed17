//! Small files that come and go.

use super::Workload;

pub const MAILBOX: Workload = Workload {
    name: "mailbox",
    about: "Small files created, appended to, read and deleted, as a mail server does (postmark)",
    engines: &["mail"],
    settings: &[("warm-up", "2s"), ("block-size", "4KiB")],
};
