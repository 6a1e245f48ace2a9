//! The failing schedule as a table: one row per step, one column per thread.
use super::calls::{Calls, Inside, WholeCall};
use super::forms::{accessing, place};
use super::lasso::Lasso;
use super::repeats::{self, Repeat};
use super::story::word;
use super::words::counted;
use crate::run::wire::{Blocked, Finished, Location, Outcome, RacyAccess, Step, Within};
use std::collections::BTreeSet;

/// Rows shown unless everything is asked for.
const ROWS: usize = 40;
/// Steps that only concern their own thread: folded unless everything is asked for.
const LOCAL: [&str; 6] = ["begin", "leave", "finish", "end", "regain", "resume"];
/// Counting references matters only where something else looks at the count.
const COUNTING: [&str; 2] = ["count_up", "count_down"];
/// A column narrower than this says nothing.
const NARROWEST: usize = 14;
/// In place of a thread: the row belongs to no column.
const EVERYBODY: usize = usize::MAX;
/// Width of the step number and the preemption mark.
const MARGIN: usize = 8;
/// Between two columns.
const GAP: usize = 2;

/// The table, or nothing when no step is worth a row. `everything`: all steps, also those that no other thread sees.
pub fn render(finished: &Finished, width: usize, everything: bool) -> String {
    let mut rows = rows(finished, everything);
    if rows.is_empty() {
        return String::new();
    }
    if !everything {
        rows = without_repeats(rows);
    }
    let (before, rows) = rows.split_at(if everything { 0 } else { rows.len().saturating_sub(ROWS) });
    let hidden = before.iter().map(|row| row.steps).sum();

    let columns = columns(finished, rows, width);
    if MARGIN + columns.len() * (NARROWEST + GAP) > width {
        return list(finished, rows, hidden, width);
    }
    let mut table = String::new();
    let heads = columns.iter().map(|column| (column.head.as_str(), column.width));
    push_line(&mut table, "step", "", heads);
    table.push_str(&earlier(hidden));
    for row in rows {
        let mark = if row.preemption { "⇄" } else { "" };
        if row.thread == EVERYBODY {
            table.push_str(&format!("{:>5}   {}\n", row.step, row.text));
            continue;
        }
        let cells = columns.iter().map(|column| match column.thread == row.thread {
            true => (row.fitting(column.width), column.width),
            false => ("", column.width),
        });
        push_line(&mut table, &row.step, mark, cells);
    }
    table
}

fn earlier(hidden: usize) -> String {
    match hidden {
        0 => String::new(),
        _ => format!("  … {hidden} earlier steps; `replay --trace` shows them\n"),
    }
}

/// The same where there is no room for columns: one line for each step, the thread named in it.
fn list(finished: &Finished, rows: &[Row], hidden: usize, width: usize) -> String {
    let mut text = earlier(hidden);
    for row in rows {
        let mark = if row.preemption { "⇄" } else { "" };
        let what = match row.thread {
            EVERYBODY => row.text.clone(),
            thread => format!("{}: {}", thread_name(finished, thread), row.text),
        };
        text.push_str(cut(&format!("{:>5} {mark:1} {what}", row.step), width).trim_end());
        text.push('\n');
    }
    text
}

fn rows(finished: &Finished, everything: bool) -> Vec<Row> {
    let lasso = Lasso::of(finished).filter(|_| finished.outcome == Outcome::Livelock && !everything);
    let end = lasso.map_or(finished.trace.len(), |lasso| lasso.start + lasso.length);
    let mut rows: Vec<Row> = Vec::new();
    // A folded step hands its preemption on to the next one shown.
    let mut preempted = false;
    let folding = Folding::of(finished);
    let mut calls = Calls::of(finished);
    for (at, step) in finished.trace[..end].iter().enumerate() {
        if lasso.is_some_and(|lasso| lasso.start == at) {
            rows.push(Row::remark("┌── from here on the same round repeats"));
        }
        preempted |= step.preemption;
        let by_call = !everything && lasso.is_none();
        let call = if by_call { calls.whole(at) } else { None };
        if let Some(call) = call {
            if call.begins {
                rows.push(Row { preemption: preempted, ..Row::of_call(step, &call) });
                preempted = false;
            }
        } else if everything || !folding.folds(step) {
            let within = step.within.as_ref().filter(|_| by_call);
            rows.push(Row { preemption: preempted, ..Row::of_step(step, within) });
            preempted = false;
        }
        let racing = finished.accesses.iter().enumerate();
        for (number, access) in racing.filter(|(_, access)| access.step == Some(step.step)) {
            rows.push(Row { preemption: preempted, ..Row::of_access(number + 1, access) });
            preempted = false;
        }
    }
    if let Some(lasso) = lasso {
        let back = finished.trace[lasso.start].step;
        rows.push(Row::remark(&format!("└── back to step {back}")));
    }
    let after = finished.trace.last().map_or(0, |step| step.step) + 1;
    rows.extend(finished.blocked.iter().map(|blocked| {
        let last = finished.trace.iter().rfind(|step| step.thread == blocked.thread && !everything);
        let within = last.and_then(|step| step.within.as_ref());
        let sleeps = word(&blocked.op) == "futex_sleep";
        let waits_in_it = |within: &&Within| sleeps || Some(&within.site) == blocked.site.as_ref();
        Row::of_blocked(blocked, within.filter(waits_in_it), after)
    }));
    rows
}

