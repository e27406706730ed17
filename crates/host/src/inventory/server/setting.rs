//! Settings of the kernel that matter to a storage server (/proc/sys, tuned, ZFS).

use super::Reading;
use facts::inventory::server::Setting;

/// What is asked, in the order in which it is told (the kernel's Documentation/admin-guide/sysctl
/// and Documentation/networking/ip-sysctl). A kernel that lacks one is not blamed.
const ASKED: &[&str] = &[
    "vm.dirty_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_background_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_writeback_centisecs",
    "vm.swappiness",
    "vm.min_free_kbytes",
    "vm.vfs_cache_pressure",
    "vm.zone_reclaim_mode",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rmem_default",
    "net.core.wmem_default",
    "net.core.optmem_max",
    "net.core.netdev_max_backlog",
    "net.core.default_qdisc",
    "net.core.somaxconn",
    "net.core.busy_poll",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_window_scaling",
    "kernel.numa_balancing",
    "kernel.io_uring_disabled",
    "fs.aio-max-nr",
];

/// What is no sysctl, and where it is: zfs(4) has the module's.
const ELSEWHERE: &[(&str, &str)] = &[
    ("tuned profile", "/etc/tuned/active_profile"),
    ("zfs_txg_timeout", "/sys/module/zfs/parameters/zfs_txg_timeout"),
];

/// Reads them.
pub fn read(reading: &mut Reading<'_>) -> Vec<Setting> {
    let mut settings = Vec::new();
    for name in ASKED {
        let place = format!("/proc/sys/{}", name.replace('.', "/"));
        settings.extend(setting(reading, name, place));
    }
    for (name, place) in ELSEWHERE {
        settings.extend(setting(reading, name, (*place).to_owned()));
    }
    settings
}

fn setting(reading: &mut Reading<'_>, name: &str, place: String) -> Option<Setting> {
    /// Longer is none of these.
    const LONGEST: usize = 4096;
    let value = reading.word(&place, &format!("the setting {name}"))?;
    let value = value.split_whitespace().collect::<Vec<&str>>().join(" ");
    let plain = value.len() <= LONGEST && !value.chars().any(char::is_control);
    plain.then(|| Setting { name: name.to_owned(), value, place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    fn recorded(text: &str) -> Vec<Setting> {
        let recording = Recording::unpack(text);
        let host = recording.host();
        read(&mut Reading::new(&host))
    }

    #[test]
    fn settings_are_read_with_their_blanks_made_one() {
        let found = recorded(
            "/proc/sys/net/ipv4/tcp_rmem = 4096\t131072\t6291456\n/proc/sys/vm/dirty_ratio = 20\n\
             /proc/sys/fs/aio-max-nr = 65536\n/etc/tuned/active_profile = throughput-performance\n\
             /sys/module/zfs/parameters/zfs_txg_timeout = 15\n",
        );
        let told: Vec<(&str, &str)> =
            found.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        assert_eq!(
            told,
            [
                ("vm.dirty_ratio", "20"),
                ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
                ("fs.aio-max-nr", "65536"),
                ("tuned profile", "throughput-performance"),
                ("zfs_txg_timeout", "15"),
            ]
        );
        assert_eq!(found[2].place, "/proc/sys/fs/aio-max-nr");
    }

    #[test]
    fn what_is_no_setting_is_left_out() {
        assert_eq!(recorded(""), []);
        let long = "9".repeat(5000);
        assert_eq!(recorded(&format!("/proc/sys/vm/swappiness = {long}\n")), []);
        assert_eq!(recorded("/proc/sys/vm/swappiness = hex ff00\n"), []);
        assert_eq!(recorded("/proc/sys/vm/swappiness = hex 360036\n"), []);
    }
}
