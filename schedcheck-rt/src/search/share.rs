//! One search by several processes.
//!
//! The region behind the free root of a line is explored by the executions of that region alone (rule
//! R3 of [`super::wakeup`]). So it can be *given away*: a line that is to be executed, or one that was
//! and below which much is pending. Whoever has a share knows the whole tree as it was when it was
//! given, executes what is pending in the regions of the share and what it finds there, and brings
//! these regions back as they are then.
//!
//! **What lands outside.** A race between a step above the share and a later one is to be inserted above
//! it. There the tree as it was says whether it is covered, and what it covered then it covers for ever. If
//! it is not, the share makes no line, and relies on none: it keeps the execution for the owner
//! ([`super::outside`]), who inserts what that asks for when the share is back. A share that has kept much
//! comes back.
//!
//! **Nothing is lost, and nothing is done twice.** There is one tree, the owner's. Regions change hands, but
//! only one process at a time makes lines in any of them, and only the owner makes lines elsewhere. So the
//! tree is one that a single process could have made: by inserting the races of some executions later than
//! it would have. When they are inserted does not matter. The argument for completeness needs that they
//! are covered in the end; the argument against repetition is about siblings and the order in which they
//! were made (R1), whoever asked for them. The points are still there, too: the tree forgets what branches
//! off at a point of a line when all that does so there and behind it is done, and the share hangs there or
//! behind it.
//!
//! (Tried before: the share makes lines outside, and the owner puts them in as they are, chain and sleepers
//! included. Two such lines of two shares do not know each other, so classes that both lead to are executed
//! below both. The owner cannot mend that. If it inserts the sequence of the line anew, beside lines that
//! the share did not know, a longer chain may come out, which covers less; and in the share other
//! sequences were dropped in reliance on the short one: 1 class of 39 was lost in one lock program of
//! thousands. If it keeps the chain and lets the unknown sibling sleep on behind it, the end of the chain is
//! no free root any more: it needs insertions from the executions below that sibling, which stopped there.)
//!
//! **A share that cannot come back**, a part of the search on another machine, does it in that way once it
//! has kept as much as it may: it *reports* the lines that it makes outside. The owner drops one only if the
//! chain of a sibling is the beginning of its own; then that one covers whatever it covers. Nothing is lost:
//! in the end the owner's tree has every line of every share's tree, and a race that was dropped anywhere
//! was covered by one of those lines or by a sleeper, which is an earlier sibling of them, frozen when the
//! line was made (R1). But classes may be executed twice. The owner counts them, and says how many they
//! were.
//!
//! In a bounded search a line finds nothing outside but its own siblings of other alternatives, which
//! it alone asks for. Points that two shares reach are expanded by both, which costs executions and
//! loses nothing.

use super::fringe::{Fringe, Rank};
use super::lines::{AWAY, EXECUTED, LineId, OWN};
use super::outside::Outside;
use super::region::Ranks;
use super::tree::{ROOT, Tree};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is given away together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Lines whose regions are given away; those that are still to be executed, themselves too.
    pub(super) tops: Vec<LineId>,
    /// All lines there that are to be executed.
    pub(super) pending: Vec<LineId>,
    /// How often the search had started again: its lines have other numbers since.
    pub(super) epoch: u32,
}

impl Share {
    /// How many lines are to be executed.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

/// Which lines somebody else sees to, and what was found outside of a share.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// Lines to be executed that were given away, and their ranks.
    pub(super) given: FxHashMap<LineId, Rank>,
    /// The lines whose regions were given away.
    pub(super) tops: FxHashSet<LineId>,
    /// In a share: its lines, as they were given.
    pub(super) share: Option<Vec<LineId>>,
    /// Lines that were found outside of it.
    pub(super) reported: Vec<(LineId, Rank)>,
    /// Some share came back with such lines: others may have executed the same.
    pub(super) was_reported: bool,
    /// Executions that lead out of it.
    pub(super) outside: Outside,
    /// Lines of it that only the owner of the tree can execute.
    pub(super) left: Vec<LineId>,
    /// Executed lines whose regions lie elsewhere, and where.
    pub(super) stored: FxHashMap<LineId, u64>,
    /// How many executions are pending there.
    pub(super) spilled: usize,
    /// Checksums of what was written down, by number.
    pub(super) sums: FxHashMap<u32, u64>,
}

