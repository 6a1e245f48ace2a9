//! What a recorded schedule means: who held which lock from when to when, and which step had to wait for which.
//!
//! Everything is derived from the names of the operations, so every report can use it and the engine need not know.
use std::collections::BTreeMap;

use crate::run::wire::{Finished, Step};

/// A lock in the hands of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub thread: usize,
    pub object: String,
    /// Position in the trace of the step that took it.
    pub from: usize,
    /// Position of the step that gave it back; nothing when it never was.
    pub to: Option<usize>,
    /// Others may hold it at the same time.
    pub shared: bool,
}

/// A step that happened before another one of a different thread and made it possible or visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Positions in the trace.
    pub from: usize,
    pub to: usize,
    pub why: &'static str,
}

/// All locks that were held, in the order in which they were taken.
pub fn holds(finished: &Finished) -> Vec<Hold> {
    let mut holds: Vec<Hold> = Vec::new();
    for (at, step) in finished.trace.iter().enumerate() {
        let Some(object) = step.object.as_deref().filter(|object| !object.is_empty()) else { continue };
        let of_object = |hold: &&mut Hold| hold.object == object && hold.to.is_none();
        let free = |shared: bool| {
            holds.iter().all(|hold| hold.object != object || hold.to.is_some() || (shared && hold.shared))
        };
        let shared = match word(&step.op) {
            "lock" | "write" => Some(false),
            "try_lock" | "try_write" if free(false) => Some(false),
            // A reader that stands in line gets the lock in a later step.
            "read" if step.takes_default() => Some(true),
            "read_in_line" => Some(true),
            "try_read" if free(true) => Some(true),
            "unlock" | "read_unlock" | "write_unlock" => {
                if let Some(hold) =
                    holds.iter_mut().rev().filter(of_object).find(|hold| hold.thread == step.thread)
                {
                    hold.to = Some(at);
                }
                None
            }
            "downgrade" => {
                holds.iter_mut().filter(of_object).for_each(|hold| hold.shared = true);
                None
            }
            _ => None,
        };
        if let Some(shared) = shared {
            holds.push(Hold { thread: step.thread, object: object.to_owned(), from: at, to: None, shared });
        }
    }
    holds
}

/// Where `thread` took `object`, which it still holds at the end.
pub fn holding<'a>(finished: &'a Finished, thread: usize, object: &str) -> Option<&'a Step> {
    let held = holds(finished);
    let hold =
        held.iter().find(|hold| hold.thread == thread && hold.object == object && hold.to.is_none())?;
    finished.trace.get(hold.from)
}

/// The order between threads that the operations themselves impose, the nearest cause of each step only.
pub fn edges(finished: &Finished) -> Vec<Edge> {
    let trace = &finished.trace;
    let mut edges = Vec::new();
    // The last step of each kind on each object, and the end of each thread by name.
    let mut last: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, step) in trace.iter().enumerate() {
        let object = step.object.as_deref();
        let on_same = |names: &[&'static str]| {
            names.iter().filter_map(|name| last.get(&(object, *name)).copied()).max()
        };
        let cause = match word(&step.op) {
            "begin" => spawn_of(finished, step.thread, at).map(|from| (from, "starts")),
            "join" => object.and_then(|name| Some((*ends.get(name)?, "ends before the join"))),
            "lock" | "try_lock" | "read" | "read_in_line" | "try_read" | "write" | "try_write" => {
                on_same(&["unlock", "read_unlock", "write_unlock"]).map(|from| (from, "unlocks before"))
            }
            "load" | "rmw" | "cas" | "cas_weak" => {
                on_same(&["store", "rmw", "cas", "cas_weak"]).map(|from| (from, "writes before"))
            }
            "wake" if step.takes_default() => {
                on_same(&["notify_one", "notify_all"]).map(|from| (from, "wakes"))
            }
            "futex_sleep" if step.takes_default() => on_same(&["futex_wake"]).map(|from| (from, "wakes")),
            "park" if step.takes_default() => on_same(&["unpark"]).map(|from| (from, "unparks")),
            "recv" | "try_recv" => {
                on_same(&["send", "try_send", "drop_sender"]).map(|from| (from, "sends before"))
            }
            "once" | "once_wait" | "is_completed" => {
                on_same(&["once_end"]).map(|from| (from, "initialises before"))
            }
            "barrier_leave" => on_same(&["barrier"]).map(|from| (from, "arrives before")),
            _ => None,
        };
        last.insert((object, word(&step.op)), at);
        // A scope may go on when the body of its thread is done, before that ends.
        if matches!(word(&step.op), "finish" | "end") {
            ends.insert(name_of(finished, step.thread), at);
        }
        if let Some((from, why)) = cause.filter(|(from, _)| trace[*from].thread != step.thread) {
            edges.push(Edge { from, to: at, why });
        }
    }
    edges
}

