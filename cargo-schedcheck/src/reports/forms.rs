//! One form for each way a test can fail: what to say first, which places to point at, what to add.
use super::interleaving::thread_name;
use super::lasso::Lasso;
use super::last_seen;
use super::story::{self, word};
use super::wakeups;
use super::words::counted;
use crate::run::wire::{Blocked, Finished, Location, Outcome, RacyAccess, Step};

/// A failure, ready to be set in type.
#[derive(Debug)]
pub struct Form<'a> {
    /// What happened, in one line (a panic may have more).
    pub title: String,
    /// The first belongs to the title; the others have titles of their own.
    pub sections: Vec<Section<'a>>,
    /// Remarks below, by kind.
    pub notes: Vec<(&'static str, String)>,
}

/// Places that are shown together.
#[derive(Debug, Default)]
pub struct Section<'a> {
    pub title: String,
    pub marks: Vec<Mark<'a>>,
}

/// A place in the source that matters, and why.
#[derive(Debug)]
pub struct Mark<'a> {
    pub site: &'a Location,
    pub label: String,
    pub primary: bool,
}

impl<'a> Mark<'a> {
    pub fn primary(site: &'a Location, label: String) -> Self {
        Self { site, label, primary: true }
    }

    pub fn context(site: &'a Location, label: String) -> Self {
        Self { site, label, primary: false }
    }
}

impl<'a> Form<'a> {
    /// The form that fits a verdict.
    pub fn of(finished: &'a Finished) -> Self {
        let mut form = match finished.outcome {
            Outcome::Deadlock if finished.lost_wakeup => wakeups::lost(finished),
            Outcome::Deadlock => deadlock(finished),
            Outcome::Panic => panic(finished),
            Outcome::Livelock => livelock(finished),
            Outcome::DataRace => data_race(finished),
            Outcome::Crash => crash(finished),
            Outcome::Nondeterminism => nondeterminism(finished),
            Outcome::Misuse => plain(finished, "misuse", "does it here"),
            Outcome::Leak => plain(finished, "leaked threads", "left behind here"),
            Outcome::Passed => plain(finished, "passed", "ends here"),
        };
        form.notes.extend(trust_in_sleep(finished).map(|note| ("note", note)));
        form
    }

    /// Every place it points at.
    pub fn marks(&self) -> impl Iterator<Item = &Mark<'a>> {
        self.sections.iter().flat_map(|section| &section.marks)
    }
}

/// What whoever has let time pass for others may not expect.
fn trust_in_sleep(finished: &Finished) -> Option<String> {
    let depends_on_order = matches!(finished.outcome, Outcome::Panic | Outcome::Deadlock | Outcome::Livelock);
    let may_be_the_cause = depends_on_order && finished.threads.len() > 1;
    let slept = finished.trace.iter().find(|step| word(&step.op) == "sleep").filter(|_| may_be_the_cause)?;
    let place = slept.site.as_ref().map_or_else(String::new, |site| format!(" ({})", place(site)));
    Some(format!("`sleep`{place} orders nothing: however long it is, others may have run meanwhile, or not"))
}

/// `name: message`, but neither twice nor an empty half.
pub fn titled(name: &str, message: &str) -> String {
    let message = message.trim();
    match message {
        "" => name.to_owned(),
        _ if message.starts_with(name) => message.to_owned(),
        _ => format!("{name}: {message}"),
    }
}

pub fn quoted(finished: &Finished, thread: usize) -> String {
    format!("`{}`", thread_name(finished, thread))
}

