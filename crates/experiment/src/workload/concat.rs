//! Files joined in large pieces.

use super::Workload;

pub const CONCATENATE: Workload = Workload {
    name: "concatenate",
    about: "Large netCDF files read, rearranged and written as one (ncecat)",
    engines: &["concat"],
    settings: &[("files", "8"), ("file-size", "256MiB"), ("block-size", "16MiB")],
};
