//! Kstats of recorded machines.

use super::*;
use crate::counters::{parse_whole_and_truncated, two_rows};

/// Of OpenZFS 2.1: xruins/mackerel-plugin-zfs-arcstats, the test of `lib/zfs`; shortened.
const ARCSTATS: &str = "\
13 1 0x01 123 33456 7402060102 66478716886640
name                            type data
hits                            4    174896434
misses                          4    18851609
demand_data_hits                4    94794984
demand_data_misses              4    2513667
demand_metadata_hits            4    79908225
demand_metadata_misses          4    632783
prefetch_data_hits              4    123704
prefetch_data_misses            4    15607210
prefetch_metadata_hits          4    69521
prefetch_metadata_misses        4    97949
p                               4    25715246144
c                               4    33676691456
c_min                           4    2104793216
c_max                           4    33676691456
size                            4    33743421984
l2_hits                         4    0
l2_misses                       4    0
l2_read_bytes                   4    0
memory_throttle_count           4    0
demand_hit_predictive_prefetch  4    14090312
";

/// From a public test of a program that watches ZFS; the dataset was given blanks.
const OBJSET: &str = "\
36 1 0x01 7 2160 5214787391 74985931356512
name                            type data
dataset_name                    7    HOME/of all
writes                          4    978
nwritten                        4    6450688
reads                           4    22
nread                           4    1884160
nunlinks                        4    14148
nunlinked                       4    14147
";

#[test]
fn arcstats_yield_what_was_hit_and_missed_and_c_is_not_c_max() {
    let all = parse_whole_and_truncated(ARCSTATS, arc);
    let of = |name: &str| {
        let field = ZFS.fields.iter().position(|field| field.name == name).unwrap();
        all.iter().find(|(_, at, _)| *at == field).map(|(_, _, value)| *value)
    };
    assert_eq!(of("demand_data_misses"), Some(2_513_667));
    assert_eq!((of("size_bytes"), of("most_bytes")), (Some(33_743_421_984), Some(33_676_691_456)));
    assert_eq!(of("demand_data_waits"), None, "2.2 and later count them");
    assert_eq!(of("prefetched_hits"), Some(14_090_312));
}

#[test]
fn a_dataset_names_its_columns_blanks_and_all() {
    let all = parse_whole_and_truncated(OBJSET, dataset);
    assert!(all.iter().all(|(scope, ..)| scope == "HOME/of all"));
    let values: Vec<u64> = all.iter().map(|(.., value)| *value).collect();
    assert_eq!(values, [22, 1_884_160, 978, 6_450_688]);
}

/// A machine of these files, as a folder.
fn machine(misses: u64, nread: u64) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(&root, misses, nread);
    root
}

#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
fn write(root: &tempfile::TempDir, misses: u64, nread: u64) {
    let pool = root.path().join("proc/spl/kstat/zfs/HOME");
    std::fs::create_dir_all(&pool).unwrap();
    let arc = ARCSTATS.replace("2513667", &misses.to_string());
    std::fs::write(pool.join("../arcstats"), arc).unwrap();
    std::fs::write(pool.join("objset-0x36"), OBJSET.replace("1884160", &nread.to_string()))
        .unwrap();
    let other = OBJSET.replace("HOME/of all", "HOME");
    std::fs::write(pool.join("objset-0x41"), other).unwrap();
    std::fs::write(pool.join("../zil"), "7 1 0x01\nzil_commit_count                4    77\n")
        .unwrap();
}

#[test]
fn evidence_is_of_the_loads_own_dataset_and_of_the_whole_arc() {
    let root = machine(10, 4096);
    let host = Host::at(root.path());
    let mut pools = Pools::open(&host, &["HOME/of all".to_owned()]).unwrap();
    let counts = pools.take().unwrap();
    assert_eq!((counts.demand_misses, counts.dataset_read_bytes), (10, Some(4096)));
    assert_eq!((counts.demand_waits, counts.direct_read_bytes), (None, None));
    write(&root, 12, 8192);
    assert_eq!(pools.take().unwrap().dataset_read_bytes, Some(8192));
    // A dataset that no kstat is of spoils the sum, and a machine without ZFS has nothing.
    let unknown = Pools::open(&host, &["HOME/gone".to_owned()]).unwrap().take().unwrap();
    assert_eq!(unknown.dataset_read_bytes, None);
    let bare = tempfile::tempdir().unwrap();
    assert!(Pools::open(&Host::at(bare.path()), &["HOME".to_owned()]).is_none());
}

#[test]
fn rows_have_the_arc_the_log_and_each_dataset() {
    let root = machine(10, 4096);
    let host = Host::at(root.path());
    let series = two_rows(&ZFS, &host, &[], || write(&root, 15, 4096)).unwrap();
    assert_eq!(series.column("demand_data_misses").unwrap().values, [10, 15]);
    assert_eq!(series.column("log_commits").unwrap().values, [77, 77]);
    assert_eq!(series.column("HOME/of all.read_bytes").unwrap().values, [4096, 4096]);
    assert_eq!(series.column("HOME.read_ops").unwrap().values, [22, 22]);
}
