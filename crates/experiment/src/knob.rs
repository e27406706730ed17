//! Everything that can be varied.
//!
//! A new knob is a constant in the file of its family and a line in [`KNOBS`]. Arguments, the
//! store's settings, `list knobs`, the reference and the report's axis labels are all made from it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use base::value::{Domain, Stop, Value};
use host::inventory::Target;
use host::sys::{Error, Host};

pub mod access;
mod command;
mod concat;
mod database;
mod distinct;
mod flush;
mod integrity;
mod job;
mod label;
mod layout;
mod mail;
mod near;
mod net;
mod replay;
mod sim;
pub mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tools;
mod tree;
mod verify;

pub use distinct::distinct;
pub use near::nearest;

/// One thing that can be varied.
#[derive(Debug)]
pub struct Knob {
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
    /// Engines that obey it, but for installed [`tools`]; empty means every engine.
    pub engines: &'static [&'static str],
    /// How it is put in force.
    pub apply: Apply,
}

/// How a knob is put in force.
#[derive(Clone, Copy, Debug)]
pub enum Apply {
    /// By the engine, within the trial.
    Engine,
    /// By writing files of the machine: these, for trials on these targets.
    Files(fn(&Host, &[Target]) -> Result<Vec<system::Place>, Error>),
    /// By settings of the network interface that the trial names: these.
    Interface(fn(&Host, &str) -> Result<Vec<system::Place>, Error>),
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
    /// Whether it is a setting of the machine, in force for a trial and put back after it.
    pub fn is_setting(self) -> bool {
        !matches!(self, Apply::Engine | Apply::Layout | Apply::ByHand | Apply::Name)
    }
}

/// What it takes to change a knob, dearest first: a plan nests its trials in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        match self {
            Scope::Label => "label",
            Scope::Layout => "layout",
            Scope::System => "system",
            Scope::Job => "job",
        }
    }
}

/// In the order of the reference.
pub const KNOBS: &[&Knob] = &[
    &job::ACCESS,
    &job::BLOCK_SIZE,
    &job::QUEUE_DEPTH,
    &job::BATCH,
    &job::STREAMS,
    &job::FILE_SIZE,
    &job::FILES,
    &job::DIRECTORIES,
    &job::DIRECT,
    &job::COLD,
    &job::IO_ENGINE,
    &job::STOP,
    &job::AT_LEAST,
    &job::AT_MOST,
    &job::SUSTAINED,
    &job::SECOND_PASS,
    &job::FSYNC,
    &job::FSYNC_IN_TIME,
    &job::CLOSE_IN_TIME,
    &job::FRESH_FILE,
    &job::READ_SHARE,
    &job::STRIDE_BLOCKS,
    &job::UPDATE_EVERY,
    &job::RANDOM_DISTRIBUTION,
    &job::ZIPF_THETA,
    &job::DATA,
    &job::COMPRESSIBLE_SHARE,
    &job::RATE,
    &job::CPU_PINNING,
    &job::HUGE_PAGES,
    &job::POLL,
    &verify::VERIFY,
    &verify::VERIFY_BLOCK,
    &integrity::REWRITE_SHARE,
    &flush::FLUSH_LOG,
    &flush::FLUSH_LOG_ANYWHERE,
    &tree::OPERATION,
    &tree::TREE_DEPTH,
    &tree::TREE_WIDTH,
    &tree::SHARED_DIRECTORIES,
    &tree::ORDER,
    &tree::NAMES,
    &replay::WARM_UP,
    &replay::LOADFILE,
    &replay::RESOLVE_NAMES,
    &replay::SYNC_OPEN,
    &replay::SYNC_WRITES,
    &replay::SYNC_DIRECTORIES,
    &mail::POOL_FILES,
    &mail::SIZE_LOW,
    &mail::SIZE_HIGH,
    &mail::SIZE_DISTRIBUTION,
    &mail::READ_BIAS,
    &mail::CREATE_BIAS,
    &mail::TRANSACTIONS,
    &mail::SYNC_FILES,
    &net::WIRE,
    &net::PEER_NAMESPACE,
    &net::PEER,
    &net::MTU,
    &net::DIRECTION,
    &net::MESSAGE_SIZE,
    &net::SEND_PATH,
    &net::RECEIVE_PATH,
    &net::RECEIVE_LOW_WATER,
    &net::SOCKET_BUFFER,
    &net::CONGESTION_CONTROL,
    &net::NODELAY,
    &net::PACING,
    &net::INTERFACES,
    &net::DATAGRAM_SIZE,
    &net::UDP_SEGMENTATION,
    &net::UDP_COALESCING,
    &database::SCALE,
    &database::JOURNAL_MODE,
    &database::SYNCHRONOUS,
    &database::PAGE_SIZE,
    &database::SHARED_DATABASE,
    &command::COMMAND,
    &command::SHELL,
    &command::PREPARE,
    &command::CLEANUP,
    &command::SERVER,
    &command::READY,
    &command::COPY_BYTES,
    &command::WORKING_DIRECTORY,
    &command::ENVIRONMENT,
    &command::TIMEOUT,
    &command::EXTRACT,
    &concat::CONCAT_WITH,
    &concat::VARIABLES,
    &layout::DISKS,
    &layout::RAID,
    &layout::VOLUMES,
    &layout::CHUNK_SIZE,
    &layout::FILESYSTEM,
    &layout::MKFS_OPTIONS,
    &layout::MOUNT_OPTIONS,
    &layout::JOURNAL,
    &layout::ARRAY_STATE,
    &layout::SNAPSHOT,
    &layout::PRECONDITION,
    &system::READ_AHEAD,
    &system::IO_SCHEDULER,
    &system::NR_REQUESTS,
    &system::MAX_SECTORS,
    &system::DIRTY_RATIO,
    &system::DIRTY_EXPIRE,
    &system::SWAPPINESS,
    &system::CPU_GOVERNOR,
    &system::TRANSPARENT_HUGEPAGES,
    &system::DROP_CACHES,
    &system::MEMORY_LIMIT,
    &system::CPUSET,
    &system::network::TCP_BUFFER_MAX,
    &system::network::SOCKET_BUFFER_MAX,
    &system::network::TCP_CONGESTION,
    &system::network::NETDEV_BACKLOG_MAX,
    &system::mount::NFS_VERSION,
    &system::mount::NFS_TRANSPORT,
    &system::mount::NFS_READ_SIZE,
    &system::mount::NFS_WRITE_SIZE,
    &system::mount::NCONNECT,
    &system::network::OPTMEM_MAX,
    &system::interface::NETWORK_INTERFACE,
    &system::interface::INTERFACE_MTU,
    &system::interface::INTERRUPT_COALESCING,
    &system::interface::ADAPTIVE_COALESCING,
    &system::interface::RX_RING,
    &system::interface::TX_RING,
    &system::interface::TSO,
    &system::interface::GSO,
    &system::interface::GRO,
    &system::interface::LRO,
    &system::interface::RSS_QUEUES,
    &system::interface::RPS,
    &system::interface::INTERRUPT_CPUS,
    &system::interface::QDISC,
    &label::CARD,
    &label::SLOT,
    &label::DISK_MODEL,
    &label::CARD_MEMORY,
    &label::HARDWARE_RAID,
    &label::BIOS,
    &label::LABEL,
    &sim::CAPACITY,
    &sim::STREAM_RATE,
    &sim::SERVICE_TIME,
    &sim::COLLAPSE,
    &sim::CONTENTION,
    &sim::COHERENCY,
    &sim::INEQUALITY,
    &sim::NOISE,
    &sim::CORRELATION,
    &sim::CACHE,
    &sim::CACHE_RATE,
    &sim::PROCESSOR_CACHE,
    &sim::PROCESSOR_CACHE_RATE,
    &sim::DEVICE_CACHE,
    &sim::TRIAL_NOISE,
    &sim::WRITE_CACHE,
    &sim::BUS,
];

