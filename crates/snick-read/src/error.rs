//! Errors that stop a reader.

use std::path::{Path, PathBuf};

use snick_ir::{Format, Loc};

/// The file cannot be read, or is not of the format of its extension. Errors of single layers are in [`crate::Read`].
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum ReadError {
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error("{source_name}: the file is not UTF-8 text")]
    NotUtf8 { source_name: String },
    #[error(
        "{source_name}: unknown input format; the extension must be one of {}",
        Format::described(Format::can_read)
    )]
    Format { source_name: String },
    #[error("{source_name}: this format needs the feature `{feature}` of the crates snick and snick-read")]
    FeatureOff { source_name: String, feature: &'static str },
    #[error("{source_name}:{loc}: {message}")]
    Xml { source_name: String, loc: Loc, message: String },
    #[error("{source_name}:{loc}: {message}")]
    Json { source_name: String, loc: Loc, message: String },
    #[error(
        "{source_name}: IR v{version} is not supported; re-export the model with OpenVINO 2022.1 or later (IR v11), \
         or 2020.3 to 2021.4 (IR v10)"
    )]
    IrVersion { source_name: String, version: String },
    #[error("{source_name}: {message}")]
    Onnx { source_name: String, message: String },
    #[error("{source_name}:{error}")]
    Text { source_name: String, error: snick_ir::text::ParseError },
    #[error("{}: this is a git-LFS pointer, not the file; fetch it with `git lfs pull`", path.display())]
    LfsPointer { path: PathBuf },
}

impl ReadError {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), error }
    }
}
