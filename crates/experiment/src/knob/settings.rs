//! What a trial is set to: a value for every knob that its engine obeys.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::engine::{Does, EngineKind, PUBLISHED};
use super::typed::{Count, Setting};
use super::{ACCESS, DIRECTORIES, FILE_SIZE, Knob, STOP, WIRE, find};
use base::value::{Stop, Value};

mod way;

/// A value for every knob of an engine, and which engine that is: two engines that obey the same
/// knobs would otherwise make the same cell. Copies share their values until one is changed.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(super) engine: Cow<'static, str>,
    pub(super) values: Arc<BTreeMap<&'static str, Value>>,
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
        let kind = EngineKind::named(engine);
        let obeyed = kind.into_iter().flat_map(EngineKind::obeyed);
        let values = obeyed.map(|knob| (knob.name, knob.default_value())).collect();
        Settings { engine: kind.map_or("", |kind| kind.name).into(), values: Arc::new(values) }
    }

    /// The name of the engine that obeys them, or of the tool whose output they were imported with;
    /// empty where nobody did.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// What `knob` is set to; of an engine that does not obey it what its type says for nothing:
    /// 0, off, no word.
    ///
    /// ```
    /// use experiment::knob::{BLOCK_SIZE, Settings};
    /// let bytes: u64 = Settings::defaults("file").get(BLOCK_SIZE);
    /// assert_eq!(bytes, 1 << 20);
    /// ```
    /// A name that no knob has does not compile, and neither does a type that it does not hold:
    /// ```compile_fail
    /// # use experiment::knob::{BLOCK_SIZE, Settings};
    /// let on: bool = Settings::defaults("file").get(BLOCK_SIZE);
    /// ```
    pub fn get<T: Setting>(&self, knob: Knob<T>) -> T::Read<'_> {
        T::read(self.named(knob.name))
    }

    /// What `knob` is set to, when the engine obeys it.
    pub fn find<T: Setting>(&self, knob: Knob<T>) -> Option<T::Read<'_>> {
        self.named(knob.name).map(|held| T::read(Some(held)))
    }

    /// Whether the engine obeys `knob`.
    pub fn has<T>(&self, knob: Knob<T>) -> bool {
        self.named(knob.name).is_some()
    }

    /// What `knob` is set to as a number: bytes, ns, operations, or a plain number; not a number
    /// for words and for what the engine does not obey.
    pub fn number<T>(&self, knob: Knob<T>) -> f64 {
        self.named(knob.name).map_or(f64::NAN, Value::number)
    }

    /// How many there are of what `knob` counts: one, where the engine does not obey it.
    pub fn how_many(&self, knob: Knob<Count>) -> f64 {
        self.find(knob).unwrap_or(1).max(1) as f64
    }

    /// What `knob` is set to, to be printed.
    ///
    /// # Panics
    /// When the engine does not obey it.
    pub fn value<T>(&self, knob: Knob<T>) -> &Value {
        self.named(knob.name).unwrap_or_else(|| panic!("no knob `{}` here", knob.name))
    }

    /// What is known of the engine that obeys them; `None` of results that others reported.
    pub fn kind(&self) -> Option<&'static EngineKind> {
        EngineKind::named(&self.engine)
    }

    /// Whether they are obeyed by a simulated server.
    pub fn is_simulated(&self) -> bool {
        self.does(Does::Simulates)
    }

    /// Whether the engine that obeys them does that.
    pub fn does(&self, what: Does) -> bool {
        self.kind().is_some_and(|kind| kind.does.contains(&what))
    }

    /// Sets `knob`.
    ///
    /// # Panics
    /// When the engine does not obey it. That the value is in the knob's domain is not looked at:
    /// what comes from people is checked, and set by [`set_named`](Settings::set_named).
    pub fn set<T: Setting>(&mut self, knob: Knob<T>, to: T::Given<'_>) {
        self.set_named(knob.name, T::value(to));
    }

    /// What the knob `name` is set to, when the engine obeys one of that name. For what is known by
    /// name alone, as factors of a plan and columns of a store are.
    pub fn named(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Sets the knob `name`, to a value of its domain.
    ///
    /// # Panics
    /// When the engine of these settings has no such knob: presets and arguments are checked.
    pub fn set_named(&mut self, name: &str, value: Value) {
        let held = Arc::make_mut(&mut self.values).get_mut(name);
        *held.unwrap_or_else(|| panic!("no knob `{name}` here")) = value;
    }

    /// Whether what is measured goes over a network, whose rates are told in bits.
    pub fn is_network(&self) -> bool {
        self.has(WIRE)
    }

    /// Whether `name` says how bytes are moved and the files have none, as empty ones that a tool
    /// makes and removes.
    pub fn is_moot(&self, name: &str) -> bool {
        const OF_BYTES: [&str; 5] = ["access", "block-size", "queue-depth", "direct", "io-engine"];
        self.find(FILE_SIZE) == Some(0) && self.has(ACCESS) && OF_BYTES.contains(&name)
    }

    /// When the timed part ends.
    pub fn stop(&self) -> Stop {
        self.get(STOP).expect("an engine whose trials are ended obeys `stop`")
    }

    /// The directories, as the user named them; none of what was not measured in any.
    pub fn directories(&self) -> &[String] {
        self.get(DIRECTORIES)
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
    /// out. The name stays as it was written, for it need not be one of ours: a tool whose output
    /// was imported is no engine. [`PUBLISHED`] is the name of nobody.
    pub fn from_json(engine: &str, json: &serde_json::Value) -> Settings {
        let object = json.as_object().into_iter().flatten();
        let known = object.filter_map(|(name, value)| {
            let knob = find(name)?;
            Some((knob.name, knob.value_from_json(value)?))
        });
        let values = Arc::new(known.collect());
        let engine = match EngineKind::named(engine) {
            Some(kind) => Cow::Borrowed(kind.name),
            None if engine == PUBLISHED => Cow::Borrowed(""),
            None => Cow::Owned(engine.to_owned()),
        };
        Settings { engine, values }
    }

    /// Those of a trial that an older version ran, with the knobs that it had not at their
    /// defaults, which do what that version did: a load of then is the same as one of now. What was
    /// imported is as the tool told it: no label stands in it, where all do in a trial of ours.
    #[must_use]
    pub fn completed(mut self) -> Settings {
        if !self.has(super::LABEL) {
            return self;
        }
        let lacks = |name: &str| !self.values.contains_key(name);
        let defaults = Settings::defaults(&self.engine);
        let more: Vec<(&'static str, Value)> = defaults
            .iter()
            .filter(|(name, _)| lacks(name))
            .map(|(name, value)| (name, value.clone()))
            .collect();
        if !more.is_empty() {
            Arc::make_mut(&mut self.values).extend(more);
        }
        self
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.values.iter())
    }
}