/// The knob of that name.
pub fn find(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().copied().find(|knob| knob.name == name)
}

/// Names of the engines, whose code is the business of `engine`; a plan may name these.
pub const ENGINES: [&str; 23] = [
    "file",
    "integrity",
    "flush-test",
    "tree",
    "replay",
    "mail",
    "database",
    "net",
    "net-file",
    "net-udp",
    "command",
    "concat",
    "fio",
    "bonnie++",
    "iozone",
    "dbench",
    "sysbench",
    "ior",
    "mdtest",
    "elbencho",
    "iperf3",
    "pgbench",
    "sim",
];

/// A value for every knob of an engine, and which engine that is: two engines that obey the same
/// knobs would otherwise make the same cell. Copies share their values until one is changed.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    engine: &'static str,
    values: Arc<BTreeMap<&'static str, Value>>,
}

impl PartialEq for Settings {
    fn eq(&self, other: &Settings) -> bool {
        // Replicates share theirs, and of thousands of trials each is held against others.
        let shared = Arc::ptr_eq(&self.values, &other.values);
        self.engine == other.engine && (shared || self.values == other.values)
    }
}

impl Settings {
    /// Every knob that `engine` obeys, at its default.
    pub fn defaults(engine: &str) -> Settings {
        let obeyed = KNOBS.iter().filter(|knob| knob.obeyed_by(engine));
        let values = obeyed.map(|knob| (knob.name, knob.default_value())).collect();
        Settings { engine: known_engine(engine), values: Arc::new(values) }
    }

    /// The name of the engine that obeys them; empty when this version knows none of that name.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// Sets the knob `name`.
    ///
    /// # Panics
    /// When the engine of these settings has no such knob: presets and arguments are checked.
    pub fn set(&mut self, name: &str, value: Value) {
        let held = Arc::make_mut(&mut self.values).get_mut(name);
        *held.unwrap_or_else(|| panic!("no knob `{name}` here")) = value;
    }

    /// Whether what is measured goes over a network, whose rates are told in bits.
    pub fn is_network(&self) -> bool {
        self.has("wire")
    }

