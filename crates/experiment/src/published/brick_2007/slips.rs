//! Where the text on the Storage Brick errs.

use super::super::Slip;

pub const SLIPS: &[Slip] = &[
    Slip {
        place: "sections 3.8 and 4.2.1",
        printed: "doubling strides from 256B to 32KB; the default 256B on most linux systems",
        but: "they are sectors of 512 bytes: 128 KiB, the default, to 16 MiB",
    },
    Slip {
        place: "section 4.2.1",
        printed: "setting it higher than 8096 rarely had positive effects",
        but: "doubling from 256 gives 8192",
    },
    Slip {
        place: "section 8.2",
        printed: "0.0",
        but: "the test was not run: no time is 0; these cells are empty here",
    },
    Slip {
        place: "section 2.1",
        printed: "6TB of RAID6 (2 parity disks)",
        but: "16 disks of 0.5 TB less two are 7 TB",
    },
    Slip {
        place: "sections 1 and 2",
        printed: "less than $1000/TB; the just under $10K for this device",
        but: "this device has 8 TB without any parity: just under $1250 a TB",
    },
    Slip {
        place: "section 4.1.2",
        printed: "JFS accounted for 11 of the fastest 20 times, followed by 6 for ReiserFS and \
                  then 3 for XFS and 1 for ext3",
        but: "these are 21",
    },
    Slip {
        place: "section 4.1.4",
        printed: "time proportional to the RAID size (so that RAID0 took ~1/2 the time that RAID5 \
                  did for the same number of disks)",
        but: "of the same disks RAID 0 holds more than RAID 5, and would take longer",
    },
    Slip {
        place: "section 4.2.2",
        printed: "All top 20 times were recorded on Areca 16 port card running RAID5; it was still \
                  able to write at about 800MB/s and read at 570MB/s on block operations using the \
                  full 16 disks in RAID6",
        but: "the top 20, all with little memory as well, are 785+/-3.8 MB/s on average: about 800 \
              in RAID 6 would be one of them",
    },
    Slip {
        place: "sections 1 and 4.2.2",
        printed: "the JFS and XFS filesystems performed best on large disk IO; JFS also performed \
                  well overall, especially with readaheads above 4K, but it was very poor in block \
                  reads",
        but: "reading in blocks is large disk I/O: both cannot be true of it",
    },
    Slip {
        place: "sections 1, 3.9 and 8.1",
        printed: "4 application benchmarks; the overall run times of the 5 different tests",
        but: "DBENCH is a column of the data only: the text describes it nowhere",
    },
];
