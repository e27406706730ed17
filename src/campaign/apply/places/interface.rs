//! Where the settings of a network interface lie: its card's, its queues', its interrupts'.

use super::{SettingFile, of_machine};
use experiment::knob::system::lies::{Interface, ValueFormat};
use experiment::knob::{self, Settings};
use host::inventory::server::interrupt;
use host::journal::identity;
use host::sys::{Error, Host, port};

/// What holds a knob of this interface.
///
/// # Errors
/// When the interface, its driver or this kernel has no such setting.
pub fn find(host: &Host, holds: Interface, interface: &str) -> Result<Vec<SettingFile>, Error> {
    match holds {
        Interface::Port(name, form) => one(host, interface, name, form),
        Interface::Adaptive => adaptive(host, interface),
        Interface::Features(names) => features(host, interface, names),
        Interface::Channels => {
            // A driver without any refuses when it is read, and the trial is skipped.
            let name = port::channels(host, interface).unwrap_or("combined-channels");
            one(host, interface, name, ValueFormat::Number(1))
        }
        Interface::ReceiveSteering => rps(host, interface),
        Interface::Interrupts => interrupts(host, interface),
    }
}

/// The interface that a trial names.
///
/// # Errors
/// When it names none, there is none of that name, or the trial does not go over it.
pub fn named(host: &Host, settings: &Settings) -> Result<String, Error> {
    let what = "cannot change a network interface";
    let own_wire = settings.get(knob::PEER_NAMESPACE).is_none()
        && settings.get(knob::PEER).is_none()
        && settings.find(knob::WIRE).is_some_and(|wire| wire != "loopback");
    if own_wire {
        let why = "this trial goes over a veth pair of its own, which has no settings of a card";
        let hint = "peer-namespace=NAME sends over an interface that is there";
        return Err(Error::new(what, why).hint(hint));
    }
    let there = || host.list("/sys/class/net").join(", ");
    let Some(name) = settings.get(knob::NETWORK_INTERFACE).map(str::to_owned) else {
        let why = format!("the plan names none, and none is chosen for it (here: {})", there());
        return Err(Error::new(what, why).hint("network-interface=NAME"));
    };
    match identity::of_interface(host, &name) {
        Some(_) => Ok(name),
        None => {
            let why = format!("there is no `{name}` in this network namespace ({})", there());
            Err(Error::new(what, why).hint("`ip link` lists those that there are"))
        }
    }
}

fn place(host: &Host, interface: &str, path: String, form: ValueFormat) -> SettingFile {
    SettingFile { device: identity::of_interface(host, interface), ..of_machine(path, form) }
}

fn one(
    host: &Host,
    interface: &str,
    name: &str,
    form: ValueFormat,
) -> Result<Vec<SettingFile>, Error> {
    Ok(vec![place(host, interface, port::setting(interface, name), form)])
}

/// A driver that chooses the time changes it meanwhile.
fn adaptive(host: &Host, interface: &str) -> Result<Vec<SettingFile>, Error> {
    let mut places = one(host, interface, "adaptive-rx", ValueFormat::Switch)?;
    let along = port::setting(interface, "rx-usecs");
    places[0].disturbs.extend(Some(along).filter(|path| host.setting(path).is_ok()));
    Ok(places)
}

/// Those of these features that the driver lets be switched; the first when it lets none, which is
/// then what is refused.
fn features(host: &Host, interface: &str, names: &[&str]) -> Result<Vec<SettingFile>, Error> {
    let mut found = Vec::new();
    for name in names {
        if port::can_switch(host, interface, name)? {
            found.push(*name);
        }
    }
    if found.is_empty() {
        found.extend(names.first());
    }
    let path = |name: &&str| port::feature(interface, name);
    Ok(found.iter().map(|name| place(host, interface, path(name), ValueFormat::Switch)).collect())
}

fn rps(host: &Host, interface: &str) -> Result<Vec<SettingFile>, Error> {
    let failed = |why: String| {
        Error::new(format!("cannot steer what the network interface {interface} receives"), why)
    };
    if !port::is_shown(host, interface) {
        let why = "/sys shows another network namespace here".to_owned();
        return Err(failed(why).hint("enter namespaces with `ip netns exec`"));
    }
    let folder = format!("/sys/class/net/{interface}/queues");
    let queues = host.list(&folder).into_iter().filter(|name| name.starts_with("rx-"));
    let mut places = Vec::new();
    for queue in queues {
        let path = format!("{folder}/{queue}/rps_cpus");
        let text = host.read(&path).map_err(|error| failed(error.why))?;
        let digits = text.chars().filter(char::is_ascii_hexdigit).count();
        places.push(place(host, interface, path, ValueFormat::Mask(digits)));
    }
    match places.is_empty() {
        false => Ok(places),
        true => Err(failed(format!("{folder} has no receive queue"))),
    }
}

/// The interrupts of the card behind it, each by its mask (Documentation/core-api/irq/
/// irq-affinity.rst).
fn interrupts(host: &Host, interface: &str) -> Result<Vec<SettingFile>, Error> {
    let failed = |why: String| {
        let what = format!("cannot place the interrupts of the network interface {interface}");
        Error::new(what, why)
    };
    let card = interrupt::of_card(host, interface);
    let Some((function, numbers)) = card.filter(|_| port::is_shown(host, interface)) else {
        return Err(failed("it is no card on a PCI bus that /sys shows here".to_owned()));
    };
    let mut places = Vec::new();
    for number in numbers {
        let path = format!("/proc/irq/{number}/smp_affinity");
        // One that the driver has not asked for has no such file.
        let Ok(text) = host.read(&path) else { continue };
        let digits = text.chars().filter(char::is_ascii_hexdigit).count();
        places.push(place(host, interface, path, ValueFormat::Mask(digits)));
    }
    match places.is_empty() {
        false => Ok(places),
        true => Err(failed(format!("{function} has no interrupt of its own in /proc/irq"))),
    }
}
