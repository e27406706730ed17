//! (pure) How SQLite is to keep the bank, and what its promise of durability is worth then.

use crate::engine::Error;
use crate::engine::file::job;
use base::pattern::Data;
use base::value::Stop;
use experiment::knob::{self, Settings};
use experiment::measurement::Note;

/// How SQLite can undo and redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Journal {
    /// New pages go to a log, which is copied into the database from time to time.
    Wal,
    /// Old pages go to a file, whose removal is the commit.
    Delete,
    /// The same; the file is cut to nothing instead.
    Truncate,
    /// The same; its header is written over with zeros.
    Persist,
}

/// What SQLite flushes (`PRAGMA synchronous`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Synchronous {
    /// Nothing.
    Off,
    /// What keeps the database whole.
    Normal,
    /// Each commit.
    Full,
    /// Each commit, and the directory after a journal was removed from it.
    Extra,
}

/// How the bank is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BankSettings {
    /// Branches of each bank.
    pub branches: u64,
    /// How it can undo and redo.
    pub journal: Journal,
    /// What it flushes.
    pub synchronous: Synchronous,
    /// Of a page.
    pub page_bytes: u64,
    /// One bank for all clients.
    pub shared: bool,
    /// What rows are filled with.
    pub data: Data,
}

impl Journal {
    /// As `PRAGMA journal_mode` says it.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Synchronous {
    /// The number that `PRAGMA synchronous` takes and tells.
    pub fn number(self) -> i64 {
        self as i64
    }
}

impl BankSettings {
    /// Reads them.
    ///
    /// # Errors
    /// `Unsupported` for what cannot be done as asked, with what would work.
    pub fn new(settings: &Settings) -> Result<BankSettings, Error> {
        let unsupported = |why: String| Err(Error::Unsupported(why));
        let (page_bytes, shared) =
            (settings.get(knob::PAGE_SIZE), settings.get(knob::SHARED_DATABASE));
        if !page_bytes.is_power_of_two() {
            let why = format!("SQLite has no page-size={page_bytes}: it takes a power of two");
            return unsupported(why);
        }
        if let Stop::Bytes(_) = settings.stop() {
            let why = "transactions are not counted in bytes; choose a time, as stop=60s, or \
                       stop=pass with transactions=";
            return unsupported(why.to_owned());
        }
        if shared && settings.directories().len() > 1 {
            let why = "one database lies in one directory; shared-database=true needs one --dir";
            return unsupported(why.to_owned());
        }
        let journal = settings.get(knob::JOURNAL_MODE).parse().unwrap_or(Journal::Wal);
        let synchronous = settings.get(knob::SYNCHRONOUS).parse().unwrap_or(Synchronous::Full);
        let (branches, data) = (settings.get(knob::SCALE), job::data(settings));
        Ok(BankSettings { branches, journal, synchronous, page_bytes, shared, data })
    }

    /// What a power cut may cost although SQLite had said that it was done; `None` when nothing
    /// (sqlite.org/pragma.html#pragma_synchronous; the pager's source for the journals).
    pub fn at_risk(&self) -> Option<&'static str> {
        use Journal::{Delete, Wal};
        use Synchronous::{Extra, Full, Normal, Off};
        match (self.synchronous, self.journal) {
            (Off, _) => Some(
                "With synchronous=off nothing is flushed: a power cut undoes the last commits, and \
                 may leave the database broken.",
            ),
            (Normal, Wal) => Some(
                "With synchronous=normal the log is flushed only before it is copied into the \
                 database: a power cut undoes the last commits.",
            ),
            (Normal, _) => Some(
                "With synchronous=normal not all is flushed that a commit rests on: a power cut \
                 may undo the last one, or leave the database broken.",
            ),
            (Full, Delete) => Some(
                "With journal-mode=delete a commit is the removal of the journal, which \
                 synchronous=full does not flush: a power cut may undo the last commit. \
                 synchronous=extra flushes it, and so does journal-mode=wal.",
            ),
            (Full | Extra, _) => None,
        }
    }

    /// What the record must say of it.
    pub fn note(&self) -> Option<Note> {
        self.at_risk().map(|text| Note::new("not-durable", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn rules(typed: &[(&str, &str)]) -> Result<BankSettings, Error> {
        BankSettings::new(&settings("database", typed))
    }

    #[test]
    fn only_what_flushes_the_commit_itself_is_durable() {
        let mut durable = Vec::new();
        for journal in ["wal", "delete", "truncate", "persist"] {
            for synchronous in ["off", "normal", "full", "extra"] {
                let typed = [("journal-mode", journal), ("synchronous", synchronous)];
                let rules = rules(&typed).unwrap();
                assert_eq!(rules.journal.word(), journal);
                match rules.note() {
                    None => durable.push(format!("{journal}-{synchronous}")),
                    Some(note) => assert!(note.text.contains("power cut"), "{}", note.text),
                }
            }
        }
        let flushed = [
            "wal-full",
            "wal-extra",
            "delete-extra",
            "truncate-full",
            "truncate-extra",
            "persist-full",
            "persist-extra",
        ];
        assert_eq!(durable, flushed);
        assert_eq!(rules(&[]).unwrap().at_risk(), None, "by default a commit is safe");
    }

    #[test]
    fn what_sqlite_cannot_do_is_refused_by_name() {
        for (typed, word) in
            [(&[("page-size", "1536")][..], "page-size=1536"), (&[("stop", "1GiB")], "stop=60s")]
        {
            let Err(Error::Unsupported(why)) = rules(typed) else { panic!("{typed:?}") };
            assert!(why.contains(word), "{why}");
        }
        let mut two = settings("database", &[("shared-database", "true")]);
        let directories = vec!["/a".to_owned(), "/b".to_owned()];
        two.set(knob::DIRECTORIES, &directories);
        assert!(BankSettings::new(&two).is_err());
        two.set(knob::SHARED_DATABASE, false);
        assert!(BankSettings::new(&two).is_ok());
    }
}
