//! What each text says twice agrees, or a note or a slip says that it does not.

use super::*;
use crate::measurement::Note;

/// The rows of a table, by its name.
fn table(set: &str, name: &str) -> Vec<&'static Record> {
    let of = |record: &&Record| record.trial.group == name;
    let rows: Vec<&Record> = find(set).unwrap().records.iter().filter(of).collect();
    assert!(!rows.is_empty(), "{set} has no table `{name}`");
    rows
}

/// Whether a row was measured with these settings.
fn is_set(record: &Record, settings: &[(&str, &str)]) -> bool {
    settings.iter().all(|(name, text)| {
        let wanted = knob::find(name).unwrap().domain.parse(text).unwrap();
        record.trial.settings.named(name) == Some(&wanted)
    })
}

/// The row's figure at that place of those that it has.
fn figure(record: &Record, place: usize) -> f64 {
    reported(record).figures[place].value
}

/// The last figure of the only row with these settings.
fn of(rows: &[&Record], settings: &[(&str, &str)]) -> f64 {
    let mut rows = rows.iter().filter(|row| is_set(row, settings));
    let (first, second) = (rows.next().unwrap(), rows.next());
    assert!(second.is_none(), "{settings:?}");
    reported(first).figures.last().unwrap().value
}

fn notes(record: &Record) -> &[Note] {
    &record.outcome.measurement().unwrap().notes
}

fn slips(set: &str) -> &'static [Slip] {
    &find(set).unwrap().slips
}

const NFS: &str = "NFS from the ASA server, both ends";
const JUMBO: &str = "NFS from the ASA server with jumbo frames";

/// The table of file systems was made "all for Raid 3": its ext2 is the RAID 3 of the other.
#[test]
fn raid_3_and_its_ext2_are_the_same_figures() {
    let raids = table("cdf-2002", "Raid configurations of a Fibre Channel array");
    let systems = table("cdf-2002", "Journaling file systems on the Fibre Channel array");
    for streams in ["1", "2", "4", "8", "16", "32", "60", "100"] {
        let streams = ("streams", streams);
        let raid = of(&raids, &[("hardware-raid", "raid3"), streams]);
        assert_eq!(raid, of(&systems, &[("filesystem", "ext2"), streams]));
    }
}

/// 118 MB/s are told to be 940 Mb/s.
#[test]
fn the_fullest_link_of_the_table_is_the_one_that_the_text_names() {
    let memory = table("cdf-2002", "TCP from memory to memory by packet and message");
    let all = memory.iter().map(|row| figure(row, 2));
    let link = table("cdf-2002", "The full bandwidth of the gigabit link")[0];
    assert_eq!(all.fold(0.0, f64::max), figure(link, 0));
    assert!(reported(link).says.contains("118 MB/s or 940 Mbits/s"));
}

/// A slip says by how much the text is off.
#[test]
fn the_server_of_slow_disks_lost_what_the_slip_says_and_not_what_the_text_says() {
    let one = [("card", "3ware-7850"), ("streams", "1")];
    let two = [("card", "2-3ware-7850"), ("streams", "1")];
    let slow = table("cdf-2002", "The Rackable server with disks of 5400 revolutions");
    let asa = table("cdf-2002", "The ASA server: one controller, and two by turns");
    let lost = |at: &[(&str, &str)]| 1.0 - of(&slow, at) / of(&asa, at);
    assert!((lost(&one) - 0.28).abs() < 0.005 && (lost(&two) - 0.20).abs() < 0.006);
    let said = "28 % with one controller and 20 %";
    assert!(slips("cdf-2002").iter().any(|slip| slip.but.contains(said)));
}

