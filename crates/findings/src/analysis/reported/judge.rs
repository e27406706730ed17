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

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

/// A part of the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
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

impl Part {
    /// Which shares of what it can carry `rate` may be, the least and the most.
    pub fn shares(&self, rate: f64) -> Option<(f64, f64)> {
        let (least, most) = self.carries.filter(|(least, _)| *least > 0.0)?;
        Some((rate / most, rate / least))
    }
}

/// A throughput that somebody reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Whether it is the level above which more disks did not bring it.
    pub level: bool,
}

/// How a part stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Full.
    Full,
    /// Full or not, as what it can carry is only known roughly.
    Perhaps,
    /// Not full.
    Clear(Reason),
    /// Nothing is known of what it can carry.
    Unknown,
}

/// Why a part is not what holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It could carry more.
    Share,
    /// More of them did not bring more.
    MoreDidNotHelp,
    /// More has gone through it.
    CarriedMore,
}

/// What holds the throughput, as places in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This part.
    Held(usize),
    /// That is not known; these may, the first suspect first.
    Unknown(Vec<usize>),
    /// More was reported than this part can carry: this is not the way that the bytes took.
    NotThisWay(usize),
}

/// How every part stood, and the verdict.
pub fn judge(parts: &[Part], load: Load) -> (Vec<Standing>, Verdict) {
    let rate = load.bytes_per_s;
    let least = |part: &Part| part.shares(rate).map_or(0.0, |(least, _)| least);
    let standings: Vec<Standing> = parts.iter().map(|part| standing(part, load)).collect();
    if let Some(place) = parts.iter().position(|part| least(part) > OVER) {
        return (standings, Verdict::NotThisWay(place));
    }
    let places = |wanted: Standing| -> Vec<usize> {
        (0..parts.len()).filter(|place| standings[*place] == wanted).collect()
    };
    let mut full = places(Standing::Full);
    full.sort_by(|a, b| least(&parts[*b]).total_cmp(&least(&parts[*a])));
    let perhaps = places(Standing::Perhaps);
    let verdict = match full[..] {
        [] if !perhaps.is_empty() => Verdict::Unknown(perhaps),
        // More disks would have brought more: what holds is something that all of them share. With
        // neither that nor anything full it may as well be the load, which nothing is known of.
        [] if load.level => {
            let mut suspects = places(Standing::Unknown);
            suspects.sort_by_key(|place| parts[*place].kind != Kind::Controller);
            Verdict::Unknown(suspects)
        }
        [] => Verdict::Unknown(Vec::new()),
        [first, second, ..] if least(&parts[first]) - least(&parts[second]) < ALIKE => {
            Verdict::Unknown(full)
        }
        [first, ..] => {
            let share = least(&parts[first]);
            let most = |place: &usize| parts[*place].shares(rate).map_or(0.0, |(_, most)| most);
            match perhaps.iter().any(|place| most(place) > share) {
                true => Verdict::Unknown(full.into_iter().chain(perhaps).collect()),
                false => Verdict::Held(first),
            }
        }
    };
    (standings, verdict)
}

