//! Damaged input is rejected with its location, without a panic.

mod damaged_files;
