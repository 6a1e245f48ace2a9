//! The crash record: what a child noted about its current schedule before it died.
use super::wire::{Delta, Schedule};

/// The last schedule in the record; `None` when nothing usable was written.
///
/// The format is `E <execution>`, then `D <step> <thread> <alt>` lines, then `END`. A schedule without its `END` was
/// being written when the child died, so it had not begun: the one before it counts.
pub fn last_schedule(record: &str) -> Option<(u64, Schedule)> {
    let mut last = None;
    let mut current: Option<(u64, Vec<Delta>)> = None;
    for line in record.lines() {
        let mut words = line.trim_end_matches('\0').split(' ');
        match words.next() {
            Some("E") => current = words.next().and_then(|n| n.parse().ok()).map(|n| (n, Vec::new())),
            Some("D") => {
                let delta = delta(words);
                match (&mut current, delta) {
                    (Some((_, deltas)), Some(delta)) => deltas.push(delta),
                    _ => current = None,
                }
            }
            Some("END") => {
                if let Some((execution, deltas)) = current.take() {
                    last = Some((execution, Schedule { fingerprint: String::new(), steps: 0, deltas }));
                }
            }
            _ => {}
        }
    }
    last
}

fn delta(mut words: std::str::Split<'_, char>) -> Option<Delta> {
    Some(Delta {
        step: words.next()?.parse().ok()?,
        thread: words.next()?.to_owned(),
        alt: words.next()?.to_owned(),
        op: String::new(),
        site: String::new(),
        nth: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_schedule_counts() {
        let (execution, schedule) =
            last_schedule("E 3\nEND\nE 4\nD 5 0.2 0\nD 9 0.1 1\nEND\nE 5\nD 1 0").unwrap();
        assert_eq!(execution, 4);
        assert_eq!(schedule.deltas.len(), 2);
        assert_eq!((schedule.deltas[1].step, schedule.deltas[1].thread.as_str()), (9, "0.1"));
    }

    #[test]
    fn rubbish_is_no_schedule() {
        for record in ["", "E x\nEND\n", "E 1\nD ? 0 0\nEND\n", "END\n", "\0\0\0"] {
            assert!(last_schedule(record).is_none(), "{record:?}");
        }
    }
}
