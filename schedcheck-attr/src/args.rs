//! The arguments of `#[schedcheck(…)]`: what is allowed, and the text that the engine receives.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitInt, LitStr, Result, Token};

/// What an argument's value must look like.
#[derive(Clone, Copy)]
enum Kind {
    /// A whole number, not below `min` and not above `max`.
    Number { min: u64, max: u64 },
    /// One of a fixed set of words.
    OneOf(&'static [&'static str]),
    /// A comma-separated list of priority functions.
    Priorities,
    /// A whole number and a unit of time.
    Duration,
    /// A comma-separated list of paths or names.
    Names,
}

const COUNT: Kind = Kind::Number { min: 0, max: u32::MAX as u64 };
const BUDGET: Kind = Kind::Number { min: 1, max: u64::MAX };

/// Every argument: its name, the form of its value, and an example for error messages.
const ARGUMENTS: &[(&str, Kind, &str)] = &[
    ("bound", COUNT, "2"),
    ("priority", Kind::Priorities, "\"mdpor,pb\""),
    ("reduction", Kind::OneOf(&["optimal", "source", "classic", "none"]), "\"optimal\""),
    ("max_time", Kind::Duration, "\"10s\""),
    ("max_executions", BUDGET, "1000"),
    ("max_steps", Kind::Number { min: 1, max: u32::MAX as u64 }, "500"),
    ("seed", Kind::Number { min: 0, max: u64::MAX }, "7"),
    ("random_runs", COUNT, "0"),
    ("hunts", COUNT, "0"),
    ("levels", Kind::OneOf(&["on", "off"]), "\"off\""),
    ("spurious", COUNT, "0"),
    ("timeouts", COUNT, "0"),
    ("weak_cas", COUNT, "0"),
    ("method", Kind::Names, "\"Queue::push\""),
    ("var", Kind::Names, "\"HEAD\""),
    ("trust", Kind::Names, "\"once_cell\""),
    ("focus", Kind::Names, "\"my_crate::queue\""),
    ("cooperative", Kind::OneOf(&["on", "off"]), "\"on\""),
    ("races", Kind::OneOf(&["on", "off"]), "\"off\""),
    ("leaks", Kind::OneOf(&["on", "off"]), "\"on\""),
    ("symmetry", Kind::OneOf(&["on", "off"]), "\"off\""),
    ("expect", Kind::OneOf(OUTCOMES), "\"deadlock\""),
];

const OUTCOMES: &[&str] = &["deadlock", "panic", "livelock", "data-race", "misuse", "crash", "leak"];
/// Those of the engine (`cargo xtask tidy` compares the two).
const PRIORITIES: &[&str] =
    &["pb", "dpor", "mdpor", "ss", "rand", "method", "var", "changed", "seq", "distance", "dfs", "bfs"];
/// And their milliseconds.
const TIME_UNITS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// One `name = value`.
struct Argument {
    name: Ident,
    value: Expr,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name: Ident = input.parse()?;
        if input.is_empty() || input.peek(Token![,]) {
            let message = match ARGUMENTS.iter().find(|known| name == known.0) {
                Some((known, _, example)) => {
                    format!("`{known}` needs a value, such as `{known} = {example}`")
                }
                None => unknown_name(&name),
            };
            return Err(Error::new(name.span(), message));
        }
        if input.peek(Token![-]) {
            let message = "names of arguments are written with `_`, such as `max_time`";
            return Err(Error::new(name.span(), message));
        }
        input.parse::<Token![=]>()?;
        Ok(Argument { name, value: input.parse()? })
    }
}

/// Checks the arguments and writes them as `name=value;name=value`, in the order in which they stand.
///
/// All mistakes are reported together, each at its own place.
pub(crate) fn options_text(arguments: TokenStream) -> Result<String> {
    let arguments = Punctuated::<Argument, Token![,]>::parse_terminated.parse2(arguments)?;
    let mut seen: Vec<String> = Vec::new();
    let mut options: Vec<String> = Vec::new();
    let mut errors: Option<Error> = None;
    for Argument { name, value } in arguments {
        let text = name.to_string();
        let checked = if seen.contains(&text) {
            Err(Error::new(name.span(), format!("`{text}` is given twice")))
        } else {
            checked_value(&name, &value)
        };
        match checked {
            Ok(value) => options.push(format!("{text}={value}")),
            Err(error) => match &mut errors {
                Some(first) => first.combine(error),
                None => errors = Some(error),
            },
        }
        seen.push(text);
    }
    errors.map_or_else(|| Ok(options.join(";")), Err)
}

