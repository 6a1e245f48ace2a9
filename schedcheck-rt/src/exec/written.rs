//! What a loop changes outside its stack: where it does, a round is not like the one before.
//!
//! [`super::spin`] compares the stack and the registers of a thread with what they were a round ago. Here is what else tells
//! its rounds apart: the memory that it has written since then, on the heap, in statics and on the stacks of others, with
//! what that held before; and whether it has asked for what is different each time, the time or random numbers.
//!
//! Whether a round is like the one before must not depend on where independent steps of others fell. What they write to the
//! same memory comes, in all equivalent schedules, between the same two writes of the thread or after the last one, but in
//! some of them before the states are compared and in others after that. So what the thread itself has left there is
//! judged, as soon as somebody else is about to overwrite it, and the rest is not its doing.
//!
//! Writes are seen only where data races are looked for, and come to the end of what is kept in loops that do a lot.
//! A round that writes more than that counts as different.

use super::controller::World;

/// Words that are kept.
const WORDS: usize = 128;
const WORD: usize = size_of::<u64>();

/// Eight bytes of memory, of which some were written.
#[derive(Clone, Copy, Debug)]
struct Word {
    address: usize,
    /// Ones where it was.
    mask: u64,
    /// What was there before that; zeros elsewhere.
    before: u64,
}

/// What a thread has done outside its stack since its state was taken.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Whether there is such a state.
    watching: bool,
    words: Vec<Word>,
    /// For each of them a bit by its address: most that are asked for are not there.
    known: [u64; 4],
    /// What it wrote is not as it was, whatever the words hold now.
    differs: bool,
    /// It asked for what is different each time.
    moved_on: bool,
}

impl Written {
    /// The state of the thread is taken.
    pub(super) fn begin(&mut self) {
        self.end();
        self.watching = true;
    }

    /// It is not needed any more.
    pub(super) fn end(&mut self) {
        self.watching = false;
        self.words.clear();
        self.known = [0; 4];
        self.differs = false;
        self.moved_on = false;
    }

    /// The thread does what comes out differently each time.
    #[inline]
    pub(super) fn moves_on(&mut self) {
        self.moved_on = true;
    }

    /// Whether there is a state of the thread that what it writes now is to be compared with.
    pub(super) fn is_watching(&self) -> bool {
        self.watching
    }

    #[inline]
    fn is_needed(&self) -> bool {
        self.watching && !self.differs
    }

    /// The thread is about to write so many bytes.
    ///
    /// # Safety
    /// They must be readable, now and in [`Written::is_undone`].
    unsafe fn will_write(&mut self, address: usize, size: usize) {
        let end = address + size;
        for at in (address & !(WORD - 1)..end).step_by(WORD) {
            // SAFETY: the caller's promise; the rest of a word lies on the same page.
            unsafe { self.keep(at, bytes_of_word(at, address, end)) };
            if self.differs {
                return;
            }
        }
    }

    /// # Safety
    /// The word must be readable.
    unsafe fn keep(&mut self, address: usize, mask: u64) {
        // SAFETY: the caller's promise.
        let now = unsafe { word(address) };
        let hash = address / WORD;
        let (group, bit) = (hash / 64 % self.known.len(), 1_u64 << (hash % 64));
        let may_be_kept = self.known[group] & bit != 0;
        self.known[group] |= bit;
        let is_it = |word: &&mut Word| word.address == address;
        if let Some(word) = may_be_kept.then(|| self.words.iter_mut().rev().find(is_it)).flatten() {
            word.before |= now & mask & !word.mask;
            word.mask |= mask;
        } else if self.words.len() < WORDS {
            self.words.push(Word { address, mask, before: now & mask });
        } else {
            self.differs = true;
        }
    }

    /// Somebody else is about to write so many bytes.
    ///
    /// # Safety
    /// As of [`Written::is_undone`].
    unsafe fn will_be_overwritten(&mut self, address: usize, size: usize) {
        let end = address + size;
        for kept in &mut self.words {
            if kept.address >= end || kept.address + WORD <= address {
                continue;
            }
            let mask = kept.mask & bytes_of_word(kept.address, address, end);
            // SAFETY: the caller's promise.
            self.differs |= unsafe { word(kept.address) } & mask != kept.before & mask;
            kept.mask &= !mask;
            kept.before &= !mask;
        }
    }

    /// Whether all that was written is again what it was, and nothing else tells this round from the one before.
    ///
    /// # Safety
    /// What was written must be readable still.
    pub(super) unsafe fn is_undone(&self) -> bool {
        // SAFETY: the caller's promise.
        !self.moved_on && !unsafe { self.left_something() }
    }

    /// Whether something that was written is not what it was.
    ///
    /// # Safety
    /// As of [`Written::is_undone`].
    pub(super) unsafe fn left_something(&self) -> bool {
        // SAFETY: the caller's promise.
        let is_other = |kept: &Word| unsafe { word(kept.address) } & kept.mask != kept.before;
        self.differs || self.words.iter().any(is_other)
    }
}

/// Threads that are watched, as bits by their slots: mostly none, and every write asks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watched(u64);

impl Watched {
    /// The bit of all slots that have none of their own. It stays for the rest of the execution.
    const FURTHER: usize = 63;

    const fn bit(slot: usize) -> u64 {
        1 << if slot < Self::FURTHER { slot } else { Self::FURTHER }
    }

    /// The thread in `slot` is watched from now on, or not.
    #[inline]
    pub(super) fn note(&mut self, slot: usize, is_watched: bool) {
        if is_watched {
            self.0 |= Self::bit(slot);
        } else if slot < Self::FURTHER {
            self.0 &= !Self::bit(slot);
        }
    }

