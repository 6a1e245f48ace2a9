//! Choices, what they access, and whole executions, as bytes.

use super::bytes::{Damaged, Reader, Writer};
use super::edges::Edge;
use super::step::*;

/// The numbers that objects have here, for those that another process numbered.
///
/// Processes of one search agree on the objects that were known when they parted, and on the numbers
/// of all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renaming {
    /// The first object on which they need not agree.
    pub first: u32,
    /// What its number is here, and those of the following ones; [`ObjectId::NONE`] if it was not named.
    pub later: Vec<ObjectId>,
}

impl Renaming {
    pub(super) fn object(&self, object: ObjectId) -> Result<ObjectId, Damaged> {
        if !object.is_stable() || object == ObjectId::NONE || object.0 < self.first {
            return Ok(object);
        }
        match self.later.get((object.0 - self.first) as usize) {
            // A use of no object would be ordered with nothing.
            Some(&here) if here != ObjectId::NONE => Ok(here),
            None if self.later.is_empty() => Ok(object),
            _ => Err(Damaged),
        }
    }
}

fn mode(reader: &mut Reader<'_>) -> Result<Mode, Damaged> {
    Mode::ALL.get(reader.number::<usize>()?).copied().ok_or(Damaged)
}

fn write_choice(choice: Choice, out: &mut Writer) {
    out.number(choice.thread.0);
    out.number(choice.alt.0);
}

fn read_choice(from: &mut Reader<'_>) -> Result<Choice, Damaged> {
    Ok(Choice { thread: ThreadId(from.number()?), alt: Alt(from.number()?) })
}

fn write_accesses(accesses: &[Access; 2], out: &mut Writer) {
    for access in accesses {
        out.number(access.mode as u8);
        out.number(access.object.0.wrapping_add(1));
    }
}

fn read_accesses(names: &Renaming, from: &mut Reader<'_>) -> Result<[Access; 2], Damaged> {
    let mut accesses = [Access::NONE; 2];
    for access in &mut accesses {
        let mode = mode(from)?;
        let object = ObjectId(from.number::<u32>()?.wrapping_sub(1));
        *access = Access::new(names.object(object)?, mode);
    }
    Ok(accesses)
}

pub(super) fn write_edge(edge: &Edge, out: &mut Writer) {
    write_choice(edge.choice(), out);
    out.number(u8::from(edge.barrier) | u8::from(edge.comes_round) << 1);
    let access = |at: usize| Access::new(edge.objects[at], edge.modes[at]);
    write_accesses(&[access(0), access(1)], out);
}

pub(super) fn read_edge(names: &Renaming, from: &mut Reader<'_>) -> Result<Edge, Damaged> {
    let choice = read_choice(from)?;
    let bits: u8 = from.number()?;
    let (barrier, comes_round) = (bits & 1 != 0, bits & 2 != 0);
    Ok(Edge { barrier, comes_round, ..Edge::new(choice, &read_accesses(names, from)?) })
}

/// Bits of a written step.
const PREVIOUS_ENABLED: u8 = 1;
const FORCED: u8 = 2;
const YIELDS: u8 = 4;
const IS: u8 = 8;
const IS_NOT: u8 = 16;
const COMES_ROUND: u8 = 32;
const COULD_WAIT: u8 = 64;

fn write_event(event: &Event, out: &mut Writer) {
    let (reads, state) = match event.reads_when {
        ReadsWhen::Never => (0, None),
        ReadsWhen::StateIs(state) => (IS, Some(state)),
        ReadsWhen::StateIsNot(state) => (IS_NOT, Some(state)),
    };
    let bit = |bit: u8, set: bool| if set { bit } else { 0 };
    let bits = bit(PREVIOUS_ENABLED, event.previous_enabled)
        | bit(FORCED, event.forced)
        | bit(YIELDS, event.yields)
        | bit(COMES_ROUND, event.comes_round)
        | bit(COULD_WAIT, event.could_wait)
        | reads;
    out.number(bits);
    write_choice(event.choice(), out);
    out.number(event.free_alts);
    out.number(event.costly_alts.0);
    write_accesses(&event.accesses, out);
    out.number(event.enabler.wrapping_add(1));
    out.number(event.before);
    state.iter().for_each(|&state| out.number(state));
    out.number(event.full_mode as u8);
    out.number(event.site);
}

