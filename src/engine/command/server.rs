//! A server that the copies use: started before them, ended after them, part of the load.

use super::copies::{Copies, Over};
use super::protocol::Spec;
use super::serve::End;
use crate::sys::{clock, held};

/// Its number among the copies; no copy has it.
pub const COPY: u32 = u32::MAX;
/// A server that cannot be used after so long never can.
const READY_NS: u64 = 60_000_000_000;
/// A server that is told to end in order gets so long.
const PATIENCE_NS: u64 = 20_000_000_000;
/// One that nobody waits for gets so long.
const DROP_NS: u64 = 3_000_000_000;
/// How often we look.
const LOOK_NS: u64 = 10_000_000;

/// Starts it, and waits until it can be used.
///
/// # Errors
/// With what it said, when it never can.
pub fn start(copies: &mut Copies, spec: &Spec) -> Result<(), End> {
    let Some(server) = &spec.server else { return Ok(()) };
    copies.start(COPY, false, &server.start)?;
    let began_ns = clock::monotonic_ns();
    loop {
        let (over, said) = copies.turn(clock::monotonic_ns() + LOOK_NS);
        super::serve::heard(said, "the server's start")?;
        over.iter().try_for_each(lost)?;
        let is_ready = |one: &super::copies::Running| one.said[1].whole().contains(&server.ready);
        if copies.running.iter().any(|one| one.copy == COPY && is_ready(one)) {
            return Ok(());
        }
        if clock::monotonic_ns() - began_ns > READY_NS {
            let why = format!("the server never said `{}`", server.ready);
            return Err(End::Failed(why));
        }
    }
}

/// Whether what has ended was the server, whose copies go on for nothing then.
///
/// # Errors
/// When it was, with how it ended.
pub fn lost(over: &Over) -> Result<(), End> {
    if over.running.copy != COPY {
        return Ok(());
    }
    let how = over.failure().unwrap_or_else(|| "ended of itself".to_owned());
    Err(End::Failed(format!("the server {how}")))
}

/// Its process, while it runs.
pub fn process(copies: &Copies) -> Option<i32> {
    let found = copies.running.iter().find(|one| one.copy == COPY);
    found.map(|one| one.held.pid)
}

/// Ends it: in order, or at once. What does not end by that is ended as all others are.
pub fn end(copies: &mut Copies, spec: &Spec, in_order: bool) {
    let (Some(server), Some(pid)) = (&spec.server, process(copies)) else { return };
    let (signal, patience_ns) = match in_order {
        true => (server.ends_by, PATIENCE_NS),
        false => (server.drops_by, DROP_NS),
    };
    held::signal(pid, signal);
    let end_ns = clock::monotonic_ns() + patience_ns;
    while process(copies).is_some() && clock::monotonic_ns() < end_ns {
        copies.turn(clock::monotonic_ns() + LOOK_NS);
    }
}
