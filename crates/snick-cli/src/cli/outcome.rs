//! How a verb ended.

use snick::Diagnostic;
use snick_ir::Located;

use crate::npz::UnreadableFile;

/// The code of errors of memory.
pub const LIMIT: &str = "S008";

/// The outcome of a verb that did its work.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing to report: exit code 0.
    Fine,
    /// An error in the model, a difference, a failed check: exit code 1.
    Finding,
    /// A layer needs more memory than there may be: exit code 3.
    Limit,
}

impl Outcome {
    /// A finding if `found`.
    pub fn finding(found: bool) -> Self {
        if found { Self::Finding } else { Self::Fine }
    }

    /// A finding if there are errors; a limit if the memory of one of them is.
    pub fn of_errors(errors: &[Located]) -> Self {
        let is_limit = errors.iter().any(|error| error.error.is_limit());
        if is_limit { Self::Limit } else { Self::finding(!errors.is_empty()) }
    }
}

/// Why a verb could not do its work.
#[derive(thiserror::Error, Debug)]
pub enum Failure {
    /// Wrong usage or unreadable input: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Errors of layers that stop the verb: exit code 1.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Layers(Vec<Diagnostic>),
    /// A limit was reached: exit code 3.
    #[error("{0}")]
    Limit(String),
    /// The reader of standard output is gone: not an error.
    #[error("standard output is closed")]
    Closed,
}

impl Failure {
    /// Wrong usage or unreadable input.
    pub fn usage(message: impl ToString) -> Self {
        Self::Usage(message.to_string())
    }

    /// An error of a layer that stops the verb.
    pub fn layer(error: impl Into<Diagnostic>) -> Self {
        Self::Layers(vec![error.into()])
    }
}

impl From<snick::Error> for Failure {
    fn from(error: snick::Error) -> Self {
        match error {
            snick::Error::Invalid { diagnostics } => Self::Layers(diagnostics),
            error @ snick::Error::Limit { .. } => Self::Limit(error.to_string()),
            error => Self::Usage(error.with_causes()),
        }
    }
}

impl From<UnreadableFile> for Failure {
    fn from(error: UnreadableFile) -> Self {
        if error.is_limit() { Self::Limit(error.to_string()) } else { Self::usage(error) }
    }
}
