//! The command as its users run it, against real crates, debuggers, browsers and signals.
//!
//! One program, so that it is linked once and its tests share the cores to the end.

mod archive;
mod attribute;
mod bad_input;
mod book;
mod certificate;
mod changed;
mod cli;
mod cli_build;
mod cli_explore;
mod cli_replay;
mod cli_reports;
mod config;
mod crashing;
mod debugger;
mod demo;
mod formats;
mod gambit;
mod html;
mod long_searches;
mod marked;
mod memory;
mod names;
mod nightly;
mod outside;
mod partition;
mod popular;
mod predictions;
mod races;
mod raw_locks;
mod readme;
mod real_bugs;
mod regressions;
mod release;
mod replay;
mod replay_edits;
mod scenarios;
mod sequences;
mod tasks;
mod terminal;
mod unmodified;
mod verdicts;
mod workflows;
