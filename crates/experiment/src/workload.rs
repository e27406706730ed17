//! (pure) Named presets of knobs.
//!
//! A new workload is a constant in the file of its family, and a line in [`WORKLOADS`]. It holds no
//! code: a name and what it stands for, as one would type it.

mod bonnie;
mod iozone;
pub mod netcdf;
mod presets;
pub mod sources;
mod tree;
mod tools;

/// A name, and the knob values that it stands for.
#[derive(Debug)]
pub struct Workload {
    /// Kebab-case.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Engines that can run it; the first does unless another one is asked for.
    pub engines: &'static [&'static str],
    /// Knobs and values, as one would type them.
    pub settings: &'static [(&'static str, &'static str)],
}

/// In the order of the reference.
pub const WORKLOADS: &[&Workload] = &[
    &presets::SEQUENTIAL_READ,
    &presets::SEQUENTIAL_WRITE,
    &presets::RANDOM_READ,
    &presets::RANDOM_WRITE,
    &presets::MIXED,
    &presets::GENERATIONS,
    &presets::ACKNOWLEDGED,
    &tree::CREATE,
    &tree::OPEN,
    &tree::STAT,
    &tree::READDIR,
    &tree::RENAME,
    &tree::LINK,
    &tree::UNLINK,
    &tree::MKDIR,
    &tree::RMDIR,
    &tree::FSYNC,
    &tree::TOUCH,
    &presets::REPLAY,
    &presets::MAILBOX,
    &presets::SQLITE,
    &presets::TCP_STREAM,
    &presets::FILE_STREAM,
    &presets::UDP_STREAM,
    &presets::COMMAND,
    &presets::COMPILE,
    &presets::CONCATENATE,
    &iozone::WRITE,
    &iozone::REWRITE,
    &iozone::READ,
    &iozone::REREAD,
    &iozone::RANDOM_READ,
    &iozone::RANDOM_WRITE,
    &iozone::READ_BACKWARD,
    &iozone::RECORD_REWRITE,
    &iozone::READ_STRIDED,
    &iozone::FWRITE,
    &iozone::FREWRITE,
    &iozone::FREAD,
    &iozone::FREREAD,
    &bonnie::PUTC,
    &bonnie::WRITE,
    &bonnie::REWRITE,
    &bonnie::GETC,
    &bonnie::READ,
    &bonnie::SEEKS,
    &bonnie::CREATE,
    &bonnie::STAT,
    &bonnie::UNLINK,
    &bonnie::RANDOM_CREATE,
    &bonnie::RANDOM_STAT,
    &bonnie::RANDOM_UNLINK,
    &tools::BONNIE,
    &tools::IOZONE,
    &tools::DBENCH,
    &tools::SYSBENCH,
    &tools::IOR,
    &tools::MDTEST,
    &tools::ELBENCHO,
    &tools::ELBENCHO_NAMES,
    &tools::PGBENCH,
];

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().copied().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob;

    #[test]
    fn every_workload_sets_known_knobs_to_values_in_their_domains() {
        for workload in WORKLOADS {
            for (name, value) in workload.settings {
                let knob = knob::find(name)
                    .unwrap_or_else(|| panic!("{} sets unknown knob {name}", workload.name));
                let parsed = knob.domain.parse(value);
                assert!(workload.engines.iter().all(|engine| knob.obeyed_by(engine)), "{name}");
                assert!(parsed.is_ok(), "{}: {name}: {}", workload.name, parsed.unwrap_err());
            }
        }
    }
}
