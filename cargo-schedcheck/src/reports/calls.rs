//! Calls of dependencies in a schedule: what a lock from the registry does inside matters only where it is interrupted.
use super::story::word;
use crate::run::wire::{Finished, Step, Within};

/// The calls of a schedule, to be asked step by step.
pub struct Calls<'a> {
    finished: &'a Finished,
    /// The stretch that was looked at last: its first step, the one behind its last, and whether it can stand for them.
    last: (usize, usize, bool),
}

/// A stretch of a call, nothing of which another thread came between by force.
#[derive(Debug)]
pub struct WholeCall<'a> {
    pub within: &'a Within,
    /// How many steps it stands for.
    pub steps: usize,
    /// Whether this is the first of them.
    pub begins: bool,
}

impl<'a> Calls<'a> {
    pub fn of(finished: &'a Finished) -> Self {
        Self { finished, last: (0, 0, false) }
    }

    /// The call that a step can be shown as.
    ///
    /// A thread may give up its turn in the middle of one, to wait. But where it was preempted, and what it does
    /// afterwards, is what the reader wants to know: then all steps are shown. So are those that went an unusual way, and
    /// sides of a data race.
    pub fn whole(&mut self, at: usize) -> Option<WholeCall<'a>> {
        let within = self.finished.trace[at].within.as_ref()?;
        if !(self.last.0..self.last.1).contains(&at) {
            let end = self.end_of_stretch(at);
            self.last = (at, end, self.is_whole(at, end));
        }
        let (start, end, whole) = self.last;
        whole.then(|| WholeCall { within, steps: end - start, begins: at == start })
    }

    /// The step behind the last one of the stretch that begins with a step.
    fn end_of_stretch(&self, start: usize) -> usize {
        let first = &self.finished.trace[start];
        let same = |step: &Step| step.thread == first.thread && step.within == first.within;
        start + self.finished.trace[start..].iter().take_while(|step| same(step)).count()
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
        let same = |step: &&Step| step.thread == first.thread;
        let goes_on = trace[end..].iter().find(same).is_some_and(|step| step.within == first.within);
        let interrupted = goes_on && trace.get(end).is_some_and(|step| step.preemption);
        trace[start..end].iter().all(is_plain) && !interrupted && !self.was_interrupted(start)
    }

    /// Whether the thread was preempted in the call that goes on with this step.
    fn was_interrupted(&self, start: usize) -> bool {
        let trace = &self.finished.trace;
        let first = &trace[start];
        let before = trace[..start].iter().rposition(|step| step.thread == first.thread);
        before.is_some_and(|before| {
            trace[before].within == first.within && trace.get(before + 1).is_some_and(|step| step.preemption)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps as `thread:call`; `!` in front: by preemption; `?` behind: unusual.
    fn shown(steps: &[&str]) -> Vec<String> {
        let trace: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(number, text)| {
                let (text, preemption) = text.strip_prefix('!').map_or((*text, false), |text| (text, true));
                let (text, alt) = text.strip_suffix('?').map_or((text, 0), |text| (text, 65535));
                let (thread, call) = text.split_once(':').unwrap();
                let site = r#"{"file":"src/lib.rs","line":1,"column":1}"#;
                let within = format!(r#""within":{{"call":"{call}","site":{site}}},"#);
                let within = if call.is_empty() { String::new() } else { within };
                format!(
                    r#"{{"step":{number},"thread":{thread},{within}"op":"load","preemption":{preemption},"alt":"{alt}"}}"#
                )
            })
            .collect();
        let json = format!(r#"{{"outcome":"panic","trace":[{}]}}"#, trace.join(","));
        let finished: Finished = serde_json::from_str(&json).unwrap();
        let mut calls = Calls::of(&finished);
        let shown = |at| match calls.whole(at) {
            Some(call) => call.begins.then(|| format!("{} {}", call.within.call, call.steps)),
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
    fn what_went_an_unusual_way_is_shown() {
        assert_eq!(shown(&["0:push", "0:push?", "0:drop"]), ["load", "load", "drop 1"]);
    }
}
