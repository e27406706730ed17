//! Filters of system calls (seccomp(2)), which containers put around all that runs in them: a call
//! that anybody may make fails there, with an errno that tells of something else.

use std::io;

use super::Host;

/// Why the kernel refused `call`, which needs no privilege, with what to type where that was not
/// the kernel's own doing.
pub fn explained(call: &str, why: &io::Error) -> String {
    let status = Host::live().read("/proc/thread-self/status").unwrap_or_default();
    told(call, why, &status)
}

fn told(call: &str, why: &io::Error, status: &str) -> String {
    let by = match (why.raw_os_error(), is_filtered(status)) {
        // An older kernel has no such call, and some filters say the same.
        (Some(libc::EPERM | libc::EACCES | libc::ENOSYS), true) => {
            "; a filter of system calls (seccomp), such as a container has, can refuse it: `docker \
             run --security-opt seccomp=unconfined` starts one without, podman takes the same"
        }
        (Some(libc::EPERM | libc::EACCES), false) => {
            "; no filter of system calls is around this process: a security module (SELinux, \
             AppArmor) may refuse it, and `journalctl -k` tell of it"
        }
        _ => "",
    };
    format!("{call}: {why}{by}")
}

/// Whether a filter is around the thread of this status (proc_pid_status(5): 2 is a filter).
fn is_filtered(status: &str) -> bool {
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
    mode.is_some_and(|mode| mode.trim() == "2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_explained_by_a_filter_only_where_there_is_one() {
        let of = |errno, status| told("io_setup", &io::Error::from_raw_os_error(errno), status);
        let (filtered, free) = ("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n", "Seccomp:\t0\n");
        let why = of(libc::EPERM, filtered);
        let start = "io_setup: Operation not permitted (os error 1); a filter of";
        assert!(why.starts_with(start), "{why}");
        assert!(why.contains("seccomp=unconfined"), "{why}");
        assert!(of(libc::ENOSYS, filtered).contains("seccomp=unconfined"));
        assert!(of(libc::EPERM, free).contains("security module"));
        assert_eq!(of(libc::ENOSYS, free), "io_setup: Function not implemented (os error 38)");
        assert!(!of(libc::EAGAIN, filtered).contains("seccomp"));
        assert!(!of(libc::EPERM, "").contains("seccomp"));
    }
}
