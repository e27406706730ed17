//! (pure) Everything that can be varied.
//!
//! A new knob is a constant in the file of its family and a line in [`KNOBS`]. Arguments, the
//! store's settings, `list knobs`, the reference and the report's axis labels are all made from it.

use std::marker::PhantomData;

use base::value::{Domain, Value};

use typed::Setting;

pub mod access;
mod command;
mod concat;
mod database;
mod distinct;
pub mod engine;
pub mod engines;
mod extent;
mod flush;
mod group;
mod integrity;
mod job;
mod label;
mod layout;
mod mail;
mod near;
mod net;
pub mod peer;
mod replay;
mod settings;
mod sim;
pub mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tree;
pub mod typed;
mod verify;

pub use access::Access;
pub use command::*;
pub use concat::*;
pub use database::*;
pub use distinct::distinct;
pub use engine::{EngineKind, PUBLISHED};
pub use engines::ENGINES;
pub use extent::{EXTENT, INCIDENTAL};
pub use flush::*;
pub use group::{GROUPS, Group, grouped};
pub use integrity::*;
pub use job::*;
pub use label::*;
pub use layout::*;
pub use mail::*;
pub use near::{meant, nearest};
pub use net::*;
pub use replay::*;
pub use settings::Settings;
pub use sim::*;
pub use system::interface::*;
pub use system::mount::*;
pub use system::network::*;
pub use system::*;
pub use tree::*;
pub use verify::*;

/// One thing that can be varied, whose settings read as `T`.
#[derive(Clone, Copy, Debug)]
pub struct Knob<T = Any> {
    /// Kebab-case, units last; also its key in a plan, its column and its label.
    pub name: &'static str,
    /// What fio calls it, or "" where fio has no such thing.
    pub fio: &'static str,
    /// One line.
    pub about: &'static str,
    /// What it accepts.
    pub domain: Domain,
    /// Its value when nothing is said.
    pub default: &'static str,
    /// What it takes to change it.
    pub scope: Scope,
    /// How it is put in force.
    pub apply: Apply,
    reads: PhantomData<fn() -> T>,
}

/// The type of a knob in the table: what its settings read as is not said.
#[derive(Clone, Copy, Debug)]
pub enum Any {}

/// How a knob is put in force.
#[derive(Clone, Copy, Debug)]
pub enum Apply {
    /// By the engine, within the trial.
    Engine,
    /// By writing these files of the machine.
    Files(system::lies::KnobFiles),
    /// By these settings of the network interface that the trial names.
    Interface(system::lies::Interface),
    /// Names what other knobs change.
    Name,
    /// By a control group around the load that may hold so many bytes of memory.
    MemoryGroup,
    /// By the processors that the load may run on.
    Processors,
    /// By dropping what memory holds of files before each trial.
    DropCaches,
    /// By mounting a server's directory anew.
    Mount,
    /// By making arrays and file systems anew on the plan's disks.
    Layout,
    /// By a person, between runs.
    ByHand,
}

impl Apply {
    /// Whether either end of a network trial has such a setting, be there files or none.
    pub fn is_of_either_end(self) -> bool {
        use system::lies::KnobFiles::{Governors, Network};
        matches!(self, Apply::Interface(_) | Apply::Files(Network { .. } | Governors))
    }

    /// Whether it is a setting of the machine, in force for a trial and put back after it.
    pub fn is_setting(self) -> bool {
        !matches!(self, Apply::Engine | Apply::Layout | Apply::ByHand | Apply::Name)
    }
}

/// What it takes to change a knob, dearest first: a plan nests its trials in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Scope {
    /// What only a person can change: a run stops, and says what.
    Label,
    /// What lies under the files: needs new arrays and file systems on disks that are destroyed.
    Layout,
    /// A setting of the machine; needs root, and is put back.
    System,
    /// A parameter of the next trial; needs nothing.
    Job,
}

