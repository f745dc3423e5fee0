//! The text form; what follows the first NUL is the `.bin`.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::Text);
