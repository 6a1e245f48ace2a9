//! Writing JSON: just enough for events.

use std::fmt::Write;

/// A JSON object under construction, one line.
#[derive(Debug, Default)]
pub struct Object {
    text: String,
}

impl Object {
    /// An empty object.
    pub fn new() -> Object {
        Object { text: String::from("{") }
    }

    fn key(&mut self, key: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        escape_into(&mut self.text, key);
        self.text.push(':');
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        escape_into(&mut self.text, value);
        self
    }

    /// Adds a number, or `null`.
    #[must_use]
    pub fn number<N: Into<Option<u64>>>(mut self, key: &str, value: N) -> Object {
        self.key(key);
        match value.into() {
            Some(number) => write!(self.text, "{number}").expect("writing to a string"),
            None => self.text.push_str("null"),
        }
        self
    }

    /// Adds a number with a fraction, or `null`.
    #[must_use]
    pub fn fraction(mut self, key: &str, value: Option<f64>) -> Object {
        self.key(key);
        match value {
            Some(number) if number.is_finite() => {
                write!(self.text, "{number:.1}").expect("writing to a string")
            }
            _ => self.text.push_str("null"),
        }
        self
    }

    /// Adds true or false.
    #[must_use]
    pub fn flag(mut self, key: &str, value: bool) -> Object {
        self.key(key);
        self.text.push_str(if value { "true" } else { "false" });
        self
    }

    /// Adds something that is JSON already.
    #[must_use]
    pub fn raw(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        self.text.push_str(value);
        self
    }

    /// The finished text.
    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// A JSON array of things that are JSON already.
pub fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

/// A JSON text.
pub fn text(value: &str) -> String {
    let mut out = String::new();
    escape_into(&mut out, value);
    out
}

fn escape_into(out: &mut String, value: &str) {
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                write!(out, "\\u{:04x}", u32::from(control)).expect("writing to a string");
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_one_line_of_valid_json() {
        let line = Object::new()
            .text("event", "a \"b\"\n\u{1}")
            .number("n", 3)
            .number("none", None)
            .flag("yes", true)
            .fraction("f", Some(1.25))
            .raw("list", &array([text("x"), "1".to_owned()]))
            .finish();
        assert_eq!(
            line,
            r#"{"event":"a \"b\"\n\u0001","n":3,"none":null,"yes":true,"f":1.2,"list":["x",1]}"#
        );
    }
}
