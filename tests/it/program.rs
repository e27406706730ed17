//! The program as all of these tests start it.

use std::path::Path;
use std::process::{Command, Output};

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

/// The one document that `--json` prints.
pub fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("no JSON ({why}): {said}"))
}
