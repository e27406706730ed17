//! A PostgreSQL server for one trial: its programs found, its data made in the trial's folder, its
//! command lines.
//!
//! It listens on a socket in its own folder alone, and trusts whoever reaches that, which only its
//! own user and root do. PostgreSQL will not run as root: then it runs as the user `postgres`, who
//! owns the folder of the data and nothing else, and may pass through the folders above it.

use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use crate::engine::command::{ProgramStart, Server, ServerReadiness};
use host::sys::{self, Host};

/// What all three must lie in one folder, as they must be of one version.
const PROGRAMS: [&str; 4] = ["initdb", "pg_ctl", "postgres", "pgbench"];
/// Below it Debian keeps a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Who serves when we are root.
const USER: &str = "postgres";
/// The folder of a socket whose full name may be too long for one (107 bytes, unix(7)): whoever
/// is in it can call it so.
pub const HERE: &str = "/proc/self/cwd";
/// What PostgreSQL says when it can be used.
const READY: &str = "database system is ready to accept connections";
/// So many connections PostgreSQL allows by default.
const CONNECTIONS: u64 = 100;

/// Whom the server runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    uid: u32,
    gid: u32,
}

/// What is known before anything is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    folder: PathBuf,
    /// `None` when it is ourselves.
    owner: Option<Owner>,
}

impl Cluster {
    /// Looks for the programs, and whether they can work in these directories of ours.
    ///
    /// # Errors
    /// With what is missing, and what to do.
    pub fn find(host: &Host, user: u32, works: &[PathBuf]) -> Result<Cluster, String> {
        let folder = folder(host).ok_or_else(|| {
            format!(
                "PostgreSQL is not installed here: no folder has all of {}; apt-get install \
                 postgresql",
                PROGRAMS.join(", ")
            )
        })?;
        if user != 0 {
            return Ok(Cluster { folder, owner: None });
        }
        let owner = host.read("/etc/passwd").ok().and_then(|text| owner(&text));
        let owner = owner.ok_or_else(|| {
            format!("PostgreSQL will not run as root, and there is no user {USER}: useradd {USER}")
        })?;
        if sys::command::find("setpriv").is_none() {
            let why = "PostgreSQL will not run as root, and setpriv is not installed: apt-get \
                       install util-linux";
            return Err(why.to_owned());
        }
        for above in works.iter().filter_map(|work| work.parent()).flat_map(Path::ancestors) {
            if !may_pass(above, &owner) {
                let above = above.display();
                return Err(format!(
                    "PostgreSQL will not run as root, and the user {USER} may not pass through \
                     {above}: chmod o+x {above}, or run brickyard as an ordinary user"
                ));
            }
        }
        Ok(Cluster { folder, owner: Some(owner) })
    }

    /// Makes the folder of the data in `place`, which lies in `work`.
    ///
    /// # Errors
    /// With the kernel's words.
    pub fn make(&self, work: &Path, place: &Path) -> Result<PathBuf, String> {
        let data = place.join("data");
        let made = rustix::fs::mkdir(&data, Mode::RWXU).and_then(|()| match &self.owner {
            None => Ok(()),
            Some(owner) => {
                let pass = Mode::RWXU | Mode::XGRP | Mode::XOTH;
                rustix::fs::chmod(work, pass)?;
                rustix::fs::chmod(place, pass)?;
                let (uid, gid) = (rustix::fs::Uid::from_raw(owner.uid), owner.gid);
                rustix::fs::chown(&data, Some(uid), Some(rustix::fs::Gid::from_raw(gid)))
            }
        });
        let failed = |why| format!("cannot make {}: {why}", data.display());
        made.map_err(|why| failed(std::io::Error::from(why)))?;
        Ok(data)
    }

    /// A command line of one of its programs, as the server's user.
    fn words(&self, program: &str, arguments: &[&str], at_our_end: &str) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(Owner { uid, gid }) = &self.owner {
            words.extend([
                "setpriv".to_owned(),
                format!("--reuid={uid}"),
                format!("--regid={gid}"),
            ]);
            words.push("--clear-groups".to_owned());
            // The kernel forgets it when a process becomes another user (prctl(2)).
            words.push(format!("--pdeathsig={at_our_end}"));
        }
        words.push(self.folder.join(program).to_string_lossy().into_owned());
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        words
    }

    fn start(&self, words: Vec<String>, data: &Path) -> ProgramStart {
        // What we read is English; options of whoever started us would be the server's as well.
        let environment = [("LC_ALL", "C"), ("PGOPTIONS", ""), ("HOME", "/")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let directory = data.to_string_lossy().into_owned();
        ProgramStart { words, environment: environment.into(), directory }
    }

    /// What is run before: the data are made, and pgbench's tables of so many branches in them,
    /// by a server that is stopped again, so that all of it is on the device.
    pub fn prepare(&self, data: &Path, scale: u64, clients: u64) -> Vec<ProgramStart> {
        let at = data.to_string_lossy().into_owned();
        let (scale, options) = (scale.to_string(), options(clients));
        let log = data.join("making.log").to_string_lossy().into_owned();
        let initdb = ["-D", &at, "-U", USER, "-A", "trust", "--locale=C", "-E", "UTF8"];
        let begin = ["-D", &at, "-w", "-l", &log, "-o", &options, "start"];
        let fill = ["-h", HERE, "-U", USER, "-i", "-q", "-s", &scale, USER];
        let end = ["-D", &at, "-w", "-m", "fast", "stop"];
        let steps =
            [("initdb", &initdb[..]), ("pg_ctl", &begin), ("pgbench", &fill), ("pg_ctl", &end)];
        let step = |(program, words): (&str, &[&str])| {
            self.start(self.words(program, words, "KILL"), data)
        };
        steps.into_iter().map(step).collect()
    }

    /// The server of the timed part.
    pub fn server(&self, data: &Path, clients: u64) -> Server {
        let (at, options) = (data.to_string_lossy().into_owned(), options(clients));
        let arguments: Vec<&str> = ["-D", &at].into_iter().chain(options.split(' ')).collect();
        Server {
            start: self.start(self.words("postgres", &arguments, "QUIT"), data),
            ready: ServerReadiness::Says(READY.to_owned()),
            // Fast and immediate shutdown (postgresql.org/docs/15/server-shutdown.html).
            ends_by: libc::SIGINT,
            drops_by: libc::SIGQUIT,
        }
    }

    /// pgbench of the server's version, with these words after its name.
    pub fn client(&self, words: &[String], data: &Path) -> ProgramStart {
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        self.start(self.words("pgbench", &words, "KILL"), data)
    }
}

