//! Two things that std keeps per thread of the system, and that every model thread needs its own of:
//! the number of panics it is unwinding, and the keys of its next hash map.
//!
//! Model threads that run on one thread of the system exchange these words with every turn; those
//! that have one of their own start with the same contents.
//!
//! std does not say where they are; they are found once, by watching what changes in the
//! thread-local block when a panic unwinds and when a hash map is made.

use super::image;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

/// Size and alignment of the program's thread-local block.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadLocalBlock {
    pub(super) size: usize,
    pub(super) align: usize,
}

impl ThreadLocalBlock {
    /// Where the block of the calling thread begins.
    pub(super) fn start(&self) -> usize {
        let pointer: usize;
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: reads the thread pointer, which the ABI keeps at offset 0 of its own segment.
            unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly)) };
            // Variant II of the ABI: the block lies right below the thread pointer.
            pointer - self.size.next_multiple_of(self.align.max(1))
        }
        #[cfg(target_arch = "aarch64")]
        {
            // SAFETY: reads the thread pointer.
            unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem)) };
            // Variant I of the ABI: the block follows a header of two words.
            pointer + 16usize.next_multiple_of(self.align.max(1))
        }
    }

    fn words(&self) -> Vec<u64> {
        let start = self.start();
        // SAFETY: the calling thread's own block.
        (0..self.size / 8)
            .map(|index| unsafe { ((start + index * 8) as *const u64).read_unaligned() })
            .collect()
    }
}

/// Where std's words lie, from the start of the block.
#[derive(Clone, Copy, Debug, Default)]
struct Offsets {
    hash_keys: Option<usize>,
    panics: Option<usize>,
}

/// The words of the calling thread of the system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StdWords {
    hash_keys: Option<*mut [u64; 2]>,
    panics: Option<*mut u64>,
}

/// What a model thread has in these words while another one runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    hash_keys: Option<[u64; 2]>,
    panics: u64,
}

impl Kept {
    /// The keys of thread `number`: threads of the system start with keys of their own as well.
    #[inline]
    fn keys_for(&self, number: u16) -> Option<[u64; 2]> {
        self.hash_keys.map(|[first, second]| [first ^ u64::from(number) << 32, second])
    }
}

impl StdWords {
    /// Finds the words of the calling thread.
    pub(super) fn find() -> StdWords {
        static OFFSETS: OnceLock<(usize, Offsets)> = OnceLock::new();
        let Some(block) = image::thread_local_block() else { return StdWords::default() };
        let (_, offsets) = OFFSETS.get_or_init(|| (block.size, look_for(block)));
        let start = block.start();
        let words = StdWords {
            hash_keys: offsets.hash_keys.map(|offset| (start + offset) as *mut [u64; 2]),
            panics: offsets.panics.map(|offset| (start + offset) as *mut u64),
        };
        words.make_keys();
        words
    }

    /// Lets std make the calling thread's keys, which it does when they are first asked for.
    fn make_keys(&self) {
        std::hint::black_box(std::hash::RandomState::new());
        let mut made = self.read();
        // As if nobody had asked.
        made.hash_keys = made.hash_keys.map(|[first, second]| [first.wrapping_sub(1), second]);
        self.write(made);
    }

    /// Gives the thread of that number its own words. At first it has some of those that the root had.
    #[inline]
    pub(super) fn enter(&self, thread: Kept, number: u16, root: &Kept) {
        let mut words = thread;
        if words.hash_keys.is_none() {
            words.hash_keys = root.keys_for(number);
        }
        self.write(words);
    }

    /// What thread `number` has in its words at first.
    pub(super) fn first(&self, number: u16) -> Kept {
        Kept { hash_keys: self.read().keys_for(number), panics: 0 }
    }

    /// Gives the calling thread of the system these words: one that was just started, or the root, which has them back.
    pub(super) fn adopt(&self, words: Kept) {
        self.write(words);
    }

    /// What is in the words.
    #[inline]
    pub(super) fn read(&self) -> Kept {
        Kept {
            // SAFETY: words of the calling thread's block.
            hash_keys: self.hash_keys.map(|place| unsafe { place.read_unaligned() }),
            // SAFETY: as above.
            panics: self.panics.map_or(0, |place| unsafe { place.read() }),
        }
    }

    #[inline]
    fn write(&self, words: Kept) {
        if let (Some(place), Some(keys)) = (self.hash_keys, words.hash_keys) {
            // SAFETY: words of the calling thread's block.
            unsafe { place.write_unaligned(keys) };
        }
        if let Some(place) = self.panics {
            // SAFETY: as above.
            unsafe { place.write(words.panics) };
        }
    }
}

fn look_for(block: ThreadLocalBlock) -> Offsets {
    Offsets { hash_keys: look_for_hash_keys(block), panics: look_for_panics(block) }
}

/// The word that grows by one when a hash map is made.
fn look_for_hash_keys(block: ThreadLocalBlock) -> Option<usize> {
    std::hint::black_box(std::hash::RandomState::new());
    let before = block.words();
    std::hint::black_box(std::hash::RandomState::new());
    let after = block.words();
    only((0..before.len()).filter(|at| after[*at] == before[*at].wrapping_add(1)))
}

/// The word that is 0, then 1 during an unwind, then 2 during an unwind within it.
fn look_for_panics(block: ThreadLocalBlock) -> Option<usize> {
    struct Watch<'a>(&'a mut Vec<Vec<u64>>, ThreadLocalBlock, bool);
    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            self.0.push(self.1.words());
            if self.2 {
                unwind(self.0, self.1, false);
            }
        }
    }
    fn unwind(seen: &mut Vec<Vec<u64>>, block: ThreadLocalBlock, again: bool) {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _watch = Watch(seen, block, again);
            // Unwinds as a panic does, without its message.
            resume_unwind(Box::new(()));
        }));
    }
    let mut seen = vec![block.words()];
    unwind(&mut seen, block, true);
    let [calm, one, two] = seen.as_slice() else { return None };
    only((0..calm.len()).filter(|at| (calm[*at], one[*at], two[*at]) == (0, 1, 2)))
}

/// The offset of the single word at these positions, if it is single.
fn only(mut positions: impl Iterator<Item = usize>) -> Option<usize> {
    let first = positions.next()?;
    positions.next().is_none().then_some(first * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_found_and_are_the_right_ones() {
        let words = StdWords::find();
        assert!(words.hash_keys.is_some());
        let place = words.panics.expect("the number of panics is found");
        // SAFETY: the word just found, put back at once.
        unsafe { place.write(1) };
        // std looks at the thread's number only while some thread panics.
        let elsewhere = std::panic::catch_unwind(|| {
            struct Ask(*mut u64);
            impl Drop for Ask {
                fn drop(&mut self) {
                    // SAFETY: as above.
                    unsafe { self.0.write(0) };
                    assert!(!std::thread::panicking(), "the word decides");
                    // SAFETY: as above.
                    unsafe { self.0.write(1) };
                    assert!(std::thread::panicking(), "the word decides");
                }
            }
            let _ask = Ask(place);
            resume_unwind(Box::new(()));
        });
        assert!(elsewhere.is_err());
    }
}