impl Shares {
    /// A line was made: whether it is to be executed here.
    pub(super) fn takes(&mut self, tree: &mut Tree, line: LineId, rank: Rank) -> bool {
        if self.share.is_none() {
            return true;
        }
        let outside = tree.is_outside(tree.parent(line), tree.start(line));
        tree.lines.get_mut(line).set(if outside { AWAY } else { OWN }, true);
        if outside {
            self.reported.push((line, rank));
        }
        !outside
    }

    /// Whether a line whose chain cannot be executed as it is has to be left to the owner: others' lines
    /// may hang in that chain.
    pub(super) fn must_leave(&self, tree: &Tree, line: LineId) -> bool {
        self.share.is_some() && tree.lines.get(line).is(AWAY)
    }

    /// Gives away about `wanted` lines to be executed: the best ones, of equal ones those that have
    /// waited longest, and what is pending close to them, so that as little as possible is found
    /// outside.
    pub(super) fn give(&mut self, tree: &mut Tree, fringe: &mut Fringe, wanted: usize) -> Share {
        let share = self.choose(tree, fringe, wanted);
        self.give_away(tree, fringe);
        share
    }

    /// Gives away everything, in `count` shares of about the same size.
    pub(super) fn deal(&mut self, tree: &mut Tree, fringe: &mut Fringe, count: usize) -> Vec<Share> {
        let unit = (fringe.len() / (8 * count)).max(1);
        let mut shares = vec![Share::default(); count];
        loop {
            let share = self.choose(tree, fringe, unit);
            if share.is_empty() {
                break;
            }
            let smallest = shares.iter_mut().min_by_key(|share| share.pending.len());
            let smallest = smallest.expect("there is at least one");
            smallest.tops.extend(share.tops);
            smallest.pending.extend(share.pending);
        }
        self.give_away(tree, fringe);
        shares
    }

    /// Marks about `wanted` lines of the fringe as given away.
    fn choose(&mut self, tree: &mut Tree, fringe: &Fringe, wanted: usize) -> Share {
        let mut share = Share::default();
        let (mut top, mut found) = (Vec::new(), Vec::new());
        for (line, _) in fringe.lines() {
            if share.pending.len() >= wanted {
                break;
            }
            if self.given.contains_key(&line) {
                continue;
            }
            let Some(root) = unit(tree, line, wanted - share.pending.len(), &mut found) else { continue };
            for &line in &found {
                tree.lines.get_mut(line).set(AWAY, true);
                // The rank is known when the line is taken out of the fringe.
                self.given.insert(line, Rank::default());
            }
            tree.lines.get_mut(root).set(AWAY, true);
            top.push(root);
            share.pending.append(&mut found);
        }
        self.tops.extend(&top);
        share.tops = top;
        share
    }

    /// Takes what was marked out of the fringe.
    fn give_away(&mut self, tree: &Tree, fringe: &mut Fringe) {
        let given = &mut self.given;
        fringe.retain(|line, rank| {
            let is_given = tree.lines.get(line).is(AWAY);
            if is_given {
                given.insert(line, rank);
            }
            !is_given
        });
    }

    /// From now on this is the search of that share only.
    pub(super) fn become_share(&mut self, tree: &mut Tree, fringe: &mut Fringe, share: Share) {
        *fringe = Fringe::new();
        for &top in &share.tops {
            let mut open = vec![top];
            while let Some(line) = open.pop() {
                tree.lines.get_mut(line).set(OWN, true);
                tree.lines.get_mut(line).set(AWAY, line == top);
                open.extend(tree.region_children(line, line == top));
            }
        }
        for line in share.pending.iter().rev() {
            fringe.push(self.given.get(line).copied().unwrap_or_default(), *line);
        }
        self.given.clear();
        self.tops.clear();
        self.share = Some(share.tops);
    }

