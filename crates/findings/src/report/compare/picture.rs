//! (pure) A ratio drawn beside its number in plain characters: on which side of 1 it is, how far,
//! and how much of that is sure. It means the same without colour.

use base::stats::Estimate;

/// Columns on either side of the middle, which is 1.
const SIDE: i32 = 11;
/// Columns of a picture.
pub const WIDTH: usize = 2 * SIDE as usize + 1;

/// What a picture reaches to on the right; to the left it is one over that.
const REACHES: [f64; 6] = [1.25, 1.5, 2.0, 4.0, 10.0, 100.0];

/// The axis that all pictures of a comparison share: logarithmic, 1 in the middle, so that half and
/// twice are as far from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioAxis {
    reach: f64,
}

impl RatioAxis {
    /// The narrowest that has all of these ratios in it; what is above a hundred is at its end.
    pub fn spanning(ratios: impl Iterator<Item = f64>) -> RatioAxis {
        let far = ratios.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max);
        let reach = REACHES.into_iter().find(|reach| far <= *reach);
        RatioAxis { reach: reach.unwrap_or(REACHES[REACHES.len() - 1]) }
    }

    /// What stands above the pictures: `0.5        1          2`.
    pub fn head(self) -> String {
        let (low, high) = match self.reach {
            1.5 => ("0.67".to_owned(), "1.5".to_owned()),
            reach => ((1.0 / reach).to_string(), reach.to_string()),
        };
        let side = SIDE as usize;
        format!("{low:<side$}1{high:>side$}")
    }

    /// The column of a ratio, from the middle; beyond the ends where it is.
    fn column(self, ratio: f64) -> i32 {
        let share = ratio.ln() / self.reach.ln();
        (share * f64::from(SIDE)).round().clamp(f64::from(-SIDE - 1), f64::from(SIDE + 1)) as i32
    }

    /// A bar from the middle: `#` as far as the difference is sure, `-` as far as it may be, `<`
    /// and `>` where that is beyond the axis. What a single run tells is all `-`.
    pub fn draw(self, ratio: &Estimate, empty: char) -> String {
        let (low, high) = match ratio.interval {
            Some(ends) => (ends.low, ends.high),
            None => (ratio.value.min(1.0), ratio.value.max(1.0)),
        };
        let (left, right) = (self.column(low), self.column(high));
        let sure = |column: i32| match column {
            // What is sure is never so little that nothing is drawn of it.
            _ if ratio.interval.is_none() => false,
            _ if low > 1.0 => column > 0 && column <= left.max(1),
            _ if high < 1.0 => column < 0 && column >= right.min(-1),
            _ => false,
        };
        let one = |column: i32| match column {
            0 => '|',
            _ if column == -SIDE && left < -SIDE => '<',
            _ if column == SIDE && right > SIDE => '>',
            _ if sure(column) => '#',
            _ if (left..=right).contains(&column) => '-',
            _ => empty,
        };
        (-SIDE..=SIDE).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::stats::Interval;

    fn drawn(axis: RatioAxis, value: f64, ends: Option<(f64, f64)>) -> String {
        let interval = ends.map(|(low, high)| Interval { low, high });
        axis.draw(&Estimate { value, interval }, '.')
    }

    #[test]
    fn a_bar_says_the_side_what_is_sure_and_what_may_be() {
        let axis = RatioAxis::spanning([0.5, 1.1].into_iter());
        assert_eq!(axis.head(), "0.5        1          2");
        for (value, ends, picture) in [
            (0.5, Some((0.48, 0.52)), "<##########|..........."),
            (0.55, Some((0.4, 0.7)), "<----######|..........."),
            (1.9, Some((1.5, 2.5)), "...........|######---->"),
            (1.0, Some((0.9, 1.1)), ".........--|--........."),
            (1.01, Some((1.005, 1.012)), "...........|#.........."),
            (0.99, Some((0.985, 0.995)), "..........#|..........."),
            (0.7, None, ".....------|..........."),
            (1e9, Some((1e8, 1e10)), "...........|##########>"),
        ] {
            assert_eq!(drawn(axis, value, ends), picture, "{value} {ends:?}");
        }
    }

    #[test]
    fn half_and_twice_are_as_far_from_the_middle_on_every_axis() {
        for reach in REACHES {
            let axis = RatioAxis::spanning([reach, 1.0].into_iter());
            assert_eq!(axis, RatioAxis { reach });
            assert_eq!(axis, RatioAxis::spanning([1.0 / reach].into_iter()));
            let (less, more) = (1.0 / reach, reach);
            let left = drawn(axis, less, Some((less, less)));
            let right = drawn(axis, more, Some((more, more)));
            assert_eq!(left.chars().rev().collect::<String>(), right, "{reach}");
            assert_eq!(left.matches('#').count(), SIDE as usize);
            assert_eq!(axis.head().chars().count(), WIDTH);
            assert_eq!(axis.head().chars().nth(SIDE as usize), Some('1'), "{reach}");
        }
        assert_eq!(RatioAxis::spanning(std::iter::empty()), RatioAxis { reach: REACHES[0] });
    }
}
