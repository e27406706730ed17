//! What `brickyard --version` says of its making: the commit and the profile.

#![expect(clippy::disallowed_methods, reason = "no part of the program")]

use std::path::Path;
use std::process::Command;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        output.status.success().then_some(said)
    };
    // Only of a checkout of our own: unpacked below somebody's repository, that commit is not ours.
    let ours = git(&["rev-parse", "--show-toplevel"]).is_some_and(|top| {
        Path::new(&top).canonicalize().ok() == Path::new(&root).canonicalize().ok()
    });
    let commit = git(&["log", "-1", "--format=%h of %cs", "--abbrev=12"]).filter(|_| ours);
    // OUT_DIR is TARGET/PROFILE/build/brickyard-HASH/out. PROFILE itself knows two names alone.
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let profile = profile.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=BRICKYARD_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=BRICKYARD_PROFILE={profile}");
    println!("cargo::rustc-env=BRICKYARD_TARGET={target}");
    // A commit moves one of these; without them cargo would run this for each file that changes.
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|_| ours) {
            let path = Path::new(&root).join(path);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
}
