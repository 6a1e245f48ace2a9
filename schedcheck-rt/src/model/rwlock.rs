//! A reader-writer lock: free, shared, or held by one writer.
//!
//! std lets readers pass a waiting writer on some systems and holds them back on others (Linux), so
//! both must be explored. Three choices keep that cheap:
//!
//! * `write` is two steps: a request, which joins the queue of writers, and the acquisition. The
//!   queue is an object of its own, numbered after the poison flag, and a request is a [`Mode::Mark`] on it:
//!   requests commute, and nobody else looks at the queue unless the points below make somebody look.
//! * `read` passes waiting writers and does not look at the queue. Its free alternative 1 is to
//!   stand in line: a decision that takes nothing, followed by an acquisition that also waits until
//!   no writer is in the queue. Being held back differs from being scheduled later only if the
//!   writer never gets its turn, that is, if some holder cannot release before the reader goes on.
//! * Therefore the alternative is offered to a reader only if it holds the lock itself already, or
//!   if another holder waited for something while it held the lock (a join, a message, a mutex, in a
//!   loop: the cause may lie behind the reader). What a holder will do is known afterwards, so the offer is
//!   made when a writer ends the period of sharing: [`RwLock::offers`], or when the execution ends
//!   while one still waits. Without a writer nobody could have been held back, and programs that only
//!   read and release pay nothing.
//!
//! That is for reduced searches. One that counts preemptions is told at once of every reader that could be held back
//! (`could_wait`): to be held back costs nothing where to be scheduled later is a preemption, and it looks at each step
//! once, when what a holder will do may not be known.
//!
//! A nested acquisition and its release change nothing for others, who see the lock shared from the
//! first guard of a thread to its last. The acquisition is told of poison, which others may clear meanwhile, so it
//! reads the poison flag; the release touches no object.
//!
//! A downgrade lets readers in and writers not, so it commutes with nothing, and the search is told that the thread
//! shares the lock from there ([`Mode::Downgrade`]): a plain release would say that it is free for a writer whose
//! acquisition is tried earlier, ahead of what the thread does before it gives up its guard.
//!
//! **The mark of waiting writers.** On Linux a writer that had to wait takes the lock with that mark set, since it cannot know
//! whether others wait. If it goes on as a reader, the mark stays until the lock is next free of all holders, and new
//! readers are held back by nobody; those that slept before are let in. So after such a downgrade readers have the same
//! two alternatives as beside a waiting writer. What keeps this independent of the order of steps that commute:
//!
//! * Whether the writer may have waited is asked of the order, not of the execution at hand: another thread gave up the lock,
//!   and that did not happen before the request (`exec/waited.rs`). The downgrade is told ([`HAS_WAITED`]).
//! * Whoever acquires the lock while the mark is there keeps it there. Whether it is there must not depend on steps that
//!   commute, so the last guard of each reader is given up with [`Mode::ReleaseInTurn`] then: who came before it and who
//!   after is told apart. No release can set the mark, so acquisitions go on to commute with each other. An acquisition
//!   itself does the same in both cases, and a thread that gives up a guard has acquired it before: what either will
//!   do where the search puts it is foreseen rightly.
//! * A reader that was held back waits for the mark to go, and is ordered after the release that took it away. Nobody waits for
//!   a mark that was set after the reader had decided to stand in line: it is let in when the writer goes on as a reader.
//! * To be held back differs from being scheduled later under the same conditions as beside a waiting writer, only that
//!   the writer that left the mark can be held back or held up itself. What holders will do is known when the period of sharing
//!   is over, and that may be when the execution ends, so the offers are made there ([`RwLock::held_back_by_mark`]).
//!
//! The attempts of others see the mark as well. For a writer that did not wait there is none: it costs nothing.
//!
//! An acquisition in line behind a writer is ordered after the last writer by its enabler. Going before that writer
//! is what the default alternative explores.
//!
//! `try_read` fails at once where `read` would be held back, as it does on Linux. It does so whenever a writer is in the queue,
//! also if the lock is free: where others wait as well, std leaves it marked until the writer that was woken has come, and only
//! attempts to write succeed. Whether somebody else waits is not asked, since beginning to wait is no step. Nor is it asked
//! whether readers have the lock: that they give it up commutes with the attempt, so what depends on it would be lost in a
//! reduced search. It looks at the queue and at the lock, which the writer leaves and takes, and has both alternatives there.
//! For `read`, to be held back from a free lock is to be scheduled later: nothing is in the writer's way.

use super::{Applied, Kind, Moment, Op, Ready, poison_of};
use crate::search::step::{Access, Alt, Mode, NO_STEP, ObjectId, ReadsWhen, StepIndex, ThreadId};

