//! What a recording holds: lists of names, for a walk through /proc and /sys.
//!
//! Only what is listed is read: some files of /sys act when they are read, wait for a device, or
//! give keys away.

/// Trees that are walked. `*` stands for any one name.
pub const WALKED: &[&str] = &[
    "/sys/devices/*",
    "/sys/devices/virtual/block",
    "/sys/devices/virtual/net",
    "/sys/devices/virtual/bdi",
    "/sys/devices/virtual/dmi",
    "/sys/devices/virtual/thermal",
    "/sys/devices/virtual/nvme-subsystem",
    "/sys/devices/virtual/nvme-fabrics",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/devices/system/edac",
    "/sys/devices/system/clocksource/clocksource0",
    "/sys/fs/btrfs",
    "/sys/bus/pci/slots",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/hugepages",
    "/.brickyard",
];

/// Children of /sys/devices that are no part of a server, or are walked in part.
const NO_DEVICES: &[&str] = &[
    "breakpoint",
    "cpu",
    "faux",
    "isa",
    "kprobe",
    "LNXSYSTM:00",
    "msr",
    "pnp0",
    "software",
    "system",
    "tracepoint",
    "uprobe",
    "virtual",
];

/// Folders whose links are recorded, all of them.
pub const LINKS: &[&str] = &[
    "/sys/block",
    "/sys/bus/pci/devices",
    "/sys/class/ata_device",
    "/sys/class/ata_link",
    "/sys/class/ata_port",
    "/sys/class/bdi",
    "/sys/class/block",
    "/sys/class/dmi",
    "/sys/class/enclosure",
    "/sys/class/fc_host",
    "/sys/class/fc_remote_ports",
    "/sys/class/hwmon",
    "/sys/class/infiniband",
    "/sys/class/iscsi_session",
    "/sys/class/net",
    "/sys/class/nvme",
    "/sys/class/nvme-subsystem",
    "/sys/class/power_supply",
    "/sys/class/sas_device",
    "/sys/class/sas_end_device",
    "/sys/class/sas_expander",
    "/sys/class/sas_host",
    "/sys/class/sas_phy",
    "/sys/class/sas_port",
    "/sys/class/scsi_device",
    "/sys/class/scsi_disk",
    "/sys/class/scsi_host",
    "/sys/class/thermal",
    "/sys/dev/block",
];

/// Single files. `*` stands for any one name.
pub const FILES: &[&str] = &[
    "/etc/tuned/active_profile",
    "/sys/module/zfs/parameters/zfs_txg_timeout",
    "/proc/cmdline",
    "/proc/cpuinfo",
    "/proc/device-tree/model",
    "/proc/interrupts",
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/effective_affinity_list",
    "/proc/irq/*/node",
    "/proc/irq/*/smp_affinity",
    "/proc/irq/*/smp_affinity_list",
    "/proc/mdstat",
    "/proc/meminfo",
    "/proc/net/bonding/*",
    "/proc/self/mountinfo",
    "/proc/spl/kstat/zfs/*/state",
    "/proc/swaps",
    "/proc/sys/dev/raid/speed_limit_max",
    "/proc/sys/dev/raid/speed_limit_min",
    "/proc/sys/fs/aio-max-nr",
    "/proc/sys/fs/file-max",
    "/proc/sys/fs/nr_open",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ostype",
    "/proc/sys/kernel/version",
    "/proc/sys/net/core/*_max",
    "/proc/sys/net/core/*_default",
    "/proc/sys/net/core/busy_*",
    "/proc/sys/net/core/default_qdisc",
    "/proc/sys/net/core/netdev_*",
    "/proc/sys/net/core/rps_*",
    "/proc/sys/net/ipv4/tcp_*mem",
    "/proc/sys/net/ipv4/tcp_adv_win_scale",
    "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
    "/proc/sys/net/ipv4/tcp_available_congestion_control",
    "/proc/sys/net/ipv4/tcp_congestion_control",
    "/proc/sys/net/ipv4/tcp_limit_output_bytes",
    "/proc/sys/net/ipv4/tcp_moderate_rcvbuf",
    "/proc/sys/net/ipv4/tcp_mtu_probing",
    "/proc/sys/net/ipv4/tcp_no_metrics_save",
    "/proc/sys/net/ipv4/tcp_notsent_lowat",
    "/proc/sys/net/ipv4/tcp_sack",
    "/proc/sys/net/ipv4/tcp_slow_start_after_idle",
    "/proc/sys/net/ipv4/tcp_timestamps",
    "/proc/sys/net/ipv4/tcp_window_scaling",
    "/proc/sys/net/ipv4/udp_*mem",
    "/proc/sys/vm/dirty_*",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/overcommit_*",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/proc/sys/vm/watermark_*",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/version",
    "/sys/firmware/devicetree/base/compatible",
    "/sys/firmware/devicetree/base/model",
    "/sys/firmware/dmi/tables/DMI",
    "/sys/firmware/dmi/tables/smbios_entry_point",
    "/sys/hypervisor/type",
    "/sys/module/*/version",
    "/sys/module/nvme/parameters/*",
    "/sys/module/nvme_core/parameters/*",
    "/sys/module/pcie_aspm/parameters/policy",
];

