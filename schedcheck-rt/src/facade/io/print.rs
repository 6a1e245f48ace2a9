//! What `print!` and its like expand to.

use super::output::{STDERR, STDOUT};
use std::fmt::{self, Write as _};
use std::panic::Location;

/// Prints piece by piece: the real lock is not held while a value is formatted, which may be other threads' turn.
struct Pieces(fn(&str));

impl fmt::Write for Pieces {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        (self.0)(piece);
        Ok(())
    }
}

fn print(to: fn(&str), text: fmt::Arguments<'_>, end: &str) {
    match text.as_str() {
        Some(text) => to(text),
        // A value that cannot be formatted is a panic in std, too.
        None => Pieces(to).write_fmt(text).expect("a formatting trait implementation returned an error"),
    }
    if !end.is_empty() {
        to(end);
    }
}

#[expect(clippy::print_stdout, reason = "this is what prints")]
fn to_stdout(piece: &str) {
    std::print!("{piece}");
}

fn to_stderr(piece: &str) {
    std::eprint!("{piece}");
}

macro_rules! printers {
    ($($(#[$doc:meta])* $name:ident: $lock:ident, $to:ident, $end:literal;)*) => { $(
        $(#[$doc])*
        #[doc(hidden)]
        #[track_caller]
        pub fn $name(text: fmt::Arguments<'_>) {
            $lock.pass(Location::caller(), || print($to, text, $end));
        }
    )* };
}

printers! {
    /// `print!`.
    _print: STDOUT, to_stdout, "";
    /// `println!`.
    _print_line: STDOUT, to_stdout, "\n";
    /// `eprint!`.
    _eprint: STDERR, to_stderr, "";
    /// `eprintln!`.
    _eprint_line: STDERR, to_stderr, "\n";
}
