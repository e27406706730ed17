//! Records a machine: what the inventory reads of it, and a little more, in one text.

use super::names;
use super::private::Private;
use super::text;
use super::walk::{RecordedNode, Walk};
use super::wanted;
use crate::inventory::{caching, server};
use crate::sys::{Error, Host, PathWatch, clock};

/// Records `host` as a text for [`super::Recording::open_path`], in order of path. Unless
/// `with_serials`, stand-ins take the place of what says whose machine it is.
///
/// # Errors
/// When nothing of /proc or /sys can be read.
pub fn record(host: &Host, with_serials: bool) -> Result<String, Error> {
    let mut walk = Walk::new(host);
    for tree in wanted::WALKED {
        for root in expand(host, tree) {
            walk.tree(&root);
        }
    }
    for folder in wanted::LINKS {
        for name in host.list(folder) {
            walk.link(&format!("{folder}/{name}"));
        }
    }
    for pattern in wanted::FILES {
        for path in expand(host, pattern) {
            walk.place(&path, false);
        }
    }
    drivers(&mut walk);
    names::keep(host, &mut walk);
    what_is_read(host, &mut walk);
    if host.is_live() {
        asked(host, &mut walk);
    }
    walk.ends_of_links();
    shorten(&mut walk);
    if walk.kept.is_empty() {
        return Err(Error::new("cannot record this machine", "there is neither /proc nor /sys")
            .hint("mount them, or run outside the container"));
    }
    let kept = std::mem::take(&mut walk.kept);
    let kept = if with_serials { kept } else { Private::default().mask(kept) };
    let mut said = head(host, with_serials);
    for (path, why) in &walk.missed {
        said.push_str(&format!("# not read: {path}: {why}\n"));
    }
    for (path, kept) in kept.iter().filter(|(path, _)| text::writable(path)) {
        match kept {
            RecordedNode::File(bytes) => said.push_str(&text::file(path, bytes)),
            RecordedNode::Link(target) => said.push_str(&format!("{path} -> {target}\n")),
            RecordedNode::Folder => said.push_str(&format!("{path}/\n")),
        }
    }
    Ok(said)
}

/// How every recording begins.
pub(super) const FIRST_WORDS: &str = "# Recorded by brickyard ";

fn head(host: &Host, with_serials: bool) -> String {
    let kernel = host.word("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned());
    let seconds = clock::unix_ns() / 1_000_000_000;
    let private = match with_serials {
        true => "Serial numbers, addresses and names are in it as they are.",
        false => {
            "Serial numbers, hardware addresses, UUIDs and the host's name are replaced by \
             stand-ins;\n# names of directories where file systems are mounted are not."
        }
    };
    format!(
        "{FIRST_WORDS}{} on {}, Linux {kernel}: what `brickyard inspect` reads.\n\
         # This is text: look through it and take out what you will not send; what is left is read \
         by\n# `brickyard inspect --root FILE`. {private}\n",
        env!("CARGO_PKG_VERSION"),
        date(seconds),
    )
}

/// A day in the Gregorian calendar, of seconds since 1970.
fn date(seconds: u64) -> String {
    let time = chrono::DateTime::from_timestamp(seconds.cast_signed(), 0);
    time.unwrap_or_default().format("%Y-%m-%d").to_string()
}

/// The paths that a pattern stands for; `*` stands for any part of one name.
fn expand(host: &Host, pattern: &str) -> Vec<String> {
    let mut paths = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let next = paths.iter().flat_map(|path| match part.split_once('*') {
            None => vec![format!("{path}/{part}")],
            Some((start, end)) => {
                let fits = |name: &String| {
                    name.len() >= start.len() + end.len()
                        && name.starts_with(start)
                        && name.ends_with(end)
                        && wanted::folder(path, name)
                };
                let names = host.list(path).into_iter().filter(fits);
                names.map(|name| format!("{path}/{name}")).collect()
            }
        });
        paths = next.collect();
    }
    paths
}

/// The modules of the drivers that were found.
fn drivers(walk: &mut Walk<'_>) {
    let found: std::collections::BTreeSet<String> = walk
        .kept
        .iter()
        .filter(|(path, _)| path.ends_with("/driver"))
        .filter_map(|(_, kept)| match kept {
            RecordedNode::Link(target) => Some(target.clone()),
            _ => None,
        })
        .collect();
    for driver in found {
        walk.place(&format!("{driver}/module/version"), false);
        walk.link(&format!("{driver}/module"));
    }
}