/// Folders whose files are all harmless to read.
const WHOLE_FOLDERS: &[&str] = &[
    "bonding",
    "dm",
    "link",
    "loop",
    "microcode",
    "msi_irqs",
    "queue",
    "smt",
    "topology",
    "transparent_hugepage",
    "vulnerabilities",
];

/// Files of /sys/devices, whatever folder they lie in.
const NAMES: &[&str] = &[
    // PCI functions.
    "aer_dev_correctable",
    "aer_dev_fatal",
    "aer_dev_nonfatal",
    "class",
    "config",
    "current_link_speed",
    "current_link_width",
    "device",
    "irq",
    "local_cpulist",
    "max_link_speed",
    "max_link_width",
    "numa_node",
    "revision",
    "sriov_numvfs",
    "sriov_totalvfs",
    "subsystem_device",
    "subsystem_vendor",
    "vendor",
    "address",
    "cur_bus_speed",
    "max_bus_speed",
    // Block devices, md, btrfs.
    "alignment_offset",
    "backing_dev_name",
    "cache_mode",
    "cache_type",
    "dev",
    "dirty_data",
    "discard_alignment",
    "eui",
    "hidden",
    "label",
    "nguid",
    "nsid",
    "partition",
    "removable",
    "ro",
    "serial",
    "size",
    "start",
    "state",
    "slot",
    "errors",
    "uuid",
    "wwid",
    "cpu_list",
    "nr_tags",
    "nr_reserved_tags",
    "read_ahead_kb",
    // SCSI, SATA, SAS, NVMe, Fibre Channel.
    "active_mode",
    "ahci_host_caps",
    "ahci_port_cmd",
    "bay_identifier",
    "board_assembly",
    "board_name",
    "board_tracer",
    "can_queue",
    "cmd_per_lun",
    "cntlid",
    "cntrltype",
    "component_id",
    "component_vendor_id",
    "device_type",
    "driver_version",
    "dma_mode",
    "enclosure_identifier",
    "firmware_rev",
    "firmware_revision",
    "fw_queue_depth",
    "fw_version",
    "host_sas_address",
    "hw_sata_spd_limit",
    "id",
    "initiator_port_protocols",
    "iopolicy",
    "kato",
    "level",
    "link_power_management_policy",
    "manage_start_stop",
    "maximum_linkrate",
    "maximum_linkrate_hw",
    "minimum_linkrate",
    "minimum_linkrate_hw",
    "model",
    "model_name",
    "negotiated_linkrate",
    "nr_hw_queues",
    "nr_pmp_links",
    "num_phys",
    "phy_identifier",
    "pio_mode",
    "port_id",
    "port_name",
    "port_no",
    "port_state",
    "proc_name",
    "product_id",
    "product_rev",
    "protection_mode",
    "protection_type",
    "provisioning_mode",
    "queue_count",
    "queue_depth",
    "queue_type",
    "rev",
    "sas_address",
    "sas_device_handle",
    "sas_ncq_prio_enable",
    "sata_spd",
    "sata_spd_limit",
    "scsi_level",
    "scsi_target_id",
    "sg_tablesize",
    "sqsize",
    "subsysnqn",
    "supported_speeds",
    "target_port_protocols",
    "timeout",
    "transport",
    "trim",
    "type",
    "unique_id",
    "vendor_id",
    "version_bios",
    "version_fw",
    "version_mpi",
    "version_product",
    "vpd_pg0",
    "vpd_pg80",
    "vpd_pg83",
    "vpd_pgb0",
    "vpd_pgb1",
    "vpd_pgb2",
    "zoned_cap",
    // Network interfaces.
    "addr_assign_type",
    "carrier",
    "dev_id",
    "dev_port",
    "duplex",
    "flags",
    "ifindex",
    "iflink",
    "link_layer",
    "mtu",
    "operstate",
    "phys_port_name",
    "phys_state",
    "rate",
    "rps_cpus",
    "rps_flow_cnt",
    "speed",
    "tx_queue_len",
    "xps_cpus",
    "tun_flags",
    // Processors, nodes, memory.
    "affected_cpus",
    "base_frequency",
    "bios_limit",
    "boost",
    "coherency_line_size",
    "core_throttle_count",
    "cpuinfo_max_freq",
    "cpuinfo_min_freq",
    "cpulist",
    "current_clocksource",
    "available_clocksource",
    "distance",
    "energy_performance_preference",
    "has_cpu",
    "has_memory",
    "has_normal_memory",
    "isolated",
    "kernel_max",
    "meminfo",
    "no_turbo",
    "nohz_full",
    "nr_hugepages",
    "number_of_sets",
    "online",
    "package_throttle_count",
    "possible",
    "present",
    "related_cpus",
    "scaling_driver",
    "scaling_governor",
    "scaling_max_freq",
    "scaling_min_freq",
    "shared_cpu_list",
    "status",
    "ways_of_associativity",
    "ce_count",
    "ue_count",
    "ce_noinfo_count",
    "ue_noinfo_count",
    "dimm_ce_count",
    "dimm_dev_type",
    "dimm_edac_mode",
    "dimm_label",
    "dimm_location",
    "dimm_mem_type",
    "dimm_ue_count",
    "max_location",
    "mc_name",
    "size_mb",
    // Sensors, batteries, runtime power management.
    "name",
    "temp",
    "capacity",
    "scope",
    "control",
    "runtime_status",
];

