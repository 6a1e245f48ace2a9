//! Fences. Executions are sequentially consistent, so a fence orders nothing new; it is a step
//! because the data-race detector needs its place.

use crate::exec::active;
use crate::model::{Kind, Op};
use crate::search::step::ObjectId;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// The same as [`std::sync::atomic::fence`].
#[track_caller]
#[inline(never)]
pub fn fence(order: Ordering) {
    if let Some(active) = active() {
        active.perform(Op::new(Kind::Fence, ObjectId::NONE, Location::caller()));
        active.fence(order.into());
    }
    std::sync::atomic::fence(order);
}

/// The same as [`std::sync::atomic::compiler_fence`]: nothing another thread could notice.
#[inline]
pub fn compiler_fence(order: Ordering) {
    std::sync::atomic::compiler_fence(order);
}
