//! Prices, and what arrays and lanes hold and carry by their makers' numbers: not measured.

use super::super::Table;
use super::{column, row};
use crate::measurement::reported::Bound;

pub const PER_GB: Table = Table {
    name: "Prices in 2007: disks without anything around them",
    place: "section 1",
    common: &[],
    columns: &[
        column("lowest_price_usd_per_gb", "", Bound::About),
        column("highest_price_usd_per_gb", "", Bound::About),
    ],
    rows: &[row(
        &[("label", "disks-alone")],
        &["25 cents/GB", "30 cents/GB"],
        "Fortunately storage hardware prices are dropping rapidly, currently about 25-30 cents/GB \
         for raw SATA disk storage.",
    )],
};

pub const SYSTEMS_PER_GB: Table = Table {
    name: "Prices in 2007: whole servers, by their size",
    place: "section 1",
    common: &[],
    columns: &[
        column("price_usd_per_gb", "", Bound::UpTo),
        column("lowest_price_ratio", "", Bound::About),
        column("highest_price_ratio", "", Bound::About),
    ],
    rows: &[
        row(
            &[("label", "generic-servers")],
            &["$1000/TB", "", ""],
            "Full high-performance (albeit generic) storage systems can be had for less than \
             $1000/TB.",
        ),
        row(
            &[("label", "proprietary-servers")],
            &["", "4x", "8x"],
            "Prices for proprietary, integrated, highly reliable storage systems are still quite \
             high, approximately 4-8x the cost of the generic Storage Brick.",
        ),
    ],
};

const SYSTEMS_SAY: &str = "For example, the Network Appliance FAS270 is a comparably sized storage \
                           device that costs in the low $40K range, compared to the just under \
                           $10K for this device.";

pub const SYSTEMS: Table = Table {
    name: "Prices in 2007: two servers of about the same size",
    place: "section 2",
    common: &[],
    columns: &[
        column("price_usd", "", Bound::UpTo),
        // "the low $40K range".
        column("list_price_usd", "", Bound::About),
    ],
    rows: &[
        row(&[("label", "storage-brick")], &["$10K", ""], SYSTEMS_SAY),
        row(&[("label", "network-appliance-fas270")], &["", "$40K"], SYSTEMS_SAY),
    ],
};

const CAPACITIES_SAY: &str = "This configuration provides 8TB of raw disk or RAID0 (striped data), \
                              7.5TB of RAID5 (1 parity disk), 6TB of RAID6 (2 parity disks), or \
                              4TB of RAID10 (striped and mirrored data)";

pub const CAPACITIES: Table = Table {
    name: "What 16 disks of 500 GB hold",
    place: "section 2.1",
    common: &[("disks", "16"), ("label", "capacity")],
    columns: &[column("capacity_bytes", "", Bound::Exact)],
    rows: &[
        row(&[("hardware-raid", "raid0")], &["8TB"], CAPACITIES_SAY),
        row(&[("hardware-raid", "raid5")], &["7.5TB"], CAPACITIES_SAY),
        super::Row {
            notes: &[("not-6-tb", "16 disks of 0.5 TB less two for parity are 7 TB")],
            ..row(&[("hardware-raid", "raid6")], &["6TB"], CAPACITIES_SAY)
        },
        row(&[("hardware-raid", "raid10")], &["4TB"], CAPACITIES_SAY),
    ],
};

const LANES_SAY: &str = "Because of the theoretical bandwidth limit of 250MB/s per lane, 2 PCI-e \
                         8-lane slots could support bandwidth up to 4GB/s, sufficient to support \
                         24-disk arrays, but probably pushing it for 48-disk arrays.";

pub const LANES: Table = Table {
    name: "Peak rates of lanes",
    place: "section 5.3",
    common: &[],
    columns: &[column("peak_bytes_per_s", "", Bound::UpTo)],
    rows: &[
        row(&[("label", "lane-pcie-1.0")], &["250MB/s"], LANES_SAY),
        row(&[("label", "2-slots-of-8-lanes")], &["4GB/s"], LANES_SAY),
    ],
};