/// Which steps of a schedule matter to their own thread only. Made once for all of them: schedules may be long.
pub struct Folding<'a> {
    /// Objects with which something else than counting is done.
    seen: BTreeSet<Option<&'a str>>,
}

impl<'a> Folding<'a> {
    pub fn of(finished: &'a Finished) -> Self {
        let seeing = finished.trace.iter().filter(|step| !COUNTING.contains(&word(&step.op)));
        Self { seen: seeing.map(|step| step.object.as_deref()).collect() }
    }

    pub fn folds(&self, step: &Step) -> bool {
        let op = word(&step.op);
        LOCAL.contains(&op)
            || (COUNTING.contains(&op) && !self.seen.contains(&step.object.as_deref()))
            || (op == "spin" && step.takes_default())
    }
}

/// The same rows with one in place of all further rounds of what a thread repeats while nobody comes between.
fn without_repeats(rows: Vec<Row>) -> Vec<Row> {
    let mut shown = Vec::new();
    for turn in rows.chunk_by(|row, next| row.thread == next.thread) {
        let mut next = 0;
        for repeat in repeats::find(turn, Row::is_followed_by_same) {
            let again = repeat.start + repeat.length;
            shown.extend_from_slice(&turn[next..again]);
            shown.push(Row::of_repeat(&turn[again..repeat.end()], repeat));
            next = repeat.end();
        }
        shown.extend_from_slice(&turn[next..]);
    }
    shown
}

#[derive(Clone)]
struct Row {
    step: String,
    /// How many it stands for.
    steps: usize,
    thread: usize,
    preemption: bool,
    text: String,
    /// The same without the name of the file.
    short: String,
}

impl Row {
    /// A line across all columns.
    fn remark(text: &str) -> Self {
        let text = text.to_owned();
        Self {
            step: String::new(),
            steps: 0,
            thread: EVERYBODY,
            preemption: false,
            short: text.clone(),
            text,
        }
    }

    /// All rounds but the first of what a thread repeats.
    fn of_repeat(rounds: &[Self], Repeat { length, again, .. }: Repeat) -> Self {
        let last = &rounds[rounds.len() - 1];
        let what = if length == 1 { "this step".to_owned() } else { format!("these {length} steps") };
        let short = format!("… {what} {}", counted(again as u64, "more time"));
        let text = format!("{short}, to step {}", last.step);
        let steps = rounds.iter().map(|row| row.steps).sum();
        Self { step: String::new(), steps, thread: last.thread, preemption: false, text, short }
    }

    /// Whether `next` is another step that looks like this one.
    fn is_followed_by_same(&self, next: &Self) -> bool {
        self.text == next.text && self.thread != EVERYBODY && next.steps > 0 && !next.preemption
    }

    /// What a thread does, with what, where; `wrap` puts more around it.
    fn of(
        thread: usize,
        what: (&str, Option<&str>, Option<&Location>),
        wrap: impl Fn(String) -> String,
    ) -> Self {
        let (op, object, site) = what;
        let text = wrap(describe(op, object, site));
        let short = match site {
            Some(site) => wrap(format!("{} :{}", describe(op, object, None), site.line)),
            None => text.clone(),
        };
        Self { step: String::new(), steps: 0, thread, preemption: false, text, short }
    }

