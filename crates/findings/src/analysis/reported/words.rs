//! The claims about reported throughputs, in words.

use super::judge::{FULL, PartSaturation, PathPartKind, PathVerdict, ReportedPathPart, WhyNotFull};
use super::{Case, Finding, QUESTION, ReportedRow};
use base::value;
use experiment::knob;
use experiment::measurement::reported::ReportedPath;
use facts::inventory::ceiling;

/// A change of throughput below this share is none.
const MORE: f64 = 0.05;

/// The throughput of a row with what its author said of it: `about 852 MB/s`.
pub fn rate(row: &ReportedRow<'_>) -> String {
    let Some((figure, _)) = row.reported.rate() else { return String::new() };
    let rate = match row.reported.way {
        ReportedPath::Network => bits(figure.value),
        ReportedPath::Disks | ReportedPath::Untold => value::throughput_short(figure.value),
    };
    format!("{}{rate}", figure.bound.before())
}

/// `About 852 MB/s from 5 disks in x4, reported by A and B, 2010 (section 3.3)`.
pub fn lead(row: &ReportedRow<'_>, machine: Option<&str>) -> String {
    let disks = row.disks().map_or("disks".to_owned(), |disks| format!("{disks} disks"));
    let what = match row.reported.way {
        ReportedPath::Network => format!(
            "through slot {}{}",
            row.settings.get(knob::SLOT).unwrap_or_default(),
            pinned(row)
        ),
        ReportedPath::Disks | ReportedPath::Untold => format!("from {disks}"),
    };
    let level = row.reported.rate().is_some_and(|(_, level)| level);
    let level = if level { ", where more disks brought no more" } else { "" };
    let machine = machine.map_or(String::new(), |machine| format!(" (machine `{machine}`)"));
    let (by, place) = (&row.reported.by, &row.reported.place);
    let text = format!("{} {what}{level}{machine}, reported by {by} ({place})", rate(row));
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// `24 throughputs from disks, 39.0 MB/s to 60.0 MB/s, reported by A and
/// B, 2010 (table 2)`, of rows that stand in one place.
pub fn lead_of_several(rows: &[&ReportedRow<'_>]) -> String {
    let by_rate = |a: &&&ReportedRow<'_>, b: &&&ReportedRow<'_>| {
        let of =
            |row: &ReportedRow<'_>| row.reported.rate().map_or(0.0, |(figure, _)| figure.value);
        of(a).total_cmp(&of(b))
    };
    let told = |row: Option<&&ReportedRow<'_>>| row.map_or(String::new(), |row| rate(row));
    let (least, most) = (told(rows.iter().min_by(by_rate)), told(rows.iter().max_by(by_rate)));
    let source = rows
        .first()
        .map_or(String::new(), |row| format!("{} ({})", row.reported.by, row.reported.place));
    format!("{} throughputs from disks, {least} to {most}, reported by {source}", rows.len())
}

/// ` with cpu-pinning 1-3`, where the row says.
fn pinned(row: &ReportedRow<'_>) -> String {
    match row.settings.get(knob::CPU_PINNING) {
        "" => String::new(),
        "none" => " without pinning".to_owned(),
        cpus => format!(" with cpu-pinning {cpus}"),
    }
}

/// The finding of a case.
pub fn finding(case: &Case<'_>, cases: &[Case<'_>]) -> Finding {
    let lead = lead(case.row, Some(&case.machine.name));
    let authors = authors(case.row);
    let (limit, claim, details, advice) = match &case.verdict {
        PathVerdict::Held(place) => {
            let part = &case.parts[*place];
            let ((told, why), cleared) = (held(part, case), cleared(case));
            let lifted = lifted(case, cases);
            let claim = format!("{lead}. Held by {told}.");
            (limit(part.kind), claim, vec![why, cleared, lifted, authors], advice(case, part))
        }
        PathVerdict::NotThisWay(place) => {
            let part = &case.parts[*place];
            let claim =
                format!("{lead}. That is more than {} can carry ({}).", part.name, carries(part));
            let other = "so this machine or this way is not the one that was measured";
            ("unknown", claim, vec![other.to_owned()], None)
        }
        PathVerdict::Unknown(suspects) => {
            let (cleared, lifted) = (cleared(case), lifted(case, cases));
            let told = suspected(case, suspects, cases);
            let claim = format!("{lead}. What held it is not known.");
            let first = suspects.first().map(|place| &case.parts[*place]);
            let details = vec![cleared, told, lifted, authors];
            ("unknown", claim, details, first.and_then(|part| advice(case, part)))
        }
    };
    let mut evidence = vec![case.row.number];
    evidence.extend(compared(case, cases).map(|(other, _)| other.row.number));
    let finding = Finding::info(QUESTION, claim, evidence).detailed(details);
    Finding { limit: Some(limit.to_owned()), advice, ..finding }
}

fn limit(kind: PathPartKind) -> &'static str {
    match kind {
        PathPartKind::Disks => "device",
        PathPartKind::Port => "network",
        PathPartKind::Link => "link",
        PathPartKind::Controller => "controller",
        PathPartKind::Memory => "memory",
    }
}

