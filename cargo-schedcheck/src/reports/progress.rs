//! The one owner of stderr: status lines above, a bar below on a terminal, a counter line now and then elsewhere.
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anstyle::Style;
use clap_cargo::style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is printed where no bar can be drawn, and when the first.
const COUNTER_EVERY: Duration = Duration::from_secs(10);
const FIRST_COUNTER: Duration = Duration::from_secs(2);

/// Lines and a bar on stderr.
#[derive(Debug)]
pub struct Terminal {
    bar: ProgressBar,
    quiet: bool,
    next_counter: Instant,
}

impl Terminal {
    /// Nothing is drawn yet.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(template) = ProgressStyle::with_template("   Exploring [{elapsed_precise}] {wide_msg}") {
            bar.set_style(template);
        }
        Self { bar, quiet, next_counter: Instant::now() + FIRST_COUNTER }
    }

    /// A line in cargo's grammar: a verb to the right of a column, then the rest.
    pub fn status(&self, verb: &str, color: Style, rest: impl Display) {
        self.text(&format!("{color}{verb:>12}{color:#} {rest}"));
    }

    /// Text of any length. Who does not read it does not stop us.
    pub fn text(&self, text: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{text}");
        });
    }

    /// What is going on now.
    pub fn now(&mut self, text: String) {
        if self.bar.is_hidden() {
            if !self.quiet && Instant::now() >= self.next_counter {
                self.next_counter = Instant::now() + COUNTER_EVERY;
                self.status("Exploring", style::GOOD, text);
            }
        } else {
            self.bar.enable_steady_tick(Duration::from_millis(200));
            self.bar.set_message(text);
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A sign of life while something else is prepared.
#[derive(Debug)]
pub struct Spinner {
    bar: ProgressBar,
    verb: String,
    what: String,
}

impl Spinner {
    /// Announces the work.
    pub fn start(verb: &str, what: &str, quiet: bool) -> Self {
        let drawn = !quiet && std::io::stderr().is_terminal();
        let target = if drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(template) = ProgressStyle::with_template("{spinner:>12} [{elapsed}] {wide_msg}") {
            bar.set_style(template);
        }
        if !quiet {
            let color = style::GOOD;
            let _ = writeln!(anstream::stderr(), "{color}{verb:>12}{color:#} {what}");
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, verb: verb.to_owned(), what: what.to_owned() }
    }

    /// What it does right now.
    pub fn say(&self, text: &str) {
        self.bar.set_message(format!("{} {}: {text}", self.verb, self.what));
    }

    /// The work is over.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
