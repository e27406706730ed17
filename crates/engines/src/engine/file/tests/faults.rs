//! What happens when the machine refuses: a full disk, no io_uring, too little locked memory.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{MIB, direct, directory, done, names, note, refused, trial, with};
use crate::engine::file::protocol::Failure;

/// A tiny file system, unmounted at the end.
struct Tiny(tempfile::TempDir);

impl Tiny {
    /// `None` where mounting is not allowed.
    fn mount() -> Option<Tiny> {
        let folder = directory();
        let path = folder.path().to_str().unwrap().to_owned();
        match command("mount", &["-t", "tmpfs", "-o", "size=8m", "tmpfs", &path]) {
            Ok(_) => Some(Tiny(folder)),
            Err(why) => {
                skip(&format!("a tiny tmpfs: {why}"));
                None
            }
        }
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = command("umount", &[self.0.path().to_str().unwrap()]);
    }
}

#[test]
fn a_full_disk_fails_the_trial_in_the_kernels_words() {
    let Some(tiny) = Tiny::mount() else { return };
    for engine in ["uring", "aio", "sync"] {
        let settings = json!({
            "access": "write", "io-engine": engine, "direct": false, "file-size": 64 * MIB,
            "block-size": 1 << 20, "stop": "pass",
        });
        let files = names(tiny.0.path(), 1, 1);
        let (kind, what) = refused(settings, files);
        assert_eq!(kind, Failure::Failed);
        assert!(what.contains("No space left on device"), "{engine}: {what}");
        assert!(what.contains("s0-f0") && what.contains("at byte"), "{engine}: {what}");
    }
    let mapped = json!({
        "access": "write", "io-engine": "mmap", "direct": false, "file-size": 64 * MIB,
        "stop": "pass",
    });
    let (_, what) = refused(mapped, names(tiny.0.path(), 1, 1));
    assert!(what.contains("No space left on device"), "{what}");
}

#[test]
fn a_file_system_in_memory_is_never_taken_for_a_device() {
    let Some(tiny) = Tiny::mount() else { return };
    let base = json!({"file-size": MIB, "block-size": 65536, "direct": false, "stop": "pass"});
    done(with(&base, json!({"access": "write"})), names(tiny.0.path(), 1, 1));
    let read = with(&base, json!({"access": "read"}));
    let result = done(read.clone(), names(tiny.0.path(), 1, 1));
    assert_eq!(result.resident_before_bytes, Some(MIB));
    assert!(note(&result, "not-cold"), "{:?}", result.notes);
    // Before Linux 6.6 tmpfs refuses O_DIRECT; since then it takes it and does without.
    match trial(with(&read, json!({"direct": true})), names(tiny.0.path(), 1, 1)).end {
        Some(Err((kind, what))) => {
            assert!(kind == Failure::Unsupported && what.contains("refuses direct I/O"), "{what}");
        }
        Some(Ok(result)) => assert!(note(&result, "direct-ignored"), "{:?}", result.notes),
        None => panic!("no end"),
    }
}

/// Makes these system calls fail with EPERM for the calling thread and those that it starts, as the
/// seccomp filters of containers do.
fn forbid(calls: &[libc::c_long]) {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, k, jt| libc::sock_filter { code, jt, jf: 0, k };
    let mut steps = vec![step(LOAD_NUMBER, 0, 0)];
    for (at, call) in calls.iter().enumerate() {
        steps.push(step(JUMP_IF_EQUAL, *call as u32, (calls.len() - at) as u8));
    }
    steps.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0));
    steps.push(step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0));
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program and its steps live through the call, which copies them.
    let status = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn where_io_uring_is_refused_aio_serves_and_says_so() {
    let folder = directory();
    let base = json!({
        "direct": false, "file-size": MIB, "block-size": 65536, "stop": "pass", "queue-depth": 2,
    });
    let files: Vec<Vec<PathBuf>> = names(folder.path(), 1, 1);
    let forbidden = std::thread::spawn(move || {
        forbid(&[libc::SYS_io_uring_setup]);
        let result = done(with(&base, json!({"access": "write"})), files.clone());
        assert!(note(&result, "io-engine"), "{:?}", result.notes);
        let result = done(with(&base, json!({"access": "read"})), files.clone());
        assert_eq!(result.streams[0].pass.read_bytes, MIB);
        let told = result.notes.iter().find(|note| note.kind == "io-engine").unwrap();
        assert!(told.text.contains("Operation not permitted"), "{}", told.text);
        assert!(told.text.contains("--security-opt seccomp=unconfined"), "{}", told.text);
        let polled = json!({"access": "read", "poll": true, "direct": true});
        assert_eq!(refused(with(&base, polled), files).0, Failure::Unsupported);
    });
    forbidden.join().unwrap();
}