fn checked_value(name: &Ident, value: &Expr) -> Result<String> {
    let Some((known, kind, example)) = ARGUMENTS.iter().find(|known| name == known.0) else {
        return Err(Error::new(name.span(), unknown_name(name)));
    };
    let wrong_type = |wanted: &str| {
        Error::new_spanned(value, format!("`{known}` takes {wanted}, such as `{known} = {example}`"))
    };
    match (kind, value) {
        (Kind::Number { min, max }, Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => {
            checked_number(known, number, *min, *max)
        }
        (Kind::Number { .. }, _) => Err(wrong_type("a whole number")),
        (Kind::OneOf(words), Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => {
            checked_word(known, text, words)
        }
        (Kind::Priorities, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => checked_priorities(text),
        (Kind::Duration, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => checked_duration(text),
        (Kind::Names, Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => checked_names(text),
        (Kind::OneOf(_) | Kind::Priorities | Kind::Duration | Kind::Names, _) => Err(wrong_type("a string")),
    }
}

fn checked_number(name: &str, number: &LitInt, min: u64, max: u64) -> Result<String> {
    if !number.suffix().is_empty() {
        let message = format!("`{name}` takes a whole number without a suffix: `{}`", number.base10_digits());
        return Err(Error::new(number.span(), message));
    }
    match number.base10_parse::<u64>() {
        Ok(value) if value < min => {
            Err(Error::new(number.span(), format!("`{name}` must be at least {min}")))
        }
        Ok(value) if value <= max => Ok(value.to_string()),
        Ok(_) | Err(_) => Err(Error::new(number.span(), format!("`{name}` can be at most {max}"))),
    }
}

fn checked_word(name: &str, text: &LitStr, words: &[&str]) -> Result<String> {
    let word = text.value();
    if words.contains(&word.as_str()) {
        return Ok(word);
    }
    let hint = suggestion(&word, words);
    let message = format!("`{word}` is no value of `{name}`{hint}; valid are: {}", words.join(", "));
    Err(Error::new(text.span(), message))
}

fn checked_priorities(text: &LitStr) -> Result<String> {
    let list = text.value();
    let mut names: Vec<&str> = Vec::new();
    for name in list.split(',').map(str::trim) {
        let (function, seed) =
            name.split_once(':').map_or((name, None), |(function, seed)| (function, Some(seed)));
        let problem = if name.is_empty() {
            Some("a name is missing in this list of priority functions".to_owned())
        } else if !PRIORITIES.contains(&function) {
            let hint = suggestion(function, PRIORITIES);
            Some(format!("`{name}` is no priority function{hint}"))
        } else if seed.is_some() && function != "rand" {
            Some(format!("`{function}` takes no number; only `rand` does"))
        } else if seed.is_some_and(|seed| !is_u64(seed)) {
            Some(format!("`{name}`: a whole number must follow `rand:`, such as `rand:7`"))
        } else if names.contains(&name) {
            Some(format!("`{name}` is named twice"))
        } else {
            None
        };
        if let Some(problem) = problem {
            let valid = PRIORITIES.join(", ").replace("rand", "rand, rand:N");
            return Err(Error::new(text.span(), format!("{problem}; valid are: {valid}")));
        }
        names.push(name);
    }
    Ok(names.join(","))
}

fn checked_names(text: &LitStr) -> Result<String> {
    let list = text.value();
    let is_path = |name: &str| {
        let part = |c: char| c.is_alphanumeric() || "_:#".contains(c);
        !name.is_empty() && name.chars().all(part)
    };
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    match names.iter().find(|name| !is_path(name)) {
        None => Ok(names.join(",")),
        Some(name) => {
            let message =
                format!("`{name}` is no path: write names separated by commas, such as `a::B::c, D`");
            Err(Error::new(text.span(), message))
        }
    }
}

fn checked_duration(text: &LitStr) -> Result<String> {
    let duration = text.value();
    let unit = duration.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &duration[..duration.len() - unit.len()];
    let unit = TIME_UNITS.iter().find(|(known, _)| *known == unit);
    let milliseconds = unit.and_then(|(_, each)| number.parse::<u64>().ok()?.checked_mul(*each));
    let problem = match milliseconds {
        None => "is no duration",
        Some(0) => "leaves no time for a single execution",
        Some(_) => return Ok(duration),
    };
    let message = format!(
        "`{duration}` {problem}: write a whole number and a unit, such as `500ms`, `10s`, `5m` or `2h`"
    );
    Err(Error::new(text.span(), message))
}

/// Digits only: `u64::from_str` alone would also take a leading `+`.
fn is_u64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u64>().is_ok()
}

fn unknown_name(name: &Ident) -> String {
    let name = name.to_string();
    let valid: Vec<_> = ARGUMENTS.iter().map(|known| known.0).collect();
    let hint = suggestion(&name, &valid);
    format!("`#[schedcheck]` has no argument `{name}`{hint}; valid are: {}", valid.join(", "))
}

/// ` (did you mean …?)` for the nearest of `known`, or nothing if none is near.
fn suggestion(typed: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|word| (edit_distance(typed, word), word)).min();
    match nearest {
        Some((distance, word)) if distance <= 1 + word.len() / 4 && distance < word.len() => {
            format!(" (did you mean `{word}`?)")
        }
        _ => String::new(),
    }
}

/// Insertions, deletions and replacements that turn one word into the other (Levenshtein), one row at a time.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options text, or all error messages, one a line.
    fn check(arguments: &str) -> String {
        let tokens: TokenStream = arguments.parse().expect("the test's own tokens");
        match options_text(tokens) {
            Ok(text) => text,
            Err(errors) => errors.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join("\n"),
        }
    }

    #[test]
    fn valid_arguments_keep_their_order_and_lose_their_quotes() {
        let cases = [
            ("", ""),
            ("bound = 2", "bound=2"),
            (
                "bound = 2, priority = \"mdpor,pb\", max_time = \"10s\",",
                "bound=2;priority=mdpor,pb;max_time=10s",
            ),
            ("priority = \" ss , rand:7\"", "priority=ss,rand:7"),
            ("reduction = \"source\", seed = 0xff", "reduction=source;seed=255"),
            ("max_executions = 1_000, max_steps = 500", "max_executions=1000;max_steps=500"),
            ("spurious = 0, timeouts = 1, weak_cas = 2", "spurious=0;timeouts=1;weak_cas=2"),
            ("seed = 18446744073709551615", "seed=18446744073709551615"),
        ];
        for (arguments, expected) in cases {
            assert_eq!(check(arguments), expected, "for `{arguments}`");
        }
    }

    #[test]
    fn every_expected_outcome_and_every_priority_is_accepted() {
        for outcome in OUTCOMES {
            assert_eq!(check(&format!("expect = {outcome:?}")), format!("expect={outcome}"));
        }
        for priority in PRIORITIES {
            assert_eq!(check(&format!("priority = {priority:?}")), format!("priority={priority}"));
        }
    }

    #[test]
    fn every_example_of_an_error_message_is_itself_valid() {
        for (name, _, example) in ARGUMENTS {
            let text = check(&format!("{name} = {example}"));
            assert_eq!(text, format!("{name}={}", example.trim_matches('"')));
        }
    }

    #[test]
    fn wrong_arguments_are_named_with_what_would_be_right() {
        let cases = [
            ("bond = 2", "has no argument `bond` (did you mean `bound`?); valid are: bound, priority,"),
            ("colour = 2", "has no argument `colour`; valid are: bound,"),
            ("bound = 1, bound = 2", "`bound` is given twice"),
            ("bound", "`bound` needs a value, such as `bound = 2`"),
            ("bound = \"2\"", "`bound` takes a whole number, such as `bound = 2`"),
            ("bound = -1", "`bound` takes a whole number"),
            ("bound = 2u8", "without a suffix: `2`"),
            ("bound = 4294967296", "`bound` can be at most 4294967295"),
            ("seed = 18446744073709551616", "`seed` can be at most 18446744073709551615"),
            ("max_steps = 0", "`max_steps` must be at least 1"),
            ("max_steps = 4294967296", "`max_steps` can be at most 4294967295"),
            ("max_time = \"18446744073709551615s\"", "is no duration"),
            ("priority = 2", "`priority` takes a string, such as `priority = \"mdpor,pb\"`"),
            (
                "priority = \"mdpro\"",
                "`mdpro` is no priority function (did you mean `mdpor`?); valid are: pb,",
            ),
            ("priority = \"\"", "a name is missing"),
            ("priority = \"pb,,ss\"", "a name is missing"),
            ("priority = \"pb,pb\"", "`pb` is named twice"),
            ("priority = \"pb:3\"", "`pb` takes no number"),
            ("priority = \"rand:x\"", "a whole number must follow `rand:`"),
            ("priority = \"rand:\"", "a whole number must follow `rand:`"),
            (
                "reduction = \"optimum\"",
                "did you mean `optimal`?); valid are: optimal, source, classic, none",
            ),
            ("expect = \"data race\"", "did you mean `data-race`?"),
            ("max_time = 10", "`max_time` takes a string, such as `max_time = \"10s\"`"),
            ("max_time = \"10\"", "`10` is no duration"),
            ("max_time = \"+1s\"", "`+1s` is no duration"),
            ("max_time = \"ten seconds\"", "is no duration"),
            ("max_time = \"99999999999999999999s\"", "is no duration"),
            ("max_time = \"0s\"", "leaves no time"),
        ];
        for (arguments, expected) in cases {
            let message = check(arguments);
            assert!(message.contains(expected), "for `{arguments}`: {message}");
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        assert_eq!(check("bond = 2, max_time = \"x\", seed = true").lines().count(), 3);
    }

    #[test]
    fn edit_distance_is_symmetric_and_counts_edits() {
        for (from, to, distance) in
            [("", "abc", 3), ("bound", "bond", 1), ("mdpro", "mdpor", 2), ("ss", "ss", 0)]
        {
            assert_eq!(edit_distance(from, to), distance);
            assert_eq!(edit_distance(to, from), distance);
        }
    }
}
