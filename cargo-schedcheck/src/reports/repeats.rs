//! What a thread does again and again without a break: the first round says what the others are.

/// Longer rounds are shown as they are.
const LONGEST: usize = 6;
/// So many rows must be spared.
const WORTH: usize = 3;

/// A round that comes again right behind itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Where it comes first.
    pub start: usize,
    /// Rows of a round.
    pub length: usize,
    /// How many more times.
    pub again: usize,
}

impl Repeat {
    /// The first row behind all of its rounds.
    pub fn end(self) -> usize {
        self.start + self.length * (self.again + 1)
    }

    /// The longest one that begins at `start`. `same`: the second row says nothing that the first does not.
    fn at<T>(rows: &[T], start: usize, same: impl Fn(&T, &T) -> bool) -> Option<Self> {
        let of_length = |length: usize| {
            let equal =
                (start + length..rows.len()).take_while(|at| same(&rows[at - length], &rows[*at])).count();
            Self { start, length, again: equal / length }
        };
        let spared = |repeat: &Self| (repeat.length * repeat.again).saturating_sub(1);
        // Of equals the shortest: four rounds of two steps are no two rounds of four.
        let best = (1..=LONGEST).rev().map(of_length).max_by_key(spared)?;
        (spared(&best) >= WORTH).then_some(best)
    }
}

/// All of them, in order.
pub fn find<T>(rows: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<Repeat> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < rows.len() {
        let repeat = Repeat::at(rows, start, &same);
        start = repeat.map_or(start + 1, Repeat::end);
        found.extend(repeat);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<(usize, usize, usize)> {
        let rows: Vec<char> = rows.chars().collect();
        let repeats = find(&rows, |first, second| first == second && *first != '|');
        repeats.iter().map(|repeat| (repeat.start, repeat.length, repeat.again)).collect()
    }

    #[test]
    fn rounds_are_found_where_that_spares_rows() {
        assert_eq!(found("xaaaaay"), [(1, 1, 4)]);
        assert_eq!(found("xabababy"), [(1, 2, 2)]);
        assert_eq!(found("abcdabcdab"), [(0, 4, 1)], "a round that is cut short is none");
        assert_eq!(found("abababab"), [(0, 2, 3)]);
        assert_eq!(found("aaaaabbbbb"), [(0, 1, 4), (5, 1, 4)]);
        assert_eq!(found("aaab"), []);
        assert_eq!(found("abcdefghabcdefgh"), [], "too long");
        assert_eq!(found("||||||||"), []);
        assert_eq!(found(""), []);
    }
}
