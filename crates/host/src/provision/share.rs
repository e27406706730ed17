//! Directories of NFS servers, mounted as asked and looked at again.
//!
//! What a server does not have, the client settles for silently: a smaller size, an older version,
//! the connections that another mount of the same server made. So the options in force are read
//! back from the kernel, and what is not as it was asked for is refused, or said. See nfs(5).

use std::path::Path;
use std::time::Duration;

use crate::journal::{self, Journal, LayoutAct, Line, UndoOutcome};
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, command};
use facts::share::Share;

/// A server that does not answer is asked for so long, unless mount(8) gives up before.
const MOUNTING_MAX: Duration = Duration::from_secs(60);

/// A share that is mounted.
#[derive(Debug)]
pub struct Shared {
    /// What was asked for.
    pub share: Share,
    /// What must be said of it: kinds and sentences.
    pub notes: Vec<(&'static str, String)>,
    /// The server keeps locks: who holds one holds it on every client.
    pub locks_are_the_servers: bool,
    since: usize,
}

/// Mounts a share at `at`, a directory that does not exist yet; noted in the journal before.
///
/// # Errors
/// When it cannot be mounted as asked; then nothing stays mounted.
pub fn mount(
    host: &Host,
    share: &Share,
    journal: &mut Journal,
    at: &str,
    stop: &Stop,
) -> Result<Shared, Error> {
    if let Some(why) = share.senseless() {
        return Err(Error::new(format!("cannot mount {}", share.source), why));
    }
    if command::find("mount.nfs").is_none() {
        let what = format!("cannot mount {}", share.source);
        return Err(Error::new(what, "mount.nfs is not installed").hint("apt install nfs-common"));
    }
    let (since, boot) = (journal.position(), journal::boot(host)?);
    let acts = [
        LayoutAct::Directory { path: at.to_owned() },
        LayoutAct::Share { at: at.to_owned(), source: share.source.clone() },
    ];
    let mut made = Ok(());
    for act in acts {
        let is_directory = matches!(act, LayoutAct::Directory { .. });
        journal.note(Line::Layout { act, boot: boot.clone() })?;
        if is_directory {
            host.make_directory(at)?;
        } else {
            made = command::run(&share.command(at), MOUNTING_MAX, stop).map(|_| ());
        }
    }
    let made = made.map_err(advised).and_then(|()| {
        let options = in_force(host, at).ok_or_else(|| {
            let what = format!("cannot mount {}", share.source);
            Error::new(what, format!("mount ended well, and nothing is mounted at {at}"))
        })?;
        Ok((share.compare(&options)?, options))
    });
    match made {
        Ok((notes, options)) => {
            let locks_are_the_servers =
                options.split(',').any(|option| option == "local_lock=none");
            Ok(Shared { share: share.clone(), notes, locks_are_the_servers, since })
        }
        Err(error) => match journal.undo_layout(host, since).into_iter().find(UndoOutcome::is_left)
        {
            None => Err(error),
            Some(left) => Err(Error { why: format!("{}; and {left}", error.why), ..error }),
        },
    }
}

/// Options of the file system that is mounted there.
fn in_force(host: &Host, at: &str) -> Option<String> {
    let target = crate::inventory::target(host, Path::new(at)).ok()?;
    let is_it = target.mount_point == at && target.filesystem.starts_with("nfs");
    is_it.then_some(target.mount_options)
}

/// What to do about what mount(8) says.
fn advised(error: Error) -> Error {
    let advice = match error.errno {
        Some(libc::EPROTONOSUPPORT | libc::EOPNOTSUPP) => {
            "leave that version or transport out of the plan: this kernel or the server lacks it"
        }
        Some(libc::EINVAL) => "leave that option out of the plan: this kernel lacks it",
        Some(libc::ENOLCK) => "nfs-version=3, which keeps locks here",
        Some(libc::EACCES) => "the server's /etc/exports must name this machine, and rw",
        Some(libc::ENOENT) => {
            "`showmount -e SERVER` lists what it exports; paths of version 4 begin at its fsid=0"
        }
        _ if !rustix::process::geteuid().is_root() => "mounting takes root",
        _ => return error,
    };
    error.hint(advice)
}

impl Shared {
    /// Unmounts it and removes the directory; gives what became of both.
    pub fn unmount(self, host: &Host, journal: &mut Journal) -> Vec<UndoOutcome> {
        journal.undo_layout(host, self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::share::is_export;

    /// As the kernel of a server with little memory answered a client that asked for 2 MiB.
    const IN_FORCE: &str = "rw,relatime,vers=4.2,rsize=131072,wsize=131072,namlen=255,hard,\
        proto=tcp,nconnect=4,timeo=600,retrans=2,sec=sys,clientaddr=10.9.0.2,local_lock=none";

    fn share() -> Share {
        Share { source: "10.9.0.1:/x".into(), ..Share::default() }
    }

    #[test]
    fn exports_are_told_from_directories() {
        for name in ["nas:/srv", "10.9.0.1:/", "[fe80::1%eth0]:/x", "nas.example.org:/a b"] {
            assert!(is_export(name), "{name}");
        }
        for name in ["/srv:/x", "./nas:/x", "nas:srv", "nas", "-o:/x", ":/x", "", "a b:/x", "."] {
            assert!(!is_export(name), "{name}");
        }
    }

    #[test]
    fn only_what_was_asked_for_is_given_to_mount() {
        assert_eq!(share().options(), "retry=0");
        let all = Share {
            version: Some("3".into()),
            transport: Some("udp".into()),
            read_bytes: Some(8192),
            write_bytes: Some(32768),
            connections: Some(2),
            ..share()
        };
        let words = all.command("/run/brickyard-1").join(" ");
        assert_eq!(
            words,
            "mount -t nfs -o retry=0,vers=3,proto=udp,rsize=8192,wsize=32768,nconnect=2,nolock \
             10.9.0.1:/x /run/brickyard-1"
        );
        assert_eq!(all.senseless(), None);
        let four = Share { version: Some("4.2".into()), ..all };
        assert!(four.senseless().unwrap().contains("RFC 7530"));
    }

    #[test]
    fn what_the_server_made_smaller_is_said_and_another_version_is_refused() {
        let of = |share: Share| share.compare(IN_FORCE);
        let plain = of(share()).unwrap();
        assert_eq!(plain.len(), 1);
        assert!(plain[0].1.contains("NFS 4.2 over tcp") && plain[0].1.contains("4 connections"));
        let sizes = Share { read_bytes: Some(2 << 20), write_bytes: Some(131_072), ..share() };
        let notes = of(sizes).unwrap();
        assert_eq!((notes.len(), notes[0].0), (2, "setting-rounded"));
        assert!(notes[0].1.contains("2.00 MiB") && notes[0].1.contains("128 KiB"), "{notes:?}");
        let why = |share: Share| of(share).unwrap_err();
        let older = why(Share { version: Some("4.1".into()), ..share() });
        assert!(older.what.contains("nfs-version=4.1") && older.why.contains("4.2"), "{older}");
        let udp = why(Share { transport: Some("udp".into()), ..share() });
        assert!(udp.why.contains("tcp"), "{udp}");
        let one = why(Share { connections: Some(1), ..share() });
        assert!(one.why.contains("nconnect=4") && one.hint.unwrap().contains("share"));
        let same = Share { version: Some("4.2".into()), connections: Some(4), ..share() };
        assert_eq!(of(same).unwrap().len(), 1);
        let alone = IN_FORCE.replace("nconnect=4,", "").replace("proto=tcp", "proto=tcp6");
        let asked = Share { connections: Some(1), transport: Some("tcp".into()), ..share() };
        assert!(asked.compare(&alone).is_ok(), "one connection is not listed, and tcp6 is TCP");
    }
}