fn read_event(names: &Renaming, from: &mut Reader<'_>) -> Result<Event, Damaged> {
    let bits: u8 = from.number()?;
    let choice = read_choice(from)?;
    let mut event = Event::of(choice.thread);
    event.alt = choice.alt;
    event.previous_enabled = bits & PREVIOUS_ENABLED != 0;
    event.forced = bits & FORCED != 0;
    event.yields = bits & YIELDS != 0;
    event.comes_round = bits & COMES_ROUND != 0;
    event.could_wait = bits & COULD_WAIT != 0;
    event.free_alts = from.number()?;
    event.costly_alts = BudgetKinds(from.number()?);
    event.accesses = read_accesses(names, from)?;
    event.enabler = from.number::<u32>()?.wrapping_sub(1);
    event.before = from.long()?;
    event.reads_when = match bits & (IS | IS_NOT) {
        0 => ReadsWhen::Never,
        IS => ReadsWhen::StateIs(from.long()?),
        IS_NOT => ReadsWhen::StateIsNot(from.long()?),
        _ => return Err(Damaged),
    };
    event.full_mode = mode(from)?;
    event.site = from.number()?;
    Ok(event)
}

fn write_pending(pending: &Pending, out: &mut Writer) {
    out.number(pending.thread.0);
    out.number(pending.costly_alts.0);
    write_accesses(&pending.accesses, out);
    out.number(pending.site);
    let flags = [pending.enabled, pending.yields, pending.held, pending.comes_round];
    flags.into_iter().for_each(|flag| out.number(flag));
}

fn read_pending(names: &Renaming, from: &mut Reader<'_>) -> Result<Pending, Damaged> {
    let (thread, costly_alts) = (ThreadId(from.number()?), BudgetKinds(from.number()?));
    let (accesses, site) = (read_accesses(names, from)?, from.number()?);
    let mut flag = || from.long().map(|flag| flag != 0);
    let (enabled, yields, held, comes_round) = (flag()?, flag()?, flag()?, flag()?);
    Ok(Pending { thread, enabled, costly_alts, accesses, site, yields, held, comes_round })
}

/// Writes an execution that did not fail. Steps in which it begins like `last` are only counted.
pub(super) fn write_trace(trace: &Trace, last: &[Event], out: &mut Writer) {
    let same = trace.events.iter().zip(last).take_while(|(event, last)| event == last).count();
    out.number(trace.end != End::Passed);
    out.count(same);
    out.count(trace.events.len() - same);
    trace.events[same..].iter().for_each(|event| write_event(event, out));
    out.count(trace.pending.len());
    trace.pending.iter().for_each(|pending| write_pending(pending, out));
    out.count(trace.waiting.len());
    for (step, pending) in &trace.waiting {
        out.number(*step);
        write_pending(pending, out);
    }
}

