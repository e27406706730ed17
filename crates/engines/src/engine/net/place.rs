//! Processors that are near the card over which a trial's bytes go (`cpu-pinning=numa-local`).

use std::net::IpAddr;

use super::job::{NetJob, NetworkPathChoice};
use crate::engine::Error;
use crate::engine::load::cpus::Pinning;
use base::value::cpu_list;
use host::sys::Host;
use host::sys::link;

/// What would work instead.
const INSTEAD: &str = "choose cpu-pinning=spread, or a list";

/// Refuses what goes over no card.
///
/// # Errors
/// `Unsupported`, with what would work.
pub fn check(job: &NetJob) -> Result<(), Error> {
    let wire = match &job.wire {
        _ if !job.numa_local => return Ok(()),
        NetworkPathChoice::Machine(_) | NetworkPathChoice::Peer(_) => return Ok(()),
        NetworkPathChoice::Loopback => "the loopback interface",
        NetworkPathChoice::Auto | NetworkPathChoice::Namespaces => "a veth pair of our own",
    };
    Err(Error::Unsupported(format!(
        "cpu-pinning=numa-local is near the network card, and bytes go over {wire}, which has \
         none: {INSTEAD}, or peer= or peer-namespace="
    )))
}

/// The processors of the trial's threads, now that it is known over which of this machine's
/// addresses its bytes go.
///
/// # Errors
/// `Unsupported` where nobody knows what is near.
pub fn cpus(job: &NetJob, ours: IpAddr) -> Result<Vec<usize>, Error> {
    if !job.numa_local {
        return Ok(job.cpus.clone());
    }
    let named = link::having(ours).map_err(|error| Error::Failed(error.to_string()))?;
    let name = named.ok_or_else(|| {
        Error::Unsupported(format!("no interface is known to have {ours}; {INSTEAD}"))
    })?;
    near(&Host::live(), &name, &Pinning::Spread.cpus()?)
}

/// Those of `allowed` that are on the node of a card (Documentation/ABI/testing/sysfs-bus-pci,
/// numa_node; sysfs-devices-node, cpulist).
fn near(host: &Host, interface: &str, allowed: &[usize]) -> Result<Vec<usize>, Error> {
    let unknown = |why: String| Err(Error::Unsupported(format!("{why}; {INSTEAD}")));
    let place = format!("/sys/class/net/{interface}/device/numa_node");
    let Some(node) = host.word(&place) else {
        return unknown(format!("{interface} is no card: there is no {place}"));
    };
    let Ok(node) = node.parse::<u32>() else {
        return unknown(format!("nobody knows on which node {interface} is: {place} says {node}"));
    };
    let place = format!("/sys/devices/system/node/node{node}/cpulist");
    let cpus = host.word(&place).and_then(|text| cpu_list(&text)).unwrap_or_default();
    let ours: Vec<usize> = cpus.into_iter().filter(|cpu| allowed.contains(cpu)).collect();
    match ours.is_empty() {
        false => Ok(ours),
        true => unknown(format!(
            "{interface} is on node {node}, of whose CPUs ({place}) this process may use none"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::inventory::recording::Recording;

    const NODES: &str = "/sys/devices/system/node/node0/cpulist = 0-3,8-11\n\
        /sys/devices/system/node/node1/cpulist = 4-7,12-15\n";

    fn machine(node: &str) -> Recording {
        Recording::unpack(&format!("{NODES}/sys/class/net/eth0/device/numa_node = {node}\n"))
    }

    #[test]
    fn the_processors_of_the_cards_node_are_near_as_far_as_they_are_ours() {
        let machine = machine("1");
        let host = machine.host();
        let all: Vec<usize> = (0..16).collect();
        assert_eq!(near(&host, "eth0", &all).unwrap(), [4, 5, 6, 7, 12, 13, 14, 15]);
        assert_eq!(near(&host, "eth0", &[0, 5, 13]).unwrap(), [5, 13]);
        let refused = near(&host, "eth0", &[0, 1]).unwrap_err();
        assert!(matches!(&refused, Error::Unsupported(why) if why.contains("may use none")));
    }

    /// A machine with one node says -1, and so does firmware that does not know: all processors, or
    /// those of node 0, would be a guess.
    #[test]
    fn what_nobody_knows_is_refused_and_not_guessed() {
        let machine = machine("-1");
        let host = machine.host();
        for (interface, word) in [("eth0", "says -1"), ("veth0", "no card")] {
            let refused = near(&host, interface, &[0, 1]).unwrap_err();
            let Error::Unsupported(why) = refused else { panic!("{refused:?}") };
            assert!(why.contains(word) && why.contains("cpu-pinning=spread"), "{why}");
        }
    }
}
