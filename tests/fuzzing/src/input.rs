//! The targets, and how each interprets the bytes of an input.

use std::time::Duration;

use snick_ir::{Format, Limits, Watch};
use snick_read::Reader;
use snick_tensor::Storage;

use crate::certificate::check_certificate;
use crate::memory::peak_of;
use crate::oracle::{Finding, check_graph, check_rereading};

/// Maximum size of an input; see [`MAX_MEMORY`].
const MAX_BYTES: usize = 1 << 16;

/// Maximum memory for reading and all oracles together on one input.
const MAX_MEMORY: usize = 256 << 20;

/// The limits for reading and inference.
pub(crate) fn limits() -> Limits {
    Limits::new().layers(2000).memory(crate::oracle::RUN_MEMORY).time(Duration::from_secs(2))
}

/// A fuzz target: a file of `fuzz/fuzz_targets/`, and a folder of `tests/cases/found/`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// OpenVINO IR. The bytes after the first NUL are the `.bin`.
    OpenVino,
    /// ONNX.
    Onnx,
    /// Serialised nGraph functions.
    NGraph,
    /// DirectML descriptions.
    DirectMl,
    /// The text form. The bytes after the first NUL are the `.bin`.
    Text,
    /// Graphs in text form that [`crate::mutate::graph`] mutates. Checks everything that is done with graphs.
    Graphs,
    /// Certificates as JSON, and proofs as bytes.
    Certificate,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 7] = [
        Self::OpenVino,
        Self::Onnx,
        Self::NGraph,
        Self::DirectMl,
        Self::Text,
        Self::Graphs,
        Self::Certificate,
    ];

    /// The name of the target's file and folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenVino => "openvino",
            Self::Onnx => "onnx",
            Self::NGraph => "ngraph",
            Self::DirectMl => "directml",
            Self::Text => "text",
            Self::Graphs => "graphs",
            Self::Certificate => "certificate",
        }
    }

    /// The format of the model that an input is.
    fn format(self) -> Option<Format> {
        Some(match self {
            Self::OpenVino => Format::OpenVino,
            Self::Onnx => Format::Onnx,
            Self::NGraph => Format::NGraph,
            Self::DirectMl => Format::DirectMl,
            Self::Text | Self::Graphs => Format::Text,
            Self::Certificate => return None,
        })
    }

    /// Splits an input into the model and its weights.
    fn parts(self, bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
        let end = match self {
            Self::OpenVino | Self::Text | Self::Graphs => bytes.iter().position(|&byte| byte == 0),
            Self::Onnx | Self::NGraph | Self::DirectMl | Self::Certificate => None,
        };
        end.map_or((bytes, None), |end| (&bytes[..end], Some(&bytes[end + 1..])))
    }
}

/// Checks all properties of an input. Returns whether it is a model or a certificate.
///
/// # Errors
/// The property that does not hold.
pub fn check(target: Target, bytes: &[u8]) -> Result<bool, Finding> {
    check_within(target, bytes, true)
}

/// Like [`check`], but writes what readers return for only one in eight inputs, selected by a hash of the
/// bytes, because writing takes most of the time.
///
/// # Errors
/// The property that does not hold.
pub fn check_quickly(target: Target, bytes: &[u8]) -> Result<bool, Finding> {
    let sum = bytes.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    check_within(target, bytes, sum.is_multiple_of(8))
}

fn check_within(target: Target, bytes: &[u8], is_written: bool) -> Result<bool, Finding> {
    if bytes.len() > MAX_BYTES {
        return Ok(false);
    }
    let (result, peak) = peak_of(|| check_unbounded(target, bytes, is_written));
    match result {
        Ok(_) if peak > MAX_MEMORY => {
            Err(Finding::new("memory", format!("{peak} bytes, expected at most {MAX_MEMORY}")))
        }
        result => result,
    }
}

fn check_unbounded(target: Target, bytes: &[u8], is_written: bool) -> Result<bool, Finding> {
    let Some(format) = target.format() else { return check_certificate(bytes) };
    let (model, weights) = target.parts(bytes);
    let reader = Reader::new().watch(Watch::new().limits(limits()));
    let shared = |bytes: &[u8]| Storage::heap(bytes.to_vec());
    let (model, weights) = (shared(model), weights.map(shared));
    let Ok(read) = reader.bytes(format, &model, weights, "input") else { return Ok(false) };
    match target {
        Target::Graphs => check_graph(&read.graph, read.errors.is_empty())?,
        _ => check_rereading(&read.graph, read.errors.is_empty(), is_written)?,
    }
    Ok(true)
}
