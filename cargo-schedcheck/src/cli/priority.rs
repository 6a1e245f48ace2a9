//! The names of the priority functions, checked before anything is built.
use crate::suggest;

/// Those of the engine (`cargo xtask tidy` compares the two).
const NAMES: [&str; 12] =
    ["pb", "dpor", "mdpor", "ss", "rand", "method", "var", "changed", "seq", "distance", "dfs", "bfs"];

/// Checks a list such as `mdpor,pb` or `rand:7`; what it means is the engine's business.
pub fn parse(list: &str) -> Result<String, String> {
    for part in list.split(',') {
        let (name, seed) = part.split_once(':').map_or((part, None), |(n, s)| (n, Some(s)));
        if !NAMES.contains(&name) {
            let hint = suggest::did_you_mean(name, NAMES);
            let valid = NAMES.join(", ").replace("rand", "rand[:SEED]");
            return Err(format!("unknown priority `{name}`{hint}; valid names are {valid}"));
        }
        match seed {
            Some(_) if name != "rand" => {
                return Err(format!("only `rand` takes a seed, not `{name}`"));
            }
            Some(seed) if seed.parse::<u64>().is_err() => {
                return Err(format!("the seed of `rand` must be a whole number, not `{seed}`"));
            }
            _ => {}
        }
    }
    Ok(list.to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn known_names_pass_unchanged() {
        for list in ["mdpor,pb", "ss,mdpor", "rand:7", "rand", "ss,dpor,pb", "method,var,pb"] {
            assert_eq!(parse(list).as_deref(), Ok(list));
        }
    }

    #[test]
    fn a_typo_gets_a_suggestion_and_the_valid_names() {
        let error = parse("mdpro,pb").unwrap_err();
        assert!(error.contains("did you mean `mdpor`?"), "{error}");
        assert!(error.contains("rand[:SEED]"), "{error}");
    }

    #[test]
    fn seeds_belong_to_rand_and_are_numbers() {
        assert!(parse("pb:1").is_err());
        assert!(parse("rand:x").is_err());
        assert!(parse("").is_err());
    }
}
