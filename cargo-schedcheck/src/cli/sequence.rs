//! Sequences and meetings of places: `src/a.rs:10 -> src/b.rs:20`, `q.rs:88 & q.rs:120`.

/// Most places of one sequence.
const MOST: usize = 60;

/// Checks a sequence; what it means is the engine's business.
pub fn parse_sequence(text: &str) -> Result<String, String> {
    parse(text, "->", 1)
}

/// Checks a meeting of at least two places.
pub fn parse_meeting(text: &str) -> Result<String, String> {
    parse(text, "&", 2)
}

fn parse(text: &str, separator: &str, fewest: usize) -> Result<String, String> {
    let mut places = Vec::new();
    let mut column = 1;
    for part in text.split(separator) {
        let place = part.trim();
        let blank = part.chars().take_while(|c| c.is_whitespace()).count();
        check(place).map_err(|problem| {
            let number = places.len() + 1;
            format!("place {number}, column {}: {problem}", column + blank)
        })?;
        places.push(place);
        column += part.chars().count() + separator.len();
    }
    if places.len() < fewest {
        let end = text.chars().count() + 1;
        return Err(format!("column {end}: expected `{separator}` and another place"));
    }
    if places.len() > MOST {
        return Err(format!("{} places are too many; at most {MOST} are possible", places.len()));
    }
    Ok(places.join(&format!(" {separator} ")))
}

/// `FILE:LINE`, or a name.
fn check(place: &str) -> Result<(), String> {
    const EXPECTED: &str = "expected FILE:LINE, such as `src/queue.rs:88`, or a name";
    if place.is_empty() {
        return Err(format!("{EXPECTED}, found nothing"));
    }
    if let Some((file, line)) = place.rsplit_once(':').filter(|(file, _)| !file.ends_with(':')) {
        return match line.parse::<u32>() {
            _ if file.is_empty() => Err(format!("{EXPECTED}, but `{place}` has no file")),
            Ok(1..) => Ok(()),
            _ => Err(format!("`{line}` is not the number of a line")),
        };
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    match place.chars().find(|c| !is_name(*c)) {
        Some(wrong) => Err(format!("{EXPECTED}; `{wrong}` belongs into neither")),
        None if place.ends_with(".rs") => Err(format!("`{place}` has no line: `{place}:LINE`")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_or_names() {
        assert_eq!(
            parse_sequence("src/a.rs:10->b.rs:2 ->  sold").as_deref(),
            Ok("src/a.rs:10 -> b.rs:2 -> sold")
        );
        assert_eq!(parse_meeting("q.rs:88 & q.rs:120").as_deref(), Ok("q.rs:88 & q.rs:120"));
    }

    #[test]
    fn errors_say_where_and_what_would_be_right() {
        let error = |text| parse_sequence(text).unwrap_err();
        assert_eq!(
            error("a.rs:1 -> "),
            "place 2, column 11: expected FILE:LINE, such as `src/queue.rs:88`, or a name, found nothing"
        );
        assert_eq!(error("a.rs:1 -> b.rs:x"), "place 2, column 11: `x` is not the number of a line");
        assert_eq!(error("a.rs:0"), "place 1, column 1: `0` is not the number of a line");
        assert_eq!(error("  b.rs"), "place 1, column 3: `b.rs` has no line: `b.rs:LINE`");
        assert!(error(":7").contains("has no file"));
        assert!(error("a.rs:1 > b").contains("is not the number of a line"));
        assert!(error("what now").contains("` ` belongs into neither"));
        assert_eq!(parse_meeting("a.rs:1").unwrap_err(), "column 7: expected `&` and another place");
    }
}
