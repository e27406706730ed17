//! Reading TOML key by key, each with its place in the file.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::knob::{self, KNOBS, Knob};
use crate::plan::refused::Refused;
use base::value::{Domain, Value, parse_price};

/// What is wrong with a plan file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    what: String,
    hint: String,
    /// Bytes of the text.
    place: Range<usize>,
}

impl Mistake {
    /// With the line that it is in and a caret under it.
    pub fn refuse(&self, text: &str, file: &str) -> Refused {
        // Whatever a place is, it lies in the text and on the bounds of characters.
        let mut start = self.place.start.min(text.len());
        let mut end = self.place.end.clamp(start, text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let mark = AnnotationKind::Primary.span(start..end);
        let snippet = Snippet::source(text).path(file).annotation(mark);
        let title = Level::ERROR.primary_title(self.what.as_str()).element(snippet);
        let shown = Renderer::plain().render(&[title]);
        let why = shown.strip_prefix("error: ").unwrap_or(&shown).to_owned();
        Refused { why, hint: self.hint.clone() }
    }
}

/// Parses the text as TOML.
pub fn document(text: &str) -> Result<Spanned<DeTable<'_>>, Mistake> {
    DeTable::parse(text).map_err(|error| Mistake {
        what: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
        hint: "see https://toml.io; a plan is shown by `brickyard plan --help`".to_owned(),
        place: error.span().unwrap_or(0..0),
    })
}

/// A table, of which keys are taken until none is left.
pub struct TomlTable<'a> {
    entries: Vec<Entry<'a>>,
    place: Range<usize>,
    /// Keys that were asked for: what a misspelt one may be.
    known: Vec<&'static str>,
}

/// A key and its value; an item of a list stands under the list's key.
#[derive(Clone)]
pub struct Entry<'a> {
    key: &'a str,
    key_place: Range<usize>,
    value: &'a DeValue<'a>,
    place: Range<usize>,
}

