//! Vector clocks: for every thread, how much of it has happened before.

/// A vector clock. Threads are positions in the execution; those beyond its end count as zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorClock(Vec<u32>);

impl VectorClock {
    /// What is known of `thread`.
    #[inline]
    pub(crate) fn get(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Knows `time` of `thread` from now on.
    #[inline]
    pub(crate) fn set(&mut self, thread: usize, time: u32) {
        match self.0.get_mut(thread) {
            Some(known) => *known = time,
            None => self.set_another(thread, time),
        }
    }

    #[cold]
    fn set_another(&mut self, thread: usize, time: u32) {
        self.grow(thread + 1);
        self.0[thread] = time;
    }

    #[cold]
    fn grow(&mut self, threads: usize) {
        self.0.resize(threads, 0);
    }

    /// Whether nothing is known.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything, and keeps its memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Knows what `other` knows, and nothing else.
    #[inline]
    pub(crate) fn copy(&mut self, other: &VectorClock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    /// Also knows what `other` knows.
    #[inline]
    pub(crate) fn join(&mut self, other: &VectorClock) {
        if self.0.len() < other.0.len() {
            self.grow(other.0.len());
        }
        let own = &mut self.0[..other.0.len()];
        // Clocks are short: no iterators that may be calls.
        let mut at = 0;
        while at < own.len() {
            own[at] = own[at].max(other.0[at]);
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_both_know() {
        let (mut left, mut right) = (VectorClock::default(), VectorClock::default());
        left.set(0, 5);
        right.set(0, 3);
        right.set(2, 7);
        left.join(&right);
        assert_eq!([left.get(0), left.get(1), left.get(2), left.get(9)], [5, 0, 7, 0]);
        right.copy(&left);
        assert_eq!(left, right);
    }
}
