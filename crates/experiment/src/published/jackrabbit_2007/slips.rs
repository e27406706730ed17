//! Where the text on JackRabbit errs.

use super::super::Slip;

pub const SLIPS: &[Slip] = &[
    Slip {
        place: "section IOzone, 1 MB record size",
        printed: "each seek results in three reads (two parity and one data); Each seek operation \
                  would require reading 2 parity, and one data block; 24 to 384 seeks",
        but: "reading from a healthy RAID 6 touches no parity: one read a block, so 8 to 128 of \
              them",
    },
    Slip {
        place: "section Bonnie++",
        printed: "the system sustained 586 MB/s of streaming writes (uncached), 289 MB/s rewriting",
        but: "the text takes bonnie++'s K/sec for 1000 bytes; they are 1024: 585906, 288982 and \
              906829 K/sec are 600, 296 and 929 MB/s",
    },
    Slip {
        place: "section Bonnie++",
        printed: "724 MB/s aggregate streaming reads",
        but: "its four lines have 180677, 180814, 180639 and 181276: in the text's own way of \
              counting 723",
    },
    Slip {
        place: "section Bonnie++",
        printed: "this test exceeds the largest size cache system (main memory) by a factor of 2",
        but: "each of four copies has files of 32 GB: together 128 GB, 8 times the 16 GB of memory",
    },
    Slip {
        place: "sections System configuration and 1 MB record size",
        printed: "46x 750GB SATA disks (data); two RAID6 volumes composed of 18 drives each, with \
                  3 hot spares; Even with 20 drives in each RAID6 array",
        but: "two times 18 and 3 spares are 39 disks, or 42 with 3 spares to each volume; two \
              times 20 and 3 are 43, or 46 with 3 spares to each",
    },
    Slip {
        place: "section 1 MB record size",
        printed: "a seek dominated region below about 5 MB in record size; The sharp transition at \
                  about 4 MB in record size",
        but: "the same transition has two sizes",
    },
    Slip {
        place: "sections Summary and Bonnie++",
        printed: "For non-cached operations, performance from 500 MB/s to 1 GB/s is observed for \
                  most operations",
        but: "of three that bonnie++ timed outside of caches, rewriting was at 289 and 300 MB/s",
    },
];
