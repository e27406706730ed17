//! What a writing trial leaves behind for the trials that read the same files.

use crate::program::{brickyard, document};

/// A direct write sets space aside for all its files before it writes. Stopped by the clock, it
/// left most of them as holes of the right length, which counted as laid out: reading trials after
/// it read nothing from the device, and said so of themselves.
#[test]
fn files_that_a_direct_write_left_unfilled_are_written_before_others_read_them() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let at = folder.path();
    let plan = "[plan]\nname = \"both\"\nabout = \"Writing, then reading\"\nengine = \"file\"\n\
                replicates = 3\n\
                [[workload]]\nname = \"writes\"\nuse = \"sequential-write\"\ndirect = true\n\
                file-size = \"32MiB\"\nfiles = 8\nblock-size = \"64KiB\"\nstop = \"8MiB\"\n\
                [[workload]]\nname = \"reads\"\nuse = \"random-read\"\ndirect = true\n\
                file-size = \"32MiB\"\nfiles = 8\nblock-size = \"4KiB\"\nstop = \"100ms\"\n";
    std::fs::write(at.join("plan.toml"), plan).expect("a plan");
    let told = document(&brickyard(
        at,
        &["run", "plan.toml", "--dir", ".", "--seed", "3", "--json", "--quiet"],
    ));
    let trials = told["trials"].as_array().expect("trials");
    let of = |group: &str| {
        trials.iter().filter(|it| it["group"] == group && it["outcome"] == "done").count()
    };
    assert_eq!((of("writes"), of("reads")), (3, 3), "{told:#}");
    // By chance no read may follow a write; the seed makes this one sure.
    let mut wrote = false;
    let mut after = 0;
    for trial in trials {
        wrote |= trial["group"] == "writes";
        after += usize::from(wrote && trial["group"] == "reads");
        let notes = trial["notes"].as_array().expect("notes");
        let holes = notes.iter().filter(|note| note["kind"] == "sparse-files");
        assert_eq!(holes.count(), 0, "{trial:#}");
    }
    assert!(after >= 2, "{trials:#?}");
}
