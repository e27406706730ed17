//! Mounted file systems: options, and how full they are.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::zfs::pool_of;
use super::{Reading, patient};
use crate::inventory::device::of_mount;
use crate::sys::filesystem::{Space, mount_identity, space};
use crate::sys::{Error, Host, command};
use facts::inventory::Mount;
use facts::inventory::mount::nature;
use facts::inventory::server::{Usage, Zfs};

/// How long all file systems together are waited for.
pub const PATIENCE: Duration = Duration::from_millis(300);

/// Smaller file systems in memory hold sockets and locks, not files of people.
const SMALLEST_MEMORY_BYTES: u64 = 64 << 20;

/// Images of programs that are mounted one each (snaps): more than so many are only counted.
const IMAGES_MAX: usize = 8;

/// File systems that cannot be written, and are as large as what is in them.
const IMAGES: &[&str] = &["squashfs", "erofs", "cramfs", "iso9660", "udf"];

/// How much a file system holds and has left, as a recording keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedSpace {
    total_bytes: u64,
    available_bytes: u64,
}

/// Reads them, in the order in which they were mounted. A file system that is mounted several times
/// (bind mounts, subvolumes) is listed where it was mounted first. Takes at most [`PATIENCE`]: one
/// that does not answer, as a dead server's, is remembered as not read.
pub fn read(reading: &mut Reading<'_>, mounts: &[Mount], pools: Option<&Zfs>) -> Vec<Usage> {
    let host = reading.host();
    let chosen = leave_out_images(reading, chosen(mounts));
    let rooms: Vec<Result<RecordedSpace, String>> = match host.is_live() {
        true => ask_all(&chosen),
        false => chosen.iter().map(|mount| recorded(reading, mount)).collect(),
    };
    let mut usages = Vec::new();
    for (mount, room) in chosen.into_iter().zip(rooms) {
        let memory = nature(&mount.filesystem).memory;
        if let Err(why) = &room
            && !memory
        {
            let what = format!("how full {} is", mount.point);
            let hint = format!("df {}", command::line(std::slice::from_ref(&mount.point)));
            reading.miss(&what, &mount.point, why, &hint);
        }
        let room = room.ok();
        if memory && room.is_none_or(|room| room.total_bytes < SMALLEST_MEMORY_BYTES) {
            continue;
        }
        usages.push(Usage {
            mount_point: mount.point.clone(),
            filesystem: mount.filesystem.clone(),
            source: mount.source.clone(),
            options: mount.all_options(),
            on: devices_of(host, mount, pools),
            total_bytes: room.map(|room| room.total_bytes),
            available_bytes: room.map(|room| room.available_bytes),
        });
    }
    usages
}

/// The devices that it lies on directly: of ZFS those of its pool.
fn devices_of(host: &Host, mount: &Mount, pools: Option<&Zfs>) -> Vec<String> {
    let name = pool_of(&mount.source).filter(|_| mount.filesystem == "zfs");
    match name.and_then(|name| pools?.pool(&name)) {
        Some(pool) => pool.devices().unwrap_or_default(),
        None => of_mount(host, mount),
    }
}

/// The file of a recording that holds how full the file system of mount `id` is.
pub fn file(id: u64) -> String {
    format!("/.brickyard/statvfs/{id}.json")
}

/// Asks how full a mounted file system is, as JSON. On a dead network file system this waits for
/// ever: ask from a thread.
///
/// # Errors
/// When the kernel cannot say, or another mount hides this one.
pub fn ask_live(mount: &Mount) -> Result<String, Error> {
    let what = || format!("cannot ask for room on {}", mount.point);
    let path = Path::new(&mount.point);
    if mount_identity(path)?.mount_id.is_some_and(|id| id != mount.id) {
        return Err(Error::new(what(), "another mount hides it"));
    }
    let Space { total_bytes, available_bytes, .. } = space(path)?;
    let room = RecordedSpace { total_bytes, available_bytes };
    serde_json::to_string(&room).map_err(|error| Error::new(what(), error))
}

