//! `std::hint`.

use crate::exec::active;
use crate::model::{Kind, Op};
use crate::search::step::ObjectId;
use std::panic::Location;

/// The same as [`std::hint::spin_loop`]; under control, lets other threads go first.
#[track_caller]
#[inline(never)]
pub fn spin_loop() {
    match active() {
        Some(active) => {
            active.perform(Op::new(Kind::Yield, ObjectId::NONE, Location::caller()));
        }
        None => std::hint::spin_loop(),
    }
}
