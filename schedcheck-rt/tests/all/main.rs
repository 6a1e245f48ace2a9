//! The facades and the search together: one binary, because every one takes seconds to build.

mod assumptions;
mod backends;
mod barrier;
mod commuting;
mod events;
mod fairness;
mod mpsc;
mod once;
mod one_execution;
mod random;
mod rwlock;
mod scenario;
mod scope_end;
mod search_agrees;
mod search_counts;
mod search_waits;
mod shrink;
mod std_parity;
mod streams;
mod support;
mod symmetric;
mod thread_end;
mod thread_local;
mod time;
