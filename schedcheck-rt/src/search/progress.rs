//! How far a search is and how much may be left.

/// Executions by number of preemptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Done.
    pub done: u64,
    /// Known and still to be done.
    pub queued: u64,
}

/// Counts executions by level, and how many new ones each of them leads to.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) levels: Vec<Level>,
    found_since: u32,
    /// Moving average of executions found per execution done.
    growth: f64,
    done: u64,
}

/// Executions over which the growth is averaged.
const WINDOW: f64 = 200.0;

impl Progress {
    pub(super) fn queue(&mut self, preemptions: u32) {
        let at = preemptions as usize;
        if self.levels.len() <= at {
            self.levels.resize(at + 1, Level::default());
        }
        self.levels[at].queued += 1;
        self.found_since += 1;
    }

    pub(super) fn start(&mut self, preemptions: u32) {
        let level = &mut self.levels[preemptions as usize];
        level.queued -= 1;
        level.done += 1;
    }

    /// What was queued will not be done.
    pub(super) fn forget_queue(&mut self) {
        self.levels.iter_mut().for_each(|level| level.queued = 0);
    }

    /// An execution and all that follows from it at once is done.
    pub(super) fn finish(&mut self) {
        self.done += 1;
        let weight = 1.0 / WINDOW.min(self.done as f64);
        self.growth += (f64::from(self.found_since) - self.growth) * weight;
        self.found_since = 0;
    }

    /// All schedules with at most so many preemptions are done, in a search where no schedule
    /// leads to one with fewer.
    pub(super) fn bound_done(&self) -> Option<u32> {
        match self.levels.iter().position(|level| level.queued > 0) {
            Some(cheapest) => (cheapest as u32).checked_sub(1),
            None => (self.levels.len() as u32).checked_sub(1),
        }
    }

    /// How many executions there will have been in the end.
    ///
    /// If every execution leads to `growth` others on average and that stays below one, each
    /// pending one stands for 1 / (1 - growth) executions. Early in a search, and while it still
    /// grows, there is no honest number.
    pub(super) fn estimate(&self, pending: usize) -> Option<f64> {
        if pending == 0 {
            return Some(self.done as f64);
        }
        let enough = self.done >= WINDOW as u64 && self.growth < 0.98;
        enough.then(|| self.done as f64 + pending as f64 / (1.0 - self.growth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_done_when_nothing_cheaper_is_queued() {
        let mut progress = Progress::default();
        progress.queue(0);
        assert_eq!(progress.bound_done(), None);
        progress.start(0);
        progress.queue(2);
        progress.finish();
        assert_eq!(progress.bound_done(), Some(1));
        progress.start(2);
        assert_eq!(progress.bound_done(), Some(2));
        assert_eq!(progress.levels[0], Level { done: 1, queued: 0 });
    }

    #[test]
    fn halving_growth_doubles_what_is_pending() {
        let mut progress = Progress::default();
        for execution in 0..1000 {
            if execution % 2 == 0 {
                progress.queue(0);
            }
            progress.finish();
        }
        let estimate = progress.estimate(10).unwrap();
        assert!((1018.0..1022.0).contains(&estimate), "{estimate}");
    }
}
