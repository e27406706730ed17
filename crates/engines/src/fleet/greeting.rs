//! The first lines between both ends.
//!
//! caller: [`Greeting::Talk`] with its nonce · listener: [`ListenerAnswer::Nonce`] · caller:
//! [`Proof`] · listener: [`ListenerAnswer::Welcome`] with its own. At any point the listener may
//! say [`ListenerAnswer::Refused`], one sentence for a person to read, and hang up.

use serde::{Deserialize, Serialize};

use super::PROTOCOL;

/// What is said first over a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Greeting {
    /// Of somebody who calls.
    Talk(Introduction),
    /// Of a stream of bytes, which follow the line.
    Bytes(StreamAnnouncement),
}

/// How an end introduces itself: its version, its protocol, its nonce.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Introduction {
    /// The version of Brickyard, for people.
    pub brickyard: String,
    /// What it speaks.
    pub protocol: u32,
    /// Drawn for this talk.
    pub nonce: String,
}

/// Announces a stream of bytes, which follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamAnnouncement {
    /// What the listener gave out for this trial.
    pub ticket: String,
    /// Which one, from 0.
    pub stream: usize,
}

/// What the listener answers to a greeting.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListenerAnswer {
    /// Drawn for this talk; who it is.
    Nonce(Introduction),
    /// The caller is let in.
    Welcome {
        /// That it knows the token, too; empty where it has none.
        proof: String,
        /// Who it is.
        host: PeerMachine,
    },
    /// Not now: why.
    Busy(String),
    /// Why not.
    Refused(String),
}

/// What the caller says then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Proof {
    /// Empty where the caller has no token.
    pub proof: String,
    /// What the talk is about.
    pub purpose: Purpose,
}

/// What a caller wants to talk about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purpose {
    /// The campaign that it is for, by the number which its blocks bear; 0 before it has begun.
    pub campaign: u64,
    /// Settings of the listener's machine for its trials; else the trials themselves.
    pub settings: bool,
}

/// The machine at the other end, for the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerMachine {
    /// Its name (uname).
    pub name: String,
    /// Its kernel.
    pub kernel: String,
    /// CPUs that Brickyard may use there.
    pub cpus: usize,
    /// Of Brickyard.
    pub version: String,
}

impl PeerMachine {
    /// This one.
    pub fn own() -> PeerMachine {
        let uname = rustix::system::uname();
        PeerMachine {
            name: uname.nodename().to_string_lossy().into_owned(),
            kernel: uname.release().to_string_lossy().into_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl Introduction {
    /// What this program says of itself.
    pub fn own(nonce: &str) -> Introduction {
        Introduction {
            brickyard: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            nonce: nonce.to_owned(),
        }
    }

    /// Why this end cannot talk to that one; `None` when it can.
    pub fn mismatch(&self) -> Option<String> {
        (self.protocol != PROTOCOL).then(|| {
            // It is printed, and a stranger may have written it.
            let theirs: String = self.brickyard.chars().filter(|c| !c.is_control()).collect();
            format!(
                "brickyard {} there speaks protocol {}, and brickyard {} here speaks {PROTOCOL}: \
                 install the same version on both machines",
                theirs.chars().take(40).collect::<String>(),
                self.protocol,
                env!("CARGO_PKG_VERSION")
            )
        })
    }
}
