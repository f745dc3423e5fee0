//! A crate with a rewrite of its own and its tests, made to be copied: the rule is in `relu_once.rs`, its tests are in
//! `tests/`.

mod relu_once;

pub use relu_once::RELU_ONCE;

#[cfg(doctest)]
mod book;