    /// Whether these settings have the knob `name`.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The value of the knob `name`.
    ///
    /// # Panics
    /// When the engine of these settings has no such knob.
    pub fn get(&self, name: &str) -> &Value {
        self.values.get(name).unwrap_or_else(|| panic!("no knob `{name}` here"))
    }

    /// The value of the knob `name`, when the engine of these settings has it.
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Whether `name` says how bytes are moved and the files have none, as empty ones that a tool
    /// makes and removes.
    pub fn is_moot(&self, name: &str) -> bool {
        const OF_BYTES: [&str; 5] = ["access", "block-size", "queue-depth", "direct", "io-engine"];
        let empty = self.find("file-size") == Some(&Value::Bytes(0));
        empty && self.has("access") && OF_BYTES.contains(&name)
    }

    /// The knob `name` as a number: bytes, ns, operations, or a plain number; not a number for
    /// words and for what the engine does not have.
    pub fn number(&self, name: &str) -> f64 {
        match self.find(name) {
            Some(
                Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n),
            ) => *n as f64,
            Some(Value::Number(n)) => *n,
            Some(Value::Flag(on)) => f64::from(u8::from(*on)),
            Some(Value::Word(_) | Value::Words(_) | Value::Stop(_)) | None => f64::NAN,
        }
    }

    /// The knob `name` as a whole number of its base unit; 0 for words and for what the engine does
    /// not have.
    pub fn whole(&self, name: &str) -> u64 {
        match self.find(name) {
            Some(
                Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n),
            ) => *n,
            Some(Value::Flag(on)) => u64::from(*on),
            _ => 0,
        }
    }

    /// The switch `name`; off when the engine does not have it.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.find(name), Some(Value::Flag(true)))
    }

    /// The word or text `name`; empty when it is none or the engine does not have it.
    pub fn word(&self, name: &str) -> &str {
        match self.find(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// The texts `name`; none when the engine does not have it.
    pub fn texts(&self, name: &str) -> &[String] {
        match self.find(name) {
            Some(Value::Words(texts)) => texts,
            _ => &[],
        }
    }

    /// When the timed part ends.
    pub fn stop(&self) -> Stop {
        match self.get("stop") {
            Value::Stop(stop) => *stop,
            other => unreachable!("the domain of `stop` yields no {other:?}"),
        }
    }

    /// The directories, as the user named them; none of what was not measured in any.
    pub fn directories(&self) -> &[String] {
        self.texts("directories")
    }

    /// All, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// A number that is the same for equal settings, those of `but` left out; others seldom
    /// share it.
    pub fn fingerprint(&self, but: &[&str]) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.engine.hash(&mut hasher);
        for (name, value) in self.iter().filter(|(name, _)| !but.contains(name)) {
            (name, value).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Reads what [`Serialize`] wrote for `engine`; knobs that this version does not know are left
    /// out.
    pub fn from_json(engine: &str, json: &serde_json::Value) -> Settings {
        let object = json.as_object().into_iter().flatten();
        let known = object.filter_map(|(name, value)| {
            let knob = find(name)?;
            Some((knob.name, knob.value_from_json(value)?))
        });
        Settings { engine: known_engine(engine), values: Arc::new(known.collect()) }
    }
}

fn known_engine(name: &str) -> &'static str {
    ENGINES.into_iter().find(|known| *known == name).unwrap_or("")
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.values.iter())
    }
}

/// A job knob that `engines` alone obey, for which other tools have no word.
const fn own(
    engines: &'static [&'static str],
    name: &'static str,
    domain: Domain,
    default: &'static str,
    about: &'static str,
) -> Knob {
    let (scope, apply) = (Scope::Job, Apply::Engine);
    Knob { name, fio: "", about, domain, default, scope, engines, apply }
}

impl Knob {
    /// Whether `engine` obeys this knob.
    pub fn obeyed_by(&self, engine: &str) -> bool {
        let named = || self.engines.is_empty() || self.engines.contains(&engine);
        tools::obeys(engine, self).unwrap_or_else(named)
    }

    /// Names of the engines that obey this knob; none when every engine does.
    pub fn obeying(&self) -> Vec<&'static str> {
        let obeying: Vec<&str> =
            ENGINES.into_iter().filter(|engine| self.obeyed_by(engine)).collect();
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
        for engine in ENGINES {
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

    /// A trial of a program has no block size: one in its settings would be a figure that nobody
    /// obeyed.
    #[test]
    fn programs_have_only_the_knobs_that_they_obey() {
        let settings = Settings::defaults("command");
        for knob in ["streams", "directories", "sustained", "at-least", "at-most", "command"] {
            assert!(settings.has(knob), "{knob}");
        }
        for knob in ["block-size", "access", "direct", "stop", "file-size", "sim-noise"] {
            assert!(!settings.has(knob), "{knob}");
        }
        assert!(!Settings::defaults("file").has("command"));
        let absent = (settings.word("access"), settings.whole("files"), settings.flag("direct"));
        assert_eq!(absent, ("", 0, false));
        assert!(settings.number("block-size").is_nan() && settings.texts("extract").is_empty());
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
