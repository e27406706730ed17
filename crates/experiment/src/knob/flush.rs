//! Knobs of the engine `flush-test`.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::Word;
use super::{Knob, own};
use base::value::Domain;

pub const FLUSH_LOG: Knob<Word> = own(
    "flush-log",
    Domain::Text,
    "",
    "The file that keeps what was acknowledged: on another device than the directories, or on \
     another host, mounted here",
);
pub const FLUSH_LOG_ANYWHERE: Knob<bool> = own(
    "flush-log-anywhere",
    Domain::Flag,
    "false",
    "The log may lie on the device that is tested: for tests in which only processes are killed",
);