/// Whatever the inventory looks at, though no list has it.
fn what_is_read(host: &Host, walk: &mut Walk<'_>) {
    let watch = PathWatch::default();
    let watched = host.clone().watched(&watch);
    let _ = server::server(&watched);
    let Ok(seen) = watch.lock().map(|seen| seen.clone()) else { return };
    for (path, listed) in seen {
        let Some(path) = path.to_str() else { continue };
        let ours = ["/proc/", "/sys/", "/etc/", "/dev/md", "/dev/mapper"];
        if ours.iter().any(|start| path.starts_with(start)) {
            // Names in folders of all processes, or of all modules, say nothing.
            walk.place(path, listed && !["/proc", "/sys/module"].contains(&path));
        } else if path.len() > 1 {
            // A mount point, or the file of a loop device: that it is there counts.
            walk.presence(path);
        }
    }
}

/// What is no file: what programs and system calls say. What cannot be asked is left out, as it is
/// by the readers.
fn asked(host: &Host, walk: &mut Walk<'_>) {
    let mounts = crate::inventory::mounts(host).unwrap_or_default();
    let devices = crate::inventory::device::all(host, &mounts);
    let mut texts = server::usage::record(&mounts);
    texts.extend(server::drive::health::record(host, &devices));
    texts.extend(server::zfs::record(host, &mounts));
    texts.extend(caching::record(host, &devices));
    for name in host.list("/sys/class/net") {
        if let Ok(text) = server::interface::ask_live(host, &name) {
            texts.push((server::interface::recorded_at(&name), text));
        }
    }
    for (path, text) in texts {
        walk.kept.insert(path, RecordedNode::File(text.into_bytes()));
    }
}

/// The flags of every processor are those of the first.
fn shorten(walk: &mut Walk<'_>) {
    let Some(RecordedNode::File(bytes)) = walk.kept.get_mut("/proc/cpuinfo") else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let long = ["flags", "vmx flags", "bugs", "Features"];
    let mut seen = std::collections::BTreeSet::new();
    let lines = text.lines().filter(|line| {
        let key = line.split(':').next().unwrap_or("").trim();
        !long.contains(&key) || seen.insert(key.to_owned())
    });
    let kept: String = lines.map(|line| format!("{line}\n")).collect();
    *bytes = kept.into_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    #[test]
    fn a_recording_of_a_recording_tells_the_same() {
        for name in ["t610-x4", "nvme", "sata", "md-raid5", "btrfs"] {
            let first = Recording::open(name);
            let text = record(&first.host(), true).unwrap();
            let second = Recording::unpack(&text);
            let (before, after) = (server::server(&first.host()), server::server(&second.host()));
            assert_eq!(before, after, "{name}");
            assert_eq!(body(&record(&second.host(), true).unwrap()), body(&text), "{name}");
        }
    }

    fn body(text: &str) -> String {
        text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn nothing_that_is_private_is_left_in_the_record_of_a_server() {
        let text = record(&Recording::open("t610-x4").host(), false).unwrap();
        for private in ["MADEUP", "4d414445555", "/proc/sys/kernel/hostname = t610"] {
            assert!(!text.contains(private), "{private}");
        }
        assert!(text.starts_with("# Recorded by brickyard "), "{}", &text[..80]);
        assert!(text.contains("PERC 6/i") && text.contains("/proc/sys/kernel/hostname = server"));
        let named = Recording::unpack(&text);
        assert_eq!(named.host().word("/sys/class/dmi/id/product_name").unwrap(), "PowerEdge T610");
    }

    #[test]
    fn days_are_told_as_the_calendar_has_them() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_795_335_000), "2026-11-22");
    }

    #[test]
    fn the_machine_that_we_run_on_is_recorded_within_seconds_and_read_back() {
        let begun = clock::monotonic_ns();
        let text = record(&Host::live(), true).unwrap();
        let took = clock::monotonic_ns() - begun;
        assert!(took < 20_000_000_000, "{took} ns");
        let recording = Recording::unpack(&text);
        let host = recording.host();
        let live = server::server(&Host::live());
        let replayed = server::server(&host);
        assert_eq!(live.processors, replayed.processors);
        assert_eq!(live.firmware, replayed.firmware);
        assert_eq!(live.pci, replayed.pci);
        assert_eq!(live.memory.total_bytes, replayed.memory.total_bytes);
        assert_eq!(
            host.read("/proc/version").unwrap(),
            Host::live().read("/proc/version").unwrap()
        );
    }
}
