//! The failing schedule as a table: one row per step, one column per thread.
use crate::run::wire::{Blocked, Finished, Location, Step};

/// Rows shown unless everything is asked for.
const ROWS: usize = 40;
/// Steps that only concern their own thread: folded unless everything is asked for.
const LOCAL: [&str; 2] = ["begin", "end"];
/// A column narrower than this says nothing.
const NARROWEST: usize = 14;
/// Width of the step number and the preemption mark.
const MARGIN: usize = 8;
/// Between two columns.
const GAP: usize = 2;

/// The table, or nothing when no step is worth a row. `everything`: all steps, also those that no other thread sees.
pub fn render(finished: &Finished, width: usize, everything: bool) -> String {
    let rows = rows(finished, everything);
    if rows.is_empty() {
        return String::new();
    }
    let hidden = if everything { 0 } else { rows.len().saturating_sub(ROWS) };
    let rows = &rows[hidden..];

    let columns = columns(finished, rows, width);
    let mut table = String::new();
    let heads = columns.iter().map(|column| (column.head.as_str(), column.width));
    push_line(&mut table, "step", "", heads);
    if hidden > 0 {
        table.push_str(&format!("  … {hidden} earlier steps; `replay --trace` shows them\n"));
    }
    for row in rows {
        let cells = columns.iter().map(|column| match column.thread == row.thread {
            true => (row.text.as_str(), column.width),
            false => ("", column.width),
        });
        let mark = if row.preemption { "⇄" } else { "" };
        push_line(&mut table, &row.step, mark, cells);
    }
    table
}

fn rows(finished: &Finished, everything: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    // A folded step hands its preemption on to the next one shown.
    let mut preempted = false;
    for step in &finished.trace {
        preempted |= step.preemption;
        if everything || !LOCAL.contains(&step.op.as_str()) {
            rows.push(Row { preemption: preempted, ..Row::of_step(step) });
            preempted = false;
        }
    }
    let after = finished.trace.last().map_or(0, |step| step.step) + 1;
    rows.extend(finished.blocked.iter().map(|blocked| Row::of_blocked(blocked, after)));
    rows
}

struct Row {
    step: String,
    thread: usize,
    preemption: bool,
    text: String,
}

impl Row {
    fn of_step(step: &Step) -> Self {
        let mut text = operation(&step.op, step.object.as_deref(), step.site.as_ref());
        if let Some(note) = &step.note {
            text.push_str(&format!(" ({note})"));
        }
        Self { step: step.step.to_string(), thread: step.thread, preemption: step.preemption, text }
    }

    fn of_blocked(blocked: &Blocked, step: u64) -> Self {
        let text = operation(&blocked.op, blocked.object.as_deref(), blocked.site.as_ref());
        Self {
            step: step.to_string(),
            thread: blocked.thread,
            preemption: false,
            text: format!("BLOCKED {text}"),
        }
    }
}

struct Column {
    thread: usize,
    head: String,
    width: usize,
}

/// One column for each thread that does something, as wide as needed and as the terminal allows.
fn columns(finished: &Finished, rows: &[Row], width: usize) -> Vec<Column> {
    let mut threads: Vec<usize> = rows.iter().map(|row| row.thread).collect();
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

/// The name of a thread: its own, else its path.
pub fn thread_name(finished: &Finished, thread: usize) -> String {
    match finished.threads.get(thread) {
        Some(known) if !known.name.is_empty() => known.name.clone(),
        Some(known) => format!("thread {}", known.path),
        None => format!("thread #{thread}"),
    }
}

fn operation(op: &str, object: Option<&str>, site: Option<&Location>) -> String {
    let mut text = op.to_owned();
    if let Some(object) = object.filter(|object| !object.is_empty()) {
        text.push_str(&format!(" {object}"));
    }
    if let Some(site) = site {
        let file = site.file.rsplit(['/', '\\']).next().unwrap_or_default();
        text.push_str(&format!(" {file}:{}", site.line));
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
    fn narrow_terminals_cut_cells() {
        let table = render(&example(), 40, true);
        assert!(table.lines().all(|line| line.chars().count() <= 8 + 3 * (NARROWEST + 2)), "{table}");
        assert!(table.contains('…'));
    }
}
