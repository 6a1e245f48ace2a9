//! Directs a scenario in an execution.

use super::until::Point;
use super::{Actor, Until};
use crate::exec::script::{self, Came, Stop};
use crate::exec::{Active, active};
use crate::facade::thread::spawn_controlled;
use crate::model::{Kind, Op, Site};
use crate::search::step::ObjectId;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// Where the threads of the scenario are in the execution.
#[derive(Debug)]
pub(super) struct Director {
    slots: RefCell<Vec<usize>>,
}

fn now() -> Active {
    active().expect("a scenario is directed in its execution")
}

impl Director {
    pub(super) fn begin(exists: bool) -> Option<Director> {
        active()?.begin_script(exists);
        Some(Director { slots: RefCell::default() })
    }

    /// Runs the script. A panic ends the execution: threads that borrow from the callers' frames are
    /// still there, and must not run any more when those are gone.
    pub(super) fn guard(&self, script: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(script)) {
            let active = now();
            active.panicked(payload.as_ref());
            active.break_off(active.current());
        }
    }

    /// Waits for all threads.
    #[track_caller]
    pub(super) fn finish(&self) {
        let (active, site) = (now(), Location::caller());
        active.end_script(site);
        for slot in self.slots.take() {
            active.perform(Op::new(Kind::Join, active.life_of(slot), site));
            if active.has_unheard_panic(slot) {
                active.break_off(slot);
            }
            active.panic_heard(slot);
        }
        active.script_met();
    }

    #[track_caller]
    pub(super) fn start<'scope, F>(&self, name: &str, body: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        // SAFETY: `finish` waits for the thread before anything that it borrows is gone, and where that is not
        // reached the execution ends.
        let started = unsafe { spawn_controlled((Some(name.to_owned()), None), body, Location::caller()) };
        now().direct(started.slot);
        self.slots.borrow_mut().push(started.slot);
    }

    pub(super) fn has_ended(&self, actor: Actor) -> bool {
        now().has_ended(self.slots.borrow()[actor.0])
    }

    #[track_caller]
    pub(super) fn not_assumed(&self) {
        now().not_assumed(Location::caller());
    }

    #[track_caller]
    pub(super) fn transfer(&self, candidates: &[Actor], until: &Until<'_>) -> Actor {
        let site = Location::caller();
        let how_far = how_far(until);
        let chosen = self.choose(candidates, &how_far, site);
        let slot = self.slots.borrow()[chosen.0];
        if let Point::When(condition) = &until.point {
            let mut left = until.count;
            while left > 0 {
                let came = now().give_turn(slot, &how_far, site);
                left -= u32::from(condition());
                if left > 0 && came != Came::There {
                    now().not_met("the condition did not hold as long as it ran".to_owned(), site);
                }
            }
        } else {
            now().give_turn(slot, &how_far, site);
        }
        now().statement_met();
        chosen
    }

    /// Which of them runs: a choice that is explored.
    fn choose(&self, candidates: &[Actor], until: &script::Until, site: Site) -> Actor {
        let slots = self.slots.borrow();
        let able: Vec<Actor> =
            candidates.iter().copied().filter(|actor| now().may_run(slots[actor.0])).collect();
        match able.len() {
            0 => {
                let ended = candidates.iter().all(|actor| now().has_ended(slots[actor.0]));
                now().nobody_to_choose(ended, until, site);
                unreachable!("an execution that cannot go on does not")
            }
            1 => able[0],
            count => {
                let choice = Op { arg: count as u32, ..Op::new(Kind::Choose, ObjectId::NONE, site) };
                able[now().perform(choice) as usize]
            }
        }
    }
}

fn how_far(until: &Until<'_>) -> script::Until {
    let (stop, blocked, ended) = match &until.point {
        Point::Next | Point::When(_) => (Stop::AnyLabel, true, true),
        Point::Any => (Stop::SomeLabel, true, true),
        Point::Step => (Stop::Step, true, true),
        Point::Blocked => (Stop::Never, true, false),
        Point::End => (Stop::Never, false, true),
        Point::Label(_) => (Stop::Label, false, false),
    };
    let label = if let Point::Label(name) = &until.point { name.clone() } else { String::new() };
    let condition = matches!(until.point, Point::When(_));
    let count = if condition { 1 } else { until.count };
    script::Until { stop, label, count, blocked, ended, condition }
}
