//! Knobs of a mount: how a client asks an NFS server for its files.
//!
//! They are in force for directories that are named `SERVER:/EXPORT`, which the program mounts
//! itself; see nfs(5). Mounting, and looking at what came of it, is the business of
//! `provision::share`.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use crate::knob::typed::{Bytes, Count, OrAsIs, Setting, Word};
use crate::knob::{Apply, Knob, Scope, Settings};
use base::value::Domain;
use facts::share::Share;

const MIB: u64 = 1 << 20;

const fn knob<T: Setting>(name: &'static str, domain: Domain, about: &'static str) -> Knob<T> {
    let (scope, default, fio) = (Scope::System, "as-is", "");
    Knob { name, fio, about, domain, default, scope, apply: Apply::Mount, reads: PhantomData }
}

pub const NFS_VERSION: Knob<OrAsIs<Word>> = knob(
    "nfs-version",
    Domain::OrAsIs(&Domain::OneOf(&["3", "4.0", "4.1", "4.2"])),
    "The version of NFS that SERVER:/EXPORT is mounted by; the newest of both when nothing is said",
);
pub const NFS_TRANSPORT: Knob<OrAsIs<Word>> = knob(
    "nfs-transport",
    Domain::OrAsIs(&Domain::OneOf(&["tcp", "udp"])),
    "What carries NFS; version 4 goes over TCP alone, and many kernels have no UDP for it",
);
pub const NFS_READ_SIZE: Knob<OrAsIs<Bytes>> = knob(
    "nfs-read-size",
    Domain::OrAsIs(&Domain::Bytes { min: 1024, max: 4 * MIB, step: 1024 }),
    "Most bytes that a client asks an NFS server for at a time (rsize)",
);
pub const NFS_WRITE_SIZE: Knob<OrAsIs<Bytes>> = knob(
    "nfs-write-size",
    Domain::OrAsIs(&Domain::Bytes { min: 1024, max: 4 * MIB, step: 1024 }),
    "Most bytes that a client sends to an NFS server at a time (wsize)",
);
pub const NCONNECT: Knob<OrAsIs<Count>> = knob(
    "nconnect",
    Domain::OrAsIs(&Domain::Count { min: 1, max: 16 }),
    "TCP connections between an NFS client and its server",
);

/// Every one.
pub const ALL: [&Knob; 5] = [
    &NFS_VERSION.listed(),
    &NFS_TRANSPORT.listed(),
    &NFS_READ_SIZE.listed(),
    &NFS_WRITE_SIZE.listed(),
    &NCONNECT.listed(),
];

/// How `settings` have `source` mounted.
pub fn share(source: &str, settings: &Settings) -> Share {
    Share {
        source: source.to_owned(),
        version: settings.get(NFS_VERSION).map(str::to_owned),
        transport: settings.get(NFS_TRANSPORT).map(str::to_owned),
        read_bytes: settings.get(NFS_READ_SIZE),
        write_bytes: settings.get(NFS_WRITE_SIZE),
        connections: settings.get(NCONNECT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::testing::settings;

    #[test]
    fn settings_become_a_share_and_what_is_not_said_is_left_to_both_ends() {
        let plain = share("nas:/x", &settings("file", &[]));
        assert_eq!(plain, Share { source: "nas:/x".into(), ..Share::default() });
        let words = [
            ("nfs-version", "4.1"),
            ("nfs-transport", "tcp"),
            ("nfs-read-size", "32KiB"),
            ("nfs-write-size", "1MiB"),
            ("nconnect", "4"),
        ];
        let asked = share("nas:/x", &settings("file", &words));
        assert_eq!(
            (asked.version.as_deref(), asked.transport.as_deref()),
            (Some("4.1"), Some("tcp"))
        );
        assert_eq!((asked.read_bytes, asked.write_bytes), (Some(32768), Some(MIB)));
        assert_eq!(asked.connections, Some(4));
        assert_eq!(words.map(|(name, _)| name), ALL.map(|knob| knob.name));
    }
}
