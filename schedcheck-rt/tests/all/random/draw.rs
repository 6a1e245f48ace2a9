//! Which program the body is, and what its number decides.

use crate::support::Random;
use std::sync::atomic::{AtomicU64, Ordering};

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// From now on the body is the program with this number.
pub(crate) fn choose(number: u64) {
    NUMBER.store(number, Ordering::Relaxed);
}

/// The number of the program that the body is.
pub(crate) fn chosen() -> u64 {
    NUMBER.load(Ordering::Relaxed)
}

/// What programs of one kind are made of.
pub(crate) struct Kind<Op: 'static> {
    /// Tells programs of the same number but of different kinds apart.
    pub(crate) salt: u64,
    /// Operations that have to do with each other: a program takes from two of these.
    pub(crate) themes: &'static [&'static [Op]],
    /// How many threads there are, and how many operations each has at most.
    pub(crate) sizes: &'static [(usize, usize)],
    /// Whether an operation is of the second theme.
    pub(crate) is_second: fn(&mut Random) -> bool,
}

impl<Op: Copy> Kind<Op> {
    /// What each thread of a program does, the main thread first.
    pub(crate) fn draw(&self, number: u64) -> Vec<Vec<Op>> {
        let mut random = Random((number ^ self.salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5EED);
        random.below(2);
        let themes = [(); 2].map(|()| self.themes[random.below(self.themes.len())]);
        let (threads, longest) = self.sizes[random.below(self.sizes.len())];
        let mut list = |_| -> Vec<Op> {
            let length = 1 + random.below(longest);
            let mut op = || {
                let theme = themes[usize::from((self.is_second)(&mut random))];
                theme[random.below(theme.len())]
            };
            (0..length).map(|_| op()).collect()
        };
        (0..threads).map(&mut list).collect()
    }
}
