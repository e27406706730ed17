//! The talk in which a caller has settings of the listener's machine changed, from before the first
//! trial of its campaign to after the last.
//!
//! caller: [`SettingsAsk`] · listener: one [`SettingsReply`] to each. When the talk ends, by
//! whatever, all is put back. What may be asked for, and how it is read, is said by
//! [`experiment::knob::peer`], and how it is done by whoever listens ([`Changes`]).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::greeting::Purpose;
use super::listen::Session;
use super::{Call, PeerAddress, Token};
use experiment::knob::Settings;
use experiment::knob::peer::{Said, read, said};
use experiment::measurement::Note;
use host::sys::Error;

/// A longer line asks for nothing that there is.
const ASK_BYTES_MAX: usize = 64 << 10;
/// Nor does a longer one answer.
const REPLY_BYTES_MAX: usize = 1 << 20;
/// Settings are in force within this: a card's link may take 40 s to come up again.
const SETTING_MAX: Duration = Duration::from_secs(120);
/// A trial of this campaign that is over is noticed here within this.
const TRIAL_ENDS_MAX: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// What is taken of an answer: notes, and characters of a text.
const NOTES_MAX: usize = 64;
const TEXT_MAX: usize = 600;

/// What a caller asks of the listener's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingsAsk {
    /// Whether this could be set; nothing is.
    Check(Said),
    /// This is to be in force for the next trial, and of the rest what was there before.
    Set(Said),
    /// Whether what was set is still in force.
    Look {},
    /// All is to be as it was before.
    Back {},
}

/// What the listener replies when settings are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingsReply {
    /// It could be.
    Possible {},
    /// It is in force.
    Set(InForce),
    /// What has changed since.
    Looked(Vec<Note>),
    /// What could not be put back.
    Back(Vec<String>),
    /// It is not done: why.
    Refused(String),
}

/// What was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// By the name of each knob what was read back.
    pub values: Said,
    /// What the record must say.
    pub notes: Vec<Note>,
}

/// Changes settings of this machine for whoever calls.
pub trait Changes {
    /// Whether this could be set, before anything is.
    ///
    /// # Errors
    /// With what is wrong and what to type.
    fn check(&self, asked: Settings) -> Result<(), Error>;
    /// Sets this, and puts back what else was changed before.
    ///
    /// # Errors
    /// When it cannot be done exactly: then nothing must be measured.
    fn set(&self, asked: Settings) -> Result<InForce, Error>;
    /// What somebody else has changed of it since.
    fn look(&self) -> Vec<Note>;
    /// Puts everything back; says what could not be.
    fn put_back(&self) -> Vec<String>;
}

/// Does what this caller wants set, and puts all of it back when the talk ends.
pub fn keep(mut session: Session, changes: &dyn Changes, tell: &dyn Fn(&str)) {
    let Some(mut link) = session.link.take() else { return };
    link.let_in(ASK_BYTES_MAX);
    let caller = session.caller;
    let mut kept = SettingsSession { session: &session, changes, touched: false };
    if session.voice.keep_alive().is_err() {
        return;
    }
    loop {
        // Between two questions is a trial, and somebody's patience.
        session.voice.expect_within(Duration::MAX);
        let Ok(Some(line)) = link.line() else { break };
        let Ok(ask) = serde_json::from_str::<SettingsAsk>(&line) else { break };
        let is_last = ask == SettingsAsk::Back {};
        let reply = kept.answer(ask);
        match &reply {
            SettingsReply::Set(InForce { values, .. }) if !values.is_empty() => {
                tell(&format!("{caller}: set {}", listed(values)));
            }
            SettingsReply::Refused(why) => tell(&format!("{caller}: {why}")),
            _ => {}
        }
        if session.voice.say(&reply).is_err() || is_last {
            break;
        }
    }
    for left in kept.put_back() {
        tell(&format!("{caller} is gone: {left}"));
    }
}

/// A talk about settings at the listener's end, and whether it has changed anything.
struct SettingsSession<'a> {
    session: &'a Session,
    changes: &'a dyn Changes,
    touched: bool,
}

impl SettingsSession<'_> {
    fn answer(&mut self, ask: SettingsAsk) -> SettingsReply {
        let done = match ask {
            SettingsAsk::Check(said) => self.check(&said),
            SettingsAsk::Set(said) => self.set(&said),
            SettingsAsk::Look {} => Ok(SettingsReply::Looked(self.changes.look())),
            SettingsAsk::Back {} => Ok(SettingsReply::Back(self.put_back())),
        };
        done.unwrap_or_else(SettingsReply::Refused)
    }

    fn check(&self, said: &Said) -> Result<SettingsReply, String> {
        self.changes.check(read(said)?).map(|()| SettingsReply::Possible {}).map_err(whole)
    }

    fn set(&mut self, said: &Said) -> Result<SettingsReply, String> {
        let asked = read(said)?;
        if !self.touched && asked.iter().next().is_none() {
            return Ok(SettingsReply::Set(InForce::default()));
        }
        for _ in 0..TRIAL_ENDS_MAX.as_millis() / LOOK.as_millis() {
            if !self.session.is_measuring() {
                self.touched = true;
                let set = self.changes.set(asked).map_err(whole)?;
                self.session.renew().map_err(whole)?;
                return Ok(SettingsReply::Set(set));
            }
            std::thread::sleep(LOOK);
        }
        Err("a trial still runs there".to_owned())
    }

    fn put_back(&mut self) -> Vec<String> {
        if !std::mem::take(&mut self.touched) {
            return Vec::new();
        }
        let left = self.changes.put_back();
        // Whoever stops the listener at the same time needs no socket.
        let _ = self.session.renew();
        left
    }
}