/// One section for each thread of the cycle; who else waits is named below.
fn deadlock(finished: &Finished) -> Form<'_> {
    let blocked = finished.blocked.len();
    let title = match finished.message.trim() {
        "" if blocked > 0 => {
            let all = finished.threads.len().max(blocked);
            format!("deadlock: {blocked} of {all} threads are blocked forever")
        }
        message => titled("deadlock", message),
    };
    let entry_of = |thread: &usize| finished.blocked.iter().position(|entry| entry.thread == *thread);
    let cycle: Vec<usize> = finished.cycle.iter().filter_map(entry_of).collect();
    let mut sections = Vec::new();
    let mut notes = Vec::new();
    for at in &cycle {
        let entry = &finished.blocked[*at];
        sections
            .push(Section { title: holds_and_waits(finished, entry), marks: waiting_marks(finished, entry) });
    }
    if cycle.len() > 1 {
        let links = cycle.iter().map(|at| {
            let entry = &finished.blocked[*at];
            let next = quoted(finished, entry.holder.unwrap_or(entry.thread));
            match entry.object.as_deref().filter(|_| word(&entry.op) != "join") {
                Some(object) => format!("waits for {object}, held by {next}"),
                None => format!("waits for the end of {next}"),
            }
        });
        let links: Vec<String> = links.collect();
        let first = quoted(finished, finished.blocked[cycle[0]].thread);
        notes.push(("note", format!("the cycle: {first} {}", links.join(", which "))));
    }
    for (at, entry) in finished.blocked.iter().enumerate().filter(|(at, _)| !cycle.contains(at)) {
        // Without a cycle everyone who waits matters; beside one, the rest only waits for it.
        if cycle.is_empty() {
            let mut marks = last_seen::marks(finished, entry);
            marks.extend(waiting_marks(finished, entry));
            marks.extend(wakeups::unheard_change(finished, entry));
            match sections.first_mut() {
                Some(Section { marks: all, .. }) => all.extend(marks),
                None => sections.push(Section { title: String::new(), marks }),
            }
        } else {
            let place = entry.site.as_ref().map_or_else(String::new, |site| format!(" ({})", place(site)));
            let text = waiting(finished, &finished.blocked[at]).replacen(" waits here", " waits", 1);
            notes.push(("note", format!("{text}{place}")));
        }
    }
    for entry in &finished.blocked {
        // Nobody waits for a message on a channel that has no senders.
        if let Some(channel) = entry.object.as_deref().filter(|_| word(&entry.op) == "recv") {
            let help =
                format!("a sender of {channel} is left: `recv` waits for more until the last one is dropped");
            if !notes.iter().any(|(_, note)| *note == help) {
                notes.push(("help", help));
            }
        }
    }
    with_location(finished, sections, notes, title, "fails here")
}

/// The two halves of a link in the cycle: what a thread has, and what it wants.
fn waiting_marks<'a>(finished: &'a Finished, entry: &'a Blocked) -> Vec<Mark<'a>> {
    let mut marks = Vec::new();
    let wanted_of = finished.blocked.iter().filter(|other| other.holder == Some(entry.thread));
    let mut seen: Vec<&str> = Vec::new();
    for other in wanted_of {
        let Some(object) = other.object.as_deref().filter(|object| !seen.contains(object)) else { continue };
        seen.push(object);
        if let Some(step) = story::holding(finished, entry.thread, object)
            && let Some(site) = &step.site
        {
            let holder = quoted(finished, entry.thread);
            marks.push(Mark::context(site, format!("{holder} holds {object} since step {}", step.step)));
        }
    }
    if let Some(site) = &entry.site {
        let label = waiting(finished, entry) + wakeups::never(finished, entry);
        marks.push(Mark::primary(site, label));
    }
    marks
}

/// The title of a thread's section.
fn holds_and_waits(finished: &Finished, entry: &Blocked) -> String {
    let mine = finished.blocked.iter().filter(|other| other.holder == Some(entry.thread));
    let mut held: Vec<&str> =
        mine.filter(|other| word(&other.op) != "join").filter_map(|other| other.object.as_deref()).collect();
    held.dedup();
    let thread = quoted(finished, entry.thread);
    let holds = if held.is_empty() { String::new() } else { format!(" holds {} and", held.join(", ")) };
    let target = entry.object.as_deref().unwrap_or("something");
    format!("{thread}{holds} waits for {target}")
}

/// What a thread waits for, as a sentence about its place.
pub fn waiting(finished: &Finished, entry: &Blocked) -> String {
    let object = entry.object.as_deref().filter(|object| !object.is_empty());
    let target = match (word(&entry.op), object) {
        ("join", Some(thread)) => format!(" for the end of `{thread}`"),
        ("scope_end", Some(thread)) => format!(" for the handle of `{thread}` to be joined or dropped"),
        ("wake" | "wait", Some(object)) => format!(" for a notification of {object}"),
        ("recv", Some(object)) => format!(" for a message on {object}"),
        ("send" | "send_taken", Some(object)) => format!(" for room in {object}"),
        ("load" | "store" | "rmw" | "cas" | "cas_weak", Some(object)) => format!(" for a change of {object}"),
        ("park", _) => " to be unparked".to_owned(),
        ("futex_sleep", _) => " to be woken".to_owned(),
        (_, Some(object)) => format!(" for {object}"),
        (_, None) => String::new(),
    };
    // Who joins a thread waits for its end, not for something it holds.
    let held = match entry.holder.filter(|_| word(&entry.op) != "join") {
        Some(holder) if holder == entry.thread => ", which it holds itself".to_owned(),
        Some(holder) => format!(", held by {}", quoted(finished, holder)),
        None => String::new(),
    };
    let queued =
        if word(&entry.op) == "read_in_line" { ", held back for a writer that waits or waited" } else { "" };
    format!("{} waits here{target}{held}{queued}", quoted(finished, entry.thread))
}

