//! What is removed, and what is not.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use super::*;

#[test]
fn a_work_directory_is_removed_with_what_we_made_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let work = WorkDir::create(parent.path(), "a").unwrap();
    File::create(work.path().join(file_name(7))).unwrap();
    let path = work.path().to_owned();
    assert_eq!(work.remove().unwrap(), Swept::Removed(path.clone()));
    assert!(!path.exists());

    let work = WorkDir::create(parent.path(), "b").unwrap();
    File::create(work.path().join("thesis.doc")).unwrap();
    let path = work.path().to_owned();
    assert_eq!(work.remove().unwrap(), Swept::Kept(path.clone(), vec!["thesis.doc".into()]));
    assert!(path.join("thesis.doc").exists());
}

/// A program leaves folders, and links that lead out of them.
#[test]
fn the_folder_of_a_trial_goes_with_all_that_is_in_it_and_nothing_outside() {
    let parent = tempfile::tempdir().unwrap();
    let precious = parent.path().join("precious");
    std::fs::create_dir(&precious).unwrap();
    File::create(precious.join("thesis.doc")).unwrap();
    let work = WorkDir::create(parent.path(), "a").unwrap();
    let fill = || {
        let folder = make_folder(work.path(), 3).unwrap();
        std::fs::create_dir_all(folder.join("x/y/z")).unwrap();
        File::create(folder.join("x/y/f")).unwrap();
        std::os::unix::fs::symlink(&precious, folder.join("x/link")).unwrap();
        folder
    };
    let folder = fill();
    remove_folder(work.path(), 3).unwrap();
    assert!(!folder.exists() && precious.join("thesis.doc").exists());
    fill();
    // Also what a run that was killed left there.
    let path = work.path().to_owned();
    assert_eq!(work.remove().unwrap(), Swept::Removed(path));
    assert!(precious.join("thesis.doc").exists());
}

/// A program may bind somebody's directory into the folder of its trial. It lies on the same
/// device then, and was taken for ours, with all that it held.
#[test]
fn what_is_bound_into_the_folder_of_a_trial_is_not_emptied() {
    let parent = tempfile::tempdir().unwrap();
    let precious = parent.path().join("precious");
    std::fs::create_dir(&precious).unwrap();
    File::create(precious.join("thesis.doc")).unwrap();
    let work = WorkDir::create(parent.path(), "a").unwrap();
    let bound = make_folder(work.path(), 3).unwrap().join("bound");
    std::fs::create_dir(&bound).unwrap();
    if rustix::mount::mount_bind(&precious, &bound).is_err() {
        return; // it takes root
    }
    let refused = remove_folder(work.path(), 3);
    let kept = precious.join("thesis.doc").exists();
    rustix::mount::unmount(&bound, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert!(kept, "what was bound there is gone");
    assert!(refused.unwrap_err().hint.unwrap_or_default().contains("unmount it first"));
    remove_folder(work.path(), 3).unwrap();
}

/// A run that was killed between making its directory and marking it could not be resumed any more:
/// "cannot make a directory in /tmp/...: File exists", in one of a thousand kills.
#[test]
fn a_directory_that_a_killed_run_had_not_marked_yet_is_taken_for_just_made() {
    let parent = tempfile::tempdir().unwrap();
    for (number, begun) in [None, Some(""), Some("This dir"), Some(MAGIC)].iter().enumerate() {
        let path = parent.path().join(format!("brickyard-{number}"));
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
        if let Some(begun) = begun {
            std::fs::write(path.join(MARKER), begun).unwrap();
        }
        let work = WorkDir::create(parent.path(), &number.to_string()).unwrap();
        assert!(bears_marker(work.held.directory()), "{begun:?}");
        let said = std::fs::read_to_string(path.join(MARKER)).unwrap();
        assert_eq!(said, format!("{MAGIC}\n"), "{begun:?}");
        assert_eq!(work.remove().unwrap(), Swept::Removed(path));
    }
}

/// Where the directory outlives its run, as of `integrity`, such a run still could not go on: "it
/// does not bear our marker".
#[test]
fn a_directory_that_is_kept_and_was_not_marked_yet_is_made_and_not_taken_up() {
    let parent = tempfile::tempdir().unwrap();
    for (number, begun) in [None, Some(""), Some("This dir")].iter().enumerate() {
        let (path, name) = (parent.path().join(format!("brickyard-{number}")), number.to_string());
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
        if let Some(begun) = begun {
            std::fs::write(path.join(MARKER), begun).unwrap();
        }
        assert!(WorkDir::take_up(parent.path(), &name).unwrap().is_none(), "{begun:?}");
        let work = WorkDir::create_kept(parent.path(), &name, "for a test").unwrap();
        assert_eq!(work.rest(), path);
        assert!(WorkDir::take_up(parent.path(), &name).unwrap().is_some(), "{begun:?}");
    }
    // Somebody else's.
    for (name, file) in [("theirs", "a"), ("named", MARKER)] {
        let path = parent.path().join(format!("brickyard-{name}"));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join(file), "anything else").unwrap();
        assert!(WorkDir::take_up(parent.path(), name).is_err(), "{name}");
    }
}