/// Reads what [`write_trace`] wrote into the trace that was read last; how many steps they have in common.
pub(super) fn read_trace(
    names: &Renaming,
    from: &mut Reader<'_>,
    into: &mut Trace,
) -> Result<StepIndex, Damaged> {
    into.end = if from.long()? != 0 { End::Stopped } else { End::Passed };
    let same: usize = from.number()?;
    if same > into.events.len() {
        return Err(Damaged);
    }
    into.events.truncate(same);
    into.pending.clear();
    into.waiting.clear();
    for _ in 0..from.count()? {
        let event = read_event(names, from)?;
        if event.enabler != NO_STEP && event.enabler as usize >= into.events.len() {
            return Err(Damaged);
        }
        into.events.push(event);
    }
    for _ in 0..from.count()? {
        into.pending.push(read_pending(names, from)?);
    }
    for _ in 0..from.count()? {
        let step = from.number()?;
        into.waiting.push((step, read_pending(names, from)?));
    }
    Ok(same as StepIndex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_as_it_was_written() {
        for (number, mode) in Mode::ALL.into_iter().enumerate() {
            assert_eq!(mode as usize, number);
        }
    }

    #[test]
    fn an_execution_is_read_back_after_one_that_begins_like_it() {
        let mut first = Event::of(ThreadId(1));
        first.alt = Alt(2);
        first.free_alts = 3;
        first.costly_alts = BudgetKinds::NONE.with(BudgetKind::Timeout);
        first.accesses[0] = Access::new(ObjectId(7), Mode::TryAcquire);
        first.before = u64::MAX;
        first.reads_when = ReadsWhen::StateIsNot(9);
        first.full_mode = Mode::TryAcquire;
        (first.site, first.comes_round) = (40, true);
        let mut second = Event::of(ThreadId(0));
        (second.previous_enabled, second.forced, second.yields, second.enabler) = (true, true, true, 0);
        second.reads_when = ReadsWhen::StateIs(1);
        let third = Event::of(ThreadId(5));
        let pending = Pending {
            thread: ThreadId(2),
            enabled: false,
            costly_alts: BudgetKinds::NONE.with(BudgetKind::Spurious),
            accesses: first.accesses,
            site: 3,
            yields: false,
            held: true,
            comes_round: true,
        };
        let traces = [
            Trace {
                events: vec![first, second],
                pending: vec![pending],
                waiting: vec![(1, pending)],
                end: End::Stopped,
            },
            Trace { events: vec![first, third], ..Trace::default() },
        ];
        let mut writer = Writer::default();
        write_trace(&traces[0], &[], &mut writer);
        write_trace(&traces[1], &traces[0].events, &mut writer);
        let bytes = writer.into_bytes();
        for cut in 0..=bytes.len() {
            let (from, mut trace) = (&mut Reader::new(&bytes[..cut]), Trace::default());
            let mut read =
                || read_trace(&Renaming::default(), from, &mut trace).map(|same| (same, trace.clone()));
            let (one, other) = (read(), read());
            assert_eq!(one.is_ok() && other.is_ok(), cut == bytes.len());
            if cut < bytes.len() {
                continue;
            }
            for (read, written, same) in [(one, &traces[0], 0), (other, &traces[1], 1)] {
                let (in_common, read) = read.unwrap();
                assert_eq!((in_common, read.end), (same, written.end));
                assert_eq!((&read.events, &read.pending), (&written.events, &written.pending));
                assert_eq!(read.waiting, written.waiting);
            }
        }
    }

    #[test]
    fn an_edge_is_read_back_with_the_objects_as_they_are_called_here() {
        let choice = Choice { thread: ThreadId(3), alt: Alt::TIMEOUT };
        let accesses = [Access::new(ObjectId(7), Mode::Write), Access::new(ObjectId(2), Mode::Read)];
        let edge = Edge { barrier: true, comes_round: true, ..Edge::new(choice, &accesses) };
        let mut writer = Writer::default();
        write_edge(&edge, &mut writer);
        let read = |names: &Renaming| read_edge(names, &mut Reader::new(writer.bytes()));
        assert_eq!(read(&Renaming::default()), Ok(edge));
        let names = Renaming { first: 6, later: vec![ObjectId(8), ObjectId(6)] };
        assert_eq!(read(&names).unwrap().objects, [ObjectId(6), ObjectId(2)]);
        for later in [vec![ObjectId(8)], vec![ObjectId(8), ObjectId::NONE]] {
            assert!(read(&Renaming { first: 6, later }).is_err(), "7 has no name");
        }
    }
}
