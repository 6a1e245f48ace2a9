//! Waits for notifications that never come: which one would have ended them, and what to do about it.
use super::forms::{Form, Mark, Section, quoted, titled, waiting, with_location};
use super::last_seen::is_of_user;
use super::story::{self, word};
use crate::run::wire::{Blocked, Finished, Notified, Step};

const CHANGED_WITHOUT_MUTEX: &str =
    "change the condition while holding the mutex that the waiter gives to `wait`, then notify";
const LOOKED_BEFORE: &str =
    "look at the condition while holding the mutex and give that very guard to `wait`, as `wait_while` does";
const WASTED: &str = "`notify_one` may wake a thread that waits for something else: use `notify_all`, or a condvar \
                      for each condition";

/// The waits that nobody ends, and the notification that would have ended one of them.
pub fn lost(finished: &Finished) -> Form<'_> {
    let title = titled("lost wake-up", &finished.message);
    let mut marks: Vec<Mark<'_>> = Vec::new();
    let mut advice = Vec::new();
    for entry in &finished.blocked {
        if let Some(notified) = entry.notified
            && let Some(at) = missed_notification(finished, entry, notified)
            && let Some(site) = &finished.trace[at].site
        {
            let step = &finished.trace[at];
            let result = match notified {
                Notified::Nobody => ", when nobody waits".to_owned(),
                Notified::Woken(thread) => format!(": {} wakes and waits again", quoted(finished, thread)),
            };
            let label =
                format!("{} notifies here in step {}{result}", quoted(finished, step.thread), step.step);
            add(&mut marks, Mark::context(site, label));
            for advised in advice_for(finished, entry, notified, at) {
                if !advice.contains(&advised) {
                    advice.push(advised);
                }
            }
        }
        if let Some(mark) = unheard_change(finished, entry) {
            add(&mut marks, mark);
        }
        if let Some(site) = &entry.site {
            let mut label = waiting(finished, entry);
            if let Some(wait) = wait_of(finished, entry) {
                label.push_str(&format!(" since step {}", finished.trace[wait].step));
            }
            label.push_str(never(finished, entry));
            marks.push(Mark::primary(site, label));
        }
    }
    let notes = advice.into_iter().map(|advised| ("help", advised)).collect();
    with_location(finished, vec![Section { title: String::new(), marks }], notes, title, "waits here")
}

/// Threads that wait for the same condvar have missed the same notification.
fn add<'a>(marks: &mut Vec<Mark<'a>>, mark: Mark<'a>) {
    if marks.iter().all(|other| other.label != mark.label) {
        marks.push(mark);
    }
}

/// Where another thread may have changed what this one waits for, without a word.
pub fn unheard_change<'a>(finished: &'a Finished, entry: &Blocked) -> Option<Mark<'a>> {
    let step = finished.trace.iter().find(|step| Some(step.step) == entry.unheard_change)?;
    let (mutex, condvar) = (step.object.as_deref()?, entry.object.as_deref()?);
    let who = quoted(finished, step.thread);
    let label =
        format!("{who} locks {mutex} here in step {}, and nobody notifies {condvar} after that", step.step);
    // How a dependency notifies itself is its own affair.
    let site = step.site.as_ref().filter(|_| step.within.is_none() && waits_itself(finished, entry))?;
    Some(Mark::context(site, label))
}

/// What to say of a wait for a notification that no other thread has ever given.
pub fn never(finished: &Finished, entry: &Blocked) -> &'static str {
    if never_notified(finished, entry) { ", which no other thread has notified" } else { "" }
}

fn never_notified(finished: &Finished, entry: &Blocked) -> bool {
    let given = |at: usize| finished.trace[at].thread != entry.thread;
    word(&entry.op) == "wake" && waits_itself(finished, entry) && !notifications(finished, entry).any(given)
}

/// Whether it is the user's own code that waits, not a dependency.
fn waits_itself(finished: &Finished, entry: &Blocked) -> bool {
    let called = wait_of(finished, entry).is_some_and(|wait| finished.trace[wait].within.is_some());
    !called && entry.site.as_ref().is_none_or(is_of_user)
}

/// Positions of the notifications of what a thread waits for, the last one first.
fn notifications(finished: &Finished, entry: &Blocked) -> impl Iterator<Item = usize> {
    let positions = (0..finished.trace.len()).rev();
    positions.filter(|at| {
        let step = &finished.trace[*at];
        step.object == entry.object && word(&step.op).starts_with("notify")
    })
}