/// `the PCIe link of 0000:03:00.0, of whose 1000 MB/s it is 85 %`, and by what reckoning.
fn held(part: &ReportedPathPart, case: &Case<'_>) -> (String, String) {
    let rate = case.load.bytes_per_s;
    let left = part.left.filter(|left| part.carries.is_some_and(|(least, _)| *left < least));
    let left = left.map_or(String::new(), |left| {
        let (share, left) = (value::percent(rate / left), megabytes(left));
        format!("it is {share} of the {left} that headers leave: ")
    });
    let told = format!("{}, of whose {} it is {}", the(part), carries(part), shares(part, rate));
    (told, format!("{left}{}", part.derivation))
}

fn the(part: &ReportedPathPart) -> String {
    match part.name.starts_with("the ") || part.name.starts_with("its ") {
        true => part.name.clone(),
        false => format!("the {}", part.name),
    }
}

/// `1000 MB/s`, `1000 to 1250 MB/s`.
fn carries(part: &ReportedPathPart) -> String {
    match (part.carries, part.kind) {
        (None, _) => "unknown rate".to_owned(),
        (Some((least, _)), PathPartKind::Port) => bits(least),
        (Some((least, most)), _) if least < most => {
            format!("{} to {}", value::significant(least / 1e6), megabytes(most))
        }
        (Some((least, _)), _) => megabytes(least),
    }
}

/// `85 %`, `69 % to 86 %`.
fn shares(part: &ReportedPathPart, rate: f64) -> String {
    match part.shares(rate) {
        None => "an unknown share".to_owned(),
        Some((least, most)) if most - least > 0.005 => {
            format!("{} to {}", value::percent(least), value::percent(most))
        }
        Some((least, _)) => value::percent(least),
    }
}

/// What can be ruled out, with its share.
fn cleared(case: &Case<'_>) -> String {
    let rate = case.load.bytes_per_s;
    let told = case.parts.iter().zip(&case.standings).filter_map(|(part, standing)| {
        let PartSaturation::Clear(reason) = standing else { return None };
        let share = part.carries.map(|_| format!("{} of {}", shares(part, rate), carries(part)));
        let more = "more of them brought no more";
        Some(match (reason, share) {
            (WhyNotFull::MoreDidNotHelp, Some(share)) => format!("{} ({share}; {more})", the(part)),
            (WhyNotFull::MoreDidNotHelp, None) => format!("{} ({more})", the(part)),
            (WhyNotFull::CarriedMore, share) => {
                let carried = megabytes(part.carried.unwrap_or_default());
                let share = share.unwrap_or_default();
                format!("{} ({share}, but {carried} went through at another time)", the(part))
            }
            (WhyNotFull::Share, share) => format!("{} ({})", the(part), share.unwrap_or_default()),
        })
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!(" Cleared: {}.", told.join(", ")) }
}

fn suspected(case: &Case<'_>, suspects: &[usize], cases: &[Case<'_>]) -> String {
    let full = |place: &usize| !matches!(case.standings[*place], PartSaturation::Unknown);
    if let [first, rest @ ..] = suspects {
        let why = match full(first) {
            true => format!("{} used", shares(&case.parts[*first], case.load.bytes_per_s)),
            false => case.parts[*first].derivation.clone(),
        };
        let then: Vec<String> = rest.iter().map(|place| the(&case.parts[*place])).collect();
        let then =
            if then.is_empty() { String::new() } else { format!("; then {}", then.join(", ")) };
        return format!(" First suspect: {} ({why}){then}.", the(&case.parts[*first]));
    }
    let better = cases.iter().filter(|other| std::ptr::eq(other.path, case.path));
    let better = better.max_by(|a, b| a.load.bytes_per_s.total_cmp(&b.load.bytes_per_s));
    match better.filter(|other| more(case, other)) {
        Some(other) => {
            let differs = differing(case, other).join(" and ");
            let rate = rate(other.row);
            format!(
                " The same way carried {rate} at another {differs}: what that changes is suspect."
            )
        }
        None => format!(
            " No part is used to {} or more, and nothing shows that it is one that all streams \
             share: it may as well be the load.",
            value::percent(FULL)
        ),
    }
}