    /// The line number says more than the name of the file, and is not to be cut off for it.
    fn fitting(&self, width: usize) -> &str {
        if self.text.chars().count() <= width { &self.text } else { &self.short }
    }

    /// `within`: the call of a dependency that it is a part of, to be shown with the place of that.
    fn of_step(step: &Step, within: Option<&Within>) -> Self {
        let note = match step.note.as_deref().or_else(|| unusual(&step.alt)) {
            Some(note) => format!(" ({note})"),
            None if word(&step.op) == "choose" => format!(" (choice {})", step.alt),
            None => String::new(),
        };
        let (call, site) = match within {
            Some(within) => (format!(" in {}", within.call), Some(&within.site)),
            None => (String::new(), step.site.as_ref()),
        };
        let what = format!("{}{call}", describe(&step.op, step.object.as_deref(), None));
        let row = Self::of(step.thread, (&what, None, site), |text| format!("{text}{note}"));
        Self { step: step.step.to_string(), steps: 1, preemption: step.preemption, ..row }
    }

    /// A call of a dependency, or what a library does on its own, in place of the steps that it takes.
    fn of_call(step: &Step, call: &WholeCall<'_>) -> Self {
        let count = if call.steps > 1 { format!(" ({} steps)", call.steps) } else { String::new() };
        let what = match call.inside {
            Inside::Call(within) => (within.call.as_str(), None, Some(&within.site)),
            Inside::Library(name) => (name, None, None),
        };
        let row = Self::of(step.thread, what, |text| format!("{text}{count}"));
        Self { step: step.step.to_string(), steps: call.steps, ..row }
    }

    fn of_access(number: usize, access: &RacyAccess) -> Self {
        let what = (&*accessing(access), None, access.site.as_ref());
        Self::of(access.thread, what, |text| format!("({number}) {text}"))
    }

    /// `within`: the call of a dependency in which a thread sleeps.
    fn of_blocked(blocked: &Blocked, within: Option<&Within>, step: u64) -> Self {
        let what = match within {
            Some(within) => (within.call.as_str(), None, Some(&within.site)),
            None => (blocked_in(&blocked.op), blocked.object.as_deref(), blocked.site.as_ref()),
        };
        let row = Self::of(blocked.thread, what, |text| format!("BLOCKED {text}"));
        Self { step: step.to_string(), ..row }
    }
}

/// The operation that a thread is blocked in: the second half of one, as the engine sees it, is the whole one for people.
pub fn blocked_in(op: &str) -> &str {
    match word(op) {
        "wake" => "wait",
        "barrier_leave" => "barrier",
        "read_in_line" => "read",
        _ => op,
    }
}

/// What an alternative means that is not the usual one: the numbers are those of `Alt` in the engine's `search/step.rs`.
fn unusual(alt: &str) -> Option<&'static str> {
    match alt {
        "65531" => Some("times out late"),
        "65532" => Some("goes on without waiting"),
        "65533" => Some("wakes for no reason"),
        "65534" => Some("times out"),
        "65535" => Some("fails for no reason"),
        _ => None,
    }
}

struct Column {
    thread: usize,
    head: String,
    width: usize,
}