/// Links that are recorded wherever they lie in /sys/devices.
const LINK_NAMES: &[&str] =
    &["block", "cpufreq", "device", "driver", "master", "module", "phy80211", "physfn"];

/// Folders that are not gone into.
const SHUT: &[&str] = &[
    "cpuidle",
    "drm",
    "events",
    "graphics",
    "hotplug",
    "iosched",
    "format",
    "memory",
    "sound",
    "stats",
    "statistics",
    "trace",
    "tracing",
    "usbmon",
    "video4linux",
    "vtconsole",
    "wakeup",
    "acpi_cppc",
    "byte_queue_limits",
    "features",
    "commit_stats",
    "iommu",
    "input",
    "tty",
];

/// Whether the walk goes into the folder `name` of `parent`, a full path.
pub fn folder(parent: &str, name: &str) -> bool {
    match parent {
        "/sys/devices" => !NO_DEVICES.contains(&name),
        _ => !SHUT.contains(&name),
    }
}

/// Whether the walk reads the file `name` of `parent`, a full path.
pub fn file(parent: &str, name: &str) -> bool {
    let mut above = parent.rsplit('/');
    let (within, over) = (above.next().unwrap_or(""), above.next().unwrap_or(""));
    if parent.starts_with("/.brickyard") {
        return true;
    }
    if parent == "/sys/devices/virtual/dmi/id" {
        return !matches!(name, "modalias" | "uevent");
    }
    if parent.starts_with("/sys/fs/btrfs/") {
        // What lies at the root of a file system says what it is; some of it changes by itself.
        return !matches!(name, "generation" | "commit_stats" | "bytes_used" | "disk_used");
    }
    let firmware_attribute = within == "power" && !matches!(name, "control" | "runtime_status");
    if firmware_attribute || (parent.starts_with("/sys/bus/pci/slots") && name == "power") {
        return false;
    }
    match within {
        _ if WHOLE_FOLDERS.contains(&within) => true,
        "md" => !matches!(name, "new_dev" | "uuid"),
        _ if over == "net" && name == "uevent" => true,
        _ if name.starts_with("temp") && name.contains('_') => sensor(name),
        _ => NAMES.contains(&name) || name.starts_with("trip_point_"),
    }
}