impl Scope {
    /// Dearest first.
    pub const ALL: [Scope; 4] = [Scope::Label, Scope::Layout, Scope::System, Scope::Job];

    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// In the order of the reference.
pub const KNOBS: &[&Knob] = &[
    &job::ACCESS.listed(),
    &job::BLOCK_SIZE.listed(),
    &job::QUEUE_DEPTH.listed(),
    &job::BATCH.listed(),
    &job::STREAMS.listed(),
    &job::FILE_SIZE.listed(),
    &job::FILES.listed(),
    &job::DIRECTORIES.listed(),
    &job::DIRECT.listed(),
    &job::DONTCACHE.listed(),
    &job::COLD.listed(),
    &job::IO_ENGINE.listed(),
    &job::STOP.listed(),
    &job::AT_LEAST.listed(),
    &job::AT_MOST.listed(),
    &job::SUSTAINED.listed(),
    &job::SECOND_PASS.listed(),
    &job::FSYNC.listed(),
    &job::DATASYNC.listed(),
    &job::FSYNC_IN_TIME.listed(),
    &job::CLOSE_IN_TIME.listed(),
    &job::FRESH_FILE.listed(),
    &job::READ_SHARE.listed(),
    &job::STRIDE_BLOCKS.listed(),
    &job::UPDATE_EVERY.listed(),
    &job::RANDOM_DISTRIBUTION.listed(),
    &job::ZIPF_THETA.listed(),
    &job::DATA.listed(),
    &job::COMPRESSIBLE_SHARE.listed(),
    &job::RATE.listed(),
    &job::CPU_PINNING.listed(),
    &job::HUGE_PAGES.listed(),
    &job::POLL.listed(),
    &verify::VERIFY.listed(),
    &verify::VERIFY_BLOCK.listed(),
    &integrity::REWRITE_SHARE.listed(),
    &flush::FLUSH_LOG.listed(),
    &flush::FLUSH_LOG_ANYWHERE.listed(),
    &tree::OPERATION.listed(),
    &tree::TREE_DEPTH.listed(),
    &tree::TREE_WIDTH.listed(),
    &tree::SHARED_DIRECTORIES.listed(),
    &tree::ORDER.listed(),
    &tree::NAMES.listed(),
    &replay::WARM_UP.listed(),
    &replay::LOADFILE.listed(),
    &replay::RESOLVE_NAMES.listed(),
    &replay::SYNC_OPEN.listed(),
    &replay::SYNC_WRITES.listed(),
    &replay::SYNC_DIRECTORIES.listed(),
    &mail::POOL_FILES.listed(),
    &mail::SIZE_LOW.listed(),
    &mail::SIZE_HIGH.listed(),
    &mail::SIZE_DISTRIBUTION.listed(),
    &mail::READ_BIAS.listed(),
    &mail::CREATE_BIAS.listed(),
    &mail::TRANSACTIONS.listed(),
    &mail::SYNC_FILES.listed(),
    &net::WIRE.listed(),
    &net::PEER_NAMESPACE.listed(),
    &net::PEER.listed(),
    &net::MTU.listed(),
    &net::DIRECTION.listed(),
    &net::MESSAGE_SIZE.listed(),
    &net::SEND_PATH.listed(),
    &net::RECEIVE_PATH.listed(),
    &net::RECEIVE_LOW_WATER.listed(),
    &net::SOCKET_BUFFER.listed(),
    &net::CONGESTION_CONTROL.listed(),
    &net::NODELAY.listed(),
    &net::PACING.listed(),
    &net::INTERFACES.listed(),
    &net::DATAGRAM_SIZE.listed(),
    &net::UDP_SEGMENTATION.listed(),
    &net::UDP_COALESCING.listed(),
    &database::SCALE.listed(),
    &database::JOURNAL_MODE.listed(),
    &database::SYNCHRONOUS.listed(),
    &database::PAGE_SIZE.listed(),
    &database::SHARED_DATABASE.listed(),
    &command::COMMAND.listed(),
    &command::SHELL.listed(),
    &command::PREPARE.listed(),
    &command::CLEANUP.listed(),
    &command::SERVER.listed(),
    &command::READY.listed(),
    &command::COPY_BYTES.listed(),
    &command::WORKING_DIRECTORY.listed(),
    &command::ENVIRONMENT.listed(),
    &command::TIMEOUT.listed(),
    &command::EXTRACT.listed(),
    &concat::CONCAT_WITH.listed(),
    &concat::VARIABLES.listed(),
    &layout::DISKS.listed(),
    &layout::RAID.listed(),
    &layout::VOLUMES.listed(),
    &layout::CHUNK_SIZE.listed(),
    &layout::FILESYSTEM.listed(),
    &layout::MKFS_OPTIONS.listed(),
    &layout::MOUNT_OPTIONS.listed(),
    &layout::JOURNAL.listed(),
    &layout::ARRAY_STATE.listed(),
    &layout::SNAPSHOT.listed(),
    &layout::PRECONDITION.listed(),
    &layout::FSCK.listed(),
    &layout::FSTRIM.listed(),
    &layout::RECORDSIZE.listed(),
    &layout::COMPRESSION.listed(),
    &layout::SYNC.listed(),
    &layout::PRIMARYCACHE.listed(),
    &layout::ATIME.listed(),
    &layout::LOGBIAS.listed(),
    &system::READ_AHEAD.listed(),
    &system::IO_SCHEDULER.listed(),
    &system::NR_REQUESTS.listed(),
    &system::MAX_SECTORS.listed(),
    &system::DIRTY_RATIO.listed(),
    &system::DIRTY_EXPIRE.listed(),
    &system::SWAPPINESS.listed(),
    &system::CPU_GOVERNOR.listed(),
    &system::TRANSPARENT_HUGEPAGES.listed(),
    &system::DROP_CACHES.listed(),
    &system::MEMORY_LIMIT.listed(),
    &system::CPUSET.listed(),
    &system::network::TCP_BUFFER_MAX.listed(),
    &system::network::SOCKET_BUFFER_MAX.listed(),
    &system::network::TCP_CONGESTION.listed(),
    &system::network::NETDEV_BACKLOG_MAX.listed(),
    &system::mount::NFS_VERSION.listed(),
    &system::mount::NFS_TRANSPORT.listed(),
    &system::mount::NFS_READ_SIZE.listed(),
    &system::mount::NFS_WRITE_SIZE.listed(),
    &system::mount::NCONNECT.listed(),
    &system::network::OPTMEM_MAX.listed(),
    &system::interface::NETWORK_INTERFACE.listed(),
    &system::interface::SETTINGS_AT.listed(),
    &system::interface::PEER_INTERFACE.listed(),
    &system::interface::INTERFACE_MTU.listed(),
    &system::interface::INTERRUPT_COALESCING.listed(),
    &system::interface::ADAPTIVE_COALESCING.listed(),
    &system::interface::RX_RING.listed(),
    &system::interface::TX_RING.listed(),
    &system::interface::TSO.listed(),
    &system::interface::GSO.listed(),
    &system::interface::GRO.listed(),
    &system::interface::LRO.listed(),
    &system::interface::RSS_QUEUES.listed(),
    &system::interface::RPS.listed(),
    &system::interface::INTERRUPT_CPUS.listed(),
    &system::interface::QDISC.listed(),
    &label::CARD.listed(),
    &label::SLOT.listed(),
    &label::DISK_MODEL.listed(),
    &label::CARD_MEMORY.listed(),
    &label::HARDWARE_RAID.listed(),
    &label::BIOS.listed(),
    &label::LABEL.listed(),
    &sim::SIM_CAPACITY.listed(),
    &sim::SIM_STREAM_RATE.listed(),
    &sim::SIM_SERVICE_TIME.listed(),
    &sim::SIM_COLLAPSE.listed(),
    &sim::SIM_CONTENTION.listed(),
    &sim::SIM_COHERENCY.listed(),
    &sim::SIM_INEQUALITY.listed(),
    &sim::SIM_NOISE.listed(),
    &sim::SIM_CORRELATION.listed(),
    &sim::SIM_CACHE.listed(),
    &sim::SIM_CACHE_RATE.listed(),
    &sim::SIM_PROCESSOR_CACHE.listed(),
    &sim::SIM_PROCESSOR_CACHE_RATE.listed(),
    &sim::SIM_DEVICE_CACHE.listed(),
    &sim::SIM_TRIAL_NOISE.listed(),
    &sim::SIM_WRITE_CACHE.listed(),
    &sim::SIM_BUS.listed(),
];

/// The knob of that name.
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().copied().find(|knob| knob.name == name)
}

