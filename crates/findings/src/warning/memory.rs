//! Memory modules: their speed, their channels, their errors.

use std::collections::BTreeSet;

use super::{WarningFinding, is_virtual, names};
use facts::inventory::server::{Module, Server};

/// Modules that are there; none in a guest, whose hypervisor invents them.
fn held(server: &Server) -> Vec<&Module> {
    if is_virtual(server) {
        return Vec::new();
    }
    server.memory.modules.iter().filter(|module| module.size_bytes.is_some()).collect()
}

/// What a channel carries at most, bytes per second: a module's data path is 64 bits unless told.
fn channel_bytes_per_s(mt_per_s: u64, module: &Module) -> f64 {
    let bits = module.data_bits.filter(|bits| (8..=128).contains(bits)).unwrap_or(64);
    mt_per_s as f64 * 1e6 * bits as f64 / 8.0
}

/// Modules that are set to less than they can.
pub fn slow(server: &Server) -> Vec<WarningFinding> {
    let speeds = |module: &&Module| Some((module.speed_mt_per_s?, module.configured_mt_per_s?));
    let held = held(server);
    let slow: Vec<&Module> = held
        .into_iter()
        .filter(|module| speeds(module).is_some_and(|(could, runs)| runs < could))
        .collect();
    let Some((first, (could, runs))) = slow.first().and_then(|one| Some((one, speeds(one)?)))
    else {
        return Vec::new();
    };
    let gigabytes = |mt_per_s| channel_bytes_per_s(mt_per_s, first) / 1e9;
    let file = |module: &&&Module| {
        let (could, runs) = speeds(module)?;
        let place = &module.place;
        Some(format!("SMBIOS type 17, {place}: speed = {could} MT/s, configured = {runs} MT/s"))
    };
    vec![WarningFinding {
        part: names(&slow.iter().map(|module| module.place.as_str()).collect::<Vec<&str>>()),
        text: format!("These modules can {could} MT/s and run at {runs}."),
        evidence: slow.iter().take(3).filter_map(|module| file(&module)).collect(),
        cost: format!(
            "at most {:.1} instead of {:.1} GB/s each channel, {:.0} %",
            gigabytes(runs),
            gigabytes(could),
            100.0 * runs as f64 / could as f64
        ),
        command:
            "see in the manuals what the processor allows with so many modules a channel, and \
                  look for the memory's speed in the firmware's setup"
                .to_owned(),
    }]
}

/// Channels that hold no module, where the names of all sockets tell their channels.
pub fn empty_channels(server: &Server) -> Vec<WarningFinding> {
    let held = held(server);
    let of = |modules: &[&Module]| -> Option<BTreeSet<String>> {
        modules.iter().map(|module| module.channel.clone()).collect()
    };
    let sockets: Vec<&Module> = server.memory.modules.iter().collect();
    let (Some(all), Some(used)) = (of(&sockets), of(&held)) else { return Vec::new() };
    let empty: Vec<&str> = all.difference(&used).map(String::as_str).collect();
    if used.is_empty() || empty.is_empty() {
        return Vec::new();
    }
    let share = used.len() as f64 / all.len() as f64;
    let first = held[0];
    let speed = first.configured_mt_per_s.or(first.speed_mt_per_s);
    let figure = speed.map(|speed| {
        let each = channel_bytes_per_s(speed, first) / 1e9;
        format!(": {:.0} of {:.0} GB/s", each * used.len() as f64, each * all.len() as f64)
    });
    vec![WarningFinding {
        part: "memory".to_owned(),
        text: format!("{} of {} channels hold no module.", empty.len(), all.len()),
        evidence: vec![
            format!("SMBIOS type 17: channels without a module: {}", names(&empty)),
            format!("SMBIOS type 17: {} modules in {} sockets", held.len(), sockets.len()),
        ],
        cost: format!(
            "at most {:.0} % of the bandwidth of memory{}; every buffered byte crosses it two or \
             three times",
            100.0 * share,
            figure.unwrap_or_default()
        ),
        command: "spread the modules evenly over the channels, as the board's manual says"
            .to_owned(),
    }]
}

