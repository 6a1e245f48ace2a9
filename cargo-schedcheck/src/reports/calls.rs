//! Calls of dependencies in a schedule: what a lock from the registry does inside matters only where it is interrupted. So it
//! is with what a library does in threads of its own, where no code of the user's is running.
use super::last_seen::Presence;
use super::story::word;
use crate::run::wire::{Finished, Step, Within};

/// Fewer steps of a library than that need no row in their place.
const FEW: usize = 4;

/// The calls of a schedule, to be asked step by step.
pub struct Calls<'a> {
    finished: &'a Finished,
    presence: Presence<'a>,
    /// The stretch that was looked at last: its first step, the one behind its last, and whether it can stand for them.
    last: (usize, usize, bool),
}

/// What a step is a part of.
#[derive(Clone, Copy, Debug)]
pub enum Inside<'a> {
    /// A call of a dependency.
    Call(&'a Within),
    /// What the package of that name does in a thread of its own.
    Library(&'a str),
}

impl Inside<'_> {
    fn is_same(self, other: Inside<'_>) -> bool {
        match (self, other) {
            (Inside::Call(call), Inside::Call(other)) => call == other,
            // Its own dependencies work for it.
            (Inside::Library(_), Inside::Library(_)) => true,
            _ => false,
        }
    }
}

/// A stretch of a call, nothing of which another thread came between by force.
#[derive(Debug)]
pub struct WholeCall<'a> {
    pub inside: Inside<'a>,
    /// How many steps it stands for.
    pub steps: usize,
    /// Whether this is the first of them.
    pub begins: bool,
}

impl<'a> Calls<'a> {
    pub fn of(finished: &'a Finished) -> Self {
        Self { finished, presence: Presence::of(finished), last: (0, 0, false) }
    }

    /// The call that a step can be shown as.
    ///
    /// A thread may give up its turn in the middle of one, to wait. But where it was preempted, and what it does
    /// afterwards, is what the reader wants to know: then all steps are shown. So are those that went an unusual way, and
    /// sides of a data race.
    pub fn whole(&mut self, at: usize) -> Option<WholeCall<'a>> {
        let inside = self.inside(at)?;
        if !(self.last.0..self.last.1).contains(&at) {
            let end = self.end_of_stretch(at);
            let suffices = matches!(inside, Inside::Call(_)) || end - at >= FEW;
            self.last = (at, end, suffices && self.is_whole(at, end));
        }
        let (start, end, whole) = self.last;
        // A library calls others: the first one is the one that runs the thread.
        let inside = self.inside(start).unwrap_or(inside);
        whole.then(|| WholeCall { inside, steps: end - start, begins: at == start })
    }

    fn inside(&self, at: usize) -> Option<Inside<'a>> {
        let step = &self.finished.trace[at];
        if let Some(within) = &step.within {
            return Some(Inside::Call(within));
        }
        let is_outside = self.presence.at(at) == Some(None);
        step.site.as_ref().filter(|_| is_outside).and_then(|site| package(&site.file)).map(Inside::Library)
    }

    /// Whether two steps are of one thread and of one call.
    fn are_together(&self, first: usize, other: usize) -> bool {
        let trace = &self.finished.trace;
        let insides = self.inside(first).zip(self.inside(other));
        trace[first].thread == trace[other].thread
            && insides.is_some_and(|(first, other)| first.is_same(other))
    }

    /// The step behind the last one of the stretch that begins with a step.
    fn end_of_stretch(&self, start: usize) -> usize {
        let all = start..self.finished.trace.len();
        start + all.take_while(|at| self.are_together(start, *at)).count()
    }

    fn is_whole(&self, start: usize, end: usize) -> bool {
        let trace = &self.finished.trace;
        let first = &trace[start];
        let is_plain = |step: &Step| {
            let races = self.finished.accesses.iter().any(|access| access.step == Some(step.step));
            // How long it went round before it blocked is its own affair.
            let usual = step.takes_default() || word(&step.op) == "spin";
            usual && step.note.is_none() && !races
        };
        let next = (end..trace.len()).find(|at| trace[*at].thread == first.thread);
        let goes_on = next.is_some_and(|next| self.are_together(start, next));
        let interrupted = goes_on && trace.get(end).is_some_and(|step| step.preemption);
        trace[start..end].iter().all(is_plain) && !interrupted && !self.was_interrupted(start)
    }

    /// Whether the thread was preempted in the call that goes on with this step.
    fn was_interrupted(&self, start: usize) -> bool {
        let trace = &self.finished.trace;
        let first = &trace[start];
        let before = trace[..start].iter().rposition(|step| step.thread == first.thread);
        before.is_some_and(|before| {
            self.are_together(start, before) && trace.get(before + 1).is_some_and(|step| step.preemption)
        })
    }
}

