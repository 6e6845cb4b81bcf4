//! "Did you mean": the existing name closest to a wrong one.

/// Names beyond these limits are not compared, so that a huge document cannot make an error slow.
const NAME_CHARS_MAX: usize = 64;
const CANDIDATES_MAX: usize = 1_000;

/// The candidate that differs from `name` by the fewest edits, if it is close enough to be a typo.
/// A swap of two neighbours counts as one edit; upper and lower case count as the same letter.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(name)?;
    let tolerated = (wanted.len() / 3).max(1);
    candidates
        .take(CANDIDATES_MAX)
        .filter_map(|candidate| Some((distance(&wanted, &folded(candidate)?), candidate)))
        .filter(|(edits, candidate)| *edits <= tolerated && *edits < candidate.chars().count())
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

fn folded(name: &str) -> Option<Vec<char>> {
    // Bytes bound the characters, and looking at them costs nothing.
    if name.len() > NAME_CHARS_MAX * 4 {
        return None;
    }
    let chars: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    (chars.len() <= NAME_CHARS_MAX).then_some(chars)
}

/// Edit distance with neighbour swaps (optimal string alignment), kept in three rows.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, &from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &to) in right.iter().enumerate() {
            let replaced = previous[column] + usize::from(from != to);
            let mut best = replaced
                .min(previous[column + 1] + 1)
                .min(current[column] + 1);
            let swapped = row > 0 && column > 0 && from == right[column - 1] && to == left[row - 1];
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_typo_and_only_the_typo() {
        let names = ["status_code", "status", "body", "headers"];
        let check = |name, expected| assert_eq!(nearest(name, names.into_iter()), expected);
        check("statsu", Some("status"));
        check("Status_Code", Some("status_code"));
        check("bdy", Some("body"));
        check("unrelated", None);
        check("", None);
        check(&"x".repeat(10_000), None);
    }
}
