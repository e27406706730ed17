//! What a trial asks, where it can be done here.

use super::job::{NetJob, NetworkPathChoice, of_files};
use super::{files, place};
use crate::engine::Error;
use experiment::knob::system::lies::KnobFiles;
use experiment::knob::{self, Apply, Knob, Settings, peer};

/// Reads it.
///
/// # Errors
/// `Unsupported` for what this engine or this machine cannot honour, with what would work.
pub fn job(settings: &Settings, seed: u64) -> Result<NetJob, Error> {
    let job = NetJob::new(settings, seed)?;
    check_ends(settings, &job.wire).map_err(Error::Unsupported)?;
    place::check(&job)?;
    match of_files(settings) {
        true => {
            // As it is written: another machine may ask for one that is not known here.
            let access = settings.named(knob::ACCESS.name).map(ToString::to_string);
            let (access, depth) = (access.unwrap_or_default(), settings.get(knob::QUEUE_DEPTH));
            let checks = !matches!(settings.get(knob::VERIFY), "" | "off");
            files::refuse(&job, &access, settings.get(knob::DIRECT), depth, checks)?;
        }
        false => job.check_path()?,
    }
    Ok(job)
}

/// Refuses settings of the machine that the trial would not go through.
fn check_ends(settings: &Settings, wire: &NetworkPathChoice) -> Result<(), String> {
    let at = settings.get(knob::SETTINGS_AT);
    let card = settings.get(knob::PEER_INTERFACE);
    let first = |is: fn(&Knob) -> bool| settings.of_either_end().map(|it| it.0).find(|it| is(it));
    if !matches!(wire, NetworkPathChoice::Machine(_)) {
        let elsewhere = match (settings.is_set_at_peer(), card) {
            (true, _) => Some(format!("settings-at={at}")),
            (false, Some(card)) => Some(format!("peer-interface={card}")),
            (false, None) => None,
        };
        if let Some(what) = elsewhere {
            return Err(format!(
                "{what} is of another machine, and this trial has none; name it (`brickyard send \
                 HOST`, or peer=HOST), or leave {what} out"
            ));
        }
    }
    if let Some(card) = card {
        peer::check_interface(card).map_err(|why| format!("peer-interface: {why}"))?;
    }
    let of_card = first(|knob| matches!(knob.apply, Apply::Interface(_)));
    if let (true, None, Some(knob)) = (settings.is_set_at_peer(), card, of_card) {
        return Err(format!(
            "settings-at={at} sets {} of a network interface of the peer, and the plan names none; \
             add peer-interface=NAME, as `ip link` there has it",
            knob.name
        ));
    }
    let of_namespace = first(|knob| matches!(knob.apply, Apply::Files(KnobFiles::Network { .. })));
    match (wire, of_namespace) {
        (NetworkPathChoice::Auto | NetworkPathChoice::Namespaces, Some(knob)) => Err(format!(
            "{} is of the network namespace that brickyard runs in, and this trial goes over a \
             veth pair between two of its own; choose wire=loopback or another machine \
             (`brickyard send HOST`), or leave {} out",
            knob.name, knob.name
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    #[test]
    fn settings_of_a_machine_that_the_trial_does_not_reach_are_refused_by_name() {
        let refused = |engine: &str, knobs: &[(&str, &str)]| match job(&settings(engine, knobs), 1)
        {
            Ok(_) => String::new(),
            Err(Error::Unsupported(why)) => why,
            Err(other) => panic!("{knobs:?}: {other:?}"),
        };
        let there = ("peer", "10.0.0.2");
        let (at_peer, both) = (("settings-at", "peer"), ("settings-at", "both"));
        let (mtu, card) = (("interface-mtu", "9000"), ("peer-interface", "eth0"));
        for (knobs, word) in [
            (&[at_peer][..], "settings-at=peer is of another machine"),
            (&[both, ("peer-namespace", "b")], "settings-at=both is of another machine"),
            (&[card, ("wire", "loopback")], "peer-interface=eth0 is of another machine"),
            (&[there, at_peer, mtu], "add peer-interface=NAME"),
            (&[there, both, mtu, ("network-interface", "eth0")], "add peer-interface=NAME"),
            (&[there, at_peer, mtu, ("peer-interface", "a/b")], "no name of a network interface"),
            (&[("tcp-buffer-max", "1MiB")], "choose wire=loopback"),
            (&[("tcp-congestion", "reno"), ("wire", "namespaces")], "leave tcp-congestion out"),
        ] {
            let why = refused("net", knobs);
            assert!(why.contains(word), "{knobs:?}: {why}");
        }
        for knobs in [
            &[there, at_peer, mtu, card][..],
            &[there, ("settings-at", "here"), mtu, card],
            &[there, both, ("tcp-buffer-max", "1MiB")],
            &[there, mtu, ("network-interface", "eth0")],
            &[("tcp-buffer-max", "1MiB"), ("wire", "loopback")],
            &[("cpu-governor", "performance")],
        ] {
            assert_eq!(refused("net", knobs), "", "{knobs:?}");
        }
        let why = refused("net-udp", &[("netdev-backlog-max", "1000")]);
        assert!(why.contains("choose wire=loopback"), "{why}");
    }
}