/// The name of the package from the registry that a file belongs to.
fn package(file: &str) -> Option<&str> {
    let (_, below) = file.split_once("/registry/src/")?;
    let folder = below.split('/').nth(1)?;
    let is_version = |at: &usize| folder[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let version = folder.match_indices('-').map(|(at, _)| at).find(is_version);
    Some(version.map_or(folder, |at| &folder[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as `thread:call`, `thread:package-version`; `!` in front: by preemption; `?` behind: unusual.
    fn shown(steps: &[&str]) -> Vec<String> {
        let trace: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(number, text)| {
                let (text, preemption) = text.strip_prefix('!').map_or((*text, false), |text| (text, true));
                let (text, alt) = text.strip_suffix('?').map_or((text, 0), |text| (text, 65535));
                let (thread, call) = text.split_once(':').unwrap();
                let site = |file: &str| format!(r#"{{"file":"{file}","line":1,"column":1}}"#);
                let within = match call {
                    "" => String::new(),
                    package if package.contains('-') => {
                        format!(r#""site":{},"#, site(&format!("/me/registry/src/index/{package}/src/lib.rs")))
                    }
                    call => format!(r#""within":{{"call":"{call}","site":{}}},"#, site("src/lib.rs")),
                };
                format!(
                    r#"{{"step":{number},"thread":{thread},{within}"op":"load","preemption":{preemption},"alt":"{alt}"}}"#
                )
            })
            .collect();
        let json = format!(r#"{{"outcome":"panic","trace":[{}]}}"#, trace.join(","));
        let finished: Finished = serde_json::from_str(&json).unwrap();
        let mut calls = Calls::of(&finished);
        let shown = |at| match calls.whole(at) {
            Some(WholeCall { begins: false, .. }) => None,
            Some(WholeCall { inside: Inside::Call(within), steps, .. }) => {
                Some(format!("{} {steps}", within.call))
            }
            Some(WholeCall { inside: Inside::Library(name), steps, .. }) => Some(format!("({name}) {steps}")),
            None => Some("load".to_owned()),
        };
        (0..steps.len()).filter_map(shown).collect()
    }

    #[test]
    fn a_call_stands_for_its_steps() {
        assert_eq!(shown(&["0:", "0:lock", "0:lock", "0:drop"]), ["load", "lock 2", "drop 1"]);
    }

    #[test]
    fn who_waits_in_a_call_is_not_interrupted() {
        let steps = ["0:lock", "0:lock", "1:lock", "1:lock", "0:lock"];
        assert_eq!(shown(&steps), ["lock 2", "lock 2", "lock 1"]);
    }

    #[test]
    fn a_call_that_is_preempted_is_shown_step_by_step() {
        let steps = ["0:push", "0:push", "!1:pop", "1:pop", "0:push", "0:drop", "0:drop"];
        assert_eq!(shown(&steps), ["load", "load", "pop 2", "load", "drop 2"]);
        // Between two calls nothing is interrupted.
        assert_eq!(shown(&["0:push", "0:push", "!1:pop", "0:drop"]), ["push 2", "pop 1", "drop 1"]);
    }

    #[test]
    fn what_a_library_does_on_its_own_is_one_row() {
        let pool = "1:thread-pool-1.0.0-rc.1";
        let busy = [pool, pool, "1:mio-1.0.0", pool];
        assert_eq!(shown(&[&["0:lock"][..], &busy, &["1:"]].concat()), ["lock 1", "(thread-pool) 4", "load"]);
        let few = ["0:lock", pool, pool, "0:drop"];
        assert_eq!(shown(&few), ["lock 1", "load", "load", "drop 1"]);
        assert_eq!(shown(&busy), ["load"; 4], "no stack is known: the user may have called it");
        let interrupted = [&["0:lock"][..], &busy, &["!0:drop"], &busy].concat();
        assert_eq!(shown(&interrupted).iter().filter(|row| *row == "load").count(), 8);
    }

    #[test]
    fn what_went_an_unusual_way_is_shown() {
        assert_eq!(shown(&["0:push", "0:push?", "0:drop"]), ["load", "load", "drop 1"]);
    }
}
