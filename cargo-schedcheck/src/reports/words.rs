//! Numbers and their nouns, as all messages write them.

/// The noun for so many: `step`, `steps`; `binary`, `binaries`.
pub fn plural(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    }
}

/// `1 step`, `2 steps`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_no_plural() {
        let told = [(0, "step"), (1, "step"), (2, "step"), (1, "binary"), (3, "binary")];
        let told = told.map(|(count, noun)| counted(count, noun));
        assert_eq!(told, ["0 steps", "1 step", "2 steps", "1 binary", "3 binaries"]);
    }
}