/// What a recording keeps: files and their texts.
pub fn record(mounts: &[Mount]) -> Vec<(String, String)> {
    let chosen: Vec<Mount> = chosen(mounts).into_iter().cloned().collect();
    let files: Vec<String> = chosen.iter().map(|mount| file(mount.id)).collect();
    let texts = patient::ask(chosen, PATIENCE, |mount| ask_live(mount).ok());
    files.into_iter().zip(texts).filter_map(|(file, text)| Some((file, text??))).collect()
}

/// The room in such a JSON text; `None` when it is none, or more is free than there is.
fn parse(text: &str) -> Option<RecordedSpace> {
    let room: RecordedSpace = serde_json::from_str(text).ok()?;
    (room.total_bytes > 0 && room.available_bytes <= room.total_bytes).then_some(room)
}

fn ask_all(mounts: &[&Mount]) -> Vec<Result<RecordedSpace, String>> {
    let mounts: Vec<Mount> = mounts.iter().map(|mount| (*mount).clone()).collect();
    let answers = patient::ask(mounts, PATIENCE, |mount| match ask_live(mount) {
        Ok(text) => parse(&text).ok_or_else(|| "it says that it has no room at all".to_owned()),
        Err(error) => Err(error.why),
    });
    let late = || format!("no answer within {} s", PATIENCE.as_secs_f64());
    answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(late()))).collect()
}

fn recorded(reading: &Reading<'_>, mount: &Mount) -> Result<RecordedSpace, String> {
    // What is not read is told once, by our caller.
    let mut reading = Reading::new(reading.host());
    let text = reading.word(file(mount.id), "room").ok_or("the recording does not hold it")?;
    parse(&text).ok_or_else(|| "the recording holds no room".to_owned())
}

/// Each file system that holds files of people, once.
fn chosen(mounts: &[Mount]) -> Vec<&Mount> {
    let mut seen: BTreeSet<(u32, u32)> = BTreeSet::new();
    mounts.iter().filter(|mount| holds_files(mount) && seen.insert(mount.device)).collect()
}

fn holds_files(mount: &Mount) -> bool {
    let filesystem = mount.filesystem.as_str();
    let nature = nature(filesystem);
    // Desktops, containers and snaps show things of their own as file systems.
    let shown = ["fuse.gvfsd-fuse", "fuse.portal", "fuse.lxcfs", "fuse.snapfuse", "fuse.doc"];
    let layer = filesystem == "overlay" && mount.point == "/";
    mount.device.0 != 0
        || nature.remote
        || layer
        || ["btrfs", "bcachefs", "zfs", "tmpfs"].contains(&filesystem)
        || (filesystem.starts_with("fuse.") && !shown.contains(&filesystem))
}

