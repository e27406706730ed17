//! (pure) The inventory for people, as lines of text.

use std::fmt;

use super::{Device, DeviceKind, Machine, Target};
use crate::bare;
use base::value::{bytes, iops, throughput};

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match bare::device(&self.directory) {
            Some(device) => write!(f, "{device}: {}, read {}", self.source, bare::RAW)?,
            None => self.write_mount(f)?,
        }
        for device in &self.devices {
            write!(f, "\n  {device}")?;
        }
        let Some(ceiling) = &self.ceiling else { return Ok(()) };
        let limits = [
            ceiling.bytes_per_s.map(throughput),
            ceiling.ops_per_s.map(|ops| format!("{}/s random reads one at a time", iops(ops))),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        write!(f, "\n  at most {} ({})", limits.join(" and "), ceiling.why)
    }
}

impl Target {
    /// The file system, and where it is mounted.
    fn write_mount(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.directory, self.filesystem)?;
        match self.holding_filesystem.as_str() {
            "" => write!(f, " on a file system that cannot be seen from here")?,
            below if below != self.filesystem => write!(f, " on {below}")?,
            _ => {}
        }
        write!(f, ", {} mounted on {} ({})", self.source, self.mount_point, self.mount_options)?;
        if let (Some(available), Some(total)) = (self.available_bytes, self.total_bytes) {
            write!(f, ", {} of {} free", bytes(available as f64), bytes(total as f64))?;
        }
        Ok(())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DeviceKind::Disk => "disk",
            DeviceKind::Partition => "partition",
            DeviceKind::Stacked => self.layout.as_deref().unwrap_or("stack"),
            DeviceKind::Loop => "loop",
        };
        match &self.caching {
            Some(caching) => {
                write!(
                    f,
                    "{}: {caching} on {}",
                    self.name,
                    caching.origin(&self.below).join(", ")
                )?;
            }
            None if self.below.is_empty() => write!(f, "{}: {what}", self.name)?,
            None => write!(f, "{}: {what} on {}", self.name, self.below.join(", "))?,
        }
        if let Some(backing) = &self.backing {
            write!(f, " on {} ({})", backing.file, backing.filesystem)?;
        }
        if self.kind == DeviceKind::Disk {
            write!(f, ", {}", self.transport)?;
        }
        if let Some(model) = &self.model {
            write!(f, ", {model}")?;
        }
        write!(f, ", {}", bytes(self.size_bytes as f64))?;
        if self.kind == DeviceKind::Partition {
            return Ok(());
        }
        if let Some(rotational) = self.rotational {
            write!(f, ", {}", if rotational { "rotational" } else { "not rotational" })?;
        }
        if let Some(scheduler) = &self.scheduler {
            write!(f, ", scheduler {scheduler}")?;
        }
        if let Some(kib) = self.read_ahead_kib {
            write!(f, ", read-ahead {kib} KiB")?;
        }
        if let Some(cache) = &self.write_cache {
            write!(f, ", {cache}")?;
        }
        self.link.as_ref().map_or(Ok(()), |link| write!(f, ", {link}"))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_unknown = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".into());
        write!(f, "{}: Linux {}", or_unknown(&self.hostname), or_unknown(&self.kernel))?;
        match (self.cpus_online, &self.cpu_model) {
            (0, None) => write!(f, ", CPUs not known")?,
            (0, Some(model)) => write!(f, ", CPUs not counted ({model})")?,
            (count, model) => write!(f, ", {count} CPUs ({})", or_unknown(model))?,
        }
        if let Some(memory) = self.memory_total_bytes {
            write!(f, ", {} of memory", bytes(memory as f64))?;
        }
        if self.numa_nodes > 1 {
            write!(f, ", {} NUMA nodes", self.numa_nodes)?;
        }
        if let Some(governor) = &self.governor {
            write!(f, ", governor {governor}")?;
        }
        let made_by = [&self.vendor, &self.product].into_iter().flatten();
        let made_by: Vec<&str> = made_by.map(String::as_str).collect();
        match (self.virtual_machine, made_by.is_empty()) {
            (Some(true), true) => write!(f, ", a virtual machine"),
            (Some(true), false) => write!(f, ", a virtual machine ({})", made_by.join(" ")),
            (_, false) => write!(f, ", {}", made_by.join(" ")),
            (_, true) => Ok(()),
        }
    }
}
