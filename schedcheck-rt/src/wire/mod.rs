//! What the command and a test process say to each other. The engine has no serialisation library:
//! requests are lines of words, events are lines of JSON.

pub mod json;
pub mod request;
