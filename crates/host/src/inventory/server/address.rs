//! Addresses of functions on PCI, as names in /sys.

use std::path::Path;

/// The address of the function that a path of /sys is of, or is below.
pub fn function_of(path: &Path) -> Option<String> {
    let mut parts = path.components().rev().filter_map(|part| part.as_os_str().to_str());
    parts.find(|part| is_address(part)).map(str::to_owned)
}

/// Whether it names a function: domain (4 hexadecimal digits, more behind Intel's VMD), bus, device
/// and function.
pub fn is_address(name: &str) -> bool {
    let parts =
        name.split_once(':').and_then(|(domain, rest)| Some((domain, rest.split_once(':')?)));
    let Some((domain, (bus, rest))) = parts else { return false };
    let (device, function) = rest.split_once('.').unwrap_or((rest, ""));
    is_hex(domain, 4..=8) && is_hex(bus, 2..=2) && is_hex(device, 2..=2) && is_hex(function, 1..=1)
}

/// Whether it is so many hexadecimal digits.
pub fn is_hex(text: &str, digits: std::ops::RangeInclusive<usize>) -> bool {
    digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
