//! Where threads were last in the user's own code, if they wait outside of it: what runs tasks has no line of theirs on
//! its stack when all of them wait.
use super::forms::{Mark, quoted};
use crate::run::wire::{Blocked, Finished, Location, Step};

/// What runs tasks looks for another one when one waits: so many of them are shown for each thread.
const VISITS: usize = 3;

/// Whether a place is neither in a dependency from the registry nor in std.
pub fn is_of_user(site: &Location) -> bool {
    let outside = ["/registry/src/", "/rustc/", "/library/std/", "/library/core/", "/library/alloc/"];
    !outside.iter().any(|folder| site.file.contains(folder))
}

/// Which steps have the user's code on their stacks, as far as that is known.
pub struct Presence<'a> {
    finished: &'a Finished,
    /// Where stacks begin to be known: those of early steps are not kept.
    known_from: usize,
}

impl<'a> Presence<'a> {
    pub fn of(finished: &'a Finished) -> Self {
        let known_from = finished.trace.iter().position(|step| step.within.is_some());
        Self { finished, known_from: known_from.unwrap_or(usize::MAX) }
    }

    /// Where in the user's code a step is; within: nothing if it is not there. Nothing if that is not known.
    pub fn at(&self, at: usize) -> Option<Option<&'a Location>> {
        let step = &self.finished.trace[at];
        let site = step.within.as_ref().map(|within| &within.site).or(step.site.as_ref());
        let own = site.filter(|site| is_of_user(site));
        (own.is_some() || at >= self.known_from).then_some(own)
    }
}

/// Where a thread was last in the user's code: the ends of its last visits there, if it waits outside.
pub fn marks<'a>(finished: &'a Finished, entry: &Blocked) -> Vec<Mark<'a>> {
    if entry.site.as_ref().is_some_and(is_of_user) {
        return Vec::new();
    }
    let presence = Presence::of(finished);
    let mut marks: Vec<Mark<'_>> = Vec::new();
    let mut inside = false;
    for (at, step) in finished.trace.iter().enumerate().rev().filter(|(_, step)| step.thread == entry.thread)
    {
        let Some(own) = presence.at(at) else { break };
        if let Some(site) = own
            && !inside
            && marks.iter().all(|mark| mark.site != site)
        {
            marks.push(Mark::context(site, label(finished, step, marks.is_empty())));
        }
        inside = own.is_some();
        if marks.len() == VISITS {
            break;
        }
    }
    marks
}

fn label(finished: &Finished, step: &Step, last: bool) -> String {
    let call = step.within.as_ref().map_or_else(String::new, |within| format!(", in `{}`", within.call));
    let when = if last { "last" } else { "before" };
    format!("{} was here {when}, step {}{call}", quoted(finished, step.thread), step.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of one thread: `user:call`, or the line of a dependency. It waits in the dependency.
    fn seen(steps: &[&str]) -> Vec<String> {
        let site = |file: &str, line: &str| format!(r#"{{"file":"{file}","line":{line},"column":1}}"#);
        let theirs = |line: &str| site("/home/me/.cargo/registry/src/index/tokio-1.0.0/src/park.rs", line);
        let steps: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(number, step)| {
                let (line, within) = match step.split_once(':') {
                    Some((line, call)) => {
                        let site = site("src/lib.rs", line);
                        ("1", format!(r#""within":{{"call":"{call}","site":{site}}},"#))
                    }
                    None => (*step, String::new()),
                };
                let site = theirs(line);
                format!(r#"{{"step":{number},"thread":0,{within}"op":"load","site":{site}}}"#)
            })
            .collect();
        let json = format!(
            r#"{{"outcome":"deadlock","threads":[{{"path":"0","name":"worker"}}],"trace":[{}],
                "blocked":[{{"thread":0,"op":"wake","object":"condvar#1","site":{}}}]}}"#,
            steps.join(","),
            theirs("117")
        );
        let finished: Finished = serde_json::from_str(&json).unwrap();
        let marks = marks(&finished, &finished.blocked[0]);
        marks.iter().map(|mark| format!("{}: {}", mark.site.line, mark.label)).collect()
    }

    #[test]
    fn the_ends_of_the_last_visits_are_shown() {
        assert_eq!(
            seen(&["8:lock", "9:lock", "9:lock", "5", "3:send", "4:lock", "5", "5"]),
            [
                "4: `worker` was here last, step 5, in `lock`",
                "9: `worker` was here before, step 2, in `lock`"
            ]
        );
        assert_eq!(seen(&["9:lock", "5", "9:lock", "5"]), ["9: `worker` was here last, step 2, in `lock`"]);
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        assert_eq!(seen(&["5", "5"]), Vec::<String>::new());
        assert_eq!(seen(&["5", "5", "9:lock", "5"]), ["9: `worker` was here last, step 2, in `lock`"]);
    }
}
