//! Devices that are only read, as people type them: what is refused before anything is opened.

use std::path::Path;

use crate::program::brickyard;

/// What must be refused, with a hint, no store made.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = brickyard(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.starts_with("error: ") && said.contains("hint: "), "{arguments:?}: {said}");
    assert!(!folder.join("brickyard.db").exists(), "{arguments:?}");
    said
}

/// No device has that name; whoever would write is refused before one is looked for.
const NONE: &str = "serial:of-no-disk";

#[test]
fn what_would_write_on_a_device_that_is_only_read_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |workload: &str, more: &[&str]| {
        let first = ["run", workload, "--read-only-device", NONE];
        refused(folder.path(), &[&first[..], more].concat())
    };
    for (workload, more, why) in [
        ("sequential-write", &[][..], "the workload `sequential-write` writes (access=write)"),
        ("random-write", &[], "the workload `random-write` writes"),
        ("mixed", &[], "the workload `mixed` writes (access=random-mix)"),
        ("sequential-read", &["access=read,rewrite"], "writes (access=rewrite)"),
        ("streams", &[], "the workload `sequential-write` writes"),
        ("metadata", &[], "runs on the engine `tree`"),
        ("bonnie", &[], "is only read"),
        ("integrity", &[], "runs on the engine `integrity`"),
        ("random-read", &["--engine", "fio"], "runs on the engine `fio`"),
        ("random-read", &["raid=raid5"], "`raid` is a setting of a file system"),
        ("random-read", &["precondition=fill"], "`precondition` is a setting"),
        ("random-read", &["files=2"], "files=2 cannot be had"),
        ("random-read", &["verify=crc32c"], "verify=crc32c cannot be had"),
        ("sequential-read", &["io-engine=stdio", "direct=false"], "io-engine=stdio cannot be"),
    ] {
        let said = with(workload, more);
        let only = why == "is only read" && said.contains("only read");
        assert!(said.contains(why) || only, "{workload} {more:?}: {said}");
    }
    let said = with("random-read", &[]);
    assert!(said.contains("no disk of this machine has that serial number"), "{said}");
    assert!(with("random-read", &["--dir", "."]).contains("cannot be used with '--dir <DIR>'"));
    assert!(with("random-read", &["--device", NONE]).contains("cannot be used with '--device"));
}

#[test]
fn names_that_lead_to_no_whole_device_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("image");
    std::fs::write(&file, [1; 4096]).expect("a file");
    let file = file.to_str().expect("text");
    let shown = format!("loop:{file}");
    for (named, why) in [
        (file, "it is no name of a disk"),
        (&shown, "no loop device shows that file"),
        ("/dev/disk/by-id/of-no-disk", "there is no /dev/disk/by-id/of-no-disk"),
        ("path:/dev/null,size=5", "no block device"),
        ("path:/dev/sda", "takes its size"),
        ("sdzzz", "it is no name of a disk"),
    ] {
        let run = ["run", "random-read", "--read-only-device", named];
        let said = refused(folder.path(), &run);
        assert!(said.contains(why), "{named}: {said}");
        assert!(said.contains(&format!("cannot use the disk `{named}`")), "{said}");
    }
    assert_eq!(std::fs::read(file).expect("it is there"), [1; 4096]);
}

#[test]
fn a_plan_names_them_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = |target: &str, workload: &str| {
        let text = format!(
            "[plan]\nname = \"p\"\n[target]\nread-only-devices = [\"{NONE}\"]\n{target}\n\
             [[workload]]\nuse = \"{workload}\"\n"
        );
        std::fs::write(folder.path().join("p.toml"), text).expect("a plan");
        refused(folder.path(), &["run", "p.toml"])
    };
    let said = plan("directories = [\".\"]", "random-read");
    assert!(said.contains("either `read-only-devices` or `directories`"), "{said}");
    assert!(plan("devices = [\"serial:1\"]", "random-read").contains("or `devices`"));
    assert!(plan("", "random-write").contains("`random-write` writes"));
    assert!(plan("", "random-read").contains("has that serial number"));
    // A simulated server has no devices, and what is typed wins over the plan.
    let sim = ["run", "p.toml", "--engine", "sim", "--replicates", "1", "stop=1s", "--json"];
    assert!(brickyard(folder.path(), &sim).status.success());
    let here = ["run", "p.toml", "--dir", ".", "--dry-run"];
    let output = brickyard(folder.path(), &here);
    assert!(String::from_utf8_lossy(&output.stdout).contains("brickyard-*"), "{output:?}");
}
