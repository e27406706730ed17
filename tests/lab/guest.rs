//! A guest with a kernel of its own: user-mode Linux, which has md, the device mapper and file
//! systems that the machine at hand may lack. Its root is the host's, read-only, so every program
//! here is there; its disks are throttled inside, to a speed that is known.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::disk::{sh, usable};

/// What a guest left behind.
pub struct Guest {
    /// Everything that its script printed.
    pub said: String,
    /// Holds `out`, to which the guest's script writes as `/mnt/out`.
    folder: tempfile::TempDir,
}

/// The disks of a guest: how many, of what size, how fast.
#[derive(Clone, Copy)]
pub struct Disks {
    /// At most 16: `/dev/ubda` and on.
    pub count: usize,
    /// Each.
    pub mib: u64,
    /// Of each, reading and writing alike.
    pub bytes_per_s: u64,
}

/// Whether a guest can be had; prints SKIP for `test` when not.
pub fn bootable(test: &str, tools: &[&str]) -> bool {
    let tools: Vec<&str> = ["linux.uml", "gcc"].iter().chain(tools).copied().collect();
    usable(test, &tools)
}

impl Guest {
    /// Boots a guest, runs `script` in it as root, and waits until it has ended.
    ///
    /// The guest's kernel itself has hung, once in hundreds of runs, in a place where no program of
    /// ours was: `mkfs.ext4` over raid0. So `watch.sh` in the guest beats, and tells of disks that
    /// have stopped. A guest of which that is seen says where it was, and is booted anew, once; one
    /// whose script is only late is not.
    ///
    /// # Panics
    /// When it does not end within `patience`, or the script fails.
    pub fn run(disks: Disks, memory_mib: u64, script: &str, patience: Duration) -> Guest {
        let mut hung = String::new();
        for _ in 0..2 {
            let folder = tempfile::tempdir().expect("a folder");
            match boot(folder, disks, memory_mib, script, patience) {
                Ok(guest) => return guest,
                Err(told) => {
                    println!("the guest's kernel hung:\n{told}");
                    hung = told;
                }
            }
        }
        panic!("the guest's kernel hung twice:\n{hung}");
    }

    /// The same with its disks in a folder of the caller's choice, and once only.
    pub fn run_in(
        folder: tempfile::TempDir,
        disks: Disks,
        memory_mib: u64,
        script: &str,
        patience: Duration,
    ) -> Guest {
        boot(folder, disks, memory_mib, script, patience)
            .unwrap_or_else(|told| panic!("the guest's kernel hung:\n{told}"))
    }

    /// What the guest's script wrote to `/mnt/out/NAME`.
    pub fn wrote(&self, name: &str) -> String {
        let path = self.folder.path().join("out").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("the guest wrote no {name} ({error}); it said:\n{}", self.said)
        })
    }
}

/// Runs it once; an error is what there is to say of a kernel that hung.
fn boot(
    folder: tempfile::TempDir,
    disks: Disks,
    memory_mib: u64,
    script: &str,
    patience: Duration,
) -> Result<Guest, String> {
    prepare(folder.path(), disks, script);
    let console = std::fs::File::create(folder.path().join("console")).expect("a file");
    let mut command = Command::new("linux.uml");
    command
        .arg(format!("mem={memory_mib}M"))
        .arg(format!("init={}", folder.path().join("init.sh").display()))
        .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
        .args(["con0=null,fd:1", "con=null", "quiet", "loglevel=3"])
        .env("LD_PRELOAD", folder.path().join("xstate.so"))
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(console.try_clone().expect("a descriptor"))
        .stderr(console);
    for disk in 0..disks.count {
        command.arg(format!("ubd{disk}={}", image(folder.path(), disk).display()));
    }
    let running = Running(command.spawn().expect("linux.uml can be started"));
    let out = folder.path().join("out");
    let end = running.wait(patience, BEAT, &out);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name));
    let (said, status) = (read("out/said").unwrap_or_default(), read("out/status"));
    let console = read("console").unwrap_or_default();
    match end {
        End::Ended => {}
        End::Late => panic!("the guest did not end within {patience:?}:\n{said}\n{console}"),
        End::Hung(why) => return Err(format!("{why}\n{said}\n{console}")),
    }
    let status = status.unwrap_or_else(|_| panic!("the guest died:\n{said}\n{console}"));
    assert_eq!(status.trim(), "0", "the guest's script failed:\n{said}\n{console}");
    Ok(Guest { said, folder })
}

