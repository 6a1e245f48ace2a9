//! Choices and what they access, as bytes.

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
    /// What its number is here, and those of the following ones.
    pub later: Vec<ObjectId>,
}

impl Renaming {
    pub(super) fn object(&self, object: ObjectId) -> Result<ObjectId, Damaged> {
        if !object.is_stable() || object == ObjectId::NONE || object.0 < self.first {
            return Ok(object);
        }
        match self.later.get((object.0 - self.first) as usize) {
            Some(&here) => Ok(here),
            None if self.later.is_empty() => Ok(object),
            None => Err(Damaged),
        }
    }
}

const MODES: [Mode; 12] = [
    Mode::None,
    Mode::Read,
    Mode::Write,
    Mode::Mark,
    Mode::Acquire,
    Mode::AcquireShared,
    Mode::TryAcquire,
    Mode::TryAcquireShared,
    Mode::Release,
    Mode::ReleaseShared,
    Mode::Await,
    Mode::AwaitWrite,
];

fn mode(reader: &mut Reader<'_>) -> Result<Mode, Damaged> {
    MODES.get(reader.number::<usize>()?).copied().ok_or(Damaged)
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
    out.number(edge.barrier);
    let access = |at: usize| Access::new(edge.objects[at], edge.modes[at]);
    write_accesses(&[access(0), access(1)], out);
}

pub(super) fn read_edge(names: &Renaming, from: &mut Reader<'_>) -> Result<Edge, Damaged> {
    let choice = read_choice(from)?;
    let barrier = from.long()? != 0;
    Ok(Edge { barrier, ..Edge::new(choice, &read_accesses(names, from)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_as_it_was_written() {
        for (number, mode) in MODES.into_iter().enumerate() {
            assert_eq!(mode as usize, number);
        }
    }

    #[test]
    fn an_edge_is_read_back_with_the_objects_as_they_are_called_here() {
        let choice = Choice { thread: ThreadId(3), alt: Alt::TIMEOUT };
        let accesses = [Access::new(ObjectId(7), Mode::Write), Access::new(ObjectId(2), Mode::Read)];
        let edge = Edge { barrier: true, ..Edge::new(choice, &accesses) };
        let mut writer = Writer::default();
        write_edge(&edge, &mut writer);
        let read = |names: &Renaming| read_edge(names, &mut Reader::new(writer.bytes()));
        assert_eq!(read(&Renaming::default()), Ok(edge));
        let names = Renaming { first: 6, later: vec![ObjectId(8), ObjectId(6)] };
        assert_eq!(read(&names).unwrap().objects, [ObjectId(6), ObjectId(2)]);
        assert!(read(&Renaming { first: 6, later: vec![ObjectId(8)] }).is_err());
    }
}
