//! The plans that ship, as files under `plans/`, each opening with the question it answers.
//!
//! A new one is a file there and a line in [`PLANS`].

/// A plan that is built in.
#[derive(Debug)]
pub struct BuiltIn {
    /// As typed after `run`; also its name in the file.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// In the order in which they are listed.
pub const PLANS: &[BuiltIn] = &[
    BuiltIn { name: "streams", text: include_str!("../../../../plans/streams.toml") },
    BuiltIn { name: "readahead", text: include_str!("../../../../plans/readahead.toml") },
    BuiltIn {
        name: "raid-filesystem",
        text: include_str!("../../../../plans/raid-filesystem.toml"),
    },
    BuiltIn { name: "brick", text: include_str!("../../../../plans/brick.toml") },
    BuiltIn { name: "integrity", text: include_str!("../../../../plans/integrity.toml") },
    BuiltIn { name: "flush-test", text: include_str!("../../../../plans/flush-test.toml") },
    BuiltIn { name: "soak", text: include_str!("../../../../plans/soak.toml") },
    BuiltIn { name: "build", text: include_str!("../../../../plans/build.toml") },
    BuiltIn { name: "concat", text: include_str!("../../../../plans/concat.toml") },
    BuiltIn { name: "fileserver", text: include_str!("../../../../plans/fileserver.toml") },
    BuiltIn { name: "iozone", text: include_str!("../../../../plans/iozone.toml") },
    BuiltIn { name: "bonnie", text: include_str!("../../../../plans/bonnie.toml") },
    BuiltIn { name: "random-size", text: include_str!("../../../../plans/random-size.toml") },
    BuiltIn { name: "database", text: include_str!("../../../../plans/database.toml") },
    BuiltIn { name: "mail", text: include_str!("../../../../plans/mail.toml") },
    BuiltIn { name: "memory", text: include_str!("../../../../plans/memory.toml") },
    BuiltIn { name: "network", text: include_str!("../../../../plans/network.toml") },
    BuiltIn { name: "network-tuning", text: include_str!("../../../../plans/network-tuning.toml") },
    BuiltIn {
        name: "disk-to-network",
        text: include_str!("../../../../plans/disk-to-network.toml"),
    },
    BuiltIn { name: "multi-nic", text: include_str!("../../../../plans/multi-nic.toml") },
    BuiltIn { name: "nfs", text: include_str!("../../../../plans/nfs.toml") },
    BuiltIn { name: "nfs-tuning", text: include_str!("../../../../plans/nfs-tuning.toml") },
    BuiltIn { name: "file-servers", text: include_str!("../../../../plans/file-servers.toml") },
    BuiltIn { name: "metadata", text: include_str!("../../../../plans/metadata.toml") },
];

/// The plan of that name.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    PLANS.iter().find(|plan| plan.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::file;
    use crate::workload;

    #[test]
    fn every_plan_that_ships_reads_and_opens_with_its_question() {
        for built_in in PLANS {
            let name = built_in.name;
            let plan = file::read(built_in.text, name, None).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(plan.name, name);
            let first = built_in.text.lines().next().unwrap_or_default();
            assert!(first.starts_with("# ") && first.ends_with('?'), "{name}: {first}");
            assert!(plan.about.ends_with('?'), "{name}: {}", plan.about);
            assert!(workload::find(name).is_none(), "{name} is a workload's name too");
            assert!(plan.directories.is_empty(), "{name} names a directory of somebody's machine");
        }
    }
}
