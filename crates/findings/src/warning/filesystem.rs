//! File systems that are nearly full.

use std::collections::BTreeSet;

use super::WarningFinding;
use facts::inventory::server::{Server, Usage};

/// File systems that are made full.
const ALWAYS_FULL: &[&str] = &["squashfs", "iso9660", "erofs", "cramfs", "romfs", "udf"];

/// File systems of which less than a tenth is left, each once, however often it is mounted.
pub fn full(server: &Server) -> Vec<WarningFinding> {
    let mut seen = BTreeSet::new();
    let writable = server.filesystems.iter().filter(|usage| {
        !ALWAYS_FULL.contains(&usage.filesystem.as_str())
            && !usage.options.split(',').any(|option| option == "ro")
    });
    let each = writable.filter(|usage| seen.insert((usage.source.clone(), usage.total_bytes)));
    each.filter_map(found).collect()
}

fn found(usage: &Usage) -> Option<WarningFinding> {
    const LEFT: f64 = 0.1;
    let (total, available) =
        (usage.total_bytes.filter(|bytes| *bytes > 0)?, usage.available_bytes?);
    let left = available as f64 / total as f64;
    if left >= LEFT {
        return None;
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Some(WarningFinding {
        part: usage.mount_point.clone(),
        text: format!(
            "{:.1} % of it is left to write: {:.1} of {:.1} GiB.",
            left * 100.0,
            gib(available),
            gib(total)
        ),
        evidence: vec![format!(
            "statfs of {}: {total} bytes, {available} available",
            usage.mount_point
        )],
        cost: match usage.filesystem.as_str() {
            "tmpfs" | "ramfs" => "programs that write there will fail".to_owned(),
            _ => "new files are cut into the gaps that are left, and read more slowly from disks \
                  that turn; flash has less room to move what it rewrites; figures measured here \
                  are lower than those of an emptier one"
                .to_owned(),
        },
        command: format!("`du -xh --max-depth=2 {} | sort -h | tail`", usage.mount_point),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(filesystem: &str, options: &str, available: u64) -> Usage {
        Usage {
            mount_point: "/srv".to_owned(),
            filesystem: filesystem.to_owned(),
            source: "/dev/sda1".to_owned(),
            options: options.to_owned(),
            total_bytes: Some(100 << 30),
            available_bytes: Some(available),
            ..Usage::default()
        }
    }

    fn count(filesystems: Vec<Usage>) -> usize {
        full(&Server { filesystems, ..Server::default() }).len()
    }

    #[test]
    fn a_file_system_with_less_than_a_tenth_left_is_told_once() {
        let nearly = usage("ext4", "rw,relatime", 9 << 30);
        let found = found(&nearly).unwrap();
        assert_eq!(found.text, "9.0 % of it is left to write: 9.0 of 100.0 GiB.");
        assert_eq!(count(vec![nearly.clone(), nearly]), 1);
    }

    #[test]
    fn images_those_without_figures_and_emptier_ones_are_fine() {
        let unknown = Usage { available_bytes: None, ..usage("nfs4", "rw", 0) };
        let empty = Usage { total_bytes: Some(0), ..usage("ext4", "rw", 0) };
        let fine = vec![
            usage("ext4", "rw", 10 << 30),
            usage("squashfs", "rw", 0),
            usage("xfs", "ro,noatime", 0),
            unknown,
            empty,
        ];
        assert_eq!(count(fine), 0);
    }
}