/// Answer of a `read` that decided to stand in line: nothing is held yet.
pub(crate) const IN_LINE: u32 = 1;
/// The same of a reader that holds the lock already; also the parameter of its acquisition in line.
pub(crate) const NESTED_IN_LINE: u32 = 2;
/// Parameter of a downgrade by a writer that may have waited for the lock.
pub(crate) const HAS_WAITED: u32 = 1;
/// Answer of a write acquisition that leaves alternatives to offer.
pub(crate) const HAS_OFFERS: u32 = 1;
/// The alternative of `read` and `try_read` that lets waiting writers go first.
const HELD_BACK: Alt = Alt(1);

/// When `try_read` only looks.
const IF_WRITTEN: ReadsWhen = ReadsWhen::StateIs(HELD_BY_WRITER);
/// The state while a writer holds the lock.
const HELD_BY_WRITER: u64 = u64::MAX;
/// When `try_write` only looks.
const IF_HELD: ReadsWhen = ReadsWhen::StateIsNot(0);

/// One read acquisition since the last writer.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    reader: ThreadId,
    step: StepIndex,
    /// The reader held the lock already.
    nested: bool,
    /// The mark of waiting writers was there.
    marked: bool,
}

/// State of a reader-writer lock.
#[derive(Clone, Debug)]
pub struct RwLock {
    writer: Option<ThreadId>,
    /// One entry per read guard.
    readers: Vec<ThreadId>,
    /// Writers that have requested the lock and not got it yet.
    queued: u32,
    /// The last acquisition by a writer.
    last_write: StepIndex,
    sharings: Vec<Sharing>,
    /// Readers that waited for something while they held the lock, since the last writer.
    waited: Vec<ThreadId>,
    offers: Vec<StepIndex>,
    /// The mark of waiting writers outlived the writer: whoever has the lock now shares it with a writer that had waited
    /// and goes on as a reader, or did so when it came.
    marked: bool,
    /// Who stands in line because of the mark.
    behind_mark: Vec<ThreadId>,
    /// The last step that took the mark away.
    unmarked: StepIndex,
    /// Readers that the mark may have held back, in periods of sharing that are over.
    held_back: Vec<StepIndex>,
}

impl Default for RwLock {
    fn default() -> Self {
        RwLock {
            writer: None,
            readers: Vec::new(),
            queued: 0,
            last_write: NO_STEP,
            sharings: Vec::new(),
            waited: Vec::new(),
            offers: Vec::new(),
            marked: false,
            behind_mark: Vec::new(),
            unmarked: NO_STEP,
            held_back: Vec::new(),
        }
    }
}

impl RwLock {
    /// A thread that keeps others out.
    pub fn holder(&self) -> Option<ThreadId> {
        self.writer.or_else(|| self.readers.first().copied())
    }

    /// The thread that holds it for writing.
    pub(super) fn writer(&self) -> Option<ThreadId> {
        self.writer
    }

    /// Whether `reader` holds it for reading.
    pub(super) fn is_shared_by(&self, reader: ThreadId) -> bool {
        self.readers.contains(&reader)
    }

    /// Free, shared by so many, or held exclusively.
    pub(super) fn summary(&self) -> u64 {
        if self.writer.is_some() { HELD_BY_WRITER } else { self.readers.len() as u64 }
    }

    /// Steps of readers that may stand in line instead, found by the last write acquisition.
    pub fn offers(&self) -> &[StepIndex] {
        &self.offers
    }

    /// `reader` waits for something while it holds this lock.
    pub(super) fn holder_waits(&mut self, reader: ThreadId) {
        if !self.waited.contains(&reader) {
            self.waited.push(reader);
        }
    }

    pub(super) fn ready(&self, thread: ThreadId, kind: Kind) -> Ready {
        Ready::when(match kind {
            Kind::ReadLock => self.writer.is_none(),
            Kind::ReadLockInLine => {
                let marked = self.marked && self.behind_mark.contains(&thread);
                self.writer.is_none() && self.queued == 0 && !marked
            }
            Kind::WriteLock => self.writer.is_none() && self.readers.is_empty(),
            _ => true,
        })
    }

