//! Who called for a step that stands in no source of the user's own, for reports.
//!
//! The operations of facades know their callers (`track_caller`). Those that generic code of std does, compiled into user
//! crates (reference counts), are met in calls that the compiler has put in, and what a lock does in the kernel is met in a
//! system call: there only the stack tells who wanted it. The caller may also be std (`receiver.iter().sum()`,
//! `map(JoinHandle::join)`, `drop(sender)`). And where a dependency from the registry does something, the stack tells what
//! the user's own code has called.

use super::call_stack::{Call, calls_of_user, is_of_std, is_own};
use super::controller::World;
use super::outcome::of_package;
use super::run::Execution;
use super::view::StepView;
use crate::model::{Kind, Op};
use crate::search::step::StepIndex;
use rustc_hash::FxHashMap;
use std::backtrace::Backtrace;
use std::collections::VecDeque;

/// A file, a line and a column.
type Place = (String, u32, u32);

/// More than a report shows of a schedule; to read a stack takes a while.
const KEPT: usize = 256;

/// The stacks of the last such steps.
#[derive(Debug, Default)]
pub(super) struct Callers(VecDeque<(StepIndex, Backtrace)>);

/// Where a step came from.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    /// The innermost place in user code, of whatever crate, if the step does not know it itself.
    pub(crate) place: Option<Place>,
    /// What the user's own code called, and where, if that is what does the step.
    pub(crate) call: Option<(String, Place)>,
}

impl Callers {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Who called for a step at `place`.
    fn of(&self, step: StepIndex, place: &Place) -> Caller {
        let Ok(at) = self.0.binary_search_by_key(&step, |(step, _)| *step) else { return Caller::default() };
        let calls = calls_of_user(&self.0[at].1);
        let own = calls.iter().position(|call| !is_of_registry(&call.place.0));
        let called = own.filter(|own| *own > 0).map(|own| (name(&calls[own - 1]), calls[own].place.clone()));
        let innermost = calls.into_iter().next().filter(|_| is_own(&place.0) || is_of_std(&place.0));
        Caller { place: innermost.map(|call| call.place), call: called }
    }
}

/// Whether a file belongs to a dependency from the registry.
pub(super) fn is_of_registry(file: &str) -> bool {
    of_package(file) != file
}

/// What a function is called where it is called: `lock`, not `<lock_api::Mutex<_, _>>::lock`.
fn name(call: &Call) -> String {
    let mut path = call.function.as_str();
    loop {
        let start = last_segment(path);
        let segment = &path[start..];
        let is_hash = segment.len() == 17 && segment.starts_with('h');
        if start == 0 || !(segment.starts_with(['<', '{']) || is_hash) {
            return segment.to_owned();
        }
        path = &path[..start - 2];
    }
}

/// Where the last segment of a path begins.
fn last_segment(path: &str) -> usize {
    let bytes = path.as_bytes();
    let mut depth = 0;
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b'}' | b']' => depth += 1,
            b'<' | b'(' | b'{' | b'[' => depth -= 1,
            b':' if depth == 0 && at > 0 && bytes[at - 1] == b':' => return at + 1,
            _ => {}
        }
    }
    0
}

impl Execution {
    /// Who called for each step of the last execution, if that was for a report.
    ///
    /// Stacks of early steps are not kept. An early step that looks like later ones, all of which were called for at one
    /// place, was called for there, too: that is what loops do.
    pub(crate) fn callers(&self) -> Vec<Caller> {
        let steps = &self.view().steps;
        let look = |step: &'_ StepView| (step.thread, step.op, step.object.clone(), step.place.clone());
        let mut callers: Vec<Caller> = (0..steps.len()).map(|step| self.caller(step)).collect();
        let mut places = FxHashMap::default();
        for (step, caller) in steps.iter().zip(&callers) {
            if let Some(place) = &caller.place {
                let agreed = places.entry(look(step)).or_insert_with(|| Some(place.clone()));
                agreed.take_if(|agreed| agreed != place);
            }
        }
        for (step, caller) in steps.iter().zip(&mut callers).filter(|(_, caller)| caller.place.is_none()) {
            caller.place = places.get(&look(step)).cloned().flatten();
        }
        callers
    }

    /// Who called for a step of the last execution, if that was for a report and its stack was kept.
    pub(crate) fn caller(&self, step: usize) -> Caller {
        let place = &self.view().steps[step].place;
        self.world().callers.of(step as StepIndex, place)
    }
}

impl World {
    /// Keeps who called for the running thread's operation, if its place does not tell the user enough.
    #[cold]
    pub(super) fn note_caller(&mut self, op: &Op, step: StepIndex) {
        let file = op.site.file();
        if is_placeless(op) || is_own(file) && op.kind.is_on_memory() || is_of_registry(file) {
            if self.callers.0.len() == KEPT {
                self.callers.0.pop_front();
            }
            self.callers.0.push_back((step, Backtrace::force_capture()));
        }
    }

    /// The same for what it announces, at which it may be found blocked in the end.
    #[cold]
    pub(super) fn note_calls(&mut self, op: &Op) {
        let tells_too_little = is_placeless(op) || is_of_registry(op.site.file());
        let calls = tells_too_little.then(|| Box::new(Backtrace::force_capture()));
        self.threads[self.current].calls = calls;
    }
}

/// Whether an operation stands in std, or in the engine, which makes the system calls its own.
fn is_placeless(op: &Op) -> bool {
    let file = op.site.file();
    let on_futex = matches!(op.kind, Kind::FutexWait | Kind::FutexSleep | Kind::FutexWake);
    is_own(file) && on_futex || is_of_std(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_as_its_callers_name_it() {
        for (function, expected) in [
            ("parking_lot::lock", "lock"),
            ("<lock_api::mutex::Mutex<parking_lot::raw_mutex::RawMutex, i32>>::lock", "lock"),
            ("<lock_api::MutexGuard<R, T> as core::ops::drop::Drop>::drop", "drop"),
            ("tokio::runtime::block_on::<(), fn() -> u8>", "block_on"),
            ("once_cell::imp::initialize::{closure#0}::{closure#1}", "initialize"),
            ("flume::Sender<T>::send::h0123456789abcdef", "send"),
            ("main", "main"),
        ] {
            let call = Call { function: function.to_owned(), place: (String::new(), 1, 1) };
            assert_eq!(name(&call), expected, "{function}");
        }
    }
}
