//! Interrupts of a PCI function: their names and the CPUs that take them (/proc/irq).

use std::collections::BTreeMap;

use super::Reading;
use super::address::function_of;
use crate::sys::Host;
use facts::inventory::server::Interrupt;

/// What none of the other interrupts' files tells.
const WHAT: &str = "where interrupts go";
/// A function has at most 2048 message-signalled interrupts (PCI Local Bus 3.0, 6.8.2).
const MOST: usize = 2048;

/// Names of interrupts by number, from /proc/interrupts: read when the first is asked for.
#[derive(Debug, Default)]
pub struct Names(Option<BTreeMap<u64, String>>);

impl Names {
    /// What the kernel calls an interrupt: the actions of its own file, else its line in
    /// /proc/interrupts, which takes long to make on machines with many CPUs. Empty when nobody
    /// handles it.
    pub fn action_names(&mut self, reading: &mut Reading<'_>, number: u64) -> String {
        if let Some(actions) = reading.quiet(format!("/sys/kernel/irq/{number}/actions")) {
            return actions;
        }
        if reading.host().is_live() && reading.host().exists(format!("/sys/kernel/irq/{number}")) {
            return String::new();
        }
        let table = self.0.get_or_insert_with(|| {
            // 512 CPUs and 4000 interrupts are 11 MB, a count being 11 characters wide.
            let bytes = reading.bytes_within("/proc/interrupts", 32 << 20, WHAT);
            names(&String::from_utf8_lossy(&bytes.unwrap_or_default()))
        });
        table.get(&number).cloned().unwrap_or_default()
    }
}

/// Numbers of the interrupts of a device's directory in /sys, sorted: message-signalled ones, else
/// the line that it shares.
pub fn numbers(host: &Host, device: &str) -> Vec<u64> {
    let listed = host.list(format!("{device}/msi_irqs"));
    let mut numbers: Vec<u64> = listed.iter().filter_map(|name| name.parse().ok()).collect();
    if numbers.is_empty() {
        let line = host.word(format!("{device}/irq")).and_then(|text| text.parse().ok());
        // No line is 0, on some machines 255 (PCI Local Bus 3.0, 6.2.4).
        numbers.extend(line.filter(|line| !matches!(line, 0 | 255)));
    }
    numbers.sort_unstable();
    numbers.truncate(MOST);
    numbers
}

/// The PCI function that a network interface is a port of, and the numbers of its interrupts;
/// `None` for what is no card on a PCI bus.
pub fn of_card(host: &Host, interface: &str) -> Option<(String, Vec<u64>)> {
    let device = host.resolve(format!("/sys/class/net/{interface}/device"))?;
    let function = function_of(&device)?;
    let numbers = numbers(host, &format!("/sys/bus/pci/devices/{function}"));
    Some((function, numbers))
}

/// The interrupts of a device's directory in /sys: message-signalled ones, else the line that it
/// shares.
pub fn of_device(reading: &mut Reading<'_>, device: &str, names: &mut Names) -> Vec<Interrupt> {
    let numbers = numbers(reading.host(), device);
    let found = numbers.into_iter().filter_map(|number| {
        let place = format!("/proc/irq/{number}");
        let cpus = ["effective_affinity_list", "smp_affinity_list"].iter();
        let cpus = cpus.filter_map(|file| cpus_of(reading, &format!("{place}/{file}"))).next()?;
        Some(Interrupt { number, name: names.action_names(reading, number), cpus })
    });
    found.collect()
}

/// A list of CPUs as the kernel writes it; `None` when it is empty or none.
fn cpus_of(reading: &mut Reading<'_>, path: &str) -> Option<String> {
    let list = reading.word(path, WHAT)?;
    let numbers = |range: &str| range.split('-').all(|number| number.parse::<u32>().is_ok());
    list.split(',').all(numbers).then_some(list)
}

