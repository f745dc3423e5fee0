//! DirectML descriptions.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::DirectMl);