/// Whoever starts a program forks first, and the child has all our files open until it executes
/// it: "another run uses it" was said of a directory that nobody used any more.
#[test]
fn a_directory_that_is_let_go_of_is_free_whoever_else_has_its_marker_open() {
    let parent = tempfile::tempdir().unwrap();
    let work = WorkDir::create_kept(parent.path(), "kept", "for a test").unwrap();
    let of_child = rustix::io::dup(&work.marker).unwrap();
    work.rest();
    assert!(WorkDir::take_up(parent.path(), "kept").unwrap().is_some());
    drop(of_child);
}

#[test]
fn no_other_directory_is_taken_for_just_made() {
    let parent = tempfile::tempdir().unwrap();
    let refused = |name: &str| {
        let error = WorkDir::create(parent.path(), name).unwrap_err();
        assert!(error.to_string().contains("File exists"), "{name}: {error}");
    };
    let path = |name: &str| parent.path().join(format!("brickyard-{name}"));
    // One that is used, and one whose run has ended.
    let living = WorkDir::create(parent.path(), "living").unwrap();
    refused("living");
    drop(living);
    refused("living");
    let holds = |name: &str, file: &str, text: &str| {
        std::fs::create_dir(path(name)).unwrap();
        std::fs::write(path(name).join(file), text).unwrap();
        refused(name);
        assert_eq!(std::fs::read_to_string(path(name).join(file)).unwrap(), text);
    };
    holds("theirs", "thesis.doc", "");
    holds("strange", MARKER, "A mark of mine");
    // Being made by another run.
    std::fs::create_dir(path("locked")).unwrap();
    let marker = File::create(path("locked").join(MARKER)).unwrap();
    rustix::fs::flock(&marker, FlockOperation::LockExclusive).unwrap();
    refused("locked");
    // A link to an empty directory is none of ours.
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), path("link")).unwrap();
    refused("link");
    // Nor is one in which others may write.
    std::fs::create_dir(path("shared")).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(path("shared"), open).unwrap();
    refused("shared");
    assert!(path("shared").read_dir().unwrap().next().is_none(), "and nothing is left in it");
}

#[test]
fn a_sweep_takes_only_marked_directories_that_nobody_uses() {
    let parent = tempfile::tempdir().unwrap();
    let living = WorkDir::create(parent.path(), "living").unwrap();
    let dead = WorkDir::create(parent.path(), "dead").unwrap();
    let dead_path = dead.path().to_owned();
    drop(dead);
    let unmarked = parent.path().join("brickyard-unmarked");
    std::fs::create_dir(&unmarked).unwrap();
    File::create(unmarked.join(file_name(0))).unwrap();
    let empty_marker = parent.path().join("brickyard-being-made");
    std::fs::create_dir(&empty_marker).unwrap();
    File::create(empty_marker.join(MARKER)).unwrap();

    let swept: Vec<Swept> = sweep(parent.path()).into_iter().map(|s| s.unwrap()).collect();
    assert_eq!(swept, [Swept::Removed(dead_path)]);
    assert!(living.path().exists() && unmarked.join(file_name(0)).exists());
    assert!(empty_marker.exists());
}

/// What was written before a reboot is to be read after it, whoever runs in between.
#[test]
fn a_directory_that_is_kept_outlives_its_run_and_is_taken_up_by_its_name_alone() {
    let parent = tempfile::tempdir().unwrap();
    let work = WorkDir::create_kept(parent.path(), "a", "for the rest of its run").unwrap();
    let file = work.path().join(file_name(0));
    File::create(&file).unwrap();
    assert!(WorkDir::take_up(parent.path(), "a").is_err(), "its run lives");
    let path = work.rest();
    let waits = Swept::Waits(path.clone(), "for the rest of its run".into());
    // A program that another test starts meanwhile holds a copy of the lock until its exec(2).
    let swept = (0..100).map(|_| sweep(parent.path())).find(|swept| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        !swept.is_empty()
    });
    assert_eq!(swept.unwrap_or_default(), [Ok(waits)]);
    assert!(WorkDir::take_up(parent.path(), "b").unwrap().is_none());
    let work = WorkDir::take_up(parent.path(), "a").unwrap().unwrap();
    assert!(file.exists() && sweep(parent.path()).is_empty(), "it is in use again");
    assert_eq!(work.remove().unwrap(), Swept::Removed(path));
    // A directory of that name which is not ours is neither used nor removed.
    std::fs::create_dir(parent.path().join("brickyard-c")).unwrap();
    File::create(parent.path().join("brickyard-c/thesis.doc")).unwrap();
    assert!(WorkDir::take_up(parent.path(), "c").is_err());
}

