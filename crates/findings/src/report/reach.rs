//! (pure) How far an interval reaches, in a column of a table.

use base::stats::Estimate;
use base::value::{percent, significant};

/// How far the 95 % interval of something that is not negative reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// So large a share of the value to either side.
    Share(f64),
    /// Down to the value over so much, and up to so many times the value.
    Times(f64),
}

/// From this factor between its ends on an interval is told as one.
const WIDE: f64 = 2.0;

/// Runs that differ by more say nothing but that they differ.
const TIMES_MOST: f64 = 100.0;

/// What a column of these says, for legends.
pub const LEGEND: &str = "half the 95 % interval over replicates, none for n = 1; x3 where it is \
                          wider than a factor of 2: down to a third, up to three times";

impl Reach {
    /// Of an estimate; `None` where it has no interval, and of nothing.
    pub fn from_estimate(estimate: &Estimate) -> Option<Reach> {
        let ends = estimate.interval?;
        if ends.high == ends.low {
            return Some(Reach::Share(0.0));
        }
        // It is as many times less as more (rule 4).
        let between = ends.high / ends.low.max(0.0);
        let known = estimate.value > 0.0 && !between.is_nan();
        known.then_some(match between > WIDE {
            true => Reach::Times(between.sqrt()),
            false => Reach::Share((ends.high - ends.low) / 2.0 / estimate.value),
        })
    }

    /// `3.2 %`, or `x4.10`.
    pub fn told(self) -> String {
        match self {
            Reach::Share(share) => percent(share),
            Reach::Times(times) if times > TIMES_MOST => format!("x{TIMES_MOST}+"),
            Reach::Times(times) => format!("x{}", significant(times)),
        }
    }

    /// The same with the signs that a page can print: `\u{b1}3.2 %`, or `\u{d7}\u{f7}4.10`.
    pub fn signed(self) -> String {
        match self {
            Reach::Share(_) => format!("\u{b1}{}", self.told()),
            Reach::Times(_) => format!("\u{d7}\u{f7}{}", &self.told()[1..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six runs from 70 to 780 MB/s were "+-212%": nobody can use that.
    #[test]
    fn what_is_wider_than_a_factor_of_2_is_told_as_a_factor() {
        let told = |value, low, high| {
            Reach::from_estimate(&Estimate::within(value, low, high)).map(Reach::told)
        };
        assert_eq!(told(100.0, 98.0, 102.1).as_deref(), Some("2.0 %"));
        assert_eq!(told(100.0, 71.0, 141.0).as_deref(), Some("35 %"));
        assert_eq!(told(100.0, 50.0, 200.0).as_deref(), Some("x2.00"));
        assert_eq!(told(100.0, 0.1, 1e5).as_deref(), Some("x100+"));
        assert_eq!(told(100.0, 0.0, 200.0).as_deref(), Some("x100+"));
        assert_eq!(told(0.0, 0.0, 0.0).as_deref(), Some("0.0 %"));
        assert_eq!(Reach::from_estimate(&Estimate::bare(5.0)), None);
        let signed =
            |low, high| Reach::from_estimate(&Estimate::within(1.0, low, high)).unwrap().signed();
        assert_eq!(
            (signed(0.9, 1.1), signed(0.2, 5.0)),
            ("\u{b1}10 %".into(), "\u{d7}\u{f7}5.00".into())
        );
    }
}
