//! Certificates as JSON, and proofs as bytes.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::Certificate);
