//! Names of threads and objects as bytes, and what else statements about a search need from all of its processes.

use crate::exec::Execution;
use crate::exec::names::ObjectName;
use crate::search::bytes::{Damaged, Reader, Writer};
use crate::search::records::Renaming;
use crate::search::step::{ObjectId, ThreadId};

/// Writes the names of all threads, and of the objects from number `first` on.
pub(super) fn write(execution: &Execution, first: u32, out: &mut Writer) {
    out.number(execution.omissions());
    let uncontrolled = execution.uncontrolled();
    out.count(uncontrolled.len());
    for (kind, text) in uncontrolled {
        out.number(kind);
        out.block(text.as_bytes());
    }
    out.count(execution.parents().len());
    for (parent, nth) in execution.parents() {
        out.number(parent.0);
        out.number(*nth);
    }
    let names = execution.object_names(first);
    out.number(first);
    out.count(names.len());
    for ObjectName { object, key, life } in names {
        out.number(object.0 - first);
        out.hash(key);
        out.number(life);
    }
}

/// Reads names that another process gave, and what the objects are called here.
pub(super) fn read(execution: &mut Execution, from: &mut Reader<'_>) -> Result<Renaming, Damaged> {
    execution.add_omissions(from.number()?);
    for _ in 0..from.count()? {
        let kind = from.number()?;
        execution.add_uncontrolled(kind, std::str::from_utf8(from.block()?).map_err(|_| Damaged)?);
    }
    for number in 0..from.count()? {
        let (parent, nth) = (ThreadId(from.number()?), from.number()?);
        if usize::from(execution.number_thread(parent, nth).0) != number {
            return Err(Damaged);
        }
    }
    let first = from.number()?;
    let mut later = Vec::new();
    for _ in 0..from.count()? {
        let (there, key, life): (usize, u64, u32) = (from.number()?, from.hash()?, from.number()?);
        let (here, parts) = execution.number_object(key, life).ok_or(Damaged)?;
        // Parts of an object follow it.
        for part in 0..=parts {
            let at = there + part as usize;
            if later.len() <= at {
                later.resize(at + 1, ObjectId::NONE);
            }
            later[at] = ObjectId(here.0 + part);
        }
    }
    Ok(Renaming { first, later })
}
