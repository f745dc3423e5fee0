//! Errors of tests.

use std::fmt;

use crate::{DirectiveError, Unmet};

/// The reason why a test failed. `Debug` prints the message, because a failing `#[test]` function prints its
/// error with `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// An error that occurred in a file or folder.
    #[error("{path}: {error}")]
    In {
        /// The file.
        path: String,
        /// The error.
        error: Box<CheckError>,
    },
    /// Errors in several files.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<CheckError>),
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// The folder contains nothing to check.
    #[error("contains no .snick files")]
    NoFiles,
    /// The file is not a test.
    #[error("no `// RUN:` line, or no check")]
    NoDirectives,
    /// An unknown directive or an invalid pattern.
    #[error("{0}")]
    Directive(#[from] DirectiveError),
    /// The graph is not in text form.
    #[error("{0}")]
    Text(#[from] snick_ir::text::ParseError),
    /// The graph has errors.
    #[error("{0}")]
    Infer(String),
    /// A command that is unknown or failed.
    #[error("`{command}`: {why}")]
    Command {
        /// The command.
        command: String,
        /// The reason.
        why: String,
    },
    /// Rewrites that `--verify` could not execute.
    #[error("`{command}`: {unchecked} of {} rewrites could not be executed before and after", checked + unchecked)]
    Unchecked {
        /// The command.
        command: String,
        /// The number of rewrites that were executed and are correct.
        checked: usize,
        /// The number of rewrites that could not be executed.
        unchecked: usize,
    },
    /// A rule failed, or its replacement differs from the original.
    #[error("{0}")]
    Rewrite(String),
    /// A failed check.
    #[error("{unmet}; the output is\n{output}")]
    Unmet {
        /// The check.
        unmet: Unmet,
        /// The output of the command.
        output: String,
    },
}

impl CheckError {
    /// Locates the error in a file or folder.
    pub(crate) fn of(self, path: &str) -> Self {
        Self::In { path: path.to_string(), error: self.into() }
    }
}

impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