    /// Lines that were given away and will not come back are executed here after all.
    pub(super) fn reclaim(&mut self, tree: &mut Tree, fringe: &mut Fringe, share: &Share) {
        for line in share.pending.iter().rev() {
            if let Some(rank) = self.given.remove(line) {
                tree.lines.get_mut(*line).set(AWAY, false);
                fringe.push(rank, *line);
            }
        }
        for top in &share.tops {
            if self.tops.remove(top) {
                tree.lines.get_mut(*top).set(AWAY, false);
            }
        }
    }

    /// All that was given away.
    pub(super) fn all_given(&self) -> Share {
        let mut share = Share {
            tops: self.tops.iter().copied().collect(),
            pending: self.given.keys().copied().collect(),
            epoch: 0,
        };
        share.tops.sort_unstable();
        share.pending.sort_unstable();
        share
    }

    /// `top` comes back: forgets what its region was. Preemptions of the lines that were given away.
    pub(super) fn expect_back(&mut self, tree: &mut Tree, top: LineId) -> Vec<u32> {
        self.tops.remove(&top);
        let mut given = Vec::new();
        let mut open: Vec<LineId> = tree.region_children(top, true).collect();
        open.push(top);
        while let Some(line) = open.pop() {
            if self.given.remove(&line).is_some() {
                given.push(tree.preemptions(line));
            }
            if line != top {
                open.extend(tree.children(line));
            }
        }
        tree.forget_region(top);
        tree.lines.get_mut(top).set(AWAY, false);
        given
    }

    /// Ranks of all lines that are pending here or given away.
    pub(super) fn ranks(&self, fringe: &Fringe) -> Ranks {
        let mut ranks = Ranks::default();
        fringe.lines().for_each(|(line, rank)| ranks.set(line, rank));
        let mut given: Vec<_> = self.given.iter().map(|(&line, &rank)| (line, rank)).collect();
        given.sort_unstable();
        given.into_iter().for_each(|(line, rank)| ranks.set(line, rank));
        self.left.iter().for_each(|&line| ranks.set(line, Rank::default()));
        ranks
    }
}

/// The highest line at or above `line` in whose region it is and no more than `most` lines are to be
/// executed, and lists those; `None` if something is given away even in its own region.
///
/// (Lines may hang in the region of one that is still to be executed, if its chain was cut.)
pub(super) fn unit(tree: &Tree, line: LineId, most: usize, found: &mut Vec<LineId>) -> Option<LineId> {
    if !pending_in(tree, line, usize::MAX, found) {
        return None;
    }
    let mut top = line;
    let mut inside = Vec::new();
    while top != ROOT {
        let above = tree.parent(top);
        if tree.start(top) < tree.free(above) || !pending_in(tree, above, most, &mut inside) {
            break;
        }
        std::mem::swap(found, &mut inside);
        top = above;
    }
    Some(top)
}

/// Lists the lines to be executed in the region of `top` and itself, unless there are more than `most`
/// or something is given away.
fn pending_in(tree: &Tree, top: LineId, most: usize, found: &mut Vec<LineId>) -> bool {
    found.clear();
    // Lines that are done take time too.
    let mut patience = most.saturating_mul(8).saturating_add(64);
    let mut open = vec![top];
    while let Some(line) = open.pop() {
        patience -= 1;
        let record = tree.lines.get(line);
        if record.is(AWAY) || patience == 0 || found.len() > most {
            return false;
        }
        if !record.is(EXECUTED) {
            found.push(line);
        }
        open.extend(tree.region_children(line, line == top));
    }
    found.len() <= most
}
