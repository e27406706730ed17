//! Plans that a person could type, drawn at random and run on files in memory: nothing that is
//! printed may contradict the raw counts, or another figure, without being told.
//!
//! 40 plans, 1000 with `BRICKYARD_LONG=1`; `BRICKYARD_SEED=N` repeats a run. What is held is worked
//! out here from the store's counts, without the program's own judge. The lab runs others on a slow
//! disk.

use std::path::Path;

use crate::program::brickyard;

mod held;
mod plan;
mod said;
mod told;
mod times;

use told::Told;

/// Every claim, every cell and every trial of plans that nobody chose.
#[test]
fn nothing_that_is_printed_contradicts_what_was_counted() {
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1");
    let memory = Path::new("/dev/shm");
    let other = tempfile::tempdir().expect("a folder");
    let at = if memory.is_dir() { memory } else { other.path() };
    told::hold_all(brickyard, if long { 1000 } else { 40 }, at);
}
