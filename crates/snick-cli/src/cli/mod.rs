//! What the verbs share: options, the console, JSON, models and their inputs.

pub mod compare;
pub mod console;
pub mod inner_values;
pub mod inputs;
pub mod json;
pub mod model;
pub mod options;
pub mod progress;
pub mod target;
pub mod verify;
