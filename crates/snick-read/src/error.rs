//! Errors that stop a reader.

use std::path::{Path, PathBuf};

use snick_ir::{Format, Loc, Located, Stopped};

/// A file cannot be read, or does not match the format of its extension. Errors of single layers are in
/// [`Read::errors`](crate::Read::errors) instead.
///
/// ```
/// use snick::{Error, ReadError};
///
/// let error = snick::parse("snick 2").unwrap_err();
/// assert!(matches!(error, Error::Read(ReadError::Text { .. })), "{error}");
/// ```
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant explains its fields")]
pub enum ReadError {
    /// The file, its weights or its external data cannot be opened or read.
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    /// A file in a text format that is not UTF-8.
    #[error("{source_name}: the file is not UTF-8 text")]
    NotUtf8 { source_name: String },
    /// The extension of the file belongs to no format that can be read.
    #[error(
        "{source_name}: unknown input format; the extension must be one of {}",
        Format::described(Format::can_read)
    )]
    Format { source_name: String },
    /// A file of another program, such as a checkpoint or an archive.
    #[error("{source_name}: this is {is}; {advice}")]
    Foreign { source_name: String, is: &'static str, advice: &'static str },
    /// Support for the format is not compiled in.
    #[error("{source_name}: this format needs the feature `{feature}` of the crates snick and snick-read")]
    FeatureOff { source_name: String, feature: &'static str },
    /// A weights file was given for a model whose format does not use one.
    #[error("{source_name}: {why}; remove `{}`", weights.display())]
    Weights { source_name: String, weights: PathBuf, why: &'static str },
    /// XML that is not OpenVINO IR.
    #[error("{source_name}:{loc}: {message}")]
    Xml { source_name: String, loc: Loc, message: String },
    /// Layers and edges that do not form a valid graph.
    #[error("{}:{}: {}", .0.source, .0.loc, .0.error)]
    Graph(Box<Located>),
    /// JSON that is not a model.
    #[error("{source_name}:{loc}: {message}")]
    Json { source_name: String, loc: Loc, message: String },
    /// A version of the IR that is too old or too new.
    #[error(
        "{source_name}: IR v{version} is not supported; re-export the model with OpenVINO 2022.1 or later (IR v11), \
         or 2020.3 to 2021.4 (IR v10)"
    )]
    IrVersion { source_name: String, version: String },
    /// Bytes that are not an ONNX model, or that are damaged.
    #[error("{source_name}: {message}")]
    Onnx { source_name: String, message: String },
    /// A text form that cannot be parsed.
    #[error("{source_name}:{error}")]
    Text { source_name: String, error: snick_ir::text::ParseError },
    /// A git-LFS pointer in place of the file.
    #[error("{}: this is a git-LFS pointer, not the file; fetch it with `git lfs pull`", path.display())]
    LfsPointer { path: PathBuf },
    /// A text file that contains a block of zeros.
    #[error("{}: the file contains zeros instead of text from byte {at} on; is it sparse, or an incomplete download?", path.display())]
    Zeros { path: PathBuf, at: u64 },
    /// A limit was reached, or the progress function stopped reading.
    #[error("reading was stopped at layer `{}`", .0.layer)]
    Stopped(Stopped),
}

impl ReadError {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), error }
    }
}
