//! The outcome of a verb.

use snick::Diagnostic;
use snick_ir::{Located, OpError};
use snick_tensor::TensorError;

use super::missing_file::cannot_read;
use crate::npz::UnreadableFile;

/// The outcome of a verb that succeeded.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There is nothing to report: exit code 0.
    Fine,
    /// There is an error in the model, a difference or a failed check: exit code 1.
    Finding,
    /// A layer exceeds the memory limit or the fuel: exit code 3.
    Limit,
}

impl Outcome {
    /// [`Self::Finding`] if `found`, otherwise [`Self::Fine`].
    pub fn finding(found: bool) -> Self {
        if found { Self::Finding } else { Self::Fine }
    }

    /// [`Self::Limit`] if one of the errors is about a limit, [`Self::Finding`] if there are only other
    /// errors, and otherwise [`Self::Fine`].
    pub fn of_errors(errors: &[Located]) -> Self {
        let is_limit = errors.iter().any(|error| error.error.is_limit());
        if is_limit { Self::Limit } else { Self::finding(!errors.is_empty()) }
    }
}

/// The diagnostic for the error of a layer. If the error is about a limit, the message names the option that
/// sets it.
pub fn diagnostic(error: &Located) -> Diagnostic {
    let mut diagnostic = Diagnostic::from(error);
    diagnostic.message.push_str(match error.error.root() {
        OpError::OutOfFuel { .. } => " (--fuel)",
        OpError::Tensor(TensorError::AboveLimit { .. } | TensorError::LimitReached { .. }) => {
            " (--max-memory)"
        }
        _ => "",
    });
    diagnostic
}

/// The reason why a verb failed.
#[derive(thiserror::Error, Debug)]
pub enum Failure {
    /// Wrong usage or unreadable input: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Errors of layers that stop the verb: exit code 1, or 3 if one is about a limit.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Layers(Vec<Diagnostic>),
    /// A limit was reached: exit code 3.
    #[error("{0}")]
    Limit(String),
    /// The reader of standard output has closed the pipe. The exit code is 0.
    #[error("standard output is closed")]
    Closed,
}

impl Failure {
    /// The failure for wrong usage or unreadable input.
    pub fn usage(message: impl ToString) -> Self {
        Self::Usage(message.to_string())
    }

    /// The failure for an error of a layer.
    pub fn layer(error: impl Into<Diagnostic>) -> Self {
        Self::Layers(vec![error.into()])
    }

    /// Whether a limit was reached.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Limit(_) => true,
            Self::Layers(errors) => errors.iter().any(|error| error.error().is_limit()),
            _ => false,
        }
    }
}

impl From<snick::Error> for Failure {
    fn from(error: snick::Error) -> Self {
        match error {
            snick::Error::Invalid { diagnostics } => Self::Layers(diagnostics),
            snick::Error::Read(snick::ReadError::Io { path, error }) => {
                Self::Usage(cannot_read(&path, &error))
            }
            error @ snick::Error::Limit { .. } => Self::Limit(error.to_string()),
            error => Self::Usage(error.with_causes()),
        }
    }
}

impl From<UnreadableFile> for Failure {
    fn from(error: UnreadableFile) -> Self {
        match error.as_io() {
            _ if error.is_limit() => Self::Limit(error.to_string()),
            Some((path, cause)) => Self::Usage(cannot_read(path, cause)),
            None => Self::usage(error),
        }
    }
}
