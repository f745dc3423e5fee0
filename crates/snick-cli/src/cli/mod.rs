//! Code shared by the verbs: options, the console, JSON, models and their inputs.

#[cfg(unix)]
pub mod bus_error;
pub mod compare;
pub mod console;
pub mod deadline;
pub mod example;
pub mod failing_command;
pub mod help;
pub mod inner_values;
pub mod inputs;
pub mod json;
pub mod layout;
pub mod many;
pub mod memory;
pub mod missing_file;
pub mod model;
pub mod models;
pub mod options;
pub mod outcome;
pub mod overwrite;
pub mod pair;
pub mod progress;
pub mod quantity;
pub mod search;
pub mod stablehlo;
pub mod summary;
pub mod symbols;
pub mod target;
mod texts;
pub mod value_names;
pub mod verify;
pub mod waiting;