/// One column for each thread that does something, as wide as needed and as the terminal allows.
fn columns(finished: &Finished, rows: &[Row], width: usize) -> Vec<Column> {
    let mut threads: Vec<usize> =
        rows.iter().map(|row| row.thread).filter(|thread| *thread != EVERYBODY).collect();
    threads.sort_unstable();
    threads.dedup();
    let needed = |thread: usize, head: &str| {
        let texts = rows.iter().filter(|row| row.thread == thread).map(|row| row.text.as_str());
        texts.chain([head]).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let mut columns: Vec<Column> = threads
        .into_iter()
        .map(|thread| {
            let head = thread_name(finished, thread);
            Column { thread, width: needed(thread, &head), head }
        })
        .collect();
    // The widest give way first.
    let total = |columns: &[Column]| columns.iter().map(|column| column.width + GAP).sum::<usize>();
    while MARGIN + total(&columns) > width {
        match columns.iter_mut().max_by_key(|column| column.width) {
            Some(widest) if widest.width > NARROWEST => widest.width -= 1,
            _ => break,
        }
    }
    columns
}

/// The name of a thread of the failing schedule.
pub fn thread_name(finished: &Finished, thread: usize) -> String {
    match finished.threads.get(thread) {
        Some(known) => called(&known.name, &known.path),
        None => format!("thread #{thread}"),
    }
}

/// What a thread is called: its name, or its path where it has none.
pub fn called(name: &str, path: &str) -> String {
    if name.is_empty() { format!("thread {path}") } else { name.to_owned() }
}

/// An operation in words: what, on what, where.
pub fn describe(op: &str, object: Option<&str>, site: Option<&Location>) -> String {
    let mut text = op.to_owned();
    if let Some(object) = object.filter(|object| !object.is_empty()) {
        text.push_str(&format!(" {object}"));
    }
    if let Some(site) = site {
        text.push_str(&format!(" {}", place(site)));
    }
    text
}

fn push_line(
    table: &mut String,
    step: &str,
    mark: &str,
    cells: impl Iterator<Item = (impl AsRef<str>, usize)>,
) {
    let mut line = format!("{step:>5} {mark:1} ");
    for (text, width) in cells {
        let text = cut(text.as_ref(), width);
        let padding = width - text.chars().count() + GAP;
        line.push_str(&text);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    table.push_str(line.trim_end());
    table.push('\n');
}

/// At most `width` characters.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Finished {
        serde_json::from_str(
            r#"{"outcome":"deadlock","threads":[{"path":"0","name":"main"},{"path":"0.1"},{"path":"0.2","name":"b"}],
            "trace":[{"step":0,"thread":0,"op":"thread.spawn"},
                     {"step":1,"thread":1,"op":"mutex.lock","object":"mutex#1","site":{"file":"src/lib.rs","line":3}},
                     {"step":2,"thread":2,"op":"mutex.lock","object":"mutex#2","preemption":true}],
            "blocked":[{"thread":1,"op":"mutex.lock","object":"mutex#2","holder":2}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn every_thread_has_its_column() {
        let expected = "
 step   main          thread 0.1                   b
    0   thread.spawn
    1                 mutex.lock mutex#1 lib.rs:3
    2 ⇄                                            mutex.lock mutex#2
    3                 BLOCKED mutex.lock mutex#2
";
        assert_eq!(format!("\n{}", render(&example(), 120, true)), expected);
    }

    #[test]
    fn local_steps_are_folded_but_their_preemptions_stay() {
        let mut finished = example();
        finished.trace[2].op = "begin".to_owned();
        let mut last = finished.trace[2].clone();
        (last.op, last.step, last.preemption) = ("mutex.lock".to_owned(), 3, false);
        finished.trace.push(last);
        let table = render(&finished, 120, false);
        assert!(!table.contains("begin"), "{table}");
        assert!(table.contains("    3 ⇄ "), "{table}");
    }

    #[test]
    fn counts_are_folded_unless_something_else_looks_at_them() {
        let mut finished = example();
        (finished.trace[1].op, finished.trace[2].op) = ("count_up".to_owned(), "count_down".to_owned());
        let table = render(&finished, 120, false);
        assert!(!table.contains("count_"), "{table}");
        finished.trace[2].object = finished.trace[1].object.clone();
        let mut looks = finished.trace[2].clone();
        (looks.op, looks.step) = ("load".to_owned(), 3);
        finished.trace.push(looks);
        let table = render(&finished, 120, false);
        assert!(table.contains("count_up") && table.contains("count_down"), "{table}");
    }

    /// To look at all steps for each of them would take minutes.
    #[test]
    fn a_long_schedule_of_counts_is_folded_in_one_pass() {
        let mut finished = example();
        let mut count = finished.trace[1].clone();
        count.op = "count_up".to_owned();
        finished.trace.extend(std::iter::repeat_n(count, 60_000));
        finished.trace.rotate_left(3);
        let folding = Folding::of(&finished);
        assert!(finished.trace.iter().all(|step| !folding.folds(step)), "its object is locked in the end");
    }

    #[test]
    fn rounds_that_nobody_interrupts_are_told_in_a_row() {
        let mut finished = example();
        let lock = finished.trace[1].clone();
        let unlock = Step { op: "mutex.unlock".to_owned(), ..lock.clone() };
        let rounds = [lock, unlock].into_iter().cycle().take(60).zip(3..);
        finished.trace.extend(rounds.map(|(step, number)| Step { step: number, ..step }));
        let expected = "
 step   main          thread 0.1                                 b
    0   thread.spawn
    1                 mutex.lock mutex#1 lib.rs:3
    2 ⇄                                                          mutex.lock mutex#2
    3                 mutex.lock mutex#1 lib.rs:3
    4                 mutex.unlock mutex#1 lib.rs:3
                      … these 2 steps 29 more times, to step 62
   63                 BLOCKED mutex.lock mutex#2
";
        assert_eq!(format!("\n{}", render(&finished, 120, false)), expected);
        finished.trace[32].preemption = true;
        let interrupted = render(&finished, 120, false);
        assert!(interrupted.contains("   32 ⇄"), "{interrupted}");
        let all = render(&finished, 120, true);
        assert_eq!(all.lines().count(), 1 + 63 + 1, "{all}");
    }

    #[test]
    fn hidden_steps_are_counted_also_where_they_are_told_in_a_row() {
        let mut finished = example();
        let step = finished.trace[1].clone();
        let others = (0..45).map(|line| Step {
            site: Some(Location { file: "src/lib.rs".to_owned(), line, column: 1 }),
            ..step.clone()
        });
        let rounds = std::iter::repeat_n(step.clone(), 100);
        finished.trace = rounds.chain(others).collect();
        finished.blocked.clear();
        let table = render(&finished, 120, false);
        assert!(table.contains("… 105 earlier steps"), "{table}");
    }

    #[test]
    fn an_interrupted_call_is_shown_at_the_users_line() {
        let mut finished = example();
        let site = Location { file: "src/lib.rs".to_owned(), line: 7, column: 1 };
        let within = Some(Within { call: "push".to_owned(), site });
        finished.trace[1].within = within.clone();
        finished.trace.push(Step { step: 3, preemption: false, within, ..finished.trace[1].clone() });
        let table = render(&finished, 120, false);
        assert_eq!(table.matches("mutex.lock mutex#1 in push lib.rs:7\n").count(), 2, "{table}");
        let all = render(&finished, 120, true);
        assert_eq!(all.matches("mutex.lock mutex#1 lib.rs:3\n").count(), 2, "{all}");
    }

    #[test]
    fn who_waits_in_a_dependency_is_shown_in_its_call() {
        let mut finished = example();
        let site = Location { file: "src/lib.rs".to_owned(), line: 7, column: 1 };
        finished.trace[1].within = Some(Within { call: "block_on".to_owned(), site: site.clone() });
        finished.blocked[0].op = "wake".to_owned();
        let elsewhere = render(&finished, 120, false);
        assert!(elsewhere.contains("BLOCKED wait mutex#2\n"), "{elsewhere}");
        finished.blocked[0].site = Some(site);
        let there = render(&finished, 120, false);
        assert!(there.contains("BLOCKED block_on lib.rs:7\n"), "{there}");
        let all = render(&finished, 120, true);
        assert!(all.contains("BLOCKED wait mutex#2 lib.rs:7\n"), "{all}");
    }

    #[test]
    fn narrow_terminals_cut_cells() {
        let table = render(&example(), 62, true);
        assert!(table.lines().all(|line| line.chars().count() <= 62), "{table}");
        assert!(table.starts_with(" step   main") && table.contains('…'), "{table}");
    }

    #[test]
    fn choices_are_told() {
        let mut finished = example();
        (finished.trace[1].op, finished.trace[1].alt) = ("choose".to_owned(), "2".to_owned());
        let table = render(&finished, 120, false);
        assert!(table.contains("choose mutex#1 lib.rs:3 (choice 2)"), "{table}");
    }

    #[test]
    fn names_of_files_give_way_to_line_numbers() {
        let mut finished = example();
        finished.trace[1].site = Some(Location { file: "src/transfer.rs".to_owned(), line: 31, column: 9 });
        let wide = render(&finished, 120, false);
        assert!(wide.contains("mutex.lock mutex#1 transfer.rs:31"), "{wide}");
        let narrow = render(&finished, 72, false);
        assert!(narrow.contains("mutex.lock mutex#1 :31\n"), "{narrow}");
    }

    #[test]
    fn without_room_for_columns_threads_are_named_in_lines() {
        let table = render(&example(), 36, true);
        assert!(table.lines().all(|line| line.chars().count() <= 36), "{table}");
        assert!(table.contains("    2 ⇄ b: mutex.lock mutex#2\n"), "{table}");
    }
}
