//! Slices: every case of a small space, random cases, the conformance suite, element types, messages, and the
//! form written for OpenVINO, all compared with one rule.

mod conformance;
mod element_types;
mod enumeration;
mod errors;
pub mod model;
mod properties;
mod rule;
mod table;
mod written;