/// The step that started a thread: its parent's n-th spawn.
fn spawn_of(finished: &Finished, thread: usize, before: usize) -> Option<usize> {
    let (parent, nth) = finished.threads.get(thread)?.path.rsplit_once('.')?;
    let parent = finished.threads.iter().position(|other| other.path == parent)?;
    let nth: usize = nth.parse().ok()?;
    let mut spawns = finished.trace[..before]
        .iter()
        .enumerate()
        .filter(|(_, step)| step.thread == parent && word(&step.op) == "spawn");
    spawns.nth(nth.checked_sub(1)?).map(|(at, _)| at)
}

fn name_of(finished: &Finished, thread: usize) -> &str {
    finished.threads.get(thread).map_or("", |thread| &thread.name)
}

/// The operation without its kind of object: `lock` of `mutex.lock`.
pub fn word(op: &str) -> &str {
    op.rsplit('.').next().unwrap_or(op)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as `thread op object`, threads named by their numbers.
    fn story(steps: &[&str]) -> Finished {
        let steps: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                let mut words = step.split(' ');
                let mut next = || words.next().unwrap_or_default();
                let (thread, op, object, alt) = (next(), next(), next(), next());
                let alt = if alt.is_empty() { "0" } else { alt };
                format!(r#"{{"step":{at},"thread":{thread},"op":"{op}","object":"{object}","alt":"{alt}"}}"#)
            })
            .collect();
        let json = format!(
            r#"{{"outcome":"panic","threads":[{{"path":"0","name":"main"}},{{"path":"0.1","name":"a"}},
            {{"path":"0.2","name":"b"}}],"trace":[{}]}}"#,
            steps.join(",")
        );
        serde_json::from_str(&json).unwrap()
    }

    fn held(steps: &[&str]) -> Vec<(usize, usize, Option<usize>)> {
        holds(&story(steps)).into_iter().map(|hold| (hold.thread, hold.from, hold.to)).collect()
    }

    #[test]
    fn locks_are_held_from_lock_to_unlock() {
        assert_eq!(held(&["1 lock m", "2 lock n", "1 unlock m"]), [(1, 0, Some(2)), (2, 1, None)]);
        assert_eq!(held(&["1 lock m", "2 try_lock m", "1 unlock m"]), [(1, 0, Some(2))]);
        assert_eq!(held(&["1 read r", "2 read r", "2 read_unlock r"]), [(1, 0, None), (2, 1, Some(2))]);
        assert_eq!(held(&["1 read r 1"]), [], "it stands in line behind a writer");
    }

    #[test]
    fn causes_are_found_across_threads() {
        let finished = story(&[
            "0 spawn",
            "0 spawn",
            "2 begin",
            "2 lock m",
            "2 unlock m",
            "0 lock m",
            "2 store x",
            "0 load x",
            "2 end",
            "0 join b",
        ]);
        let found: Vec<_> = edges(&finished).into_iter().map(|edge| (edge.from, edge.to)).collect();
        assert_eq!(found, [(1, 2), (4, 5), (6, 7), (8, 9)]);
    }

    #[test]
    fn a_step_has_no_cause_in_its_own_thread() {
        assert_eq!(edges(&story(&["1 lock m", "1 unlock m", "1 lock m"])), []);
        assert_eq!(edges(&story(&["1 notify_one c", "2 wake c 65533"])), [], "it woke for no reason");
    }
}
