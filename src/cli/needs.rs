//! What a plan needs that this machine may not have, looked at before anything runs.

use engines::fleet::{Call, PeerAddress, Purpose, Token};
use experiment::knob::{self, Settings};
use experiment::measurement::Note;
use experiment::plan::design::Plan;
use experiment::plan::needs::Need;
use facts::inventory::disk::Disk;
use facts::share::is_export;
use host::counters::thermometers;
use host::inventory::{self, devices_below};
use host::sys::{Error, Host};

/// Refuses a plan that measures something else here than what it asks.
///
/// # Errors
/// With what lies where, and what to name instead.
pub fn check(host: &Host, plan: &Plan, disks: &[Disk]) -> Result<(), Error> {
    if !plan.needs.contains(&Need::Nfs) || plan.is_simulated() {
        return Ok(());
    }
    let refused = |place: &str, why: String| {
        let hint = "name the server's directory, --dir SERVER:/EXPORT, or one that is mounted \
                    from it";
        Err(Error::new(format!("cannot run `{}` {place}", plan.name), why).hint(hint))
    };
    if let Some(disk) = disks.first() {
        let why = "it measures NFS, and file systems would be made on disks".to_owned();
        return refused(&format!("on {}", disk.named), why);
    }
    for name in plan.directories.iter().filter(|name| !is_export(name)) {
        let target = inventory::raw::target_of_place(host, name)?;
        if !matches!(target.filesystem.as_str(), "nfs" | "nfs4") {
            let why = format!("it measures NFS, and that is {}", target.filesystem);
            return refused(&format!("in {name}"), why);
        }
    }
    Ok(())
}

/// What a plan cannot tell here, as a note of its records; `None` where it can tell all.
pub fn lacking(host: &Host, plan: &Plan, disks: &[Disk]) -> Option<Note> {
    if !plan.needs.contains(&Need::Temperature) || plan.is_simulated() {
        return None;
    }
    let local = plan.directories.iter().filter(|name| !is_export(name));
    let targets = local.filter_map(|name| inventory::raw::target_of_place(host, name).ok());
    let mut devices: Vec<String> = targets.flat_map(|target| target.device_names()).collect();
    let disks: Vec<String> = disks.iter().map(|disk| disk.name.clone()).collect();
    devices.extend(devices_below(host, &disks).into_iter().map(|device| device.name));
    no_sensor(thermometers(host, &devices)).map(|text| Note::new("no-sensor", text))
}

/// What is not known where drives, and processors, have a sensor or none.
fn no_sensor((drives, processors): (bool, bool)) -> Option<&'static str> {
    match (drives, processors) {
        (true, true) => None,
        (false, true) => Some(
            "No drive under these files has a temperature sensor that the kernel can ask, so how \
             warm the drives became is not known (SATA: modprobe drivetemp).",
        ),
        (true, false) => Some(
            "No processor has a temperature sensor that the kernel can ask, so how warm the \
             processors became is not known.",
        ),
        (false, false) => Some(
            "Neither a drive under these files nor a processor has a temperature sensor that the \
             kernel can ask, so how warm the server became is not known (SATA: modprobe \
             drivetemp).",
        ),
    }
}

/// Calls each machine that is the other end of some cell, once: one that nobody answers on would
/// be waited for in every trial.
///
/// # Errors
/// When nobody listens there, or not to us.
pub fn reach<'a>(cells: impl Iterator<Item = &'a Settings>) -> Result<(), Error> {
    let mut known: Vec<&str> = Vec::new();
    for settings in cells {
        let Some(there) = settings.get(knob::PEER).filter(|there| !known.contains(there)) else {
            continue;
        };
        known.push(there);
        let address = PeerAddress::parse(there).map_err(|why| Error::new("cannot send", why))?;
        Call::place(&address, Token::from_environment()?.as_ref(), Purpose::default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::plan::{builtin, file};

    fn plan(name: &str, directories: &[&str]) -> Plan {
        let mut plan = file::read(builtin::find(name).unwrap().text, name, None).unwrap();
        plan.directories = directories.iter().map(|name| (*name).to_owned()).collect();
        plan
    }

    /// `run nfs --dir d` on ext4 measured the disk, under the name of NFS.
    #[test]
    fn a_plan_of_nfs_is_refused_where_there_is_none_and_no_other_is() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_str().unwrap();
        let host = Host::live();
        for name in ["nfs", "nfs-tuning"] {
            let refused = check(&host, &plan(name, &["nas:/srv", here]), &[]).unwrap_err();
            assert!(refused.what.contains(&format!("cannot run `{name}` in {here}")), "{refused}");
            assert!(refused.hint.unwrap().contains("SERVER:/EXPORT"));
            assert_eq!(check(&host, &plan(name, &["nas:/srv"]), &[]), Ok(()));
        }
        for built_in in builtin::PLANS.iter().filter(|it| !it.name.starts_with("nfs")) {
            assert_eq!(
                check(&host, &plan(built_in.name, &[here]), &[]),
                Ok(()),
                "{}",
                built_in.name
            );
        }
    }

    #[test]
    fn only_a_plan_that_asks_for_it_tells_of_sensors_that_are_not_there() {
        let host = Host::live();
        assert_eq!(lacking(&host, &plan("streams", &["/"]), &[]), None);
        assert_eq!(no_sensor((true, true)), None);
        for (there, word) in [
            ((false, true), "drivetemp"),
            ((true, false), "processor"),
            ((false, false), "Neither"),
        ] {
            assert!(no_sensor(there).unwrap().contains(word));
        }
        let soak = plan("soak", &["/"]);
        assert!(soak.needs.contains(&Need::Temperature));
        let note = lacking(&host, &soak, &[]);
        assert!(note.is_none_or(|note| note.kind == "no-sensor"));
    }
}
