//! A search that several processes share, and one that goes on another day.
//!
//! [`super::share`] has the rules. The owner [gives](Search::give) lines away; another process that has
//! the same search ([forked](Search::become_share) or [loaded](Search::load)) explores them and
//! [gives them back](Search::give_back); the owner [takes that in](Search::take_back).

use super::bytes::{Damaged, Reader, Writer};
use super::engine::{Search, Stats, Strategy};
use super::enumerate::Enumerate;
use super::history::mix;
use super::optimal::Optimal;
use super::options::{Options, Reduction};
use super::records::Renaming;
pub use super::share::Share;
use super::step::Places;
use std::rc::Rc;

impl Search {
    /// Whether a search with these options can be shared and written down. Source and classic
    /// reduction insert into points of their ancestors that others may be at.
    pub fn can_be_shared(options: &Options) -> bool {
        let inserts_above = matches!(options.reduction, Reduction::Source | Reduction::Classic);
        options.bound.is_some() || options.scoped || !inserts_above
    }

    /// What `method`, `var` and `changed` need to know.
    pub fn places(&self) -> Option<Rc<dyn Places>> {
        self.options.places.clone()
    }

    /// Whether threads are not to be preempted everywhere.
    pub fn is_scoped(&self) -> bool {
        self.options.scoped
    }

    /// Whether something was given away and is not back yet.
    pub fn is_shared(&self) -> bool {
        match &self.strategy {
            Strategy::Optimal(search) => !search.shares.given.is_empty(),
            Strategy::Enumerate(search) => !search.shares.given.is_empty(),
            Strategy::Backtrack(_) => false,
        }
    }

    /// Gives away about `wanted` executions, the best first.
    pub fn give(&mut self, wanted: usize) -> Share {
        match &mut self.strategy {
            Strategy::Optimal(search) => {
                search.stop_steering();
                let share = search.shares.give(&mut search.tree, &mut search.fringe, wanted);
                Share { epoch: search.epoch, ..share }
            }
            Strategy::Enumerate(search) => search.shares.give(&mut search.tree, &mut search.fringe, wanted),
            Strategy::Backtrack(_) => Share::default(),
        }
    }

    /// Gives away everything, in `count` shares of about the same size.
    pub fn deal(&mut self, count: usize) -> Vec<Share> {
        match &mut self.strategy {
            Strategy::Optimal(search) => {
                search.stop_steering();
                let mut shares = search.shares.deal(&mut search.tree, &mut search.fringe, count);
                shares.iter_mut().for_each(|share| share.epoch = search.epoch);
                shares
            }
            Strategy::Enumerate(search) => search.shares.deal(&mut search.tree, &mut search.fringe, count),
            Strategy::Backtrack(_) => vec![Share::default(); count],
        }
    }

    /// What was given away does not come back, and is to be executed here after all.
    pub fn reclaim(&mut self, share: &Share) {
        match &mut self.strategy {
            Strategy::Optimal(search) if share.epoch == search.epoch => {
                search.shares.reclaim(&mut search.tree, &mut search.fringe, share);
            }
            Strategy::Enumerate(search) => {
                search.shares.reclaim(&mut search.tree, &mut search.fringe, share);
            }
            // It was given away before the search started again, or nothing ever is.
            Strategy::Optimal(_) | Strategy::Backtrack(_) => {}
        }
    }

    /// The same for everything that was given away.
    pub fn reclaim_all(&mut self) {
        let all = match &self.strategy {
            Strategy::Optimal(search) => Share { epoch: search.epoch, ..search.shares.all_given() },
            Strategy::Enumerate(search) => search.shares.all_given(),
            Strategy::Backtrack(_) => Share::default(),
        };
        self.reclaim(&all);
    }

    /// From now on this is the search of what was given away as `share`, and of nothing else.
    pub fn become_share(&mut self, share: Share) {
        self.done_before = self.stats().bound_done;
        let stats = std::mem::take(&mut self.stats);
        (self.stats.peak_pending, self.stats.peak_bytes) = (stats.peak_pending, stats.peak_bytes);
        self.newly_seen = Some(Vec::new());
        match &mut self.strategy {
            Strategy::Optimal(search) => search.become_share(share),
            Strategy::Enumerate(search) => search.become_share(share),
            Strategy::Backtrack(_) => {}
        }
    }

    /// In a share: what was executed last cannot be judged here. It is left to the owner of the tree.
    pub fn leave_last(&mut self) {
        self.under_way = false;
        match &mut self.strategy {
            Strategy::Optimal(search) => search.leave_last(),
            Strategy::Enumerate(search) => search.leave_last(),
            Strategy::Backtrack(_) => {}
        }
    }

    /// Whether this share has found so much outside of itself that it should be given back.
    pub fn wants_back(&self) -> bool {
        match &self.strategy {
            Strategy::Optimal(search) => search.shares.outside.is_full(),
            Strategy::Enumerate(_) | Strategy::Backtrack(_) => false,
        }
    }

