//! The program as all of these tests start it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use rustix::process::Pid;
use serde_json::Value;

/// Runs it with these arguments in a folder, without colours, to its end.
pub fn brickyard(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("brickyard can be started")
}

/// The program as whoever is not root starts it, in a folder that is opened for everybody.
pub fn without_root(folder: &Path) -> Command {
    const NOBODY: u32 = 65534;
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder, open).expect("opened");
    // Where we are root the program is put where everybody can start it. By cp(1): while this
    // process had the copy open to write it, another test's child was born with that, and starting
    // the copy failed (ETXTBSY).
    let program = folder.join("brickyard");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_brickyard")).arg(&program).status();
    assert!(copied.expect("cp can be started").success());
    let mut command = Command::new(&program);
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir(folder).env("NO_COLOR", "1");
    command
}

/// Makes a store as a program of before there were checksums would have left it: what another
/// program changes of a store that has them is damaged.
pub const WITHOUT_CHECKSUMS: &str = "DROP TRIGGER seal_trial_gone; DROP TRIGGER seal_campaign_gone;
    DROP TABLE seal; DROP TABLE seal_campaign; ALTER TABLE derived DROP COLUMN seal;
    ALTER TABLE derived_light DROP COLUMN seal; ALTER TABLE derived_column DROP COLUMN seal;
    ALTER TABLE campaign DROP COLUMN left_out; ALTER TABLE campaign DROP COLUMN currency;
    PRAGMA user_version = 11";

/// The one document that `--json` prints.
pub fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("no JSON ({why}): {said}"))
}

/// The process that `parent` started, if it has one: the load's.
pub fn child_of(parent: u32) -> Option<Pid> {
    let started_by = |pid: i32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let names = Path::new("/proc").read_dir().expect("proc").flatten();
    let mut pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.find(|&pid| started_by(pid) == Some(parent)).and_then(Pid::from_raw)
}
