//! NFS as typed: what is mounted is shown, and what cannot be is refused, before anything runs.

use crate::program::{brickyard, document};

#[test]
fn the_plan_nfs_has_the_first_sources_numbers_of_readers() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brickyard(folder.path(), &["plan", "nfs", "--dir", "nas:/srv", "--json"]);
    let document = document(&output);
    let trials = document["first_trials"].as_array().expect("trials");
    let streams = |trial: &serde_json::Value| trial["settings"]["streams"].as_u64();
    let mut all: Vec<u64> = trials.iter().filter_map(streams).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all, [1, 2, 4, 8, 16, 32, 60, 100]);
    let of = |trial: &serde_json::Value| trial["settings"]["directories"].clone();
    assert!(trials.iter().all(|trial| of(trial) == serde_json::json!(["nas:/srv"])));
}

#[test]
fn a_dry_run_shows_every_way_in_which_an_export_is_mounted() {
    let folder = tempfile::tempdir().expect("a folder");
    let levels = ["nfs-version=3,4.2", "nfs-read-size=32KiB", "drop-caches=as-is"];
    let arguments = ["run", "sequential-read", "--dir", "nas:/srv", "--dry-run"];
    let output = brickyard(folder.path(), &[&arguments[..], &levels].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line =
        |options: &str| format!("mount -t nfs -o retry=0,{options} nas:/srv /run/brickyard-*");
    assert!(said.contains(&line("vers=3,rsize=32768,nolock")), "{said}");
    assert!(said.contains(&line("vers=4.2,rsize=32768")), "{said}");
}

#[test]
fn settings_of_a_mount_are_refused_where_nothing_is_mounted() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brickyard(folder.path(), &["run", "sequential-read", "nfs-version=3"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot set `nfs-version`"), "{said}");
    assert!(said.contains("--dir SERVER:/EXPORT"), "{said}");
}

/// `run nfs --dir d` on a local disk measured that, under the name of NFS.
#[test]
fn the_plan_nfs_is_refused_where_nothing_is_nfs() {
    let folder = tempfile::tempdir().expect("a folder");
    for plan in ["nfs", "nfs-tuning"] {
        let output = brickyard(folder.path(), &["run", plan, "--dir", "."]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("cannot run `{plan}` in")), "{said}");
        assert!(said.contains("it measures NFS, and that is"), "{said}");
        assert!(said.contains("--dir SERVER:/EXPORT"), "{said}");
        let shown = brickyard(folder.path(), &["plan", plan, "--dir", "."]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("refused: cannot run"), "{shown}");
    }
}
