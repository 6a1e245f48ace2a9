//! Clocks of few threads in one number.
//!
//! Most tests have no more than four threads, which have no more than some thousand steps each. A clock of
//! those is four numbers of 15 bits, each with a bit above it that is 0 and keeps differences apart: two clocks
//! are compared or joined as a whole, without a loop, in a register.

use super::step::ThreadId;

/// How many threads a narrow clock can have.
pub(super) const MOST_THREADS: usize = 4;

/// How many steps of a thread it can count.
pub(super) const MOST_STEPS: usize = (1 << 15) - 1;

const BITS: usize = 16;
/// The bits between the numbers.
const APART: u64 = 0x8000_8000_8000_8000;

/// How many steps of each thread happened before something, or are it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Narrow(u64);

impl Narrow {
    /// The same of a clock of four threads. If one of the numbers is too large, it says nothing.
    pub(super) fn of(clock: [u32; MOST_THREADS]) -> Narrow {
        let number = |sum: u64, &count: &u32| sum << BITS | u64::from(count) & MOST_STEPS as u64;
        Narrow(clock.iter().rev().fold(0, number))
    }

    /// The numbers.
    #[inline(always)]
    pub(super) fn counts(self) -> [u32; MOST_THREADS] {
        // By hand: mapping an array is a call.
        let count = |thread: usize| u32::from((self.0 >> (thread * BITS)) as u16);
        [count(0), count(1), count(2), count(3)]
    }

    /// Their sum, if that is no more than [`MOST_STEPS`].
    #[inline(always)]
    pub(super) fn total(self) -> u32 {
        (self.0.wrapping_mul(0x0001_0001_0001_0001) >> (3 * BITS)) as u32
    }

    /// With one more step of `thread`.
    #[inline(always)]
    pub(super) fn after_step_of(self, thread: ThreadId) -> Narrow {
        Narrow(self.0 + (1 << (thread.0 as usize % MOST_THREADS * BITS)))
    }

    /// The bits above those numbers that are not less than the other's.
    #[inline(always)]
    fn not_less(self, other: Narrow) -> u64 {
        ((self.0 | APART) - other.0) & APART
    }

    /// Whether it has all steps that `other` has.
    #[inline(always)]
    pub(super) fn has(self, other: Narrow) -> bool {
        self.not_less(other) == APART
    }

    /// The steps of both.
    #[inline(always)]
    pub(super) fn join(self, other: Narrow) -> Narrow {
        let mine = self.not_less(other);
        let mine = mine - (mine >> (BITS - 1));
        Narrow(self.0 & mine | other.0 & !mine)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::mix;
    use super::*;

    #[test]
    fn clocks_are_compared_and_joined_number_by_number() {
        let random = |seed: u64| {
            let most = [3, 200, MOST_STEPS as u64 + 1][seed as usize % 3];
            [0, 1, 2, 3].map(|at| (mix(seed * 8 + at) % most) as u32)
        };
        for seed in 0..2000 {
            let (first, second) = (random(seed), random(seed + 3));
            let (one, other) = (Narrow::of(first), Narrow::of(second));
            assert_eq!(one.counts(), first);
            let joined = [0, 1, 2, 3].map(|at| first[at].max(second[at]));
            assert_eq!(one.join(other).counts(), joined);
            assert_eq!(one.has(other), joined == first);
            assert!(one.has(one) && one.join(one) == one);
            let sum = first.iter().sum::<u32>();
            assert!(sum as usize > MOST_STEPS || one.total() == sum);
        }
        let last = Narrow::of([0, 0, 0, MOST_STEPS as u32 - 1]).after_step_of(ThreadId(3));
        assert_eq!(last.counts(), [0, 0, 0, MOST_STEPS as u32]);
        assert_eq!(Narrow::default().after_step_of(ThreadId(1)).counts(), [0, 1, 0, 0]);
    }
}
