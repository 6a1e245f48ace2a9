//! Nobody directs a scenario without the explorer: [`Director::begin`] finds none, and a director
//! cannot be made in any other way.

use super::{Actor, Until};
use std::convert::Infallible;

#[derive(Debug)]
pub(super) struct Director(Infallible);

impl Director {
    pub(super) fn begin(_exists: bool) -> Option<Director> {
        None
    }

    pub(super) fn guard(&self, _script: impl FnOnce()) {
        match self.0 {}
    }

    pub(super) fn finish(&self) {
        match self.0 {}
    }

    pub(super) fn start<F>(&self, _name: &str, _body: F) {
        match self.0 {}
    }

    pub(super) fn has_ended(&self, _actor: Actor) -> bool {
        match self.0 {}
    }

    pub(super) fn not_assumed(&self) {
        match self.0 {}
    }

    pub(super) fn transfer(&self, _candidates: &[Actor], _until: &Until<'_>) -> Actor {
        match self.0 {}
    }
}
