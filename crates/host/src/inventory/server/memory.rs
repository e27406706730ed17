//! Memory: size, huge pages, and the modules that SMBIOS or EDAC know.

use std::collections::BTreeSet;

use super::{Reading, smbios};
use crate::inventory::machine::memory;
use facts::inventory::server::{Memory, Module};

pub mod edac;
mod module;

pub use module::{DecodedModule, made};

/// Reads it.
pub fn read(reading: &mut Reading<'_>) -> Memory {
    let meminfo = reading.word("/proc/meminfo", "the size of the memory").unwrap_or_default();
    let huge = "/sys/kernel/mm/transparent_hugepage/enabled";
    let huge = reading.word(huge, "whether transparent huge pages are used");
    let vendor = reading.word("/sys/class/dmi/id/sys_vendor", "the maker of the system");
    let table = smbios::read(reading, "the memory modules").unwrap_or_default();
    let mut modules = module::modules(&table, vendor.as_deref().unwrap_or(""));
    let controllers = edac::controllers(reading);
    // Without root EDAC knows what is plugged in, but not how fast it is.
    if modules.is_empty() {
        modules = edac::modules(reading, &controllers);
    }
    Memory {
        total_bytes: memory(&meminfo, "MemTotal:"),
        swap_bytes: memory(&meminfo, "SwapTotal:"),
        transparent_huge_pages: huge.and_then(|text| chosen(&text)),
        channels: channels(&modules),
        corrected_errors: edac::errors(reading, &controllers, "ce_count"),
        uncorrected_errors: edac::errors(reading, &controllers, "ue_count"),
        modules,
    }
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// How many channels hold modules; `None` unless the place of every module tells its channel.
fn channels(modules: &[Module]) -> Option<u32> {
    let held = modules.iter().filter(|module| module.size_bytes.is_some());
    let channels: Option<BTreeSet<&str>> = held.map(|module| module.channel.as_deref()).collect();
    channels.map(|channels| channels.len() as u32).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::super::smbios::testing::Table;
    use super::*;
    use crate::inventory::recording::Recording;

    fn recorded(text: &str) -> (Memory, Vec<facts::inventory::server::Unread>) {
        let recording = Recording::unpack(text);
        let host = recording.host();
        let mut reading = Reading::new(&host);
        (read(&mut reading), reading.into_unread())
    }

    const MEMINFO: &str = "/proc/meminfo:\n    MemTotal:       24684096 kB\n    \
        SwapTotal:             0 kB\n\
        /sys/kernel/mm/transparent_hugepage/enabled = always [madvise] never\n";

    #[test]
    fn modules_are_read_with_their_speed_and_their_channels() {
        let table = Table::default()
            .add(16, 0x1000, &[3, 3, 6], &[])
            .add(17, 0x1100, &module::tests::fields(0x1000, 16384, 2933, 2400), module::tests::AT0)
            .add(17, 0x1101, &module::tests::fields(0x1000, 16384, 2933, 2400), module::tests::AT1)
            .add(17, 0x1102, &module::tests::fields(0x1000, 0, 0, 0), module::tests::AT2);
        let (memory, unread) = recorded(&format!("{MEMINFO}{}", table.line()));
        assert_eq!((memory.total_bytes, memory.swap_bytes), (Some(24_684_096 << 10), Some(0)));
        assert_eq!(memory.transparent_huge_pages.as_deref(), Some("madvise"));
        assert_eq!((memory.modules.len(), memory.channels), (3, Some(2)));
        let sizes: Vec<Option<u64>> = memory.modules.iter().map(|one| one.size_bytes).collect();
        assert_eq!(sizes, [Some(16 << 30), Some(16 << 30), None]);
        assert_eq!((memory.corrected_errors, unread), (None, vec![]));
    }

    #[test]
    fn without_the_tables_edac_tells_what_is_plugged_in_and_how_often_it_erred() {
        let mc = "/sys/devices/system/edac/mc";
        let (memory, unread) = recorded(&format!(
            "{mc}/mc0/ce_count = 3\n{mc}/mc0/ue_count = 0\n{mc}/mc1/ce_count = 4\n\
             {mc}/mc1/ue_count = x\n{mc}/mc0/dimm0/size = 16384\n\
             {mc}/mc0/dimm0/dimm_label = CPU_SrcID#0_MC#0_Chan#0_DIMM#0\n\
             {mc}/mc0/dimm0/dimm_location = channel 0 slot 0\n\
             {mc}/mc0/dimm0/dimm_mem_type = Registered-DDR4\n\
             {mc}/mc0/dimm3/size = 18446744073709551615\n{mc}/mc0/power/control = auto\n"
        ));
        assert_eq!((memory.corrected_errors, memory.uncorrected_errors), (Some(7), Some(0)));
        let [module, odd] = &memory.modules[..] else { panic!("two modules") };
        assert_eq!(module.place, "CPU_SrcID#0_MC#0_Chan#0_DIMM#0");
        assert_eq!((module.size_bytes, module.kind.as_deref()), (Some(16 << 30), Some("DDR4")));
        assert_eq!(module.channel.as_deref(), Some("mc0 channel 0"));
        assert_eq!((odd.size_bytes, memory.channels), (None, Some(1)));
        assert_eq!(unread[0].what, "the memory modules");
    }

    #[test]
    fn an_empty_tree_yields_no_numbers_and_says_what_is_not_known() {
        let (memory, unread) = recorded("");
        assert_eq!(memory, Memory::default());
        assert_eq!(unread.len(), 1);
        let (memory, _) = recorded("/proc/meminfo = MemTotal: 99999999999999999999 kB\n");
        assert_eq!(memory.total_bytes, None);
    }

    #[test]
    fn a_text_that_is_cut_chooses_nothing() {
        let text = "always [madvise] never";
        for end in 0..text.find(']').unwrap() {
            assert_eq!(chosen(&text[..end]), None);
        }
        assert_eq!(chosen(text).as_deref(), Some("madvise"));
    }
}
