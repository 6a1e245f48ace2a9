//! One attempt of a peer at one test, in a process of its own: what became of it is one JSON line.
//!
//! The first panic ends the process, before anything is unwound: peers may abort then, or not come back.

use std::any::Any;
use std::io::{self, Write};
use std::panic;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::peer;

/// Executions so far.
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

/// When the attempt began.
static START: OnceLock<Instant> = OnceLock::new();

/// What the environment asks for.
pub(crate) struct Request {
    /// The way to search, as the peer's module names it.
    #[cfg_attr(feature = "native", expect(dead_code, reason = "there is only one"))]
    pub(crate) way: String,
    #[cfg_attr(not(feature = "shuttle"), expect(dead_code, reason = "nothing is random, or everything"))]
    pub(crate) seed: u64,
    pub(crate) time: Duration,
}

/// Lets the peer look for a bug in `body` and says what it found.
pub fn run(body: fn()) {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let number = |name: &str| variable(name).parse::<u64>().expect("a number");
    let request = Request {
        way: variable("ATTEMPT_WAY"),
        seed: number("ATTEMPT_SEED"),
        time: Duration::from_millis(number("ATTEMPT_MILLISECONDS")),
    };
    panic::set_hook(Box::new(|info| {
        // Peers also unwind for reasons of their own, with payloads of their own.
        if let Some(message) = message(info.payload()) {
            end("failed", &message);
        }
    }));
    START.get_or_init(Instant::now);
    peer::explore(&request, move || {
        EXECUTIONS.fetch_add(1, Relaxed);
        body();
    });
    end(if elapsed() < request.time { "exhausted" } else { "out of time" }, "");
}

/// Executions that have begun.
#[cfg(feature = "native")]
pub(crate) fn executions() -> u64 {
    EXECUTIONS.load(Relaxed)
}

pub(crate) fn elapsed() -> Duration {
    START.get().map(Instant::elapsed).unwrap_or_default()
}

/// Prints the line and ends the process.
pub(crate) fn end(end: &str, message: &str) -> ! {
    let line = serde_json::json!({
        "end": end,
        "message": message,
        "executions": EXECUTIONS.load(Relaxed),
        "wall_ns": elapsed().as_nanos() as u64,
    });
    // Not `print!`: the harness catches that.
    let _ = writeln!(io::stdout(), "\nattempt {line}");
    process::exit(0)
}

fn message(payload: &(dyn Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
}
