//! Waits for the link of a network card whose settings were changed.
//!
//! Many drivers take a card down and up for a new ring, MTU or number of queues, and both ends then
//! agree on a speed anew, which takes seconds: whoever connects at once has no route to anywhere.

use std::collections::BTreeSet;

use experiment::knob::{self, Settings};
use host::sys::{Error, Host, clock, port};

/// A gigabit port is back in 2 to 4 s; one whose switch looks for loops first takes 30.
const PATIENCE_NS: u64 = 40_000_000_000;
const LOOK_NS: u64 = 20_000_000;

/// A card that had a link.
#[derive(Debug)]
pub struct Link {
    interface: String,
}

impl Link {
    /// Those of the interface that a trial names, and of those whose settings are `held` for
    /// earlier ones, which may be put back now; of what has a link.
    pub fn all<'a>(
        host: &Host,
        settings: &Settings,
        held: impl Iterator<Item = &'a String>,
    ) -> Vec<Link> {
        let named = settings.get(knob::NETWORK_INTERFACE);
        let held = held.filter_map(|path| Some(port::parts(path)?.0));
        let all: BTreeSet<&str> = held.chain(named).collect();
        let links = all.into_iter().map(|interface| Link { interface: interface.to_owned() });
        links.filter(|link| port::is_shown(host, &link.interface) && link.is_up(host)).collect()
    }

    /// A card that is down has no such file to read.
    fn is_up(&self, host: &Host) -> bool {
        let carrier = host.read(format!("/sys/class/net/{}/carrier", self.interface));
        carrier.is_ok_and(|text| text.trim() == "1")
    }

    /// Waits until it is up again; at once where it never went.
    ///
    /// # Errors
    /// When it stays down.
    pub fn wait(&self, host: &Host) -> Result<(), Error> {
        let until_ns = clock::monotonic_ns() + PATIENCE_NS;
        while !self.is_up(host) {
            if clock::monotonic_ns() > until_ns {
                let what = format!("cannot measure over the network interface {}", self.interface);
                let why = "its link went down as its settings were changed, and stays down";
                return Err(Error::new(what, why).hint("`ip link` shows it, `dmesg` why"));
            }
            clock::sleep_until(clock::monotonic_ns() + LOOK_NS);
        }
        Ok(())
    }
}