/// A job knob.
const fn of_job<T: Setting>(
    name: &'static str,
    fio: &'static str,
    domain: Domain,
    default: &'static str,
    about: &'static str,
) -> Knob<T> {
    let (scope, apply) = (Scope::Job, Apply::Engine);
    Knob { name, fio, about, domain, default, scope, apply, reads: PhantomData }
}

/// One for which fio has no word.
const fn own<T: Setting>(
    name: &'static str,
    domain: Domain,
    default: &'static str,
    about: &'static str,
) -> Knob<T> {
    of_job(name, "", domain, default, about)
}

impl<T: Setting> Knob<T> {
    /// As it stands in the table.
    ///
    /// # Panics
    /// When its domain has values that do not read as `T`: then the table does not compile.
    const fn listed(self) -> Knob {
        assert!(T::KIND.holds(&self.domain), "a knob has the type of its domain");
        let Knob { name, fio, about, domain, default, scope, apply, .. } = self;
        Knob { name, fio, about, domain, default, scope, apply, reads: PhantomData }
    }
}

impl Knob {
    /// Whether the engine of that name obeys this knob.
    pub fn obeyed_by(&self, engine: &str) -> bool {
        EngineKind::named(engine).is_some_and(|engine| engine.obeys(self))
    }

    /// Names of the engines that obey this knob; none when every engine does.
    pub fn obeying(&self) -> Vec<&'static str> {
        let obeying: Vec<&str> =
            ENGINES.iter().filter(|engine| engine.obeys(self)).map(|engine| engine.name).collect();
        if obeying.len() == ENGINES.len() { Vec::new() } else { obeying }
    }

    /// The default, parsed.
    pub fn default_value(&self) -> Value {
        match self.domain {
            Domain::Directories => Value::Words(Vec::new()),
            _ => self.domain.parse(self.default).expect("a test parses every default"),
        }
    }

    fn value_from_json(&self, json: &serde_json::Value) -> Option<Value> {
        from_json(&self.domain, json)
    }
}

