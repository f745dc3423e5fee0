//! Damaged input is refused with a place, and never panics.

mod damaged_files;