fn leave_out_images<'a>(reading: &mut Reading<'_>, chosen: Vec<&'a Mount>) -> Vec<&'a Mount> {
    let is_image = |mount: &&&Mount| IMAGES.contains(&mount.filesystem.as_str());
    let count = chosen.iter().filter(is_image).count();
    if count <= IMAGES_MAX {
        return chosen;
    }
    reading.miss(
        &format!("{count} mounted images, which are always full"),
        "/proc/self/mountinfo",
        "so many are only counted",
        "findmnt -t squashfs,erofs,iso9660",
    );
    chosen.into_iter().filter(|mount| !is_image(&mount)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::mounts;
    use crate::inventory::recording::Recording;
    use facts::inventory::server::Unread;

    const MACHINE: &str = "\
/proc/self/mountinfo:
    20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
    21 20 0:5 / /proc rw - proc proc rw
    22 20 0:20 / /run rw - tmpfs tmpfs rw,size=1024k
    23 20 0:21 / /dev/shm rw - tmpfs tmpfs rw
    24 20 0:22 / /srv/nfs rw - nfs4 server:/export rw,vers=4.2
    25 20 8:1 /var /bind rw,relatime - ext4 /dev/sda1 rw
    26 20 0:40 / /tank rw - zfs tank rw,xattr
    27 20 0:41 / /var/lib/docker/overlay2/x rw - overlay overlay rw
    28 20 0:42 /@ /data rw - btrfs /dev/sdb rw,subvol=/@
    29 20 0:42 /@b /more rw - btrfs /dev/sdb rw,subvol=/@b
    30 20 0:43 / /run/user/1/doc rw - fuse.portal portal rw
    31 20 0:44 / /merged rw - fuse.mergerfs a:b rw
/sys/class/block/sda1/size = 4096
/sys/class/block/sda1/dev = 8:1
/sys/dev/block/8:1 -> /sys/class/block/sda1
/.brickyard/statvfs/20.json = {\"total_bytes\":1000,\"available_bytes\":50}
/.brickyard/statvfs/22.json = {\"total_bytes\":1048576,\"available_bytes\":1000}
/.brickyard/statvfs/23.json = {\"total_bytes\":1073741824,\"available_bytes\":1073741824}
/.brickyard/statvfs/26.json = {\"total_bytes\":10,\"available_bytes\":11}
/.brickyard/statvfs/28.json = {\"total_bytes\":-10,\"available_bytes\":11}
";

    fn usages(text: &str) -> (Vec<Usage>, Vec<Unread>) {
        let machine = Recording::unpack(text);
        let host = machine.host();
        let mut reading = Reading::new(&host);
        let usages = read(&mut reading, &mounts(&host).unwrap(), None);
        (usages, reading.into_unread())
    }

    #[test]
    fn each_file_system_that_holds_files_of_people_is_listed_once() {
        let (usages, unread) = usages(MACHINE);
        let points: Vec<&str> = usages.iter().map(|usage| usage.mount_point.as_str()).collect();
        assert_eq!(points, ["/", "/dev/shm", "/srv/nfs", "/tank", "/data", "/merged"]);
        let root = &usages[0];
        assert_eq!((root.total_bytes, root.available_bytes), (Some(1000), Some(50)));
        assert_eq!((root.options.as_str(), root.on.join(" ")), ("rw,relatime", "sda1".into()));
        // Not recorded, or nonsense: unknown, and said so.
        for usage in &usages[2..] {
            assert_eq!((usage.total_bytes, usage.available_bytes), (None, None));
        }
        let missed: Vec<&str> = unread.iter().map(|unread| unread.place.as_str()).collect();
        assert_eq!(missed, ["/data", "/merged", "/srv/nfs", "/tank"]);
        assert_eq!(unread[2].hint, "df /srv/nfs");
    }

    #[test]
    fn many_images_are_counted_and_a_few_are_listed() {
        let image = |number: u32| {
            format!(
                "    {number} 1 7:{number} / /snap/{number} ro - squashfs /dev/loop{number} ro\n"
            )
        };
        let machine = |count: u32| {
            let images: String = (40..40 + count).map(image).collect();
            usages(&format!(
                "/proc/self/mountinfo:\n    20 1 8:1 / / rw - xfs /dev/sda1 rw\n{images}"
            ))
        };
        let (few, _) = machine(8);
        assert_eq!(few.len(), 9);
        let (many, unread) = machine(9);
        assert_eq!(many.len(), 1);
        assert!(unread.iter().any(|unread| unread.what.starts_with("9 mounted images")));
    }

    #[test]
    fn room_that_is_cut_off_or_impossible_is_none() {
        let whole = r#"{"total_bytes":1000,"available_bytes":50}"#;
        assert!(parse(whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None, "cut at {end}");
        }
        for (total, available) in [("0", "0"), ("1e3", "1"), ("18446744073709551616", "1")] {
            let text = format!("{{\"total_bytes\":{total},\"available_bytes\":{available}}}");
            assert_eq!(parse(&text), None, "{text}");
        }
    }

    #[test]
    fn this_machines_root_has_room_and_what_is_hidden_is_not_mistaken_for_what_hides_it() {
        let host = Host::live();
        let mounts = mounts(&host).unwrap();
        let root = mounts.iter().rfind(|mount| mount.point == "/").unwrap();
        let room = parse(&ask_live(root).unwrap()).unwrap();
        assert!(room.total_bytes > room.available_bytes);
        if mount_identity(Path::new("/")).unwrap().mount_id.is_some() {
            let hidden = Mount { id: u64::MAX, ..root.clone() };
            assert_eq!(ask_live(&hidden).unwrap_err().why, "another mount hides it");
        }
        let mut reading = Reading::new(&host);
        let usages = read(&mut reading, &mounts, None);
        assert!(usages.iter().any(|usage| usage.mount_point == "/"));
    }
}
