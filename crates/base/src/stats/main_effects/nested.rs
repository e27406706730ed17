//! Classes of levels: levels that another factor goes with alike.
//!
//! btrfs joins disks by itself, ext4 and XFS leave that to md: who joins them is never varied
//! within a file system. ext4 against XFS is a difference of file systems alone, and has to be
//! told; btrfs against both is one of the file system and of who joins the disks, together.
//!
//! Source: Montgomery, "Design and Analysis of Experiments", chapter 14 (nested designs).

/// Two sets of levels that are furthest apart, and among how many such pairs they were picked.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    /// The number of the level, or of the class, with the most.
    pub most: usize,
    /// That with the least.
    pub least: usize,
    /// Levels whose mean is the larger.
    pub more: Vec<usize>,
    /// Levels whose mean is the smaller.
    pub less: Vec<usize>,
    /// Pairs.
    pub among: f64,
}

/// The levels of each class; all in one where `classes` says nothing, or where no class has two,
/// so that there is nothing to compare within any.
pub fn sets(classes: &[usize], many: usize) -> Vec<Vec<usize>> {
    let count = classes.iter().max().map_or(0, |last| last + 1);
    if classes.len() != many || count >= many {
        return vec![(0..many).collect()];
    }
    let members = |class: usize| (0..many).filter(|level| classes[*level] == class).collect();
    (0..count).map(members).filter(|set: &Vec<usize>| !set.is_empty()).collect()
}

/// The two levels of one class that are furthest apart; `None` where no class has two.
pub fn within(sets: &[Vec<usize>], values: &[f64]) -> Option<Picked> {
    let pairs = |set: &Vec<usize>| (set.len() * (set.len() - 1) / 2) as f64;
    let among = sets.iter().map(pairs).sum();
    let furthest = |set: &Vec<usize>| {
        let (most, least) = ends(set, |level| values[level])?;
        Some((values[most] - values[least], most, least))
    };
    let all = sets.iter().filter_map(furthest);
    let (_, most, least) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Picked { most, least, more: vec![most], less: vec![least], among })
}

/// The two classes whose means are furthest apart; `None` where there is one.
pub fn between(sets: &[Vec<usize>], values: &[f64]) -> Option<Picked> {
    let mean = |class: usize| {
        let set = &sets[class];
        set.iter().map(|level| values[*level]).sum::<f64>() / set.len() as f64
    };
    let all: Vec<usize> = (0..sets.len()).collect();
    let (most, least) = ends(&all, mean)?;
    let among = (sets.len() * (sets.len() - 1) / 2) as f64;
    Some(Picked { most, least, more: sets[most].clone(), less: sets[least].clone(), among })
}

/// Of several the one with the largest and the one with the smallest value, which are never the
/// same; `None` of fewer than two.
fn ends(all: &[usize], value: impl Fn(usize) -> f64) -> Option<(usize, usize)> {
    let [first, second, ..] = all else { return None };
    let by_value = |a: &&usize, b: &&usize| value(**a).total_cmp(&value(**b));
    let (most, least) = (all.iter().max_by(by_value)?, all.iter().min_by(by_value)?);
    Some(if most == least { (*second, *first) } else { (*most, *least) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_compared_within_their_class_and_classes_by_their_means() {
        // ext4, xfs and jfs leave the joining of disks to md; btrfs and a volume of LVM do not.
        let sets = sets(&[0, 1, 0, 2, 0], 5);
        assert_eq!(sets, [vec![0, 2, 4], vec![1], vec![3]]);
        let values = [1.0, 9.0, 3.0, -4.0, 2.0];
        let picked = within(&sets, &values).unwrap();
        assert_eq!((picked.most, picked.least, picked.among), (2, 0, 3.0));
        let picked = between(&sets, &values).unwrap();
        assert_eq!((picked.most, picked.least, picked.among), (1, 2, 3.0));
        assert_eq!((picked.more, picked.less), (vec![1], vec![3]));
    }

    #[test]
    fn without_classes_all_levels_are_of_one() {
        for classes in [&[][..], &[0, 0, 0], &[0, 1, 2]] {
            assert_eq!(sets(classes, 3), [vec![0, 1, 2]], "{classes:?}");
        }
        assert_eq!(between(&sets(&[], 3), &[0.0; 3]), None);
        // Where all are alike two are named all the same.
        let alike = within(&sets(&[], 2), &[0.0; 2]).unwrap();
        assert_eq!((alike.most, alike.least), (1, 0));
        assert_eq!(within(&sets(&[], 1), &[0.0]), None);
    }
}