/// The user's own text first; then where the schedule turned.
fn panic(finished: &Finished) -> Form<'_> {
    let message = finished.message.trim();
    let title = if message.is_empty() { "panic".to_owned() } else { message.to_owned() };
    let label = match finished.thread {
        Some(thread) => format!("{} panicked here", quoted(finished, thread)),
        None => "panicked here".to_owned(),
    };
    let mut form = with_location(finished, Vec::new(), Vec::new(), title, &label);
    form.sections.extend(turns(finished));
    form
}

/// The first preemptions of a schedule: who was interrupted after what, and what came between.
fn turns(finished: &Finished) -> Option<Section<'_>> {
    const SHOWN: usize = 2;
    let trace = &finished.trace;
    let mut marks = Vec::new();
    let mut turns = 0;
    for (at, step) in trace.iter().enumerate().filter(|(_, step)| step.preemption).take(SHOWN) {
        let before = trace[..at].iter().rev().find(|earlier| earlier.site.is_some());
        let after = trace[at..].iter().take_while(|later| later.thread == step.thread);
        let after = after.into_iter().find(|later| later.site.is_some() && !is_quiet(later));
        let (Some(before), Some(after)) = (before, after) else { continue };
        let (Some(left), Some(right)) = (&before.site, &after.site) else { continue };
        if before.thread == step.thread {
            continue;
        }
        turns += 1;
        let interrupted = quoted(finished, before.thread);
        let label =
            format!("{interrupted} is interrupted after this {}, step {}", doing(before), before.step);
        marks.push(Mark::context(left, label));
        let label = format!(
            "{} comes between with this {}, step {}",
            quoted(finished, step.thread),
            doing(after),
            after.step
        );
        marks.push(Mark::context(right, label));
    }
    let title =
        if turns == 1 { "the preemption that leads there" } else { "the preemptions that lead there" };
    (turns > 0).then(|| Section { title: title.to_owned(), marks })
}

fn is_quiet(step: &Step) -> bool {
    let op = word(&step.op);
    matches!(op, "begin" | "leave" | "detach" | "finish" | "end" | "count_up" | "count_down" | "spin")
}

fn doing(step: &Step) -> String {
    match step.object.as_deref().filter(|object| !object.is_empty()) {
        Some(object) => format!("{} of {object}", word(&step.op)),
        None => word(&step.op).to_owned(),
    }
}

/// The limit of steps cannot tell a loop without end from a long one.
const MERELY_LONG: &str =
    "a test that is merely long comes to its end with more steps (`--max-steps`), or with fewer rounds";

/// The round that repeats.
fn livelock(finished: &Finished) -> Form<'_> {
    let Some(lasso) = Lasso::of(finished) else {
        let title = titled("livelock", &finished.message);
        let notes = vec![("help", MERELY_LONG.to_owned())];
        return with_location(finished, Vec::new(), notes, title, "here when the limit was reached");
    };
    let round = lasso.round(finished);
    let mut threads: Vec<usize> = round.iter().map(|step| step.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let names: Vec<String> = threads.iter().map(|thread| quoted(finished, *thread)).collect();
    let who = match names.as_slice() {
        [one] => format!("{one} goes"),
        [most @ .., last] => format!("{} and {last} go", most.join(", ")),
        [] => "the test goes".to_owned(),
    };
    let (limit, steps) = (counted(finished.steps, "step"), counted(lasso.length as u64, "step"));
    let title = format!("livelock: no end after {limit}; {who} round and round, {steps} in each round");
    let mut marks: Vec<Mark<'_>> = Vec::new();
    for step in round {
        let Some(site) = &step.site else { continue };
        let label = format!("{} comes back to this {}", quoted(finished, step.thread), doing(step));
        if marks.iter().all(|mark| mark.label != label || mark.site != site) {
            marks.push(Mark { site, label, primary: marks.is_empty() });
        }
    }
    let mut notes = vec![];
    let repeated = (finished.trace.len() - lasso.start) / lasso.length;
    let step = finished.trace.get(lasso.start).map_or(0, |step| step.step);
    notes.push((
        "note",
        format!(
            "from step {step} on the same round came {repeated} times, although every thread gets its turn"
        ),
    ));
    for entry in &finished.blocked {
        notes.push(("note", waiting(finished, entry).replace(" waits here", " waits meanwhile")));
    }
    notes.push(("help", MERELY_LONG.to_owned()));
    with_location(
        finished,
        vec![Section { title: String::new(), marks }],
        notes,
        title,
        "never gets past here",
    )
}

