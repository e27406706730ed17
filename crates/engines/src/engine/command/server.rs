//! A server that the copies use: started before them, ended after them, part of the load.

use super::copies::{Copies, EndedProgram};
use super::end::{NoCommandResult, heard};
use super::protocol::{CommandSpec, ProgramStart, ServerReadiness};
use host::sys::{clock, held};

/// Its number among the copies; no copy has it.
pub const COPY: u32 = u32::MAX;
/// Of what asks whether it can be used.
const PROBE: u32 = COPY - 1;
/// Before it is asked again.
const PAUSE_NS: u64 = 50_000_000;
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
pub fn start(copies: &mut Copies, spec: &CommandSpec) -> Result<(), NoCommandResult> {
    let Some(server) = &spec.server else { return Ok(()) };
    copies.start(COPY, false, &server.start)?;
    let began_ns = clock::monotonic_ns();
    let word = match &server.ready {
        ServerReadiness::Succeeds(probe) => return asked(copies, probe, began_ns),
        ServerReadiness::Says(word) => word,
    };
    loop {
        look(copies, LOOK_NS)?;
        let is_ready = |one: &super::copies::RunningProgram| one.said[1].whole().contains(word);
        if copies.running.iter().any(|one| one.copy == COPY && is_ready(one)) {
            return Ok(());
        }
        if clock::monotonic_ns() - began_ns > READY_NS {
            return Err(NoCommandResult::Failed(format!("the server never said `{word}`")));
        }
    }
}

/// Asks until it answers.
fn asked(copies: &mut Copies, probe: &ProgramStart, began_ns: u64) -> Result<(), NoCommandResult> {
    let mut why = None;
    loop {
        copies.start(PROBE, false, probe)?;
        let answer = loop {
            let over = look(copies, LOOK_NS)?;
            if let Some(over) = over.iter().find(|over| over.running.copy == PROBE) {
                break over.failure();
            }
            in_time(began_ns, why.as_deref().unwrap_or("hangs"))?;
        };
        let Some(failure) = answer else { return Ok(()) };
        in_time(began_ns, &failure)?;
        why = Some(failure);
        // The server may end while we wait, too.
        look(copies, PAUSE_NS)?;
    }
}

/// What has ended within so long.
///
/// # Errors
/// When the server has, or when we are told to end.
fn look(copies: &mut Copies, for_ns: u64) -> Result<Vec<EndedProgram>, NoCommandResult> {
    let (over, said) = copies.turn(clock::monotonic_ns() + for_ns);
    heard(said, "the server's start")?;
    over.iter().try_for_each(lost)?;
    Ok(over)
}

/// Whether there is time to ask again, after what came of asking `how`.
fn in_time(began_ns: u64, how: &str) -> Result<(), NoCommandResult> {
    if clock::monotonic_ns() - began_ns <= READY_NS {
        return Ok(());
    }
    Err(NoCommandResult::Failed(format!("the server was not ready after 60 s: ready {how}")))
}

/// Whether what has ended was the server, whose copies go on for nothing then.
///
/// # Errors
/// When it was, with how it ended.
pub fn lost(over: &EndedProgram) -> Result<(), NoCommandResult> {
    if over.running.copy != COPY {
        return Ok(());
    }
    let how = over.failure();
    let how = how.unwrap_or_else(|| format!("ended of itself{}", over.last_words()));
    Err(NoCommandResult::Failed(format!("the server {how}")))
}

/// Its process, while it runs.
pub fn process(copies: &Copies) -> Option<i32> {
    let found = copies.running.iter().find(|one| one.copy == COPY);
    found.map(|one| one.held.pid)
}

/// Ends it: in order, or at once. What does not end by that is ended as all others are.
pub fn end(copies: &mut Copies, spec: &CommandSpec, in_order: bool) {
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