/// Errors that ECC corrected, or could not.
pub fn errors(server: &Server) -> Vec<WarningFinding> {
    let memory = &server.memory;
    let count = |count: Option<u64>| count.unwrap_or(0);
    let (corrected, lost) = (count(memory.corrected_errors), count(memory.uncorrected_errors));
    if corrected == 0 && lost == 0 {
        return Vec::new();
    }
    let folder = "/sys/devices/system/edac/mc/mc*";
    let (text, cost) = match lost {
        0 => (
            format!("ECC corrected {corrected} errors since the driver was loaded."),
            "each correction takes time; a module that errs often is likely to err beyond \
             correction (Schroeder, Pinheiro and Weber, SIGMETRICS 2009)",
        ),
        lost => (
            format!("The memory had {lost} errors that ECC could not correct."),
            "programs or the kernel may have worked with wrong bytes, or were ended",
        ),
    };
    vec![WarningFinding {
        part: "memory".to_owned(),
        text,
        evidence: vec![
            format!("{folder}/ce_count, together = {corrected}"),
            format!("{folder}/ue_count, together = {lost}"),
        ],
        cost: cost.to_owned(),
        command: "`grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_*_count` tells which module: \
                  reseat it, then replace it"
            .to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(place: &str, channel: Option<&str>, speeds: Option<(u64, u64)>) -> Module {
        Module {
            place: place.to_owned(),
            channel: channel.map(str::to_owned),
            size_bytes: speeds.map(|_| 16 << 30),
            speed_mt_per_s: speeds.map(|(could, _)| could),
            configured_mt_per_s: speeds.map(|(_, runs)| runs),
            ..Module::default()
        }
    }

    fn server(modules: Vec<Module>) -> Server {
        let mut server = Server::default();
        server.memory.modules = modules;
        server
    }

    #[test]
    fn modules_below_their_speed_are_told_with_what_a_channel_loses() {
        let modules = vec![
            module("A1", None, Some((3200, 2400))),
            module("B1", None, Some((3200, 2400))),
            module("C1", None, None),
        ];
        let found = &slow(&server(modules.clone()))[0];
        assert_eq!(found.part, "A1, B1");
        assert_eq!(found.cost, "at most 19.2 instead of 25.6 GB/s each channel, 75 %");
        let mut guest = server(modules);
        guest.firmware.vendor = Some("QEMU".to_owned());
        assert_eq!(slow(&guest), []);
    }

    #[test]
    fn modules_at_their_speed_or_of_unknown_speed_are_fine() {
        let unknown = Module { configured_mt_per_s: None, ..module("B1", None, Some((3200, 1))) };
        assert_eq!(slow(&server(vec![module("A1", None, Some((3200, 3200))), unknown])), []);
    }

    #[test]
    fn channels_without_a_module_are_told_where_all_sockets_tell_theirs() {
        let full = |place, channel| module(place, Some(channel), Some((3200, 3200)));
        let modules = vec![full("A1", "A"), full("A2", "A"), module("B1", Some("B"), None)];
        let found = &empty_channels(&server(modules.clone()))[0];
        assert_eq!(found.text, "1 of 2 channels hold no module.");
        assert!(found.cost.starts_with("at most 50 % of the bandwidth of memory: 26 of 51 GB/s"));
        let mut unsure = modules.clone();
        unsure[2].channel = None;
        assert_eq!(empty_channels(&server(unsure)), []);
        assert_eq!(empty_channels(&server(modules[..2].to_vec())), []);
    }

    #[test]
    fn errors_are_told_and_counts_of_zero_are_not() {
        let mut server = Server::default();
        (server.memory.corrected_errors, server.memory.uncorrected_errors) = (Some(0), Some(0));
        assert_eq!(errors(&server), []);
        server.memory.corrected_errors = Some(3);
        assert!(errors(&server)[0].text.starts_with("ECC corrected 3 errors"));
        server.memory.uncorrected_errors = Some(1);
        assert!(errors(&server)[0].text.contains("could not correct"));
    }
}
