//! What a reported throughput says of the way that its bytes took.
//!
//! A paper prints a throughput and no counters, so all that can be asked is which part of the way
//! was used to which share of what it can carry. Facts in, verdict out: which server and which way
//! is the caller's business, the words are too.

/// A link used to this share of what its encoding leaves, or more, is called full. At the smallest
/// payload of a packet (128 bytes) headers leave 86.5 % of it, and acknowledgements, flow control
/// and the requests themselves take a part of that; a link at 80 % has at most 8 % left.
pub const FULL: f64 = 0.80;

/// Two shares that differ by less do not tell which part binds.
const ALIKE: f64 = 0.05;

/// Nothing carries more than it can, but for what rounding to two or three digits adds.
const OVER: f64 = 1.01;

/// What a part of the way is that reported bytes took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPartKind {
    /// The disks themselves, together.
    Disks,
    /// A network port.
    Port,
    /// A link of some kind.
    Link,
    /// What commands the disks or the port.
    Controller,
    /// Memory.
    Memory,
}

/// A part of the way that reported bytes took, and what it can carry.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedPathPart {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: PathPartKind,
    /// What it can carry, bytes per second: the least and the most that it may be. The same where
    /// that is known exactly; `None` where nothing is known.
    pub carries: Option<(f64, f64)>,
    /// What headers leave of it, bytes per second, where there are headers.
    pub left: Option<f64>,
    /// Whether each disk has its own, so that more disks have more of it.
    pub each: bool,
    /// How what it can carry was come by, or why that is not known.
    pub derivation: String,
    /// The most that other figures show to have gone through it, bytes per second.
    pub carried: Option<f64>,
}

impl ReportedPathPart {
    /// Which shares of what it can carry `rate` may be, the least and the most.
    pub fn shares(&self, rate: f64) -> Option<(f64, f64)> {
        let (least, most) = self.carries.filter(|(least, _)| *least > 0.0)?;
        Some((rate / most, rate / least))
    }
}

/// A throughput that somebody reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportedThroughput {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Whether it is the level above which more disks did not bring it.
    pub level: bool,
}

/// Whether a part of the way was full at the reported throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartSaturation {
    /// Full.
    Full,
    /// Full or not, as what it can carry is only known roughly.
    Perhaps,
    /// Not full.
    Clear(WhyNotFull),
    /// Nothing is known of what it can carry.
    Unknown,
}

/// Why a part of the way is not what holds the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNotFull {
    /// It could carry more.
    Share,
    /// More of them did not bring more.
    MoreDidNotHelp,
    /// More has gone through it.
    CarriedMore,
}

/// What holds the throughput, as places in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathVerdict {
    /// This part.
    Held(usize),
    /// That is not known; these may, the first suspect first.
    Unknown(Vec<usize>),
    /// More was reported than this part can carry: this is not the way that the bytes took.
    NotThisWay(usize),
}

/// How every part stood, and the verdict.
pub fn judge(
    parts: &[ReportedPathPart],
    load: ReportedThroughput,
) -> (Vec<PartSaturation>, PathVerdict) {
    let rate = load.bytes_per_s;
    let least = |part: &ReportedPathPart| part.shares(rate).map_or(0.0, |(least, _)| least);
    let standings: Vec<PartSaturation> = parts.iter().map(|part| standing(part, load)).collect();
    if let Some(place) = parts.iter().position(|part| least(part) > OVER) {
        return (standings, PathVerdict::NotThisWay(place));
    }
    let places = |wanted: PartSaturation| -> Vec<usize> {
        (0..parts.len()).filter(|place| standings[*place] == wanted).collect()
    };
    let mut full = places(PartSaturation::Full);
    full.sort_by(|a, b| least(&parts[*b]).total_cmp(&least(&parts[*a])));
    let perhaps = places(PartSaturation::Perhaps);
    let verdict = match full[..] {
        [] if !perhaps.is_empty() => PathVerdict::Unknown(perhaps),
        // More disks would have brought more: what holds is something that all of them share. With
        // neither that nor anything full it may as well be the load, which nothing is known of.
        [] if load.level => {
            let mut suspects = places(PartSaturation::Unknown);
            suspects.sort_by_key(|place| parts[*place].kind != PathPartKind::Controller);
            PathVerdict::Unknown(suspects)
        }
        [] => PathVerdict::Unknown(Vec::new()),
        [first, second, ..] if least(&parts[first]) - least(&parts[second]) < ALIKE => {
            PathVerdict::Unknown(full)
        }
        [first, ..] => {
            let share = least(&parts[first]);
            let most = |place: &usize| parts[*place].shares(rate).map_or(0.0, |(_, most)| most);
            match perhaps.iter().any(|place| most(place) > share) {
                true => PathVerdict::Unknown(full.into_iter().chain(perhaps).collect()),
                false => PathVerdict::Held(first),
            }
        }
    };
    (standings, verdict)
}