    pub(super) fn apply(&mut self, moment: Moment, op: &Op) -> Applied {
        let queue = queue(op.object);
        match op.kind {
            Kind::ReadLock => self.read(moment, op.object),
            Kind::ReadLockInLine if self.is_shared_by(moment.thread) => {
                self.readers.push(moment.thread);
                looking(nested_acquisition(op.object), queue)
            }
            Kind::ReadLockInLine => {
                self.readers.push(moment.thread);
                let line = self.behind_mark.iter().position(|reader| *reader == moment.thread);
                let enabler = match line {
                    Some(at) => {
                        self.behind_mark.swap_remove(at);
                        self.unmarked
                    }
                    None => self.last_write,
                };
                looking(Applied::access(op.object, Mode::AcquireShared), queue).enabled_by(enabler)
            }
            Kind::TryReadLock => self.try_read(moment, op, queue),
            Kind::ReadUnlock => {
                let held = self.readers.iter().position(|reader| *reader == moment.thread);
                self.readers.swap_remove(held.expect("only holders release"));
                if self.is_shared_by(moment.thread) {
                    return Applied::LOCAL;
                }
                let mode = self.release_mode();
                if self.marked && self.readers.is_empty() {
                    self.marked = false;
                    self.unmarked = moment.step;
                }
                Applied::access(op.object, mode)
            }
            Kind::WriteRequest => {
                self.queued += 1;
                Applied::access(queue, Mode::Mark)
            }
            Kind::WriteLock => {
                self.queued -= 1;
                self.collect_offers(moment.thread, false);
                self.take(moment);
                let result = if self.offers.is_empty() { 0 } else { HAS_OFFERS };
                Applied::access(op.object, Mode::Acquire).result(result)
            }
            Kind::TryWriteLock if self.holder().is_some() => Applied::access(op.object, Mode::Read)
                .result(super::WOULD_BLOCK)
                .unless(IF_HELD, Mode::TryAcquire),
            Kind::TryWriteLock => {
                self.take(moment);
                Applied::access(op.object, Mode::TryAcquire).unless(IF_HELD, Mode::TryAcquire)
            }
            Kind::WriteUnlock => {
                self.writer = None;
                super::unlocked(op)
            }
            Kind::Downgrade => {
                self.writer = None;
                self.readers.push(moment.thread);
                self.marked = op.arg == HAS_WAITED;
                Applied::access(op.object, Mode::Downgrade)
            }
            other => unreachable!("{other:?} is not an operation of a reader-writer lock"),
        }
    }

    fn read(&mut self, moment: Moment, lock: ObjectId) -> Applied {
        let nested = self.is_shared_by(moment.thread);
        let acquired =
            if nested { nested_acquisition(lock) } else { Applied::access(lock, Mode::AcquireShared) };
        if moment.alt == HELD_BACK {
            // Takes nothing, but is possible only where the lock could be taken: ordered alike.
            let answer = if nested { NESTED_IN_LINE } else { IN_LINE };
            if self.marked {
                self.behind_mark.push(moment.thread);
            }
            return Applied { free_alts: 2, ..acquired.result(answer) };
        }
        let could_wait = self.holds_readers_back();
        self.sharings.push(Sharing { reader: moment.thread, step: moment.step, nested, marked: self.marked });
        self.readers.push(moment.thread);
        Applied { could_wait, ..acquired }
    }

    fn try_read(&mut self, moment: Moment, op: &Op, queue: ObjectId) -> Applied {
        let nested = self.is_shared_by(moment.thread);
        let seen = |mode| match nested {
            true => looking(nested_acquisition(op.object), queue),
            false => looking(Applied::access(op.object, mode), queue),
        };
        let told = |applied: Applied| match nested {
            true => applied,
            false => applied.unless(IF_WRITTEN, Mode::TryAcquireShared),
        };
        if self.writer.is_some() {
            return told(seen(Mode::Read).result(super::WOULD_BLOCK));
        }
        let free_alts = if self.holds_readers_back() { 2 } else { 0 };
        if moment.alt == HELD_BACK {
            // Tried earlier, it takes the lock by default.
            return Applied { free_alts, ..told(seen(Mode::Read).result(super::WOULD_BLOCK)) };
        }
        self.readers.push(moment.thread);
        Applied { free_alts, ..told(seen(Mode::TryAcquireShared)) }
    }

    /// Whether an attempt to read fails, or does by an alternative.
    pub(super) fn may_hold_readers_back(&self) -> bool {
        self.writer.is_some() || self.holds_readers_back()
    }

    /// A writer waits for those who have the lock, or is on its way to a lock that is free; or seems to.
    fn holds_readers_back(&self) -> bool {
        self.queued > 0 || self.marked
    }

    /// How the last guard of a reader is given up.
    fn release_mode(&self) -> Mode {
        if self.marked { Mode::ReleaseInTurn } else { Mode::ReleaseShared }
    }

