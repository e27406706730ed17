//! (pure) The known names that a misspelt one may have been meant to be.

/// No name that is known is half as long, bytes.
const LENGTH_MAX: usize = 128;

/// So many are told.
const TOLD_MAX: usize = 3;
/// A part of a name says which it is from this length on, bytes.
const PART_MIN: usize = 3;

/// The known name that a misspelt one differs from in the fewest letters, if these are few.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let few = known.filter_map(|candidate| Some((slips(name, candidate)?, candidate)));
    few.min().map(|(_, candidate)| candidate)
}

/// "did you mean a, b or c?" of the three names that are nearest to an unknown one, each as
/// `written` has it; `None` when none is near. All that refuses a name says it by this.
pub fn meant<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    written: impl Fn(&str) -> String,
) -> Option<String> {
    let all: Vec<String> = near(name, known).into_iter().map(written).collect();
    let (last, others) = all.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// How a name is near, the nearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// It begins so: somebody stopped typing.
    Begins,
    /// Few letters differ; so many.
    Misspelt(usize),
    /// A later word of it begins so.
    Word,
    /// It holds that.
    Part,
}

/// The names that are nearest, at most three.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LENGTH_MAX {
        return Vec::new();
    }
    let part = name.len() >= PART_MIN;
    let nearness = |candidate: &str| match slips(name, candidate) {
        _ if part && candidate.starts_with(name) => Some(Nearness::Begins),
        Some(few) => Some(Nearness::Misspelt(few)),
        None if !part => None,
        None => {
            let mut words = candidate.split(['-', '_', '.', ' ']).skip(1);
            let word = words.any(|word| word.starts_with(name));
            let holds = candidate.contains(name).then_some(Nearness::Part);
            if word { Some(Nearness::Word) } else { holds }
        }
    };
    let mut all: Vec<(Nearness, usize, &str)> = known
        .filter_map(|candidate| Some((nearness(candidate)?, candidate.len(), candidate)))
        .collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().take(TOLD_MAX).map(|(_, _, name)| name).collect()
}

/// In how many letters two names differ, where these are few.
fn slips(name: &str, candidate: &str) -> Option<usize> {
    let most = 1 + name.len() / 4;
    let fits = name.len() <= LENGTH_MAX;
    fits.then(|| distance(name, candidate)).filter(|few| *few <= most)
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

    /// "queu" asked first whether `rss-queues` was meant, which is shorter than `queue-depth`.
    #[test]
    fn what_begins_so_comes_before_what_only_holds_it() {
        let meant = |name: &str, known: &[&str]| {
            meant(name, known.iter().copied(), |near| near.to_owned()).unwrap_or_default()
        };
        let queues = ["rss-queues", "queue-depth", "queue-rank", "xqueues"];
        assert_eq!(meant("queu", &queues), "did you mean queue-rank, queue-depth or rss-queues?");
        // A slip comes before a later word, and that before what holds it anywhere.
        let depths = ["undepth", "tree-depth", "dept"];
        assert_eq!(meant("depth", &depths), "did you mean dept, undepth or tree-depth?");
        assert_eq!(
            meant("size", &["resized-by", "file-size", "block-size"]),
            "did you mean file-size, block-size or resized-by?"
        );
        assert_eq!(meant("x", &["xa", "y", "abx"]), "did you mean y or xa?", "too short a part");
    }
}
