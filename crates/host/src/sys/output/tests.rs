//! What is decided about outputs, and how they come to be.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

const KIND: OutputKind = OutputKind {
    name: "list of ours",
    is: |start, end| start.starts_with(b"ours\n") && end.ends_with(b"end\n"),
};

fn read(path: &Path) -> String {
    let mut text = String::new();
    File::open(path).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn write(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn decide(path: &Path, force: bool, taken: &[&Path]) -> Result<Output, Error> {
    let taken = taken.iter().map(|path| Taken::new("the plan", path)).collect();
    Output::decide(&RequestedOutput { path, flag: "--output", kind: KIND, force }, taken)
}

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
}

fn names(folder: &Path) -> usize {
    folder.read_dir().unwrap().count()
}

#[test]
fn an_output_is_new_or_of_its_kind_or_forced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let output = decide(&path, false, &[]).unwrap();
    assert!(!path.exists(), "it is only decided");
    output.write(b"ours\n1\nend\n").unwrap();
    assert_eq!(read(&path), "ours\n1\nend\n");
    mode(&path, 0o640);
    decide(&path, false, &[]).unwrap().write(b"ours\n2\nend\n").unwrap();
    assert_eq!(read(&path), "ours\n2\nend\n");
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
    write(&path, "theirs");
    let error = decide(&path, false, &[]).unwrap_err();
    assert!(error.why.contains("is no list of ours"), "{error}");
    assert!(error.hint.unwrap().contains("--force"));
    decide(&path, true, &[]).unwrap().write(b"ours\nend\n").unwrap();
    assert_eq!(names(folder.path()), 1, "nothing else is left");
    mode(folder.path(), 0o500);
    if !rustix::process::geteuid().is_root() {
        assert!(decide(&folder.path().join("new"), false, &[]).is_err(), "before it is measured");
    }
    mode(folder.path(), 0o700);
}

#[test]
fn what_is_read_is_no_place_for_an_output_forced_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("plan"), "ours\nend\n");
    std::fs::create_dir(at("tree")).unwrap();
    symlink("plan", at("link")).unwrap();
    std::fs::hard_link(at("plan"), at("hard")).unwrap();
    for path in ["plan", "link", "hard", "tree/../plan"] {
        for force in [false, true] {
            let error = decide(&at(path), force, &[&at("link")]).unwrap_err();
            assert!(error.why.starts_with("it is the plan "), "{error}");
        }
    }
    let error = decide(&at("new"), true, &[&at("tree/../new")]).unwrap_err();
    assert!(error.why.starts_with("it will be the plan "), "{error}");
    let error = decide(&at("tree/new"), true, &[&at("tree")]).unwrap_err();
    assert!(error.why.starts_with("it lies in the plan "), "{error}");
    assert!(decide(&at("other"), false, &[&at("plan"), &at("none/x"), &at("tree")]).is_ok());
    assert!(clash(&at("hard"), &[Taken::new("the plan", &at("plan"))]).is_some());
    assert!(clash(&at("other"), &[Taken::new("the plan", &at("plan"))]).is_none());
}

/// What was decided before a run of hours need not hold at its end.
#[test]
fn what_is_put_there_in_the_meantime_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let output = decide(&at("out"), false, &[&at("plan")]).unwrap();
    write(&at("out"), "theirs");
    assert!(output.write(b"ours\nend\n").is_err());
    assert_eq!(read(&at("out")), "theirs");
    std::fs::rename(at("out"), at("victim")).unwrap();
    symlink("victim", at("out")).unwrap();
    assert!(output.write(b"ours\nend\n").unwrap_err().why.contains("a link by now"));
    assert_eq!(read(&at("victim")), "theirs");
    std::fs::rename(at("out"), at("old")).unwrap();
    write(&at("plan"), "the plan");
    std::fs::hard_link(at("plan"), at("out")).unwrap();
    assert!(output.write(b"ours\nend\n").unwrap_err().why.contains("the plan"));
    // That it was made by another of us is no harm.
    std::fs::rename(at("out"), at("older")).unwrap();
    decide(&at("out"), false, &[]).unwrap().write(b"ours\nfirst\nend\n").unwrap();
    output.write(b"ours\nsecond\nend\n").unwrap();
    assert_eq!(read(&at("out")), "ours\nsecond\nend\n");
}

#[test]
fn nothing_is_put_into_a_work_directory_or_over_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let work = crate::sys::workdir::WorkDir::create(folder.path(), "x").unwrap();
    let inside = work.path().join("out");
    let error = decide(&inside, true, &[]).unwrap_err();
    assert!(error.why.contains("a work directory"), "{error}");
    assert!(decide(work.path(), true, &[]).is_err());
    work.remove().unwrap();
    let long = folder.path().join("n".repeat(255));
    decide(&long, false, &[]).unwrap().write(b"ours\nend\n").unwrap();
    decide(&long, false, &[]).unwrap().write(b"ours\nend\n").unwrap();
    let longer = folder.path().join("n".repeat(256));
    assert!(decide(&longer, false, &[]).is_err());
}

/// File systems without files that have no name, as NFS.
#[test]
fn a_file_by_way_of_a_drawn_name_is_whole_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let place = AnchoredName::find(&path, Links::Trusted).unwrap();
    let put = |bytes: &[u8], old: Option<&put::Attributes>| {
        put::put_named(place.directory(), OsStr::new("out"), bytes, old)
    };
    put(b"one", None).unwrap();
    assert_eq!(put(b"two", None).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(read(&path), "one");
    mode(&path, 0o604);
    let old = put::Attributes::from_file(File::open(&path).unwrap(), true).unwrap();
    put(b"three", Some(&old)).unwrap();
    assert_eq!((read(&path).as_str(), names(folder.path())), ("three", 1));
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o604);
    let (one, other) = (drawn().unwrap(), drawn().unwrap());
    assert_ne!(one, other);
}

#[test]
fn a_pipe_is_written_into_and_a_file_that_is_kept_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RWXU).unwrap();
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || read(&pipe))
    };
    decide(&pipe, false, &[]).unwrap().write(b"told").unwrap();
    assert_eq!(reader.join().unwrap(), "told");
    let state = folder.path().join("state");
    for text in ["one", "two"] {
        keep(&state, text.as_bytes()).unwrap();
        assert_eq!(read(&state), text);
    }
    for text in ["a", "b"] {
        append(&folder.path().join("log")).unwrap().write_all(text.as_bytes()).unwrap();
    }
    assert_eq!(read(&folder.path().join("log")), "ab");
    assert!(append(Path::new("/dev/null")).is_ok(), "a device is written into");
    assert!(append(folder.path()).is_err());
}

#[test]
fn a_new_folder_is_filled_beneath_its_descriptor_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let new = Folder::create(&path).unwrap();
    assert!(Folder::create(&path).is_err(), "it is there");
    std::fs::rename(&path, folder.path().join("moved")).unwrap();
    symlink("/nowhere", &path).unwrap();
    new.file(Path::new("a/b/c.txt")).unwrap().write_all(b"text").unwrap();
    assert_eq!(read(&folder.path().join("moved/a/b/c.txt")), "text");
    assert!(new.file(Path::new("a/b/c.txt")).is_err());
    for out in ["../x", "/x", "", "a/../../x"] {
        assert!(new.file(Path::new(out)).is_err(), "{out}");
    }
    symlink("/", folder.path().join("moved/root")).unwrap();
    assert!(new.file(Path::new("root/x")).is_err());
}
