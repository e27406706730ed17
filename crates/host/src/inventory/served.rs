//! What lies behind a directory that this machine's own NFS server serves to itself, or that a
//! program mirrors through FUSE.
//!
//! Nothing in a mount says which directory of which machine is behind it: an address may be a
//! neighbour's namespace or another continent. A directory of ours tells by itself: its name was
//! drawn at random, and when the path that an export of this machine's kernel gives it holds the
//! same marker, by the same number and from the same instant, it is the same directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::target;
use crate::sys::Host;
use crate::sys::workdir::MARKER;
use facts::inventory::Target;
use facts::inventory::mount::unescape;

/// What the kernel exports, of its own network namespace and of ours; see exports(5).
const EXPORTS: [&str; 3] = [
    "/proc/fs/nfsd/exports",
    "/proc/1/net/rpc/nfsd.export/content",
    "/proc/net/rpc/nfsd.export/content",
];

/// For each of `targets` the directory of this machine that it shows; none unless that is known of
/// all of them.
pub fn behind(host: &Host, targets: &[Target]) -> Vec<Target> {
    let is_nfs = |target: &Target| matches!(target.filesystem.as_str(), "nfs" | "nfs4");
    if targets.is_empty() || !targets.iter().all(is_nfs) {
        return Vec::new();
    }
    let exports: Vec<Export> =
        EXPORTS.iter().flat_map(|path| exports(&host.read(path).unwrap_or_default())).collect();
    let found: Option<Vec<Target>> =
        targets.iter().map(|shown| one(host, shown, &exports)).collect();
    found.unwrap_or_default()
}

/// One directory that is exported.
#[derive(Debug, PartialEq, Eq)]
struct Export {
    path: String,
    /// Paths of version 4 begin here: `fsid=0`.
    is_root: bool,
}

/// `PATH CLIENT(OPTIONS)`, as the kernel lists what it has been asked for.
fn exports(text: &str) -> Vec<Export> {
    // What has no line end was cut off; a line that begins with # is no answer, or a refusal.
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let all = lines.filter(|line| line.starts_with('/')).filter_map(|line| {
        let (path, client) = line.split_once(['\t', ' '])?;
        let options = client.split_once('(')?.1.trim_end_matches(')');
        let is_root = options.split(',').any(|option| option == "fsid=0");
        Some(Export { path: unescape(path), is_root })
    });
    all.collect()
}

/// Where a directory below a mount can lie: at the path that was mounted, below the root of version
/// 4, or below an export that was mounted by another name.
fn candidates(shown: &Target, exports: &[Export]) -> Vec<PathBuf> {
    let Ok(below) = Path::new(&shown.directory).strip_prefix(&shown.mount_point) else {
        return Vec::new();
    };
    // An address of version 6 has colons, in brackets.
    let asked = shown.source.rsplit_once(":/").map_or("", |(_, path)| path);
    let plain = std::iter::once(Path::new("/").join(asked));
    let rooted = exports.iter().filter(|export| export.is_root);
    let rooted = rooted.map(|export| Path::new(&export.path).join(asked));
    let named = exports.iter().map(|export| PathBuf::from(&export.path));
    plain.chain(rooted).chain(named).map(|path| path.join(below)).collect()
}

fn one(host: &Host, shown: &Target, exports: &[Export]) -> Option<Target> {
    if exports.is_empty() {
        return None;
    }
    let wanted = marker(host, Path::new(&shown.directory))?;
    let is_it = |folder: &PathBuf| marker(host, folder) == Some(wanted);
    let found = candidates(shown, exports).into_iter().find(is_it)?;
    let found = target(host, &found).ok()?;
    // What is served from another server is not here; and on ZFS and its like the account of the
    // server's threads means nothing.
    (!found.remote && found.process_io_reliable).then_some(found)
}

/// Number, time and size of the marker in a directory of ours.
fn marker(host: &Host, folder: &Path) -> Option<(u64, (i64, i64), u64)> {
    let about = host.path(folder.join(MARKER)).symlink_metadata().ok()?;
    let when = (about.mtime(), about.mtime_nsec());
    about.is_file().then_some((about.ino(), when, about.len()))
}

/// For each of `targets` the directory whose files a program shows there through FUSE as they are,
/// as bindfs does, which names it as what is mounted; none unless that is known of all of them.
pub fn mirrored(host: &Host, targets: &[Target]) -> Vec<Target> {
    let is_fuse = |target: &Target| {
        !target.remote && (target.filesystem == "fuse" || target.filesystem.starts_with("fuse."))
    };
    if targets.is_empty() || !targets.iter().all(is_fuse) {
        return Vec::new();
    }
    let found: Option<Vec<Target>> = targets.iter().map(|shown| mirror(host, shown)).collect();
    found.unwrap_or_default()
}

