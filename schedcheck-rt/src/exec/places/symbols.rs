//! Functions and statics of the running program by name, from its own symbol table and debug information.

use super::elf::{Elf, Entry};
use super::inlined::{self, Inlined};
use std::ffi::{c_int, c_void};

/// Ranges of addresses, sorted.
#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<(usize, usize)>);

impl Ranges {
    pub(super) fn add(&mut self, start: usize, end: usize) {
        self.0.push((start, end));
    }

    /// Sorted and without overlaps, ready to be asked.
    pub(super) fn finished(mut self) -> Ranges {
        self.0.sort_unstable();
        self.0.dedup_by(|later, earlier| {
            let touches = later.0 <= earlier.1;
            if touches {
                earlier.1 = earlier.1.max(later.1);
            }
            touches
        });
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `address` lies in one of them.
    pub(super) fn contain(&self, address: usize) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        after > 0 && address < self.0[after - 1].1
    }
}

/// One named range of the program.
#[derive(Debug)]
struct Symbol {
    /// The elements of its path.
    path: Vec<String>,
    start: usize,
    end: usize,
    is_function: bool,
}

/// The named ranges of a program.
#[derive(Debug, Default)]
pub(super) struct Symbols(Vec<Symbol>);

impl Symbols {
    /// Adds the functions that `path` names; false if there are none. Anchored: the path begins with
    /// a crate. Otherwise it may leave out what stands before.
    pub(super) fn add_functions(&self, path: &str, anchored: bool, into: &mut Ranges) -> bool {
        let wanted = elements(path);
        let mut found = false;
        for symbol in self.0.iter().filter(|symbol| symbol.is_function && !wanted.is_empty()) {
            let mut windows = symbol.path.windows(wanted.len());
            let fits = if anchored { symbol.path.starts_with(&wanted) } else { windows.any(|w| w == wanted) };
            if fits {
                found = true;
                into.0.push((symbol.start, symbol.end));
            }
        }
        found
    }

    /// Adds the statics whose path ends in `path`.
    pub(super) fn add_statics(&self, path: &str, into: &mut Ranges) {
        let wanted = elements(path);
        let statics = self.0.iter().filter(|symbol| !symbol.is_function && !wanted.is_empty());
        let named = statics.filter(|symbol| symbol.path.ends_with(&wanted));
        into.0.extend(named.map(|symbol| (symbol.start, symbol.end)));
    }
}

/// Reads the symbol table of the running program; empty if it was stripped.
pub(super) fn of_this_program() -> Symbols {
    let Ok(file) = std::fs::read("/proc/self/exe") else { return Symbols::default() };
    read(&file, load_address()).unwrap_or_default()
}

/// By how much the loader moved the program.
pub(super) fn load_address() -> usize {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, base: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry, and `base` is the caller's. The program comes first.
        unsafe { *base.cast::<usize>() = (*info).dlpi_addr as usize };
        1
    }
    let mut base = 0_usize;
    // SAFETY: the callback gets the pointer that is passed here.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    base
}

/// The functions and statics of a program, and the copies of functions that were inlined.
fn read(file: &[u8], base: usize) -> Option<Symbols> {
    let elf = Elf::new(file)?;
    let symbol = |Entry { name, start, length, is_function }: Entry<'_>| {
        let start = base + start;
        Symbol { path: path_of(name), start, end: start + length, is_function }
    };
    let mut symbols: Vec<Symbol> = elf.symbols().map(symbol).collect();
    for Inlined { name, ranges } in inlined::functions(&elf) {
        let path = path_of(name);
        let copies = ranges.into_iter().map(|(start, end)| Symbol {
            path: path.clone(),
            start: base + start,
            end: base + end,
            is_function: true,
        });
        symbols.extend(copies);
    }
    Some(Symbols(symbols))
}

fn path_of(symbol: &str) -> Vec<String> {
    elements(&format!("{:#}", rustc_demangle::demangle(symbol)))
}

/// The elements of a path, without generic arguments; of `<A as B>::c` and `<impl B for A>::c` those
/// of `A::c`.
fn elements(path: &str) -> Vec<String> {
    let mut elements: Vec<String> = vec![String::new()];
    let mut rest = path;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("::") {
            elements.push(String::new());
            rest = after;
        } else if character == '<' {
            let end = matching(rest);
            // In front of a path it is the type; behind a name, its arguments.
            let inner = &rest[1..end];
            if rest.len() == path.len() || inner.starts_with("impl ") {
                let of_impl = inner.strip_prefix("impl ").and_then(|inner| split_outside(inner, " for "));
                let inner = match (of_impl, split_outside(inner, " as ")) {
                    (Some((_, subject)), _) => subject,
                    (None, Some((subject, _))) => subject,
                    (None, None) => inner,
                };
                elements.extend(self::elements(inner.trim_start_matches(['&', '*'])));
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        } else {
            if let Some(element) = elements.last_mut() {
                element.push(character);
            }
            rest = &rest[character.len_utf8()..];
        }
    }
    elements.retain(|element| !element.is_empty());
    elements
}

/// Position of the `>` that closes the `<` at the start; `->` closes nothing.
fn matching(text: &str) -> usize {
    let mut depth = 0;
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
        previous = character;
    }
    text.len()
}

/// Splits at the first `separator` that lies in no angle brackets.
fn split_outside<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 && text[at..].starts_with(separator) => {
                return Some((&text[..at], &text[at + separator.len()..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_without_generics_and_traits() {
        for (text, expected) in [
            ("port::Port<T>::enqueue", "port Port enqueue"),
            ("<port::Port<T> as core::ops::drop::Drop>::drop", "port Port drop"),
            ("<port::Port>::enqueue::{closure#0}", "port Port enqueue {closure#0}"),
            (
                "port::inner::<impl core::fmt::Debug for port::Port<alloc::vec::Vec<u8>>>::fmt",
                "port inner port Port fmt",
            ),
            ("a::b::<fn(u8) -> u8>::c", "a b c"),
        ] {
            assert_eq!(elements(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn functions_of_this_very_test_are_found() {
        let symbols = of_this_program();
        let mut ranges = Ranges::default();
        assert!(symbols.add_functions("Ranges::contain", false, &mut ranges));
        assert!(!symbols.add_functions("Ranges::contain", true, &mut ranges), "not the whole path");
        assert!(symbols.add_functions("schedcheck_rt::exec::places", true, &mut ranges));
        assert!(ranges.finished().contain(Ranges::contain as fn(&Ranges, usize) -> bool as usize));
        assert!(!symbols.add_functions("no_such_function", false, &mut Ranges::default()));
    }

    static NAMED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(7);

    #[test]
    fn statics_are_found_where_they_lie() {
        let mut ranges = Ranges::default();
        of_this_program().add_statics("NAMED", &mut ranges);
        assert!(ranges.finished().contain((&raw const NAMED).addr()));
    }
}