/// In a container whose filter forbids io_setup as well, EPERM was explained by fs.aio-max-nr,
/// which has nothing to do with it.
#[test]
fn where_aio_is_refused_too_the_filter_is_named_and_no_limit_of_the_kernel() {
    let folder = directory();
    let base = json!({ "direct": false, "file-size": MIB, "block-size": 65536, "stop": "pass" });
    let files: Vec<Vec<PathBuf>> = names(folder.path(), 1, 1);
    let forbidden = std::thread::spawn(move || {
        forbid(&[libc::SYS_io_uring_setup, libc::SYS_io_setup]);
        for engine in ["uring", "aio"] {
            let settings = with(&base, json!({"access": "write", "io-engine": engine}));
            let (kind, what) = refused(settings, files.clone());
            assert_eq!(kind, Failure::Unsupported, "{engine}: {what}");
            for word in ["io_setup: Operation not permitted", "seccomp=unconfined", "=sync"] {
                assert!(what.contains(word), "{engine}: {what}");
            }
            assert!(!what.contains("aio-max-nr"), "{engine}: {what}");
        }
        done(with(&base, json!({"access": "write", "io-engine": "sync"})), files);
    });
    forbidden.join().unwrap();
}

/// Takes CAP_IPC_LOCK from the calling thread and those that it starts.
fn drop_ipc_lock() {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: the structures of capget(2) and capset(2), which live through both calls.
    let status = unsafe {
        libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr());
        sets[0].iter_mut().for_each(|set| *set &= !(1 << 14));
        libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr())
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn buffers_beyond_the_limit_on_locked_memory_are_not_registered_and_that_is_noted() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let Some(limit) = limit.filter(|limit| *limit < 64 * MIB) else { return };
    let folder = directory();
    let depth = (limit / MIB + 1).max(2);
    if !direct(folder.path()) {
        return skip("a directory that takes O_DIRECT");
    }
    let base = json!({"direct": true, "file-size": 4 * MIB, "stop": "pass"});
    let files = names(folder.path(), 1, 1);
    done(with(&base, json!({"access": "write"})), files.clone());
    let limited = std::thread::spawn(move || {
        drop_ipc_lock();
        done(with(&base, json!({"access": "read", "queue-depth": depth})), files)
    });
    let result = limited.join().unwrap();
    assert!(note(&result, "memlock"), "{:?}", result.notes);
    assert_eq!(result.streams[0].pass.read_bytes, 4 * MIB);
}

/// Gives this thread, and those it starts, another user; root only.
fn become_nobody() {
    const NOBODY: libc::c_ulong = 65534;
    // SAFETY: setresuid(2) by the system call itself, which changes the calling thread alone.
    let status = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

/// Reads of files on a mount with access times wrote them, and asked for the time of day at each.
/// The owner of a file can decline; who reads the files of another cannot, and reads all the same.
#[test]
fn reading_leaves_the_access_time_alone_and_goes_on_where_it_may_not_decline() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = directory();
    let files = names(folder.path(), 1, 1);
    let base = json!({"direct": false, "cold": false, "file-size": 4 * MIB, "stop": "pass"});
    done(with(&base, json!({"access": "write"})), files.clone());
    let accessed = |path: &Path| {
        let metadata = std::fs::metadata(path).unwrap();
        (metadata.atime(), metadata.atime_nsec())
    };
    let before = accessed(&files[0][0]);
    let read = with(&base, json!({"access": "read"}));
    done(read.clone(), files.clone());
    assert_eq!(accessed(&files[0][0]), before);
    if !rustix::process::geteuid().is_root() {
        return skip("root, to read as somebody else");
    }
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&files[0][0], std::fs::Permissions::from_mode(0o644)).unwrap();
    let other = std::thread::spawn(move || {
        become_nobody();
        done(read, files)
    });
    assert_eq!(other.join().unwrap().streams[0].pass.read_bytes, 4 * MIB);
}

/// Runs a program that must succeed.
#[expect(clippy::disallowed_methods, reason = "mounts a fixture")]
fn command(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = host::sys::gate::output(std::process::Command::new(program).args(arguments));
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// Says that a test cannot run here; libtest shows it with `--nocapture`.
#[expect(clippy::print_stdout, reason = "a test says that it is skipped")]
fn skip(why: &str) {
    println!("SKIP engine::file::tests::faults: needs {}", why.trim());
}