/// (pure) What is not PostgreSQL's default, or would make commits cheap if it were not.
fn options(clients: u64) -> String {
    let connections = CONNECTIONS.max(clients.saturating_add(20));
    format!(
        "-c listen_addresses= -c unix_socket_directories={HERE} -c unix_socket_permissions=0700 \
         -c dynamic_shared_memory_type=mmap -c fsync=on -c synchronous_commit=on \
         -c full_page_writes=on -c max_connections={connections}"
    )
}

/// The folder that has all programs: of PATH, or of the newest version where Debian keeps them.
fn folder(host: &Host) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut versions = host.list(DEBIAN);
    versions.sort_by_key(|name| std::cmp::Reverse(name.parse::<u32>().unwrap_or(0)));
    let debian = versions.iter().map(|version| Path::new(DEBIAN).join(version).join("bin"));
    let mut folders = path.split(':').map(PathBuf::from).chain(debian);
    let has = |folder: &Path, program: &str| {
        let file = folder.join(program);
        file.is_file() && rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    folders
        .find(|folder| folder.is_absolute() && PROGRAMS.iter().all(|program| has(folder, program)))
}

/// (pure) Who `postgres` is, out of passwd(5).
fn owner(text: &str) -> Option<Owner> {
    text.lines().find_map(|line| {
        let mut words = line.split(':');
        let name = words.next()?;
        let (uid, gid) = (words.nth(1)?.parse().ok()?, words.next()?.parse().ok()?);
        (name == USER && uid != 0).then_some(Owner { uid, gid })
    })
}

/// Whether a folder lets the server's user through, as far as its mode tells.
fn may_pass(folder: &Path, owner: &Owner) -> bool {
    let Ok(stat) = rustix::fs::stat(folder) else { return false };
    let by = if stat.st_uid == owner.uid {
        0o100
    } else if stat.st_gid == owner.gid {
        0o010
    } else {
        0o001
    };
    stat.st_mode & by != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(owner: Option<Owner>) -> Cluster {
        Cluster { folder: "/usr/lib/postgresql/15/bin".into(), owner }
    }

    #[test]
    fn root_serves_as_postgres_and_everybody_else_as_himself() {
        let text = "root:x:0:0:root:/root:/bin/bash\npostgres:x:101:104:PostgreSQL:/var:/bin/sh\n";
        let postgres = owner(text).unwrap();
        assert_eq!(postgres, Owner { uid: 101, gid: 104 });
        assert_eq!(owner("postgres:x:0:0::/:/bin/sh\n"), None, "root by another name");
        for end in 0..text.len() {
            owner(&text[..end]);
        }
        let data = Path::new("/srv/a/data");
        let server = cluster(Some(postgres)).server(data, 4);
        assert_eq!(server.start.words[..3], ["setpriv", "--reuid=101", "--regid=104"]);
        assert!(server.start.words.contains(&"--pdeathsig=QUIT".to_owned()));
        let server = cluster(None).server(data, 4);
        assert_eq!(server.start.words[0], "/usr/lib/postgresql/15/bin/postgres");
        assert_eq!(server.start.directory, "/srv/a/data");
    }

    #[test]
    fn the_server_is_on_no_network_and_makes_every_commit_durable() {
        let server = cluster(None).server(Path::new("/srv/a/data"), 500);
        for option in [
            "listen_addresses=",
            "unix_socket_directories=/proc/self/cwd",
            "unix_socket_permissions=0700",
            "fsync=on",
            "synchronous_commit=on",
            "full_page_writes=on",
            "max_connections=520",
        ] {
            assert!(server.start.words.contains(&option.to_owned()), "{option}");
        }
        assert!(options(3).contains("max_connections=100"));
        let options = server.start.environment.iter().find(|(name, _)| name == "PGOPTIONS");
        assert_eq!(options.map(|(_, value)| value.as_str()), Some(""));
    }

    #[test]
    fn its_data_are_made_by_a_server_that_is_stopped_before_the_clock_runs() {
        let steps = cluster(None).prepare(Path::new("/srv/a/data"), 7, 1);
        let of = |step: &ProgramStart| step.words.join(" ");
        assert_eq!(steps.len(), 4);
        assert!(of(&steps[0]).contains("initdb -D /srv/a/data -U postgres -A trust"));
        assert!(of(&steps[1]).ends_with(" start") && of(&steps[3]).ends_with("-m fast stop"));
        assert!(of(&steps[2]).contains("pgbench -h /proc/self/cwd -U postgres -i -q -s 7"));
    }
}