    /// Whether any thread may be.
    #[inline]
    fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether any thread but that in `slot` may be.
    #[inline]
    fn any_beside(self, slot: usize) -> bool {
        self.0 & !Self::bit(slot) != 0 || slot >= Self::FURTHER
    }
}

/// Ones for those bytes of the word at `at` that lie between two addresses, of which the first lies before its end and the second
/// behind its start.
fn bytes_of_word(at: usize, start: usize, end: usize) -> u64 {
    u64::MAX << (8 * start.saturating_sub(at)) & u64::MAX >> (8 * (at + WORD).saturating_sub(end))
}

/// # Safety
/// The word must be aligned and readable.
unsafe fn word(address: usize) -> u64 {
    // SAFETY: the caller's promise. Threads of an execution run one at a time, and it belongs to the execution.
    unsafe { (address as *const u64).read_volatile() }
}

impl World {
    /// The running thread is about to write to memory.
    #[inline]
    pub(super) fn will_write(&mut self, address: usize, size: usize) {
        if self.watched.any() {
            self.will_change(address, size);
        } else {
            debug_assert!(!self.spins.iter().any(|spin| spin.written.is_needed()), "it is noted who is");
        }
    }

    #[inline(never)]
    fn will_change(&mut self, address: usize, size: usize) {
        if self.watched.any_beside(self.running) {
            for (slot, spin) in self.spins.iter_mut().enumerate() {
                let written = &mut spin.written;
                if slot != self.running && written.is_needed() {
                    // SAFETY: what is kept stays mapped for as long as the execution.
                    unsafe { written.will_be_overwritten(address, size) };
                }
            }
        }
        let written = &mut self.spins[self.running].written;
        let Some(races) = &self.races else { return };
        if !written.is_needed() || races.is_own_stack(address) {
            return;
        }
        if races.is_watched(address) && races.is_watched(address + (size - 1)) {
            // SAFETY: what is watched stays mapped for as long as the execution.
            unsafe { written.will_write(address, size) };
        } else {
            written.differs = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes bytes, as the program does.
    fn write(written: &mut Written, memory: &mut [u64], from: usize, bytes: &[u8]) {
        let start = memory.as_mut_ptr().cast::<u8>().wrapping_add(from);
        // SAFETY: lies inside of `memory`.
        unsafe {
            written.will_write(start.addr(), bytes.len());
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    fn is_undone(written: &Written) -> bool {
        // SAFETY: the tests' memory lives longer.
        unsafe { written.is_undone() }
    }

    #[test]
    fn what_is_put_back_does_not_count() {
        let mut memory = vec![0x0102_0304_0506_0708; 4];
        let before = memory.clone();
        let mut written = Written::default();
        written.begin();
        assert!(is_undone(&written));
        for (from, size) in [(0, 1), (3, 2), (5, 8), (7, 20), (0, 32)] {
            write(&mut written, &mut memory, from, &vec![0xaa; size]);
            assert!(!is_undone(&written), "{size} bytes from {from} on");
        }
        memory.copy_from_slice(&before);
        assert!(is_undone(&written));
        memory[3] += 1 << 56;
        assert!(!is_undone(&written), "the last byte");
        written.begin();
        assert!(is_undone(&written), "from now on");
    }

    #[test]
    fn what_others_write_beside_it_does_not_count() {
        let mut memory = vec![0_u64; 1];
        let mut written = Written::default();
        written.begin();
        write(&mut written, &mut memory, 2, &[0, 0]);
        memory[0] = !0xffff_0000;
        assert!(is_undone(&written));
        memory[0] = 0x1_0000;
        assert!(!is_undone(&written));
    }

    #[test]
    fn what_others_overwrite_was_put_back_or_not() {
        let mut memory = vec![7_u64; 2];
        let mut written = Written::default();
        written.begin();
        write(&mut written, &mut memory, 0, &[1; 4]);
        write(&mut written, &mut memory, 0, &7_u32.to_le_bytes());
        // SAFETY: lies inside of `memory`.
        unsafe { written.will_be_overwritten(memory.as_ptr().addr() + 2, 8) };
        memory[0] |= 0x99 << 16;
        assert!(is_undone(&written), "what another one has written since");
        memory[0] = 8;
        assert!(!is_undone(&written), "the byte that only the thread has written");
        memory[0] = 7;
        write(&mut written, &mut memory, 8, &[9]);
        // SAFETY: as above.
        unsafe { written.will_be_overwritten(memory.as_ptr().addr() + 8, 1) };
        memory[1] = 7;
        assert!(!is_undone(&written), "whatever another one has made of it");
    }

    #[test]
    fn whoever_may_be_watched_is_told_of_writes() {
        let mut watched = Watched::default();
        assert!(!watched.any() && !watched.any_beside(2));
        watched.note(2, true);
        assert!(watched.any() && !watched.any_beside(2) && watched.any_beside(0) && watched.any_beside(70));
        watched.note(80, true);
        assert!(
            watched.any_beside(2) && watched.any_beside(80),
            "one of the others there may be watched, too"
        );
        watched.note(80, false);
        watched.note(2, false);
        assert!(watched.any(), "others have the same bit");
    }

    #[test]
    fn too_much_counts_as_different() {
        let mut memory = vec![0_u64; WORDS + 1];
        let mut written = Written::default();
        written.begin();
        write(&mut written, &mut memory, 0, &[0; WORDS * WORD]);
        assert!(is_undone(&written));
        write(&mut written, &mut memory, WORDS * WORD, &[0]);
        assert!(!is_undone(&written));
    }
}
