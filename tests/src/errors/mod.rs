//! Damaged input is refused with its location, and never panics.

mod damaged_files;
