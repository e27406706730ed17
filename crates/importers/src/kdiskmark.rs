//! (pure) KDiskMark's text: rows as CrystalDiskMark's, measured by fio.
//!
//! It says that its MB are of 1000000 bytes. They are fio's KiB/s by a thousand, 1024000 bytes, of
//! all versions that are known (1.6 to 3.2): 542.516 MB/s at 529.8 IOPS of 1 MiB. The IOPS of each
//! row tell which it is.

use super::{Form, Importer, ToolResult, diskmark};

/// See [`Importer`].
pub const KDISKMARK: Importer = Importer {
    name: "kdiskmark",
    about: "The text of KDiskMark (File, Save)",
    forms: &[Form {
        bring: "its text: File, Save",
        recorded: &["1.6.0", "3.0.0"],
        read: "the rate and IOPS of each row",
        not_read: "",
    }],
    words: &["KDiskMark", "SEQ1M", "RND4K", "MB/s ["],
    mark: "line with `KDiskMark`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.contains(diskmark::KDISKMARK) && diskmark::rows_of(text)
}

/// One result for each row.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    if !text.contains(diskmark::KDISKMARK) {
        return Err("there is no heading of KDiskMark's in it".to_owned());
    }
    let version = |line: &str| {
        let (version, _) = line.strip_prefix(diskmark::KDISKMARK)?.split_once(')')?;
        Some(version.to_owned())
    };
    diskmark::rows(text, [1_024_000.0, 1e6], version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, rounded, same_with_words_behind};

    const OLD: &str = include_str!("../../../tests/fixtures/tools/kdiskmark-1.6.0-random.txt");
    const NEW: &str = include_str!("../../../tests/fixtures/tools/kdiskmark-3.0.0-tumbleweed.txt");

    /// `542.516 MB/s [    529.8 IOPS]` of 1 MiB: 529.8 * 1048576 = 555535565 B/s, and 542.516 of
    /// 1024000 bytes are 555536384. By its own words it would be 542516000, 2.3 % too low.
    #[test]
    fn its_megabytes_are_what_its_iops_say_and_not_what_its_heading_says() {
        let said = parse(OLD).unwrap();
        assert_eq!((said.len(), said[0].version.as_str()), (8, "1.6.0"));
        assert_eq!(rounded(&said[0], "throughput_bytes_per_s"), Some(555_536_384.0));
        assert_eq!(said[2].settings["streams"], 16);
        let new = &parse(NEW).unwrap()[2];
        assert_eq!(new.settings["access"], "random-read");
        assert_eq!(rounded(new, "throughput_bytes_per_s"), Some(363_168_768.0));
        assert_eq!(
            (figure(new, "iops"), rounded(new, "latency_ns_mean")),
            (Some(88664.6), Some(352_370.0))
        );
        // One that counts as it says is read as it says: 88664.6 * 4096 = 363170202.
        let right = NEW.replace("354.657 MB/s", "363.170 MB/s");
        assert_eq!(
            rounded(&parse(&right).unwrap()[2], "throughput_bytes_per_s"),
            Some(363_170_000.0)
        );
    }

    #[test]
    fn it_is_never_taken_for_the_other() {
        assert!(!(crate::crystaldiskmark::CRYSTALDISKMARK.knows)(OLD));
        assert!((crate::crystaldiskmark::CRYSTALDISKMARK.parse)(OLD).is_err());
        let other = OLD.replace(diskmark::KDISKMARK, "DiskMark (");
        assert!(parse(&other).unwrap_err().contains("no heading"));
    }

    #[test]
    fn what_says_the_same_otherwise_gives_the_same_or_is_refused() {
        same_with_words_behind(&KDISKMARK, &[OLD, NEW]);
    }
}