/// An error with what to type, in one line.
fn whole(error: Error) -> String {
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{error}{hint}")
}

/// Settings as one would type them.
pub fn listed(values: &Said) -> String {
    let each: Vec<String> = values.iter().map(|(name, text)| format!("{name}={text}")).collect();
    each.join(" ")
}

/// Why the other end has not set what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unset {
    /// It does not do it: nothing is to be measured.
    Refused(String),
    /// It is not known what is in force there: the talk is over.
    Lost(Error),
}

/// A talk about settings at the caller's end.
#[derive(Debug)]
pub struct SettingsCaller {
    call: Call,
    address: PeerAddress,
}

impl SettingsCaller {
    /// Calls the machine whose settings are to be changed for this campaign.
    ///
    /// # Errors
    /// When nobody listens there, not to us, or for no settings; with what to type there.
    pub fn begin(address: &PeerAddress, campaign: u64) -> Result<SettingsCaller, Error> {
        let token = Token::from_environment()?;
        let mut call = Call::place(address, token.as_ref(), Purpose { campaign, settings: true })?;
        call.answers_within(REPLY_BYTES_MAX);
        Ok(SettingsCaller { call, address: address.clone() })
    }

    /// Has it look whether this could be set.
    ///
    /// # Errors
    /// When it could not, or nobody says.
    pub fn check(&mut self, asked: &Settings) -> Result<(), Unset> {
        match self.ask(&SettingsAsk::Check(said(asked)))? {
            SettingsReply::Possible {} => Ok(()),
            other => Err(self.strange(other)),
        }
    }

    /// Has this set, and what else was set put back.
    ///
    /// # Errors
    /// When it is not done exactly.
    pub fn set(&mut self, asked: &Settings) -> Result<InForce, Unset> {
        match self.ask(&SettingsAsk::Set(said(asked)))? {
            SettingsReply::Set(InForce { values, notes }) => {
                let clean_one = |(name, text): (String, String)| (clean(&name), clean(&text));
                let values = values.into_iter().take(NOTES_MAX).map(clean_one).collect();
                Ok(InForce { values, notes: self.marked(notes) })
            }
            other => Err(self.strange(other)),
        }
    }

    /// What somebody else has changed there since.
    ///
    /// # Errors
    /// When nobody says.
    pub fn look(&mut self) -> Result<Vec<Note>, Unset> {
        match self.ask(&SettingsAsk::Look {})? {
            SettingsReply::Looked(notes) => Ok(self.marked(notes)),
            other => Err(self.strange(other)),
        }
    }

    /// Has everything put back; what could not be.
    ///
    /// # Errors
    /// When nobody says.
    pub fn back(&mut self) -> Result<Vec<String>, Unset> {
        match self.ask(&SettingsAsk::Back {})? {
            SettingsReply::Back(left) => {
                Ok(left.iter().take(NOTES_MAX).map(|text| clean(text)).collect())
            }
            other => Err(self.strange(other)),
        }
    }

    fn ask(&mut self, ask: &SettingsAsk) -> Result<SettingsReply, Unset> {
        let lost = |why: String| {
            let what =
                format!("lost the other end at {}, which had settings changed", self.address);
            Unset::Lost(Error::new(what, clean(&why)))
        };
        self.call.voice.expect_within(SETTING_MAX);
        self.call.voice.say(ask).map_err(|why| lost(why.to_string()))?;
        self.call.hear().map_err(lost)
    }

    fn strange(&self, reply: SettingsReply) -> Unset {
        match reply {
            SettingsReply::Refused(why) => {
                Unset::Refused(format!("the other machine, {}: {}", self.address, clean(&why)))
            }
            _ => Unset::Lost(Error::new(
                format!("lost the other end at {}, which had settings changed", self.address),
                "it did not answer to what was asked",
            )),
        }
    }

    /// Its notes, which say whose they are.
    fn marked(&self, notes: Vec<Note>) -> Vec<Note> {
        let is_kind =
            |note: &Note| note.kind.len() <= 40 && !note.kind.contains(|c| !is_of_kind(c));
        let of_it = |note: Note| {
            let text = format!("The other machine, {}: {}", self.address, clean(&note.text));
            Note::new(&note.kind, text)
        };
        notes.into_iter().filter(is_kind).take(NOTES_MAX).map(of_it).collect()
    }
}

fn is_of_kind(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-'
}

/// It is printed, and anybody may have written it.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests;