/// Lines such as ` 38:   0   9934  PCI-MSIX-0000:00:03.0   1-edge   virtio2-input.0`: the number, a
/// count of each CPU, the chip in one word or several, the actions.
fn names(text: &str) -> BTreeMap<u64, String> {
    let lines = text.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let number: u64 = number.trim().parse().ok()?;
        let is_count = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let words: Vec<&str> = rest.split_whitespace().skip_while(is_count).collect();
        // Several handlers of one line are parted by a comma and a blank.
        let trigger = words.iter().position(|word| {
            ["-edge", "-level", "-fasteoi", "Edge", "Level"].iter().any(|end| word.ends_with(end))
        });
        let names = &words[trigger.map_or(words.len().saturating_sub(1), |at| at + 1)..];
        Some((number, names.join(" ")))
    });
    lines.filter(|(_, name)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    const TABLE: &str = "\
           CPU0       CPU1
 26:          0          9  IO-APIC   4-edge      ttyS0
 37:          1          0  IR-PCI-MSI 524288-edge      nvme0q0
 38:          0       9934 PCI-MSIX-0000:00:03.0   1-edge      eth0-TxRx-0, eth0 fdir
 54:          7          7     GICv3  45 Level     fsl eth
NMI:        109       6319   Non-maskable interrupts
";

    #[test]
    fn names_are_read_past_counts_and_chips() {
        let names = names(TABLE);
        assert_eq!(names[&37], "nvme0q0");
        assert_eq!(names[&38], "eth0-TxRx-0, eth0 fdir");
        assert_eq!(names[&54], "fsl eth");
        assert_eq!(names.len(), 4, "{names:?}");
    }

    #[test]
    fn a_table_that_is_cut_off_anywhere_yields_no_number_that_was_not_there() {
        let whole: Vec<u64> = names(TABLE).into_keys().collect();
        for end in 0..TABLE.len() {
            let cut = names(&TABLE[..end]);
            assert!(cut.keys().all(|number| whole.contains(number)), "cut at {end}");
        }
    }

    #[test]
    fn interrupts_say_where_they_go_and_nonsense_goes_nowhere() {
        let recording = Recording::unpack(&format!(
            "/sys/devices/x/msi_irqs/38 = msix\n/sys/devices/x/msi_irqs/37 = msix\n\
             /sys/devices/x/msi_irqs/39 = msix\n/sys/devices/x/msi_irqs/many = msix\n\
             /proc/irq/37/effective_affinity_list = 4\n/proc/irq/37/smp_affinity_list = 0-7\n\
             /proc/irq/38/effective_affinity_list:\n/proc/irq/38/smp_affinity_list = 0-3,8\n\
             /proc/irq/39/smp_affinity_list = all of them\n/sys/devices/y/irq = 26\n\
             /sys/devices/z/irq = 0\n/proc/irq/26/smp_affinity_list = 1\n\
             /sys/kernel/irq/37/actions = nvme0q0,other\n/proc/interrupts:\n{}",
            TABLE.lines().map(|line| format!("    {line}\n")).collect::<String>()
        ));
        let host = recording.host();
        let mut reading = Reading::new(&host);
        let mut names = Names::default();
        let mut of = |device: &str| {
            let found = of_device(&mut reading, &format!("/sys/devices/{device}"), &mut names);
            found
                .into_iter()
                .map(|found| (found.number, found.name, found.cpus))
                .collect::<Vec<_>>()
        };
        let is = |number, name: &str, cpus: &str| (number, name.to_owned(), cpus.to_owned());
        let both = [is(37, "nvme0q0,other", "4"), is(38, "eth0-TxRx-0, eth0 fdir", "0-3,8")];
        assert_eq!(of("x"), both);
        assert_eq!(of("y"), [is(26, "ttyS0", "1")]);
        assert_eq!((of("z"), of("none")), (vec![], vec![]));
    }

    #[test]
    fn the_interrupts_of_the_machine_that_we_run_on_are_found() {
        let host = crate::sys::Host::live();
        let mut reading = Reading::new(&host);
        let mut names = Names::default();
        for address in host.list("/sys/bus/pci/devices") {
            let device = format!("/sys/bus/pci/devices/{address}");
            let expected = host.list(format!("{device}/msi_irqs")).len();
            let found = of_device(&mut reading, &device, &mut names);
            assert!(found.len() >= expected.min(MOST), "{address}: {found:?}");
        }
    }
}
