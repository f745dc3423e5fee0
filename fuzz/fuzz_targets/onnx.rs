//! ONNX models.

#![no_main]

snick_fuzz::target!(snick_fuzz::Target::Onnx);