    /// What this share did, and what it left.
    pub fn give_back(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let stats = &self.stats;
        for count in [stats.executions, stats.diverged, stats.blocked] {
            out.number(count);
        }
        out.count(stats.peak_pending);
        out.count(stats.peak_bytes);
        let newly_seen = self.newly_seen.as_deref().unwrap_or_default();
        out.count(newly_seen.len());
        newly_seen.iter().for_each(|&signature| out.hash(signature));
        match &self.strategy {
            Strategy::Optimal(search) => search.give_back(&mut out),
            Strategy::Enumerate(search) => search.give_back(&mut out),
            Strategy::Backtrack(_) => {}
        }
        out.into_bytes()
    }

    /// Takes in what a share brings back. In a share itself: goes on where it was when it wrote that.
    ///
    /// # Errors
    /// If that cannot be read. Some of it may have been taken in before that was noticed, points that count as expanded
    /// without what branches off there among them: the search begins anew, and every share that was given is of no use.
    pub fn take_back(&mut self, bytes: &[u8], names: &Renaming) -> Result<(), Damaged> {
        let before = self.stats.clone();
        let taken = self.read_back(bytes, names);
        if taken.is_err() && self.newly_seen.is_none() {
            self.stats = Stats { traces: 0, ..before };
            self.trace_set = 0;
            self.seen.clear();
            match &mut self.strategy {
                Strategy::Optimal(search) => search.start_again(),
                Strategy::Enumerate(search) => *search = Enumerate::new(),
                Strategy::Backtrack(_) => {}
            }
        }
        taken
    }

    fn read_back(&mut self, bytes: &[u8], names: &Renaming) -> Result<(), Damaged> {
        let from = &mut Reader::new(bytes);
        self.stats.executions += from.long()?;
        self.stats.diverged += from.long()?;
        self.stats.blocked += from.long()?;
        self.stats.peak_pending = self.stats.peak_pending.max(from.number()?);
        self.stats.peak_bytes = self.stats.peak_bytes.max(from.number()?);
        let mut known = 0;
        for _ in 0..from.count()? {
            let signature = from.hash()?;
            let is_new = self.counts_all || self.seen.insert(signature);
            self.stats.traces += u64::from(is_new);
            known += u64::from(!is_new);
            if is_new {
                self.trace_set = self.trace_set.wrapping_add(mix(signature));
            }
            if is_new && let Some(newly_seen) = &mut self.newly_seen {
                newly_seen.push(signature);
            }
        }
        let may_repeat = match &mut self.strategy {
            Strategy::Optimal(search) => {
                search.take_back(&mut self.options, names, from)?;
                search.shares.was_reported
            }
            Strategy::Enumerate(search) => {
                search.take_back(names, from)?;
                true
            }
            Strategy::Backtrack(_) => return Err(Damaged),
        };
        // Otherwise it was a random execution meanwhile, or one of `levels.rs`.
        self.stats.twice += if may_repeat { known } else { 0 };
        Ok(())
    }

    /// All that is needed to go on later. What is given away counts as still to be done.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let stats = &self.stats;
        for count in [stats.executions, stats.traces, stats.diverged, stats.blocked] {
            out.number(count);
        }
        out.count(stats.peak_pending);
        out.count(stats.peak_bytes);
        out.number(self.levels.done.map_or(0, |done| done + 1));
        out.number(self.levels.executions);
        out.number(self.levels.over);
        out.number(self.counts_all);
        out.hash(self.trace_set);
        out.count(self.seen.len());
        let mut seen: Vec<u64> = self.seen.iter().copied().collect();
        seen.sort_unstable();
        seen.iter().for_each(|&signature| out.hash(signature));
        match &self.strategy {
            Strategy::Optimal(search) => search.save(&mut out),
            Strategy::Enumerate(search) => search.save(&mut out),
            Strategy::Backtrack(_) => {}
        }
        out.into_bytes()
    }

    /// Goes on where [`Search::save`] was called, with the same options.
    pub fn load(options: Options, bytes: &[u8], names: &Renaming) -> Result<Search, Damaged> {
        let mut loaded = Search::new(options);
        let from = &mut Reader::new(bytes);
        loaded.stats.executions = from.long()?;
        loaded.stats.traces = from.long()?;
        loaded.stats.diverged = from.long()?;
        loaded.stats.blocked = from.long()?;
        loaded.stats.peak_pending = from.number()?;
        loaded.stats.peak_bytes = from.number()?;
        let done = from.number::<u32>()?.checked_sub(1);
        loaded.levels.resume(done, from.number()?, from.long()? != 0);
        loaded.counts_all = from.long()? != 0;
        loaded.trace_set = from.hash()?;
        for _ in 0..from.count()? {
            loaded.seen.insert(from.hash()?);
        }
        match &mut loaded.strategy {
            Strategy::Optimal(search) => *search = Optimal::load(loaded.options.seed, names, from)?,
            Strategy::Enumerate(search) => *search = Enumerate::load(names, from)?,
            Strategy::Backtrack(_) => return Err(Damaged),
        }
        if from.is_empty() { Ok(loaded) } else { Err(Damaged) }
    }

    /// How many classes were executed.
    pub fn traces(&self) -> u64 {
        self.stats.traces
    }

    /// A number that stands for the set of classes that were executed, whatever their order.
    pub fn trace_set(&self) -> u64 {
        self.trace_set
    }
}
