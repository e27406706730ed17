//! Health of disks: sectors, their own verdict, heat.

use super::{WarningFinding, names};
use facts::inventory::server::{Drive, Health, Server};

/// So near to a limit is too near, K.
const NEAR_K: f64 = 5.0;

fn healths(server: &Server) -> impl Iterator<Item = (&Drive, &Health)> {
    server.drives.iter().filter_map(|drive| Some((drive, drive.health.as_ref()?)))
}

/// Values that are not zero, as `name = value`.
fn counted(health: &Health, counts: &[(&str, Option<u64>)]) -> Vec<String> {
    let there = counts.iter().filter_map(|(name, count)| Some((name, count.filter(|n| *n > 0)?)));
    there.map(|(name, count)| format!("{}: {name} = {count}", health.source)).collect()
}

/// Disks that replaced sectors, wait for a write to replace some, or could not read some.
pub fn bad_sectors(server: &Server) -> Vec<WarningFinding> {
    let found = healths(server).filter_map(|(drive, health)| {
        let evidence = counted(
            health,
            &[
                ("reallocated sectors", health.reallocated_sectors),
                ("pending sectors", health.pending_sectors),
                ("uncorrectable sectors", health.uncorrectable_sectors),
                ("media errors", health.media_errors),
            ],
        );
        if evidence.is_empty() {
            return None;
        }
        let waits = [health.pending_sectors, health.uncorrectable_sectors];
        let waits = waits.iter().flatten().any(|count| *count > 0);
        let (text, cost) = match waits {
            true => (
                "It has sectors that it cannot read.",
                "reading one of them takes seconds, during which the disk does nothing else, and \
                 ends with an error; what was there is lost without a copy",
            ),
            false => (
                "It has replaced sectors, or had errors of its medium.",
                "sequential reading seeks at each replaced sector; disks whose count grows fail \
                 much sooner than others (Pinheiro, Weber and Barroso, FAST 2007)",
            ),
        };
        Some(WarningFinding {
            part: drive.name.clone(),
            text: text.to_owned(),
            evidence,
            cost: cost.to_owned(),
            command: format!(
                "`smartctl -t long /dev/{0}`, then `smartctl -a /dev/{0}`; replace it when the \
                 counts grow",
                drive.name
            ),
        })
    });
    found.collect()
}

/// Fewer errors of its link a disk counts without anybody's notice: a cable was pulled, a reset.
const LINK_ERRORS_FEW: u64 = 100;

/// Disks whose link had errors. The disk counts them for as long as it lives, so a cable that was
/// replaced may still be blamed.
pub fn link(server: &Server) -> Vec<WarningFinding> {
    let found = healths(server).filter_map(|(drive, health)| {
        let count = health.link_errors.filter(|count| *count >= LINK_ERRORS_FEW)?;
        let name = &drive.name;
        Some(WarningFinding {
            part: name.clone(),
            text: format!("Its link had {count} errors that its checksums caught."),
            evidence: vec![format!("{}: link errors (CRC) = {count}", health.source)],
            cost: "each was sent again after a pause; a link with many is slowed down by the \
                   kernel, and a cable, a backplane or a port is about to fail"
                .to_owned(),
            command: format!(
                "`smartctl -A /dev/{name}` twice under load: when attribute 199 grows, replace the \
                 cable, then try another port"
            ),
        })
    });
    found.collect()
}

/// Disks that say themselves that they fail, or whose flash is used up.
pub fn failing(server: &Server) -> Vec<WarningFinding> {
    let found = healths(server).filter_map(|(drive, health)| {
        let worn = health.used_share.filter(|share| *share >= 1.0);
        let source = &health.source;
        let (text, evidence) = match (health.fails(), worn) {
            (true, _) => match (health.warns_of(), health.critical_warning) {
                (what, Some(bits)) if !what.is_empty() => (
                    format!("It says itself that {}.", what.join(", and ")),
                    format!("{source}: critical warning = {bits:#04x}"),
                ),
                _ => ("It says itself that it fails.".to_owned(), format!("{source}: failed")),
            },
            (false, Some(share)) => (
                "It has used up the life that its maker gives it.".to_owned(),
                format!("{source}: used = {:.0} %", share * 100.0),
            ),
            (false, None) => return None,
        };
        Some(WarningFinding {
            part: drive.name.clone(),
            text,
            evidence: vec![evidence],
            cost: "what is on it; figures measured on it tell nothing of a sound one".to_owned(),
            command: format!(
                "copy what is on it, and replace it; `smartctl -a /dev/{}`",
                drive.name
            ),
        })
    });
    found.collect()
}