/// Both accesses, each where it stands.
fn data_race(finished: &Finished) -> Form<'_> {
    let mut notes = Vec::new();
    let title = match (finished.message.trim(), finished.accesses.as_slice()) {
        ("", [earlier, later, ..]) => {
            let side =
                |access: &RacyAccess| format!("{} {}", quoted(finished, access.thread), accessing(access));
            format!("data race: {} and {} the same memory", side(earlier), side(later))
        }
        ("", _) => "data race".to_owned(),
        // It may also be a use of memory that is gone.
        (message, _) => message.to_owned(),
    };
    let mut sections: Vec<Section<'_>> = Vec::new();
    // The later access is the one that failed; the earlier one stands in the same picture if it is of the same file.
    for (number, access) in finished.accesses.iter().enumerate().rev() {
        let order = if number == 0 { "first" } else { "then" };
        let step = access.step.map_or_else(String::new, |step| format!(", after step {step}"));
        let who = quoted(finished, access.thread);
        let label = format!("{order}, {who} {} here{step}", accessing(access));
        if let [_, calls @ ..] = access.stack.as_slice()
            && !calls.is_empty()
        {
            const SHOWN: usize = 2;
            let calls: Vec<&str> = calls.iter().take(SHOWN).map(String::as_str).collect();
            notes.insert(0, ("note", format!("{who} came there from {}", calls.join(", from "))));
        }
        let Some(site) = &access.site else { continue };
        match sections.first_mut() {
            Some(section) if section.marks.iter().any(|mark| mark.site.file == site.file) => {
                section.marks.push(Mark::context(site, label));
            }
            _ => sections.push(Section {
                title: "the other access".to_owned(),
                marks: vec![Mark::primary(site, label)],
            }),
        }
    }
    if let Some(remedy) = &finished.remedy {
        notes.push(("help", remedy.clone()));
    }
    with_location(finished, sections, notes, title, "races here")
}

/// What an access does, without its object.
pub fn accessing(access: &RacyAccess) -> String {
    let verb = match access.action.as_str() {
        "read" => "reads",
        "write" => "writes",
        "atomic read" => "atomically reads",
        "atomic write" => "atomically writes",
        "free" => "frees",
        other => other,
    };
    match access.size {
        0 => verb.to_owned(),
        size => format!("{verb} {}", counted(size, "byte")),
    }
}

/// The last thing that is known of the thread that brought the process down.
fn crash(finished: &Finished) -> Form<'_> {
    let title = titled("crash", &finished.message);
    let last = finished.trace.last();
    let last = match finished.thread {
        Some(thread) => finished.trace.iter().rev().find(|step| step.thread == thread),
        None => last,
    };
    let mut marks = Vec::new();
    if let Some(step) = last
        && let Some(site) = &step.site
    {
        let who = quoted(finished, step.thread);
        marks.push(Mark::primary(site, format!("the last step of {who} before that: {}", doing(step))));
    }
    let mut notes = Vec::new();
    if finished.trace.is_empty() && finished.schedule.is_some() {
        notes.push(("note", "the schedule was noted before it ran; its steps are not known".to_owned()));
    }
    Form { title, sections: vec![Section { title: String::new(), marks }], notes }
}

/// Where two runs of one schedule differ, and what to look for.
fn nondeterminism(finished: &Finished) -> Form<'_> {
    let title = match finished.message.trim() {
        "" => "not deterministic under control",
        message => message,
    };
    let title = title.to_owned();
    let mut notes = Vec::new();
    if let Some(diverged) = finished.diverged.as_ref().filter(|diverged| !title.contains(&diverged.expected))
    {
        notes.push(("note", format!("expected at step {}: {}", diverged.step, diverged.expected)));
        notes.push(("note", format!("found there: {}", diverged.found)));
    }
    with_location(finished, Vec::new(), notes, title, "the last step that fitted")
}