#[test]
fn a_link_is_removed_and_what_it_leads_to_is_not() {
    let parent = tempfile::tempdir().unwrap();
    let precious = parent.path().join("precious");
    File::create(&precious).unwrap();
    let real = parent.path().join("elsewhere");
    std::fs::create_dir(&real).unwrap();
    let work = WorkDir::create(parent.path(), "a").unwrap();
    std::os::unix::fs::symlink(&precious, work.path().join(file_name(0))).unwrap();
    work.remove().unwrap();
    assert!(precious.exists());
    // A link that looks like a work directory is not followed.
    std::fs::write(real.join(MARKER), format!("{MAGIC}\n")).unwrap();
    std::os::unix::fs::symlink(&real, parent.path().join("brickyard-link")).unwrap();
    assert!(sweep(parent.path()).is_empty());
    assert!(real.join(MARKER).exists());
}

/// Who owned the directory above renamed ours away and gave its name to one of his own: we worked
/// in that, and removed what was in it.
#[test]
fn a_directory_that_was_moved_is_emptied_where_it_is_and_what_has_its_name_stays() {
    let parent = tempfile::tempdir().unwrap();
    let work = WorkDir::create(parent.path(), "a").unwrap();
    let (path, away) = (work.path().to_owned(), parent.path().join("away"));
    std::fs::rename(&path, &away).unwrap();
    std::fs::create_dir_all(path.join("trial-00001")).unwrap();
    std::fs::write(path.join("trial-00001/thesis.doc"), "x").unwrap();
    std::fs::write(path.join(file_name(0)), "x").unwrap();
    let error = work.check_place().unwrap_err();
    assert!(error.what.contains("was moved or replaced while we measured"), "{error}");

    let folder = make_folder(&path, 1).unwrap();
    assert_eq!(folder, path.join("trial-00001"));
    assert!(away.join("trial-00001").is_dir());
    std::fs::write(away.join(file_name(0)), "ours").unwrap();
    remove_file(&path.join(file_name(0))).unwrap();
    assert!(!away.join(file_name(0)).exists() && path.join(file_name(0)).exists());
    assert_eq!(work.remove().unwrap(), Swept::Moved(path.clone()));
    assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
    assert!(path.join("trial-00001/thesis.doc").exists() && path.join(file_name(0)).exists());
}

/// Moved away and back again between two looks.
#[test]
fn a_move_is_noticed_although_all_is_as_before() {
    let parent = tempfile::tempdir().unwrap();
    let work = WorkDir::create(parent.path(), "a").unwrap();
    std::fs::create_dir(parent.path().join("b")).unwrap();
    std::fs::rename(parent.path().join("b"), parent.path().join("c")).unwrap();
    if !work.held.listens() {
        return; // inotify has no more to give: fs.inotify.max_user_instances
    }
    assert_eq!(work.check_place(), Ok(()), "others may rename what is theirs");
    std::fs::rename(work.path(), parent.path().join("away")).unwrap();
    std::fs::rename(parent.path().join("away"), work.path()).unwrap();
    assert!(work.check_place().is_err());
    assert!(work.check_place().is_err(), "and not forgotten");
    assert!(matches!(work.remove(), Ok(Swept::Removed(_))));
}

/// What took its name while it was made was used: it belonged to somebody else.
#[test]
fn a_directory_of_somebody_else_is_not_the_one_that_we_made() {
    let us = rustix::process::geteuid().as_raw();
    let stat = |owner: u32, mode: u32| {
        let mut stat = rustix::fs::stat("/").unwrap();
        (stat.st_uid, stat.st_mode) = (owner, mode);
        stat
    };
    let is_ours = |folder: (u32, u32), file: (u32, u32)| {
        is_made_by_us(&stat(folder.0, folder.1), &stat(file.0, file.1))
    };
    assert!(is_ours((us, 0o40700), (us, 0o100_600)));
    assert!(!is_ours((us + 1, 0o40700), (us, 0o100_600)), "somebody's");
    assert!(!is_ours((us, 0o40777), (us, 0o100_600)), "open to all");
    // A server takes root for nobody; a file system without owners gives one and the same mode.
    assert!(is_ours((65534, 0o40700), (65534, 0o100_600)));
    assert!(is_ours((1000, 0o40777), (1000, 0o100_777)));
    let parent = tempfile::tempdir().unwrap();
    std::fs::create_dir(parent.path().join("full")).unwrap();
    File::create(parent.path().join("full/x")).unwrap();
    let folder = File::open(parent.path().join("full")).unwrap();
    assert!(matches!(mark(folder.as_fd(), None), Err(Unmarked::Strange)), "not empty");
    assert!(!parent.path().join("full").join(MARKER).exists());
}
