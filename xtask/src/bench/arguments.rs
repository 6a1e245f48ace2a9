//! What is typed behind `bench`, read before anything is measured: a mistake costs no quarter of an hour.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

/// The options of a table or a figure, each with a value.
pub(super) struct Arguments<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Arguments<'a> {
    /// Reads options, of which there are those that are known.
    pub(super) fn read(typed: &[&'a str], known: &[&str]) -> Result<Arguments<'a>> {
        let mut values = BTreeMap::new();
        for pair in typed.chunks(2) {
            match *pair {
                [name, value] if known.contains(&name) => values.insert(name, value),
                [name] if known.contains(&name) => bail!("{name} needs a value"),
                _ => bail!("{} is not known here, only {}", pair[0], known.join(", ")),
            };
        }
        Ok(Arguments(values))
    }

    pub(super) fn number(&self, name: &str, default: u64) -> Result<u64> {
        self.0.get(name).map_or(Ok(default), |value| number(name, value))
    }

    /// A file that is to be written at the end.
    pub(super) fn file(&self, name: &str) -> Result<Option<String>> {
        self.0.get(name).map(|value| file(name, value)).transpose()
    }
}

/// A number of something: at least one.
pub(super) fn number<N: FromStr<Err: Display> + PartialOrd + Default>(name: &str, value: &str) -> Result<N> {
    let number = value.parse::<N>().map_err(|error| anyhow!("{name} {value}: {error}"))?;
    if number <= N::default() {
        bail!("{name} {value}: nothing would be measured");
    }
    Ok(number)
}

/// Seconds, or a part of one.
pub(super) fn seconds(name: &str, value: &str) -> Result<Duration> {
    let seconds = number::<f64>(name, value)?;
    Duration::try_from_secs_f64(seconds).with_context(|| format!("{name} {value}"))
}

/// The name of a file, which is there from now on.
pub(super) fn file(name: &str, value: &str) -> Result<String> {
    let opened = fs::File::options().create(true).append(true).open(value);
    opened.with_context(|| format!("{name} {value}"))?;
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(typed: &[&str]) -> String {
        let read = || -> Result<()> {
            let arguments = Arguments::read(typed, &["--seconds", "--svg"])?;
            arguments.number("--seconds", 10)?;
            arguments.file("--svg")?;
            Ok(())
        };
        format!("{:#}", read().expect_err("a mistake"))
    }

    #[test]
    fn what_is_not_typed_has_its_default() {
        let arguments = Arguments::read(&["--seconds", "3"], &["--seconds", "--seeds"]).unwrap();
        assert_eq!(arguments.number("--seconds", 10).unwrap(), 3);
        assert_eq!(arguments.number("--seeds", 10).unwrap(), 10);
        assert_eq!(arguments.file("--svg").unwrap(), None);
    }

    #[test]
    fn mistakes_are_named_with_what_was_typed() {
        assert_eq!(mistake(&["--secs", "3"]), "--secs is not known here, only --seconds, --svg");
        assert_eq!(mistake(&["--svg", "a", "b"]), "b is not known here, only --seconds, --svg");
        assert_eq!(mistake(&["--seconds"]), "--seconds needs a value");
        assert_eq!(mistake(&["--seconds", "soon"]), "--seconds soon: invalid digit found in string");
        assert_eq!(mistake(&["--seconds", "0"]), "--seconds 0: nothing would be measured");
        assert!(mistake(&["--svg", "/no/such/folder/a.svg"]).starts_with("--svg /no/such/folder/a.svg: "));
        assert_eq!(seconds("--limit", "0.25").unwrap(), Duration::from_millis(250));
        assert!(seconds("--limit", "-1").is_err() && seconds("--limit", "1e30").is_err());
        assert!(seconds("--limit", "NaN").is_err());
    }
}
