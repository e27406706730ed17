//! Interrupts of network cards on CPUs of another NUMA node.
//!
//! NVMe drives are left out: the kernel gives each CPU a queue, spreads their interrupts over all
//! nodes itself, and lets nobody move them (managed interrupts, Linux 4.9).

use super::{WarningFinding, names};
use facts::inventory::cpus;
use facts::inventory::server::{Interface, Server};

/// Interfaces some of whose interrupts go to no CPU of the node that the card is on.
pub fn remote(server: &Server) -> Vec<WarningFinding> {
    if server.processors.nodes.len() < 2 {
        return Vec::new();
    }
    server.interfaces.iter().filter_map(|interface| found(server, interface)).collect()
}

fn found(server: &Server, interface: &Interface) -> Option<WarningFinding> {
    let number = interface.numa_node?;
    let nodes = &server.processors.nodes;
    let (place, node) = nodes.iter().enumerate().find(|(_, node)| node.number == number)?;
    let own = cpus(&node.cpus);
    if own.is_empty() {
        return None;
    }
    let elsewhere = |list: &str| {
        let list = cpus(list);
        !list.is_empty() && !list.iter().any(|cpu| own.contains(cpu))
    };
    let all = &interface.interrupts;
    let away: Vec<_> = all.iter().filter(|interrupt| elsewhere(&interrupt.cpus)).collect();
    let first = away.first()?;
    let evidence = away.iter().take(3).map(|interrupt| {
        format!(
            "/proc/irq/{}/effective_affinity_list = {} ({})",
            interrupt.number, interrupt.cpus, interrupt.name
        )
    });
    let node_file = format!("/sys/class/net/{}/device/numa_node = {number}", interface.name);
    let list_file = format!("/sys/devices/system/node/node{number}/cpulist = {}", node.cpus);
    // The farthest: which node a CPU is on is not looked up.
    let far = node.distances.iter().enumerate().filter(|(at, _)| *at != place);
    let far = far.map(|(_, distance)| *distance).max();
    let near = node.distances.get(place);
    let distance = match (near, far) {
        (Some(near), Some(far)) => {
            format!(" (the firmware gives distances of up to {far}, against {near} at home)")
        }
        _ => String::new(),
    };
    let numbers: Vec<String> = away.iter().map(|interrupt| interrupt.number.to_string()).collect();
    let numbers = names(&numbers.iter().map(String::as_str).collect::<Vec<&str>>());
    Some(WarningFinding {
        part: interface.name.clone(),
        text: format!(
            "{} of its {} interrupts ({numbers}) go to CPUs that are not on node {number}, where \
             the card is.",
            away.len(),
            all.len()
        ),
        evidence: evidence.chain([node_file, list_file]).collect(),
        cost: format!(
            "every packet of theirs crosses the link between the nodes{distance}: more time a \
             packet, and a share of that link"
        ),
        command: format!(
            "`echo {} > /proc/irq/{}/smp_affinity_list`, and so on for each; stop irqbalance, or \
             tell it so",
            node.cpus, first.number
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::inventory::server::{Interrupt, Node};

    fn server(cpus_of_interrupts: &[&str]) -> Server {
        let node = |number, cpus: &str, distances: &[u64]| Node {
            number,
            cpus: cpus.to_owned(),
            distances: distances.to_vec(),
            ..Node::default()
        };
        let interrupt = |(at, cpus): (usize, &&str)| Interrupt {
            number: 40 + at as u64,
            name: format!("eth0-TxRx-{at}"),
            cpus: (*cpus).to_owned(),
        };
        let mut server = Server::default();
        server.processors.nodes = vec![node(0, "0-3", &[10, 21]), node(1, "4-7", &[21, 10])];
        server.interfaces.push(Interface {
            name: "eth0".to_owned(),
            numa_node: Some(1),
            interrupts: cpus_of_interrupts.iter().enumerate().map(interrupt).collect(),
            ..Interface::default()
        });
        server
    }

    #[test]
    fn interrupts_on_the_other_node_are_told_with_the_distance() {
        let found = remote(&server(&["0", "5", "2-3"]));
        let [found] = &found[..] else { panic!("one interface") };
        assert!(found.text.starts_with("2 of its 3 interrupts (40, 42)"), "{}", found.text);
        assert_eq!(found.evidence[0], "/proc/irq/40/effective_affinity_list = 0 (eth0-TxRx-0)");
        assert!(found.cost.contains("up to 21, against 10"), "{}", found.cost);
        assert!(found.command.starts_with("`echo 4-7 > /proc/irq/40/"), "{}", found.command);
    }

    #[test]
    fn interrupts_that_may_stay_at_home_are_fine() {
        assert_eq!(remote(&server(&["4", "0-7", ""])), []);
        let mut unknown = server(&["0"]);
        unknown.interfaces[0].numa_node = None;
        assert_eq!(remote(&unknown), []);
        let mut single = server(&["0"]);
        single.processors.nodes.truncate(1);
        assert_eq!(remote(&single), []);
    }
}
