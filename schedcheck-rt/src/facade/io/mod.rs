//! `std::io`: the streams of the process, whose locks are std's own.
//!
//! A lock that is held for a while ([`Stdout::lock`]) is a mutex of the model. One that is held for one
//! call, as by `println!`, is no step of its own: nothing of the program happens meanwhile, so all that it can
//! do is wait for somebody who holds the lock for a while. Where it finds the lock held it waits, and that
//! is a step. Where it does not, the search does not learn that it would have had to wait a moment later; if
//! that can matter, the coverage says so ([`crate::exec::Active::keeps_stream`]).
//!
//! Real locks are held for a moment only, apart from that of stdin, in whose buffer one reads: whoever holds that has the
//! model's, so nobody ever waits for a real one. (Threads that are abandoned do not give back what they have; with
//! statics, the lock of stdin is put back after each execution.)

mod lock;
mod output;
mod print;
mod stdin;
mod terminal;

pub use output::{Stderr, StderrLock, Stdout, StdoutLock, stderr, stdout};
pub use print::{_eprint, _eprint_line, _print, _print_line};
pub use stdin::{Stdin, StdinLock, stdin};
pub use terminal::IsTerminal;
