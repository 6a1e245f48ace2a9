//! Virtual time: it follows causality, not the schedule.
//!
//! Each thread has a clock, which its own waits move, and which is moved up to that of every step before it that it depends
//! on: what enabled it, and what was done to its objects before. So nobody sees a flag that was set after a second of sleep
//! before a second has passed, and two readings of the clock under one lock are in order. Steps that depend on each other
//! come in the same order in all equivalent schedules, and those of one class ([`dependence::class`]) that commute are not
//! asked for their times: equivalent schedules read the same times.
//!
//! [`dependence::class`]: crate::search::dependence::class

use super::controller::World;
use crate::search::dependence::{Class, class};
use crate::search::step::{Access, Mode, ObjectId};

/// The latest time at which an object was used in each of the classes.
type Used = [u64; 4];

/// When objects were used in this execution.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Some clock does not stand at its beginning any more. Before that there is nothing to find here.
    pub(super) moved: bool,
    /// By the numbers of objects.
    stable: Vec<Used>,
    local: Vec<Used>,
}

impl Times {
    /// An execution begins.
    pub(super) fn begin(&mut self) {
        if self.moved {
            self.moved = false;
            self.stable.clear();
            self.local.clear();
        }
    }

    fn of(&mut self, ObjectId(number): ObjectId) -> &mut Used {
        let (table, at) = match number.checked_sub(ObjectId::FIRST_LOCAL.0) {
            None => (&mut self.stable, number as usize),
            Some(local) => (&mut self.local, local as usize),
        };
        if at >= table.len() {
            table.resize(at + 1, Used::default());
        }
        &mut table[at]
    }

    /// The time of a step that its thread came to at `time`.
    pub(super) fn of_step(&mut self, accesses: &[Access; 2], time: u64) -> u64 {
        let uses = |access: &&Access| access.object != ObjectId::NONE && access.mode != Mode::None;
        let mut time = time;
        for access in accesses.iter().filter(uses) {
            let own = class(access.mode);
            for (other, &used) in self.of(access.object).iter().enumerate() {
                if own == Class::Total || other != own as usize {
                    time = time.max(used);
                }
            }
        }
        for access in accesses.iter().filter(uses) {
            let used = &mut self.of(access.object)[class(access.mode) as usize];
            *used = time.max(*used);
        }
        time
    }
}

impl World {
    /// The step just executed, an operation on memory, is known in full.
    #[cold]
    #[inline(never)]
    pub(super) fn time_of_memory_step(&mut self) {
        let (Some(event), Some(note)) = (self.trace.events.last(), self.notes.last_mut()) else { return };
        let thread = &mut self.threads[self.current];
        thread.time = self.times.of_step(&event.accesses, thread.time);
        note.time = thread.time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(object: u32, mode: Mode) -> [Access; 2] {
        [Access::new(ObjectId(object), mode), Access::NONE]
    }

    #[test]
    fn times_pass_along_what_depends() {
        let mut times = Times::default();
        assert_eq!(times.of_step(&on(3, Mode::Write), 70), 70);
        assert_eq!(times.of_step(&on(3, Mode::Read), 20), 70);
        assert_eq!(times.of_step(&on(3, Mode::Read), 90), 90);
        assert_eq!(times.of_step(&on(3, Mode::Read), 30), 70, "one that reads knows nothing of others");
        assert_eq!(times.of_step(&on(3, Mode::Write), 10), 90, "but comes before what is written later");
        assert_eq!(times.of_step(&on(4, Mode::Write), 10), 10);
    }

    #[test]
    fn marks_and_sharers_commute_among_themselves() {
        for (mode, other) in [(Mode::Mark, Mode::Mark), (Mode::AcquireShared, Mode::ReleaseShared)] {
            let mut times = Times::default();
            let local = ObjectId::FIRST_LOCAL.0 + 1;
            assert_eq!(times.of_step(&on(local, mode), 70), 70);
            assert_eq!(times.of_step(&on(local, other), 20), 20);
            assert_eq!(times.of_step(&on(local, Mode::Read), 30), 70);
        }
    }

    #[test]
    fn both_objects_of_a_step_pass_on_its_time() {
        let mut times = Times::default();
        times.of_step(&on(1, Mode::Write), 50);
        let both = [Access::new(ObjectId(0), Mode::Write), Access::new(ObjectId(1), Mode::Read)];
        assert_eq!(times.of_step(&both, 0), 50);
        assert_eq!(times.of_step(&on(0, Mode::Read), 0), 50);
        times.moved = true;
        times.begin();
        assert_eq!(times.of_step(&on(0, Mode::Read), 0), 0);
    }
}
