//! Every parser of what others may have written, in one table: what it understands, and a function
//! that takes any bytes at all.
//!
//! Tests walk the table with mutated inputs, fuzzers draw their own. A parser of something new is a
//! line in [`PARSERS`]. Each feeds what was read to whoever works with it next, as the numbers in
//! it do their harm there.

mod blobs;
mod lines;
mod machine;
mod texts;

/// One parser.
#[derive(Clone, Copy, Debug)]
pub struct Parser {
    /// Kebab-case.
    pub name: &'static str,
    /// What it understands.
    pub seeds: Seeds,
    /// Reads these bytes; whatever comes of it is dropped. It may refuse, and never panics.
    pub feed: fn(&[u8]),
}

/// What a parser understands, to begin with.
#[derive(Clone, Copy, Debug)]
pub enum Seeds {
    /// Files below `tests/fixtures`, and all files of folders below it.
    Fixtures(&'static [&'static str]),
    /// Files below the root of the repository, and all files of folders below it.
    Shipped(&'static [&'static str]),
    /// Short texts.
    Texts(&'static [&'static str]),
    /// What we write ourselves.
    Made(fn() -> Vec<Vec<u8>>),
}

/// All of them.
pub const PARSERS: &[Parser] = &[
    Parser { name: "import", seeds: Seeds::Fixtures(&["tools", "programs"]), feed: texts::import },
    Parser {
        name: "importers",
        seeds: Seeds::Fixtures(&["tools", "programs"]),
        feed: texts::importers,
    },
    Parser { name: "extract", seeds: Seeds::Fixtures(&["programs"]), feed: texts::extract },
    Parser { name: "extract-rule", seeds: Seeds::Texts(texts::RULES), feed: texts::rule },
    Parser { name: "plan", seeds: Seeds::Shipped(&["plans"]), feed: texts::plan },
    Parser { name: "checklist", seeds: Seeds::Fixtures(&["checklist"]), feed: texts::checklist },
    Parser { name: "loadfile", seeds: Seeds::Texts(texts::LOADFILES), feed: texts::loadfile },
    Parser { name: "values", seeds: Seeds::Texts(texts::VALUES), feed: texts::values },
    Parser { name: "sql", seeds: Seeds::Texts(texts::STATEMENTS), feed: blobs::sql },
    Parser { name: "command", seeds: Seeds::Texts(texts::COMMANDS), feed: texts::command },
    Parser { name: "quantities", seeds: Seeds::Texts(texts::QUANTITIES), feed: texts::quantity },
    Parser {
        name: "recording",
        seeds: Seeds::Fixtures(&[
            "sys/laptop.txt",
            "sys/nvme.txt",
            "sys/btrfs.txt",
            "sys/sata.txt",
            "sys/md-raid5.txt",
            "sys/sensors.txt",
            "sys/nvme-fabrics.txt",
            "sys/virtio-guest.txt",
        ]),
        feed: machine::recording,
    },
    Parser {
        name: "recording-of-a-server",
        seeds: Seeds::Fixtures(&[
            "sys/qemu-nvme.txt",
            "sys/qemu-sata.txt",
            "sys/qemu-sata-sas.txt",
            "sys/sas-expander.txt",
            "sys/t610-x4.txt",
            "sys/t610-x8.txt",
            "sys/qemu-arm.txt",
            "sys/two-socket-nvme.txt",
            "sys/virtio-vm.txt",
        ]),
        feed: machine::recording,
    },
    Parser { name: "pasted", seeds: Seeds::Fixtures(&["sys/pasted"]), feed: machine::recording },
    Parser {
        name: "packed-recording",
        seeds: Seeds::Made(machine::packed),
        feed: machine::recording,
    },
    Parser { name: "proc", seeds: Seeds::Fixtures(&["proc"]), feed: machine::proc },
    Parser { name: "tool-of-disks", seeds: Seeds::Texts(machine::TOOLS), feed: machine::tools },
    Parser { name: "flush-log", seeds: Seeds::Made(lines::flush_logs), feed: lines::flush_log },
    Parser {
        name: "integrity-state",
        seeds: Seeds::Made(lines::integrity_states),
        feed: lines::integrity_state,
    },
    Parser { name: "journal", seeds: Seeds::Made(lines::journals), feed: lines::journal },
    Parser { name: "worker", seeds: Seeds::Made(lines::of_workers), feed: lines::worker },
    Parser { name: "peer", seeds: Seeds::Made(lines::of_peers), feed: lines::peer },
    Parser { name: "request", seeds: Seeds::Texts(lines::REQUESTS), feed: lines::request },
    Parser { name: "series", seeds: Seeds::Made(blobs::series), feed: blobs::read_series },
    Parser { name: "histogram", seeds: Seeds::Made(blobs::histograms), feed: blobs::histogram },
    Parser { name: "light-record", seeds: Seeds::Made(blobs::records), feed: blobs::record },
    Parser { name: "settings", seeds: Seeds::Made(blobs::settings), feed: blobs::read_settings },
    Parser { name: "netcdf-header", seeds: Seeds::Made(blobs::headers), feed: blobs::header },
    Parser { name: "block", seeds: Seeds::Made(blobs::blocks), feed: blobs::block },
];

/// The parser of that name.
pub fn find(name: &str) -> Option<&'static Parser> {
    PARSERS.iter().find(|parser| parser.name == name)
}

#[cfg(test)]
mod tests;
