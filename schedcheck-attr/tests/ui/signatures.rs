//! Functions that cannot be tests.
use schedcheck_attr::schedcheck;

#[schedcheck]
async fn asynchronous() {}

#[schedcheck]
unsafe fn without_safety() {}

#[schedcheck]
fn generic<T: Default>() {
    let _ = T::default();
}

#[schedcheck]
fn with_parameters(first: u32, second: u32) {
    let _ = first + second;
}

fn main() {}

// SAFETY: nothing is promised, and nobody calls it: it is refused.
