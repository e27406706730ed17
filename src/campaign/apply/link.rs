//! Waits for the link of a network card whose settings were changed.
//!
//! Many drivers take a card down and up for a new ring, MTU or number of queues, and both ends then
//! agree on a speed anew, which takes seconds: whoever connects at once has no route to anywhere.

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
    /// The link of the interface that a trial names; `None` where it names none that has one now.
    pub fn of(host: &Host, settings: &Settings) -> Option<Link> {
        let interface = settings.get(knob::NETWORK_INTERFACE)?.to_owned();
        let link = Link { interface };
        (port::is_shown(host, &link.interface) && link.is_up(host)).then_some(link)
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
