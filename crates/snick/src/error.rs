//! Errors of the facade. Errors of single layers are [`snick_ir::Located`]s in a list.

use std::path::{Path, PathBuf};

use snick_ir::{Format, Located};

/// Why a call failed.
#[derive(thiserror::Error, Debug)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error(transparent)]
    Read(#[from] snick_read::ReadError),
    #[error(transparent)]
    Layer(#[from] Located),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error(
        "{}: unknown output format; the extension must be one of {}",
        path.display(), Format::described(Format::can_write)
    )]
    Target { path: PathBuf },
    #[error("`{spec}`: {message}")]
    Shape { spec: String, message: String },
    #[error("no input named `{name}`; {hint}")]
    NoInput { name: String, hint: String },
}

impl Error {
    /// A file that cannot be read or written.
    pub fn io(path: &Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), error }
    }

    pub(crate) fn shape(spec: &str, message: impl ToString) -> Self {
        Self::Shape { spec: spec.to_string(), message: message.to_string() }
    }
}
