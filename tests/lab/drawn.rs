//! Plans that a person could type, drawn at random and run on a slow disk: what is printed is held
//! against what was counted, as `tests/it/drawn.rs` does on files in memory.
//!
//! 5 plans, 200 with `BRICKYARD_LONG=1`; `BRICKYARD_SEED=N` repeats a run on another disk.

use std::path::Path;
use std::process::Output;

use crate::disk::{Disk, Mount, beside_another_disk, usable};
use crate::run::draw;

#[path = "../it/drawn/held.rs"]
mod held;
#[path = "../it/drawn/plan.rs"]
mod plan;
#[path = "../it/drawn/said.rs"]
mod said;
#[path = "../it/drawn/told.rs"]
mod told;
#[path = "../it/drawn/times.rs"]
mod times;

use told::Told;

fn program(folder: &Path, arguments: &[&str]) -> Output {
    crate::run::brickyard(folder, arguments).output().expect("brickyard can be started")
}

#[test]
fn nothing_that_is_printed_of_a_slow_disk_contradicts_what_was_counted() {
    let test = "drawn plans on a slow disk";
    if !usable(test, &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let mut disk = Disk::new(600);
    let mount = Mount::format(&disk, "ext4");
    let rate = draw("disk of drawn plans, MB/s", 20, 60) * 1_000_000;
    if !disk.limit(rate, rate) {
        println!("SKIP {test}: this kernel has no cgroup v1 block throttle");
        return;
    }
    let long = std::env::var_os("BRICKYARD_LONG").is_some();
    told::hold_all(program, if long { 200 } else { 5 }, &mount.path);
}
