//! Walks in folders that are made for them; what other users do is played by modes.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn write(path: &Path) {
    File::create(path).unwrap();
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o1777)).unwrap();
}

fn find(path: &Path) -> AnchoredName {
    AnchoredName::find(path, Links::Trusted).unwrap()
}

#[test]
fn a_name_is_the_same_however_it_is_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("sub")).unwrap();
    write(&at.join("a"));
    symlink("a", at.join("link")).unwrap();
    symlink("new", at.join("dangles")).unwrap();
    symlink(at.join("sub/.."), at.join("back")).unwrap();
    std::fs::hard_link(at.join("a"), at.join("hard")).unwrap();
    let a = find(&at.join("a"));
    for same in ["./a", "sub/../a", "link", "back/a", "back/back/link"] {
        let place = find(&at.join(same));
        assert!(place.has_name_of(&a) && place.file() == a.file(), "{same}");
    }
    let hard = find(&at.join("hard"));
    assert!(!hard.has_name_of(&a) && hard.file() == a.file());
    let new = find(&at.join("new"));
    assert!(find(&at.join("dangles")).has_name_of(&new) && new.stat().is_none());
    assert!(new.has_name_of(&find(&at.join("dangles"))));
    assert!(at.join("dangles").symlink_metadata().is_ok_and(|it| it.is_symlink()));
    // A link on the way has a name too: what is put there is put over what is read.
    assert!(find(&at.join("a")).has_name_of(&find(&at.join("link"))));
    let beside = a.beside("-wal").unwrap();
    assert!(beside.has_name_of(&find(&at.join("back/a-wal"))) && beside.stat().is_none());
}

#[test]
fn what_leads_nowhere_is_told_in_the_kernels_words() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(&at.join("a"));
    symlink("two", at.join("one")).unwrap();
    symlink("one", at.join("two")).unwrap();
    let cases = [
        ("none/x", Errno::NOENT),
        ("a/x", Errno::NOTDIR),
        ("one", Errno::LOOP),
        ("..", Errno::ISDIR),
    ];
    for (path, errno) in cases {
        let lost = AnchoredName::find(&at.join(path), Links::All).unwrap_err();
        assert_eq!(lost, Lost::Kernel(errno), "{path}");
    }
    assert_eq!(
        AnchoredName::find(Path::new(""), Links::All).unwrap_err(),
        Lost::Kernel(Errno::NOENT)
    );
    assert_eq!(
        AnchoredName::find(Path::new("/"), Links::All).unwrap_err(),
        Lost::Kernel(Errno::ISDIR)
    );
}

/// A link in /tmp, planted by another user, had root overwrite what it led to.
#[test]
fn a_link_is_followed_only_where_nobody_else_can_have_put_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("open");
    std::fs::create_dir(&at).unwrap();
    write(&folder.path().join("victim"));
    symlink("../victim", at.join("link")).unwrap();
    symlink("..", at.join("sub")).unwrap();
    symlink("open/link", folder.path().join("to-link")).unwrap();
    assert!(find(&at.join("link")).stat().is_some());
    open_to_all(&at);
    for planted in ["open/link", "open/sub/x", "to-link"] {
        let path = folder.path().join(planted);
        let lost = AnchoredName::find(&path, Links::Trusted).unwrap_err();
        assert!(matches!(&lost, Lost::Planted(why, _) if why.contains("a link of")), "{lost:?}");
        assert!(AnchoredName::find(&path, Links::All).is_ok(), "as a program reads");
    }
    let beside = find(&at.join("li")).beside("nk").unwrap_err();
    assert!(matches!(beside, Lost::Planted(..)));
    assert!(find(&at.join("other")).stat().is_none());
}

#[test]
fn a_file_with_a_second_name_is_not_believed_where_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("open");
    std::fs::create_dir(&at).unwrap();
    write(&at.join("a"));
    assert_eq!(find(&at.join("a")).planted(), Ok(None));
    open_to_all(&at);
    assert_eq!(find(&at.join("a")).planted(), Ok(None), "ours, by one name");
    std::fs::hard_link(at.join("a"), folder.path().join("elsewhere")).unwrap();
    let why = find(&at.join("a")).planted().unwrap().unwrap();
    assert!(why.contains("2 names"), "{why}");
    assert_eq!(find(&folder.path().join("elsewhere")).planted(), Ok(None), "a folder of ours");
}

#[test]
fn what_is_opened_is_what_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path);
    let place = find(&path);
    assert!(place.open(OFlags::RDONLY).is_ok());
    write(&folder.path().join("b"));
    std::fs::rename(folder.path().join("b"), &path).unwrap();
    assert_eq!(place.open(OFlags::RDONLY).unwrap_err(), Errno::STALE);
    assert!(place.again().unwrap().open(OFlags::RDONLY).is_ok());
    std::fs::rename(&path, folder.path().join("c")).unwrap();
    symlink("c", &path).unwrap();
    assert_eq!(place.again().unwrap_err(), Lost::Kernel(Errno::LOOP));
    // The directory is held: that it has another name by now changes nothing.
    let sub = folder.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    let place = find(&sub.join("x"));
    std::fs::rename(&sub, folder.path().join("moved")).unwrap();
    place.open_own(true).unwrap();
    assert!(folder.path().join("moved/x").exists());
    place.unlink().unwrap();
    assert!(!folder.path().join("moved/x").exists());
}

#[test]
fn a_descriptor_is_known_by_its_names() {
    use std::os::fd::AsRawFd;
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("a")).unwrap();
    for of in ["/dev/fd", "/proc/self/fd"] {
        let place = find(Path::new(&format!("{of}/{}", file.as_raw_fd())));
        assert_eq!(place.descriptor(), Some(file.as_raw_fd()));
        let there = file.metadata().unwrap();
        assert_eq!(place.file(), Some((there.dev(), there.ino())));
    }
    assert_eq!(find(&folder.path().join("a")).descriptor(), None);
}

#[test]
fn directories_are_climbed_up_to_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let place = find(&deep.join("x"));
    let top = std::fs::metadata(folder.path()).unwrap();
    let top = (top.dev(), top.ino());
    let mut steps = 0;
    let found = place.climb(|_, here| {
        steps += 1;
        (here == top).then_some(steps)
    });
    assert_eq!(found, Ok(Some(3)));
    assert_eq!(place.climb(|_, _| None::<()>), Ok(None));
}
