//! What a thread did in a round of a loop, as far as its steps show it.
//!
//! Before each operation that a thread did a while ago, it is asked what it did since ([`super::spin`]). In a loop that is a
//! round every time, which begins and ends one step later than the round before: the same operations, beginning with the next
//! one. So it is not looked through again. All that can be new is in the step that was left behind and the one that was added.

use super::patience;
use super::recent::Since;
use super::spin::Trail;
use crate::model::Kind;
use crate::search::step::ObjectId;

/// A round that left its objects as it found them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// The thread's steps that it is made of, by their positions among those.
    start: usize,
    end: usize,
    /// It gives others their turn.
    pub(super) hints: bool,
    /// It does nothing but look and try.
    pub(super) only_looks: bool,
    /// Steps that left their objects changed.
    effects: usize,
}

/// An object that a round used.
#[derive(Clone, Copy)]
pub(super) struct Used {
    object: ObjectId,
    /// Its state before the round's first access, and after its last one.
    found: u64,
    left: u64,
}

/// What a round did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It used nothing.
    Nothing,
    /// It left this object changed, and perhaps others.
    Change(ObjectId),
    /// It used objects and left all of them as they were.
    NoChange(Survey),
}

impl Survey {
    /// Looks through a round; `used` receives its objects.
    pub(super) fn of(round: Since<'_>, trail: Trail<'_>, used: &mut Vec<Used>) -> Seen {
        let (start, end) = round.positions();
        let mut survey = Survey { start, end, hints: false, only_looks: true, effects: 0 };
        used.clear();
        for step in round.steps() {
            let note = &trail.notes[step as usize];
            survey.hints |= matches!(note.kind, Kind::Yield | Kind::Sleep);
            survey.only_looks &= patience::may_be_part(note.kind);
            survey.effects += usize::from(trail.has_effect(step));
            if note.object == ObjectId::NONE || note.kind == Kind::Spin {
                continue;
            }
            match used.iter_mut().find(|used| used.object == note.object) {
                Some(used) => used.left = note.after,
                None => {
                    let found = trail.events[step as usize].before;
                    used.push(Used { object: note.object, found, left: note.after });
                }
            }
        }
        match used.iter().find(|used| used.left != used.found) {
            _ if used.is_empty() => Seen::Nothing,
            Some(changed) => Seen::Change(changed.object),
            None => Seen::NoChange(survey),
        }
    }

    /// The same of a round that is this one a step later; `None` if it is another one.
    pub(super) fn next(&self, round: Since<'_>, trail: Trail<'_>) -> Option<Seen> {
        if round.positions() != (self.start + 1, self.end + 1) {
            return None;
        }
        let (left_behind, added) = (round.step_at(self.start)?, round.step_at(self.end)?);
        let note = &trail.notes[added as usize];
        if !note.place().is(&trail.notes[left_behind as usize]) {
            return None;
        }
        // Of other objects both the first and the last use are what they were.
        let changes = |(first, last)| trail.changes_between(first, last);
        if round.uses(note.object).is_some_and(changes) {
            return Some(Seen::Change(note.object));
        }
        let effects = self.effects + usize::from(trail.has_effect(added));
        let effects = effects - usize::from(trail.has_effect(left_behind));
        Some(Seen::NoChange(Survey { start: self.start + 1, end: self.end + 1, effects, ..*self }))
    }

    pub(super) fn has_effects(&self) -> bool {
        self.effects > 0
    }
}
