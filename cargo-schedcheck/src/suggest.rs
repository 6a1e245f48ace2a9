//! "Did you mean …?" for names people type.

/// ` (did you mean `x`?)` for the candidate nearest to `given`, or nothing when none is near.
pub fn did_you_mean(given: &str, candidates: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let near = candidates
        .into_iter()
        .map(|candidate| (distance(given, candidate.as_ref()), candidate.as_ref().to_owned()))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(given.len()).div_ceil(3))
        .min();
    near.map_or_else(String::new, |(_, name)| format!(" (did you mean `{name}`?)"))
}

/// Edit distance where swapping two neighbours counts as one edit, as typing errors do.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        rows[i][0] = i;
        for j in 1..=right.len() {
            let replace = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            rows[i][j] = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        assert_eq!(distance("mdpor", "mdpor"), 0);
        assert_eq!(distance("mdpro", "mdpor"), 1);
        assert_eq!(distance("", "pb"), 2);
    }

    #[test]
    fn far_names_are_not_suggested() {
        assert_eq!(did_you_mean("zzzzzz", ["pb", "dpor"]), "");
        assert_eq!(did_you_mean("max-tim", ["max-time", "seed"]), " (did you mean `max-time`?)");
    }
}