fn missed_notification(finished: &Finished, entry: &Blocked, notified: Notified) -> Option<usize> {
    // What a thread says before it waits is not for itself.
    let is_for_it = |at: &usize| match notified {
        Notified::Nobody => finished.trace[*at].thread != entry.thread,
        Notified::Woken(_) => true,
    };
    notifications(finished, entry).find(is_for_it)
}

/// What may be wrong with the program. Only what it does not do already.
fn advice_for(finished: &Finished, entry: &Blocked, notified: Notified, at: usize) -> Vec<String> {
    if let Notified::Woken(_) = notified {
        return vec![WASTED.to_owned()];
    }
    let mut advice = Vec::new();
    let condvar = entry.object.as_deref().unwrap_or("the condvar");
    let missing = entry.unheard_change.is_some();
    if missing {
        advice.push(format!("notify {condvar} after every change of what its waiters look at"));
    }
    let in_doubt = missing || finished.blocked.iter().any(|other| never_notified(finished, other));
    let mutex = mutex_of(finished, entry);
    if !mutex.is_some_and(|mutex| changes_under(finished, at, mutex)) {
        advice.push(CHANGED_WITHOUT_MUTEX.to_owned());
    } else if !in_doubt || mutex.is_some_and(|mutex| held_before(finished, entry.thread, at, mutex)) {
        advice.push(LOOKED_BEFORE.to_owned());
    }
    advice
}

/// Position of the last step in which a thread began to wait for what it waits for.
fn wait_of(finished: &Finished, entry: &Blocked) -> Option<usize> {
    let begins =
        |step: &Step| step.thread == entry.thread && step.object == entry.object && word(&step.op) == "wait";
    finished.trace.iter().rposition(begins)
}

/// The mutex that a thread gave up to wait: its next step after it had begun to.
fn mutex_of<'a>(finished: &'a Finished, entry: &Blocked) -> Option<&'a str> {
    let later = &finished.trace[wait_of(finished, entry)? + 1..];
    let next = later.iter().find(|step| step.thread == entry.thread)?;
    next.object.as_deref().filter(|_| word(&next.op) == "unlock")
}

/// Whether who notifies had the mutex when it changed something, or between that and the notification.
fn changes_under(finished: &Finished, notification: usize, mutex: &str) -> bool {
    let by = finished.trace[notification].thread;
    let writes = |step: &Step| {
        step.thread == by && matches!(word(&step.op), "store" | "rmw" | "cas" | "cas_weak" | "write_unlock")
    };
    let change = finished.trace[..notification].iter().rposition(writes);
    story::holds(finished).iter().any(|hold| {
        let ends_after_change = hold.to.is_none_or(|to| change.is_none_or(|change| change < to));
        hold.thread == by && hold.object == mutex && hold.from < notification && ends_after_change
    })
}