/// The program numbers files as it likes; name, instant and size of the marker are the same.
fn mirror(host: &Host, shown: &Target) -> Option<Target> {
    let below = Path::new(&shown.directory).strip_prefix(&shown.mount_point).ok()?;
    let source = Some(Path::new(&shown.source)).filter(|source| source.is_absolute())?;
    let folder = source.join(below);
    let (_, when, bytes) = marker(host, Path::new(&shown.directory))?;
    let (_, found_when, found_bytes) = marker(host, &folder)?;
    if (found_when, found_bytes) != (when, bytes) {
        return None;
    }
    target(host, &folder).ok().filter(|found| found.process_io_reliable)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    const CONTENT: &str = "#path domain(flags)\n# /\t*()\n\
        /srv/x\t*(rw,insecure,no_root_squash,async,uuid=934a3c90:bde848dd,sec=1)\n\
        /srv\t10.0.0.0/8(rw,fsid=0,sec=1)\n/a\\040b\t*(ro)\n/cut\t*(rw";

    #[test]
    fn exports_are_read_as_the_kernel_lists_them() {
        let all = exports(CONTENT);
        let said: Vec<(&str, bool)> =
            all.iter().map(|export| (export.path.as_str(), export.is_root)).collect();
        assert_eq!(said, [("/srv/x", false), ("/srv", true), ("/a b", false)]);
        for end in 0..CONTENT.len() {
            assert!(exports(CONTENT.get(..end).unwrap_or("")).len() <= 3);
        }
    }

    /// One machine with a server and its client, as files: both show the same folder, by a link.
    fn machine(marker_of: &str) -> (tempfile::TempDir, Target) {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/fs/nfsd/exports", CONTENT);
        write(
            "proc/self/mountinfo",
            "20 1 254:0 / / rw - ext4 /dev/vda rw\n21 20 0:31 / /mnt rw - nfs4 s:/x rw\n",
        );
        write(&format!("{marker_of}/brickyard-0123/{MARKER}"), "ours");
        std::fs::create_dir_all(folder.path().join("mnt/brickyard-0123")).unwrap();
        std::fs::hard_link(
            folder.path().join(format!("{marker_of}/brickyard-0123/{MARKER}")),
            folder.path().join(format!("mnt/brickyard-0123/{MARKER}")),
        )
        .unwrap();
        let host = Host::at(folder.path());
        let shown = target(&host, Path::new("/mnt/brickyard-0123")).unwrap();
        (folder, shown)
    }

    #[test]
    fn a_directory_is_known_again_below_the_root_of_version_4_and_by_its_own_path() {
        for place in ["srv/x", "x"] {
            let (folder, shown) = machine(place);
            assert_eq!((shown.filesystem.as_str(), shown.source.as_str()), ("nfs4", "s:/x"));
            let found = behind(&Host::at(folder.path()), &[shown]);
            assert_eq!(found[0].directory, format!("/{place}/brickyard-0123"));
            assert_eq!(found[0].filesystem, "ext4");
        }
    }

    #[test]
    fn a_directory_that_a_program_mirrors_is_known_by_its_marker_and_by_what_is_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "proc/self/mountinfo",
            "20 1 254:0 / / rw - ext4 /dev/vda rw\n21 20 0:31 / /mnt rw - fuse /srv/x rw\n",
        );
        write(&format!("srv/x/brickyard-0123/{MARKER}"), "ours");
        std::fs::create_dir_all(folder.path().join("mnt/brickyard-0123")).unwrap();
        std::fs::hard_link(
            folder.path().join(format!("srv/x/brickyard-0123/{MARKER}")),
            folder.path().join(format!("mnt/brickyard-0123/{MARKER}")),
        )
        .unwrap();
        let host = Host::at(folder.path());
        let shown = target(&host, Path::new("/mnt/brickyard-0123")).unwrap();
        let found = mirrored(&host, std::slice::from_ref(&shown));
        assert_eq!(found[0].directory, "/srv/x/brickyard-0123");
        assert_eq!(mirrored(&host, &[]), Vec::new());
        let mut other = shown.clone();
        other.source = "/srv/y".into();
        assert_eq!(mirrored(&host, &[shown.clone(), other]), Vec::new(), "not of all");
        let mut wire = shown;
        (wire.filesystem, wire.remote) = ("fuse.sshfs".into(), true);
        assert_eq!(mirrored(&host, &[wire]), Vec::new());
    }

    /// Any directory of that name would do for a program that looks at names alone, and a file that
    /// looks alike for one that does not look at its number.
    #[test]
    fn another_directory_with_a_marker_is_not_taken_for_it() {
        let (folder, shown) = machine("elsewhere");
        let write = folder.path().join("srv/x/brickyard-0123");
        std::fs::create_dir_all(&write).unwrap();
        std::fs::write(write.join(MARKER), "ours").unwrap();
        let host = Host::at(folder.path());
        assert_eq!(behind(&host, std::slice::from_ref(&shown)), Vec::new());
        let (served, local) = machine("x");
        let mut disk = local.clone();
        disk.filesystem = "ext4".into();
        assert_eq!(behind(&Host::at(served.path()), &[local, disk]), Vec::new(), "not all by NFS");
        assert_eq!(behind(&Host::at(served.path()), &[]), Vec::new());
    }
}