fn image(folder: &Path, disk: usize) -> PathBuf {
    folder.join(format!("disk{disk}.img"))
}

fn prepare(folder: &Path, disks: Disks, script: &str) {
    let here = folder.display().to_string();
    let limit = disks.bytes_per_s.to_string();
    let write = |name: &str, text: &str| {
        let text = text.replace("@HERE@", &here).replace("@LIMIT@", &limit);
        std::fs::write(folder.join(name), text).expect("a file for the guest");
    };
    write("init.sh", include_str!("guest/init.sh"));
    write("stage.sh", include_str!("guest/stage.sh"));
    write("watch.sh", include_str!("guest/watch.sh"));
    let program = env!("CARGO_BIN_EXE_brickyard");
    write(
        "script.sh",
        &format!("set -e\nprogram={program}\nbrickyard() {{ $program \"$@\"; }}\n{script}\n"),
    );
    write("xstate.c", include_str!("guest/xstate.c"));
    std::fs::create_dir(folder.join("out")).expect("a folder");
    sh("chmod", &["+x", &format!("{here}/init.sh")]);
    let (source, library) = (format!("{here}/xstate.c"), format!("{here}/xstate.so"));
    sh("gcc", &["-O2", "-shared", "-fPIC", "-o", &library, &source]);
    for disk in 0..disks.count {
        let file = std::fs::File::create(image(folder, disk)).expect("a disk's image");
        file.set_len(disks.mib << 20).expect("room for a disk");
    }
}

/// The guest's process; killed, with those that it traces, when dropped.
struct Running(Child);

/// How the wait for a guest ended.
#[derive(Debug)]
enum End {
    Ended,
    /// It runs still.
    Late,
    /// Its kernel, or its disks, do not go on: what is known of it.
    Hung(String),
}

/// A guest that beats every two seconds and has not for so long has stopped.
const BEAT: Duration = Duration::from_secs(90);

impl Running {
    /// Waits for its end; `out` is where its `watch.sh` writes.
    fn wait(mut self, patience: Duration, beats: Duration, out: &Path) -> End {
        let begun = Instant::now();
        let mut beat = (String::new(), Instant::now());
        while begun.elapsed() < patience {
            if self.0.try_wait().expect("our own child").is_some() {
                return End::Ended;
            }
            if let Ok(told) = std::fs::read_to_string(out.join("hung")) {
                return End::Hung(format!("its disks stopped, and these wait for them:\n{told}"));
            }
            let now = std::fs::read_to_string(out.join("beat")).unwrap_or_default();
            if now != beat.0 {
                beat = (now, Instant::now());
            } else if beat.1.elapsed() > beats {
                return End::Hung(format!("nothing of it ran for {beats:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        End::Late
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its processes are traced by it, and are killed with it (PTRACE_O_EXITKILL).
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A guest hung for 15 minutes in its own kernel and took a whole run of the tests with it. Whoever
/// waits for one tells a late script, which is ours to mend, from a guest that does not go on.
#[test]
fn a_guest_that_hangs_is_told_from_one_that_is_late() {
    let soon = Duration::from_millis(300);
    let begin = |words: &str| {
        let child = Command::new("sh").args(["-c", words]).spawn().expect("sh");
        (Running(child), tempfile::tempdir().expect("a folder"))
    };
    let (running, out) = begin("exit 0");
    assert!(matches!(running.wait(BEAT, BEAT, out.path()), End::Ended));
    let (running, out) = begin("exec sleep 100");
    assert!(matches!(running.wait(soon, BEAT, out.path()), End::Late));
    let (running, out) = begin("exec sleep 100");
    let end = running.wait(BEAT, soon, out.path());
    assert!(matches!(&end, End::Hung(why) if why.contains("nothing of it ran")), "{end:?}");
    let (running, out) = begin("exec sleep 100");
    std::fs::write(out.path().join("hung"), "7: mkfs.ext4").expect("a file");
    let end = running.wait(BEAT, BEAT, out.path());
    assert!(matches!(&end, End::Hung(why) if why.contains("7: mkfs.ext4")), "{end:?}");
    // While it beats it is waited for.
    let (running, out) = begin("exec sleep 100");
    let file = out.path().join("beat");
    let beating = std::thread::spawn(move || {
        for beat in 0..20 {
            let _ = std::fs::write(&file, beat.to_string());
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(matches!(running.wait(3 * soon, 2 * soon, out.path()), End::Late));
    beating.join().expect("it ended");
}