/// Whether a thread held a mutex before some step: it may have looked then.
fn held_before(finished: &Finished, thread: usize, at: usize, mutex: &str) -> bool {
    let holds = story::holds(finished);
    holds.iter().any(|hold| hold.thread == thread && hold.object == mutex && hold.from < at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::wire::Within;

    #[test]
    fn who_took_a_notification_for_nothing_is_said_once() {
        let finished: Finished = serde_json::from_str(
            r#"{"outcome":"deadlock","lost_wakeup":true,
                "threads":[{"path":"0","name":"main"},{"path":"0.1","name":"a"},{"path":"0.2","name":"b"}],
                "trace":[{"step":7,"thread":0,"op":"notify_one","object":"condvar#1","site":{"file":"x.rs","line":3,"column":1}}],
                "blocked":[{"thread":1,"op":"wake","object":"condvar#1","notified":{"woken":2}},
                           {"thread":2,"op":"wake","object":"condvar#1","notified":{"woken":2}}]}"#,
        )
        .unwrap();
        let form = Form::of(&finished);
        let labels: Vec<&str> = form.sections[0].marks.iter().map(|mark| mark.label.as_str()).collect();
        assert_eq!(labels, ["`main` notifies here in step 7: `b` wakes and waits again"]);
        assert!(matches!(&form.notes[..], [("help", advice)] if advice.contains("notify_all")), "{form:?}");
    }

    /// Steps as `thread op object`; thread 1 is found waiting.
    fn story(steps: &[&str], unheard: Option<usize>) -> Finished {
        let steps: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                let words: Vec<&str> = step.split(' ').collect();
                let [thread, op, object] = words[..] else { panic!("{step}") };
                let site = format!(r#"{{"file":"x.rs","line":{at},"column":1}}"#);
                format!(r#"{{"step":{at},"thread":{thread},"op":"{op}","object":"{object}","site":{site}}}"#)
            })
            .collect();
        let unheard = unheard.map_or("null".to_owned(), |step| step.to_string());
        let json = format!(
            r#"{{"outcome":"deadlock","lost_wakeup":true,"trace":[{}],
                "threads":[{{"path":"0","name":"main"}},{{"path":"0.1","name":"a"}}],
                "blocked":[{{"thread":1,"op":"wake","object":"c","notified":"nobody","unheard_change":{unheard}}}]}}"#,
            steps.join(",")
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn how_a_dependency_waits_is_its_own_affair() {
        let mut finished = story(&[&WAITS[..], &["0 lock m", "0 unlock m"]].concat(), Some(3));
        assert!(unheard_change(&finished, &finished.blocked[0]).is_some());
        assert_ne!(never(&finished, &finished.blocked[0]), "");
        let site = finished.trace[1].site.clone().unwrap();
        finished.trace[1].within = Some(Within { call: "block_on".to_owned(), site });
        assert!(unheard_change(&finished, &finished.blocked[0]).is_none());
        assert_eq!(never(&finished, &finished.blocked[0]), "");
    }

    const WAITS: [&str; 3] = ["1 lock m", "1 wait c", "1 unlock m"];

    fn advice(before: &[&str], after: &[&str], unheard: Option<usize>) -> Vec<String> {
        let finished = story(&[before, &WAITS, after].concat(), unheard);
        Form::of(&finished).notes.into_iter().map(|(_, note)| note).collect()
    }

    #[test]
    fn what_the_program_does_is_not_advised() {
        assert_eq!(advice(&["0 notify_one c"], &[], None), [CHANGED_WITHOUT_MUTEX]);
        assert_eq!(advice(&["0 lock m", "0 unlock m", "0 notify_one c"], &[], None), [LOOKED_BEFORE]);
        assert_eq!(advice(&["0 lock m", "0 notify_one c", "0 unlock m"], &[], None), [LOOKED_BEFORE]);
        assert_eq!(advice(&["0 lock n", "0 unlock n", "0 notify_one c"], &[], None), [CHANGED_WITHOUT_MUTEX]);
        let later = ["0 lock m", "0 unlock m", "0 store x", "0 notify_one c"];
        assert_eq!(advice(&later, &[], None), [CHANGED_WITHOUT_MUTEX]);
        let earlier = ["0 store x", "0 lock m", "0 unlock m", "0 notify_one c"];
        assert_eq!(advice(&earlier, &[], None), [LOOKED_BEFORE]);
    }

    #[test]
    fn a_change_that_nobody_hears_of_is_shown_with_what_to_do() {
        let change = ["0 lock m", "0 unlock m"];
        let before = ["0 lock m", "0 unlock m", "0 notify_one c"];
        assert_eq!(
            advice(&before, &change, Some(6)),
            ["notify c after every change of what its waiters look at"]
        );
        let looked = ["1 lock m", "1 unlock m", "0 lock m", "0 unlock m", "0 notify_one c"];
        assert_eq!(advice(&looked, &change, Some(8))[1..], [LOOKED_BEFORE]);
        let finished = story(&[&before[..], &WAITS, &change].concat(), Some(6));
        let labels: Vec<String> = Form::of(&finished).marks().map(|mark| mark.label.clone()).collect();
        assert_eq!(labels[1..], ["`main` locks m here in step 6, and nobody notifies c after that"]);
    }

    #[test]
    fn a_thread_does_not_miss_what_it_says_itself() {
        let finished = story(&["0 notify_one c", "1 notify_one c"], None);
        let labels: Vec<String> = Form::of(&finished).marks().map(|mark| mark.label.clone()).collect();
        assert_eq!(labels, ["`main` notifies here in step 0, when nobody waits"]);
        assert_eq!(never(&finished, &finished.blocked[0]), "");
        let alone = story(&["1 notify_one c"], None);
        assert_eq!(never(&alone, &alone.blocked[0]), ", which no other thread has notified");
    }
}
