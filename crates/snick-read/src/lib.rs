//! Bytes to graph: one folder or file per format.
//!
//! Every reader returns a [`snick_ir::Graph`] without facts; inference is a separate step. Readers keep everything that
//! a file says. A layer that cannot be read as the operation it names stays in the graph as an opaque layer, and
//! [`Read::errors`] has the cause.
//!
//! ```
//! let text = r#"snick 1
//! graph "crop" {
//!   %x = Parameter-1 {element_type: f32, shape: "N,4"}
//!   %y = Result-1(%x)
//! }
//! "#;
//! let read = snick_read::read_text(text, None, "crop.snick")?;
//! assert_eq!(read.graph.len(), 2);
//! assert!(read.errors.is_empty());
//! # Ok::<(), snick_read::ReadError>(())
//! ```

#[cfg(feature = "onnx")]
pub mod onnx;
pub mod openvino;

#[cfg(feature = "directml")]
mod directml;
mod error;
#[cfg(any(feature = "ngraph", feature = "directml"))]
mod json;
#[cfg(feature = "ngraph")]
mod ngraph;

use std::path::Path;

use snick_ir::{Format, Graph, Located, OpError};
use snick_tensor::Storage;

pub use error::ReadError;

/// A graph as read, and the errors and notes of reading it.
#[derive(Debug)]
pub struct Read {
    /// The graph, not yet inferred.
    pub graph: Graph,
    /// Errors of layers that stay opaque.
    pub errors: Vec<Located>,
    /// Notes for the user, such as absent weights.
    pub notes: Vec<String>,
}

/// Reads a model file in the [`Format`] of its extension. `weights` names the file of the weights; by default it is the
/// `.bin` beside the model.
pub fn read_file(path: &Path, weights: Option<&Path>) -> Result<Read, ReadError> {
    let source = path.display().to_string();
    let file = open(path)?;
    let bytes = file.bytes();
    let bin = weights.map_or_else(|| path.with_extension("bin"), Path::to_path_buf);
    let utf8 =
        |bytes| std::str::from_utf8(bytes).map_err(|_| ReadError::NotUtf8 { source_name: source.clone() });
    match Format::to_read(path) {
        Some(Format::OpenVino) => {
            let text = openvino::decode(bytes, &source)?;
            let weights = openvino::Weights::open(&bin, weights.is_some())?;
            openvino::read(text, &weights, &source)
        }
        #[cfg(feature = "onnx")]
        Some(Format::Onnx) => {
            // The parent of a bare file name is the empty path.
            let folder = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
            onnx::read(&file, folder, &source)
        }
        #[cfg(any(feature = "ngraph", feature = "directml"))]
        Some(Format::NGraph | Format::DirectMl) => {
            let text = utf8(bytes)?;
            read_json(text.strip_prefix('\u{feff}').unwrap_or(text), &source)
        }
        Some(Format::Text) => {
            let text = utf8(bytes)?;
            let storage = if bin.exists() || weights.is_some() { Some(open(&bin)?) } else { None };
            read_text(text, storage.as_ref(), &source)
        }
        #[cfg(not(feature = "onnx"))]
        Some(Format::Onnx) => Err(ReadError::FeatureOff { source_name: source, feature: "onnx" }),
        #[cfg(not(any(feature = "ngraph", feature = "directml")))]
        Some(Format::NGraph) => Err(ReadError::FeatureOff { source_name: source, feature: "ngraph" }),
        #[cfg(not(any(feature = "ngraph", feature = "directml")))]
        Some(Format::DirectMl) => Err(ReadError::FeatureOff { source_name: source, feature: "directml" }),
        _ => Err(ReadError::Format { source_name: source }),
    }
}

/// Maps a file; refuses git-LFS pointers.
fn open(path: &Path) -> Result<Storage, ReadError> {
    let storage = Storage::map(path).map_err(|error| ReadError::io(path, error))?;
    match storage.bytes().starts_with(b"version https://git-lfs") {
        true => Err(ReadError::LfsPointer { path: path.to_path_buf() }),
        false => Ok(storage),
    }
}

/// Reads JSON from memory: an array of serialised nGraph functions, or an object with a field `directml`, a DirectML
/// description.
#[cfg(any(feature = "ngraph", feature = "directml"))]
pub fn read_json(text: &str, source: &str) -> Result<Read, ReadError> {
    let document = json::Document::new(text, source);
    let root = document.root()?;
    if root.is_array() {
        #[cfg(feature = "ngraph")]
        return ngraph::read(root, source);
        #[cfg(not(feature = "ngraph"))]
        return Err(ReadError::FeatureOff { source_name: source.into(), feature: "ngraph" });
    }
    match root.is_object().then(|| root.object()).transpose()? {
        #[cfg(feature = "directml")]
        Some(object) if object.get("directml").is_some() => directml::read(&object, source),
        #[cfg(not(feature = "directml"))]
        Some(object) if object.get("directml").is_some() => {
            Err(ReadError::FeatureOff { source_name: source.into(), feature: "directml" })
        }
        _ => Err(root.error("expected an array of nGraph functions or an object with a field `directml`")),
    }
}

/// Reads the text form from memory; `weights` is the `.bin` beside it.
pub fn read_text(text: &str, weights: Option<&Storage>, source: &str) -> Result<Read, ReadError> {
    let mut graph = snick_ir::text::parse(text, weights)
        .map_err(|error| ReadError::Text { source_name: source.to_string(), error })?;
    graph.set_source(source);
    Ok(Read { graph, errors: Vec::new(), notes: Vec::new() })
}

/// The error for a constant whose bytes a file does not have.
fn out_of_file((start, end): (usize, usize), file: &str, len: usize) -> OpError {
    OpError::NoValue {
        what: "the constant".into(),
        why: format!("needs bytes {start}..{end} of {file}, but the file has {len}: truncated?"),
    }
}
