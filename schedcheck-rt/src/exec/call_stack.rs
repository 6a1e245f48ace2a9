//! Who called whom, for reports: taken by std, read off its printed form, which is the only one that is stable.

use super::outcome::of_package;
use std::backtrace::Backtrace;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) function: String,
    /// File, line and column.
    pub(super) place: (String, u32, u32),
}

impl Call {
    /// Whether it is neither std's nor ours.
    fn is_of_user(&self) -> bool {
        let (file, ..) = &self.place;
        let own = ["schedcheck_rt::", "<schedcheck_rt::"];
        !is_of_std(file) && !is_own(file) && !own.iter().any(|prefix| self.function.starts_with(prefix))
    }
}

/// Whether a file belongs to std, wherever its sources are.
pub(super) fn is_of_std(file: &str) -> bool {
    let folders = ["/library/std/src/", "/library/core/src/", "/library/alloc/src/"];
    file.starts_with("/rustc/") || folders.iter().any(|folder| file.contains(folder))
}

/// Whether a file belongs to the engine, in its sysroot or in a test of its own. Users have folders named `engine`, too.
pub(super) fn is_own(file: &str) -> bool {
    file.contains("schedcheck-engine/src/") || file.contains("schedcheck-rt/src/")
}

/// The calls of user code, innermost first. Calls of std within them are left out.
pub(super) fn calls_of_user(stack: &Backtrace) -> Vec<Call> {
    let mut calls = parse(&stack.to_string());
    calls.retain(Call::is_of_user);
    calls
}

/// Where the user's own code called what waits: the innermost call that is not in a dependency, or else in any crate.
pub(super) fn own_call(stack: &Backtrace) -> Option<(String, u32, u32)> {
    let mut calls = calls_of_user(stack);
    let own = calls.iter().position(|call| of_package(&call.place.0) == call.place.0);
    (!calls.is_empty()).then(|| calls.swap_remove(own.unwrap_or(0)).place)
}

/// Below the first frame of a model thread is the engine, which has nothing to do with the user's calls.
const FIRST_FRAME: &str = "corosensei::";

/// Reads lines of the form `  4: function` followed by `at file:line:column`.
fn parse(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut function = "";
    for line in text.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(place) = parse_place(place) {
                calls.push(Call { function: function.to_owned(), place });
            }
        } else if let Some((number, name)) = line.split_once(": ")
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            if name.contains(FIRST_FRAME) {
                break;
            }
            function = name;
        }
    }
    calls
}

fn parse_place(place: &str) -> Option<(String, u32, u32)> {
    let mut parts = place.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    let file = parts.next()?;
    Some((absolute(file), line, column))
}

/// The path of a file that std shows relative to the current directory.
fn absolute(file: &str) -> String {
    let below = file.strip_prefix("./").and_then(|file| Some(std::env::current_dir().ok()?.join(file)));
    below.map_or_else(|| file.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_their_places() {
        let text = "   0: core::ptr::write::<u64>
             at /rustc/59807616/library/core/src/ptr/mod.rs:1:9
   1: bank::account::{closure#0}
             at ./bank/lib.rs:12:34
   2: unknown
   3: <corosensei::coroutine::Coroutine<(), (), ()>>::with_stack::coroutine_func
   4: bank::main
             at ./bank/lib.rs:1:0";
        let calls = parse(text);
        let users: Vec<_> = calls.iter().filter(|call| call.is_of_user()).collect();
        assert_eq!(calls.len(), 2);
        assert_eq!(users.len(), 1);
        assert_eq!(users[0].function, "bank::account::{closure#0}");
        let (file, line, column) = &users[0].place;
        assert!(file.starts_with('/') && file.ends_with("/bank/lib.rs"), "{file}");
        assert_eq!((*line, *column), (12, 34));
    }

    #[test]
    fn this_very_test_is_on_its_own_stack() {
        let calls = parse(&Backtrace::force_capture().to_string());
        assert!(calls.iter().any(|call| call.function.contains("this_very_test")), "{calls:?}");
    }
}
