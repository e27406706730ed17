//! On which processors another process may run, or the calling thread.

use std::path::Path;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{Error, Host};

/// Lets every thread of the process `pid`, and those that they start, run on `cpus` alone.
///
/// # Errors
/// When the machine has none of them, or not all of them: the kernel leaves out what it lacks
/// without a word (sched_setaffinity(2)), so the set is read back.
pub fn restrict(host: &Host, pid: u32, cpus: &[usize]) -> Result<(), Error> {
    let what = || format!("cannot put process {pid} on the CPUs {cpus:?}");
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            let why = format!("there is no CPU {cpu} that can be asked for");
            return Err(Error::new(what(), why).hint("see `lscpu --extended`"));
        }
        set.set(cpu);
    }
    let tasks = host.list(Path::new("/proc").join(pid.to_string()).join("task"));
    let tasks = tasks.iter().filter_map(|task| task.parse().ok());
    for task in tasks.chain([pid as i32]) {
        let Some(task) = Pid::from_raw(task) else { continue };
        let put = sched_setaffinity(Some(task), &set).and_then(|()| sched_getaffinity(Some(task)));
        let in_force = put.map_err(|error| {
            Error::new(what(), std::io::Error::from(error)).hint("see `lscpu --extended`")
        })?;
        if let Some(cpu) = cpus.iter().find(|cpu| !in_force.is_set(**cpu)) {
            let why = format!("the kernel leaves out CPU {cpu}: it is not there, or not ours");
            return Err(Error::new(what(), why).hint("see `lscpu --extended`"));
        }
    }
    Ok(())
}

/// The CPUs that the calling thread may run on; empty when the kernel does not say.
pub fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Lets the calling thread, and no other, run on one CPU alone.
///
/// # Errors
/// When there is no such CPU, or it is not ours.
pub fn stay_on(cpu: usize) -> Result<(), Error> {
    let what = || format!("cannot stay on CPU {cpu}");
    if cpu >= CpuSet::MAX_CPU {
        return Err(Error::new(what(), "there is no CPU of that number that can be asked for"));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| {
        Error::new(what(), std::io::Error::from(error)).hint("see `lscpu --extended`")
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "starts something to be moved")]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_put_on_a_cpu_and_not_on_one_that_is_not_there() {
        let mut sleep = std::process::Command::new("sleep");
        let mut child = crate::sys::gate::start(sleep.arg("60")).unwrap();
        let ours = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).rfind(|cpu| ours.is_set(*cpu)).unwrap();
        let put = restrict(&Host::live(), child.id(), &[cpu]);
        let now = sched_getaffinity(Pid::from_raw(child.id() as i32)).unwrap();
        let missing = restrict(&Host::live(), child.id(), &[cpu, CpuSet::MAX_CPU - 1]);
        let beyond = restrict(&Host::live(), child.id(), &[CpuSet::MAX_CPU]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(put, Ok(()));
        assert_eq!((now.count(), now.is_set(cpu)), (1, true));
        assert!(missing.unwrap_err().why.contains("leaves out CPU"));
        assert!(beyond.is_err());
    }

    #[test]
    fn a_thread_stays_where_it_is_told_and_others_go_on() {
        let before = allowed();
        let last = *before.last().unwrap();
        let inside = std::thread::spawn(move || (stay_on(last), allowed())).join().unwrap();
        assert_eq!(inside, (Ok(()), vec![last]));
        assert_eq!(allowed(), before);
        assert!(stay_on(CpuSet::MAX_CPU - 1).is_err() && stay_on(usize::MAX).is_err());
    }
}