fn standing(part: &ReportedPathPart, load: ReportedThroughput) -> PartSaturation {
    if load.level && part.each {
        return PartSaturation::Clear(WhyNotFull::MoreDidNotHelp);
    }
    let Some((least, most)) = part.shares(load.bytes_per_s) else { return PartSaturation::Unknown };
    if most < FULL {
        return PartSaturation::Clear(WhyNotFull::Share);
    }
    if part.carried.is_some_and(|carried| load.bytes_per_s < carried * (1.0 - ALIKE)) {
        return PartSaturation::Clear(WhyNotFull::CarriedMore);
    }
    if least < FULL { PartSaturation::Perhaps } else { PartSaturation::Full }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: PathPartKind, carries: Option<(f64, f64)>) -> ReportedPathPart {
        let (name, derivation) = (format!("{kind:?}"), String::new());
        let each = kind == PathPartKind::Disks;
        ReportedPathPart { name, kind, carries, left: None, each, derivation, carried: None }
    }

    fn exactly(kind: PathPartKind, megabytes: f64) -> ReportedPathPart {
        part(kind, Some((megabytes * 1e6, megabytes * 1e6)))
    }

    /// `disks` disks of 200 to 250 MB/s, their links, a controller and its link, memory.
    fn way(disks: u32, link: f64) -> Vec<ReportedPathPart> {
        let disks = f64::from(disks);
        vec![
            part(PathPartKind::Disks, Some((disks * 200e6, disks * 250e6))),
            exactly(PathPartKind::Link, disks * 300.0),
            part(PathPartKind::Controller, None),
            exactly(PathPartKind::Link, link),
            exactly(PathPartKind::Memory, 30_000.0),
        ]
    }

    fn verdict(parts: &[ReportedPathPart], megabytes: f64, level: bool) -> PathVerdict {
        judge(parts, ReportedThroughput { bytes_per_s: megabytes * 1e6, level }).1
    }

    #[test]
    fn a_link_at_85_percent_holds_a_level_and_a_wider_one_does_not() {
        assert_eq!(verdict(&way(5, 1000.0), 852.5, true), PathVerdict::Held(3));
        let (standings, wide) =
            judge(&way(6, 2000.0), ReportedThroughput { bytes_per_s: 1027.6e6, level: true });
        assert_eq!(wide, PathVerdict::Unknown(vec![2]), "the controller is the first suspect");
        assert_eq!(standings[0], PartSaturation::Clear(WhyNotFull::MoreDidNotHelp));
        assert_eq!(standings[3], PartSaturation::Clear(WhyNotFull::Share));
        assert_eq!(standings[2], PartSaturation::Unknown);
    }

    /// The rate of a disk's own link may not be known; it is not what holds a level.
    #[test]
    fn what_is_not_known_of_each_disk_is_cleared_by_a_level_and_the_controller_comes_first() {
        let mut parts = way(6, 2000.0);
        parts[1] = ReportedPathPart { each: true, ..part(PathPartKind::Link, None) };
        parts[4] = part(PathPartKind::Memory, None);
        parts.rotate_left(3);
        assert_eq!(verdict(&parts, 1027.6, true), PathVerdict::Unknown(vec![4, 1]));
    }

    #[test]
    fn a_faster_link_in_the_same_place_is_not_blamed() {
        for link in [1100.0, 2000.0, 4000.0] {
            let held = verdict(&way(5, link), 852.5, true);
            assert_eq!(held, PathVerdict::Unknown(vec![2]), "{link}");
        }
    }

    #[test]
    fn fewer_disks_are_what_holds() {
        assert_eq!(verdict(&way(1, 2000.0), 230.0, false), PathVerdict::Held(0));
        assert_eq!(verdict(&way(2, 2000.0), 450.0, false), PathVerdict::Held(0));
        // 72 to 90 % of two disks may be full or not.
        assert_eq!(verdict(&way(2, 2000.0), 360.0, false), PathVerdict::Unknown(vec![0]));
    }

    /// Without the word that more disks brought no more, disks and link are both possible.
    #[test]
    fn disks_that_may_be_full_leave_a_full_link_in_doubt() {
        let held = verdict(&way(5, 1060.0), 852.5, false);
        assert_eq!(held, PathVerdict::Unknown(vec![3, 0]));
    }

    #[test]
    fn a_third_of_everything_is_held_by_nothing_that_is_known_and_nobody_is_suspected() {
        for disks in [5, 6] {
            assert_eq!(verdict(&way(disks, 1000.0), 300.0, false), PathVerdict::Unknown(vec![]));
        }
    }

    #[test]
    fn two_parts_that_are_as_full_as_each_other_are_both_suspects() {
        let mut parts = way(6, 1000.0);
        parts.push(exactly(PathPartKind::Link, 1010.0));
        assert_eq!(verdict(&parts, 900.0, true), PathVerdict::Unknown(vec![3, 5]));
    }

    #[test]
    fn what_has_carried_more_does_not_hold() {
        let mut port = exactly(PathPartKind::Port, 1250.0);
        assert_eq!(verdict(std::slice::from_ref(&port), 1155.0, false), PathVerdict::Held(0));
        port.carried = Some(1241e6);
        assert_eq!(verdict(&[port], 1155.0, false), PathVerdict::Unknown(vec![]));
    }

    #[test]
    fn more_than_a_link_can_carry_did_not_come_that_way() {
        assert_eq!(verdict(&way(6, 1000.0), 1100.0, true), PathVerdict::NotThisWay(3));
        assert_eq!(verdict(&[], 1100.0, true), PathVerdict::Unknown(vec![]));
        let nothing = part(PathPartKind::Link, Some((0.0, 0.0)));
        assert_eq!(verdict(&[nothing], 1100.0, false), PathVerdict::Unknown(vec![]));
    }
}
