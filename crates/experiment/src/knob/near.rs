//! (pure) The known names that a misspelt one may have been meant to be.

/// No name that is known is half as long, bytes.
const LENGTH_MAX: usize = 128;

/// So many are told.
const TOLD_MAX: usize = 3;
/// A part of a name says which it is from this length on, bytes.
const PART_MIN: usize = 3;

/// The known name that is nearest to a misspelt one, if any is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let all = near(name, known);
    all.first().filter(|(misspelt, _)| *misspelt).map(|(_, name)| *name)
}

/// "did you mean a, b or c?" of the three names that are nearest to a misspelt one, or that hold it
/// as a part, each as `written` has it; `None` when there are none.
pub fn meant<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    written: impl Fn(&str) -> String,
) -> Option<String> {
    let all: Vec<String> = near(name, known).iter().map(|(_, name)| written(name)).collect();
    let (last, others) = all.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// The names that are nearest, at most three, and whether each differs in few letters alone: these
/// come first, and after them those of which it is a part.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<(bool, &'a str)> {
    if name.len() > LENGTH_MAX {
        return Vec::new();
    }
    let most = 1 + name.len() / 4;
    let mut all: Vec<(bool, usize, &str)> = known
        .filter_map(|candidate| match distance(name, candidate) {
            few if few <= most => Some((false, few, candidate)),
            _ if name.len() >= PART_MIN && candidate.contains(name) => {
                Some((true, candidate.len(), candidate))
            }
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().take(TOLD_MAX).map(|(part, _, name)| (!part, name)).collect()
}

/// Damerau-Levenshtein distance with adjacent transpositions (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let differs = usize::from(from[i - 1] != to[j - 1]);
            let mut best =
                (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + differs);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A brace in a command that nothing closed for 300 kB made a name of these, which was held
    /// against every knob letter by letter: half a minute for one refusal.
    #[test]
    fn a_name_of_hundreds_of_kilobytes_is_near_none() {
        let long = "x".repeat(300_000);
        assert_eq!(nearest(&long, std::iter::repeat_n("streams", 1000)), None);
        assert_eq!(nearest("stream", ["streams"].into_iter()), Some("streams"));
    }

    /// "there is no workload `random`" told one name of the four that it may have been.
    #[test]
    fn three_names_are_told_those_that_hold_it_last() {
        let known = ["read-share", "random-read", "random-mix", "random-write", "random-update"];
        let meant = |name: &str| meant(name, known.into_iter(), |near| format!("`{near}`"));
        assert_eq!(
            meant("random").as_deref(),
            Some("did you mean `random-mix`, `random-read` or `random-write`?")
        );
        assert_eq!(meant("randm-read").as_deref(), Some("did you mean `random-read`?"));
        assert_eq!(meant("elephant"), None);
        assert_eq!(nearest("random", known.into_iter()), None, "a part is no misspelling");
    }
}