/// Disks within 5 K of the temperature at which they warn or slow down, or, where they name none,
/// at which they are damaged; and those that warn themselves.
pub fn hot(server: &Server) -> Vec<WarningFinding> {
    let told = |health: &Health| {
        let source = &health.source;
        if let (Some(what), Some(bits)) = (health.warns_of_temperature(), health.critical_warning) {
            let evidence = format!("{source}: critical warning = {bits:#04x}");
            return Some((format!("It warns that {what}."), evidence));
        }
        let celsius = health.celsius?;
        let warning = health.warning_celsius.map(|limit| (limit, "warns or slows down"));
        let critical = health.critical_celsius.map(|limit| (limit, "is damaged or stops"));
        let (limit, does) = warning.or(critical).filter(|(limit, _)| celsius >= limit - NEAR_K)?;
        let text = format!("It is at {celsius:.0} degrees Celsius, and {does} at {limit:.0}.");
        let evidence = format!("{source}: temperature = {celsius:.0}, its own limit = {limit:.0}");
        Some((text, evidence))
    };
    let all = healths(server).filter_map(|(drive, health)| Some((drive, told(health)?)));
    let found = all.map(|(drive, (text, evidence))| WarningFinding {
        part: drive.name.clone(),
        text,
        evidence: vec![evidence],
        cost: "a drive that slows down for heat loses most of its throughput while it does; idle \
               it is cooler than under load"
            .to_owned(),
        command: format!(
            "look at fans, filters and the room; `brickyard run soak` shows how hot {} gets \
             overnight",
            names(&[&drive.name])
        ),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(health: Health) -> Server {
        let health = Some(Health { source: "smartctl".to_owned(), ..health });
        let drive = Drive { name: "sda".to_owned(), health, ..Drive::default() };
        Server { drives: vec![drive, Drive::default()], ..Server::default() }
    }

    #[test]
    fn sectors_that_were_replaced_or_wait_are_told() {
        let replaced = Health { reallocated_sectors: Some(8), ..Health::default() };
        let found = bad_sectors(&server(replaced));
        assert_eq!(found[0].evidence, ["smartctl: reallocated sectors = 8"]);
        assert!(found[0].text.contains("has replaced"), "{}", found[0].text);
        let pending = Health { pending_sectors: Some(1), ..Health::default() };
        assert!(bad_sectors(&server(pending))[0].text.contains("cannot read"));
        let nvme = Health { media_errors: Some(2), ..Health::default() };
        assert_eq!(bad_sectors(&server(nvme))[0].part, "sda");
    }

    /// A disk with millions of CRC errors of its link was printed so, and nothing warned of them.
    #[test]
    fn errors_of_a_link_are_told_unless_they_are_few() {
        let of = |count| {
            let health = Health { link_errors: count, ..Health::default() };
            link(&server(health))
        };
        assert_eq!((of(None), of(Some(0)), of(Some(99))), (vec![], vec![], vec![]));
        let found = &of(Some(4_311_902))[0];
        assert_eq!(found.text, "Its link had 4311902 errors that its checksums caught.");
        assert!(found.evidence[0].contains("4311902") && found.command.contains("199"));
        assert_eq!(of(Some(100)).len(), 1);
    }

    #[test]
    fn counts_of_zero_and_unknown_ones_are_fine() {
        let sound = Health {
            reallocated_sectors: Some(0),
            pending_sectors: Some(0),
            passed: Some(true),
            used_share: Some(0.99),
            ..Health::default()
        };
        assert_eq!(
            (bad_sectors(&server(sound.clone())), failing(&server(sound))),
            (vec![], vec![])
        );
    }

    #[test]
    fn a_drive_that_fails_or_is_used_up_is_told() {
        let failed = Health { passed: Some(false), ..Health::default() };
        assert_eq!(failing(&server(failed))[0].evidence, ["smartctl: failed"]);
        let worn = Health { used_share: Some(1.04), passed: Some(true), ..Health::default() };
        assert_eq!(failing(&server(worn))[0].evidence, ["smartctl: used = 104 %"]);
    }

    /// A drive that was warm was said to fail, and its owner told to replace it.
    #[test]
    fn a_drive_that_warns_of_its_temperature_is_hot_and_does_not_fail() {
        let of = |bits: u64| {
            let passed = Some(bits == 0);
            server(Health { passed, critical_warning: Some(bits), ..Health::default() })
        };
        assert_eq!((failing(&of(2)).len(), hot(&of(2)).len()), (0, 1));
        assert_eq!(hot(&of(2))[0].text, "It warns that its temperature is beyond its limits.");
        assert_eq!((failing(&of(0)).len(), hot(&of(0)).len()), (0, 0));
        let both = of(0b1010);
        assert_eq!(failing(&both)[0].text, "It says itself that it can only be read now.");
        assert_eq!(failing(&both)[0].evidence, ["smartctl: critical warning = 0x0a"]);
        assert_eq!(hot(&both).len(), 1);
        let reasons = "It says itself that its spare blocks run out, and it has become unreliable.";
        assert_eq!(failing(&of(5))[0].text, reasons);
        assert_eq!(failing(&of(1 << 7))[0].text, "It says itself that it fails.");
    }

    #[test]
    fn heat_is_told_within_five_kelvin_of_the_drives_own_limit() {
        let at = |celsius, warning, critical| {
            let health = Health {
                celsius: Some(celsius),
                warning_celsius: warning,
                critical_celsius: critical,
                ..Health::default()
            };
            hot(&server(health)).len()
        };
        assert_eq!((at(65.0, Some(70.0), Some(80.0)), at(64.9, Some(70.0), Some(80.0))), (1, 0));
        assert_eq!((at(56.0, None, Some(60.0)), at(90.0, None, None)), (1, 0));
        assert_eq!(at(66.0, Some(80.0), Some(70.0)), 0, "the warning counts where there is one");
    }
}
