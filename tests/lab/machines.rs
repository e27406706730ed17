//! Whole servers: Debian's own kernel in QEMU, without KVM, on disks, controllers and cards that
//! are known (`tests/lab/machine`). Slow: so their disks are slower still, and tests share a boot.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{beside_this_machine, sh, usable};

mod arc;
mod boots;
mod heated;
mod inspected;
mod measured;
mod pair;
mod pools;
mod raids;

/// What a server left behind.
pub struct Machine {
    /// Everything that its script printed.
    pub said: String,
    /// Holds `out`, to which its script wrote as `/mnt/out`.
    folder: tempfile::TempDir,
}

/// The script that boots them.
fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/machine")
}

/// Servers that are booted in every run of the tests; the others with BRICKYARD_LONG=1.
const SHORT: [&str; 2] = ["nvme", "array"];

/// Whether that server can be booted; prints SKIP for `test` when not. Not where it is for the long
/// run alone.
pub fn bootable(test: &str, server: &str) -> bool {
    bootable_with(test, server, &[])
}

/// The same of a server that the environment makes another: `ZFS` is the version of that.
fn bootable_with(test: &str, server: &str, environment: &[(&str, &str)]) -> bool {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|value| value == "1");
    if !long && !SHORT.contains(&server) {
        println!("{test}: the server {server} is booted with BRICKYARD_LONG=1");
        return false;
    }
    if !usable(test, &["qemu-system-x86_64", "xz", "apt-get", "setpriv"]) {
        return false;
    }
    // One at a time: the first fills the cache.
    let _beside = beside_this_machine();
    let ask = |words: &[&str]| {
        let mut command = Command::new(script());
        command.args(words).envs(environment.iter().copied());
        command.output().expect("the script")
    };
    if long && server == "zfs" {
        // Minutes of compiling; where it fails, what follows says what is lacking.
        let version = environment.iter().find(|(name, _)| *name == "ZFS");
        let words: Vec<&str> =
            ["build", "zfs"].into_iter().chain(version.map(|(_, of)| *of)).collect();
        println!("{}", String::from_utf8_lossy(&ask(&words).stderr));
    }
    let ready = ask(&["ready", server]);
    if !ready.status.success() {
        let said = String::from_utf8_lossy(&ready.stderr);
        println!("SKIP {test}: {}", said.lines().last().unwrap_or("no server can be assembled"));
    }
    ready.status.success()
}

impl Machine {
    /// Boots a server, runs `script` in it as root, and waits until it has ended.
    ///
    /// # Panics
    /// When it does not end within `patience`, or the script fails.
    pub fn run(
        server: &str,
        environment: &[(&str, &str)],
        script: &str,
        patience: Duration,
    ) -> Machine {
        let (machine, status) = boot(server, environment, script, patience);
        assert_eq!(status, Some(0), "{server}: the script failed:\n{}", machine.said);
        machine
    }

    /// What its script wrote to `/mnt/out/NAME`.
    pub fn wrote(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join("out").join(name)).unwrap_or_else(|error| {
            panic!("the server wrote no {name} ({error}); it said:\n{}", self.said)
        })
    }

    /// The same as JSON.
    pub fn json(&self, name: &str) -> Value {
        let text = self.wrote(name);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}:\n{text}"))
    }
}

/// Runs it once; gives its exit status too.
fn boot(
    server: &str,
    environment: &[(&str, &str)],
    text: &str,
    patience: Duration,
) -> (Machine, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let program = env!("CARGO_BIN_EXE_brickyard");
    let text = format!("program={program}\nbrickyard() {{ $program \"$@\"; }}\n{text}\n");
    std::fs::write(place("script.sh"), text).expect("a file");
    let said = std::fs::File::create(place("said")).expect("a file");
    // It ends with this process, and QEMU with it.
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "TERM"])
        .arg(script())
        .args(["run", server, "bash", "-e"])
        .arg(place("script.sh"))
        .envs(environment.iter().copied())
        .env("OUT", place("out"))
        .env("NO_COLOR", "1")
        .current_dir("/root")
        .stdin(Stdio::null())
        .stdout(said.try_clone().expect("a descriptor"))
        .stderr(said)
        .spawn()
        .expect("the script can be started");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break Some(status);
        }
        if begun.elapsed() > patience {
            // It kills its QEMU before it ends.
            sh("kill", &[&child.id().to_string()]);
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let said = std::fs::read_to_string(place("said")).unwrap_or_default();
    println!("{server} took {:.0} s", begun.elapsed().as_secs_f64());
    let status = status.unwrap_or_else(|| panic!("{server} took over {patience:?}:\n{said}"));
    (Machine { said, folder }, status.code())
}

/// One boot that several tests share: each has a piece of script in it and looks at what that said.
pub struct Shared {
    server: &'static str,
    /// A piece's name and its script; a piece that fails does not keep the next from running.
    pieces: fn() -> Vec<(&'static str, String)>,
    patience: Duration,
    ended: OnceLock<Machine>,
}

/// What one piece left.
pub struct Piece<'a> {
    pub said: String,
    pub machine: &'a Machine,
}

impl Shared {
    pub const fn new(
        server: &'static str,
        seconds: u64,
        pieces: fn() -> Vec<(&'static str, String)>,
    ) -> Shared {
        let patience = Duration::from_secs(seconds);
        Shared { server, pieces, patience, ended: OnceLock::new() }
    }

    /// Waits for the boot, which the first caller makes; None, and SKIP, where it cannot be had.
    ///
    /// # Panics
    /// When that piece failed.
    pub fn piece(&self, test: &str, name: &str) -> Option<Piece<'_>> {
        if !bootable(test, self.server) {
            return None;
        }
        let machine = self.ended.get_or_init(|| {
            let _beside = beside_this_machine();
            let mut script = String::new();
            for (name, text) in (self.pieces)() {
                script += &format!(
                    "cat > /root/piece <<'END_OF_PIECE'\n{text}\nEND_OF_PIECE\n\
                     {{ declare -p program; declare -f brickyard; cat /root/piece; }} > /root/run\n\
                     bash -e /root/run > /mnt/out/{name}.said 2>&1 && status=0 || status=$?\n\
                     echo $status > /mnt/out/{name}.status\n"
                );
            }
            Machine::run(self.server, &[], &script, self.patience)
        });
        let said = machine.wrote(&format!("{name}.said"));
        let status = machine.wrote(&format!("{name}.status"));
        assert_eq!(status.trim(), "0", "{}, {name}: it failed:\n{said}", self.server);
        Some(Piece { said, machine })
    }
}
