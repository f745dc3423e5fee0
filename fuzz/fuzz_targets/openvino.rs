//! OpenVINO IR. The bytes after the first NUL are the `.bin`.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::OpenVino);
