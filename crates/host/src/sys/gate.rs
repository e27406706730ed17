//! The moment in which a child is started, and the moment in which nobody starts one.
//!
//! Between fork(2) and execve(2) a child has a copy of every descriptor, also of those that bear
//! O_CLOEXEC. A disk that is let go of in that moment is still held by O_EXCL, and the mkfs that
//! comes next finds it in use.

use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock};

/// Held shared while a child is started, and alone while no child may be.
static GATE: RwLock<()> = RwLock::new(());

/// Starts a child; when this returns it has begun its program.
///
/// # Errors
/// The kernel's.
#[expect(clippy::disallowed_methods, reason = "this module is the door")]
pub fn start(command: &mut Command) -> std::io::Result<Child> {
    let _one_of_many = GATE.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// Starts a child and waits for what it says.
///
/// # Errors
/// The kernel's.
#[cfg(any(test, feature = "testing"))]
pub fn output(command: &mut Command) -> std::io::Result<std::process::Output> {
    use std::process::Stdio;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    start(command)?.wait_with_output()
}

/// Lets a child that begins no program be forked and end: until then it has a copy of every
/// descriptor, and one that aborts keeps them while the kernel looks where to put its core.
#[cfg(any(test, feature = "testing"))]
pub fn while_forked<T>(work: impl FnOnce() -> T) -> T {
    let _one_of_many = GATE.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Does something while nobody starts a child: what is opened and closed in it, no child has.
pub fn while_none_starts<T>(work: impl FnOnce() -> T) -> T {
    let _alone = GATE.write().unwrap_or_else(PoisonError::into_inner);
    work()
}
