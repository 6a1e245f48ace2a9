//! What processes of one search tell each other, and what a search writes down of itself.
//!
//! [`super::share`] says what is exchanged and why nothing is lost; this is how.

use super::bytes::{Damaged, Reader, Writer};
use super::enumerate::Enumerate;
use super::fringe::Fringe;
use super::lines::{AWAY, LineId, PADDED};
use super::optimal::Optimal;
use super::options::Options;
use super::outside::Outside;
use super::progress::{Level, Progress};
use super::records::{Renaming, read_edge, write_edge};
use super::region::{RegionReader, RegionWriter, read_rank, write_rank};
use super::share::{Share, Shares};
use super::step::{ObjectId, StepIndex, ThreadId};
use super::tree::{NewLine, ROOT, Sleeper, Tree};
use super::wakeup::Spinner;
use rustc_hash::FxHashMap;

impl Shares {
    /// The whole tree.
    fn write_whole(&self, tree: &Tree, fringe: &Fringe, out: &mut Writer) {
        let ranks = self.ranks(fringe);
        let mut regions = RegionWriter::new(tree, &ranks, &self.stored);
        regions.add(ROOT);
        regions.finish(out);
        out.count(self.spilled);
        let mut sums: Vec<(u32, u64)> = self.sums.iter().map(|(&number, &sum)| (number, sum)).collect();
        sums.sort_unstable();
        out.count(sums.len());
        for (number, sum) in sums {
            out.number(number);
            out.hash(sum);
        }
    }

    fn read_whole(
        &mut self,
        tree: &mut Tree,
        fringe: &mut Fringe,
        names: &Renaming,
        from: &mut Reader<'_>,
    ) -> Result<(), Damaged> {
        let mut regions = RegionReader::new(tree, names, from, false)?;
        regions.place(tree, ROOT)?;
        self.stored.extend(regions.away);
        self.spilled = from.number()?;
        for _ in 0..from.count()? {
            self.sums.insert(from.number()?, from.hash()?);
        }
        regions.pending.into_iter().for_each(|(line, rank)| fringe.push(rank, line));
        Ok(())
    }

    /// What a share brings back: its regions, and what it has to report.
    fn write_share(&self, tree: &Tree, fringe: &Fringe, out: &mut Writer) {
        let tops = self.share.as_deref().unwrap_or_default();
        out.count(tops.len());
        tops.iter().for_each(|&top| out.number(top));
        let ranks = self.ranks(fringe);
        let mut regions = RegionWriter::new(tree, &ranks, &self.stored);
        tops.iter().for_each(|&top| regions.add(top));
        regions.finish(out);
        out.count(self.reported.len());
        let numbers: FxHashMap<LineId, usize> =
            self.reported.iter().map(|(line, _)| *line).zip(0..).collect();
        for (line, rank) in &self.reported {
            write_reported(tree, *line, numbers.get(&tree.parent(*line)).copied(), out);
            write_rank(rank, out);
        }
    }

    /// Puts what a share brings back into the tree. In a share itself: what it had done before. The lines
    /// that came back are still to be settled.
    fn read_share(
        &mut self,
        tree: &mut Tree,
        fringe: &mut Fringe,
        progress: &mut Progress,
        names: &Renaming,
        from: &mut Reader<'_>,
    ) -> Result<Vec<LineId>, Damaged> {
        let done = Progress::read(from)?;
        let tops: Vec<LineId> = (0..from.count()?).map(|_| from.number()).collect::<Result<_, _>>()?;
        let in_share = self.share.is_some();
        if in_share {
            *fringe = Fringe::new();
            *progress = Progress::default();
        }
        for &top in &tops {
            if in_share {
                tree.forget_region(top);
            } else if self.tops.contains(&top) {
                progress.forget(self.expect_back(tree, top));
            } else {
                return Err(Damaged);
            }
        }
        progress.add(&done);
        let mut regions = RegionReader::new(tree, names, from, in_share)?;
        for &top in &tops {
            regions.place(tree, top)?;
        }
        self.stored.extend(regions.away);
        regions.pending.into_iter().for_each(|(line, rank)| fringe.push(rank, line));
        let mut reported = Vec::new();
        for _ in 0..from.count()? {
            self.was_reported = true;
            let (line, is_new) = read_reported(tree, names, &reported, from)?;
            let rank = read_rank(from)?;
            reported.push(line);
            if in_share {
                tree.lines.get_mut(line).set(AWAY, true);
                self.reported.push((line, rank));
            } else if is_new {
                fringe.push(rank, line);
                progress.queue(tree.preemptions(line));
            }
        }
        Ok(tops)
    }
}

/// What could be forgotten of these lines, which came back, is forgotten.
fn settle(tree: &mut Tree, tops: Vec<LineId>) {
    for top in tops {
        // The end of one may have been the end of others, which are forgotten then.
        if !tree.is_drained(top) {
            tree.settle(top);
        }
    }
}