/// Names of the settings that two rows do not share.
fn differing(case: &Case<'_>, other: &Case<'_>) -> Vec<String> {
    let held = case.row.settings.iter();
    let differs = held.filter(|(name, value)| other.row.settings.named(name) != Some(*value));
    differs.map(|(name, _)| format!("`{name}`")).collect()
}

fn more(case: &Case<'_>, other: &Case<'_>) -> bool {
    other.load.bytes_per_s > case.load.bytes_per_s * (1.0 + MORE)
}

/// The link that is named, or is the first suspect for being full.
fn named(case: &Case<'_>) -> Option<usize> {
    let place = match &case.verdict {
        PathVerdict::Held(place) => *place,
        PathVerdict::Unknown(suspects) => *suspects.first()?,
        PathVerdict::NotThisWay(_) => return None,
    };
    let full = case.standings[place] == PartSaturation::Full
        && case.parts[place].kind == PathPartKind::Link;
    full.then_some(place)
}

/// Whether the link that is named was wider on another machine without more coming through it.
pub fn contradicted(case: &Case<'_>, cases: &[Case<'_>]) -> bool {
    compared(case, cases).any(|(other, _)| !more(case, other))
}

/// Cases of other machines of the set in which the same kind of controller has a wider link of its
/// own, with what that carries.
fn compared<'a>(
    case: &'a Case<'_>,
    cases: &'a [Case<'a>],
) -> impl Iterator<Item = (&'a Case<'a>, f64)> {
    let place = named(case);
    let carried = place.and_then(|place| case.parts[place].carries).map(|(least, _)| least);
    let identity = |case: &Case<'_>| {
        let card = case.path.controllers.first().and_then(|at| case.machine.function(at));
        card.map(|card| (card.vendor, card.device))
    };
    let wider = move |other: &'a Case<'a>| {
        let same = other.row.reported.way == case.row.reported.way
            && other.row.disks() >= case.row.disks()
            && other.machine.name != case.machine.name
            && identity(other).is_some_and(|card| Some(card) == identity(case));
        let own =
            other.parts.iter().skip_while(|part| part.kind != PathPartKind::Controller).nth(1)?;
        let (least, _) = own.carries?;
        (same && least > carried? * (1.0 + MORE)).then_some((other, least))
    };
    cases.iter().filter_map(wider)
}

/// What came of it where that link was wider.
fn lifted(case: &Case<'_>, cases: &[Case<'_>]) -> String {
    let told = compared(case, cases).map(|(other, carries)| {
        let share = other.load.bytes_per_s / case.load.bytes_per_s - 1.0;
        let what = match more(case, other) {
            true => format!("{} more, which confirms it", value::percent(share)),
            false => "no more, which speaks against it".to_owned(),
        };
        let name = &other.machine.name;
        format!(
            " In `{name}`, where that link carries {}, it was {}: {what}.",
            megabytes(carries),
            rate(other.row)
        )
    });
    told.collect()
}

/// What the authors themselves say of it.
fn authors(row: &ReportedRow<'_>) -> String {
    let said = row.notes.iter().filter(|note| note.kind.starts_with("authors-"));
    said.map(|note| format!(" {}.", capital(&note.text))).collect()
}

/// The text, its first letter a capital.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// What would lift it, by what both ends of the link could do.
fn advice(case: &Case<'_>, part: &ReportedPathPart) -> Option<String> {
    match part.kind {
        PathPartKind::Link if !part.each => {
            let card = case.machine.function(case.path.controllers.first()?)?;
            let link = card.link?;
            let (now, max) = (link.current?, link.max?);
            let could = ceiling::pcie(max, card.payload_bytes)?.encoded_bytes_per_s;
            (max.lanes > now.lanes).then(|| {
                format!(
                    "put the card into a slot of {} lanes: it uses {} of {}; all would carry {}",
                    max.lanes,
                    now.lanes,
                    max.lanes,
                    megabytes(could)
                )
            })
        }
        PathPartKind::Controller => Some(
            "put another controller into the same slot: if the level moves, it was the controller"
                .to_owned(),
        ),
        PathPartKind::Disks => Some("add disks, or faster ones".to_owned()),
        _ => None,
    }
}

fn megabytes(bytes_per_s: f64) -> String {
    format!("{} MB/s", value::significant(bytes_per_s / 1e6))
}

fn bits(bytes_per_s: f64) -> String {
    format!("{} Gb/s", value::significant(bytes_per_s * 8.0 / 1e9))
}
