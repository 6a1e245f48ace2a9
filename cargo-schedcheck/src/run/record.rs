//! The crash record: what a child noted about its current schedule before it died.
//!
//! Words of 32 bits, least byte first: the number of decisions plus one (zero while it is being
//! written; the highest bit is set when the execution is over and passed), the execution's number (two words), the number
//! of threads; parent and position among its children of each thread, room for 65536; step, and thread and alternative of
//! each decision.
use super::wire::{Delta, Schedule};

const HEAD: usize = 4;
const MOST_THREADS: usize = 1 << 16;
const OVER: u32 = 1 << 31;

/// Whether the schedule in the record was over: what the child did afterwards was not the test.
pub fn is_over(record: &[u8]) -> bool {
    record.first_chunk().is_some_and(|word| u32::from_le_bytes(*word) & OVER != 0)
}

/// The schedule in the record; `None` when nothing usable was written.
pub fn last_schedule(record: &[u8]) -> Option<(u64, Schedule)> {
    let word = |at: usize| {
        let bytes = record.get(at * 4..at * 4 + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let count = (word(0)? & !OVER).checked_sub(1)? as usize;
    let execution = u64::from(word(1)?) | u64::from(word(2)?) << 32;
    let threads = word(3)?;
    let parent = |thread: u32| -> Option<(u32, u32)> {
        let at = HEAD + 2 * thread as usize;
        (thread < threads).then(|| Some((word(at)?, word(at + 1)?)))?
    };
    let mut deltas = Vec::new();
    for delta in 0..count {
        let at = HEAD + 2 * (MOST_THREADS + delta);
        let choice = word(at + 1)?;
        deltas.push(Delta {
            step: word(at)?.into(),
            thread: path(choice & 0xFFFF, parent)?,
            alt: (choice >> 16).to_string(),
            op: String::new(),
            site: String::new(),
            nth: 0,
            instead: None,
        });
    }
    Some((execution, Schedule { deltas, ..Schedule::default() }))
}

/// The path of a thread from the test body, which is thread 0.
fn path(thread: u32, parent: impl Fn(u32) -> Option<(u32, u32)>) -> Option<String> {
    let mut elements = Vec::new();
    let mut at = thread;
    while at != 0 {
        let (above, nth) = parent(at)?;
        // Parents are numbered before their children: anything else is no record of ours.
        if above >= at {
            return None;
        }
        elements.push(nth.to_string());
        at = above;
    }
    elements.push("0".to_owned());
    elements.reverse();
    Some(elements.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(head: [u32; 4], threads: &[(u32, u32)], deltas: &[(u32, u32)]) -> Vec<u8> {
        let mut words = vec![0; HEAD + 2 * (MOST_THREADS + deltas.len())];
        words[..HEAD].copy_from_slice(&head);
        for (at, (parent, nth)) in threads.iter().enumerate() {
            words[HEAD + 2 * at..][..2].copy_from_slice(&[*parent, *nth]);
        }
        for (at, (step, choice)) in deltas.iter().enumerate() {
            words[HEAD + 2 * (MOST_THREADS + at)..][..2].copy_from_slice(&[*step, *choice]);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn a_whole_schedule_counts() {
        let threads = [(0, 0), (0, 2), (1, 7)];
        let (execution, schedule) =
            last_schedule(&record([3, 4, 0, 3], &threads, &[(5, 2), (9, 1 | 3 << 16)])).unwrap();
        assert_eq!(execution, 4);
        let over = record([3 | OVER, 4, 0, 3], &threads, &[(5, 2), (9, 1 | 3 << 16)]);
        assert!(is_over(&over) && last_schedule(&over).is_some_and(|(_, again)| again.deltas.len() == 2));
        assert!(!is_over(&record([3, 4, 0, 3], &threads, &[])) && !is_over(&[]));
        let deltas: Vec<_> =
            schedule.deltas.iter().map(|d| (d.step, d.thread.as_str(), d.alt.as_str())).collect();
        assert_eq!(deltas, [(5, "0.2.7", "0"), (9, "0.2", "3")]);
    }

    #[test]
    fn rubbish_is_no_schedule() {
        let broken = [
            Vec::new(),
            vec![1, 0],
            record([0, 4, 0, 1], &[(0, 0)], &[]),
            record([2, 4, 0, 1], &[(0, 0)], &[(5, 1)]),
            record([2, 4, 0, 2], &[(0, 0), (1, 1)], &[(5, 1)]),
            record([3, 4, 0, 1], &[(0, 0)], &[(5, 0)]),
        ];
        for record in broken {
            assert!(last_schedule(&record).is_none());
        }
    }
}