/// A note says by how much the tables differ from "~30-35%".
#[test]
fn jumbo_frames_brought_what_the_note_says() {
    let (jumbo, nfs) = (table("cdf-2002", JUMBO), table("cdf-2002", NFS));
    let gain = |streams: &'static str| {
        let two = [("card", "2-3ware-7850"), ("streams", streams)];
        of(&jumbo, &two) / of(&nfs, &two[1..]) - 1.0
    };
    let all = ["1", "2", "4", "8", "16", "32", "60"].map(gain);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let least = percent(all.into_iter().fold(f64::MAX, f64::min)).replace(" %", "");
    let most = percent(all.into_iter().fold(0.0, f64::max));
    let said = format!("it is {least} to {most}, and {} with one", percent(all[0]));
    let sum = table("cdf-2002", "What jumbo frames brought, as the text sums up")[0];
    assert!(notes(sum)[0].text.contains(&said), "{said}");
}

/// Arrays of seven disks and of six hold what six disks and five do.
#[test]
fn the_volumes_are_as_six_to_five() {
    let volumes = table("cdf-2002", "The volumes of the Rackable server");
    assert!((figure(volumes[1], 0) / figure(volumes[0], 0) - 6.0 / 5.0).abs() < 0.002);
}

/// The text gives both levels in two units, and the total beside its parts.
#[test]
fn figures_that_the_text_prints_twice_agree() {
    let rate = |configuration: &str| {
        let all = find("sara-2010").unwrap().records.iter().map(reported);
        let of = all.filter(|it| it.configuration.as_deref() == Some(configuration));
        let levels: Vec<f64> = of
            .filter_map(|it| it.rate())
            .filter(|(_, level)| *level)
            .map(|it| it.0.value)
            .collect();
        assert_eq!(levels.len(), 1);
        levels[0]
    };
    for (configuration, printed) in [("x4", "6.82 Gb/s"), ("x8", "8.22 Gb/s")] {
        let ratio = rate(configuration) / value(printed).unwrap();
        assert!((ratio - 1.0).abs() < 1e-3, "{configuration}: {ratio}");
    }
    let udp = table("sara-2010", "UDP throughput of three 10GE cards at once");
    let all: Vec<f64> = udp.iter().map(|row| figure(row, 0)).collect();
    assert_eq!(all.len(), 8);
    for four in all.chunks(4) {
        assert!((four[..3].iter().sum::<f64>() / four[3] - 1.0).abs() < 1e-3, "{four:?}");
    }
}

/// Tables 3 and 4: only one CPU's shares are not 100 %, and that one has a note and a slip.
#[test]
fn the_shares_of_each_cpu_add_up_or_say_that_they_do_not() {
    for name in [
        "CPU usage of three UDP streams without pinning",
        "CPU usage of three UDP streams, each pinned to a core",
    ] {
        let rows = table("sara-2010", name);
        assert_eq!(rows.len(), 8);
        for row in rows {
            let sum: f64 = reported(row).figures.iter().map(|it| it.value * 100.0).sum();
            assert_eq!((sum - 100.0).abs() > 0.15, !notes(row).is_empty(), "{row:?}: {sum}");
        }
    }
}

#[test]
fn disagreeing_sentences_are_told_and_not_mended() {
    let mut slips = slips("sara-2010").iter();
    assert!(slips.any(|slip| slip.printed.contains("16 Gb/s") && slip.but.contains("32")));
    let all = find("sara-2010").unwrap().records.iter().map(reported);
    assert_eq!(all.filter(|it| it.says.contains("980 MiByte/s")).count(), 1);
}

/// iozone prints the size of its file, a time, and the quotient of the two.
#[test]
fn what_iozone_printed_agrees_with_its_times() {
    for row in table("ccd-1996", "iozone on three disks striped by ccd") {
        let half = is_set(row, &[("file-size", "256MiB")]);
        let size = if half { 268_435_456.0 } else { 536_870_912.0 };
        assert!((size / figure(row, 0) - figure(row, 1)).abs() < 1.0, "{row:?}");
    }
}