fn plain<'a>(finished: &'a Finished, name: &str, label: &str) -> Form<'a> {
    let title = titled(name, &finished.message);
    let label = match finished.thread.or(finished.trace.last().map(|step| step.thread)) {
        Some(thread) => format!("{} {label}", quoted(finished, thread)),
        None => label.to_owned(),
    };
    with_location(finished, Vec::new(), Vec::new(), title, &label)
}

/// Adds the place of the verdict unless something points there already.
pub fn with_location<'a>(
    finished: &'a Finished,
    mut sections: Vec<Section<'a>>,
    notes: Vec<(&'static str, String)>,
    title: String,
    label: &str,
) -> Form<'a> {
    if sections.is_empty() {
        sections.push(Section::default());
    }
    if let Some(site) = &finished.location
        && !sections.iter().any(|section| section.marks.iter().any(|mark| mark.site == site))
    {
        sections[0].marks.insert(0, Mark::primary(site, label.to_owned()));
    }
    Form { title, sections, notes }
}

/// `file:line`, the file without its folders.
pub fn place(site: &Location) -> String {
    let file = site.file.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{file}:{}", site.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_messages_is_told_that_a_sender_is_left() {
        let notes = |op: &str| {
            let blocked = format!(r#"{{"thread":0,"op":"channel.{op}","object":"channel#1"}}"#);
            let json = format!(
                r#"{{"outcome":"deadlock","threads":[{{"path":"0"}}],"blocked":[{blocked},{blocked}]}}"#
            );
            deadlock(&serde_json::from_str(&json).unwrap()).notes
        };
        assert_eq!(notes("send"), []);
        let [("help", help)] = &notes("recv")[..] else { panic!("one note for both") };
        assert!(help.starts_with("a sender of channel#1 is left"), "{help}");
    }

    #[test]
    fn who_trusts_in_sleep_is_told_that_it_orders_nothing() {
        let notes = |outcome: &str, op: &str, threads: &str| {
            let site = r#"{"file":"a.rs","line":7,"column":1}"#;
            let json = format!(
                r#"{{"outcome":"{outcome}","threads":[{threads}],"trace":[{{"thread":0,"op":"{op}","site":{site}}}]}}"#
            );
            let notes = Form::of(&serde_json::from_str(&json).unwrap()).notes;
            notes.into_iter().filter(|(_, note)| note.starts_with("`sleep` (a.rs:7) orders nothing")).count()
        };
        let two = r#"{"path":"0"},{"path":"0.1"}"#;
        for outcome in ["panic", "deadlock", "livelock"] {
            assert_eq!(notes(outcome, "sleep", two), 1, "{outcome}");
        }
        assert_eq!((notes("panic", "yield", two), notes("data-race", "sleep", two)), (0, 0));
        assert_eq!(notes("panic", "sleep", r#"{"path":"0"}"#), 0, "nobody else is there");
    }

    fn title(json: &str) -> String {
        Form::of(&serde_json::from_str::<Finished>(json).unwrap()).title
    }

    #[test]
    fn titles_do_not_repeat_themselves() {
        assert_eq!(title(r#"{"outcome":"deadlock","message":"deadlock: two"}"#), "deadlock: two");
        assert_eq!(title(r#"{"outcome":"panic","message":"left != right"}"#), "left != right");
        assert_eq!(title(r#"{"outcome":"deadlock","lost_wakeup":true}"#), "lost wake-up");
        assert_eq!(title(r#"{"outcome":"misuse","message":"unlocked twice"}"#), "misuse: unlocked twice");
        assert_eq!(
            title(
                r#"{"outcome":"deadlock","blocked":[{"thread":1,"op":"mutex.lock"}],"threads":[{"path":"0"},{"path":"0.1"}]}"#
            ),
            "deadlock: 1 of 2 threads are blocked forever"
        );
    }

    #[test]
    fn a_race_without_its_accesses_still_has_a_title_and_a_place() {
        let json = r#"{"outcome":"data-race","message":"m","location":{"file":"a.rs","line":1,"column":1}}"#;
        let finished: Finished = serde_json::from_str(json).unwrap();
        let form = Form::of(&finished);
        assert_eq!((form.title.as_str(), form.marks().count()), ("m", 1));
    }
}
