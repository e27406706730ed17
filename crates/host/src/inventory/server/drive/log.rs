//! What an NVMe drive says of its health in its SMART / Health Information log (NVM Express Base
//! 2.0, 5.16.1.3). Only root may ask.

use serde::{Deserialize, Serialize};

use crate::sys::nvme::{HEALTH_LOG_BYTES, health_log};
use crate::sys::{Error, Host};
use facts::inventory::server::Health;

/// The health log of an NVMe drive as a recording keeps it.
#[derive(Serialize, Deserialize)]
struct RecordedLog {
    health_log_hex: String,
}

/// Zero degrees Celsius, as near as whole kelvins come.
const ZERO_CELSIUS_KELVIN: f64 = 273.0;

/// The file of a recording that holds the log of a controller.
pub fn file(controller: &str) -> String {
    format!("/.brickyard/nvme/{controller}.json")
}

/// Asks the controller `nvme0`; as JSON, for a recording and for [`parse`].
///
/// # Errors
/// When we may not ask (it takes root), or the drive refuses.
pub fn ask_live(host: &Host, controller: &str) -> Result<String, Error> {
    let page = health_log(&host.open(format!("/dev/{controller}"))?)?;
    let health_log_hex = page.iter().map(|byte| format!("{byte:02x}")).collect();
    serde_json::to_string(&RecordedLog { health_log_hex })
        .map_err(|error| Error::new("cannot keep the health log of an NVMe drive", error))
}

/// The health that such a JSON text tells; `None` when it is no whole log that a drive filled.
pub fn parse(text: &str) -> Option<Health> {
    let kept: RecordedLog = serde_json::from_str(text).ok()?;
    let digits = kept.health_log_hex.as_bytes();
    if digits.len() != HEALTH_LOG_BYTES * 2 {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let page: Vec<u8> = digits.chunks_exact(2).map(byte).collect::<Option<_>>()?;
    health(&page)
}

fn health(page: &[u8]) -> Option<Health> {
    let kelvin = u16::from_le_bytes([*page.get(1)?, *page.get(2)?]);
    // A page without a temperature was not filled by a drive.
    if kelvin == 0 {
        return None;
    }
    // 16 bytes each, lowest first; more than 64 bits hold is not a count of hours or errors.
    let count = |at: usize| {
        let bytes: [u8; 16] = page.get(at..at + 16)?.try_into().ok()?;
        u64::try_from(u128::from_le_bytes(bytes)).ok()
    };
    Some(Health {
        source: "nvme log".to_owned(),
        passed: Some(*page.first()? == 0),
        critical_warning: Some(u64::from(*page.first()?)),
        celsius: Some(f64::from(kelvin) - ZERO_CELSIUS_KELVIN),
        used_share: Some(f64::from(*page.get(5)?) / 100.0),
        power_on_hours: count(128),
        media_errors: count(160),
        logged_errors: count(176),
        ..Health::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(page: &[u8]) -> String {
        let hex: String = page.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(r#"{{"health_log_hex":"{hex}"}}"#)
    }

    fn page() -> [u8; HEALTH_LOG_BYTES] {
        let mut page = [0; HEALTH_LOG_BYTES];
        page[1..3].copy_from_slice(&315u16.to_le_bytes());
        page[3] = 100;
        page[5] = 103;
        page[128..132].copy_from_slice(&12_345u32.to_le_bytes());
        page[160] = 2;
        page[176] = 5;
        page
    }

    #[test]
    fn each_figure_is_read_from_its_place() {
        let health = parse(&json(&page())).unwrap();
        assert_eq!((health.celsius, health.passed), (Some(42.0), Some(true)));
        assert_eq!((health.used_share, health.power_on_hours), (Some(1.03), Some(12_345)));
        assert_eq!((health.media_errors, health.logged_errors), (Some(2), Some(5)));
        let mut warning = page();
        warning[0] = 4;
        warning[143] = 1;
        let health = parse(&json(&warning)).unwrap();
        assert_eq!((health.passed, health.power_on_hours), (Some(false), None));
        assert_eq!(health.warns_of(), ["it has become unreliable"]);
    }

    #[test]
    fn a_log_cut_off_anywhere_or_not_filled_tells_nothing() {
        let whole = json(&page());
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None, "cut at {end}");
        }
        for end in 0..HEALTH_LOG_BYTES {
            assert_eq!(parse(&json(&page()[..end])), None, "a page of {end} bytes");
        }
        assert_eq!(parse(&json(&[0; HEALTH_LOG_BYTES])), None);
        assert_eq!(parse(&json(&page()).replace("00", "zz")), None);
        assert_eq!(parse(&json(&page()).replace("000", "\u{fc}0")), None);
    }
}
