//! (pure) The known name that a misspelt one was meant to be.

/// No name that is known is half as long, bytes.
const LENGTH_MAX: usize = 128;

/// The known name that is nearest to a misspelt one, if any is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LENGTH_MAX {
        return None;
    }
    let near = known.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (near.0 <= 1 + name.len() / 4).then_some(near.1)
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
}
