//! Errors as the page shows them to users.

use snick::text::Escaped;
use snick::{Code, Error};
use snick_cli::documents::DocumentError;

/// The remedy if a limit of the page is reached.
const LIMIT_HELP: &str = "A page may use a part of the machine only. The command line has no such limit: snick report MODEL -o report.html";

/// The reason why the page cannot do something, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The error, without control characters.
    pub message: String,
    /// The remedy; empty if the message includes it.
    pub help: String,
    /// The error of each input, if the problem is about the shapes of inputs. Inputs without an error have an
    /// empty text.
    pub inputs: Vec<String>,
}

impl Problem {
    /// Creates a problem with a remedy.
    pub fn new(message: &str, help: impl Into<String>) -> Self {
        Self { message: Escaped(message).to_string(), help: help.into(), inputs: Vec::new() }
    }

    /// Creates the problem to report when a limit of the page is reached.
    pub fn limit(message: &str) -> Self {
        Self::new(message, LIMIT_HELP)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let help = match Code::from(&error) {
            Code::Unreadable => "The file is damaged, or of another format than its name says.",
            Code::Limit => LIMIT_HELP,
            Code::CannotExpress => "Another format may be able to say it.",
            Code::WrongName => "The tab Table lists the names.",
            Code::WrongShape => "A shape is written as [N,3,H=32..64,64]: numbers, names, ranges or ?.",
            _ => "",
        };
        Self::new(&error.with_causes(), help)
    }
}

impl From<DocumentError> for Problem {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Invalid(error) => error.into(),
            DocumentError::Limit(message) => Self::limit(&message),
            other => Self::new(&other.to_string(), ""),
        }
    }
}
