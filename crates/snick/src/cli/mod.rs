//! What the verbs share: options, the console, JSON, models and their inputs.

pub mod compare;
pub mod console;
pub mod feed;
pub mod json;
pub mod model;
pub mod options;
pub mod target;
pub mod verify;
pub mod watch;
