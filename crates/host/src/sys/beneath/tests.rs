//! Every way in which a name can lead elsewhere, by both ways to open.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use std::ffi::CStr;
use std::os::unix::fs::symlink;

use super::*;

/// openat2(2), and what is done where there is none.
type Door = fn(BorrowedFd<'_>, &CStr, OFlags, Mode) -> Result<OwnedFd, Errno>;
const DOORS: [(&str, Door); 3] =
    [("openat2", door::at_once), ("walk", door::walk), ("either", door::open)];

/// A directory that is held, with what somebody has planted in it, and a victim beside it.
struct Planted {
    folder: tempfile::TempDir,
    held: Hold,
}

impl Planted {
    fn new() -> Planted {
        let folder = tempfile::tempdir().unwrap();
        let (work, outside) = (folder.path().join("work"), folder.path().join("outside"));
        std::fs::create_dir_all(work.join("sub/deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("victim"), "precious").unwrap();
        std::fs::write(work.join("sub/deep/own"), "own").unwrap();
        symlink(outside.join("victim"), work.join("link")).unwrap();
        symlink(&outside, work.join("way")).unwrap();
        symlink("sub/deep/own", work.join("inside")).unwrap();
        let held = hold(&work, File::open(&work).unwrap().into()).unwrap();
        Planted { folder, held }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn assert_whole(&self) {
        let victim = self.folder.path().join("outside/victim");
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    }
}

/// A link at the name of a file led to a victim, which was written over; so would one in the middle
/// of the path have, or a path that goes up.
#[test]
fn no_link_and_no_path_upwards_leads_out_of_what_is_held() {
    let planted = Planted::new();
    let write = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
    for (name, door) in DOORS {
        let open = |at: &CStr, flags| door(planted.held.directory(), at, flags, Mode::RUSR);
        for at in [c"link", c"way/victim", c"inside", c"../outside/victim", c"sub/../../x", c"/x"] {
            for flags in [OFlags::RDONLY, write] {
                let why = open(at, flags).expect_err("it leads elsewhere");
                let refusals = [Errno::LOOP, Errno::NOTDIR, Errno::XDEV];
                assert!(refusals.contains(&why), "{name} {at:?}: {why:?}");
            }
        }
        assert!(open(c"sub/deep/own", OFlags::RDWR).is_ok(), "{name}");
        assert!(open(c".", OFlags::RDONLY | FOLDER).is_ok(), "{name}");
        assert!(open(c"sub//./deep", WHERE).is_ok(), "{name}");
        assert_eq!(open(c"none", OFlags::RDONLY).unwrap_err(), Errno::NOENT, "{name}");
        planted.assert_whole();
    }
    let work = planted.work();
    for path in ["link", "way/victim", "inside", "../outside/victim"] {
        assert!(open_file(&work.join(path), write).is_err(), "{path}");
    }
    assert!(make_folder(&work.join("way/made"), Mode::RWXU).is_err());
    assert!(unlink(&work.join("way/victim")).is_err());
    assert!(replace(&work.join("way/victim"), b"x").is_err());
    planted.assert_whole();
    // The links themselves are names of ours.
    replace(&work.join("link"), b"ours").unwrap();
    assert_eq!(std::fs::read_to_string(work.join("link")).unwrap(), "ours");
    unlink(&work.join("inside")).unwrap();
    planted.assert_whole();
}

#[test]
fn what_is_mounted_below_is_not_entered() {
    let planted = Planted::new();
    let (work, outside) = (planted.work(), planted.folder.path().join("outside"));
    let at = work.join("sub/deep");
    if rustix::mount::mount_bind(&outside, &at).is_err() {
        return; // it takes root
    }
    let opened = DOORS.map(|(_, door)| {
        door(planted.held.directory(), c"sub/deep/victim", OFlags::RDWR, Mode::empty()).err()
    });
    rustix::mount::unmount(&at, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!(opened, [Some(Errno::XDEV); 3]);
}

/// A device that we may open to read; `None` for a user who may open none.
fn any_device() -> Option<(PathBuf, OwnedFd)> {
    let names = crate::sys::Host::live().list("/sys/block");
    let nodes = names.iter().map(|name| crate::sys::block::node(name));
    nodes.into_iter().find_map(|node| {
        let opened = crate::sys::block::open(&node, crate::sys::block::How::Read).ok()?;
        Some((node, opened.into()))
    })
}

/// A device that is to be read is somebody's data: whatever goes wrong above, here it ends.
#[test]
fn a_device_that_is_held_is_opened_to_be_read_alone() {
    let Some((node, device)) = any_device() else { return };
    let held = hold_device(&node, device).unwrap();
    for flags in [OFlags::RDONLY, OFlags::NOATIME, OFlags::RDONLY | OFlags::NONBLOCK] {
        let opened = open_file(&node, flags).unwrap();
        assert_eq!(
            WhichDevice::from_file(opened.as_fd()),
            WhichDevice::from_file(held.directory())
        );
        let mode = rustix::fs::fcntl_getfl(&opened).unwrap();
        assert_eq!(mode & OFlags::RWMODE, OFlags::RDONLY);
    }
    for flags in [
        OFlags::WRONLY,
        OFlags::RDWR,
        OFlags::CREATE,
        OFlags::TRUNC,
        OFlags::EXCL,
        OFlags::APPEND,
        OFlags::RDWR | OFlags::DIRECT,
        OFlags::TMPFILE,
    ] {
        let why = open_file(&node, flags).unwrap_err();
        assert_eq!(why.raw_os_error(), Some(libc::EROFS), "{flags:?}");
    }
    assert_eq!(open(&node.join("x"), OFlags::RDONLY, Mode::empty()).unwrap_err(), Errno::NOTDIR);
    let named = named([&node]);
    assert_eq!((named.len(), named[0].block), (1, WhichDevice::from_file(held.directory())));
    drop(held);
    assert!(!is_held(&node));
}

#[test]
fn what_is_no_device_is_not_held_as_one() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let opened = std::fs::File::open(file.path()).unwrap();
    let why = hold_device(file.path(), opened.into()).unwrap_err();
    assert_eq!(why, Errno::NOTBLK);
}

/// A hard link to a victim, or a file of somebody else, is no file that we made; it is not even
/// emptied.
#[test]
fn a_file_that_is_not_ours_alone_is_refused_before_it_is_emptied() {
    let planted = Planted::new();
    let work = planted.work();
    let empty = OFlags::RDWR | OFlags::TRUNC;
    std::fs::hard_link(planted.folder.path().join("outside/victim"), work.join("hard")).unwrap();
    let why = open_file(&work.join("hard"), empty).unwrap_err().to_string();
    assert!(why.contains("2 names (hard links)"), "{why}");
    planted.assert_whole();
    let why = open_file(&work.join("sub"), OFlags::RDONLY).unwrap_err().to_string();
    assert!(why.contains("no regular file"), "{why}");
    std::fs::write(work.join("theirs"), "theirs").unwrap();
    if std::os::unix::fs::chown(work.join("theirs"), Some(65534), None).is_ok() {
        let why = open_file(&work.join("theirs"), empty).unwrap_err().to_string();
        assert!(why.contains("belongs to the user 65534"), "{why}");
        assert_eq!(std::fs::read_to_string(work.join("theirs")).unwrap(), "theirs");
    }
    let made = open_file(&work.join("new"), empty | OFlags::CREATE).unwrap();
    assert_eq!(made.metadata().unwrap().len(), 0);
    open_file(&work.join("sub/deep/own"), empty).unwrap();
    assert_eq!(std::fs::read_to_string(work.join("sub/deep/own")).unwrap(), "");
}

/// The directory was renamed away, and another one got its name, with a link to a victim in it.
#[test]
fn what_is_done_goes_to_the_directory_that_is_held_wherever_it_is() {
    let planted = Planted::new();
    let (work, away) = (planted.work(), planted.folder.path().join("away"));
    assert!(planted.held.is_in_place());
    std::fs::rename(&work, &away).unwrap();
    assert!(!planted.held.is_in_place());
    std::fs::create_dir(&work).unwrap();
    symlink(planted.folder.path().join("outside/victim"), work.join("brick")).unwrap();
    let error = planted.held.check_place().unwrap_err();
    assert!(error.what.contains("was moved or replaced") && error.hint.is_some(), "{error}");

    let file = open_file(&work.join("brick"), OFlags::RDWR | OFlags::CREATE).unwrap();
    assert!(file.metadata().unwrap().is_file());
    assert!(away.join("brick").exists());
    make_folder(&work.join("made"), Mode::RWXU).unwrap();
    assert!(away.join("made").is_dir() && !work.join("made").exists());
    std::fs::write(by_number(&work.join("by-number")), "x").unwrap();
    assert!(away.join("by-number").exists());
    unlink(&work.join("brick")).unwrap();
    assert!(!away.join("brick").exists() && work.join("brick").is_symlink());
    planted.assert_whole();
}

#[test]
fn the_innermost_directory_that_is_held_counts_and_none_after_it_was_let_go() {
    let planted = Planted::new();
    let deep = planted.work().join("sub/deep");
    let inner = hold(&deep, File::open(&deep).unwrap().into()).unwrap();
    let (root, below) = root_of(&deep.join("own")).unwrap();
    assert_eq!((root.identity, below.as_path()), (inner.identity(), Path::new("own")));
    drop((root, inner));
    assert_eq!(root_of(&deep.join("own")).unwrap().1, Path::new("sub/deep/own"));
    // A name that only begins alike lies elsewhere.
    assert!(!is_held(&planted.folder.path().join("work-not")));
    let both = [planted.work().join("a"), planted.work().join("b")];
    assert_eq!(named(&both).len(), 1);
    let work = planted.work();
    drop(planted);
    assert!(!is_held(&work));
}