/// A line outside of the share; `parent`: which of those reported before it leaves.
fn write_reported(tree: &Tree, line: LineId, parent: Option<usize>, out: &mut Writer) {
    out.number(parent.is_some());
    out.number(parent.map_or(u64::from(tree.parent(line)), |number| number as u64));
    out.number(tree.start(line));
    out.number(tree.own(line).is_some());
    tree.own(line).iter().for_each(|own| write_edge(own, out));
    out.count(tree.lines.way(line).steps as usize);
    tree.lines.chain(line).for_each(|edge| write_edge(&edge, out));
    out.number(tree.free(line));
    let sleepers: Vec<_> = tree.lines.sleepers(line).collect();
    out.count(sleepers.len());
    for (edge, until) in sleepers {
        write_edge(&edge, out);
        out.number(until);
    }
    out.number(tree.preemptions(line));
    out.number(tree.lines.get(line).is(PADDED));
}

/// The line in this tree, and whether it is new. If the chain of another one is the beginning of its
/// chain, it is that one.
fn read_reported(
    tree: &mut Tree,
    names: &Renaming,
    reported: &[LineId],
    from: &mut Reader<'_>,
) -> Result<(LineId, bool), Damaged> {
    let leaves_reported = from.long()? != 0;
    let parent =
        if leaves_reported { *reported.get(from.number::<usize>()?).ok_or(Damaged)? } else { from.number()? };
    let start: StepIndex = from.number()?;
    let own = if from.long()? != 0 { Some(read_edge(names, from)?) } else { None };
    let count = from.count()?;
    let chain: Vec<_> = (0..count).map(|_| read_edge(names, from)).collect::<Result<_, _>>()?;
    let free: StepIndex = from.number()?;
    let mut sleepers = Vec::new();
    for _ in 0..from.count()? {
        sleepers.push(Sleeper { edge: read_edge(names, from)?, until: from.number()? });
    }
    let (preemptions, padded) = (from.number()?, from.long()? != 0);
    if !tree.has(parent) || chain.is_empty() || start < tree.start(parent) || free <= start {
        return Err(Damaged);
    }
    // What it would leave was dropped, and is covered from here on.
    if leaves_reported && start >= tree.free(parent) {
        return Ok((parent, false));
    }
    let begins = |&line: &LineId| {
        let fixed = (tree.free(line) - start) as usize;
        fixed <= chain.len()
            && tree.lines.chain(line).take(fixed).zip(&chain).all(|(a, b)| a.choice() == b.choice())
    };
    if let Some(line) = tree.children_at(parent, start).find(begins) {
        return Ok((line, false));
    }
    let line =
        tree.branch(NewLine { parent, start, own, chain: &chain, free, sleepers: &sleepers, preemptions });
    tree.set_padded(line, padded);
    Ok((line, true))
}