fn from_json(domain: &Domain, json: &serde_json::Value) -> Option<Value> {
    Some(match domain {
        Domain::Bytes { .. } => Value::Bytes(json.as_u64()?),
        Domain::BytesPerSecond => Value::BytesPerSecond(json.as_u64()?),
        Domain::Count { .. } => Value::Count(json.as_u64()?),
        Domain::Duration { .. } => Value::Duration(json.as_u64()?),
        Domain::Number { .. } => Value::Number(json.as_f64()?),
        Domain::Flag => Value::Flag(json.as_bool()?),
        Domain::OneOf(_) | Domain::Cpus | Domain::CpuList | Domain::Label | Domain::Text => {
            Value::Word(json.as_str()?.to_owned())
        }
        Domain::OrAsIs(_) if json == "as-is" => Value::as_is(),
        Domain::OrAsIs(inner) => from_json(inner, json)?,
        Domain::Stop => domain.parse(json.as_str()?).ok()?,
        Domain::Directories | Domain::Texts => {
            let words = json.as_array()?.iter();
            Value::Words(words.filter_map(|word| Some(word.as_str()?.to_owned())).collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob;

    #[test]
    fn names_are_kebab_case_and_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for knob in KNOBS {
            let good = knob.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            assert!(good, "{} is not kebab-case", knob.name);
            assert!(seen.insert(knob.name), "{} is registered twice", knob.name);
            assert!(!knob.about.ends_with('.'), "{}: one line, no full stop", knob.name);
        }
    }

    #[test]
    fn defaults_are_in_their_domains_and_survive_the_store() {
        for engine in ENGINES.iter().map(|engine| engine.name) {
            let settings = Settings::defaults(engine);
            let json = serde_json::to_value(&settings).unwrap();
            for (name, value) in settings.iter() {
                let stored = find(name).unwrap().value_from_json(&json[name]);
                assert_eq!(stored.as_ref(), Some(value), "{name}");
            }
            assert_eq!(Settings::from_json(engine, &json), settings);
            assert_eq!(settings.engine(), engine);
        }
    }

    /// Each knob that a version added made every trial of the last one another load: "the second
    /// has no such cell", said `compare` of all that it was given.
    #[test]
    fn a_load_of_an_older_version_is_the_same_as_one_of_now() {
        let now = Settings::defaults("file");
        let mut json = serde_json::to_value(&now).unwrap();
        for newer in ["dontcache", "recordsize", "sync"] {
            assert!(json.as_object_mut().unwrap().remove(newer).is_some(), "{newer}");
        }
        let then = Settings::from_json("file", &json);
        assert_ne!(then.fingerprint(&[]), now.fingerprint(&[]));
        assert_eq!(then.completed(), now);
        let imported = Settings::from_json("file", &serde_json::json!({ "block-size": 4096 }));
        assert_eq!(imported.clone().completed(), imported, "as a tool told it");
    }

    /// A name that no engine has was read as none: whose figures they are would have been lost.
    #[test]
    fn whose_output_was_imported_keeps_its_name_though_it_is_no_engine() {
        let json = serde_json::json!({ "streams": 2 });
        let imported = Settings::from_json("iperf3", &json);
        assert_eq!((imported.engine(), imported.get(knob::STREAMS)), ("iperf3", 2));
        assert!(imported.kind().is_none() && !imported.is_simulated());
        let other = Settings::from_json("netperf", &json);
        assert!(imported != other && imported.fingerprint(&[]) != other.fingerprint(&[]));
        assert_eq!(Settings::from_json(PUBLISHED, &json).engine(), "", "none ran");
    }

    /// A trial of a program has no block size: one in its settings would be a figure that nobody
    /// obeyed.
    #[test]
    fn programs_have_only_the_knobs_that_they_obey() {
        let settings = Settings::defaults("command");
        for knob in ["streams", "directories", "sustained", "at-least", "at-most", "command"] {
            assert!(settings.named(knob).is_some(), "{knob}");
        }
        for knob in ["block-size", "access", "direct", "stop", "file-size", "sim-noise"] {
            assert!(settings.named(knob).is_none(), "{knob}");
        }
        assert!(!Settings::defaults("file").has(knob::COMMAND));
        let absent =
            (settings.get(knob::ACCESS), settings.get(knob::FILES), settings.get(knob::DIRECT));
        assert_eq!(absent, (None, 0, false));
        assert!(
            settings.number(knob::BLOCK_SIZE).is_nan() && settings.get(knob::EXTRACT).is_empty()
        );
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour_and_a_strange_one_does_not() {
        let names = || KNOBS.iter().map(|knob| knob.name);
        assert_eq!(nearest("queue-dept", names()), Some("queue-depth"));
        assert_eq!(nearest("blok-size", names()), Some("block-size"));
        assert_eq!(nearest("tsop", names()), Some("stop"));
        assert_eq!(nearest("elephant", names()), None);
    }
}
