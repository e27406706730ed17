//! (pure) How a directory of an NFS server is asked for.

use crate::bare::is_device;
use crate::error::Error;
use base::value;

/// What is mounted, and how; what is `None` is left to client and server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// `SERVER:/EXPORT`.
    pub source: String,
    /// `3`, `4.0`, `4.1` or `4.2`.
    pub version: Option<String>,
    /// `tcp` or `udp`.
    pub transport: Option<String>,
    /// Most bytes of one READ.
    pub read_bytes: Option<u64>,
    /// Most bytes of one WRITE.
    pub write_bytes: Option<u64>,
    /// Connections to the server.
    pub connections: Option<u64>,
}

/// Whether a name is an export of a server, as mount(8) takes it: `SERVER:/EXPORT`. A directory of
/// such a name can be given as `./NAME`.
pub fn is_export(name: &str) -> bool {
    !is_device(name)
        && name.split_once(":/").is_some_and(|(server, _)| {
            let known = |c: char| c.is_ascii_alphanumeric() || ".-_:[]%".contains(c);
            server.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
                && server.chars().all(known)
        })
}

impl Share {
    /// Why no server can have what was asked for, whatever it is.
    pub fn senseless(&self) -> Option<&'static str> {
        let four = self.version.as_ref().is_some_and(|version| version.starts_with('4'));
        let udp = self.transport.as_deref() == Some("udp");
        (four && udp).then_some(
            "version 4 of NFS needs a transport that heeds congestion, which UDP is not (RFC 7530, \
             section 3.1); choose nfs-version=3, or nfs-transport=tcp",
        )
    }

    /// Options for mount(8). Who asks for version 3 gets its locks kept here: another daemon would
    /// have to run for the server to keep them.
    pub fn options(&self) -> String {
        let mut all = vec!["retry=0".to_owned()];
        let mut add = |name: &str, value: Option<String>| {
            all.extend(value.map(|value| format!("{name}={value}")));
        };
        add("vers", self.version.clone());
        add("proto", self.transport.clone());
        add("rsize", self.read_bytes.map(|bytes| bytes.to_string()));
        add("wsize", self.write_bytes.map(|bytes| bytes.to_string()));
        add("nconnect", self.connections.map(|count| count.to_string()));
        if self.version.as_deref() == Some("3") {
            all.push("nolock".to_owned());
        }
        all.join(",")
    }

    /// The command that mounts it.
    pub fn command(&self, at: &str) -> Vec<String> {
        ["mount", "-t", "nfs", "-o", &self.options(), &self.source, at].map(str::to_owned).to_vec()
    }

    /// Compares what was asked for with what the kernel says is in force; gives what must be said.
    ///
    /// # Errors
    /// When the mount is another than was asked for.
    pub fn compare(&self, options: &str) -> Result<Vec<(&'static str, String)>, Error> {
        let of = |name: &str| {
            let mut all = options.split(',');
            all.find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
        };
        let bytes = |name: &str| of(name).and_then(|text| text.parse::<u64>().ok());
        let connections = of("nconnect").and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
        let (version, transport) = (of("vers").unwrap_or("?"), of("proto").unwrap_or("?"));
        let other = |asked: &str, now: String, hint: &str| {
            let what = format!("cannot mount {} with {asked}", self.source);
            Err(Error::new(what, format!("in force was {now}")).hint(hint))
        };
        match &self.version {
            Some(asked) if asked != version => {
                let hint = "the server must have that version: /proc/fs/nfsd/versions there";
                return other(&format!("nfs-version={asked}"), format!("version {version}"), hint);
            }
            _ => {}
        }
        match &self.transport {
            // Over IPv6 it is called tcp6.
            Some(asked) if transport.trim_end_matches('6') != asked => {
                let hint = "leave `nfs-transport` out of the plan";
                return other(&format!("nfs-transport={asked}"), transport.to_owned(), hint);
            }
            _ => {}
        }
        if let Some(asked) = self.connections.filter(|asked| *asked != connections) {
            let hint = "unmount what else is mounted from that server: mounts share connections";
            return other(&format!("nconnect={asked}"), format!("nconnect={connections}"), hint);
        }
        let mut notes = Vec::new();
        let sizes = [
            ("nfs-read-size", "rsize", self.read_bytes),
            ("nfs-write-size", "wsize", self.write_bytes),
        ];
        for (knob, name, asked) in sizes {
            let Some((asked, now)) = asked.zip(bytes(name)).filter(|(asked, now)| asked != now)
            else {
                continue;
            };
            let [asked, now] = [asked, now].map(|bytes| value::bytes(bytes as f64));
            notes.push((
                "setting-rounded",
                format!(
                    "{knob}: {asked} was asked for; in force was {now} ({name}), as client and \
                         server agreed."
                ),
            ));
        }
        let sized = |name: &str| bytes(name).map_or("?".to_owned(), |n| value::bytes(n as f64));
        notes.push((
            "nfs-mount",
            format!(
                "{} was mounted by NFS {version} over {transport}: {} of most READs and {} of most \
                 WRITEs at a time, {connections} connection{}.",
                self.source,
                sized("rsize"),
                sized("wsize"),
                if connections == 1 { "" } else { "s" }
            ),
        ));
        Ok(notes)
    }
}
