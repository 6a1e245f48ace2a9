//! Elements of XML 1.0, written as text: all that a JUnit report needs.
use std::fmt::{self, Display, Formatter};

use anstream::adapter::strip_str;

/// One element with what is inside of it.
#[derive(Debug)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    text: Option<String>,
    children: Vec<Element>,
}

impl Element {
    /// An element without anything.
    pub fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new(), text: None, children: Vec::new() }
    }

    /// With one more attribute.
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// With text inside.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With more elements inside.
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children);
        self
    }

    fn write(&self, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        let indent = depth * 4;
        write!(f, "{:indent$}<{}", "", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", Escaped { text: value, in_attribute: true })?;
        }
        match &self.text {
            None if self.children.is_empty() => return writeln!(f, "/>"),
            None => writeln!(f, ">")?,
            // White space beside the text would belong to it.
            Some(text) => write!(f, ">{}", Escaped { text, in_attribute: false })?,
        }
        for child in &self.children {
            child.write(depth + 1, f)?;
        }
        let indent = if self.text.is_some() { 0 } else { indent };
        writeln!(f, "{:indent$}</{}>", "", self.name)
    }
}

/// The whole document with this element at the top.
impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        self.write(0, f)
    }
}

/// Text without colours and without characters that XML does not know.
struct Escaped<'a> {
    text: &'a str,
    in_attribute: bool,
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for part in strip_str(self.text) {
            for character in part.chars() {
                match character {
                    '&' => f.write_str("&amp;")?,
                    '<' => f.write_str("&lt;")?,
                    '>' => f.write_str("&gt;")?,
                    '"' if self.in_attribute => f.write_str("&quot;")?,
                    // A reader makes a space of them where they stand as they are.
                    '\n' | '\t' if self.in_attribute => write!(f, "&#{};", u32::from(character))?,
                    // A reader would make a line feed of it.
                    '\r' => f.write_str("&#13;")?,
                    '\n' | '\t' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
                        write!(f, "{character}")?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_inside_each_other() {
        let inner = [Element::new("b").with("n", 1), Element::new("c").text("two\nlines")];
        let text = Element::new("a").children(inner).to_string();
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a>\n    <b n=\"1\"/>\n    <c>two\nlines</c>\n</a>\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_leaves_the_place_it_stands_in() {
        let nasty = "</c> \"&\" \u{1b}[31mred\u{1b}[0m \u{0}\u{fffe}\r\n\tend";
        let text = Element::new("c").with("n", nasty).text(nasty).to_string();
        let expected = "<c n=\"&lt;/c&gt; &quot;&amp;&quot; red &#13;&#10;&#9;end\">\
                        &lt;/c&gt; \"&amp;\" red &#13;\n\tend</c>\n";
        assert_eq!(text.split_once('\n').unwrap().1, expected);
    }
}
