//! (pure) CrystalDiskMark's text (File, Save as text, or Copy), of 3 to 8: a row each load.
//!
//! Its MB are of 1000000 bytes.

use super::{Form, Importer, ToolResult, diskmark};

/// See [`Importer`].
pub const CRYSTALDISKMARK: Importer = Importer {
    name: "crystaldiskmark",
    about: "The text of CrystalDiskMark 3 to 8 (File, Save (text); or Edit, Copy)",
    forms: &[Form {
        bring: "its text: File, Save (text); or Edit, Copy",
        recorded: &["3.0.1", "6.0.0"],
        read: "the rate and IOPS of each row",
        not_read: "",
    }],
    words: &[
        "CrystalDiskMark",
        "Sequential Read",
        "Random Read",
        "SEQ1M",
        "RND4K",
        "MB/s [",
        "Queues",
    ],
    mark: "row as `SEQ    1MiB (Q=  8, T= 1): 3512.1 MB/s [...]`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    !text.contains(diskmark::KDISKMARK) && diskmark::rows_of(text)
}

/// One result for each row.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    const MB: [f64; 2] = [1e6, 1e6];
    if text.contains(diskmark::KDISKMARK) {
        return Err("it is KDiskMark's, whose MB are others".to_owned());
    }
    let version = |line: &str| {
        let rest = line.strip_prefix("CrystalDiskMark ")?;
        let version = rest.split(' ').next()?;
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
    };
    diskmark::rows(text, MB, version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, rounded, same_with_words_behind};

    const OLD_AND_NEW: &str =
        include_str!("../../../tests/fixtures/tools/crystaldiskmark-3.0.1-and-8.0.0.txt");
    const CARD: &str = include_str!("../../../tests/fixtures/tools/crystaldiskmark-6.0.0-card.txt");

    /// 271.859 MB/s are 271859000 B/s; 271859000 / 66371.9 is 4096.0, so its 4KB are of 1024.
    #[test]
    fn rows_of_every_version_say_what_was_asked_and_how_fast_it_was() {
        let said = parse(OLD_AND_NEW).unwrap();
        assert_eq!(said.len(), 16);
        let old = &said[6];
        assert_eq!(
            (old.version.as_str(), old.title.as_str()),
            ("3.0.1", "Random Read 4KB QD=32 read")
        );
        assert_eq!(rounded(old, "throughput_bytes_per_s"), Some(271_859_000.0));
        assert_eq!(figure(old, "iops"), Some(66371.9));
        assert_eq!(
            (&old.settings["access"], &old.settings["block-size"]),
            (&"random-read".into(), &4096.into())
        );
        assert_eq!(
            (old.settings.get("queue-depth"), old.settings.get("streams")),
            (Some(&32.into()), None)
        );
        // What nothing tells is not known.
        assert_eq!(said[0].settings.keys().collect::<Vec<_>>(), ["access"]);
        let new = &said[14];
        assert_eq!(new.version, "8.0.0");
        assert_eq!(new.settings["access"], "random-write");
        assert_eq!(rounded(new, "throughput_bytes_per_s"), Some(137_234_000.0));
        assert_eq!(rounded(new, "latency_ns_mean"), Some(951_080.0));
        assert_eq!(
            (&new.settings["queue-depth"], &new.settings["streams"]),
            (&32.into(), &1.into())
        );
        let six = parse(CARD).unwrap();
        assert_eq!(six[2].settings["streams"], 8);
        assert_eq!(rounded(&six[2], "throughput_bytes_per_s"), Some(7_892_000.0));
    }

    #[test]
    fn what_mails_forums_and_comments_put_before_a_line_is_no_part_of_it() {
        for before in ["> ", "// ", "  > > ", "# "] {
            let quoted: String = CARD.lines().map(|line| format!("{before}{line}\r\n")).collect();
            assert_eq!(parse(&quoted), parse(CARD), "{before}");
        }
    }

    #[test]
    fn a_mix_has_its_share_of_reads_and_a_rate_that_is_not_its_iops_is_refused() {
        let mix = "[Mix] Read 70%/Write 30%\n  RND    4KiB (Q=  1, T= 1):   137.234 MB/s [  \
                   33504.4 \
                   IOPS] <   951.08 us>\n";
        let said = &parse(mix).unwrap()[0];
        assert_eq!(
            (&said.settings["access"], &said.settings["read-share"]),
            (&"random-mix".into(), &0.7.into())
        );
        let why = parse(&mix.replace("33504.4", "44504.4")).unwrap_err();
        assert!(why.contains("not its IOPS by their size"), "{why}");
        assert!(parse("CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n").is_err());
    }

    #[test]
    fn what_says_the_same_otherwise_gives_the_same_or_is_refused() {
        same_with_words_behind(&CRYSTALDISKMARK, &[OLD_AND_NEW, CARD]);
    }

    /// "[Write] (my old one)" was no heading, and the rows below it were told as reads.
    #[test]
    fn words_behind_a_heading_leave_it_one_and_below_an_unknown_one_no_row_is_read() {
        let noted = OLD_AND_NEW.replace("[Write]", "[Write] (my old one)");
        assert_ne!(noted, OLD_AND_NEW);
        assert_eq!(parse(&noted), parse(OLD_AND_NEW));
        let unknown = parse(&OLD_AND_NEW.replace("[Write]", "[Schreiben]")).unwrap_err();
        assert!(unknown.contains("no row that is known"), "{unknown}");
    }
}