/// `temp1_input` and its like, but no settings of a fan.
fn sensor(name: &str) -> bool {
    let known = ["_input", "_max", "_min", "_crit", "_lcrit", "_label", "_alarm", "_emergency"];
    known.iter().any(|end| name.ends_with(end))
}

/// Whether the walk records the link `name` of `parent`, a full path.
pub fn link(parent: &str, name: &str) -> bool {
    let within = parent.rsplit('/').next().unwrap_or("");
    let numbered = |start: &str| {
        let digits = name.strip_prefix(start);
        digits
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    matches!(within, "slaves" | "holders")
        || (within == "devices" && parent.starts_with("/sys/fs/btrfs/"))
        || LINK_NAMES.contains(&name)
        || ["lower_", "upper_", "slave_", "enclosure_device"].iter().any(|s| name.starts_with(s))
        || (within == "md" && numbered("rd"))
}

/// The most that a file may have, bytes.
pub fn bytes_max(path: &str) -> usize {
    match path {
        "/proc/cpuinfo" | "/proc/interrupts" => 1 << 20,
        "/sys/firmware/dmi/tables/DMI" => 256 << 10,
        // The standard header and capabilities; what follows has serial numbers.
        _ if path.ends_with("/config") => 256,
        _ => 64 << 10,
    }
}

/// Whether files beyond [`bytes_max`] are cut there, instead of left out.
pub fn is_cut(path: &str) -> bool {
    path.ends_with("/config")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_act_or_wait_or_hold_keys_are_not_read() {
        let disk = "/sys/devices/pci0000:00/0000:00:01.0";
        for name in ["rom", "resource", "resource0", "reset", "vpd", "remove", "rescan", "eeprom"] {
            assert!(!file(disk, name), "{name}");
        }
        assert!(!file(&format!("{disk}/power"), "autosuspend_delay_ms"));
        assert!(!file("/sys/devices/system/cpu/cpu0/cpufreq", "cpuinfo_cur_freq"));
        assert!(!FILES.iter().any(|file| file.contains("fastopen") || file.contains("ipv4/*")));
        assert!(!folder("/sys/devices", "tracepoint") && !folder("/x", "trace"));
        assert!(WALKED.iter().all(|tree| !tree.contains("debug") && !tree.contains("tracing")));
    }

    #[test]
    fn what_tells_of_a_server_is_read() {
        let device = "/sys/devices/pci0000:00/0000:00:01.0";
        assert!(file(device, "current_link_speed") && file(device, "config"));
        assert!(file(&format!("{device}/host0/block/sda/queue"), "read_ahead_kb"));
        assert!(file(&format!("{device}/power"), "runtime_status"));
        assert!(file(&format!("{device}/hwmon/hwmon1"), "temp1_crit"));
        assert!(file(&format!("{device}/net/eth0"), "uevent") && !file(device, "uevent"));
        assert!(file("/sys/devices/virtual/dmi/id", "sys_vendor"));
        assert!(link(device, "driver") && link("/sys/devices/virtual/block/md0/md", "rd0"));
        assert!(link("/x/slaves", "sda") && !link(device, "firmware_node"));
        assert_eq!(bytes_max(&format!("{device}/config")), 256);
    }
}