fn standing(part: &Part, load: Load) -> Standing {
    if load.level && part.each {
        return Standing::Clear(Reason::MoreDidNotHelp);
    }
    let Some((least, most)) = part.shares(load.bytes_per_s) else { return Standing::Unknown };
    if most < FULL {
        return Standing::Clear(Reason::Share);
    }
    if part.carried.is_some_and(|carried| load.bytes_per_s < carried * (1.0 - ALIKE)) {
        return Standing::Clear(Reason::CarriedMore);
    }
    if least < FULL { Standing::Perhaps } else { Standing::Full }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: Kind, carries: Option<(f64, f64)>) -> Part {
        let (name, derivation) = (format!("{kind:?}"), String::new());
        let each = kind == Kind::Disks;
        Part { name, kind, carries, left: None, each, derivation, carried: None }
    }

    fn exactly(kind: Kind, megabytes: f64) -> Part {
        part(kind, Some((megabytes * 1e6, megabytes * 1e6)))
    }

    /// `disks` disks of 200 to 250 MB/s, their links, a controller and its link, memory.
    fn way(disks: u32, link: f64) -> Vec<Part> {
        let disks = f64::from(disks);
        vec![
            part(Kind::Disks, Some((disks * 200e6, disks * 250e6))),
            exactly(Kind::Link, disks * 300.0),
            part(Kind::Controller, None),
            exactly(Kind::Link, link),
            exactly(Kind::Memory, 30_000.0),
        ]
    }

    fn verdict(parts: &[Part], megabytes: f64, level: bool) -> Verdict {
        judge(parts, Load { bytes_per_s: megabytes * 1e6, level }).1
    }

    #[test]
    fn a_link_at_85_percent_holds_a_level_and_a_wider_one_does_not() {
        assert_eq!(verdict(&way(5, 1000.0), 852.5, true), Verdict::Held(3));
        let (standings, wide) = judge(&way(6, 2000.0), Load { bytes_per_s: 1027.6e6, level: true });
        assert_eq!(wide, Verdict::Unknown(vec![2]), "the controller is the first suspect");
        assert_eq!(standings[0], Standing::Clear(Reason::MoreDidNotHelp));
        assert_eq!(standings[3], Standing::Clear(Reason::Share));
        assert_eq!(standings[2], Standing::Unknown);
    }

    /// The rate of a disk's own link may not be known; it is not what holds a level.
    #[test]
    fn what_is_not_known_of_each_disk_is_cleared_by_a_level_and_the_controller_comes_first() {
        let mut parts = way(6, 2000.0);
        parts[1] = Part { each: true, ..part(Kind::Link, None) };
        parts[4] = part(Kind::Memory, None);
        parts.rotate_left(3);
        assert_eq!(verdict(&parts, 1027.6, true), Verdict::Unknown(vec![4, 1]));
    }

    #[test]
    fn a_faster_link_in_the_same_place_is_not_blamed() {
        for link in [1100.0, 2000.0, 4000.0] {
            let held = verdict(&way(5, link), 852.5, true);
            assert_eq!(held, Verdict::Unknown(vec![2]), "{link}");
        }
    }

    #[test]
    fn fewer_disks_are_what_holds() {
        assert_eq!(verdict(&way(1, 2000.0), 230.0, false), Verdict::Held(0));
        assert_eq!(verdict(&way(2, 2000.0), 450.0, false), Verdict::Held(0));
        // 72 to 90 % of two disks may be full or not.
        assert_eq!(verdict(&way(2, 2000.0), 360.0, false), Verdict::Unknown(vec![0]));
    }

    /// Without the word that more disks brought no more, disks and link are both possible.
    #[test]
    fn disks_that_may_be_full_leave_a_full_link_in_doubt() {
        let held = verdict(&way(5, 1060.0), 852.5, false);
        assert_eq!(held, Verdict::Unknown(vec![3, 0]));
    }

    #[test]
    fn a_third_of_everything_is_held_by_nothing_that_is_known_and_nobody_is_suspected() {
        for disks in [5, 6] {
            assert_eq!(verdict(&way(disks, 1000.0), 300.0, false), Verdict::Unknown(vec![]));
        }
    }

    #[test]
    fn two_parts_that_are_as_full_as_each_other_are_both_suspects() {
        let mut parts = way(6, 1000.0);
        parts.push(exactly(Kind::Link, 1010.0));
        assert_eq!(verdict(&parts, 900.0, true), Verdict::Unknown(vec![3, 5]));
    }

    #[test]
    fn what_has_carried_more_does_not_hold() {
        let mut port = exactly(Kind::Port, 1250.0);
        assert_eq!(verdict(std::slice::from_ref(&port), 1155.0, false), Verdict::Held(0));
        port.carried = Some(1241e6);
        assert_eq!(verdict(&[port], 1155.0, false), Verdict::Unknown(vec![]));
    }

    #[test]
    fn more_than_a_link_can_carry_did_not_come_that_way() {
        assert_eq!(verdict(&way(6, 1000.0), 1100.0, true), Verdict::NotThisWay(3));
        assert_eq!(verdict(&[], 1100.0, true), Verdict::Unknown(vec![]));
        let nothing = part(Kind::Link, Some((0.0, 0.0)));
        assert_eq!(verdict(&[nothing], 1100.0, false), Verdict::Unknown(vec![]));
    }
}
