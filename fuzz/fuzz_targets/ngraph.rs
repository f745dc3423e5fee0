//! JSON of serialised nGraph functions.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::NGraph);