    /// A period of sharing is over: keeps whom the mark may have held back in it.
    fn end_of_marked(&mut self) {
        for sharing in self.sharings.iter().filter(|sharing| sharing.marked) {
            if sharing.nested || self.waited.iter().any(|holder| *holder != sharing.reader) {
                self.held_back.push(sharing.step);
            }
        }
    }

    /// The execution ends: steps of readers that the mark may have held back.
    pub(super) fn held_back_by_mark(&mut self) -> &[StepIndex] {
        for at in 0..self.readers.len() {
            self.holder_waits(self.readers[at]);
        }
        self.end_of_marked();
        &self.held_back
    }

    fn take(&mut self, moment: Moment) {
        self.writer = Some(moment.thread);
        self.last_write = moment.step;
        self.end_of_marked();
        // They are woken when it goes on as a reader, and ask for no mark then.
        self.behind_mark.clear();
        self.sharings.clear();
        self.waited.clear();
    }

    /// The execution ends while `writer` waits, for guards that will never be given up: offers as if it had come.
    pub(super) fn offers_at_end(&mut self, writer: ThreadId) -> &[StepIndex] {
        for at in 0..self.readers.len() {
            self.holder_waits(self.readers[at]);
        }
        // It may wait for a guard of its own.
        self.collect_offers(writer, true);
        &self.offers
    }

    /// `for_ever`: it will not get the lock.
    fn collect_offers(&mut self, writer: ThreadId, for_ever: bool) {
        self.offers.clear();
        for sharing in &self.sharings {
            let stuck_behind =
                |holder: &ThreadId| *holder != sharing.reader && (*holder != writer || for_ever);
            if sharing.reader != writer && (sharing.nested || self.waited.iter().any(stuck_behind)) {
                self.offers.push(sharing.step);
            }
        }
    }
}

/// The object that stands for the writers that wait.
const fn queue(lock: ObjectId) -> ObjectId {
    ObjectId(lock.0 + 2)
}

/// What one more guard of a reader accesses: it is told of poison.
fn nested_acquisition(lock: ObjectId) -> Applied {
    Applied::access(poison_of(lock), Mode::Read)
}

impl RwLock {
    /// The accesses of a pending operation, as far as they are known.
    ///
    /// A reader held back in line would have to go before every writer in the queue, which is what the
    /// default alternative does: then the queue is not among the accesses.
    pub(super) fn pending_accesses(&self, op: &Op, enabled: bool) -> [Access; 2] {
        let (lock, queue) = (op.object, queue(op.object));
        match op.kind {
            Kind::ReadLockInLine if !enabled && op.arg == NESTED_IN_LINE => Applied::LOCAL,
            Kind::ReadLockInLine if !enabled => Applied::access(lock, Mode::AcquireShared),
            Kind::ReadLock => Applied::access(lock, Mode::AcquireShared),
            Kind::ReadLockInLine if op.arg == NESTED_IN_LINE => looking(nested_acquisition(lock), queue),
            Kind::ReadLockInLine => looking(Applied::access(lock, Mode::AcquireShared), queue),
            Kind::TryReadLock => looking(Applied::access(lock, Mode::TryAcquireShared), queue),
            Kind::ReadUnlock => Applied::access(lock, self.release_mode()),
            Kind::WriteRequest => Applied::access(queue, Mode::Mark),
            Kind::WriteLock => Applied::access(lock, Mode::Acquire),
            Kind::TryWriteLock => Applied::access(lock, Mode::TryAcquire),
            Kind::WriteUnlock => super::unlocked(op),
            _ => Applied::access(lock, Mode::Downgrade),
        }
        .accesses
    }
}

/// The same, also looking at the queue of writers.
fn looking(mut applied: Applied, queue: ObjectId) -> Applied {
    applied.accesses[1] = Access::new(queue, Mode::Read);
    applied
}

#[cfg(test)]
mod tests {
    use super::super::{ObjectKind, Objects};
    use super::*;
    use std::panic::Location;

    struct Lock {
        objects: Objects,
        object: ObjectId,
        step: StepIndex,
    }

    impl Lock {
        fn new() -> Lock {
            let mut objects = Objects::default();
            let object = objects.create(ObjectKind::RwLock);
            Lock { objects, object, step: 0 }
        }

        fn op(&self, kind: Kind) -> Op {
            Op::new(kind, self.object, Location::caller())
        }

        fn ready(&self, thread: u16, kind: Kind) -> bool {
            self.objects.ready(ThreadId(thread), &self.op(kind)).enabled
        }

        fn apply(&mut self, thread: u16, kind: Kind, alt: Alt) -> Applied {
            let moment = Moment { thread: ThreadId(thread), step: self.step, alt };
            self.step += 1;
            self.objects.apply(moment, &self.op(kind))
        }

