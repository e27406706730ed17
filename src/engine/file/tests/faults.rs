//! What happens when the machine refuses: a full disk, no io_uring, too little locked memory.

use std::path::PathBuf;

use serde_json::json;

use super::{MIB, directory, done, names, note, refused, with};
use crate::engine::file::protocol::Failure;
use crate::sys::command;

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
                eprintln!("SKIP: needs a tiny tmpfs: {why}");
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
#[expect(clippy::print_stderr, reason = "says why it was skipped")]
fn a_full_disk_fails_the_trial_in_the_kernels_words() {
    let Some(tiny) = Tiny::mount() else {
        eprintln!("SKIP: not root");
        return;
    };
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

/// Makes io_uring_setup fail with EPERM for the calling thread and those that it starts, as the
/// seccomp filters of containers do.
fn forbid_io_uring() {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_EQUAL, libc::SYS_io_uring_setup as u32, 0, 1),
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: 4, filter: steps.as_mut_ptr() };
    // SAFETY: the program and its four steps live through the call, which copies them.
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
        forbid_io_uring();
        let result = done(with(&base, json!({"access": "write"})), files.clone());
        assert!(note(&result, "io-engine"), "{:?}", result.notes);
        let result = done(with(&base, json!({"access": "read"})), files.clone());
        assert_eq!(result.streams[0].pass.read_bytes, MIB);
        let told = result.notes.iter().find(|note| note.kind == "io-engine").unwrap();
        assert!(told.text.contains("Operation not permitted"), "{}", told.text);
        let polled = json!({"access": "read", "poll": true, "direct": true});
        assert_eq!(refused(with(&base, polled), files).0, Failure::Unsupported);
    });
    forbidden.join().unwrap();
}
