//! What a plan would change of the machine, without touching it.

use super::{leave_out, set, wanted_of};
use base::value::Value;
use experiment::knob::{Apply, Knob, Settings};
use facts::inventory::Target;
use host::inventory::group;
use host::journal::in_force;
use host::sys::{Error, Host};

/// Every write that these settings lead to, one a line, each once.
///
/// # Errors
/// When a knob has nowhere to be written here.
pub fn writes<'a>(
    host: &Host,
    cells: impl Iterator<Item = &'a Settings>,
    targets: &[Target],
) -> Result<Vec<String>, Error> {
    let mut lines: Vec<String> = Vec::new();
    for settings in cells {
        let files = |knob: &Knob| !on_interface(knob);
        files_of(host, settings, targets, files)?
            .into_iter()
            .for_each(|line| push(&mut lines, line));
        for (knob, value) in set(settings).filter(|(knob, _)| on_interface(knob)) {
            let this = |one: &Knob| one.name == knob.name;
            match files_of(host, settings, targets, this) {
                Ok(found) => found.into_iter().for_each(|line| push(&mut lines, line)),
                Err(error) => {
                    let line = format!("{}={value}: its trials are skipped: {error}", knob.name);
                    push(&mut lines, line);
                }
            }
        }
        for (knob, value) in set(settings) {
            let line = match knob.apply {
                Apply::Files(_) | Apply::Interface(_) => continue,
                Apply::Engine | Apply::Layout | Apply::ByHand | Apply::Mount | Apply::Name => {
                    continue;
                }
                Apply::MemoryGroup => {
                    let parent = group::memory(host).map_err(|e| leave_out(e, knob.name))?;
                    let (folder, limit) = (parent.folder, parent.limit);
                    let Value::Bytes(bytes) = value else { continue };
                    format!(
                        "make {folder}/brickyard-*, write {bytes} to {limit} in it and the load's \
                         process to cgroup.procs; remove it after the trial"
                    )
                }
                Apply::Processors => "let the load's process run on these CPUs alone".to_owned(),
                Apply::DropCaches if *value == Value::Flag(true) => {
                    "sync, and write 3 to /proc/sys/vm/drop_caches, before each trial".to_owned()
                }
                Apply::DropCaches => continue,
            };
            push(&mut lines, format!("{}={value}: {line}", knob.name));
        }
    }
    Ok(lines)
}

/// What a driver refuses makes trials skipped; it keeps no plan from running.
fn on_interface(knob: &Knob) -> bool {
    matches!(knob.apply, Apply::Interface(_))
}

fn files_of(
    host: &Host,
    settings: &Settings,
    targets: &[Target],
    which: impl Fn(&Knob) -> bool,
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for one in wanted_of(host, settings, targets, which)? {
        let present = host.setting(&one.place.path)?;
        let (path, text, present) = (&one.place.path, &one.text, in_force(&present));
        let line = match present == text {
            true => format!("leave {path} alone, which holds {text}"),
            false => format!("write {text} to {path}, which holds {present}"),
        };
        lines.push(format!("{}={}: {line}", one.knob, one.value));
    }
    Ok(lines)
}

fn push(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}

/// Refuses a plan that may not write what it wants to, before anything is made for it.
///
/// # Errors
/// With the first file that we may not write.
pub fn check<'a>(
    host: &Host,
    cells: impl Iterator<Item = &'a Settings>,
    targets: &[Target],
) -> Result<(), Error> {
    let may = |path: &str, knob: &str| {
        let allowed = rustix::fs::access(host.path(path), rustix::fs::Access::WRITE_OK);
        allowed.map_err(|error| {
            let error = std::io::Error::from(error);
            leave_out(Error::new(format!("cannot write {path}"), error), knob)
        })
    };
    for settings in cells {
        for one in wanted_of(host, settings, targets, |knob| !on_interface(knob))? {
            may(&one.place.path, one.knob)?;
        }
        for (knob, value) in set(settings) {
            match knob.apply {
                Apply::MemoryGroup => {
                    let parent = group::memory(host).map_err(|e| leave_out(e, knob.name))?;
                    may(&parent.folder, knob.name)?;
                }
                Apply::DropCaches if *value == Value::Flag(true) => {
                    may("/proc/sys/vm/drop_caches", knob.name)?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}
