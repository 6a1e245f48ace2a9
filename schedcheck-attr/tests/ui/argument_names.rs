//! Unknown, doubled and incomplete arguments.
use schedcheck_attr::schedcheck;

#[schedcheck(bond = 2)]
fn misspelt() {}

#[schedcheck(colour = "red")]
fn far_from_any_name() {}

#[schedcheck(bound = 1, seed = 2, bound = 3)]
fn doubled() {}

#[schedcheck(bound)]
fn without_value() {}

#[schedcheck(max-time = "1s")]
fn dashes() {}

fn main() {}