impl<'a> TomlTable<'a> {
    /// The keys of a table, in the order in which they are written.
    pub fn from_toml(table: &'a DeTable<'a>, place: Range<usize>) -> TomlTable<'a> {
        let mut entries: Vec<Entry<'a>> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref(),
                key_place: key.span(),
                value: value.get_ref(),
                place: value.span(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_place.start);
        TomlTable { entries, place, known: Vec::new() }
    }

    /// Takes a key that may be there.
    pub fn take(&mut self, key: &'static str) -> Option<Entry<'a>> {
        self.known.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// A key that may be there, and stays.
    pub fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Takes a key that must be there.
    pub fn need(&mut self, key: &'static str) -> Result<Entry<'a>, Mistake> {
        self.take(key).ok_or_else(|| {
            // What is there may be the key, misspelt.
            let near = |entry: &&Entry<'_>| knob::nearest(entry.key, [key].into_iter()).is_some();
            let place = self
                .entries
                .iter()
                .find(near)
                .map_or(self.place.clone(), |entry| entry.key_place.clone());
            Mistake {
                what: format!("`{key}` is missing here"),
                hint: format!("write {key} = ..., as the guide to plans shows"),
                place,
            }
        })
    }

    /// Takes all that is left.
    pub fn rest(self) -> Vec<Entry<'a>> {
        self.entries
    }

    /// Refuses what was not asked for.
    pub fn finish(self, whose: &str) -> Result<(), Mistake> {
        let Some(entry) = self.entries.first() else { return Ok(()) };
        let known = self.known.iter().copied();
        let meant = knob::meant(entry.key, known.clone(), |near| format!("`{near}`"));
        let hint = meant.unwrap_or_else(|| {
            format!("the keys of {whose} are {}", known.collect::<Vec<_>>().join(", "))
        });
        Err(entry.wrong_key(format!("{whose} has no key `{}`", entry.key), hint))
    }
}

impl<'a> Entry<'a> {
    /// A mistake in the value.
    pub fn wrong(&self, what: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake { what: what.into(), hint: hint.into(), place: self.place.clone() }
    }

    /// A mistake in the key.
    pub fn wrong_key(&self, what: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake { what: what.into(), hint: hint.into(), place: self.key_place.clone() }
    }

    /// A name that is none of those known.
    pub fn unknown<'n>(
        &self,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> Mistake {
        let hint = knob::meant(name, known.clone(), |near| format!("`{near}`"))
            .unwrap_or_else(|| format!("choose one of {}", known.collect::<Vec<_>>().join(", ")));
        self.wrong(format!("there is no {kind} `{name}`"), hint)
    }

    /// The key, where it names something of the plan's own: kebab-case.
    pub fn own_name(&self) -> Result<String, Mistake> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match !self.key.is_empty() && self.key.chars().all(good) {
            true => Ok(self.key.to_owned()),
            false => Err(self.wrong_key(
                format!("`{}` is no name of small letters, digits and -", self.key),
                "write a name such as disk, or disk-shelf",
            )),
        }
    }

    /// The value as a price above 0, and its currency, which is empty where none is written.
    pub fn price(&self) -> Result<(f64, String), Mistake> {
        let hint = || format!("write {0} = 310.0, or {0} = \"310USD\"", self.key);
        let wrong = || self.wrong(format!("`{}` is a number above 0", self.key), hint());
        let text = self.scalar().ok_or_else(wrong)?;
        let (number, currency) = match text.parse::<f64>() {
            // As TOML writes numbers: 3.1e2 is one.
            Ok(number) => (number, ""),
            Err(_) => parse_price(&text).map_err(|why| self.wrong(why, hint()))?,
        };
        match number.is_finite() && number > 0.0 {
            true => Ok((number, currency.to_owned())),
            false => Err(wrong()),
        }
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// The value as a table.
    pub fn table(&self) -> Result<TomlTable<'a>, Mistake> {
        match self.value {
            DeValue::Table(table) => Ok(TomlTable::from_toml(table, self.place.clone())),
            _ => Err(self.wrong(
                format!("`{}` is a table", self.key),
                format!("write [{}] and its keys below it", self.key),
            )),
        }
    }

    /// The value as a list of tables.
    pub fn tables(&self) -> Result<Vec<TomlTable<'a>>, Mistake> {
        let wrong = |place: &Entry<'a>| {
            place.wrong(
                format!("`{}` is a list of tables", self.key),
                format!("write [[{}]] and its keys below it", self.key),
            )
        };
        let DeValue::Array(_) = self.value else { return Err(wrong(self)) };
        let items = self.list()?;
        items.iter().map(|item| item.table().map_err(|_| wrong(item))).collect()
    }

    /// The value as a list.
    pub fn list(&self) -> Result<Vec<Entry<'a>>, Mistake> {
        let DeValue::Array(items) = self.value else {
            return Err(self.wrong(
                format!("`{}` is a list", self.key),
                format!("write {} = [ ..., ... ]", self.key),
            ));
        };
        let item = |item: &'a Spanned<DeValue<'a>>| Entry {
            value: item.get_ref(),
            place: item.span(),
            ..self.clone()
        };
        Ok(items.iter().map(item).collect())
    }

    /// The value as text.
    pub fn text(&self) -> Result<String, Mistake> {
        match self.value {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            _ => Err(self
                .wrong(format!("`{}` is text", self.key), format!("write {} = \"...\"", self.key))),
        }
    }

    /// The value as a whole number from `min` to `max`.
    pub fn whole(&self, min: u64, max: u64) -> Result<u64, Mistake> {
        let number = self.scalar().and_then(|text| text.parse::<u64>().ok());
        number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
            self.wrong(
                format!("`{}` is a whole number from {min} to {max}", self.key),
                format!("write {} = {}", self.key, 3.clamp(min, max)),
            )
        })
    }

    /// The knob that the key names.
    pub fn knob(&self) -> Result<&'static Knob, Mistake> {
        knob::find(self.key).ok_or_else(|| {
            let names = KNOBS.iter().map(|knob| knob.name);
            let meant = knob::meant(self.key, names, |near| format!("`{near}`"));
            let meant = meant.map_or(String::new(), |meant| format!("{meant} "));
            let hint = format!("{meant}`brickyard list knobs` shows all");
            self.wrong_key(format!("there is no knob `{}`", self.key), hint)
        })
    }

    /// The value as one level or a list of them, for an engine that must obey the knob.
    pub fn levels(&self, knob: &'static Knob, engine: Option<&str>) -> Result<Vec<Value>, Mistake> {
        if let Some(engine) = engine.filter(|engine| !knob.obeyed_by(engine)) {
            return Err(self.wrong_key(
                format!("the engine `{engine}` has no knob `{}`", knob.name),
                format!("leave it out; it is a knob of {}", knob.obeying().join(", ")),
            ));
        }
        let items = match self.value {
            // All texts of a list together are one level.
            DeValue::Array(_) if matches!(knob.domain, Domain::Texts) => {
                let texts = self.list()?.iter().map(Entry::text).collect::<Result<_, _>>()?;
                return Ok(vec![Value::Words(texts)]);
            }
            DeValue::Array(_) => self.list()?,
            _ => vec![self.clone()],
        };
        let mut levels = Vec::with_capacity(items.len());
        for item in &items {
            let level = item.read(knob)?;
            if levels.contains(&level) {
                return Err(item.wrong(
                    format!("the level {level} of `{}` is there twice", knob.name),
                    "give each level once; `replicates` repeats all of them",
                ));
            }
            levels.push(level);
        }
        match levels.is_empty() {
            true => Err(self.wrong(
                format!("`{}` has no level", knob.name),
                format!("{} takes {}", knob.name, knob.domain.describe()),
            )),
            false => Ok(levels),
        }
    }

    /// The value as a level of a knob that the engine must obey.
    pub fn level(&self, knob: &'static Knob, engine: &str) -> Result<Value, Mistake> {
        let levels = self.levels(knob, Some(engine))?;
        match <[Value; 1]>::try_from(levels) {
            Ok([level]) => Ok(level),
            Err(_) => Err(self.wrong(
                format!("`{}` takes one level here", self.key),
                format!("write several under [factors], as {} = [...]", knob.name),
            )),
        }
    }

    fn read(&self, knob: &Knob) -> Result<Value, Mistake> {
        let takes = || format!("{} takes {}", knob.name, knob.domain.describe());
        let text = self
            .scalar()
            .ok_or_else(|| self.wrong(format!("this is no level of `{}`", knob.name), takes()))?;
        knob.domain
            .parse(text.trim())
            .map_err(|why| self.wrong(format!("{}: {why}", knob.name), takes()))
    }

    /// A single value as a person would type it on the command line.
    fn scalar(&self) -> Option<String> {
        match self.value {
            DeValue::String(text) => Some(text.clone().into_owned()),
            DeValue::Integer(number) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                Some(number.to_string())
            }
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(on) => Some(on.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        }
    }
}
