//! (pure) Bare block devices that are only read, as they stand among the directories of a trial.
//!
//! A trial's setting `directories` names what it ran on, and a device stands there under its own
//! name behind a mark that no directory has: a checked directory begins with `/`.

/// Stands before the name of a device among directories.
const MARK: &str = "read-only:";

/// What stands in the place of a file system where a device is read as it is.
pub const RAW: &str = "raw";

/// The device that a plan names `named`, as it stands among directories.
pub fn place(named: &str) -> String {
    format!("{MARK}{named}")
}

/// As a plan names the device that stands there; `None` where it is a directory or an export.
pub fn device(place: &str) -> Option<&str> {
    place.strip_prefix(MARK)
}

/// Whether a device stands there.
pub fn is_device(place: &str) -> bool {
    device(place).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::is_export;

    /// `loop:/srv/a.img` looks like the directory `/srv/a.img` of a server called `loop`.
    #[test]
    fn a_device_among_directories_is_neither_a_directory_nor_an_export() {
        for named in ["serial:S4EV", "loop:/srv/a.img", "path:/dev/vdb,size=7", "/dev/disk/by-id/a"]
        {
            let place = place(named);
            assert_eq!(device(&place), Some(named));
            assert!(is_device(&place) && !is_export(&place), "{place}");
        }
        for other in ["/srv", "nas:/srv", "target", "sim"] {
            assert!(!is_device(other), "{other}");
        }
    }
}
