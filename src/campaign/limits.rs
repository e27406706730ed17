//! What a run needs of the limits that it was started under (`ulimit` of a shell), looked at before
//! it begins. One that is met on the way ends a trial, or the run.
//!
//! The memory, threads and descriptors of a load are looked at where it is checked, and what one of
//! its files may have where they are laid out.

use base::value::{self, Stop};
use experiment::knob::{self, Settings};
use facts::bare::is_device;
use host::sys::limits::{
    ADDRESSES, DATA, DESCRIPTORS, FILE_SIZE, PROCESSES, PROCESSOR_TIME, ResourceLimit,
    threads_of_user,
};
use host::sys::{Error, Host};

/// What a run may take by itself, with a load of one stream. These are guesses on the generous
/// side; `tests/it/limits.rs` holds that a run gets by with no more.
const OWN: [(&ResourceLimit, u64, &str); 3] = [
    (&DESCRIPTORS, 64, "64 open files"),
    (&ADDRESSES, 512 << 20, "512 MiB of addresses"),
    (&DATA, 64 << 20, "64 MiB of memory of its own"),
];
/// Threads that a run has besides those of its streams, in all of its processes.
const OWN_THREADS: u64 = 16;
const SECOND_NS: u64 = 1_000_000_000;

/// Refuses a run that a limit would end. What may be ended, and may well not be, is told instead.
///
/// # Errors
/// With the limit, and how it is raised.
pub fn check<'a>(
    host: &Host,
    all: impl Iterator<Item = &'a Settings>,
) -> Result<Vec<String>, Error> {
    for (limit, least, what) in OWN {
        // What a process may raise by itself is raised when that is needed.
        let allowed = if limit.name == DESCRIPTORS.name { limit.raised() } else { limit.allows() };
        if let Some(allowed) = allowed.filter(|allowed| *allowed < least) {
            return Err(refused(limit, allowed, &format!("a run needs {what} at least"), ""));
        }
    }
    let (mut streams_most, mut time_most, mut file_most) = (1, None, 0);
    for settings in all {
        let streams = if settings.has(knob::STREAMS) { settings.get(knob::STREAMS) } else { 1 };
        streams_most = streams_most.max(streams);
        time_most = time_most.max(processor_time(settings, streams));
        // Nothing is written on a device that is only read.
        if settings.directories().iter().any(|place| !is_device(place)) {
            file_most = file_most.max(settings.get(knob::FILE_SIZE));
        }
    }
    if let Some(allowed) = FILE_SIZE.allows().filter(|allowed| *allowed < file_most) {
        let what = format!("a file of {} is to be written", value::bytes(file_most as f64));
        return Err(refused(&FILE_SIZE, allowed, &what, ", or lower file-size"));
    }
    if let Some((free, allowed)) = threads_of_user(host)
        && free < streams_most.saturating_add(OWN_THREADS)
    {
        let what = format!(
            "{} and the run itself need {} threads, and this user may have {free} more",
            value::counted(streams_most, "stream"),
            streams_most.saturating_add(OWN_THREADS)
        );
        return Err(refused(&PROCESSES, allowed, &what, ", or lower streams"));
    }
    let mut warnings = Vec::new();
    if let (Some(most), Some(allowed)) = (time_most, PROCESSOR_TIME.allows())
        && most > allowed
    {
        warnings.push(format!(
            "a trial may take {most} s of processor time, and a load that takes more than is \
             allowed is killed: {}",
            PROCESSOR_TIME.told(allowed, "")
        ));
    }
    Ok(warnings)
}

fn refused(limit: &ResourceLimit, allowed: u64, what: &str, or: &str) -> Error {
    let hint = format!("{} in the shell that starts brickyard{or}", limit.raise());
    Error::new("cannot begin", format!("{what}; {}", limit.allowance(allowed))).hint(hint)
}

/// What the load of a trial that ends by the clock may take at most, s: all processors that its
/// streams can be on, all the time.
fn processor_time(settings: &Settings, streams: u64) -> Option<u64> {
    let Stop::After(ns) = settings.has(knob::STOP).then(|| settings.stop())? else { return None };
    let warm_up_ns = if settings.has(knob::WARM_UP) { settings.get(knob::WARM_UP) } else { 0 };
    let processors = host::sys::processors::allowed().len().max(1) as u64;
    Some(ns.saturating_add(warm_up_ns).div_ceil(SECOND_NS).saturating_mul(streams.min(processors)))
}