/// The shell divides times that it first cuts to hundredths. One share is above 100 %: a slip.
#[test]
fn the_shares_of_a_processor_follow_from_its_times() {
    let rows = table("ccd-1996", "Touching 10000 files, touching them again, and unlinking them");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let [user, system, elapsed, share] = [0, 1, 2, 3].map(|place| figure(row, place));
        let cut = |seconds: f64| (seconds * 100.0 + 1e-6).floor() / 100.0;
        let wanted = (cut(user) + cut(system)) / elapsed;
        assert!((0.0..0.001 + 1e-9).contains(&(wanted - share)), "{row:?}: {wanted}");
        let printed = &reported(row).figures[3].printed;
        assert_eq!(share > 1.0, slips("ccd-1996")[0].printed.contains(printed), "{row:?}");
    }
}

/// K as thousands gives what the sentences say, but for one sum: a slip.
#[test]
fn the_sentences_about_bonnie_follow_from_its_lines_with_k_as_1000() {
    let of = |name: &str| table("jackrabbit-2007", name);
    let all = ["bonnie++, one copy", "bonnie++, each of four copies at once"].map(|name| {
        let rows = of(name);
        // The printed K are of 1024 bytes.
        let sum = |at| rows.iter().map(|row| figure(row, at) / 1024.0).sum::<f64>() / 1000.0;
        [0, 2, 4].map(sum)
    });
    let told = of("Streams outside of all caches, as the text sums bonnie++ up");
    assert_eq!(told.len(), 6);
    for (sum, row) in all.iter().flatten().zip(told) {
        let printed = (figure(row, 0) / 1e6).round();
        // One sum of six is cut, 537.7 to 537; the others are rounded.
        let follows = printed == sum.round() || printed == sum.floor();
        let cell = &reported(row).figures[0].printed;
        assert_eq!(follows, cell != "724 MB/s", "{sum} {printed}");
    }
    assert!(slips("jackrabbit-2007").iter().any(|slip| slip.printed.starts_with("724 MB/s")));
    let expected = of("What the text expected of each of four copies of bonnie++");
    assert_eq!(expected.len(), 3);
    for (row, quarter) in expected.iter().zip([586.0, 289.0, 907.0]) {
        let printed = figure(row, 0) / 1e6;
        assert!((printed - quarter / 4.0).abs() <= 0.26, "{printed}");
    }
}

/// Where the text tells all file systems of its 20 fastest, they are 20; but once: a slip.
#[test]
fn the_file_systems_of_the_20_fastest_are_20_but_where_a_slip_says_otherwise() {
    let test = |name: &str, label: &str| -> f64 {
        let rows = table("brick-2007", name);
        let of = rows.iter().filter(|row| is_set(row, &[("label", label)]));
        let one = of.filter(|row| row.trial.settings.named("filesystem").is_some());
        one.map(|row| figure(row, 0)).sum()
    };
    let ncecat = "Who was among the 20 fastest runs of ncecat";
    assert_eq!(test(ncecat, "ncecat-0.5-gb"), 21.0);
    assert!(slips("brick-2007").iter().any(|slip| slip.but.contains("21")));
    assert_eq!(test(ncecat, "ncecat-8-gb"), 20.0);
    assert_eq!(test("Who was among the 20 fastest runs of iozone", "iozone"), 20.0);
    let bonnie = "Who was among the 20 fastest of bonnie++'s rates";
    for label in ["char-read", "block-read", "char-write", "block-write-8-gb", "block-write-0.5-gb"]
    {
        assert_eq!(test(bonnie, label), 20.0, "{label}");
    }
}

/// The text prints 0.0 for what was not run: no time is 0, and every hole says why it is one.
#[test]
fn what_was_not_run_has_no_figure_and_a_note() {
    const TESTS: usize = 7;
    let mut holes = 0;
    for row in table("brick-2007", "Run times of seven tests of 16 disks with ext3") {
        let told = reported(row);
        assert!(told.figures.iter().all(|figure| figure.value != 0.0));
        let empty = TESTS - told.figures.len();
        let noted = notes(row).iter().any(|note| note.kind.ends_with("not-run"));
        assert_eq!(empty > 0, noted, "{row:?}");
        assert_eq!(empty, told.says.matches("|0.0").count(), "{row:?}");
        holes += empty;
    }
    assert_eq!(holes, 6);
}
