//! How often the clock is looked at: after each execution if they are long, seldom if they are short.

use std::time::{Duration, Instant};

/// Time between two looks at the clock, about.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// Executions between two looks at most.
const MOST: u64 = 16;
/// An execution may last so much longer than the time that is left: whoever waits for an answer is as patient, and more.
pub(super) const OVERTIME: Duration = Duration::from_secs(4);

/// When the clock was looked at, and when it will be.
#[derive(Debug)]
pub(super) struct Pace {
    last: (u64, Instant),
    /// After so many executions it is time.
    pub(super) next: u64,
    /// The longest execution so far, as far as that is known.
    longest: Duration,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Pace { last: (0, now), next: 0, longest: Duration::ZERO }
    }

    /// The clock is looked at after so many executions. How long the next one may take.
    pub(super) fn look(&mut self, executions: u64, now: Instant) -> Duration {
        let (before, then) = std::mem::replace(&mut self.last, (executions, now));
        let count = executions.saturating_sub(before);
        if count == 0 {
            // How long they are is not known yet.
            self.next = executions + 1;
            return self.longest;
        }
        let each = (now - then) / count.try_into().unwrap_or(u32::MAX);
        self.longest = self.longest.max(each);
        let pace = BETWEEN_LOOKS.as_nanos() / each.as_nanos().max(1);
        self.next = executions + (pace as u64).clamp(1, MOST);
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_executions_are_followed_by_a_look_each_and_short_ones_are_not() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let after = |micros| start + Duration::from_micros(micros);
        assert_eq!(pace.look(0, start), Duration::ZERO);
        assert_eq!(pace.next, 1);
        assert_eq!(pace.look(1, after(10)), Duration::from_micros(10));
        assert_eq!(pace.next, 1 + MOST);
        pace.look(17, after(10 + 16 * 250));
        assert_eq!(pace.next, 17 + 4);
        assert_eq!(pace.look(21, after(8_004_010)).as_secs(), 2);
        assert_eq!(pace.next, 21 + 1);
        pace.look(22, after(8_004_020));
        assert_eq!((pace.next, pace.longest.as_secs()), (22 + MOST, 2));
    }
}