impl Progress {
    fn write(&self, out: &mut Writer) {
        out.number(self.done);
        out.hash(self.growth.to_bits());
        out.count(self.levels.len());
        for level in &self.levels {
            out.number(level.done);
            out.number(level.queued);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Progress, Damaged> {
        let mut progress =
            Progress { done: from.long()?, growth: f64::from_bits(from.hash()?), ..Progress::default() };
        for _ in 0..from.count()? {
            progress.levels.push(Level { done: from.long()?, queued: from.long()? });
        }
        Ok(progress)
    }

    /// Lines with so many preemptions each are queued no more.
    fn forget(&mut self, lines: Vec<u32>) {
        for preemptions in lines {
            if let Some(level) = self.levels.get_mut(preemptions as usize) {
                level.queued = level.queued.saturating_sub(1);
            }
        }
    }

    /// Adds what a share did and left.
    fn add(&mut self, share: &Progress) {
        self.done += share.done;
        let levels = self.levels.len().max(share.levels.len());
        self.levels.resize(levels, Level::default());
        for (level, more) in self.levels.iter_mut().zip(&share.levels) {
            level.done += more.done;
            level.queued += more.queued;
        }
    }
}

impl Optimal {
    pub(super) fn save(&self, out: &mut Writer) {
        out.number(self.epoch);
        out.number(self.systematic);
        out.number(self.seeds_run);
        out.count(self.length);
        out.number(self.root.is_some());
        self.root.iter().for_each(|root| write_edge(root, out));
        write_spinners(&self.spinners, out);
        self.progress.write(out);
        self.shares.write_whole(&self.tree, &self.fringe, out);
    }

    pub(super) fn load(seed: u64, names: &Renaming, from: &mut Reader<'_>) -> Result<Optimal, Damaged> {
        // What was predicted is not written down: nothing more is steered.
        let mut loaded = Optimal::new(&Options { seed, ..Options::default() });
        loaded.epoch = from.number()?;
        loaded.systematic = from.number()?;
        loaded.seeds_run = from.number()?;
        loaded.length = from.number()?;
        // Other random numbers than those that were used up.
        loaded.seeds = super::seeds::Random::new(seed.wrapping_add(u64::from(loaded.seeds_run) << 32));
        loaded.root = if from.long()? != 0 { Some(read_edge(names, from)?) } else { None };
        loaded.spinners = read_spinners(names, from)?;
        loaded.progress = Progress::read(from)?;
        loaded.fringe = Fringe::new();
        loaded.shares.read_whole(&mut loaded.tree, &mut loaded.fringe, names, from)?;
        Ok(loaded)
    }

    /// The search of those lines alone, from now on.
    pub(super) fn become_share(&mut self, share: Share) {
        self.forget_last();
        self.systematic = 0;
        self.progress = Progress::default();
        share.pending.iter().for_each(|&line| self.progress.queue(self.tree.preemptions(line)));
        self.shares.become_share(&mut self.tree, &mut self.fringe, share);
        self.tree.is_closed = true;
    }

    pub(super) fn give_back(&self, out: &mut Writer) {
        write_spinners(&self.spinners, out);
        out.number(self.is_stale);
        out.number(self.epoch);
        out.number(self.systematic);
        self.progress.write(out);
        self.shares.write_share(&self.tree, &self.fringe, out);
        self.shares.outside.write(out);
    }

    /// Takes in what a share brings back, or, in a share, what it did before.
    pub(super) fn take_back(
        &mut self,
        options: &mut Options,
        names: &Renaming,
        from: &mut Reader<'_>,
    ) -> Result<(), Damaged> {
        let spinners = read_spinners(names, from)?;
        let is_stale = from.long()? != 0;
        let epoch: u32 = from.number()?;
        if is_stale {
            let known = self.spinners.len();
            let unknown = spinners.into_iter().filter(|spinner| !self.spinners.contains(spinner));
            self.spinners.extend(unknown.collect::<Vec<_>>());
            if self.spinners.len() > known {
                self.start_again();
            }
            return Ok(());
        }
        if epoch != self.epoch {
            return Ok(());
        }
        self.systematic = self.systematic.saturating_add(from.number()?);
        self.forget_last();
        let Optimal { tree, fringe, shares, progress, .. } = self;
        let tops = shares.read_share(tree, fringe, progress, names, from)?;
        let in_share = shares.share.is_some();
        Outside::read(&tops, names, from, |top, trace, same| {
            if in_share {
                self.keep_for_owner(top, trace);
            } else {
                self.reverse_outside(options, top, trace, same);
            }
        })?;
        settle(&mut self.tree, tops);
        Ok(())
    }
}

fn write_spinners(spinners: &[Spinner], out: &mut Writer) {
    out.count(spinners.len());
    for spinner in spinners {
        out.number(spinner.thread.0);
        out.number(spinner.object.0);
        out.number(spinner.anywhere);
    }
}

fn read_spinners(names: &Renaming, from: &mut Reader<'_>) -> Result<Vec<Spinner>, Damaged> {
    let count = from.count()?;
    let spinner = |_| {
        let (thread, object) = (ThreadId(from.number()?), ObjectId(from.number()?));
        Ok(Spinner { thread, object: names.object(object)?, anywhere: from.long()? != 0 })
    };
    (0..count).map(spinner).collect()
}

impl Enumerate {
    pub(super) fn save(&self, out: &mut Writer) {
        self.progress.write(out);
        out.number(self.cut);
        self.visited.write(out);
        self.shares.write_whole(&self.tree, &self.fringe, out);
    }

    pub(super) fn load(names: &Renaming, from: &mut Reader<'_>) -> Result<Enumerate, Damaged> {
        let mut loaded = Enumerate::new();
        loaded.progress = Progress::read(from)?;
        loaded.cut = from.long()? != 0;
        loaded.visited.read(from)?;
        loaded.fringe = Fringe::new();
        loaded.shares.read_whole(&mut loaded.tree, &mut loaded.fringe, names, from)?;
        Ok(loaded)
    }

    /// The search of those lines alone, from now on.
    pub(super) fn become_share(&mut self, share: Share) {
        self.progress = Progress::default();
        share.pending.iter().for_each(|&line| self.progress.queue(self.tree.preemptions(line)));
        self.visited.note_changes();
        self.shares.become_share(&mut self.tree, &mut self.fringe, share);
    }

    pub(super) fn give_back(&self, out: &mut Writer) {
        out.number(self.cut);
        self.visited.write_changes(out);
        self.progress.write(out);
        self.shares.write_share(&self.tree, &self.fringe, out);
    }

    /// Takes in what a share brings back, or, in a share, what it did before.
    pub(super) fn take_back(&mut self, names: &Renaming, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.cut |= from.long()? != 0;
        self.visited.read(from)?;
        let Enumerate { tree, fringe, shares, progress, .. } = self;
        let tops = shares.read_share(tree, fringe, progress, names, from)?;
        settle(tree, tops);
        Ok(())
    }
}
