//! What `brickyard verify` keeps, and where: a campaign of the store, which is never put beneath
//! what is read.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::outputs::Inputs;
use super::{Common, STORE, talk::Talk};
use crate::campaign::{keeper::CampaignKeeper, new_uid};
use engines::verify::{VerificationPart, shown};
use experiment::campaign::Campaign;
use experiment::measurement::verified::outcome::VERIFY;
use experiment::measurement::{Outcome, Record};
use experiment::plan::Trial;
use host::inventory;
use host::sys::{Error, Host, block, clock};
use store::Store;

/// A verification of `brickyard verify` as the store keeps it.
#[derive(Debug)]
pub struct StoredVerification {
    store: PathBuf,
    /// What is read: files, folders, devices.
    read: Vec<PathBuf>,
    /// What of it the store must not be, nor lie in.
    untouched: Vec<PathBuf>,
    /// The list of sums or the log that tells what must be there.
    list: Option<PathBuf>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing was told yet: what cannot be verified at all is no campaign.
    New,
    Open(Box<CampaignKeeper>),
    /// Nothing is kept, as was asked, or as was told.
    Not,
}

impl StoredVerification {
    /// Looks where it would be kept; `read` is what is verified, `untouched` what of it is read
    /// whole, `list` what tells how it must be.
    ///
    /// # Errors
    /// When the user named a store that lies in what is read.
    pub fn new(
        no_store: bool,
        (read, untouched): (Vec<PathBuf>, Vec<PathBuf>),
        list: Option<&Path>,
        common: &Common,
        talk: &Talk,
    ) -> Result<StoredVerification, Error> {
        let store = common.store.clone();
        let list = list.map(Path::to_owned);
        let mut kept = StoredVerification { store, read, untouched, list, state: State::New };
        if no_store {
            kept.state = State::Not;
        } else if let Some(why) = kept.within() {
            const HINT: &str = "keep it elsewhere with --store FILE, or nothing with --no-store";
            let store = shown(&kept.store);
            if kept.store != Path::new(STORE) {
                return Err(Error::new(format!("cannot keep this in {store}"), why).hint(HINT));
            }
            talk.say(&format!("not kept in {store}: {why}; {HINT}"));
            kept.state = State::Not;
        } else if let Err(error) = Store::usable(&kept.store) {
            // Told now, and not when hours of reading are over.
            talk.error(&error);
            talk.say("nothing is kept; it goes on");
            kept.state = State::Not;
        }
        Ok(kept)
    }

    /// Keeps a part in the place of what was kept of it before. A store that refuses is told, and
    /// ends nothing.
    pub fn put(&mut self, part: VerificationPart, talk: &Talk) {
        if matches!(self.state, State::New) {
            let begun = Store::open(&self.store)
                .and_then(|store| CampaignKeeper::begin(store, &campaign(&self.read)));
            self.state = match begun {
                Ok(keeper) => State::Open(Box::new(keeper)),
                Err(error) => {
                    talk.error(&error);
                    talk.say("nothing is kept; it goes on");
                    State::Not
                }
            };
        }
        let State::Open(keeper) = &mut self.state else { return };
        if let Err(error) = keeper.put(record(part)) {
            talk.error(&error);
            talk.say("it goes on, and is kept once that store can be written again");
        }
    }

    /// Says where it is kept.
    pub fn end(self, talk: &Talk) {
        let State::Open(keeper) = self.state else { return };
        match keeper.finish() {
            Ok(id) => talk.say(&format!("kept as campaign {id} in {}", shown(&self.store))),
            Err(error) => talk.error(&error),
        }
    }

    /// Why it cannot lie there: what is read would hold the store, or is one of its files.
    fn within(&self) -> Option<String> {
        let mut inputs = Inputs::default();
        self.untouched.iter().for_each(|path| inputs.add("the file under test", path));
        self.list.iter().for_each(|path| inputs.add("the list", path));
        let holder = self.holder().map(|it| format!("it would lie in {}", shown(&it)));
        let holder = holder.map(|lies| format!("{lies}, which is only read"));
        holder.or_else(|| inputs.clash(&self.store))
    }

