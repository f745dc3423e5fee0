//! Why a test fails.

use std::fmt;

use crate::{DirectiveError, Unmet};

/// Why a test fails. Its `Debug` form is the message, for that is what a failing `#[test]` prints.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// In a file or a folder.
    #[error("{path}: {error}")]
    In {
        /// The file.
        path: String,
        /// Why it fails.
        error: Box<CheckError>,
    },
    /// Several files.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<CheckError>),
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// There is nothing to check in the folder.
    #[error("contains no .snick files")]
    NoFiles,
    /// The file is no test.
    #[error("no `// RUN:` line, or no check")]
    NoDirectives,
    /// A directive that does not exist, or a pattern that is none.
    #[error("{0}")]
    Directive(#[from] DirectiveError),
    /// The graph is not in text form.
    #[error("{0}")]
    Text(#[from] snick_ir::text::ParseError),
    /// The graph has errors.
    #[error("{0}")]
    Infer(String),
    /// A command that does not exist, or fails.
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
        /// The number of rewrites that were executed, and are right.
        checked: usize,
        /// The number of those that were not.
        unchecked: usize,
    },
    /// A rule fails, or its replacement differs from what it replaces.
    #[error("{0}")]
    Rewrite(String),
    /// A check fails.
    #[error("{unmet}; the output is\n{output}")]
    Unmet {
        /// The check.
        unmet: Unmet,
        /// The output of the command.
        output: String,
    },
}

impl CheckError {
    /// The error, in a file or a folder.
    pub(crate) fn of(self, path: &str) -> Self {
        Self::In { path: path.to_string(), error: self.into() }
    }
}

impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
