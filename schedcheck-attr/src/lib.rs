//! The `#[schedcheck]` attribute of `cargo schedcheck`.
//!
//! Depend on `schedcheck-rt`, which re-exports it: the expansion names that crate. Examples are there, too.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod args;
mod expand;

use proc_macro::TokenStream;

/// The function stays an ordinary `#[test]`: `cargo test` runs it once, with real threads, and
/// `#[ignore]`, `#[should_panic]`, `#[cfg(…)]` and a `Result` return type mean what they always mean.
/// A `#[test]` beside it is not needed; if there is one, put it below `#[schedcheck]`: above, it is
/// expanded first and the test is listed twice.
///
/// # Arguments
///
/// All are optional; each has the meaning of the command line option of the same name.
///
/// | argument | example | meaning |
/// |---|---|---|
/// | `bound` | `2` | only schedules with at most so many preemptions |
/// | `priority` | `"mdpor,pb"` | the most important first: `pb dpor mdpor ss rand rand:N method var changed seq distance dfs bfs` |
/// | `reduction` | `"optimal"` | partial-order reduction: `optimal source classic none` |
/// | `max_time` | `"10s"` | budget of this test: a whole number and `ms`, `s`, `m` or `h` |
/// | `max_executions` | `1000` | budget of this test, in runs of its body |
/// | `max_steps` | `500` | length of one execution before it counts as a livelock |
/// | `seed` | `7` | for everything random |
/// | `random_runs` | `0` | random executions that are mixed in, at most |
/// | `hunts` | `0` | executions that are directed at what was predicted, at most |
/// | `levels` | `"off"` | whether a bounded search goes along with an unbounded one |
/// | `spurious` | `0` | spurious wake-ups that one execution may have |
/// | `timeouts` | `0` | time-outs that may fire in one execution |
/// | `weak_cas` | `0` | spurious failures of `compare_exchange_weak` in one execution |
/// | `method` | `"Queue::push, Queue::pop"` | functions that `method` prefers |
/// | `var` | `"HEAD"` | statics, fields, variables or labels that `var` prefers |
/// | `trust` | `"once_cell"` | crates, modules or functions that are not preempted inside |
/// | `focus` | `"my_crate::queue"` | those outside of which nothing is preempted |
/// | `cooperative` | `"on"` | threads are switched only at labels and where they block |
/// | `races` | `"off"` | data-race detection on plain memory |
/// | `leaks` | `"on"` | whether threads that outlive the test are a failure |
/// | `symmetry` | `"off"` | whether threads that are declared interchangeable are treated so |
/// | `expect` | `"deadlock"` | passes if found: `deadlock panic livelock data-race misuse crash leak` |
#[proc_macro_attribute]
pub fn schedcheck(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(arguments.into(), item.into()).into()
}