        fn run(&mut self, thread: u16, kind: Kind) -> Applied {
            self.apply(thread, kind, Alt::DEFAULT)
        }

        fn offers(&self) -> Vec<StepIndex> {
            self.objects.offers(self.object).to_vec()
        }
    }

    #[test]
    fn readers_share_and_writers_exclude() {
        let mut lock = Lock::new();
        lock.run(1, Kind::ReadLock);
        lock.run(2, Kind::ReadLock);
        assert!(!lock.ready(3, Kind::WriteLock));
        assert_eq!(lock.run(3, Kind::TryWriteLock).result, super::super::WOULD_BLOCK);
        lock.run(1, Kind::ReadUnlock);
        lock.run(2, Kind::ReadUnlock);
        lock.run(3, Kind::WriteRequest);
        assert!(lock.ready(3, Kind::WriteLock));
        assert_eq!(lock.run(3, Kind::WriteLock).accesses[0].mode, Mode::Acquire);
        assert!(!lock.ready(1, Kind::ReadLock));
        lock.run(3, Kind::Downgrade);
        assert!(lock.ready(1, Kind::ReadLock));
        assert!(!lock.ready(1, Kind::WriteLock));
    }

    #[test]
    fn a_reader_in_line_waits_for_the_writer_before_it() {
        let mut lock = Lock::new();
        lock.run(1, Kind::ReadLock);
        lock.run(2, Kind::WriteRequest);
        assert!(lock.ready(3, Kind::ReadLock), "readers may pass");
        let decided = lock.apply(3, Kind::ReadLock, HELD_BACK);
        assert_eq!((decided.result, decided.free_alts), (IN_LINE, 2));
        assert!(!lock.ready(3, Kind::ReadLockInLine), "or be held back");
        lock.run(1, Kind::ReadUnlock);
        lock.run(2, Kind::WriteLock);
        lock.run(2, Kind::WriteUnlock);
        assert!(lock.ready(3, Kind::ReadLockInLine));
        assert_eq!(lock.run(3, Kind::ReadLockInLine).enabler, 4, "the write acquisition");
    }

    #[test]
    fn plain_readers_are_offered_nothing() {
        let mut lock = Lock::new();
        for reader in [1, 2] {
            lock.run(reader, Kind::ReadLock);
        }
        for reader in [1, 2] {
            lock.run(reader, Kind::ReadUnlock);
        }
        lock.run(3, Kind::WriteRequest);
        assert_eq!(lock.run(3, Kind::WriteLock).result, 0);
    }

    #[test]
    fn nested_readers_are_offered_the_line() {
        let mut lock = Lock::new();
        lock.run(1, Kind::ReadLock);
        lock.run(1, Kind::ReadLock);
        lock.run(1, Kind::ReadUnlock);
        lock.run(1, Kind::ReadUnlock);
        lock.run(3, Kind::WriteRequest);
        assert_eq!(lock.run(3, Kind::WriteLock).result, HAS_OFFERS);
        assert_eq!(lock.offers(), [1]);
    }

    #[test]
    fn readers_beside_a_waiting_holder_are_offered_the_line() {
        let mut lock = Lock::new();
        lock.run(1, Kind::ReadLock);
        lock.run(2, Kind::ReadLock);
        lock.run(2, Kind::ReadUnlock);
        let token = lock.objects.create(ObjectKind::Token);
        let unpark = Op::new(Kind::Unpark, token, Location::caller());
        let park = Op::new(Kind::Park, token, Location::caller());
        lock.objects.apply(Moment { thread: ThreadId(2), step: 3, alt: Alt::DEFAULT }, &unpark);
        lock.objects.apply(Moment { thread: ThreadId(1), step: 4, alt: Alt::DEFAULT }, &park);
        lock.run(1, Kind::ReadUnlock);
        lock.run(3, Kind::WriteRequest);
        lock.run(3, Kind::WriteLock);
        assert_eq!(lock.offers(), [1], "the read of thread 2, for which thread 1 waited");
    }

    #[test]
    fn try_read_may_be_held_back_by_a_waiting_writer() {
        let mut lock = Lock::new();
        lock.run(1, Kind::ReadLock);
        assert_eq!(lock.run(2, Kind::TryReadLock).free_alts, 0);
        lock.run(3, Kind::WriteRequest);
        assert_eq!(lock.run(2, Kind::TryReadLock).free_alts, 2);
        assert_eq!(lock.apply(2, Kind::TryReadLock, HELD_BACK).result, super::super::WOULD_BLOCK);
    }
}
