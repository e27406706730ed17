//! What devices look like in /sys, for whoever reads of them there.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::sys::Host;

/// The last part of a path in /sys is the device's name.
pub fn name_of(path: Option<PathBuf>) -> Option<String> {
    Some(path?.file_name()?.to_str()?.to_owned())
}

/// The controllers of the NVMe namespace at `path`: its parent, or with native multipath those of
/// its subsystem.
pub fn nvme_controllers(host: &Host, path: &Path) -> Vec<PathBuf> {
    let Some(device) = host.resolve(path.join("device")) else { return Vec::new() };
    let is_controller = |name: &str| {
        let number = name.strip_prefix("nvme").unwrap_or("");
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    if device.file_name().and_then(|name| name.to_str()).is_some_and(is_controller) {
        return vec![device];
    }
    let names = host.list(&device).into_iter().filter(|name| is_controller(name));
    names.filter_map(|name| host.resolve(device.join(name))).collect()
}

/// A small binary file of /sys.
pub fn bytes_of(host: &Host, path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    host.open(path).ok()?.take(4096).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The word in brackets of `none [mq-deadline] kyber`, or all of it.
pub fn in_force(text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text, |(chosen, _)| chosen).to_owned()
}
