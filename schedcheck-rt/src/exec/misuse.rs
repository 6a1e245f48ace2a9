//! An execution in which a primitive was used in a way that it forbids ends there.

use super::controller::World;
use super::outcome::Outcome;
use super::view::thread_name;
use crate::model::Misuse;

/// Ends the execution: its last step broke a rule.
#[cold]
pub(super) fn end(world: &mut World, misuse: Misuse) {
    let name = thread_name(world, world.current);
    let text = match misuse {
        Misuse::TwoMutexes => format!(
            "misuse: thread '{name}' waits on a condition variable with another mutex than the one it was used with \
             before; it may only be used with one"
        ),
        Misuse::NotTheHolder(holder) => {
            let slot = holder.and_then(|holder| world.threads.iter().position(|thread| thread.id == holder));
            let whose = slot.map_or_else(
                || "nobody holds".to_owned(),
                |slot| format!("thread '{}' holds", thread_name(world, slot)),
            );
            format!("misuse: thread '{name}' unlocks a lock that {whose}")
        }
    };
    world.outcome.get_or_insert(Outcome::Misuse(text));
    world.over = true;
}
