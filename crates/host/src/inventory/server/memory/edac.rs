//! What the memory controllers count and know (/sys/devices/system/edac; the kernel's
//! Documentation/admin-guide/RAS). It takes no root.

use crate::inventory::server::Reading;
use crate::inventory::server::smbios::said;
use facts::inventory::server::Module;

/// Where they are.
pub const MC: &str = "/sys/devices/system/edac/mc";
const ERRORS: &str = "errors of the memory";

/// Names of the controllers: `mc0`, ...
pub fn controllers(reading: &Reading<'_>) -> Vec<String> {
    numbered(reading, MC, "mc")
}

/// The entries of a folder whose names are `prefix` and a number, in order of number.
fn numbered(reading: &Reading<'_>, folder: &str, prefix: &str) -> Vec<String> {
    let names = reading.host().list(folder).into_iter();
    let number = |name: &String| name.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut names: Vec<(u32, String)> =
        names.filter_map(|name| Some((number(&name)?, name))).collect();
    names.sort();
    names.into_iter().map(|(_, name)| name).collect()
}

/// Errors since the driver was loaded, all controllers together; `None` where none counts.
pub fn errors(reading: &mut Reading<'_>, controllers: &[String], file: &str) -> Option<u64> {
    let mut sum = None;
    for controller in controllers {
        if let Some(count) = reading.number(format!("{MC}/{controller}/{file}"), ERRORS) {
            sum = Some(count.saturating_add(sum.unwrap_or(0)));
        }
    }
    sum
}

/// Modules as the controllers see them.
pub fn modules(reading: &mut Reading<'_>, controllers: &[String]) -> Vec<Module> {
    let mut modules = Vec::new();
    for controller in controllers {
        // Drivers of older kernels show ranks, not modules.
        for dimm in numbered(reading, &format!("{MC}/{controller}"), "dimm") {
            modules.push(module(reading, controller, &dimm));
        }
    }
    modules
}

fn module(reading: &mut Reading<'_>, controller: &str, dimm: &str) -> Module {
    let mut word =
        |file: &str| reading.word(format!("{MC}/{controller}/{dimm}/{file}"), "the memory modules");
    let location = word("dimm_location");
    let mib = word("size").and_then(|size| size.parse::<u64>().ok());
    let label = word("dimm_label").and_then(|label| said(&label));
    // `Registered-DDR4`, `Unbuffered-DDR3`.
    let kind = word("dimm_mem_type").and_then(|kind| said(&kind));
    let kind = kind.map(|kind| kind.rsplit('-').next().unwrap_or(&kind).to_owned());
    let place = || format!("{controller} {}", location.as_deref().unwrap_or(dimm));
    Module {
        place: label.unwrap_or_else(place),
        bank: location.clone(),
        channel: location.as_deref().and_then(|location| channel(controller, location)),
        size_bytes: mib.filter(|mib| *mib > 0).and_then(|mib| mib.checked_mul(1 << 20)),
        kind,
        ..Module::default()
    }
}

/// `channel 0 slot 1`; where ranks are shown it is `csrow 0 channel 1`.
fn channel(controller: &str, location: &str) -> Option<String> {
    let mut words = location.split_whitespace().skip_while(|word| *word != "channel");
    let number: u32 = words.nth(1)?.parse().ok()?;
    Some(format!("{controller} channel {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_read_from_the_place_and_not_from_half_of_it() {
        assert_eq!(channel("mc1", "channel 2 slot 0").as_deref(), Some("mc1 channel 2"));
        assert_eq!(channel("mc1", "csrow 1 channel 0").as_deref(), Some("mc1 channel 0"));
        for none in ["", "channel", "channel x", "memory 3", "channels 2"] {
            assert_eq!(channel("mc0", none), None);
        }
    }
}
