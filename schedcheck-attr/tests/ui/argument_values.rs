//! Values of the wrong type or outside what is allowed.
use schedcheck_attr::schedcheck;

#[schedcheck(bound = "2")]
fn number_in_quotes() {}

#[schedcheck(bound = -1)]
fn negative() {}

#[schedcheck(max_executions = 0)]
fn no_execution() {}

#[schedcheck(max_time = 10)]
fn duration_without_unit() {}

#[schedcheck(max_time = "10 parsecs")]
fn unit_of_length() {}

#[schedcheck(priority = "mdpor,dp")]
fn unknown_priority() {}

#[schedcheck(priority = "rand:many")]
fn seed_in_words() {}

#[schedcheck(reduction = "optimum")]
fn unknown_reduction() {}

#[schedcheck(expect = "dead-lock")]
fn unknown_outcome() {}

#[schedcheck(bound = 2.5, max_time = "soon", expect = "joy")]
fn several_at_once() {}

fn main() {}