    /// What is read and would hold the store.
    fn holder(&self) -> Option<PathBuf> {
        let host = Host::live();
        let file = std::path::absolute(&self.store).ok()?;
        let folder = file.parent()?.canonicalize().ok()?;
        // One that is there may be a link to elsewhere.
        let name = file.file_name()?.to_owned();
        let file = file.canonicalize().unwrap_or_else(|_| folder.join(name));
        let folder = file.parent()?.to_owned();
        let holds = |path: &&PathBuf| {
            let Ok(real) = path.canonicalize() else { return false };
            match block::number_of(&real) {
                Some(number) => lies_on(&host, &folder, &number),
                None => file.starts_with(&real),
            }
        };
        self.untouched.iter().find(holds).cloned()
    }
}

/// Whether what is in `folder` lies on the device of that number, or on a part of it.
fn lies_on(host: &Host, folder: &Path, number: &str) -> bool {
    let Some(device) = host.resolve(format!("/sys/dev/block/{number}")) else { return false };
    let Ok(target) = inventory::target(host, folder) else { return false };
    let names = target.device_names();
    names.iter().any(|name| {
        let of = host.resolve(format!("/sys/class/block/{name}"));
        of.is_some_and(|of| of.starts_with(&device) || device.starts_with(&of))
    })
}

fn record(part: VerificationPart) -> Record {
    let trial = Trial {
        number: part.number,
        replicate: part.number,
        group: VERIFY.to_owned(),
        settings: part.settings,
        first_file: 0,
        seed: 0,
        planned: None,
    };
    Record::new(trial, Outcome::Done(Box::new(part.measurement)))
}

/// The campaign of what is read, and what this server is made of.
fn campaign(read: &[PathBuf]) -> Campaign {
    let host = Host::live();
    let machine = inventory::machine(&host);
    let folder = |path: &PathBuf| match path.is_dir() {
        true => Some(path.clone()),
        false => path.parent().map(Path::to_owned),
    };
    let mut folders: Vec<PathBuf> = read.iter().filter_map(folder).collect();
    folders.sort();
    folders.dedup();
    let target = |folder: &PathBuf| {
        let here = Path::new(".");
        let folder = if folder.as_os_str().is_empty() { here } else { folder };
        inventory::target(&host, folder).ok()
    };
    let targets: Vec<facts::inventory::Target> = folders.iter().filter_map(target).collect();
    let started_unix_ns = clock::unix_ns();
    Campaign {
        uid: new_uid(started_unix_ns ^ u64::from(std::process::id()) << 20),
        plan: VERIFY.to_owned(),
        engine: VERIFY.to_owned(),
        host: machine.hostname.clone().unwrap_or_else(|| "unknown".to_owned()),
        started_unix_ns,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // Names need not be text.
        argv: std::env::args_os().map(|word| shown(Path::new(&word))).collect(),
        inventory: json!({
            "machine": machine,
            "targets": targets,
            "server": inventory::server::server(&host),
        }),
        ..Campaign::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That nothing would be kept was told after the first pass, which may be a day.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes fixtures")]
    fn a_store_that_cannot_be_written_is_told_before_anything_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("data")).unwrap();
        std::fs::write(at("letter.db"), "Dear all, this is no database at all.\n").unwrap();
        std::fs::write(at("empty.db"), "").unwrap();
        let keeps = |store: &str| {
            let common = Common { store: at(store), json: false, quiet: true, plain: false };
            let kept = StoredVerification::new(
                false,
                (vec![at("data")], Vec::new()),
                None,
                &common,
                &Talk::new(true, false),
            );
            matches!(kept.unwrap().state, State::New)
        };
        assert!(!keeps("letter.db") && !keeps("no/such/folder.db"));
        assert!(keeps("new.db") && keeps("empty.db"));
        assert!(!at("new.db").exists(), "what cannot be verified at all is no campaign");
    }
}
