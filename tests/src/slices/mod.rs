//! Slices: the rule by enumeration, the laws as properties, the conformance suite, the table of the book.

mod conformance;
mod element_types;
mod enumeration;
mod errors;
mod model;
mod properties;
mod rule;
mod table;
mod written;
