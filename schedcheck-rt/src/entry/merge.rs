//! Joins what parts of a search have done.

use super::checkpoint::{Checkpoint, Part, Refusal};
use super::company::load;
use super::names;
use super::settings::Settings;
use super::stdio::Channel;
use crate::exec::Test;
use crate::search::bytes::{Damaged, Reader};
use crate::wire::json::{self, Object};
use crate::wire::request::{BadRequest, Request};
use std::error::Error;

/// Joins the parts that the request names, and writes the whole to its checkpoint.
pub(super) fn merge(
    test: Test,
    settings: &Settings,
    request: &Request,
    channel: &Channel,
) -> Result<(), Box<dyn Error>> {
    let mut execution = Box::new(settings.execution(test));
    let options = settings.options_with_places(&mut execution);
    let parts: Vec<Checkpoint> =
        request.parts.iter().map(|path| Checkpoint::read(path)).collect::<Result<_, _>>()?;
    let (first, out) = match (parts.first(), &request.checkpoint) {
        (Some(first), Some(out)) => (first, out),
        _ => return Err(BadRequest::new("a merge needs parts and a place for the whole".to_owned()).into()),
    };
    first.check(&request.test, settings)?;
    let Some(Part { count, .. }) = first.part else {
        return Err(BadRequest::new(format!("{} is not a part of a search", request.parts[0])).into());
    };
    let mut search = load(&mut execution, options, first)?;
    let shares = search.deal(count);
    let mut missing: Vec<usize> = (1..=count).collect();
    for (part, path) in parts.iter().zip(&request.parts) {
        let same =
            (&part.names, &part.search, &part.program) == (&first.names, &first.search, &first.program);
        let own = part.part.filter(|part| same && part.count == count);
        let Some(Part { index, .. }) = own else {
            return Err(BadRequest::new(format!("{path} is a part of another search")).into());
        };
        let Some(at) = missing.iter().position(|missing| *missing == index) else {
            return Err(BadRequest::new(format!("part {index} of {count} is there twice: {path}")).into());
        };
        missing.remove(at);
        match &part.done {
            None => search.reclaim(&shares[index - 1]),
            Some((names, share)) => {
                let damaged = |Damaged| Refusal::Damaged;
                let names = names::read(&mut execution, &mut Reader::new(names)).map_err(damaged)?;
                search.take_back(share, &names).map_err(damaged)?;
            }
        }
    }
    search.reclaim_all();
    let mut names = crate::search::bytes::Writer::default();
    names::write(&execution, 0, &mut names);
    let whole = Checkpoint {
        part: None,
        done: None,
        names: names.into_bytes(),
        search: search.save(),
        ..first.clone()
    };
    let stats = search.stats();
    whole.write(out, &stats)?;
    channel.send(
        Object::new()
            .text("event", "merged")
            .number("executions", stats.executions)
            .number("traces", stats.traces)
            .number("pending", stats.pending as u64)
            .flag("complete", stats.complete)
            .number("parts", count as u64)
            .raw("missing", &json::array(missing.iter().map(usize::to_string))),
    );
    Ok(())
}
